// Without the format sparse: archives that hold sparse tensors are refused, and nothing else makes or copies one.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/any/converted_sparse.h"
#include "sconce/serialization/pickle/pickle_tensors.h"
#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce {

namespace {

[[noreturn]] void refuse() {
  fail_as(ErrorKind::not_implemented, "sparse tensors: this library was built without the format sparse");
}

}  // namespace

SCONCE_WEAK Value rebuild_sparse(const std::vector<Value>&) { refuse(); }
SCONCE_WEAK Tensor make_sparse_tensor(IntList, SparseParts) { refuse(); }
SCONCE_WEAK Tensor any_device::converted_sparse(const Tensor&, DType, Device, bool) { refuse(); }

}  // namespace sconce
