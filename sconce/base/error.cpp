#include "sconce/base/error.h"

#include <charconv>
#include <cstring>

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
    case kText: {
      const auto* text = reinterpret_cast<const char*>(bits_);
      out.append(text, kind_ == kText0 ? std::strlen(text) : size);
      return;
    }
    default: {
      const auto* items = reinterpret_cast<const int64_t*>(bits_);
      out.append("[", 1);
      for (size_t i = 0; i < size; ++i) {
        if (i != 0) out.append(", ", 2);
        append_integer(out, items[i]);
      }
      out.append("]", 1);
    }
  }
}

std::string format_message(std::string_view format, std::initializer_list<ErrorArg> args) {
  std::string out;
  const char *at = format.data(), *const end = at + format.size();
  const auto is_hole = [end](const char* p) { return end - p >= 2 && p[0] == '{' && p[1] == '}'; };
  for (const ErrorArg& arg : args) {
    const char* text = at;
    while (at != end && !is_hole(at)) ++at;
    out.append(text, static_cast<size_t>(at - text));
    if (at == end) break;
    arg.print(out);
    at += 2;
  }
  out.append(at, static_cast<size_t>(end - at));
  return out;
}

void fail(ErrorKind kind, const char* format, std::initializer_list<ErrorArg> args) {
  throw Error(kind, format_message(format, args));
}

void fail_assert(const char* file, int line, const char* condition) {
  fail(ErrorKind::internal, "{}:{}: internal check failed: {}", {file, line, condition});
}

}  // namespace sconce
