// Without places: no archive's debug records are read, so tracebacks have no lines.
#include "sconce/base/weak.h"
#include "sconce/runtime/execute.h"

namespace sconce::runtime {

SCONCE_WEAK std::string traceback_of(const Execution&, Range&) {
  return "Traceback of TorchScript (most recent call last):\n";
}

}  // namespace sconce::runtime
