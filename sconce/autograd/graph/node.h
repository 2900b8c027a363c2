// Backward graph: a Node stands for one differentiable operation, its edges lead to the nodes that made its
// inputs (or to the AccumulateGrad of a leaf). Nodes are counted; tensors own the node that made them, nodes own
// those before them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/base/inline_vector.h"
#include "sconce/base/ref.h"
#include "sconce/base/small_vector.h"
#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

class CopySlices;
class Node;
struct NodeHooks;
struct Place;

// Where the gradient of a tensor goes: to input `slot` of a node, which is output `slot` of the forward operation. No
// node if the gradient is not wanted.
struct Edge {
  Ref<Node> node;
  uint32_t slot = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

// The sizes, dtype and device that the gradient of an output of the forward operation must have.
struct OutputInfo {
  Dims sizes;
  DType dtype;
  Device device;
};
OutputInfo output_info(const Tensor& t);
Tensor zeros_for(const OutputInfo& info);

// One call of Node::apply.
struct BackwardCall {
  std::span<Tensor> grads;          // one per output of the forward operation, undefined for zero; may be moved from
  std::span<Tensor> inputs;         // to be filled, one per edge; undefined for zero
  std::span<const uint8_t> wanted;  // per edge, whether its gradient is used in this run
};

class SCONCE_API Node {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string name() const = 0;  // "MulBackward0"
  virtual void apply(const BackwardCall& call) = 0;
  // Frees the saved values of apply, which throws from then on. Called after backward without retain_graph.
  virtual void release_saved() {}
  // Hooks of the tensors whose gradients these are: they may replace them.
  virtual void run_tensor_hooks(std::span<Tensor> grads);

  size_t add_output(const Tensor& t);  // its slot

  RefCount count;
  uint64_t sequence;  // of this thread; later operations run first. AccumulateGrad has the largest
  InlineVector<Edge, 2> edges;
  InlineVector<OutputInfo, 1> outputs;
  std::unique_ptr<NodeHooks> hooks;  // null if there are none
  std::unique_ptr<Place> place;      // where it was made, in anomaly mode
  CopySlices* outer = nullptr;       // that runs this node as its inner one

 private:
  friend void destroy(Node* node) noexcept;
  Node* next_dying_ = nullptr;
};

inline void retain(Node* p) noexcept {
  if (p) p->count.retain();
}
// Deletes a node without owners; a chain of any length needs no deep stack.
SCONCE_API void destroy(Node* p) noexcept;
inline void release(Node* p) noexcept {
  if (p && p->count.release()) destroy(p);
}

// The forward operation as errors call it: "Mul" for MulBackward0, "T1" for TBackward1.
std::string forward_name(const Node& node);

// A number that grows with every node made on this thread.
uint64_t next_sequence() noexcept;
void set_next_sequence(uint64_t next) noexcept;

}  // namespace sconce::autograd
