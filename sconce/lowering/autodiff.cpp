#include "sconce/lowering/autodiff.h"

#include <algorithm>
#include <unordered_map>

#include "sconce/dispatch/registry.h"
#include "sconce/lowering/autodiff_backward.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {
namespace {

constexpr int kDeepest = 16;  // bodies within bodies
constexpr int kRounds = 4;    // sizes make constants, constants make sizes

// A value for a call on Meta tensors: a constant, or a tensor of the sizes that the type says.
std::optional<sconce::Value> meta_value(const ir::Value* v) {
  if (ir::is_none(v)) return sconce::Value();
  if (std::optional<sconce::Value> constant = ir::constant_value(v)) return constant;
  const TensorFacts* facts = v->type()->is(TypeKind::tensor) ? v->type()->tensor_facts() : nullptr;
  if (!facts || !facts->dtype || !facts->sizes) return std::nullopt;
  if (std::any_of(facts->sizes->begin(), facts->sizes->end(), [](int64_t n) { return n < 0; })) return std::nullopt;
  return sconce::Value(empty_tensor(*facts->sizes, *facts->dtype, Device(DeviceType::meta)));
}

// The sizes of items of a list that an operator returns (chunk, split), which has no facts itself.
bool learn_parts(ir::Node& unpack) {
  if (!unpack.is(ir::kind::ListUnpack) || unpack.output()->type()->tensor_facts()) return false;
  const ir::Node& list = *unpack.input()->node();
  if (!list.op() || !is_tensor_list(unpack.input()->type()) ||
      list.inputs().size() != list.op()->schema().arguments.size())
    return false;
  std::vector<sconce::Value> args;
  std::optional<Device> device;
  for (const ir::Value* v : list.inputs()) {
    std::optional<sconce::Value> arg = meta_value(v);
    if (!arg) return false;
    if (const TensorFacts* facts = v->type()->tensor_facts()) device = facts->device;
    args.push_back(std::move(*arg));
  }
  sconce::Value result;
  try {
    const ModeGuard below({}, kGradKeys);
    list.op()->call_boxed(args.data(), &result);
  } catch (const Error&) {
    return false;  // it fails in its own words when it runs
  }
  const TensorList parts = result.to_list().tensors();
  if (parts.size() != unpack.outputs().size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    TensorFacts facts;
    facts.dtype = parts[i].dtype();
    facts.device = device;
    facts.sizes.emplace(parts[i].sizes().begin(), parts[i].sizes().end());
    unpack.output(i)->set_type(refined_tensor_type(facts));
  }
  return true;
}

void clean_up(ir::Graph& graph) {
  for (int i = 0; i < kRounds; ++i) {
    bool learned = shape_propagation(graph);
    each_node(*graph.block(), [&](ir::Node& node) { learned |= learn_parts(node); });
    const size_t before = count_nodes(*graph.block());
    simplify_gradients(graph);
    run_pipeline(graph);
    simplify_gradients(graph);
    dead_code(graph);
    if (!learned && count_nodes(*graph.block()) == before) break;
  }
}

void expand(ir::Node& node, const ir::Graph& body) {
  ir::Block::ValueMap map;
  const Schema& schema = node.op()->schema();
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    if (i < node.inputs().size()) {
      map[body.inputs()[i]] = node.input(i);
    } else {
      ir::Node* value = node.graph()->create_constant(schema.arguments[i].default_value.value());
      map[body.inputs()[i]] = value->insert_before(&node)->output();
    }
  }
  const auto mark = [&](ir::Node& n) {
    n.set_range(node.range());
    n.set_inlined(node.inlined());
  };
  for (const ir::Node* n : body.nodes()) {
    ir::Node* copy = node.graph()->create_copy(*n, map)->insert_before(&node);
    mark(*copy);
    for (const ir::Block* b : copy->blocks()) each_node(*b, mark);
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) node.output(i)->replace_all_uses_with(map.at(body.outputs()[i]));
  node.destroy();
}

}  // namespace

void run_pipeline(ir::Graph& graph) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.in_pipeline) pass.run(graph);
  }
}

bool expand_bodies(ir::Graph& graph, const Activity& active) {
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) {
    if (!active.any_input(node) || !active.any_output(node) || !is_expandable(node)) return;
    expand(node, *op_graphs()->body(*node.op()));
    changed = true;
  });
  return changed;
}

bool simplify_gradients(ir::Graph& graph) {
  static const ir::Symbol add("prim::AutogradAdd"), like("sconce::grad_like"), conj("aten::conj");
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(add)) {
      for (size_t i = 0; i < 2; ++i) {
        if (!ir::is_none(node.input(i))) continue;
        replace_node(node, node.input(1 - i));
        changed = true;
        return;
      }
      return;
    }
    if (node.is(conj)) {
      const TensorFacts* facts = node.input()->type()->tensor_facts();
      if (!facts || !facts->dtype || is_complex(*facts->dtype)) return;
      replace_node(node, node.input());
      changed = true;
      return;
    }
    if (!node.is(like)) return;
    const TensorFacts* facts = node.input(0)->type()->tensor_facts();
    const std::optional<int64_t> dtype = constant_int(node.input(2));
    if (!facts || !facts->dtype || !facts->sizes || dtype != static_cast<int64_t>(*facts->dtype)) return;
    const ir::Node& sizes = *node.input(1)->node();
    if (!sizes.is(ir::kind::ListConstruct) || sizes.inputs().size() != facts->sizes->size()) return;
    for (size_t i = 0; i < sizes.inputs().size(); ++i) {
      if (constant_int(sizes.input(i)) != (*facts->sizes)[i]) return;
    }
    replace_node(node, node.input(0));
    changed = true;
  });
  return changed;
}

Differentiation::Differentiation(std::shared_ptr<ir::Graph> graph, std::vector<bool> wanted)
    : graph_(std::move(graph)), wanted_(std::move(wanted)) {
  prepare();
  find_captures();
  build_forward();
}
Differentiation::~Differentiation() = default;

void Differentiation::prepare() {
  clean_up(*graph_);
  for (int i = 0; i < kDeepest && expand_bodies(*graph_, Activity(*graph_, wanted_)); ++i) clean_up(*graph_);
  const Activity active(*graph_, wanted_);
  for (const ir::Node* node : graph_->nodes()) {
    SCONCE_CHECK(is_differentiable(*node, active), "{} cannot be differentiated in a graph", node->kind().text());
  }
  for (const ir::Value* v : graph_->outputs()) {
    differentiable_outputs_.push_back(active(v) && v->type()->is(TypeKind::tensor));
  }
}

// The captures of df, and of df for second order with the temporaries among these, which may need more.
void Differentiation::find_captures() {
  const Activity active(*graph_, wanted_);
  const auto is_temporary = [&](const ir::Value* v) {
    if (v->node() == graph_->block()->param_node()) return false;
    const auto& out = graph_->outputs();
    return active(v) && v->type()->is(TypeKind::tensor) && std::find(out.begin(), out.end(), v) == out.end();
  };
  std::vector<const ir::Value*> temporaries;
  for (int round = 0; round < kDeepest; ++round) {
    Backward walk(*this, wanted_, temporaries);
    const std::shared_ptr<ir::Graph> df = walk.run();
    clean_up(*df);
    captured_.clear();
    for (size_t i = 0; i < walk.captured().size(); ++i) {
      if (df->inputs()[walk.first_capture() + i]->has_uses()) captured_.push_back(walk.captured()[i]);
    }
    // Captures of earlier rounds stay: df of first order may need them.
    std::vector<const ir::Value*> now;
    for (const ir::Value* v : captured_) {
      if (is_temporary(v)) now.push_back(v);
    }
    for (const ir::Value* v : temporaries) {
      if (std::find(captured_.begin(), captured_.end(), v) != captured_.end()) continue;
      captured_.push_back(v);
      now.push_back(v);
    }
    if (now.size() == temporaries.size()) break;
    temporaries = now;
  }
  for (const ir::Value* v : captured_) {
    const auto& inputs = graph_->inputs();
    const auto& outputs = graph_->outputs();
    const auto in = std::find(inputs.begin(), inputs.end(), v);
    const auto out = std::find(outputs.begin(), outputs.end(), v);
    if (in != inputs.end())
      captures_.push_back({Capture::From::input, static_cast<size_t>(in - inputs.begin())});
    else if (out != outputs.end())
      captures_.push_back({Capture::From::output, static_cast<size_t>(out - outputs.begin())});
    else
      captures_.push_back({Capture::From::temporary, 0, is_temporary(v), again(v)});
  }
}

namespace {

// The same elements in the same order, if those of the argument are contiguous: what they are a view of.
const ir::Value* seen_in_other_sizes(const ir::Value* v) {
  static const ir::Symbol kinds[] = {ir::Symbol("aten::reshape"), ir::Symbol("aten::view"), ir::Symbol("aten::flatten"),
                                     ir::Symbol("aten::unsqueeze"), ir::Symbol("aten::squeeze")};
  while (std::any_of(std::begin(kinds), std::end(kinds), [&](ir::Symbol kind) { return v->node()->is(kind); }))
    v = v->node()->input(0);
  return v;
}

bool is_pointwise_of_one(const Op& op) {
  const auto& arguments = op.schema().arguments;
  return op.has(Trait::pointwise) && !op.schema().is_mutable() && op.schema().returns.size() == 1 &&
         !op.has(Trait::random) && arguments[0].type->is(TypeKind::tensor) &&
         std::none_of(arguments.begin() + 1, arguments.end(),
                      [](const Argument& a) { return may_hold_tensor(a.type); });
}

}  // namespace

std::optional<Differentiation::Again> Differentiation::again(const ir::Value* v) const {
  const ir::Value* result = seen_in_other_sizes(v);
  const ir::Node& node = *result->node();
  if (!node.op() || !is_pointwise_of_one(*node.op())) return std::nullopt;
  const auto from = std::find(captured_.begin(), captured_.end(), node.input(0));
  if (from == captured_.end()) return std::nullopt;
  Again how{node.op(), {}, static_cast<size_t>(from - captured_.begin()), result};
  for (size_t i = 1; i < node.op()->schema().arguments.size(); ++i) {
    std::optional<sconce::Value> constant =
        i < node.inputs().size() ? ir::constant_value(node.input(i)) : node.op()->schema().arguments[i].default_value;
    if (!constant) return std::nullopt;
    how.args.push_back(std::move(*constant));
  }
  return how;
}

// The graph, with captures brought out of their blocks.
void Differentiation::build_forward() {
  forward_ = std::make_shared<ir::Graph>();
  ir::Block::ValueMap map;
  forward_->block()->copy_from(*graph_->block(), map);
  ir::Graph& f = *forward_;
  for (const ir::Value* v : captured_) {
    ir::Value* at = map.at(v);
    TypePtr type = at->type();
    for (ir::Block* block = at->node()->block(); block->owner(); block = block->owner()->block()) {
      ir::Node* owner = block->owner();
      type = captured_type(block, type, 1);
      if (owner->is(ir::kind::Loop)) {
        ir::Node* list = f.create(ir::kind::ListConstruct);
        list->insert_before(owner);
        ir::Value* all = list->add_output(type);
        f.create(*find_op("aten::append.t"), {all, at})->insert_before(block->return_node());
        at = all;
      } else {
        const ir::InsertPoint before(f, owner);
        ir::Value* none = f.insert_constant(sconce::Value());
        for (ir::Block* b : owner->blocks()) b->add_output(b == block ? at : none);
        at = owner->add_output(type);
      }
    }
    f.add_output(at);
  }
  common_subexpressions(f);
  dead_code(f);
}

std::shared_ptr<ir::Graph> Differentiation::backward(const std::vector<bool>& wanted, bool second_order) {
  std::vector<const ir::Value*> temporaries;
  for (size_t i = 0; i < captured_.size() && second_order; ++i) {
    if (captures_[i].differentiable) temporaries.push_back(captured_[i]);
  }
  Backward walk(*this, wanted, temporaries);
  const std::shared_ptr<ir::Graph> df = walk.run();
  clean_up(*df);
  // All captures, in their order.
  const size_t first = walk.first_capture();
  std::vector<ir::Value*> before(df->inputs().begin() + static_cast<ptrdiff_t>(first), df->inputs().end());
  for (const ir::Value* v : captured_) {
    ir::Value* in = df->add_input(captured_type(v->node()->block(), v->type(), depth_of(v)));
    for (size_t i = 0; i < before.size(); ++i) {
      if (walk.captured()[i] == v) before[i]->replace_all_uses_with(in);
    }
  }
  for (size_t i = before.size(); i-- > 0;) {
    SCONCE_CHECK_AS(internal, !before[i]->has_uses(), "a gradient needs %{}, which is not captured", before[i]->name());
    df->block()->remove_input(first + i);
  }
  return df;
}

}  // namespace sconce::passes
