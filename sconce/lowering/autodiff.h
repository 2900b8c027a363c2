// Reverse-mode differentiation of graphs, from the formulas of the operator table.
//
//   graph(%x, %w):                       f(%x, %w):                            df(%grad_y, %x, %y):
//     %y = aten::mul(%x, %w)     =>        %y = aten::mul(%x, %w)                %grad_w = aten::mul(%grad_y, %x)
//     return (%y)                          return (%y, %x)    # captures         return (%grad_w)
//
// f is the graph with the values that df reads as further results; df takes gradients of results and these captures and
// gives gradients of inputs. Both are ordinary graphs.
//
// Note [Captures]
// What df needs of the forward run is captured, and nothing else: sizes where a formula asks for sizes only, nothing of
// what is constant. A value out of a branch is captured as an Optional (None where the other branch ran), one out of a
// loop as a list with one element per iteration, nested as blocks are. df runs the same branch, and the iterations
// from the last to the first.
//
// Note [Gradients that may be missing]
// A gradient is absent (nobody computes it), there, or there when the graph runs: then its type is Optional[Tensor],
// and what follows from it stands in an If. So results that nobody uses cost nothing.
//
// Note [Second order]
// When df itself is recorded, captures must have history. Inputs and results of f have theirs. Other captures that
// gradients flow through ("temporaries") become further differentiable results of the node that stands for f: df for
// second order takes a gradient for each of them, shaped as the capture is.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sconce/passes/analysis/activity.h"

namespace sconce::passes {

class SCONCE_API Differentiation {
 public:
  // `graph` holds only what is_differentiable; compound operators in it are replaced by their bodies here. `wanted`:
  // the inputs that gradients are computed for.
  Differentiation(std::shared_ptr<ir::Graph> graph, std::vector<bool> wanted);
  ~Differentiation();
  Differentiation(const Differentiation&) = delete;

  // The results of the graph, then captures.
  const std::shared_ptr<ir::Graph>& forward() const { return forward_; }

  struct Capture {
    enum class From : uint8_t { input, output, temporary } from;
    size_t index = 0;             // of an input or output
    bool differentiable = false;  // a temporary that gradients flow through
  };
  const std::vector<Capture>& captures() const { return captures_; }
  // Which results depend on a wanted input.
  const std::vector<bool>& differentiable_outputs() const { return differentiable_outputs_; }

  // df for some of the wanted inputs. Its inputs: the gradient of each differentiable result (Optional where there are
  // several, or temporaries), for second order the gradient of each differentiable temporary, then all captures. It
  // returns one gradient (or None) per input of the graph that is wanted here.
  std::shared_ptr<ir::Graph> backward(const std::vector<bool>& wanted, bool second_order);

 private:
  friend class Backward;
  void prepare();
  void find_captures();
  void build_forward();

  std::shared_ptr<ir::Graph> graph_;  // expanded, with the questions about sizes that backward asks
  std::vector<bool> wanted_;
  std::vector<bool> differentiable_outputs_;
  std::vector<const ir::Value*> captured_;  // values of graph_
  std::vector<Capture> captures_;
  std::shared_ptr<ir::Graph> forward_;
  std::map<std::vector<uint64_t>, ir::Value*> questions_;  // asked already: operator and inputs
  std::map<const ir::Node*, ir::Value*> trips_;            // of loops
};

// The passes of the pipeline, whatever the environment says: graphs that are made here are not the program's.
void run_pipeline(ir::Graph& graph);
// How many blocks are around the value, beside the graph's own.
size_t depth_of(const ir::Value* v);
// The type of a value of a block as it is captured `levels` blocks further out (Note [Captures]).
TypePtr captured_type(const ir::Block* block, TypePtr type, size_t levels);

// Operators without formulas become their bodies, where these can be differentiated. True when there were some.
bool expand_bodies(ir::Graph& graph, const Activity& active);
// prim::AutogradAdd of None, sconce::grad_like of what fits already, aten::conj of real numbers.
bool simplify_gradients(ir::Graph& graph);

}  // namespace sconce::passes
