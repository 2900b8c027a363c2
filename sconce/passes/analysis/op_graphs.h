// Operators as graphs: the bodies of compound operators and the formulas of derivatives, which the operator table has
// as text. Passes know no text, the front end does.
#pragma once

#include <memory>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::passes {

// One formula of an operator. The graph gives one gradient per target: a Tensor, an Optional[Tensor], or a List[Tensor]
// for an argument that is a list.
struct FormulaGraph {
  struct Input {
    enum class Kind : uint8_t { argument, result, grad, grads, needs } kind;
    size_t index = 0;  // of the argument, the result, or the result that the gradient belongs to
  };
  std::vector<size_t> targets;  // arguments, ascending
  std::vector<Input> inputs;    // what the inputs of the graph are
  std::shared_ptr<const ir::Graph> graph;
};

class OpGraphs {
 public:
  virtual ~OpGraphs() = default;
  // Null where the operator has no formulas, or they cannot be compiled. Valid for good; safe from any thread.
  virtual const std::vector<FormulaGraph>* formulas(const Op& op) = 0;
  // One input per argument, one output per return. Null where the operator has no body, or it cannot be compiled.
  virtual const ir::Graph* body(const Op& op) = 0;
};

// The one source, which lives forever; null where no front end is linked.
SCONCE_API OpGraphs* op_graphs();
// The front end answers (Note [Connections]); null where there is none.
using OpGraphsSource = OpGraphs* (*)();
extern const OpGraphsSource op_graphs_source;

}  // namespace sconce::passes
