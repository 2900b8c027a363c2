#include "capture/graph/call_tape.h"

#include <unordered_map>

#include "capture/graph/python_call.h"
#include "sconce/base/error.h"
#include "sconce/base/inline_vector.h"

namespace sconce::python::capture {

struct CallTape::Builder {
  CallTape& tape;
  std::unordered_map<const ir::Value*, int32_t> slots;
  std::unordered_map<const ir::Value*, Operand> known;  // constants and lists

  int32_t add(const ir::Value* v) { return slots[v] = static_cast<int32_t>(tape.slots_++); }

  bool operand(const ir::Value* v, Operand& out) const {
    if (const auto slot = slots.find(v); slot != slots.end()) return (out.slot = slot->second, true);
    const auto found = known.find(v);
    if (found == known.end()) return false;
    out = found->second;
    return true;
  }

  bool node(const ir::Node& n) {
    if (n.is(ir::kind::Constant)) {
      Operand o;
      if (const std::optional<Value> v = ir::constant_value(n.output())) o.constant = *v;
      known[n.output()] = std::move(o);
      return true;
    }
    if (n.is(ir::kind::ListConstruct)) {
      Operand o;
      o.is_list = true;
      o.element = n.output()->type()->element();
      for (const ir::Value* v : n.inputs())
        if (!operand(v, o.parts.emplace_back())) return false;
      known[n.output()] = std::move(o);
      return true;
    }
    const bool unpacks = n.is(ir::kind::ListUnpack);
    if (!unpacks && (!n.op() || !n.blocks().empty())) return false;
    Step step;
    step.op = unpacks ? nullptr : n.op();
    if (step.op) step.shape = call_shape(*step.op);
    for (const ir::Value* v : n.inputs())
      if (!operand(v, step.operands.emplace_back())) return false;
    for (const ir::Value* v : n.outputs()) step.results.push_back(add(v));
    tape.steps_.push_back(std::move(step));
    return true;
  }

  // Values go where they are used last, so that memory is given back as eager gives it back.
  void find_last_uses() {
    std::vector<bool> used(tape.slots_);
    for (const int32_t slot : tape.outputs_) used[static_cast<size_t>(slot)] = true;
    for (size_t i = 0; i < tape.inputs_; ++i) used[i] = true;
    for (size_t i = tape.steps_.size(); i-- > 0;) {
      Step& step = tape.steps_[i];
      const auto use = [&](int32_t slot) {
        if (slot < 0 || used[static_cast<size_t>(slot)]) return;
        used[static_cast<size_t>(slot)] = true;
        step.last_uses.push_back(slot);
      };
      for (const int32_t slot : step.results) use(slot);
      const auto visit = [&](const auto& self, const Operand& o) -> void {
        use(o.slot);
        for (const Operand& part : o.parts) self(self, part);
      };
      for (const Operand& o : step.operands) visit(visit, o);
    }
  }
};

std::unique_ptr<CallTape> CallTape::make(const ir::Graph& graph) {
  auto tape = std::make_unique<CallTape>();
  Builder builder{*tape, {}, {}};
  for (const ir::Value* v : graph.inputs()) builder.add(v);
  tape->inputs_ = graph.inputs().size();
  const ir::Node* result = graph.outputs().at(0)->node();
  if (!result->is(ir::kind::TupleConstruct)) return nullptr;
  for (const ir::Node* n : graph.nodes())
    if (n != result && !builder.node(*n)) return nullptr;
  for (const ir::Value* v : result->inputs()) {
    const auto slot = builder.slots.find(v);
    if (slot == builder.slots.end()) return nullptr;
    tape->outputs_.push_back(slot->second);
  }
  builder.find_last_uses();
  tape->is_single_ = tape->find_single();
  return tape;
}

bool CallTape::find_single() const {
  if (steps_.size() != 1 || outputs_.size() != 1 || steps_[0].results != outputs_) return false;
  const auto is_tensor = [&](size_t i) { return steps_[0].operands[i].slot >= 0; };
  const auto is_number = [&](size_t i) { return steps_[0].operands[i].constant.is_number(); };
  switch (steps_[0].shape) {
    case CallShape::t:
      return is_tensor(0);
    case CallShape::tt:
      return is_tensor(0) && is_tensor(1);
    case CallShape::ts:
      return is_tensor(0) && is_number(1);
    case CallShape::tss:
      return is_tensor(0) && is_number(1) && is_number(2);
    case CallShape::tts:
      return is_tensor(0) && is_tensor(1) && is_number(2);
    default:
      return false;
  }
}

Tensor CallTape::run_single(const Tensor* const* inputs) const {
  const Step& step = steps_[0];
  const Operand* o = step.operands.data();
  const auto tensor = [&](size_t i) -> const Tensor& { return *inputs[o[i].slot]; };
  switch (step.shape) {
    case CallShape::t:
      return call_t(tensor(0), *step.op);
    case CallShape::tt:
      return call_tt(tensor(0), tensor(1), *step.op);
    case CallShape::ts:
      return call_ts(tensor(0), o[1].constant.to_scalar(), *step.op);
    case CallShape::tss:
      return call_tss(tensor(0), o[1].constant.to_scalar(), o[2].constant.to_scalar(), *step.op);
    default:
      return call_tts(tensor(0), tensor(1), o[2].constant.to_scalar(), *step.op);
  }
}

std::unique_ptr<DenseTape> CallTape::make_dense(std::span<const Tensor* const> inputs) const {
  if (inputs.empty()) return nullptr;
  const Tensor& first = *inputs[0];
  for (const Tensor* t : inputs) {
    const bool is_alike = t->dtype() == first.dtype() && t->sizes() == first.sizes() && t->is_contiguous() &&
                          t->device().type == DeviceType::cpu && !t->is_wrapped_number();
    if (!is_alike) return nullptr;
  }
  DenseTape::Builder builder(first.dtype(), first.sizes(), inputs.size());
  std::vector<DenseTape::Builder::Argument> arguments;
  for (const Step& step : steps_) {
    if (step.op == nullptr || step.results.size() != 1) return nullptr;
    arguments.clear();
    for (const Operand& o : step.operands) {
      if (o.is_list) return nullptr;
      arguments.push_back({o.slot, o.constant});
    }
    if (!builder.call(*step.op, arguments)) return nullptr;
  }
  return builder.finish(outputs_);  // slots are numbered alike: inputs, then results in order
}

Value CallTape::value_of(const Operand& o, const Value* slots) {
  if (o.slot >= 0) return slots[o.slot];
  if (!o.is_list) return o.constant;
  auto list = make_ref<List>(o.element);
  for (const Operand& part : o.parts) list->append(value_of(part, slots));
  return Value(std::move(list));
}

// The shapes that small graphs have most; others are called over Values.
bool CallTape::run_typed(const Step& step, Value* slots) {
  const auto value = [&](size_t i) -> const Value& {
    const Operand& o = step.operands[i];
    return o.slot >= 0 ? slots[o.slot] : o.constant;
  };
  const auto tensor = [&](size_t i) -> const Tensor& { return value(i).to_tensor(); };
  Value& out = slots[step.results[0]];
  switch (step.shape) {
    case CallShape::t:
      out = Value(call_t(tensor(0), *step.op));
      return true;
    case CallShape::tt:
      out = Value(call_tt(tensor(0), tensor(1), *step.op));
      return true;
    case CallShape::ttt:
      out = Value(call_ttt(tensor(0), tensor(1), tensor(2), *step.op));
      return true;
    case CallShape::ts:
      out = Value(call_ts(tensor(0), value(1).to_scalar(), *step.op));
      return true;
    case CallShape::tss:
      out = Value(call_tss(tensor(0), value(1).to_scalar(), value(2).to_scalar(), *step.op));
      return true;
    case CallShape::tts:
      out = Value(call_tts(tensor(0), tensor(1), value(2).to_scalar(), *step.op));
      return true;
    case CallShape::ti:
      out = Value(call_ti(tensor(0), value(1).to_int(), *step.op));
      return true;
    case CallShape::tii:
      out = Value(call_tii(tensor(0), value(1).to_int(), value(2).to_int(), *step.op));
      return true;
    default:
      return false;
  }
}

void CallTape::run(std::span<const Tensor* const> inputs, std::span<Value> outputs) const {
  SCONCE_ASSERT(inputs.size() == inputs_ && outputs.size() == outputs_.size());
  InlineVector<Value, 16> held(slots_);
  Value* slots = held.data();
  for (size_t i = 0; i < inputs_; ++i) slots[i] = Value(*inputs[i]);
  run_steps(slots, outputs);
}

void CallTape::run(std::span<Value> inputs, std::span<Value> outputs) const {
  SCONCE_ASSERT(inputs.size() == inputs_ && outputs.size() == outputs_.size());
  InlineVector<Value, 16> held(slots_);
  for (size_t i = 0; i < inputs_; ++i) held.data()[i] = std::move(inputs[i]);
  run_steps(held.data(), outputs);
}

void CallTape::run_steps(Value* slots, std::span<Value> outputs) const {
  for (const Step& step : steps_) {
    if (step.shape == CallShape::none || !run_typed(step, slots)) {
      if (!step.op) {
        const Value list = value_of(step.operands[0], slots);
        SCONCE_CHECK(list.to_list().size() == step.results.size(), "expected a list of {} elements, got {}",
                     step.results.size(), list.to_list().size());
        for (size_t i = 0; i < step.results.size(); ++i) slots[step.results[i]] = list.to_list().get(i);
      } else {
        InlineVector<Value, 8> args(step.operands.size()), results(step.results.size());
        for (size_t i = 0; i < step.operands.size(); ++i) args.data()[i] = value_of(step.operands[i], slots);
        if (step.op == &call_python_op())
          results.data()[0] = call_python_number(args.data()[0].to_int(), args.data()[1].to_list());
        else
          step.op->call_boxed(args.data(), results.data());
        for (size_t i = 0; i < step.results.size(); ++i) slots[step.results[i]] = std::move(results.data()[i]);
      }
    }
    for (const int32_t slot : step.last_uses) slots[slot] = Value();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = slots[outputs_[i]];
}

}  // namespace sconce::python::capture
