// From a one-element tensor to a number.
#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

int64_t Int_Tensor(const Tensor& a) { return item_of(a).to_int(); }
double Float_Tensor(const Tensor& a) { return item_of(a).to_double(); }

bool Bool_Tensor(const Tensor& a) {
  SCONCE_CHECK(a.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  SCONCE_CHECK(a.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return item_of(a).to_bool();
}

int64_t len_Tensor(const Tensor& t) {
  SCONCE_CHECK_AS(type, t.dim() > 0, "len() of a 0-d tensor");
  return t.size(0);
}

}  // namespace sconce::any_device
