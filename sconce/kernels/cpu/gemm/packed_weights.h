// Packed weights: constant tensors in the form that kernels read, made once and shared by whoever wants the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// Which bytes packers write: raised whenever one of them writes others for the same weight, level and form
// (packed_weights_test.cpp notices a change). The byte above is the architecture, whose levels have vectors of other
// lengths. Files keep packed weights under this number; where it is another, weights are packed anew.
#if defined(__aarch64__)
inline constexpr uint32_t kPackedRevision = 0x101;
#elif defined(__wasm__)
inline constexpr uint32_t kPackedRevision = 0x201;
#else
inline constexpr uint32_t kPackedRevision = 1;
#endif

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

// While one lives, large weights that this thread prepares are packed in the calls that use them, not at once: whoever
// makes ready a network of some hundred MB does not wait for that.
class PackLater {
 public:
  PackLater() noexcept;
  ~PackLater();
  PackLater(const PackLater&) = delete;

 private:
  bool before_;
};

// Weights that are packed now or, under PackLater, step by step: in the whole process packing takes no more time than
// the calls between two weights. Until then the caller does as an ordinary call does, with the weight as it is.
class LazyWeights {
 public:
  LazyWeights(const Tensor& weight, uint64_t form, size_t bytes, std::function<void(void* packed)> pack);
  LazyWeights(const LazyWeights&) = delete;

  // Null: not packed yet. `is_due`: the caller would pack it for this call anyway.
  const void* get(bool is_due = false) const {
    const void* packed = data_.load(std::memory_order_acquire);
    return packed ? packed : try_pack(is_due);
  }
  const Tensor& weight() const { return weight_; }

 private:
  const void* try_pack(bool is_due) const;

  const Tensor weight_;
  const uint64_t form_;
  const size_t bytes_;
  const std::function<void(void*)> pack_;
  mutable std::atomic<bool> is_taken_{false};  // by the thread that packs it; for ever where memory did not suffice
  mutable PackedPtr packed_;
  mutable std::atomic<const void*> data_{nullptr};
};

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
