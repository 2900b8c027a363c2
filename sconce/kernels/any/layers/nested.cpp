#include "sconce/kernels/any/layers/nested.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/attention_kernels.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

// The owner in the storage of a nested tensor: it keeps the tensor that the memory was made in.
struct Sequences {
  Tensor memory;
  std::vector<int64_t> lengths;
};

void delete_sequences(void* context) noexcept { delete static_cast<Sequences*>(context); }

// How many elements from the front each row of a mask has; -1 where there are others behind a gap.
std::vector<int64_t> lengths_in(const char* name, const Tensor& t, const Tensor& mask) {
  SCONCE_CHECK(mask.dtype() == DType::bool_, "{}: Expected mask to be of ScalarType Bool, but got {} instead.", name,
               dtype_legacy_name(mask.dtype()));
  SCONCE_CHECK(mask.dim() == 2, "{}: Padding mask should be 2D, got {}", name, mask.sizes());
  SCONCE_CHECK(t.dim() == 3, "{}: Input should be a 3D tensor, N * L * D, got {}", name, t.sizes());
  SCONCE_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1),
               "{}: Mask size should match input size, got {} and {}", name, mask.sizes(), t.sizes());
  const std::vector<int64_t> shown = integers_of(mask);
  const int64_t length = mask.size(1);
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < mask.size(0); ++b) {
    const auto row = shown.begin() + b * length, end = row + length, stop = std::find(row, end, 0);
    lengths.push_back(std::find(stop, end, 1) == end ? stop - row : -1);
  }
  return lengths;
}

}  // namespace

const std::vector<int64_t>* nested_lengths(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() != 3 || tensor.is_meta()) return nullptr;
  const Storage* storage = tensor.storage();
  if (!storage || storage->deleter != delete_sequences) return nullptr;
  const auto& sequences = *static_cast<const Sequences*>(storage->context);
  const bool whole = tensor.sizes() == sequences.memory.sizes() && tensor.is_contiguous();
  return whole ? &sequences.lengths : nullptr;
}

Tensor make_nested(const Tensor& padded, std::vector<int64_t> lengths) {
  const Tensor zeroed = masked_fill(padded, unsqueeze(padding_of(lengths, padded.size(1), padded.device()), -1), 0);
  auto* sequences = new Sequences{contiguous(zeroed), std::move(lengths)};
  const Tensor& memory = sequences->memory;
  Ref<Storage> storage =
      wrap_storage(memory.storage()->data, memory.storage()->nbytes, delete_sequences, sequences, true);
  storage->device = memory.device();
  return make_tensor(std::move(storage), memory.dtype(), memory.sizes(), memory.strides(), memory.storage_offset());
}

Tensor padding_of(const std::vector<int64_t>& lengths, int64_t length, Device device) {
  const Tensor places = arange(length, DType::int64, {}, device);
  return ge(places, unsqueeze(tensor_of_integers(lengths, device), 1));
}

namespace any_device {

bool _nested_tensor_from_mask_left_aligned(const Tensor& t, const Tensor& mask) {
  const std::vector<int64_t> lengths = lengths_in("_nested_tensor_from_mask_left_aligned", t, mask);
  return std::find(lengths.begin(), lengths.end(), -1) == lengths.end();
}

Tensor _nested_tensor_from_mask(const Tensor& t, const Tensor& mask, bool mask_check) {
  std::vector<int64_t> lengths = lengths_in("_nested_tensor_from_mask", t, mask);
  const bool aligned = std::find(lengths.begin(), lengths.end(), -1) == lengths.end();
  SCONCE_CHECK(!mask_check || aligned, "_nested_tensor_from_mask: Mask must have left-aligned without gaps");
  if (!aligned) {  // PyTorch counts
    lengths = integers_of(sum(mask, IntList{1}));
  }
  return make_nested(t, std::move(lengths));
}

Tensor to_padded_tensor(const Tensor& self, double padding, std::optional<IntList> output_size) {
  const std::vector<int64_t>* lengths = nested_lengths(self);
  SCONCE_CHECK(lengths != nullptr, "to_padded_tensor: expected a nested tensor, got one of size {}", self.sizes());
  const int64_t longest = lengths->empty() ? 0 : *std::max_element(lengths->begin(), lengths->end());
  Dims sizes(self.sizes());
  sizes[1] = longest;
  if (output_size) {
    SCONCE_CHECK(output_size->size() == 3, "to_padded_tensor: expected an output_size of 3 numbers, got {}",
                 *output_size);
    for (size_t d = 0; d < 3; ++d) {
      SCONCE_CHECK((*output_size)[d] >= sizes[d],
                   "to_padded_tensor: value in output_size is less than NestedTensor padded size. Truncation is not "
                   "supported; got {} for {}",
                   *output_size, sizes);
    }
    sizes = Dims(*output_size);
  }
  const Tensor filled = masked_fill(self, unsqueeze(padding_of(*lengths, self.size(1), self.device()), -1), padding);
  if (filled.sizes() == IntList(sizes)) return contiguous(filled);
  const Tensor result = full(sizes, padding, self.dtype(), {}, self.device());
  for (size_t b = 0; b < lengths->size(); ++b) {
    const auto row = static_cast<int64_t>(b);
    const int64_t n = (*lengths)[b];
    const Tensor to = narrow(narrow(select(result, 0, row), 0, 0, n), 1, 0, self.size(2));
    copy_tensor(to, narrow(select(filled, 0, row), 0, 0, n));
  }
  return result;
}

}  // namespace any_device
}  // namespace sconce
