// NumPy's array interface: its names of dtypes ("<f4"), as .npy files and pickles write them.
#pragma once

#include <optional>
#include <string_view>

#include "sconce/tensor/tensor.h"

namespace sconce {

struct NumpyElement {
  DType dtype;
  bool swapped;  // big-endian
};

// The element that the kind ("f4") and the byte order ('<', '>', '=', or '|' for single bytes) mean; nothing when
// tensors do not have it.
std::optional<NumpyElement> numpy_element(std::string_view kind, char order);
// "f4" of float32; empty when NumPy has no such dtype.
std::string_view numpy_kind(DType dtype);
// Swaps the bytes of every number of a contiguous tensor, both halves of a complex one apart.
void swap_bytes(const Tensor& t);

}  // namespace sconce
