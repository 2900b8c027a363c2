// sconce: the command-line tool. Reads the command line, runs one command, says what went wrong.
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "command_limits.h"
#include "commands/commands.h"
#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/base/text/spelling.h"
#include "sconce/codegen/maker.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "text/error_text.h"
#include "text/help.h"
#include "text/terminal.h"

namespace {

using namespace sconce::cli;

// In the order of --help.
constexpr Command (*kCommands[])(App) = {
    // clang-format off
    add_run_command,
    add_info_command,
    add_verify_command,
    add_convert_command,
    add_compile_command,
    add_select_command,
    add_bundle_command,
    add_diff_command,
    add_ir_command,
    add_bench_command,
    add_profile_command,
    add_script_command,
    add_ops_command,
    add_serve_command,
    add_load_command,
    add_completion_command,
    // clang-format on
};

constexpr const char* kDescription = "Runs PyTorch programs, and shows, checks and converts their files.";
constexpr const char* kFooter =
    "'sconce help COMMAND' says more about a command, with examples.\n"
    "Exit status: 0; 1 when a file or a program is refused or fails, or when files differ; 2 when the command line is\n"
    "wrong; 3 when verify finds limits.";

// Values like -1, -.5 and [1, 2] are neither options nor lists of options' values: a space in front lets them pass
// CLI11, and means nothing in a value.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 wants the last one first
    const std::string_view a = argv[i];
    const bool number = a.size() > 1 && a[0] == '-' && (std::isdigit(static_cast<unsigned char>(a[1])) || a[1] == '.');
    out.push_back(fmt::format("{}{}", number || a.starts_with('[') ? " " : "", a));
  }
  return out;
}

int say(int status, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "{} {}{}", coloured(stderr, Colour::red, "sconce:"), message, message.ends_with('\n') ? "" : "\n");
  return status;
}

// Refuses a wrong SCONCE_LOGS or SCONCE_CODEGEN before anything runs.
void read_environment() {
  try {
    sconce::log_levels();
    sconce::codegen::chosen_maker();
  } catch (const sconce::Error& e) {
    throw UsageError(e.what());
  }
}

// "Did you mean '--json'?", for a word that the command line should not have.
std::string hint(const std::string& wrong, const CLI::App& of) {
  std::vector<std::string> known;
  for (const CLI::Option* option : of.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* command : of.get_subcommands({})) known.push_back(command->get_name());
  const std::string near = sconce::similar_names_text(wrong.substr(0, wrong.find('=')), known);
  return near.empty() ? near : fmt::format("\nDid you mean {}?", near);
}

// What is said of a wrong command line.
std::string refusal(const CLI::App& app, const CLI::Error& e) {
  const CLI::App* of = &app;
  for (const CLI::App* command : app.get_subcommands()) of = command;
  std::string near;
  for (const std::string& extra : of->remaining()) {
    if (near.empty() && extra.starts_with("-")) near = hint(extra, *of);
  }
  return fmt::format("{} {}{}\nRun with --help for more information.\n", coloured(stderr, Colour::red, "sconce:"),
                     e.what(), near);
}

// `sconce help` is `sconce --help`, `sconce help run` is `sconce run --help`.
std::vector<char*> without_help_command(int argc, char** argv) {
  static char flag[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc < 2 || std::strcmp(argv[1], "help") != 0) return words;
  words.erase(words.begin() + 1);
  words.resize(std::min<size_t>(words.size(), 2));
  words.push_back(flag);
  return words;
}

int run(int argc, char** argv) {
  CLI::App app(kDescription, "sconce");
  app.footer(kFooter);
  app.formatter(make_help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", "sconce " SCONCE_VERSION, "Prints the version");
  app.failure_message([&app](const CLI::App*, const CLI::Error& e) { return refusal(app, e); });
  std::vector<Command> commands;
  for (const auto add : kCommands) commands.push_back(add(App(app)));
  // Not bench: what it measures would be measured with the limits. Not compile: what is limited is not recorded.
  for (const char* name : {"run", "info", "verify", "convert", "diff", "ir", "profile", "script"})
    add_limit_options(App(*app.get_subcommand(name)));
  const auto is_command = [&](const CLI::App* c) { return argc > 1 && c->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_command).empty())
    throw UsageError(fmt::format("there is no command '{}', see sconce --help{}", argv[1], hint(argv[1], app)));
  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const std::vector<CLI::App*> all = app.get_subcommands({});
  for (size_t i = 0; i < all.size(); ++i) {
    if (!app.got_subcommand(all[i])) continue;
    const sconce::BudgetScope limits(command_budget());
    return commands[i]();
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `sconce ... | head` ends without a word
  int status = 1;
  try {
    read_environment();
    std::vector<char*> words = without_help_command(argc, argv);
    status = run(static_cast<int>(words.size()), words.data());
  } catch (const UsageError& e) {
    return say(2, e.what());
  } catch (const std::bad_alloc&) {
    return say(1, "out of memory");
  } catch (const sconce::Error& e) {
    return say(1, error_text(e));
  } catch (const std::exception& e) {
    return say(1, e.what());
  }
  if (std::fflush(stdout) != 0) return say(1, fmt::format("cannot write the output: {}", std::strerror(errno)));
  return status;
}
