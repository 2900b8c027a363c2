#include "sconce/base/error_class.h"

namespace sconce {

const char* python_class(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::type:
      return "TypeError";
    case ErrorKind::value:
      return "ValueError";
    case ErrorKind::index:
      return "IndexError";
    case ErrorKind::key:
      return "KeyError";
    case ErrorKind::not_implemented:
      return "NotImplementedError";
    case ErrorKind::zero_division:
      return "ZeroDivisionError";
    case ErrorKind::overflow:
      return "OverflowError";
    case ErrorKind::runtime:
    case ErrorKind::internal:
      return "RuntimeError";
  }
  return "RuntimeError";
}

}  // namespace sconce
