// The operator that fits gradients in differentiated graphs: what fit_gradient does for recorded ones.
#include "sconce/base/error.h"
#include "sconce/generated/autodiff_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

Tensor sconce_grad_like(const Tensor& grad, IntList size, int64_t dtype) {
  const DType to_dtype = dtype_from_number(dtype);
  Tensor out = grad.sizes() == size ? grad : sum_to_size(grad, size);
  if (out.dtype() == to_dtype) return out;
  if (!is_floating(to_dtype) && !is_complex(to_dtype)) return zeros_like(out);
  if (is_complex(out.dtype()) && !is_complex(to_dtype)) out = real(out);
  return out.dtype() == to_dtype ? out : to(out, to_dtype);
}

}  // namespace sconce::any_device
