#include "sconce/lite/read_error.h"

#include <cstdarg>
#include <cstdio>

namespace sconce::lite {

[[noreturn]] static void refuse_with(ErrorKind kind, const char* format, va_list args) {
  char text[1024];  // names of a hostile file are cut
  std::vsnprintf(text, sizeof text, format, args);
  throw Error(kind, text);
}

void refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  refuse_with(ErrorKind::runtime, format, args);
}

void refuse_as(ErrorKind kind, const char* format, ...) {
  va_list args;
  va_start(args, format);
  refuse_with(kind, format, args);
}

}  // namespace sconce::lite
