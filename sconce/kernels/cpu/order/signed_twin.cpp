#include "sconce/kernels/cpu/order/signed_twin.h"

#include "sconce/dispatch/glue.h"
#include "sconce/tensor/element.h"

namespace sconce::cpu {
namespace {

// In memory that is ours alone, dense in some order.
void turn_highest_bit(const Tensor& t) {
  auto* words = t.data<uint64_t>();
  for (int64_t i = 0; i < t.numel(); ++i) words[i] ^= uint64_t{1} << 63;
}

}  // namespace

Tensor signed_twin(const Tensor& t) {
  if (is_float8(t.dtype())) fail_not_implemented(t.dtype());
  const Tensor twin = to_dtype(t, DType::int64);
  if (t.dtype() == DType::uint64) turn_highest_bit(twin);
  return twin;
}

Tensor from_signed_twin(const Tensor& twin, DType dtype) {
  const Tensor t = to_dtype(twin, dtype);
  if (dtype == DType::uint64) turn_highest_bit(t);
  return t;
}

}  // namespace sconce::cpu
