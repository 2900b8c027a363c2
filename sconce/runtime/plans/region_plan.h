// Specialisation: a RegionPlan is f and df of a region for arguments of one kind. ScriptNode: a run of f in
// the backward graph.
#pragma once

#include <map>

#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/runtime/bytecode/code.h"

namespace sconce::runtime {

// The kind of one argument that a plan is made for.
struct ArgumentKind {
  bool is_tensor = false, is_none = false, requires_grad = false;
  DType dtype{};
  DeviceType device{};
  uint8_t rank = 0;
  std::optional<Dims> sizes;  // nothing: any of this rank
  bool takes(const Value& v) const;
};
ArgumentKind kind_of(const Value& v, bool with_sizes);

class RegionPlan {
 public:
  // Without f if the graph cannot be differentiated.
  RegionPlan(const ir::Graph& graph, std::vector<ArgumentKind> kinds, const std::string& name);
  bool takes(const std::vector<Value>& args) const;
  bool is_possible() const { return forward_ != nullptr; }

  const Code& forward() const { return *forward_; }
  const passes::Differentiation& differentiation() const { return *differentiation_; }
  const std::vector<bool>& wanted() const { return wanted_; }
  // The code of df for some of the inputs that are wanted, which may give the gradients of all (`for_all`).
  struct BackwardCode {
    std::shared_ptr<Code> code;
    bool for_all = false;
  };
  BackwardCode backward(const std::vector<bool>& wanted, bool second_order);

 private:
  void log(const char* what, const ir::Graph& graph) const;

  std::vector<ArgumentKind> kinds_;
  std::vector<bool> wanted_;
  std::string name_;
  std::unique_ptr<passes::Differentiation> differentiation_;
  std::shared_ptr<Code> forward_;
  std::mutex mutex_;
  std::map<std::pair<std::vector<bool>, bool>, BackwardCode> backward_;
};

// A captured value. Tensors, also those in lists, are saved as autograd saves them.
class SavedValue {
 public:
  SavedValue() = default;
  // `slot` is the first free output of `node` for a temporary that gradients flow through: each tensor becomes one.
  SavedValue(const Value& v, autograd::Node* node, bool differentiable);
  // A result that is output `slot` of the node.
  SavedValue(const Tensor& t, uint32_t slot) : kind_(Kind::tensor), tensor_(t, slot) {}
  Value unpack(autograd::Node* owner) const;
  // Lets go of the memory of a tensor, which the hooks give from now on.
  void replace_by(std::shared_ptr<const autograd::SavedTensorHooks> hooks) { tensor_.replace_by(std::move(hooks)); }
  // The gradients of its tensors, in the same form; `any` when there is one.
  Value gradients(std::span<Tensor> grads, bool& any) const;

 private:
  enum class Kind : uint8_t { other, tensor, list } kind_ = Kind::other;
  autograd::SavedTensor tensor_;
  static constexpr uint32_t kNoSlot = ~0u;
  uint32_t slot_ = kNoSlot;
  std::vector<SavedValue> items_;
  TypePtr element_ = nullptr;  // of a list
  Value other_;
};

class ScriptNode final : public autograd::Node {
 public:
  // Its edges lead to the arguments that are wanted.
  ScriptNode(std::shared_ptr<RegionPlan> plan, const std::vector<Value>& args);
  // Gives results their history and saves captures. `results`: those of f; captures are cut off.
  void set_results(std::vector<Value>& results, const std::vector<Tensor>& args);

  std::string name() const override { return "DifferentiableGraphBackward"; }
  void apply(const autograd::BackwardCall& call) override;
  void release_saved() override;

 private:
  void let_go(std::span<const Value> captures, std::span<const Value> returned, const std::vector<Tensor>& args);

  const std::shared_ptr<RegionPlan> plan_;
  std::vector<uint32_t> slots_;  // of differentiable results; kNoSlot: not recorded
  static constexpr uint32_t kNoSlot = ~0u;
  std::vector<SavedValue> saved_;
  bool released_ = false;
};

}  // namespace sconce::runtime
