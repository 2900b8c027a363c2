#include "sconce/base/error.h"

#include <charconv>

namespace sconce {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
Error::~Error() = default;

void Error::set_op(std::string_view op, std::string_view arguments) {
  if (!op_.empty()) return;
  std::string text(op.substr(op.starts_with("aten::") ? 6 : 0));
  text += ": ";
  text += message_;
  if (!arguments.empty()) {
    text += " (called with ";
    text += arguments;
    text += ")";
  }
  op_ = op;
  message_ = std::move(text);
}

namespace {

void append_integer(std::string& out, int64_t v) {
  char text[20];
  char* first = text + sizeof text;
  uint64_t left = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  do {
    *--first = static_cast<char>('0' + left % 10);
  } while ((left /= 10) != 0);
  if (v < 0) *--first = '-';
  out.append(first, static_cast<size_t>(text + sizeof text - first));
}

}  // namespace

void ErrorArg::print(std::string& out) const {
  const uint64_t size = kind_ / kSize;
  switch (kind_ % kSize) {
    case kInteger:
      append_integer(out, static_cast<int64_t>(bits_));
      return;
    case kReal: {
      char text[40];
      char* end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(bits_)).ptr;
      out.append(text, static_cast<size_t>(end - text));
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
        append_integer(out, items[i]);
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

void fail(ErrorKind kind, const char* format, std::initializer_list<ErrorArg> args) {
  throw Error(kind, format_message(format, args));
}

void fail_assert(const char* file, int line, const char* condition) {
  fail(ErrorKind::internal, "{}:{}: internal check failed: {}", {file, line, condition});
}

}  // namespace sconce
