// sconce completion SHELL: a completion script, made from the options that the commands have added.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/completion_values.h"

namespace sconce::cli {
namespace {

constexpr const char* kDescription = "Prints a script with which a shell completes commands, options and files.";
constexpr const char* kFooter =
    "Examples:\n"
    "  bash:  eval \"$(sconce completion bash)\"                 in ~/.bashrc\n"
    "  zsh:   eval \"$(sconce completion zsh)\"                  in ~/.zshrc, after compinit\n"
    "  fish:  sconce completion fish > ~/.config/fish/completions/sconce.fish";

struct OptionText {
  std::vector<std::string> names;  // "--json", "-h"
  std::string description;
  bool takes_value = false;
};

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> out;
  for (const CLI::Option* option : app.get_options()) {
    OptionText o;
    for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
    if (o.names.empty()) continue;  // a positional one
    o.description = option->get_description();
    o.takes_value = option->get_items_expected_max() > 0;
    out.push_back(std::move(o));
  }
  return out;
}

// On one line, so that no sentence is cut by a line end.
std::string first_sentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, text.find(". "));
}

// For a text in single quotes of a shell: zsh and bash write a quote as '\'', fish as \'.
std::string quoted(const std::string& text, const char* quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += quote;
    else
      out += c;
  }
  return out + "'";
}

std::vector<std::string> names_of(const std::vector<OptionText>& options, bool only_with_value = false) {
  std::vector<std::string> out;
  for (const OptionText& o : options) {
    if (!only_with_value || o.takes_value) out.insert(out.end(), o.names.begin(), o.names.end());
  }
  return out;
}

void print_bash(const CLI::App& app, const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* c : commands) names.push_back(c->get_name());
  fmt::print(
      "_sconce() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} options values\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} {}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      fmt::join(names, " "), fmt::join(names_of(options_of(app)), " "));
  for (const CLI::App* c : commands) {
    fmt::print("    {}) options='{}' ;;\n", c->get_name(), fmt::join(names_of(options_of(*c)), " "));
  }
  fmt::print(
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  elif values=$(sconce completion values -- \"${{COMP_WORDS[@]:1:COMP_CWORD}}\" 2>/dev/null) && [[ $values ]]; "
      "then\n"
      "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _sconce sconce\n");
}

// Entries of _describe: 'name:description', colons of the name escaped.
void print_zsh(const CLI::App& app, const std::vector<const CLI::App*>& commands) {
  const auto entry = [](const std::string& name, const std::string& description) {
    return quoted(name + ":" + first_sentence(description), "'\\''");
  };
  const auto print_options = [&](const CLI::App& of) {
    for (const OptionText& o : options_of(of)) {
      for (const std::string& name : o.names) fmt::print("      {}\n", entry(name, o.description));
    }
  };
  fmt::print("#compdef sconce\n_sconce() {{\n  local -a items\n  if ((CURRENT == 2)); then\n    items=(\n");
  for (const CLI::App* c : commands) fmt::print("      {}\n", entry(c->get_name(), c->get_description()));
  print_options(app);
  fmt::print("    )\n    _describe command items\n    return\n  fi\n  case ${{words[2]}} in\n");
  for (const CLI::App* c : commands) {
    fmt::print("    {}) items=(\n", c->get_name());
    print_options(*c);
    fmt::print("    ) ;;\n");
  }
  fmt::print(
      "  esac\n  local -a values\n"
      "  values=(${{(f)\"$(sconce completion values -- \"${{(@)words[2,CURRENT]}}\" 2>/dev/null)\"}})\n"
      "  if [[ ${{words[CURRENT]}} == -* ]]; then\n    _describe option items\n"
      "  elif (($#values)); then\n    compadd -a values\n  else\n    _files\n  fi\n}}\n"
      // As a file of site-functions it is the function's own first call, else it is evaluated in .zshrc.
      "if [[ $funcstack[1] == _sconce ]]; then _sconce \"$@\"; else compdef _sconce sconce; fi\n");
}

void print_fish(const CLI::App& app, const std::vector<const CLI::App*>& commands) {
  const auto print_options = [](const CLI::App& of, const std::string& condition) {
    for (const OptionText& o : options_of(of)) {
      std::string line = fmt::format("complete -c sconce -n '{}'", condition);
      for (const std::string& name : o.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      const bool values = std::any_of(o.names.begin(), o.names.end(), option_has_values);
      const char* what = values ? " -x -a '(__sconce_values)'" : o.takes_value ? " -r" : "";
      fmt::print("{}{} -d {}\n", line, what, quoted(first_sentence(o.description), "\\'"));
    }
  };
  fmt::print(
      "function __sconce_values\n"
      "  set -l words (commandline -opc) (commandline -ct)\n"
      "  sconce completion values -- $words[2..] 2>/dev/null\n"
      "end\n"
      "complete -c sconce -a '(__sconce_values)'\n");
  print_options(app, "__fish_use_subcommand");
  for (const CLI::App* c : commands) {
    fmt::print("complete -c sconce -f -n __fish_use_subcommand -a {} -d {}\n", c->get_name(),
               quoted(first_sentence(c->get_description()), "\\'"));
    print_options(*c, fmt::format("__fish_seen_subcommand_from {}", c->get_name()));
  }
}

}  // namespace

Command add_completion_command(App app) {
  auto shell = std::make_shared<std::string>();
  const App command = app.add_subcommand("completion", kDescription);
  command.footer(kFooter);
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().type_name("");
  auto words = std::make_shared<std::vector<std::string>>();  // for `values`, which the scripts call
  command.add_option("WORD", *words).group("");
  return [shell, words, app] {
    if (*shell == "values") {
      for (const std::string& value : completion_values(*words)) fmt::print("{}\n", value);
      return 0;
    }
    std::vector<const CLI::App*> commands;
    for (const CLI::App* c : std::as_const(app.parser()).get_subcommands({})) commands.push_back(c);
    if (*shell == "bash") {
      print_bash(app.parser(), commands);
    } else if (*shell == "zsh") {
      print_zsh(app.parser(), commands);
    } else if (*shell == "fish") {
      print_fish(app.parser(), commands);
    } else {
      throw UsageError(fmt::format("there is completion for bash, zsh and fish, not for '{}'", *shell));
    }
    return 0;
  };
}

}  // namespace sconce::cli
