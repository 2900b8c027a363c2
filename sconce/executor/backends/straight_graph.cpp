#include "sconce/executor/backends/straight_graph.h"

#include <algorithm>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::executor {
namespace {

constexpr Device kMeta{DeviceType::meta};
constexpr size_t kMostSteps = 100'000;  // nodes that are run, loops counted by turns

// Raised where the graph cannot be straightened; does not leave this file.
struct NotStraight {};

bool names_tensors(TypePtr type) {
  return type->is(TypeKind::tensor) || std::ranges::any_of(type->contained(), names_tensors);
}

class Evaluator {
 public:
  explicit Evaluator(ir::Graph& made) : made_(made) {}

  void add_input(const ir::Value* v, const Tensor& twin) {
    const Tensor own = copy_of(twin);
    known_[v] = Value(own);
    name(own, made_.add_input(type_of_twin(own), v->has_name() ? std::string(v->base_name()) : std::string()));
  }

  // The values of the block's outputs.
  std::vector<Value> run(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) step(*node);
    std::vector<Value> outputs;
    for (const ir::Value* v : block.outputs()) outputs.push_back(known(v));
    return outputs;
  }

  ir::Value* tensor(const Value& v) const {
    if (!v.is_tensor()) throw NotStraight();
    const auto found = tensors_.find(v.to_tensor().impl());
    if (found == tensors_.end()) throw NotStraight();
    return found->second.value;
  }

 private:
  static Tensor copy_of(const Tensor& t) { return empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta); }

  const Value& known(const ir::Value* v) const { return known_.at(v); }

  void name(const Tensor& t, ir::Value* v) { tensors_.try_emplace(t.impl(), Named{t, v}); }

  void step(const ir::Node& node) {
    if (++steps_ > kMostSteps) throw NotStraight();
    if (node.is(ir::kind::Constant)) return constant(node);
    if (node.is(ir::kind::If)) {
      const ir::Block& taken = *node.block_at(known(node.input()).to_bool() ? 0 : 1);
      return set(node, run(taken));
    }
    if (node.is(ir::kind::Loop)) return loop(node);
    if (!node.blocks().empty()) throw NotStraight();
    std::vector<Value> inputs;
    for (const ir::Value* v : node.inputs()) inputs.push_back(known(v));
    if (node.is(ir::kind::unchecked_cast)) return set(node, std::move(inputs));
    if (node.is(ir::kind::Uninitialized)) return set(node, {Value()});
    if (node.op() && !node.op()->schema().is_vararg) return call(node, inputs);
    std::optional<std::vector<Value>> results = passes::evaluate(node, std::move(inputs));
    if (!results) throw NotStraight();
    set(node, std::move(*results));
  }

  void set(const ir::Node& node, std::vector<Value> values) {
    if (values.size() != node.outputs().size()) throw NotStraight();
    for (size_t i = 0; i < values.size(); ++i) known_[node.output(i)] = std::move(values[i]);
  }

  void constant(const ir::Node& node) {
    const std::optional<Value> v = ir::constant_value(node.output());
    if (!v) throw NotStraight();
    if (!v->is_tensor()) {
      if (names_tensors(node.output()->type()) && !v->is_none()) throw NotStraight();
      known_[node.output()] = *v;
      return;
    }
    const Tensor twin = copy_of(v->to_tensor());
    if (v->to_tensor().is_wrapped_number()) throw NotStraight();
    known_[node.output()] = Value(twin);
    ir::Value* copy = made_.insert_constant(*v);
    copy->set_type(type_of_twin(twin));
    name(twin, copy);
  }

  void loop(const ir::Node& node) {
    const ir::Block& body = *node.block_at(0);
    const int64_t most = known(node.input(0)).to_int();
    bool go = known(node.input(1)).to_bool();
    std::vector<Value> carried;
    for (size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(known(node.input(i)));
    for (int64_t trip = 0; trip < most && go; ++trip) {
      known_[body.inputs()[0]] = Value(trip);
      for (size_t i = 0; i < carried.size(); ++i) known_[body.inputs()[i + 1]] = std::move(carried[i]);
      std::vector<Value> outputs = run(body);
      go = outputs[0].to_bool();
      carried.assign(std::make_move_iterator(outputs.begin() + 1), std::make_move_iterator(outputs.end()));
      if (++steps_ > kMostSteps) throw NotStraight();
    }
    set(node, std::move(carried));
  }

  void call(const ir::Node& node, const std::vector<Value>& inputs) {
    const Op& op = *node.op();
    const Schema& schema = op.schema();
    if (inputs.size() != schema.arguments.size() || op.has(Trait::random)) throw NotStraight();
    std::vector<Value> args = inputs, returns(schema.returns.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const Argument& formal = schema.arguments[i];
      if (formal.is_written() && names_tensors(formal.type)) throw NotStraight();
      if (args[i].is_device() || (args[i].is_none() && formal.name == "device")) args[i] = Value(kMeta);
    }
    op.call_boxed(args.data(), returns.data());
    if (std::ranges::any_of(returns, [&](const Value& v) { return is_new(v); })) emit(node, inputs, returns);
    set(node, std::move(returns));
  }

  // Whether the graph has no value for it yet, or for a tensor inside it.
  bool is_new(const Value& v) const {
    if (v.is_tensor()) return !tensors_.contains(v.to_tensor().impl());
    if (v.is_list() && v.to_list().is_tensors()) {
      return std::ranges::any_of(v.to_list().tensors(), [&](const Tensor& t) { return is_new(Value(t)); });
    }
    return false;
  }

  void emit(const ir::Node& node, const std::vector<Value>& inputs, const std::vector<Value>& returns) {
    std::vector<ir::Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.push_back(argument(inputs[i], node.op()->schema().arguments[i]));
    ir::Node* copy = made_.insert(made_.create(*node.op(), values)->set_range(node.range()));
    for (size_t i = 0; i < returns.size(); ++i) {
      const Value& v = returns[i];
      ir::Value* out = copy->output(i);
      if (v.is_tensor()) {
        out->set_type(type_of_twin(v.to_tensor()));
        name(v.to_tensor(), out);
      } else if (v.is_list() && v.to_list().is_tensors()) {
        const std::vector<Tensor> items(v.to_list().tensors().begin(), v.to_list().tensors().end());
        ir::Node* unpack = made_.insert(made_.create(ir::kind::ListUnpack, {out}, items.size()));
        for (size_t k = 0; k < items.size(); ++k) {
          unpack->output(k)->set_type(type_of_twin(items[k]));
          name(items[k], unpack->output(k));
        }
      }
    }
  }

  ir::Value* argument(const Value& v, const Argument& formal) {
    if (v.is_tensor()) return tensor(v);
    if (v.is_list() && names_tensors(formal.type)) {
      const TypePtr type = formal.type->is(TypeKind::optional) ? formal.type->element() : formal.type;
      std::vector<ir::Value*> items;
      for (const Value& item : v.to_list().values())
        items.push_back(item.is_none() ? made_.insert_constant(Value(), {}, none_type()) : tensor(item));
      ir::Node* list = made_.create(ir::kind::ListConstruct, items, 1);
      list->output()->set_type(type);
      return made_.insert(list)->output();
    }
    if (v.is_none()) return made_.insert_constant(Value(), {}, none_type());
    if (!passes::can_be_constant(v)) throw NotStraight();
    if (v.is_device()) return made_.insert_constant(Value(Device()));
    // The list may be changed by its owner later.
    if (v.is_list()) return made_.insert_constant(Value(v.to_list().copy()));
    return made_.insert_constant(v);
  }

  struct Named {
    Tensor kept;  // so that no other gets its address
    ir::Value* value;
  };
  ir::Graph& made_;
  std::unordered_map<const ir::Value*, Value> known_;
  std::unordered_map<const TensorImpl*, Named> tensors_;
  size_t steps_ = 0;
};

}  // namespace

TypePtr type_of_twin(const Tensor& twin) {
  TensorFacts facts = facts_of(twin);
  facts.device = Device();
  facts.requires_grad = false;
  return refined_tensor_type(facts);
}

Tensor twin_of_type(TypePtr type) {
  const TensorFacts& facts = *type->tensor_facts();
  return empty_strided_tensor(*facts.sizes, *facts.strides, *facts.dtype, kMeta);
}

std::shared_ptr<ir::Graph> straighten(const ir::Graph& graph, std::span<const Tensor> inputs) {
  auto made = std::make_shared<ir::Graph>();
  try {
    Evaluator evaluator(*made);
    for (size_t i = 0; i < inputs.size(); ++i) evaluator.add_input(graph.inputs()[i], inputs[i]);
    for (const Value& v : evaluator.run(*graph.block())) made->add_output(evaluator.tensor(v));
  } catch (const NotStraight&) {
    return nullptr;
  } catch (const Error&) {  // an operator that needs elements, or refuses its arguments
    return nullptr;
  }
  return made;
}

}  // namespace sconce::executor
