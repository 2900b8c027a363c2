#include "sconce/kernels/cpu/engine/sound_bools.h"

#include <algorithm>

#include "sconce/dispatch/glue.h"

namespace sconce {

Tensor sound_bools(const Tensor& t) {
  if (t.dtype() != DType::bool_ || t.is_meta()) return t;
  const Tensor dense = contiguous_tensor(t);
  const uint8_t* from = dense.data<uint8_t>();
  const int64_t n = dense.numel();
  uint8_t seen = 0;
  for (int64_t i = 0; i < n; ++i) seen |= from[i];
  if (seen <= 1) return t;
  const Tensor sound = empty_tensor(t.sizes(), DType::bool_, t.device());
  std::transform(from, from + n, sound.data<uint8_t>(), [](uint8_t byte) -> uint8_t { return byte != 0; });
  return sound;
}

}  // namespace sconce
