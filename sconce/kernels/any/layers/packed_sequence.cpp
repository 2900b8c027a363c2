// Sequences of different lengths as rows, step by step: those of step 0 of all sequences, then of step 1, ...
#include <algorithm>
#include <tuple>
#include <vector>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/recurrent_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

std::vector<int64_t> numbers(const Tensor& t, const char* name) {
  SCONCE_CHECK(t.device().type == DeviceType::cpu && t.dim() == 1 && is_integral(t.dtype()),
               "'{}' must be a 1D CPU tensor of integers", name);
  return integers_of(t);
}

// Where the rows stand in [steps * batch, ...].
Tensor places(const std::vector<int64_t>& batch_sizes, int64_t batch, Device device) {
  std::vector<int64_t> rows;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (int64_t b = 0; b < batch_sizes[t]; ++b) rows.push_back(static_cast<int64_t>(t) * batch + b);
  }
  return tensor_of_integers(rows, device);
}

Dims with_rows(int64_t rows, IntList sizes, size_t from) {
  Dims out;
  out.push_back(rows);
  for (size_t d = from; d < sizes.size(); ++d) out.push_back(sizes[d]);
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first) {
  SCONCE_CHECK(input.dim() >= 2, "Expected input of at least 2 dimensions, got {}", input.sizes());
  const Tensor by_step = batch_first ? transpose(input, 0, 1) : input;
  SCONCE_CHECK(input.numel() > 0, "Cannot pack empty tensors.");
  const std::vector<int64_t> given = numbers(lengths, "lengths");
  const int64_t steps = by_step.sizes()[0], batch = by_step.sizes()[1];
  SCONCE_CHECK(static_cast<int64_t>(given.size()) == batch,
               "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={})", given.size(), batch);
  SCONCE_CHECK(given.back() > 0,
               "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
  for (size_t i = 1; i < given.size(); ++i) {
    SCONCE_CHECK(
        given[i] <= given[i - 1],
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
        "not need ONNX exportability.");
  }
  SCONCE_CHECK(given[0] <= steps, "Expected lengths of at most {} steps, got {}", steps, given[0]);
  std::vector<int64_t> batch_sizes;
  for (int64_t t = 0; t < given[0]; ++t)
    batch_sizes.push_back(std::count_if(given.begin(), given.end(), [&](int64_t n) { return n > t; }));
  const Tensor flat = reshape(by_step, with_rows(steps * batch, by_step.sizes(), 2));
  return {index_select(flat, 0, places(batch_sizes, batch, flat.device())), tensor_of_integers(batch_sizes)};
}

Tensor _pack_padded_sequence_backward(const Tensor& grad, IntList input_size, const Tensor& batch_sizes,
                                      bool batch_first) {
  SCONCE_CHECK(input_size.size() >= 2, "Expected input of at least 2 dimensions, got {}", input_size);
  Dims by_step(input_size);
  if (batch_first) std::swap(by_step[0], by_step[1]);
  if (grad.is_meta()) {
    const Tensor shape = empty_tensor(by_step, grad.dtype(), grad.device());
    return batch_first ? transpose(shape, 0, 1) : shape;
  }
  const Tensor empty =
      zeros(with_rows(Checked(by_step[0]) * by_step[1], by_step, 2), grad.dtype(), std::nullopt, grad.device());
  const Tensor filled = reshape(
      index_copy(empty, 0, places(numbers(batch_sizes, "batch_sizes"), by_step[1], grad.device()), grad), by_step);
  return batch_first ? transpose(filled, 0, 1) : filled;
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                                const Scalar& padding_value, int64_t total_length) {
  const std::vector<int64_t> sizes = numbers(batch_sizes, "batch_sizes");
  SCONCE_CHECK(!sizes.empty() && data.dim() >= 1, "batch_sizes must not be empty");
  const auto longest = static_cast<int64_t>(sizes.size());
  SCONCE_CHECK(total_length <= 0 || total_length >= longest,
               "Expected total_length to be at least the length of the longest sequence in input, but got "
               "total_length={} and max "
               "sequence length being {}",
               total_length, longest);
  const int64_t steps = std::max(longest, total_length), batch = sizes[0];
  SCONCE_CHECK(batch >= 0, "batch_sizes must not be negative, got {}", IntList(sizes));
  int64_t total = 0;
  std::vector<int64_t> lengths(static_cast<size_t>(batch), 0);
  for (const int64_t n : sizes) {
    SCONCE_CHECK(0 <= n && n <= batch, "batch_sizes must not grow, got {}", IntList(sizes));
    total += n;
    for (int64_t b = 0; b < n; ++b) ++lengths[static_cast<size_t>(b)];
  }
  SCONCE_CHECK(total == data.sizes()[0], "batch_sizes {} do not fit data of size {}", IntList(sizes), data.sizes());
  const Tensor empty =
      full(with_rows(steps * batch, data.sizes(), 1), padding_value, data.dtype(), std::nullopt, data.device());
  const Tensor filled = index_copy(empty, 0, places(sizes, batch, data.device()), data);
  Dims shape = with_rows(steps, data.sizes(), 0);
  shape[1] = batch;
  const Tensor padded = reshape(filled, shape);
  return {batch_first ? transpose(padded, 0, 1) : padded, tensor_of_integers(lengths)};
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  SCONCE_CHECK(!sequences.empty(), "received an empty list of sequences");
  SCONCE_CHECK(padding_side == "left" || padding_side == "right",
               "Expected padding_side to be one of left or right, but got {}.", padding_side);
  int64_t longest = 0;
  for (const Tensor& t : sequences) {
    SCONCE_CHECK(t.dim() >= 1, "pad_sequence: expected sequences of at least one dimension");
    SCONCE_CHECK(t.sizes().slice(1, static_cast<size_t>(t.dim()) - 1) ==
                     sequences[0].sizes().slice(1, static_cast<size_t>(sequences[0].dim()) - 1),
                 "pad_sequence: sizes of sequences differ beyond the first: {} and {}", sequences[0].sizes(),
                 t.sizes());
    longest = std::max(longest, t.sizes()[0]);
  }
  std::vector<Tensor> padded;
  for (const Tensor& t : sequences) {
    Dims pad(static_cast<size_t>(2 * t.dim()), 0);
    pad[static_cast<size_t>(2 * t.dim()) - (padding_side == "left" ? 2 : 1)] = longest - t.sizes()[0];
    padded.push_back(constant_pad_nd(t, pad, padding_value));
  }
  return stack(padded, batch_first ? 0 : 1);
}

}  // namespace sconce::any_device
