#include "sconce/kernels/any/prims_same.h"

#include "sconce/base/error.h"

namespace sconce {

void check_prims_dtypes(std::initializer_list<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* t : tensors) {
    if (t->is_wrapped_number()) continue;
    if (first == nullptr) first = t;
    SCONCE_CHECK(t->dtype() == first->dtype(), "Tensor with dtype torch.{} is not the expected dtype of torch.{}!",
                 dtype_name(t->dtype()), dtype_name(first->dtype()));
  }
}

void check_prims_sizes(std::initializer_list<const Tensor*> tensors) {
  const auto fits_any = [](const Tensor& t) {
    return t.dim() == 0 && (t.device().type == DeviceType::cpu || t.is_meta());
  };
  const Tensor* first = nullptr;
  for (const Tensor* t : tensors) {
    if (fits_any(*t)) continue;
    if (first == nullptr) first = t;
    SCONCE_CHECK(t->device() == first->device(), "Tensor on device {} is not on the expected device {}!",
                 to_string(t->device()), to_string(first->device()));
  }
  for (const Tensor* t : tensors) {
    if (fits_any(*t)) continue;
    SCONCE_CHECK(t->sizes() == first->sizes(), "Shape torch.Size({}) is not the expected shape torch.Size({})!",
                 t->sizes(), first->sizes());
  }
}

}  // namespace sconce
