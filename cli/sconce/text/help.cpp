#include "text/help.h"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "text/table.h"
#include "text/terminal.h"

namespace sconce::cli {
namespace {

constexpr size_t kWidthElsewhere = 120;  // of files and pipes
constexpr size_t kFewestColumns = 20;    // that a wrapped text keeps

// Where the last column of a line begins: behind its last two blanks, or its first letter.
size_t last_column(std::string_view line) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.rfind("  ");
  return gap == line.npos || gap < first ? first : gap + 2;
}

std::string wrapped_line(std::string_view line, size_t width) {
  const size_t column = last_column(line);
  if (text_width(line) <= width || column + kFewestColumns > width || line.starts_with("  sconce ")) {
    return std::string(line);
  }
  std::string out(line.substr(0, column));
  size_t used = text_width(out);
  std::string_view rest = line.substr(column);
  for (bool first = true; !rest.empty(); first = false) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (!first && used + 1 + text_width(word) > width) {
      out += '\n' + std::string(column, ' ');
      used = column;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += text_width(word);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode), terminal_columns(stdout, kWidthElsewhere));
  }
  // Name and description in one line, which is wrapped later; a long name has a line for itself.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string description = make_option_desc(option);
    std::replace(description.begin(), description.end(), '\n', ' ');
    const std::string name = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    if (name.size() + 2 > column_width_) return fmt::format("{}\n{:{}}{}\n", name, "", column_width_, description);
    return fmt::format("{:<{}}{}\n", name, column_width_, description);
  }
  // In the list of commands, the first sentence of each.
  std::string make_subcommand(const CLI::App* command) const override {
    std::string text = command->get_description();
    std::replace(text.begin(), text.end(), '\n', ' ');
    const size_t end = text.find(". ");
    return fmt::format("  {:<11} {}\n", command->get_name(), text.substr(0, end == text.npos ? end : end + 1));
  }
};

}  // namespace

std::string wrapped(std::string_view text, size_t width) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += wrapped_line(text.substr(0, end), width);
    if (end == text.npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace sconce::cli
