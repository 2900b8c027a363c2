// The commands of `sconce`. Each adds itself to the program's options; what it returns, when its command was given,
// does the work and returns the exit status: 0; 1 for files that differ or are not valid. Throws Error when a file or a
// program is refused or fails (status 1), UsageError for what the command line asks wrongly (status 2).
//
// A new command is a file of its own, a line here and a line in main.cpp. What commands share: model_file.h (programs),
// inputs.h (their inputs), table.h, json.h and units.h (what they print).
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "text/options.h"

namespace sconce::cli {

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

using Command = std::function<int()>;
Command add_run_command(App app);
Command add_info_command(App app);
Command add_verify_command(App app);
Command add_convert_command(App app);
Command add_compile_command(App app);
Command add_select_command(App app);
Command add_bundle_command(App app);
Command add_diff_command(App app);
Command add_script_command(App app);
Command add_ir_command(App app);
Command add_bench_command(App app);
Command add_profile_command(App app);
Command add_ops_command(App app);
Command add_serve_command(App app);
Command add_load_command(App app);
Command add_completion_command(App app);

// The text of a file; "-" is standard input. Throws UsageError when it cannot be read.
std::string read_text(const std::string& path);
// What messages call it.
std::string source_name(const std::string& path);

}  // namespace sconce::cli
