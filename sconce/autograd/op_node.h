// OpNode: the node of an operator with formulas. It keeps the arguments and results that the formulas in question read.
#pragma once

#include "sconce/autograd/saved_tensor.h"
#include "sconce/dispatch/formula.h"
#include "sconce/dispatch/op.h"

namespace sconce::autograd {

class OpNode final : public Node {
 public:
  // Keeps arguments and makes edges for those that the formulas give gradients for. `original` is, for an in-place
  // operator, the value that its first argument had before, where a formula reads it (see reads_first).
  OpNode(const Op& op, const Value* args, const Tensor& original);

  // Does a formula that will run read the value of the first argument?
  static bool reads_first(const Op& op, const Value* args);

  // Keeps results that formulas read and gives those that are differentiable their history. For an in-place operator
  // results[0] is the tensor written.
  void set_results(const Value* args, Value* results, bool inplace);

  std::string name() const override;
  void apply(const BackwardCall& call) override;
  void release_saved() override;

 private:
  struct Kept {
    uint32_t index;  // of the argument; of result i, kResult | i
    bool is_list;
    SavedTensor tensor;
    std::vector<SavedTensor> list;
    Value other;
    bool has_data = false;  // of a tensor, which backward frees; numbers and facts stay
  };
  static constexpr uint32_t kResult = 1u << 31;

  void keep(uint32_t index, const Value& v, bool facts, uint32_t slot);
  void unpack(Value* args, Value* results);
  // Gradients of all results, zeros where there are none; empty where there are none at all.
  std::vector<Tensor> result_grads(std::span<Tensor> grads) const;

  const Op& op_;
  uint32_t active_ = 0;            // formulas that run: bit i for the i-th
  uint32_t recorded_ = 0;          // results that are outputs of this node
  bool list_result_ = false;
  bool released_ = false;
  SmallVector<uint32_t, 8> first_edge_;  // per target argument: where its edges begin; one more for the end
  std::vector<Kept> kept_;
};

// "mul" -> "MulBackward"
std::string backward_name(std::string_view op_name);

}  // namespace sconce::autograd
