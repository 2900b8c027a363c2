#include "sconce/base/error.h"

#include <charconv>

namespace sconce {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
Error::~Error() = default;

void Error::set_op(std::string_view op, std::string_view arguments) {
  if (!op_.empty()) return;
  op_ = op;
  std::string text(op);
  if (text.starts_with("aten::")) text.erase(0, 6);
  text += ": ";
  text += message_;
  if (!arguments.empty()) {
    text += " (called with ";
    text += arguments;
    text += ")";
  }
  message_ = std::move(text);
}

void ErrorArg::print(std::string& out) const {
  const uint64_t size = kind_ / kSize;
  switch (kind_ % kSize) {
    case kInteger:
      out += std::to_string(static_cast<int64_t>(bits_));
      return;
    case kReal: {
      char text[40];
      out.append(text, std::to_chars(text, text + sizeof text, std::bit_cast<double>(bits_)).ptr);
      return;
    }
    case kText0:
      out += reinterpret_cast<const char*>(bits_);
      return;
    case kText:
      out.append(reinterpret_cast<const char*>(bits_), size);
      return;
    default: {
      const auto* items = reinterpret_cast<const int64_t*>(bits_);
      out += '[';
      for (size_t i = 0; i < size; ++i) {
        if (i != 0) out += ", ";
        out += std::to_string(items[i]);
      }
      out += ']';
    }
  }
}

std::string format_message(std::string_view format, std::initializer_list<ErrorArg> args) {
  std::string out;
  auto next = args.begin();
  for (size_t i = 0; i < format.size(); ++i) {
    if (format.substr(i, 2) == "{}" && next != args.end()) {
      (next++)->print(out);
      ++i;
    } else {
      out += format[i];
    }
  }
  return out;
}

void fail(ErrorKind kind, std::string_view format, std::initializer_list<ErrorArg> args) {
  throw Error(kind, format_message(format, args));
}

void fail_assert(const char* file, int line, const char* condition) {
  fail(ErrorKind::internal, "{}:{}: internal check failed: {}", {file, line, condition});
}

}  // namespace sconce
