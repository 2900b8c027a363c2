// Gradients of views that are not a single operator of PyTorch.
#include <algorithm>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/concatenation_kernels.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/indexing.h"
#include "sconce/generated/padding.h"
#include "sconce/generated/padding_kernels.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

// One part of grad for each tensor; those of shape [0] that cat skips get a gradient of shape [0].
std::vector<Tensor> sconce_cat_backward(const Tensor& grad, TensorList tensors, int64_t dim) {
  const int64_t d = wrap_dim(dim, grad.dim());
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    const bool skipped = t.dim() == 1 && t.numel() == 0;
    const int64_t length = skipped ? 0 : t.sizes()[d];
    const Tensor part =
        skipped ? empty_tensor({0}, grad.dtype(), grad.device()) : slice_Tensor(grad, d, at, at + length, 1);
    out.push_back(sconce::to_dtype(part, t.dtype()));
    at += length;
  }
  return out;
}

namespace {

// How many elements a geometry reaches over, from its first to its last.
int64_t reach(IntList sizes, IntList strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last = Checked(last) + Checked(sizes[d] - 1) * strides[d];
  }
  return Checked(last) + 1;
}

// Is every element in a place of its own? False also where that is not easy to see.
bool is_apart(IntList sizes, IntList strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t used = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < used) return false;
    used = Checked(used) + Checked(size - 1) * stride;
  }
  return true;
}

}  // namespace

// Both geometries count elements of one memory: grad is added up there and read where the input stands. Where elements
// of the input share memory each gets its part.
Tensor sconce_as_strided_backward(const Tensor& grad_output, IntList input_size, IntList input_stride, IntList size,
                                  IntList stride, int64_t offset) {
  SCONCE_CHECK(input_size.size() == input_stride.size() && size.size() == stride.size(),
               "as_strided_backward: sizes and strides must have the same lengths, got {} and {}, {} and {}",
               input_size.size(), input_stride.size(), size.size(), stride.size());
  const int64_t begin = std::max<int64_t>(-offset, 0);  // of the input
  const int64_t elements = std::max(begin + reach(input_size, input_stride), begin + offset + reach(size, stride));
  const Tensor sums = zeros({elements}, grad_output.dtype(), {}, grad_output.device());
  const bool apart = is_apart(input_size, input_stride);
  Tensor numbers;
  if (!apart || !is_apart(size, stride)) numbers = arange(elements, DType::int64, {}, grad_output.device());
  const auto places = [&](IntList s, IntList by, int64_t from) {
    return reshape(make_view(numbers, s, by, from), {-1});
  };
  if (is_apart(size, stride))
    copy_(make_view(sums, size, stride, begin + offset), grad_output);
  else
    index_add_(sums, 0, places(size, stride, begin + offset), reshape(grad_output, {-1}));
  const Tensor out = make_view(sums, input_size, input_stride, begin);
  if (apart) return shallow_copy(out);
  const Tensor count = zeros({elements}, grad_output.dtype(), {}, grad_output.device());
  const Tensor from = places(input_size, input_stride, begin);
  index_add_(count, 0, from, ones({from.numel()}, grad_output.dtype(), {}, grad_output.device()));
  return contiguous_tensor(div(out, make_view(count, input_size, input_stride, begin)));
}

Tensor sconce_constant_pad_backward(const Tensor& grad, IntList pad) {
  Dims crop;
  for (int64_t p : pad) crop.push_back(Checked(0) - p);
  return constant_pad_nd(grad, crop, 0);
}

}  // namespace sconce::any_device
