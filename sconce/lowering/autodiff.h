// Automatic differentiation: reverse mode on graphs, from the formulas of the operator table.
//
//   graph(%x, %w):                       f(%x, %w):                            df(%grad_y, %x, %y):
//     %y = aten::mul(%x, %w)     =>        %y = aten::mul(%x, %w)                %grad_w = aten::mul(%grad_y, %x)
//     return (%y)                          return (%y, %x)    # captures         return (%grad_w)
//
// f is the graph with the values that df reads as further results; df takes gradients of results and these captures and
// gives gradients of inputs. Both are ordinary graphs.
//
// Note [Captures]
// Only the values that df reads are captured: sizes if a formula reads sizes only, and no constants. A
// value of a branch is captured as an Optional (None if the other branch ran), one of a loop as a list
// with one element per iteration, nested as blocks are. df runs the same branch, and the iterations from
// the last to the first.
//
// Note [Gradients that may be missing]
// A gradient is absent (never computed), present, or known only when the graph runs: then its type is Optional[Tensor],
// and the nodes that use it stand in an If. So unused results cost nothing.
//
// Note [Captures that are computed again]
// The gradient of gelu reads its argument, that of the product behind it its result: both would be kept. A pointwise
// operator of one tensor whose argument is captured gives its result once more, to the bit, so a capture says how
// (Capture::again); who runs f decides whether the memory is worth the time.
//
// Note [Second order]
// When df itself is recorded, captures must have history. Inputs and results of f have theirs. Other captures that
// gradients flow through ("temporaries") become further differentiable results of the node that stands for f: df for
// second order takes a gradient for each of them, shaped as the capture is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sconce/passes/analysis/activity.h"

namespace sconce::passes {

class SCONCE_API Differentiation {
 public:
  // `graph` holds only nodes that are is_differentiable; compound operators in it are replaced by their bodies here.
  // `wanted`: the inputs that gradients are computed for.
  Differentiation(std::shared_ptr<ir::Graph> graph, std::vector<bool> wanted);
  ~Differentiation();
  Differentiation(const Differentiation&) = delete;

  // The results of the graph, then captures.
  const std::shared_ptr<ir::Graph>& forward() const { return forward_; }

  // How a capture follows from another one: op(that one, args...), seen in the capture's sizes. The operator's result
  // has the order of a contiguous argument, and so does the capture.
  struct Again {
    const Op* op;
    std::vector<sconce::Value> args;  // constants behind the tensor
    size_t from;                      // the capture that is the operator's argument
    const void* result;               // captures of one result have the same
  };
  struct Capture {
    enum class From : uint8_t { input, output, temporary } from;
    size_t index = 0;             // of an input or output
    bool differentiable = false;  // a temporary that gradients flow through
    std::optional<Again> again = {};
  };
  const std::vector<Capture>& captures() const { return captures_; }
  // Which results depend on a wanted input.
  const std::vector<bool>& differentiable_outputs() const { return differentiable_outputs_; }

  // df for some of the wanted inputs. Its inputs: the gradient of each differentiable result (Optional if there are
  // several, or temporaries), for second order the gradient of each differentiable temporary, then all captures. It
  // returns one gradient (or None) per input of the graph that is wanted here.
  std::shared_ptr<ir::Graph> backward(const std::vector<bool>& wanted, bool second_order);

 private:
  friend class Backward;
  void prepare();
  void find_captures();
  std::optional<Again> again(const ir::Value* v) const;
  void build_forward();

  std::shared_ptr<ir::Graph> graph_;  // expanded, with the size queries of backward
  std::vector<bool> wanted_;
  std::vector<bool> differentiable_outputs_;
  std::vector<const ir::Value*> captured_;  // values of graph_
  std::vector<Capture> captures_;
  std::shared_ptr<ir::Graph> forward_;
  std::map<std::vector<uint64_t>, ir::Value*> questions_;  // made already: operator and inputs
  std::map<const ir::Node*, ir::Value*> trips_;            // of loops
};

// The passes of the pipeline, without the switches of the environment: graphs that are made here are not the program's.
void run_pipeline(ir::Graph& graph);
// How many blocks are around the value, beside the graph's own.
size_t depth_of(const ir::Value* v);
// The type of a value of a block as it is captured `levels` blocks further out (Note [Captures]).
TypePtr captured_type(const ir::Block* block, TypePtr type, size_t levels);

// Operators without formulas become their bodies, if these can be differentiated. True if there were some.
bool expand_bodies(ir::Graph& graph, const Activity& active);
// Peephole rules for gradients: prim::AutogradAdd of None, sconce::grad_like of a gradient that fits, aten::conj
// of real numbers.
bool simplify_gradients(ir::Graph& graph);

}  // namespace sconce::passes
