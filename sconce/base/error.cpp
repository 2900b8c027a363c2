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
  switch (tag_) {
    case Tag::integer:
      out += std::to_string(integer_);
      return;
    case Tag::real: {
      char text[40];
      out.append(text, std::to_chars(text, text + sizeof text, real_).ptr);
      return;
    }
    case Tag::text:
      out += text_;
      return;
    case Tag::list:
      out += '[';
      for (size_t i = 0; i < list_.size(); ++i) {
        if (i != 0) out += ", ";
        out += std::to_string(list_[i]);
      }
      out += ']';
      return;
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
