// OpNode: the backward node of an operator with formulas. It keeps the arguments and results that the
// active formulas read.
#pragma once

#include <atomic>

#include "sconce/autograd/graph/recompute.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/dispatch/formula.h"
#include "sconce/dispatch/op.h"

namespace sconce::autograd {

class OpNode final : public Node {
 public:
  // Which of the arguments that have gradients want one: bit i for argument i.
  static uint32_t wanted_arguments(const Op& op, const Value* args);
  // Whether a formula that will run reads the value of the first argument.
  static bool reads_first(const Op& op, uint32_t wanted);

  // Keeps arguments and makes edges for those that the formulas give gradients for. `original` is, for an in-place
  // operator, the value that its first argument had before, if a formula reads it (see reads_first).
  OpNode(const Op& op, const Value* args, uint32_t wanted, const Tensor& original);
  ~OpNode() override;

  // Keeps results that formulas read and gives those that are differentiable their history. For an in-place operator
  // results[0] is the tensor written.
  void set_results(const Value* args, Value* results, bool inplace);

  std::string name() const override;
  void apply(const BackwardCall& call) override;
  void release_saved() override;

  // Note [Results that are computed again]
  static void let_go_candidates();

 private:
  struct Kept {
    uint32_t index;         // of the argument; of result i, kResult | i
    bool has_data = false;  // of a tensor, which backward frees; numbers and facts stay
    SavedTensor tensor;
    std::unique_ptr<std::vector<SavedTensor>> list;
    Value other;  // instead of tensors
  };
  static constexpr uint32_t kResult = 1u << 31;
  using Values = InlineVector<Value, 8>;

  // Which node gives a tensor again, and what is done with that; no node: none does.
  struct Recipe {
    OpNode* node = nullptr;
    const Op* then = nullptr;
  };
  static Recipe recipe_of(Node* maker, uint32_t slot);
  Recipe recipe_of(const Kept& kept);
  void add_candidates();
  void forget_candidates() noexcept;

  void keep(uint32_t index, const Value& v, bool facts, uint32_t slot);
  void unpack(Values& args, Values& results);
  // One gradient per result, as formulas want them: zeros if none arrived.
  std::span<const Tensor> result_grads(std::span<Tensor> grads, std::vector<Tensor>& room) const;
  bool may_overwrite(const BackwardCall& call, uint32_t needs) const;
  void put(const BackwardCall& call, uint32_t argument, const Value& gradient) const;

  const Op& op_;
  uint32_t active_ = 0;    // formulas that run: bit i for the i-th
  uint32_t recorded_ = 0;  // results that are outputs of this node
  bool list_result_ = false;
  bool released_ = false;
  bool is_candidate_ = false;            // something that it keeps may be let go
  std::atomic_flag busy_;                // kept_ is being read or freed: threads may run one graph at once
  SmallVector<uint32_t, 4> first_edge_;  // per target argument: where its edges begin; one more for the end
  InlineVector<Kept, 2> kept_;
  std::unique_ptr<Again> again_;  // how its first result is computed again
};

// "mul" -> "MulBackward"
std::string backward_name(std::string_view op_name);

}  // namespace sconce::autograd
