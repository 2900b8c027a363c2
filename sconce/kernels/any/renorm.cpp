// renorm: slices along a dim scaled down to a largest norm.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  SCONCE_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported");
  SCONCE_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got {}", maxnorm.to_double());
  SCONCE_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got {} dimensions", self.dim());
  dim = wrap_dim(dim, self.dim());
  Dims others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const DType compute = is_reduced_float(self.dtype()) ? DType::float32 : self.dtype();
  const Tensor norm = linalg_vector_norm(self, p, IntList(others), true, compute);
  const Tensor scale = div(full_like(norm, maxnorm), add(norm, 1e-7));
  return mul(self, to_dtype(where(gt(norm, maxnorm), scale, 1.0), real_dtype(self.dtype())));
}

}  // namespace sconce::any_device
