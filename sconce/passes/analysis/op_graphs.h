// Decompositions: the bodies of compound operators and the formulas of derivatives as graphs. The operator table and
// custom operators have them as text, which the front end compiles.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::passes {

// A text, and where it stands in a larger one.
struct TextPlace {
  SourcePtr source;
  int first_column = 1;  // of its first line; that line's number is the source's
  // "line 2, column 8: reason"; the reason alone for a place that is not in this text.
  std::string message_at(const Range& at, std::string_view reason) const;
};

// The body of an operator as it is run.
struct BodyGraph {
  std::shared_ptr<const ir::Graph> graph;  // one input per argument; one output, or none
  TextPlace place;
};

// One formula of an operator. The graph gives one gradient per target: a Tensor, an Optional[Tensor], or a List[Tensor]
// for an argument that is a list.
struct FormulaGraph {
  struct Input {
    enum class Kind : uint8_t { argument, result, grad, grads, needs } kind;
    size_t index = 0;  // of the argument, the result, or the result that the gradient belongs to
  };
  std::vector<size_t> targets;  // arguments, ascending
  std::vector<Input> inputs;    // the meaning of the inputs of the graph
  std::shared_ptr<const ir::Graph> graph;
  TextPlace place;
};

class OpGraphs {
 public:
  virtual ~OpGraphs() = default;
  // Null if the operator has no formulas, or they cannot be compiled. Valid for good; safe from any thread.
  virtual const std::vector<FormulaGraph>* formulas(const Op& op) = 0;
  // One input per argument, one output per return. Null if the operator has no body, or it cannot be compiled.
  virtual const ir::Graph* body(const Op& op) = 0;
  // The decomposition (OpEntry::decompose): the same results by other operators, one input per argument, one output per
  // return. Null for operators without one, for forms that write, or where it cannot be compiled.
  virtual const ir::Graph* decomposition(const Op& op) = 0;
  // What the operator is on quantised tensors (lowering/quantized/quantized_texts.h), as decomposition(). Null also
  // where that is itself on their integers.
  virtual const ir::Graph* on_quantized(const Op& op) = 0;
  // The expression of a pointwise operator, written out as operators on tensors (lowering/expression_text.h). Null
  // where there is none, or where it cannot be written.
  virtual const ir::Graph* expression(const Op& op) = 0;
  // The shape rule (OpEntry::shape): one input per argument, one output: the sizes of the result, a List[int], or a
  // List[List[int]] for a list of tensors; a tuple of them for several results. Null where the operator has none, or it
  // cannot be compiled.
  virtual const ir::Graph* shape(const Op& op) = 0;
  // The inverse of a view (OpEntry::scatter): one input per argument and `src` behind them, a tensor or a list of them;
  // the new `self`. Null where the operator has none, or it cannot be compiled.
  virtual const ir::Graph* scatter(const Op& op) = 0;

  // For the runner of custom operators (runtime/op_bodies.cpp): the same, but text that cannot be compiled is an Error
  // with line and column, and a body may change its arguments.
  virtual const std::vector<FormulaGraph>& require_formulas(const Op& op) = 0;
  virtual const BodyGraph& require_body(const Op& op) = 0;
  // See BodyRunner::free_names.
  virtual std::vector<std::string> free_names(std::string_view text, int line, int column) = 0;
};

// The one source, which lives forever; null if no front end is linked.
SCONCE_API OpGraphs* op_graphs();
// The front end answers (Note [Connections]); null if there is none.
using OpGraphsSource = OpGraphs* (*)();
extern const OpGraphsSource op_graphs_source;

}  // namespace sconce::passes
