// CallTape: a straight graph as a list of calls, made one by one as eager makes them: no plan, no code of Python between
// them. For graphs of few operators on small tensors, where finding a plan costs more than it saves, and for those that
// change modes of the thread on their way.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sconce/dispatch/binding/call_shape.h"
#include "sconce/ir/graph.h"
#include "sconce/kernels/dense_tape.h"

namespace sconce::python::capture {

class CallTape {
 public:
  // Null for a graph with control flow, or with another output than a tuple.
  static std::unique_ptr<CallTape> make(const ir::Graph& graph);

  size_t size() const { return steps_.size(); }
  size_t outputs() const { return outputs_.size(); }
  // One call over inputs and constants with a tensor as its result, of a signature that is called without Values.
  bool is_single() const { return is_single_; }
  Tensor run_single(const Tensor* const* inputs) const;
  // The same calls as loops over tensors like these, or null.
  std::unique_ptr<DenseTape> make_dense(std::span<const Tensor* const> inputs) const;
  // Inputs as they are, borrowed; one value for each output.
  void run(std::span<const Tensor* const> inputs, std::span<Value> outputs) const;
  // The same for inputs among which are numbers; they are taken.
  void run(std::span<Value> inputs, std::span<Value> outputs) const;

 private:
  // `slot`: a value of the run; negative: a constant, or a list of parts.
  struct Operand {
    int32_t slot = -1;
    bool is_list = false;
    Value constant;
    TypePtr element = nullptr;
    std::vector<Operand> parts;
  };
  struct Step {
    const Op* op = nullptr;  // null: the elements of a list
    CallShape shape = CallShape::none;
    std::vector<Operand> operands;
    std::vector<int32_t> results, last_uses;
  };
  struct Builder;

  static Value value_of(const Operand& o, const Value* slots);
  void run_steps(Value* slots, std::span<Value> outputs) const;
  static bool run_typed(const Step& step, Value* slots);

  bool find_single() const;

  size_t inputs_ = 0, slots_ = 0;
  bool is_single_ = false;
  std::vector<Step> steps_;
  std::vector<int32_t> outputs_;
};

}  // namespace sconce::python::capture
