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

// The end of a list of nothing but numbers (and lists of them) that begins with the '[' at `begin`; 0 when it is another
// list.
size_t end_of_number_list(std::string_view s, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '[') {
      ++depth;
    } else if (c == ']') {
      if (--depth == 0) return i + 1;
    } else if (!std::isdigit(static_cast<unsigned char>(c)) && std::string_view(".eE+-_, \t\n").find(c) == s.npos) {
      return 0;
    }
  }
  return 0;
}

// "1" of "[1, 2.5]" becomes "1."
std::string integers_as_floats(std::string_view list) {
  std::string out;
  for (size_t i = 0; i < list.size();) {
    const size_t end = std::min(list.find_first_of("[], \t\n+-", i), list.size());
    // 1e-5: the sign belongs to the number.
    std::string_view word = list.substr(i, end - i);
    size_t stop = end;
    if (!word.empty() && (word.back() == 'e' || word.back() == 'E') && end < list.size() && end > i + 1) {
      stop = std::min(list.find_first_of("[], \t\n", end + 1), list.size());
      word = list.substr(i, stop - i);
    }
    out += word;
    if (!word.empty() && word.find_first_of(".eE") == word.npos) out += '.';
    if (stop < list.size()) out += list[stop];
    i = stop + 1;
  }
  return out;
}

}  // namespace

std::string with_one_kind_of_number(std::string_view s) {
  std::string out;
  char quote = '\0';
  for (size_t i = 0; i < s.size();) {
    const size_t end = s[i] == '[' && !quote ? end_of_number_list(s, i) : 0;
    if (end) {
      const std::string_view list = s.substr(i, end - i);
      out += list.find_first_of(".eE") == list.npos ? std::string(list) : integers_as_floats(list);
      i = end;
      continue;
    }
    if (quote && s[i] == '\\' && i + 1 < s.size())
      out += s[i++];
    else if (quote && s[i] == quote)
      quote = '\0';
    else if (!quote && (s[i] == '\'' || s[i] == '"'))
      quote = s[i];
    out += s[i++];
  }
  return out;
}

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
