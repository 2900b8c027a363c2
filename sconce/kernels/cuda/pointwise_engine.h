// Pointwise engine of CUDA devices: pointwise operators, copies and fills, which are one kernel text.
#pragma once

#include <string>

#include "sconce/tensor/backend.h"

namespace sconce::cuda {

// The functions of Backend (tensor/backend.h).
void pointwise(const PointwiseCall& call, Device device);
void copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device device);
void fill(std::span<const int64_t> sizes, const Operand& out, const void* element, Device device);

// The source of the kernel that such a call launches, and the key it is kept under: for tests.
struct PointwiseText {
  std::string key, source;
  const char* entry;
};
PointwiseText pointwise_text(const PointwiseCall& call);
PointwiseText copy_text(std::span<const int64_t> sizes, const Operand& out, const Operand& in);

}  // namespace sconce::cuda
