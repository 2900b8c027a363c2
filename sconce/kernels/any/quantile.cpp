// The check of quantiles, which needs their values.
#include "sconce/base/error.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/sorting_kernels.h"

namespace sconce::any_device {

void sconce_check_quantiles(const Tensor& q) {
  if (q.is_meta()) return;
  for (const double x : doubles_of(q)) {
    SCONCE_CHECK(x >= 0 && x <= 1, "quantile() q values must be in the range [0, 1], got {}", x);
  }
}

}  // namespace sconce::any_device
