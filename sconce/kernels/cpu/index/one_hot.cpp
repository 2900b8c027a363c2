// one_hot: the number of classes may be in the data.
#include <algorithm>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"

namespace sconce::cpu {

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  SCONCE_CHECK(self.dtype() == DType::int64, "one_hot is only applicable to index tensor of type LongTensor, got {}",
               dtype_name(self.dtype()));
  SCONCE_CHECK(num_classes >= -1, "num_classes should be non-negative, got {}", num_classes);
  SCONCE_CHECK(self.numel() > 0 || num_classes > 0, "Can not infer total number of classes from empty tensor.");
  SCONCE_CHECK_AS(not_implemented, num_classes >= 0 || !self.is_meta(),
                  "num_classes depends on values, which a meta tensor does not have");
  const Tensor index = self.is_meta() ? self : contiguous_tensor(self);
  const auto* values = index.data<int64_t>();
  const int64_t n = self.numel();
  if (num_classes < 0) {
    num_classes = std::max(Checked(*std::max_element(values, values + n)) + 1, Checked(0));
  }
  Dims sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = empty_tensor(sizes, DType::int64, self.device());
  fill_tensor(out, 0);
  if (self.is_meta()) return out;
  for (int64_t i = 0; i < n; ++i) {
    SCONCE_CHECK(values[i] >= 0, "Class values must be non-negative, got {}", values[i]);
    SCONCE_CHECK(values[i] < num_classes, "Class values must be smaller than num_classes, got {} of {}", values[i],
                 num_classes);
    out.data<int64_t>()[i * num_classes + values[i]] = 1;
  }
  return out;
}

}  // namespace sconce::cpu
