// Packed weights: constant tensors in the form that kernels read, made once and shared by whoever wants the same.
#pragma once

#include <cstdint>
#include <memory>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// Memory that begins at a multiple of 64 bytes.
class PackedWeights {
 public:
  explicit PackedWeights(size_t bytes);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
};

// `weight` in the form `form` (a number that tells packers and their parameters apart), which `pack` writes into
// `bytes` bytes if nobody has it. Two calls share one if the weight is the same memory, seen in the same way, at the
// same version.
std::shared_ptr<const PackedWeights> packed_weights(const Tensor& weight, uint64_t form, size_t bytes,
                                                    FunctionRef<void(void* packed)> pack);

}  // namespace sconce
