#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/tensor/element.h"

namespace sconce::any_device {

void sconce_check_quantiles(const Tensor& q) {
  if (q.is_meta()) return;
  const Tensor dense = contiguous_tensor(q);
  for (int64_t i = 0; i < q.numel(); ++i) {
    const double x = load_scalar(dense.data<char>() + static_cast<size_t>(i) * q.item_size(), q.dtype()).to_double();
    SCONCE_CHECK(x >= 0 && x <= 1, "quantile() q values must be in the range [0, 1], got {}", x);
  }
}

}  // namespace sconce::any_device
