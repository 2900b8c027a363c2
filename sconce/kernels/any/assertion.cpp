// Conditions on values of tensors.
#include "sconce/base/error.h"
#include "sconce/generated/assertion_kernels.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

void _assert_async_msg(const Tensor& self, std::string_view message) {
  SCONCE_CHECK(self.numel() == 1, "Boolean value of Tensor with {} values is ambiguous",
               self.numel() == 0 ? "no" : "more than one");
  if (self.is_meta()) return;
  SCONCE_CHECK(item_of(self).to_bool(), "{}", message);
}

void _assert_async(const Tensor& self) {
  _assert_async_msg(self, "Expected Tensor with single nonzero value, but got zero");
}

}  // namespace sconce::any_device
