// Small storage: the memory that a fuzzed pickle gets for its tensors, a few bytes of 1.
#pragma once

#include <optional>

#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce::fuzz {

// Throws Error for more than 64 elements.
inline Tensor small_storage(std::optional<DType> dtype, int64_t count) {
  constexpr int64_t kMost = 64;
  SCONCE_CHECK(count <= kMost, "too large");
  Tensor t = empty_tensor({count}, dtype.value_or(DType::uint8));
  for (size_t i = 0; i < static_cast<size_t>(count) * t.item_size(); ++i) t.data<uint8_t>()[i] = 1;
  return t;
}

}  // namespace sconce::fuzz
