#include "sconce/lowering/to_prims.h"

#include <algorithm>

#include "sconce/dispatch/entry.h"
#include "sconce/lowering/prims_rules.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::lowering {
namespace {

constexpr Device kMeta{DeviceType::meta};
constexpr int64_t kMaxTrips = 256;     // of a loop that is written out
constexpr size_t kMaxNodes = 100'000;  // of the graph: bodies are not taken in beyond
constexpr std::string_view kPrefix = "prims::";

bool is_plain(const sconce::Value& v) {
  if (v.is_tensor()) return false;
  if (v.is_list() && v.to_list().is_tensors()) return false;
  return passes::can_be_constant(v);
}

std::optional<Tensor> shape_of_type(TypePtr type) {
  const TensorFacts* facts = type->is(TypeKind::tensor) ? type->tensor_facts() : nullptr;
  if (!facts || !facts->dtype || !facts->sizes || facts->undefined) return std::nullopt;
  const auto known = [](const std::vector<int64_t>& v) {
    return std::ranges::all_of(v, [](int64_t n) { return n >= 0; });
  };
  if (!known(*facts->sizes)) return std::nullopt;
  if (facts->strides && known(*facts->strides))
    return empty_strided_tensor(*facts->sizes, *facts->strides, *facts->dtype, kMeta);
  return empty_tensor(*facts->sizes, *facts->dtype, kMeta);
}

// The device that a type tells, else the CPU.
Device device_of_type(TypePtr type) {
  const TensorFacts* facts = type->is(TypeKind::tensor) ? type->tensor_facts() : nullptr;
  return facts && facts->device ? *facts->device : Device();
}

bool writes(const ir::Block& block) {
  bool found = false;
  passes::each_node(block, [&](ir::Node& n) { found |= n.op() && n.op()->schema().is_mutable(); });
  return found;
}

// Partial evaluation: follows the graph with tensors on Meta. What asks for sizes becomes constants, known branches and
// loops vanish, and each operator on tensors becomes prims where it can.
class Lowering {
 public:
  explicit Lowering(ir::Graph& graph) : graph_(graph), b_(graph) {}

  void run() {
    for (const ir::Value* v : graph_.inputs()) learn_shape(v);
    nodes_ = passes::count_nodes(*graph_.block());
    ir::Node* const end = graph_.block()->return_node();
    for (ir::Node* node = graph_.block()->first(); node != end;) node = visit(*node);
  }

 private:
  void learn_shape(const ir::Value* v) {
    if (const std::optional<Tensor> shape = shape_of_type(v->type())) b_.learn(v, *shape);
  }

  // The node to go on with.
  ir::Node* visit(ir::Node& node) {
    ir::Node* next = node.next();
    if (node.is(ir::kind::Constant)) {
      learn_constant(node);
    } else if (node.is(ir::kind::If)) {
      return visit_if(node);
    } else if (node.is(ir::kind::Loop)) {
      return visit_loop(node);
    } else if (!node.blocks().empty()) {
      return next;
    } else if (node.op() == nullptr) {
      visit_structure(node);
    } else {
      return visit_call(node);
    }
    return next;
  }

  void learn_constant(const ir::Node& node) {
    const std::optional<sconce::Value> v = ir::constant_value(node.output());
    if (!v) return;
    if (v->is_tensor()) {
      const Tensor& t = v->to_tensor();
      b_.learn(node.output(), empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta));
    } else if (!v->is_list() || !v->to_list().is_tensors()) {
      b_.learn(node.output(), *v);
    }
  }

  std::optional<std::vector<sconce::Value>> known_inputs(const ir::Node& node) const {
    std::vector<sconce::Value> all;
    for (const ir::Value* v : node.inputs()) {
      const sconce::Value* known = b_.known(v);
      if (known == nullptr) return std::nullopt;
      all.push_back(*known);
    }
    return all;
  }

  // Lists, tuples, and what takes them apart.
  void visit_structure(ir::Node& node) {
    std::optional<std::vector<sconce::Value>> inputs = known_inputs(node);
    if (!inputs) return;
    if (node.is(ir::kind::unchecked_cast)) {
      passes::replace_node(node, node.input());
      return;
    }
    const auto results = passes::evaluate(node, std::move(*inputs));
    if (!results || results->size() != node.outputs().size()) return;
    for (size_t i = 0; i < results->size(); ++i) b_.learn(node.output(i), (*results)[i]);
    // Items of a list of tensors are the values that it was made of.
    if (!node.is(ir::kind::ListUnpack) && !node.is(ir::kind::TupleUnpack)) return;
    const ir::Node& made = *node.input()->node();
    const bool same = made.is(ir::kind::ListConstruct) || made.is(ir::kind::TupleConstruct);
    if (!same || made.inputs().size() != node.outputs().size()) return;
    for (size_t i = 0; i < node.outputs().size(); ++i) node.output(i)->replace_all_uses_with(made.input(i));
  }

  ir::Node* visit_if(ir::Node& node) {
    ir::Node* next = node.next();
    const sconce::Value* condition = b_.known(node.input());
    if (condition == nullptr || !condition->is_bool()) return next;
    const ir::Block& taken = *node.block_at(condition->to_bool() ? 0 : 1);
    ir::Block::ValueMap map;
    return splice(node, taken, map, [&](size_t i) { return taken.outputs()[i]; });
  }

  // A loop of a known number of trips whose condition stays true is written out.
  ir::Node* visit_loop(ir::Node& node) {
    ir::Node* next = node.next();
    const ir::Block& body = *node.block_at(0);
    const sconce::Value *trips = b_.known(node.input(0)), *go = b_.known(node.input(1));
    const bool known = trips && trips->is_int() && go && go->is_bool() && go->to_bool() &&
                       passes::constant_bool(body.outputs()[0]).value_or(false) && trips->to_int() <= kMaxTrips;
    if (!known || nodes_ + passes::count_nodes(body) * static_cast<size_t>(trips->to_int()) > kMaxNodes) return next;
    ir::Node* before = node.prev();
    std::vector<ir::Value*> carried(node.inputs().begin() + 2, node.inputs().end());
    for (int64_t trip = 0; trip < trips->to_int(); ++trip) {
      ir::Block::ValueMap map;
      ir::Node* number = graph_.create_constant(trip)->insert_before(&node);
      map[body.inputs()[0]] = number->output();
      for (size_t i = 0; i < carried.size(); ++i) map[body.inputs()[i + 1]] = carried[i];
      for (const ir::Node* n : body.nodes()) graph_.create_copy(*n, map)->insert_before(&node);
      for (size_t i = 0; i < carried.size(); ++i) {
        ir::Value* out = body.outputs()[i + 1];
        carried[i] = map.contains(out) ? map.at(out) : out;
      }
    }
    for (size_t i = 0; i < carried.size(); ++i) node.output(i)->replace_all_uses_with(carried[i]);
    ir::Node* first = before->next() == &node ? next : before->next();
    node.destroy();
    return first;
  }

  // Copies the nodes of a block before the node, which goes. `output(i)`: the block's value for output i.
  template <class Output>
  ir::Node* splice(ir::Node& node, const ir::Block& block, ir::Block::ValueMap& map, Output output) {
    ir::Node *before = node.prev(), *next = node.next();
    for (const ir::Node* n : block.nodes()) {
      ir::Node* copy = graph_.create_copy(*n, map)->insert_before(&node);
      if (copy->range()) continue;
      copy->set_range(node.range());
      ++nodes_;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      ir::Value* out = output(i);
      node.output(i)->replace_all_uses_with(map.contains(out) ? map.at(out) : out);
    }
    ir::Node* first = before->next() == &node ? next : before->next();
    node.destroy();
    return first;
  }

  ir::Node* visit_call(ir::Node& node) {
    static const ir::Symbol unwrap("aten::_unwrap_optional"), unchecked("prim::unchecked_unwrap_optional");
    ir::Node* next = node.next();
    const Op& op = *node.op();
    if ((node.is(unwrap) || node.is(unchecked)) && b_.known(node.input()) && !b_.known(node.input())->is_none()) {
      passes::replace_node(node, node.input());
      return next;
    }
    std::optional<std::vector<sconce::Value>> args = known_inputs(node);
    if (!args || op.schema().is_mutable() || op.schema().is_vararg) return next;
    auto results = b_.run(op, node.inputs());
    if (!results) return expand(node);
    if (std::ranges::all_of(*results, is_plain)) {
      // A question about sizes, or arithmetic of numbers.
      if (node.outputs().size() == 1 && !op.has(Trait::asks_autograd) && !op.has(Trait::random)) {
        passes::replace_with_constant(node, (*results)[0]);
        learn_constant(*next->prev());
      }
      return next;
    }
    if (!is_prim(op)) {
      b_.begin(&node, device_of(node));
      const LoweredCall call{node, op, std::move(*args), *results};
      if (const Lowered lowered = lower(call)) {
        passes::replace_value(node.output(), lowered);
        node.destroy();
        return next;
      }
      b_.undo();
      if (ir::Node* first = expand(node); first != next) return first;
    }
    for (size_t i = 0; i < results->size(); ++i) {
      const sconce::Value& v = (*results)[i];
      b_.learn(node.output(i), v);
      if (v.is_tensor()) node.output(i)->set_type(type_of_shape(v.to_tensor(), device_of(node)));
    }
    return next;
  }

  Lowered lower(const LoweredCall& call) {
    if (call.results.size() != 1 || !call.results[0].is_tensor() || !call.result().is_meta()) return nullptr;
    const OpEntry* entry = call.op.info.entry;
    return entry && !entry->pointwise().empty() ? lower_pointwise(call, b_) : lower_by_name(call, b_);
  }

  // A compound operator becomes its body, whose nodes are visited then.
  ir::Node* expand(ir::Node& node) {
    ir::Node* next = node.next();
    if (is_prim(*node.op()) || !node.op()->has(Trait::compound) || !passes::op_graphs()) return next;
    const ir::Graph* body = passes::op_graphs()->body(*node.op());
    if (!body || writes(*body->block()) || nodes_ + passes::count_nodes(*body->block()) > kMaxNodes) return next;
    ir::Block::ValueMap map;
    for (size_t i = 0; i < body->inputs().size(); ++i) map[body->inputs()[i]] = node.input(i);
    return splice(node, *body->block(), map, [&](size_t i) { return body->outputs()[i]; });
  }

  static Device device_of(const ir::Node& node) {
    const Schema& schema = node.op()->schema();
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const std::optional<sconce::Value> v = ir::constant_value(node.input(i));
      if (v && v->is_device() && schema.arguments[i].name == "device") return v->to_device();
    }
    for (const ir::Value* v : node.inputs()) {
      if (v->type()->is(TypeKind::tensor)) return device_of_type(v->type());
    }
    return Device();
  }

  ir::Graph& graph_;
  PrimsBuilder b_;
  size_t nodes_ = 0;
};

}  // namespace

bool is_prim(const Op& op) { return std::string_view(op.info.name).starts_with(kPrefix); }

void to_prims(ir::Graph& graph) {
  Lowering(graph).run();
  passes::dead_code(graph);
  passes::common_subexpressions(graph);
  passes::constant_pooling(graph);
  passes::dead_code(graph);
}

bool in_prims(const ir::Node& node) {
  const auto is_tensor = [](const ir::Value* v) {
    const TypePtr t = v->type();
    return t->is(TypeKind::tensor) || (t->is(TypeKind::list) && t->element()->is(TypeKind::tensor));
  };
  if (!node.op() || is_prim(*node.op())) return true;
  return std::ranges::none_of(node.inputs(), is_tensor) && std::ranges::none_of(node.outputs(), is_tensor);
}

std::vector<const ir::Node*> outside_prims(const ir::Graph& graph) {
  std::vector<const ir::Node*> found;
  passes::each_node(*graph.block(), [&](const ir::Node& node) {
    if (!in_prims(node)) found.push_back(&node);
  });
  return found;
}

void specialize(ir::Graph& graph, std::span<const sconce::Value> args) {
  for (size_t i = 0; i < args.size() && i < graph.inputs().size(); ++i) {
    ir::Value* v = graph.inputs()[i];
    if (args[i].is_tensor() && v->type()->is(TypeKind::tensor))
      v->set_type(refined_tensor_type(facts_of(args[i].to_tensor())));
  }
}

}  // namespace sconce::lowering
