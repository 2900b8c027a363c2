#include "text/call_text.h"

#include <cctype>

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::cli {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

bool is_name(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  for (const char c : s) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// The parts of a text between commas that stand outside of brackets and strings.
std::vector<std::string_view> split_arguments(std::string_view s) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  int depth = 0;
  char quote = '\0';
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (quote) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trimmed(s.substr(from, i - from)));
      from = i + 1;
    }
  }
  const std::string_view last = trimmed(s.substr(from));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> split_keyword(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || !is_name(trimmed(text.substr(0, equals))) || text.substr(equals, 2) == "==") return {};
  return std::pair(std::string(trimmed(text.substr(0, equals))), std::string(trimmed(text.substr(equals + 1))));
}

CallText split_call(std::string_view text) {
  text = trimmed(text);
  const size_t open = text.find('(');
  CallText call;
  call.callee = trimmed(text.substr(0, open));
  if (!is_name(call.callee) || (open != text.npos && text.back() != ')'))
    throw UsageError(fmt::format("expected a call like f(1, [2.0]), got '{}'", text));
  if (open == text.npos) return call;
  for (const std::string_view part : split_arguments(text.substr(open + 1, text.size() - open - 2))) {
    if (auto keyword = split_keyword(part)) {
      call.kwargs.push_back(std::move(*keyword));
    } else {
      call.args.emplace_back(part);
    }
  }
  return call;
}

Value evaluate(script::Program& program, const std::string& expression, const std::string& source_name) {
  static int count = 0;
  const std::string name = fmt::format("_command_line_{}", count++);
  script::ProgramOptions options;
  options.name = source_name;
  program.define(fmt::format("def {}():\n    return {}\n", name, expression), options);
  return runtime::run(*program.find_function(name), {});
}

CallValues evaluate_arguments(script::Program& program, const CallText& call, const std::string& source_name) {
  CallValues out;
  for (const std::string& a : call.args) out.args.push_back(evaluate(program, a, source_name));
  for (const auto& [name, text] : call.kwargs) out.kwargs.emplace_back(name, evaluate(program, text, source_name));
  return out;
}

}  // namespace sconce::cli
