// The commands of `sconce`. Each adds itself to the program's options; `run`, when its command was given, does the work
// and returns the exit status. Throws Error when the user's program is refused or fails (status 1), UsageError for what
// the command line asks wrongly (status 2).
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sconce::cli {

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

using Command = std::function<int()>;
Command add_script_command(CLI::App& app);
Command add_ir_command(CLI::App& app);

// The text of a file; "-" is standard input. Throws UsageError when it cannot be read.
std::string read_text(const std::string& path);
// What messages call it.
std::string source_name(const std::string& path);

}  // namespace sconce::cli
