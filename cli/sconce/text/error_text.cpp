#include "text/error_text.h"

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

std::string error_text(const Error& error) {
  const auto* script = dynamic_cast<const runtime::ScriptError*>(&error);
  if (!script) return error.message();
  std::string_view name = script->exception_class();
  if (name.starts_with("builtins.")) name.remove_prefix(9);
  if (name.empty()) name = python_class(script->kind());
  std::string_view reason = script->reason();
  while (reason.ends_with('\n')) reason.remove_suffix(1);
  const bool named = reason.starts_with(fmt::format("{}: ", name));
  const std::string_view traceback = last_traceback(script->message(), reason);
  const size_t first_line = traceback.find('\n');
  const bool has_frames = first_line != traceback.npos && first_line + 1 < traceback.size();
  return fmt::format("{}{}{}\n{}", named ? "" : name, named ? "" : ": ", reason, has_frames ? traceback : "");
}

}  // namespace sconce::cli
