// Shape inference by replay: the operators that lead to a size that was guessed run on Meta tensors, with the sizes that a
// call brings, in front of the call. A graph with free sizes is recorded for four sizes (Note [Witnesses]); what the
// program was told of sizes of results, and what follows from these four alone, are claims. They are checked here, once
// for each combination of sizes, so that no call runs a graph that was recorded on a wrong guess.
#pragma once

#include <string>
#include <unordered_set>

#include "capture/guards/relation.h"
#include "capture/guards/size_check.h"
#include "sconce/ir/graph.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python::capture {

// What recording told the program of a value of the graph.
struct SizeClaim {
  enum class Kind : uint8_t {
    size,     // of dimension `dim`
    stride,   // the same
    rank,     // the number of dimensions
    count,    // of tensors in a list
    query,    // an operator that gives no tensor: contiguous or not, ...
    compare,  // of two numbers, by `comparison` (number.h)
  };
  Kind kind = Kind::size;
  ir::Value* value = nullptr;
  int64_t dim = 0;
  Owned expected;  // an expression: Note [Relations]
  // query:
  const Op* op = nullptr;
  std::vector<ir::Value*> inputs = {};
  std::vector<Value> answers = {};
  int comparison = -1;  // of inputs[0] and inputs[1]; answers[0]: 0 or 1
};

class SizeReplay final : public SizeCheck {
 public:
  // `sources`: of the graph's inputs; those behind them are `held`. Null: the graph has a node that cannot be replayed.
  static std::shared_ptr<SizeReplay> make(const ir::Graph& graph, const std::vector<SourceId>& sources,
                                          const std::vector<Tensor>& held, const std::vector<SizeClaim>& claims);

  const std::vector<SourceId>& sources() const override { return sources_; }
  bool holds(std::span<PyObject* const> objects) override;

 private:
  enum class What : uint8_t { call, list, unpack };
  struct Step {
    What what = What::call;
    const Op* op = nullptr;
    TypePtr element = nullptr;  // list
    std::vector<int32_t> operands, results;
  };
  struct Check {
    SizeClaim::Kind kind;
    int32_t value = -1;
    int64_t dim = 0;
    std::vector<Relation> expected;  // one, or none for a query
    const Op* op = nullptr;
    std::vector<int32_t> inputs;
    std::vector<Value> answers;
    int comparison = -1;
  };
  struct Builder;

  bool run(std::span<PyObject* const> objects) const;
  bool holds(const Check& check, std::vector<Value>& values, std::span<PyObject* const> objects) const;

  std::vector<SourceId> sources_;
  std::vector<int32_t> inputs_;  // place of each source among the values; -1: expressions alone need it
  std::vector<Value> initial_;   // constants, and what the graph holds
  std::vector<Step> steps_;
  std::vector<Check> checks_;
  std::unordered_set<std::string> verified_;  // sizes, strides and numbers for which all claims hold
};

}  // namespace sconce::python::capture
