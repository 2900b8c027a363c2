#include "sconce/testing/compare/script_error.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sconce/runtime/interpreter.h"

namespace sconce::testing {
namespace {

constexpr std::string_view kPlace = "  File \"";
constexpr std::string_view kCandidates = "Arguments for call are not valid.";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// `"GeluKernelImpl" not implemented for 'Long'`: the name in front is that of PyTorch's own code.
std::string_view without_kernel(std::string_view line) {
  const size_t end = line.find("\" not implemented for '");
  return line.starts_with('"') && end != line.npos ? line.substr(end + 2) : line;
}

// The lines of a reason as they are compared: a colon in front of the place belongs to the place, and advice of a small
// library is none.
std::vector<std::string> reason_lines(std::string_view reason) {
  std::vector<std::string> result;
  for (std::string_view line : lines_of(reason)) {
    line = trim(line);
    if (line == ":" || line.starts_with("Did you mean ")) continue;
    if (line.starts_with("(this library was built for ")) continue;
    if (line.ends_with(':')) line.remove_suffix(1);
    line = without_kernel(line.substr(0, line.find("; did you mean ")));
    std::string text(line);
    constexpr std::string_view kInferred = " (inferred)";
    for (size_t at = text.find(kInferred); at != text.npos; at = text.find(kInferred)) text.erase(at, kInferred.size());
    if (!text.empty()) result.push_back(std::move(text));
  }
  return result;
}

// `  File "name", line 12, in f` at `at`: the number, and the line of source above the first underline.
void read_place(const std::vector<std::string_view>& lines, size_t at, RecordedError& error) {
  const std::string_view head = lines[at];
  const size_t number = head.find(", line ");
  if (number != head.npos) std::from_chars(head.data() + number + 7, head.data() + head.size(), error.line);
  for (size_t i = at + 1; i < lines.size() && !lines[i].starts_with(kPlace); ++i) {
    const std::string_view text = trim(lines[i]);
    if (text.starts_with('~') && text.find_first_not_of('~') == std::min(text.find(" <--- HERE"), text.npos)) {
      error.line_text = trim(lines[i - 1]);
      return;
    }
  }
}

Difference compare_reasons(const std::string& got, const std::string& expected) {
  const std::vector<std::string> g = reason_lines(got), e = reason_lines(expected);
  if (g == e) return {};
  if (!g.empty() && !e.empty() && e[0] == kCandidates && g[0] == kCandidates) {
    for (size_t i = 2; i < e.size(); ++i) {
      const bool is_reason = !e[i].starts_with("aten::") && !e[i].starts_with("prim::");
      if (is_reason && std::find(g.begin() + 1, g.end(), e[i]) != g.end()) return {};
    }
    return fmt::format("the candidates have other reasons: {}", got);
  }
  return fmt::format("refused because \"{}\", expected \"{}\"", trim(got), trim(expected));
}

bool takes_away(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  return true;
}

// "RuntimeError: x", "builtins.ValueError: x", "AssertionError: x": x
std::string_view without_class(std::string_view reason) {
  reason = trim(reason);
  if (takes_away(reason, "builtins.")) {
    const size_t colon = reason.find(": ");
    return colon == reason.npos ? reason : reason.substr(colon + 2);
  }
  takes_away(reason, "RuntimeError:");
  reason = trim(reason);
  takes_away(reason, "AssertionError:");
  return trim(reason);
}

}  // namespace

RecordedError parse_compile_error(const std::string& message) {
  RecordedError error;
  error.internal = message.find("INTERNAL ASSERT FAILED") != message.npos;
  const std::vector<std::string_view> lines = lines_of(message);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(kPlace)) {
      read_place(lines, i, error);
      break;
    }
    if (lines[i] == "The original call is:") continue;
    error.reason.append(lines[i]).append("\n");
  }
  return error;
}

RecordedError parse_run_error(const std::string& message) {
  RecordedError error;
  error.internal = message.find("INTERNAL ASSERT FAILED") != message.npos;
  const std::vector<std::string_view> lines = lines_of(message);
  size_t last = lines.size();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(kPlace)) last = i;
  }
  if (last == lines.size()) {
    last = 0;
  } else {
    read_place(lines, last, error);
  }
  // The reason begins with the class, in the last line that does so.
  size_t begin = last;
  for (size_t i = last; i < lines.size(); ++i) {
    if (lines[i].starts_with("RuntimeError: ") || lines[i].starts_with("builtins.")) begin = i;
  }
  std::string reason;
  for (size_t i = begin; i < lines.size(); ++i) reason.append(lines[i]).append("\n");
  error.reason = without_class(reason);
  return error;
}

Difference compare_error(const CompileError& got, const RecordedError& expected) {
  if (expected.internal) return {};
  // A message may show two places (a variable that one branch leaves undefined, and its use): the first counts.
  const RecordedError ours = parse_compile_error(got.what());
  if (Difference d = compare_reasons(ours.reason, expected.reason)) return d;
  if (ours.line == expected.line) return {};
  return fmt::format("refused at line {}, expected line {}: {}", ours.line, expected.line, got.reason());
}

Difference compare_error(const runtime::ScriptError& got, const RecordedError& expected) {
  if (expected.internal) return {};
  // An error of a fork has the traceback of the fork inside of the one of its wait: the innermost place counts.
  const RecordedError ours = parse_run_error(got.what());
  if (!expected.line_text.empty() && ours.line_text != expected.line_text) {  // PyTorch does not always know the place
    return fmt::format("fails at \"{}\", expected at \"{}\": {}", ours.line_text, expected.line_text, got.reason());
  }
  if (!got.op().empty()) return {};
  return compare_reasons(ours.reason, expected.reason);
}

}  // namespace sconce::testing
