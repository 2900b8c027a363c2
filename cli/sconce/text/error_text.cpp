#include "text/error_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sconce/base/error_class.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::cli {
namespace {

// The text from its last "Traceback of ..." on, without the reason at its end.
std::string_view last_traceback(std::string_view text, std::string_view reason) {
  const size_t end = text.rfind(reason);
  if (reason.empty() || end == text.npos) return {};
  text = text.substr(0, text.rfind('\n', end) + 1);
  const size_t begin = text.rfind("Traceback of TorchScript");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

}  // namespace

std::string with_short_lines(std::string_view text) {
  constexpr size_t kLongest = 1000;
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    size_t shown = std::min(end, kLongest);
    while (shown < end && (text[shown] & 0xc0) == 0x80) --shown;  // not within a character
    out += text.substr(0, shown);
    if (shown < end) out += " ...";
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string error_text(const Error& error) {
  const auto* script = dynamic_cast<const runtime::ScriptError*>(&error);
  if (!script) return with_short_lines(error.message());
  std::string_view name = script->exception_class();
  if (name.starts_with("builtins.")) name.remove_prefix(9);
  if (name.empty()) name = python_class(script->kind());
  std::string_view reason = script->reason();
  while (reason.ends_with('\n')) reason.remove_suffix(1);
  const bool named = reason.starts_with(fmt::format("{}: ", name));
  const std::string_view traceback = last_traceback(script->message(), reason);
  const size_t first_line = traceback.find('\n');
  const bool has_frames = first_line != traceback.npos && first_line + 1 < traceback.size();
  return with_short_lines(
      fmt::format("{}{}{}\n{}", named ? "" : name, named ? "" : ": ", reason, has_frames ? traceback : ""));
}

}  // namespace sconce::cli
