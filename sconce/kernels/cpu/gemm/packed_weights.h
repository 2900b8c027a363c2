// Packed weights: constant tensors in the form that kernels read, made once and shared by whoever wants the same.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// Which bytes packers write: raised whenever one of them writes others for the same weight, level and form. Files keep
// packed weights under this number (packed_weights_test.cpp notices a change).
inline constexpr uint32_t kPackedRevision = 1;

// Memory that begins at a multiple of 64 bytes.
class PackedWeights {
 public:
  explicit PackedWeights(size_t bytes);
  // Memory of somebody else, who lives as long as `owner`.
  PackedWeights(void* data, size_t bytes, std::shared_ptr<const void> owner);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
  std::shared_ptr<const void> owner_;
};
using PackedPtr = std::shared_ptr<const PackedWeights>;

// `weight` in the form `form` (a number that tells packers and their parameters apart), which `pack` writes into
// `bytes` bytes if nobody has it. Two calls share one if the weight is the same memory, seen in the same way, at the
// same version.
PackedPtr packed_weights(const Tensor& weight, uint64_t form, size_t bytes, FunctionRef<void(void* packed)> pack);

// The same, packed before: whoever asks for it while the result lives gets it, if it has the bytes that are wanted.
// `data` must be aligned to 64 bytes.
PackedPtr adopt_packed(const Tensor& weight, uint64_t form, void* data, size_t bytes,
                       std::shared_ptr<const void> owner);

// All that there is of weights in this storage.
struct PackedForm {
  int64_t offset;  // of the weight, in bytes from the beginning of the storage
  DType dtype;
  std::vector<int64_t> sizes, strides;
  uint64_t form;
  PackedPtr packed;
};
std::vector<PackedForm> packed_forms_of(const Storage* storage);

}  // namespace sconce
