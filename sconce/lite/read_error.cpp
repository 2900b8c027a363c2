#include "sconce/lite/read_error.h"

#include <cstdarg>
#include <cstdio>

#include "sconce/base/error.h"

namespace sconce::lite {

void refuse(const char* format, ...) {
  char text[1024];  // names of a hostile file are cut
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fail("{}", text);
}

}  // namespace sconce::lite
