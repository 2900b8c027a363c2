// Without the format sparse: archives that hold sparse tensors are refused.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/serialization/pickle/pickle_globals.h"

namespace sconce {

SCONCE_WEAK Value rebuild_sparse(const std::vector<Value>&) {
  fail_as(ErrorKind::not_implemented, "sparse tensors: this library was built without the format sparse");
}

}  // namespace sconce
