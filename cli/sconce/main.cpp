// sconce: compiles and runs script programs, and shows their graphs.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "sconce/base/error.h"

namespace {

constexpr const char* kDescription = "Compiles TorchScript programs from their text, runs them, shows their graphs.";
constexpr const char* kFooter =
    "'sconce COMMAND --help' says more about a command.\n"
    "Exit status: 0, or 1 when a program is refused or fails, or 2 when the command line is wrong.";

// The command's part of CLI11's message, and status 2 whatever the mistake was; 0 for --help.
int usage(const CLI::App& app, const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kDescription, "sconce");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return fmt::format("sconce: {}\nRun with --help for more information.\n", e.what());
  });
  const sconce::cli::Command script = sconce::cli::add_script_command(app);
  const sconce::cli::Command ir = sconce::cli::add_ir_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return usage(app, e);
  }
  try {
    return app.got_subcommand("script") ? script() : ir();
  } catch (const sconce::cli::UsageError& e) {
    fmt::print(stderr, "sconce: {}\n", e.what());
    return 2;
  } catch (const sconce::Error& e) {
    std::fflush(stdout);
    fmt::print(stderr, "{}{}", e.what(), e.message().ends_with('\n') ? "" : "\n");
    return 1;
  } catch (const std::bad_alloc&) {
    std::fflush(stdout);
    fmt::print(stderr, "sconce: out of memory\n");
    return 1;
  }
}
