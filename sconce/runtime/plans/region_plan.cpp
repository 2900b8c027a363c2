#include "sconce/runtime/plans/region_plan.h"

#include <algorithm>
#include <cstdio>

#include "sconce/autograd/autocast_mode.h"
#include "sconce/autograd/graph/recompute.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/logs.h"
#include "sconce/generated/view.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/execute.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/view_base.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::runtime {
namespace {

bool has_gradient(const Tensor& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

TypePtr type_for(const ArgumentKind& kind) {
  TensorFacts facts;
  facts.dtype = kind.dtype;
  if (kind.device == DeviceType::cpu) facts.device = Device(DeviceType::cpu);
  facts.sizes.emplace();
  for (size_t i = 0; i < kind.rank; ++i) facts.sizes->push_back(kind.sizes ? (*kind.sizes)[i] : TensorFacts::kUnknown);
  return refined_tensor_type(facts);
}

}  // namespace

bool ArgumentKind::takes(const Value& v) const {
  if (!v.is_tensor()) return !is_tensor && is_none == v.is_none();
  if (!is_tensor) return false;
  const Tensor& t = v.to_tensor();
  return t.requires_grad() == requires_grad && t.dtype() == dtype && t.dim() == rank && t.device().type == device &&
         (!sizes || IntList(*sizes) == t.sizes());
}

ArgumentKind kind_of(const Value& v, bool with_sizes) {
  ArgumentKind kind;
  kind.is_none = v.is_none();
  kind.is_tensor = v.is_tensor();
  if (!kind.is_tensor) return kind;
  const Tensor& t = v.to_tensor();
  kind.requires_grad = t.requires_grad();
  kind.dtype = t.dtype();
  kind.device = t.device().type;
  kind.rank = static_cast<uint8_t>(t.dim());
  if (with_sizes) kind.sizes.emplace(t.sizes());
  return kind;
}

RegionPlan::RegionPlan(const ir::Graph& graph, std::vector<ArgumentKind> kinds, const std::string& name)
    : kinds_(std::move(kinds)), name_(name) {
  const std::shared_ptr<ir::Graph> copy = graph.copy();
  for (size_t i = 0; i < kinds_.size(); ++i) {
    wanted_.push_back(kinds_[i].requires_grad);
    if (kinds_[i].is_tensor)
      copy->inputs()[i]->set_type(type_for(kinds_[i]));
    else if (kinds_[i].is_none && copy->inputs()[i]->type()->is(TypeKind::optional))
      copy->inputs()[i]->set_type(none_type());
  }
  try {
    auto made = std::make_unique<passes::Differentiation>(copy, wanted_);
    forward_ = generate(*made->forward(), name_, nullptr, false);
    differentiation_ = std::move(made);
    log("forward", *differentiation_->forward());
  } catch (const Error& e) {
    if (is_logged(LogTag::autodiff)) std::fprintf(stderr, "a region is not differentiated: %s\n", e.what());
  }
}

void RegionPlan::log(const char* what, const ir::Graph& graph) const {
  if (!is_logged(LogTag::autodiff, LogLevel::debug)) return;
  std::fprintf(stderr, "%s of %s:\n%s", what, name_.c_str(), graph.to_string(false).c_str());
}

bool RegionPlan::takes(const std::vector<Value>& args) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (!kinds_[i].takes(args[i])) return false;
  }
  return true;
}

RegionPlan::BackwardCode RegionPlan::backward(const std::vector<bool>& wanted, bool second_order) {
  const std::lock_guard lock(mutex_);
  BackwardCode& known = backward_[{wanted, second_order}];
  if (known.code) return known;
  const auto make = [&](const std::vector<bool>& inputs) {
    const std::shared_ptr<ir::Graph> graph = differentiation_->backward(inputs, second_order);
    log("backward", *graph);
    return generate(*graph, "<backward of " + name_ + ">", nullptr, false);
  };
  try {
    known.code = make(wanted);
  } catch (const Error&) {
    if (wanted == wanted_) throw;
    known = {make(wanted_), true};
  }
  return known;
}

// ---- captures ----

SavedValue::SavedValue(const Value& v, autograd::Node* node, bool differentiable) {
  if (v.is_tensor()) {
    kind_ = Kind::tensor;
    const Tensor& t = v.to_tensor();
    if (!differentiable || !has_gradient(t)) {
      tensor_ = autograd::SavedTensor(t);
      return;
    }
    // One of its own: the tensor may be an argument, with a history of its own.
    const Tensor copy = shallow_copy(t);
    slot_ = static_cast<uint32_t>(node->add_output(copy));
    autograd::set_history(copy, Ref<autograd::Node>::share(node), slot_);
    tensor_ = autograd::SavedTensor(copy, slot_);
  } else if (v.is_list() && passes::may_hold_tensor(v.to_list().element_type())) {
    kind_ = Kind::list;
    List& list = v.to_list();
    element_ = list.element_type();
    items_.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i) items_.emplace_back(list.get(i), node, differentiable);
  } else if (v.is_list()) {
    other_ = Value(v.to_list().copy());  // the program may change its own
  } else {
    other_ = v;
  }
}

Value SavedValue::unpack(autograd::Node* owner) const {
  if (kind_ == Kind::tensor) return tensor_.unpack(owner);
  if (kind_ == Kind::other) return other_;
  auto list = make_ref<List>(element_);
  list->reserve(items_.size());
  for (const SavedValue& item : items_) list->append(item.unpack(owner));
  return Value(std::move(list));
}

Value SavedValue::gradients(std::span<Tensor> grads, bool& any) const {
  if (kind_ == Kind::tensor) {
    if (slot_ == kNoSlot || !grads[slot_].defined()) return Value();
    any = true;
    return grads[slot_];
  }
  if (kind_ == Kind::other) return Value();
  const TypePtr element = element_->is(TypeKind::tensor) ? optional_type(tensor_type()) : element_;
  auto list = make_ref<List>(element);
  for (const SavedValue& item : items_) list->append(item.gradients(grads, any));
  return Value(std::move(list));
}

// ---- the node ----

namespace {

// Is the result a view of memory that no argument and no other result has? Its base is a temporary of f, run without a
// history: what is written behind the region would have to become part of it.
bool is_view_of_temporary(const Tensor& t, const std::vector<Value>& results, const std::vector<Tensor>& args) {
  if (base_of(*t.impl()) == nullptr) return false;
  const auto shares = [&](const Tensor& other) {
    return !other.is_same(t) && other.impl()->storage == t.impl()->storage;
  };
  return std::none_of(args.begin(), args.end(), shares) &&
         std::none_of(results.begin(), results.end(),
                      [&](const Value& v) { return v.is_tensor() && shares(v.to_tensor()); });
}

}  // namespace

ScriptNode::ScriptNode(std::shared_ptr<RegionPlan> plan, const std::vector<Value>& args) : plan_(std::move(plan)) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (plan_->wanted()[i]) edges.push_back(autograd::gradient_edge(args[i].to_tensor()));
  }
}

void ScriptNode::set_results(std::vector<Value>& results, const std::vector<Tensor>& args) {
  const passes::Differentiation& d = plan_->differentiation();
  const std::vector<bool>& differentiable = d.differentiable_outputs();
  const size_t count = differentiable.size();
  const Ref<Node> self = Ref<Node>::share(this);
  std::vector<uint32_t> slot_of(count, kNoSlot);
  const std::vector<Value> returned(results.begin(), results.begin() + static_cast<ptrdiff_t>(count));
  for (size_t i = 0; i < count; ++i) {
    if (!differentiable[i]) continue;
    uint32_t slot = kNoSlot;
    // One tensor that is returned several times stays one, as `is` says; its gradient is that of the first.
    size_t same = 0;
    while (same < i && !(differentiable[same] && returned[i].is_tensor() && returned[same].is_tensor() &&
                         returned[same].to_tensor().is_same(returned[i].to_tensor()))) {
      ++same;
    }
    if (same < i) {
      results[i] = results[same];
      slot_of[i] = slot_of[same];
      slots_.push_back(kNoSlot);
      continue;
    }
    if (results[i].is_tensor()) {
      Tensor t = results[i].to_tensor();
      // A branch may give an argument as it is, which has its history, or a constant.
      const bool is_argument = std::any_of(args.begin(), args.end(), [&](const Tensor& a) { return a.is_same(t); });
      if (has_gradient(t) && !is_argument) {
        if (t.requires_grad() || t.impl()->python || is_view_of_temporary(t, returned, args))
          results[i] = t = shallow_copy(t);
        slot = static_cast<uint32_t>(add_output(t));
        autograd::set_history(t, self, slot);
      }
    }
    slots_.push_back(slot_of[i] = slot);
  }
  using From = passes::Differentiation::Capture::From;
  saved_.reserve(d.captures().size());
  for (size_t i = 0; i < d.captures().size(); ++i) {
    const passes::Differentiation::Capture& capture = d.captures()[i];
    const Value& v = results[count + i];
    if (capture.from == From::output && v.is_tensor() && slot_of[capture.index] != kNoSlot) {
      saved_.emplace_back(results[capture.index].to_tensor(), slot_of[capture.index]);
    } else {
      saved_.emplace_back(v, this, capture.from == From::temporary && capture.differentiable);
    }
  }
  let_go(std::span(results).subspan(count), returned, args);
  results.resize(count);
}

namespace {

// What is made when the first of its captures is read (Note [Captures that are computed again]).
class Recomputed {
 public:
  // `from` may be a result of the node, which owns this: a tensor without its history.
  Recomputed(const passes::Differentiation::Again& how, const Tensor& from)
      : op_(how.op), args_{Value(shallow_copy(from))} {
    args_.insert(args_.end(), how.args.begin(), how.args.end());
  }
  void add_reader() { ++readers_; }
  Tensor get(IntList sizes) {
    const std::lock_guard lock(mutex_);
    const ModeGuard below({}, kGradKeys | KeySet{Key::autocast});
    if (!made_.defined()) {
      std::vector<Value> args = args_;
      Value made;
      op_->call_boxed(args.data(), &made);
      made_ = made.to_tensor();
    }
    const Tensor seen = view(made_, sizes);
    if (++reads_ % readers_ == 0) made_ = Tensor();  // backward has all of them, and drops them when it is done
    return seen;
  }

 private:
  std::mutex mutex_;
  const Op* op_;
  std::vector<Value> args_;
  size_t readers_ = 0, reads_ = 0;
  Tensor made_;
};

}  // namespace

// Captures that follow from others, where their memory is worth it and nobody else may have it or what they follow
// from: results and arguments of the region stay alive anyway, and may be written.
void ScriptNode::let_go(std::span<const Value> values, std::span<const Value> returned,
                        const std::vector<Tensor>& args) {
  const auto& captures = plan_->differentiation().captures();
  std::map<const void*, std::shared_ptr<Recomputed>> made;
  for (size_t i = 0; i < captures.size(); ++i) {
    if (!captures[i].again || !values[i].is_tensor() || !values[captures[i].again->from].is_tensor()) continue;
    const passes::Differentiation::Again& how = *captures[i].again;
    const Tensor &t = values[i].to_tensor(), &from = values[how.from].to_tensor();
    const auto shares = [&](const Tensor& other) {
      return other.storage() == t.storage() || other.storage() == from.storage();
    };
    if (!autograd::is_large_enough_to_recompute(t) || autograd::autocast_enabled() || t.dtype() != from.dtype() ||
        t.numel() != from.numel() || !t.is_contiguous() || !from.is_contiguous() || t.storage_offset() != 0 ||
        t.storage() == from.storage() || std::any_of(args.begin(), args.end(), shares) ||
        std::any_of(returned.begin(), returned.end(),
                    [&](const Value& v) { return v.is_tensor() && shares(v.to_tensor()); }))
      continue;
    std::shared_ptr<Recomputed>& one = made[how.result];
    if (!one) one = std::make_shared<Recomputed>(how, from);
    one->add_reader();
    saved_[i].replace_by(std::make_shared<const autograd::SavedTensorHooks>(
        autograd::SavedTensorHooks{nullptr, [one, sizes = Dims(t.sizes())](const Value&) { return one->get(sizes); }}));
  }
}

void ScriptNode::apply(const autograd::BackwardCall& call) {
  if (std::none_of(call.grads.begin(), call.grads.end(), [](const Tensor& g) { return g.defined(); })) return;
  SCONCE_CHECK(!released_, "{}", autograd::kSecondBackward);
  const auto& captures = plan_->differentiation().captures();
  std::vector<Value> args;
  // Moved: the code drops a gradient behind the last node that reads it.
  for (const uint32_t slot : slots_) args.push_back(slot == kNoSlot ? Value() : Value(std::move(call.grads[slot])));
  bool second_order = false;
  std::vector<Value> own;
  for (size_t i = 0; i < captures.size(); ++i) {
    if (captures[i].differentiable) own.push_back(saved_[i].gradients(call.grads, second_order));
  }
  if (second_order) {
    for (Value& v : own) args.push_back(std::move(v));
  }
  for (const SavedValue& v : saved_) args.push_back(v.unpack(this));

  std::vector<bool> wanted(plan_->wanted().size());
  size_t edge = 0;
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = plan_->wanted()[i] && call.wanted[edge++];
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  const RegionPlan::BackwardCode df = plan_->backward(wanted, second_order);
  const Value result = run_code(*df.code, args, {});
  size_t next = 0;
  for (edge = 0; edge < edges.size(); ++edge) {
    if (!df.for_all && !call.wanted[edge]) continue;
    const Value& v = df.code->results == 1 ? result : result.to_tuple().items[next++];
    if (v.is_tensor() && call.wanted[edge]) call.inputs[edge] = v.to_tensor();
  }
}

void ScriptNode::release_saved() {
  released_ = !saved_.empty();
  saved_.clear();
}

}  // namespace sconce::runtime
