// Index kernels: elements by index, read or written (text/indexed.cuh).
#pragma once

#include <span>

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class IndexMode : uint8_t { read, assign, add, multiply, larger, smaller };

// One index: which elements of `self` along a dimension of the given size and stride. It has a stride for each size of
// the iteration.
struct IndexOperand {
  const Tensor* index;  // int64
  const int64_t* strides;
  int64_t extent, extent_stride;
};

// For every place of `sizes`: values = self[...], or self[...] is combined with values. `self_strides` leads to the
// place that the indices count from. `single`: a number instead of values.
struct IndexedCall {
  const char* name;  // of the operator, for errors
  IndexMode mode;
  IntList sizes;
  const Tensor* values;
  const int64_t* value_strides;
  const Tensor* self;
  const int64_t* self_strides;
  std::span<const IndexOperand> indices;
  bool wraps;  // negative indices count from the end
  const void* single = nullptr;
};
void launch_indexed(const IndexedCall& call);

// "sum", "add", "prod", "multiply", "amax", "amin"; throws Error for others.
IndexMode mode_from_name(std::string_view name);

}  // namespace sconce::cuda
