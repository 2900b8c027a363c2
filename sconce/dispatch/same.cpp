#include "sconce/dispatch/same.h"

#include "sconce/base/error.h"

namespace sconce {

void check_same_sizes(const NamedTensor& a, const NamedTensor& b, const char* op) {
  if (!a.tensor.defined() || !b.tensor.defined()) return;
  SCONCE_CHECK(
      a.tensor.sizes() == b.tensor.sizes(),
      "Expected tensor for argument #{} '{}' to have same size as tensor for argument #{} '{}'; but {} does not "
      "equal {} (while checking arguments for {})",
      a.place, a.name, b.place, b.name, a.tensor.sizes(), b.tensor.sizes(), op);
}

void check_same_dtypes(const NamedTensor& a, const NamedTensor& b, const char* op) {
  if (!a.tensor.defined() || !b.tensor.defined()) return;
  SCONCE_CHECK(a.tensor.dtype() == b.tensor.dtype(), "{}: expected scalar type {} but found {} for '{}'", op,
               dtype_legacy_name(a.tensor.dtype()), dtype_legacy_name(b.tensor.dtype()), b.name);
}

void fail_on_meta(const char* op) {
  fail("{}: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!", op);
}

void refuse_meta(const Op& op, KeySet, Value*, Value*) {
  fail_as(ErrorKind::not_implemented,
          "Could not run '{}' with arguments from the 'Meta' backend. This could be because the operator doesn't exist "
          "for this backend",
          op.qualified_name());
}

}  // namespace sconce
