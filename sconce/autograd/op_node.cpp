#include "sconce/autograd/op_node.h"

#include <algorithm>

#include "sconce/autograd/copy_slices.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::autograd {
namespace {

constexpr uint32_t bit(size_t i) { return 1u << i; }

bool is_tensor_list(const Value& v) { return v.is_list() && v.to_list().is_tensors(); }

bool any_requires_grad(const Value& v) {
  if (v.is_tensor()) return v.to_tensor().requires_grad();
  if (!is_tensor_list(v)) return false;
  const TensorList list = v.to_list().tensors();
  return std::any_of(list.begin(), list.end(), [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

// Which of the arguments that have gradients want one.
uint32_t wanted_targets(const Formulas& formulas, const Value* args) {
  uint32_t wanted = 0;
  for (size_t i = 0; formulas.targets >> i; ++i) {
    if ((formulas.targets & bit(i)) && any_requires_grad(args[i])) wanted |= bit(i);
  }
  return wanted;
}

// A tensor that has the facts of another, and no data.
Tensor facts_of(const Tensor& t) {
  if (!t.defined()) return t;
  return make_tensor_unchecked(make_storage(0, Device(DeviceType::meta)), t.dtype(), t.sizes(), t.strides(),
                               t.storage_offset());
}

bool has_gradient(const Tensor& t) { return t.defined() && (is_floating(t.dtype()) || is_complex(t.dtype())); }

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

bool OpNode::reads_first(const Op& op, const Value* args) {
  const Formulas& formulas = *op.info.formulas;
  const uint32_t wanted = wanted_targets(formulas, args);
  return std::any_of(formulas.all.begin(), formulas.all.end(),
                     [&](const Formula& f) { return (f.targets & wanted) && (f.args & 1); });
}

OpNode::OpNode(const Op& op, const Value* args, const Tensor& original) : op_(op) {
  const Formulas& formulas = *op.info.formulas;
  const uint32_t wanted = wanted_targets(formulas, args);
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
  kept_.reserve(static_cast<size_t>(std::popcount(whole | facts)) + 1);
  for (uint32_t i = 0; (whole | facts) >> i; ++i) {
    if (whole & bit(i))
      keep(i, i == 0 && original.defined() ? Value(original) : args[i], false, ~0u);
    else if (facts & bit(i))
      keep(i, args[i], true, ~0u);
  }
}

void OpNode::keep(uint32_t index, const Value& v, bool facts, uint32_t slot) {
  Kept kept{index, false, {}, {}, {}};
  if (v.is_tensor()) {
    if (facts)
      kept.other = facts_of(v.to_tensor());
    else
      kept.tensor = SavedTensor(v.to_tensor(), slot);
  } else if (is_tensor_list(v)) {
    kept.is_list = !facts;
    std::vector<Tensor> meta;
    uint32_t next = slot;
    for (const Tensor& t : v.to_list().tensors()) {
      if (facts)
        meta.push_back(facts_of(t));
      else
        kept.list.emplace_back(t, slot == ~0u ? slot : next++);
    }
    if (facts) kept.other = Value(meta);
  } else if (v.is_list()) {
    kept.other = Value(v.to_list().copy());  // the program may change its own
  } else {
    kept.other = v;
  }
  kept.has_data = !facts && (v.is_tensor() || is_tensor_list(v));
  kept_.push_back(std::move(kept));
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
}

void OpNode::unpack(Value* args, Value* results) {
  SCONCE_CHECK(!released_, "{}", kSecondBackward);
  for (const Kept& kept : kept_) {
    Value& to = kept.index & kResult ? results[kept.index & ~kResult] : args[kept.index];
    if (kept.is_list) {
      std::vector<Tensor> list;
      for (const SavedTensor& t : kept.list) list.push_back(t.unpack(this));
      to = Value(list);
    } else if (kept.other.is_none()) {
      to = kept.tensor.unpack(this);
    } else {
      to = kept.other;
    }
  }
}

std::vector<Tensor> OpNode::result_grads(std::span<Tensor> grads) const {
  if (std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); })) return {};
  std::vector<Tensor> out;
  size_t slot = 0;
  const size_t count = list_result_ ? outputs.size() : op_.schema().returns.size();
  for (size_t i = 0; i < count; ++i) {
    if (!list_result_ && !(recorded_ & bit(i))) {
      out.emplace_back();
      continue;
    }
    out.push_back(grads[slot].defined() ? std::move(grads[slot]) : zeros_for(outputs[slot]));
    ++slot;
  }
  return out;
}

void OpNode::apply(const BackwardCall& call) {
  const std::vector<Tensor> grads = result_grads(call.grads);
  if (grads.empty()) return;
  const Formulas& formulas = *op_.info.formulas;
  Value args[32], results[32];
  unpack(args, results);
  uint32_t needs = 0;
  size_t target = 0;
  uint32_t begin[33];
  for (uint32_t i = 0; formulas.targets >> i; ++i) {
    if (!(formulas.targets & bit(i))) continue;
    begin[i] = first_edge_[target++];
    for (uint32_t e = begin[i]; e < first_edge_[target]; ++e) {
      if (call.wanted[e]) needs |= bit(i);
    }
  }
  const auto put = [&](uint32_t argument, const Value& v) {
    if (v.is_none()) return;
    if (v.is_tensor()) {
      call.inputs[begin[argument]] = v.to_tensor();
      return;
    }
    size_t at = begin[argument];
    for (const Tensor& t : v.to_list().tensors()) call.inputs[at++] = t;
  };
  for (size_t i = 0; i < formulas.all.size(); ++i) {
    const Formula& f = formulas.all[i];
    if (!(active_ & bit(i)) || !(f.targets & needs)) continue;
    Value result = f.run({&f, args, results, grads, needs});
    if (std::popcount(f.targets) == 1) {
      put(static_cast<uint32_t>(std::countr_zero(f.targets)), result);
      continue;
    }
    const Tuple& parts = result.to_tuple();
    size_t next = 0;
    for (uint32_t t = 0; f.targets >> t; ++t) {
      if (f.targets & bit(t)) put(t, parts.items[next++]);
    }
  }
}

void OpNode::release_saved() {
  if (std::erase_if(kept_, [](const Kept& kept) { return kept.has_data; }) > 0) released_ = true;
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
  size_t number = 0;
  for (const Op* other : find_overloads(name)) {
    if (other->info.formulas == op_.info.formulas) break;
    number += other->info.formulas != nullptr;
  }
  return backward_name(name) + std::to_string(number);
}

}  // namespace sconce::autograd
