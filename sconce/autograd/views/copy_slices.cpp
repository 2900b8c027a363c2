#include "sconce/autograd/views/copy_slices.h"

#include "sconce/autograd/graph/fit_gradient.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/views/view_history.h"
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"

namespace sconce::autograd {
namespace {

SCONCE_VARIANT(gradient_in_place, "autograd.copy_slices.in_place",
               "a gradient without another owner, in the base's layout");

// A gradient that this node may write into, with the strides of the base.
bool is_ours(const Tensor& grad, IntList strides) {
  const TensorImpl& g = *grad.impl();
  return !grad_enabled() && g.count.unique() && g.storage->count.unique() && !g.extra && !grad.is_view() &&
         !has_math_bits(grad) && grad.storage_offset() == 0 && grad.is_dense() && grad.strides() == strides;
}

}  // namespace

Tensor view_at(const Tensor& whole, IntList sizes, IntList strides, int64_t offset, DType dtype) {
  const bool complex = is_complex(dtype);
  if (whole.dtype() == dtype) return as_strided(whole, sizes, strides, offset);
  SCONCE_CHECK_AS(not_implemented, complex ? real_dtype(dtype) == whole.dtype() : real_dtype(whole.dtype()) == dtype,
                  "gradients through a view of {} as {}", dtype_name(whole.dtype()), dtype_name(dtype));
  if (!complex) return as_strided(view_as_real(whole), sizes, strides, offset);
  Dims pair_sizes(sizes), pair_strides;
  for (int64_t stride : strides) pair_strides.push_back(2 * stride);
  pair_sizes.push_back(2);
  pair_strides.push_back(1);
  return view_as_complex(as_strided(whole, pair_sizes, pair_strides, 2 * offset));
}

CopySlices::Geometry CopySlices::geometry_of(const Tensor& t) {
  return {Dims(t.sizes()), Dims(t.strides()), t.storage_offset(), t.dtype(), signs_of(t)};
}

CopySlices::CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner, uint32_t self)
    : base_(geometry_of(base)), view_(geometry_of(view)), inner_(std::move(inner)), self_(self) {
  // Offsets count from where the base begins.
  const auto bytes = [](const Geometry& g) { return g.offset * static_cast<int64_t>(item_size(g.dtype)); };
  view_.offset = (bytes(view_) - bytes(base_)) / static_cast<int64_t>(item_size(view_.dtype));
  inner_->outer = this;
  add_output(base);
  edges.reserve(inner_->edges.size() + 1);
  edges.push_back(gradient_edge(base));
  for (uint32_t i = 0; i < inner_->edges.size(); ++i) {
    if (i != self_) edges.push_back(inner_->edges[i]);
  }
}

Tensor CopySlices::part_of(const Tensor& grad) const {
  Tensor part = view_at(grad, view_.sizes, view_.strides, view_.offset, view_.dtype);
  const SignChange change = sign_change(base_.signs, view_.signs, view_.sizes, view_.strides, view_.offset);
  if (change.conjugate) part = _conj(part);
  return change.negative ? _neg_view(part) : part;
}

void CopySlices::apply(const BackwardCall& call) {
  if (!call.grads[0].defined()) return;
  SCONCE_CHECK(!released_, "{}", kSecondBackward);
  Tensor whole = std::move(call.grads[0]);
  // Where the base's own gradient is not wanted, nothing is written.
  const bool fits = whole.strides() == IntList(base_.strides) && whole.storage_offset() == 0 && !has_math_bits(whole);
  if (!gradient_in_place(call.wanted[0] ? is_ours(whole, base_.strides) : fits)) {
    const Tensor grad = std::move(whole);
    whole = empty_strided_tensor(base_.sizes, base_.strides, grad.dtype(), grad.device());
    copy_(whole, grad);
  }
  Tensor part = part_of(whole);
  std::vector<Tensor> inputs(inner_->edges.size());
  std::vector<uint8_t> wanted(inner_->edges.size());
  for (uint32_t i = 0, next = 1; i < wanted.size(); ++i) wanted[i] = call.wanted[i == self_ ? 0 : next++];
  Tensor grad = clone(part, MemoryFormat::contiguous);
  inner_->apply({{&grad, 1}, inputs, wanted});
  for (uint32_t i = 0, next = 1; i < inputs.size(); ++i) {
    if (i != self_) call.inputs[next++] = std::move(inputs[i]);
  }
  if (!call.wanted[0]) return;
  if (self_ != kNoEdge && inputs[self_].defined())
    copy_(part, fit_gradient(std::move(inputs[self_]), inner_->outputs[0], *this, 0));
  else
    zero_(part);
  call.inputs[0] = std::move(whole);
}

Edge CopySlices::edge_of_view(Device device) {
  const auto without_data = [&](const Geometry& g, int64_t offset) {
    Tensor t = make_tensor_unchecked(make_storage(0, device), g.dtype, g.sizes, g.strides, offset);
    set_math_bits(*t.impl(), g.signs.conjugate, g.signs.negative);
    return t;
  };
  const Tensor whole = without_data(base_, base_.offset);
  set_history(whole, Ref<Node>::share(this), 0);
  const auto base_bytes = base_.offset * static_cast<int64_t>(item_size(base_.dtype));
  return edge_between(without_data(view_, view_.offset + base_bytes / static_cast<int64_t>(item_size(view_.dtype))),
                      whole);
}

void CopySlices::release_saved() {
  released_ = true;
  inner_->release_saved();
}

}  // namespace sconce::autograd
