// CopySlices: the backward node of a tensor of which a part (a view) was written in place.
#pragma once

#include "sconce/autograd/graph/node.h"
#include "sconce/autograd/views/view_history.h"

namespace sconce::autograd {

inline constexpr uint32_t kNoEdge = ~0u;

// The operation on the view is `inner`, which is not part of the graph itself: this node has its edges, but in place of
// the edge `self` (kNoEdge if the operation ignores the old values of the view) that of the base, which comes first. Of
// the base's gradient the part under the view goes through inner, the rest passes.
class CopySlices final : public Node {
 public:
  // Before the histories of base and view change.
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner, uint32_t self);
  ~CopySlices() override { inner_->outer = nullptr; }
  std::string name() const override { return "CopySlices"; }
  void apply(const BackwardCall& call) override;
  void release_saved() override;
  // The history of the view that was written, as a view of this node's output.
  Edge edge_of_view(Device device);

 private:
  // The part of a gradient that belongs to the view.
  Tensor part_of(const Tensor& grad) const;

  struct Geometry {
    Dims sizes, strides;
    int64_t offset;
    DType dtype;
    SignsOf signs;
  };
  static Geometry geometry_of(const Tensor& t);

  Geometry base_, view_;
  Ref<Node> inner_;
  uint32_t self_;
  bool released_ = false;
};

// A view of `whole` (with strides and offset as the base of a view has them, given here) at the place of that view:
// through real or complex numbers if the dtypes differ. Recorded if grad mode is on. Math bits are those of `whole`.
Tensor view_at(const Tensor& whole, IntList sizes, IntList strides, int64_t offset, DType dtype);

}  // namespace sconce::autograd
