#include "sconce/autograd/graph/op_node.h"

#include <algorithm>

#include "sconce/autograd/differentiable_dtype.h"
#include "sconce/autograd/graph/sole_owner.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/views/copy_slices.h"
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

SCONCE_VARIANT(large_result, "autograd.recompute", "a result of 1 MB or more");
SCONCE_VARIANT(overwritten_gradient, "autograd.gradient.overwritten",
               "one formula, for a gradient without another owner, of the argument's geometry");

constexpr uint32_t bit(size_t i) { return 1u << i; }

bool is_tensor_list(const Value& v) { return v.is_list() && v.to_list().is_tensors(); }

bool any_requires_grad(const Value& v) {
  if (v.is_tensor()) return v.to_tensor().requires_grad();
  if (!is_tensor_list(v)) return false;
  const TensorList list = v.to_list().tensors();
  return std::any_of(list.begin(), list.end(), [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

// Holds a flag for a scope.
class FlagLock {
 public:
  explicit FlagLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  ~FlagLock() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  FlagLock(const FlagLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

// A tensor that has the facts of another, and no data.
Tensor facts_of(const Tensor& t) {
  if (!t.defined()) return t;
  if (t.keys().has(Key::sparse)) return shallow_copy(t);  // its layout is a fact, too
  return make_tensor_unchecked(make_storage(0, Device(DeviceType::meta)), t.dtype(), t.sizes(), t.strides(),
                               t.storage_offset());
}

bool has_gradient(const Tensor& t) { return t.defined() && is_differentiable(t.dtype()); }

bool is_argument(const Tensor& t, const Value* args, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (args[i].is_tensor() && args[i].to_tensor().is_same(t)) return true;
    if (!is_tensor_list(args[i])) continue;
    for (const Tensor& item : args[i].to_list().tensors()) {
      if (item.is_same(t)) return true;
    }
  }
  return false;
}

}  // namespace

uint32_t OpNode::wanted_arguments(const Op& op, const Value* args) {
  const uint32_t targets = op.info.formulas->targets;
  uint32_t wanted = 0;
  for (size_t i = 0; targets >> i; ++i) {
    if ((targets & bit(i)) && any_requires_grad(args[i])) wanted |= bit(i);
  }
  return wanted;
}

bool OpNode::reads_first(const Op& op, uint32_t wanted) {
  const std::span<const Formula> all = op.info.formulas->all;
  return std::any_of(all.begin(), all.end(), [&](const Formula& f) { return (f.targets & wanted) && (f.args & 1); });
}

OpNode::OpNode(const Op& op, const Value* args, uint32_t wanted, const Tensor& original) : op_(op) {
  const Formulas& formulas = *op.info.formulas;
  uint32_t whole = 0, facts = 0;
  for (size_t i = 0; i < formulas.all.size(); ++i) {
    const Formula& f = formulas.all[i];
    if (!(f.targets & wanted)) continue;
    active_ |= bit(i);
    whole |= f.args;
    facts |= f.arg_facts;
  }
  for (size_t i = 0; formulas.targets >> i; ++i) {
    if (!(formulas.targets & bit(i))) continue;
    first_edge_.push_back(static_cast<uint32_t>(edges.size()));
    if (is_tensor_list(args[i])) {
      for (const Tensor& t : args[i].to_list().tensors()) edges.push_back(t.defined() ? gradient_edge(t) : Edge());
    } else {
      edges.push_back(args[i].is_tensor() ? gradient_edge(args[i].to_tensor()) : Edge());
    }
  }
  first_edge_.push_back(static_cast<uint32_t>(edges.size()));
  for (uint32_t i = 0; (whole | facts) >> i; ++i) {
    if (!((whole | facts) & bit(i))) continue;
    if (i == 0 && original.defined())
      keep(i, original, !(whole & bit(i)), ~0u);
    else if (i > 0 && op.has(Trait::inplace) && args[i].is_tensor() && args[0].is_same(args[i]))
      keep(i, shallow_copy(args[i].to_tensor()), !(whole & bit(i)), ~0u);  // will be made by this node: no cycle
    else
      keep(i, args[i], !(whole & bit(i)), ~0u);
  }
}

void OpNode::keep(uint32_t index, const Value& v, bool facts, uint32_t slot) {
  Kept& kept = kept_.emplace_back();
  kept.index = index;
  kept.has_data = !facts && (v.is_tensor() || is_tensor_list(v));
  if (v.is_tensor()) {
    if (facts)
      kept.other = facts_of(v.to_tensor());
    else
      kept.tensor = SavedTensor(v.to_tensor(), slot);
  } else if (is_tensor_list(v)) {
    const TensorList tensors = v.to_list().tensors();
    if (facts) {
      std::vector<Tensor> facts;
      for (const Tensor& t : tensors) facts.push_back(facts_of(t));
      kept.other = Value(facts);
    } else {
      kept.list = std::make_unique<std::vector<SavedTensor>>();
      for (const Tensor& t : tensors) kept.list->emplace_back(t, slot == ~0u ? slot : slot++);
    }
  } else if (v.is_list()) {
    kept.other = Value(v.to_list().copy());  // the program may change its own
  } else {
    kept.other = v;
  }
}

void OpNode::set_results(const Value* args, Value* results, bool inplace) {
  const Formulas& formulas = *op_.info.formulas;
  const Schema& schema = op_.schema();
  uint32_t whole = 0, facts = 0;
  for (size_t i = 0; i < formulas.all.size(); ++i) {
    if (!(active_ & bit(i))) continue;
    whole |= formulas.all[i].results;
    facts |= formulas.all[i].result_facts;
  }
  list_result_ = schema.returns.size() == 1 && is_tensor_list(results[0]);
  const Ref<Node> self = Ref<Node>::share(this);
  SmallVector<uint32_t, 8> slots;
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    slots.push_back(~0u);
    if (!(formulas.differentiable & bit(i))) continue;
    const auto next = static_cast<uint32_t>(outputs.size());
    if (list_result_) {
      slots.back() = next;
      recorded_ |= bit(i);
      for (const Tensor& t : results[i].to_list().tensors()) {
        const auto slot = static_cast<uint32_t>(add_output(t));
        if (has_gradient(t) && !is_argument(t, args, schema.arguments.size())) set_history(t, self, slot);
      }
    } else if (results[i].is_tensor()) {
      const Tensor& t = results[i].to_tensor();
      if (!has_gradient(t)) continue;
      // An operator that has nothing to do may return its argument: that has its history already.
      if (!inplace && is_argument(t, args, schema.arguments.size())) continue;
      slots.back() = next;
      recorded_ |= bit(i);
      add_output(t);
      if (inplace)
        rebase_history(t, self, next, formulas.targets & 1 ? 0 : kNoEdge);
      else
        set_history(t, self, next);
    }
  }
  for (uint32_t i = 0; (whole | facts) >> i; ++i) {
    if ((whole | facts) & bit(i)) keep(kResult | i, results[i], !(whole & bit(i)), slots[i]);
  }
  const bool is_large =
      !schema.returns.empty() && results[0].is_tensor() && is_large_enough_to_recompute(results[0].to_tensor());
  const auto is_worth = [](const Kept& k) { return is_worth_recomputing(k.tensor.tensor()); };
  if (large_result(is_large && !inplace)) [[unlikely]] {
    const bool keeps_first = !kept_.empty() && kept_[0].index == 0 && kept_[0].has_data;
    again_ = make_again(op_, args, results, keeps_first);
  }
  if (std::any_of(kept_.begin(), kept_.end(), is_worth)) [[unlikely]]
    add_candidates();
}

OpNode::~OpNode() {
  if (is_candidate_) forget_candidates();
}

void OpNode::unpack(Values& args, Values& results) {
  const FlagLock lock(busy_);
  SCONCE_CHECK(!released_, "{}", kSecondBackward);
  for (const Kept& kept : kept_) {
    Values& values = kept.index & kResult ? results : args;
    const uint32_t index = kept.index & ~kResult;
    if (values.size() <= index) values.resize(index + 1);
    Value& to = values[index];
    if (kept.list) {
      std::vector<Tensor> list;
      for (const SavedTensor& t : *kept.list) list.push_back(t.unpack(this));
      to = Value(list);
    } else if (kept.other.is_none()) {
      to = kept.tensor.unpack(this);
    } else {
      to = kept.other;
    }
  }
}

std::span<const Tensor> OpNode::result_grads(std::span<Tensor> grads, std::vector<Tensor>& room) const {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) grads[i] = zeros_for(outputs[i]);
  }
  const size_t count = list_result_ ? grads.size() : op_.schema().returns.size();
  if (count == grads.size()) return grads;
  size_t slot = 0;
  for (size_t i = 0; i < count; ++i) room.push_back(recorded_ & bit(i) ? grads[slot++] : Tensor());
  return room;
}

void OpNode::put(const BackwardCall& call, uint32_t argument, const Value& gradient) const {
  if (gradient.is_none()) return;
  size_t at = first_edge_[static_cast<size_t>(std::popcount(op_.info.formulas->targets & (bit(argument) - 1)))];
  if (gradient.is_tensor()) {
    call.inputs[at] = gradient.to_tensor();
  } else {
    for (const Tensor& t : gradient.to_list().tensors()) call.inputs[at++] = t;
  }
}

// One formula runs, for one gradient without other owners, for an argument like the result.
bool OpNode::may_overwrite(const BackwardCall& call, uint32_t needs) const {
  if (call.grads.size() != 1 || std::popcount(needs) != 1 || hooks || grad_enabled()) return false;
  const Tensor& grad = call.grads[0];
  if (!has_sole_owner(grad)) return false;
  const auto target = static_cast<size_t>(std::popcount(op_.info.formulas->targets & (needs - 1)));
  if (first_edge_[target + 1] - first_edge_[target] != 1) return false;  // a list
  const Edge& edge = edges[first_edge_[target]];
  const OutputInfo& like = edge.node->outputs[edge.slot];
  return like.dtype == grad.dtype() && IntList(like.sizes) == grad.sizes();
}

void OpNode::apply(const BackwardCall& call) {
  Values args, results;
  unpack(args, results);
  if (std::none_of(call.grads.begin(), call.grads.end(), [](const Tensor& g) { return g.defined(); })) return;
  std::vector<Tensor> room;
  const std::span<const Tensor> grads = result_grads(call.grads, room);
  const Formulas& formulas = *op_.info.formulas;
  uint32_t needs = 0;
  size_t target = 0;
  for (uint32_t i = 0; formulas.targets >> i; ++i) {
    if (!(formulas.targets & bit(i))) continue;
    for (uint32_t e = first_edge_[target]; e < first_edge_[target + 1]; ++e) {
      if (call.wanted[e]) needs |= bit(i);
    }
    ++target;
  }
  const bool owns_grad = overwritten_gradient(may_overwrite(call, needs));
  for (size_t i = 0; i < formulas.all.size(); ++i) {
    const Formula& f = formulas.all[i];
    if (!(active_ & bit(i)) || !(f.targets & needs)) continue;
    const Value result = f.run({&f, args.data(), results.data(), grads, needs, owns_grad});
    if (std::popcount(f.targets) == 1) {
      put(call, static_cast<uint32_t>(std::countr_zero(f.targets)), result);
      continue;
    }
    const Tuple& parts = result.to_tuple();
    size_t next = 0;
    for (uint32_t t = 0; f.targets >> t; ++t) {
      if (f.targets & bit(t)) put(call, t, parts.items[next++]);
    }
  }
}

void OpNode::release_saved() {
  if (is_candidate_ || again_) forget_candidates();
  const FlagLock lock(busy_);
  for (Kept& kept : kept_) {
    if (!kept.has_data) continue;
    kept.tensor = SavedTensor();
    kept.list.reset();
    released_ = true;
  }
}

std::string backward_name(std::string_view op_name) {
  const size_t space = op_name.find("::");
  std::string out;
  bool upper = true;
  for (char c : op_name.substr(space == std::string_view::npos ? 0 : space + 2)) {
    if (c == '_') {
      upper = true;
    } else {
      out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return out + "Backward";
}

std::string OpNode::name() const {
  // Overloads are numbered in the order of the table; an in-place form is called as the functional one.
  std::string_view name = op_.info.name;
  if (op_.has(Trait::inplace) && name.ends_with('_')) name.remove_suffix(1);
  const auto number_among = [&](std::vector<const Op*> overloads) -> std::optional<size_t> {
    std::sort(overloads.begin(), overloads.end(), std::less<>());  // a family's operators stand in one array
    size_t number = 0;
    for (const Op* other : overloads) {
      if (other->info.formulas == op_.info.formulas) return number;
      number += other->info.formulas != nullptr;
    }
    return std::nullopt;
  };
  std::optional<size_t> number = number_among(find_overloads(name));
  if (!number) number = number_among(find_overloads(op_.info.name));  // an in-place form with formulas of its own
  return backward_name(name) + std::to_string(number.value_or(0));
}

}  // namespace sconce::autograd
