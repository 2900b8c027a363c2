// Constant propagation: nodes on constants are computed now, and known branches chosen.
//   %a : int = prim::Constant[value=2]()
//   %b : int = aten::mul(%a, %a)                       =>  %b : int = prim::Constant[value=4]()
//   %r = prim::If(True): block0 ... -> (%x)  else ...  =>  the nodes of block0, %x
//   %r = prim::Loop(0, %c, %x) ...                     =>  %x
//   %r = prim::If(%c): -> (%x)  else: -> (%x)          =>  %x      also when both are equal constants
//   a value that a loop carries and never changes      =>  the value before the loop
// Nodes with effects or random results stay; so do those that throw. A node that makes something that can be changed (a
// list, a tensor) is run only if it is never written and does not escape, since all runs of the graph share a constant.
// constant_propagation_immutable, for the frontend, leaves all such nodes alone: its result does not depend on the
// passes before it.
#include "sconce/ir/alias.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

constexpr int kMaxRounds = 8;
constexpr int64_t kMaxMade = 1 << 16;  // bytes of a tensor made of numbers (zeros): a larger one stays a computation

bool is_large(const sconce::Value& v) {
  if (!v.is_tensor()) return false;
  const Tensor& t = v.to_tensor();
  return t.numel() * static_cast<int64_t>(t.item_size()) > kMaxMade;
}

class Propagation {
 public:
  Propagation(ir::Graph& graph, bool only_immutable) : graph_(graph), only_immutable_(only_immutable) {}

  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(const ir::Block& b) {
    for (ir::Node* node = b.first(); node != b.return_node();) {
      // Nodes of a branch that takes the place of its If are finished already.
      ir::Node* next = node->next();
      visit(*node);
      node = next;
    }
  }

  void visit(ir::Node& node) {
    if (node.is(ir::kind::If)) return visit_if(node);
    if (node.is(ir::kind::Loop)) return visit_loop(node);
    if (!node.is(ir::kind::Constant) && may_run(node)) fold(node);
  }

  bool may_run(const ir::Node& node) {
    if (node.inputs().empty() || !node.blocks().empty() || ir::has_side_effects(node)) return false;
    for (const ir::Value* v : node.inputs()) {
      if (!v->node()->is(ir::kind::Constant)) return false;
    }
    if (node.is(ir::kind::unchecked_cast) || ir::is_nondeterministic(node)) return false;
    // PyTorch's frontend leaves "..." (format) alone, and so do graphs that it shall recognise.
    if (only_immutable_ && node.op() && node.op()->schema().is_vararg) return false;
    const auto immutable = [](const std::vector<ir::Value*>& values) {
      for (const ir::Value* v : values) {
        if (ir::is_mutable(v->type())) return false;
      }
      return true;
    };
    if (immutable(node.inputs()) && immutable(node.outputs())) return true;
    if (only_immutable_) return false;
    if (!facts_) facts_.emplace(graph_);
    if (facts_->writes(&node) || facts_->has_writers(&node)) return false;
    for (const ir::Value* v : node.outputs()) {
      if (facts_->may_leave(v)) return false;
    }
    return true;
  }

  void fold(ir::Node& node) {
    std::vector<sconce::Value> inputs;
    for (const ir::Value* v : node.inputs()) {
      std::optional<sconce::Value> c = ir::constant_value(v);
      if (!c) return;  // a function
      inputs.push_back(std::move(*c));
    }
    const bool from_tensors = std::any_of(inputs.begin(), inputs.end(), [](const sconce::Value& v) {
      return v.is_tensor() || (v.is_list() && v.to_list().is_tensors());
    });
    const std::optional<std::vector<sconce::Value>> results = evaluate(node, std::move(inputs));
    if (!results || results->size() != node.outputs().size()) return;
    for (size_t i = 0; i < results->size(); ++i) {
      const sconce::Value& v = (*results)[i];
      const TypePtr type = node.output(i)->type();
      const bool fits = is_subtype(v.type(), type) || (v.is_tensor() && type->is(TypeKind::tensor));
      if (!fits || !can_be_constant(v) || (!from_tensors && is_large(v))) return;
    }
    for (size_t i = 0; i < results->size(); ++i) {
      const sconce::Value& v = (*results)[i];
      ir::Value* out = node.output(i);
      ir::Node* constant = graph_.create_constant(v, v.is_none() || v.is_tensor() ? out->type() : v.type());
      constant->insert_before(&node);
      take_place(out, constant->output());
    }
    node.destroy();
    changed_ = true;
  }

  static void take_place(ir::Value* old, ir::Value* now) {
    old->replace_all_uses_with(now);
    if (!old->has_name() || now->has_name()) return;
    const std::string name = old->name();
    old->set_name("");
    now->set_name(name);
  }

  void visit_if(ir::Node& node) {
    const std::optional<bool> condition = constant_bool(node.input());
    if (!condition) {
      for (const ir::Block* b : node.blocks()) block(*b);
      return merge_outputs(node);
    }
    const ir::Block& taken = *node.block_at(*condition ? 0 : 1);
    block(taken);
    for (ir::Node* inner : taken.nodes()) inner->move_before(&node);
    for (size_t i = 0; i < node.outputs().size(); ++i) node.output(i)->replace_all_uses_with(taken.outputs()[i]);
    node.destroy();
    changed_ = true;
  }

  // Outputs that are the same on both ways.
  void merge_outputs(ir::Node& node) {
    ir::Block &yes = *node.block_at(0), &no = *node.block_at(1);
    for (size_t i = node.outputs().size(); i-- > 0;) {
      ir::Value *a = yes.outputs()[i], *b = no.outputs()[i];
      if (a != b) {
        const ir::Node &x = *a->node(), &y = *b->node();
        if (!x.is(ir::kind::Constant) || !y.is(ir::kind::Constant) || ir::is_mutable(a->type())) continue;
        if (!is_same_constant(x, y)) continue;
        if (x.is_inside(&node)) a->node()->move_before(&node);
      }
      node.output(i)->replace_all_uses_with(a);
      node.remove_output(i);
      yes.remove_output(i);
      no.remove_output(i);
      changed_ = true;
    }
  }

  void visit_loop(ir::Node& node) {
    if (constant_int(node.input(0)).value_or(1) <= 0 || !constant_bool(node.input(1)).value_or(true)) {
      for (size_t i = 0; i < node.outputs().size(); ++i) node.output(i)->replace_all_uses_with(node.input(i + 2));
      node.destroy();
      changed_ = true;
      return;
    }
    ir::Block& body = *node.block_at(0);
    block(body);
    for (size_t i = node.outputs().size(); i-- > 0;) {
      ir::Value *carried = body.inputs()[i + 1], *first = node.input(i + 2);
      if (body.outputs()[i + 1] != carried) continue;
      carried->replace_all_uses_with(first);
      node.output(i)->replace_all_uses_with(first);
      body.remove_output(i + 1);
      body.remove_input(i + 1);
      node.remove_input(i + 2);
      node.remove_output(i);
      changed_ = true;
    }
  }

  ir::Graph& graph_;
  bool only_immutable_;
  std::optional<ir::AliasFacts> facts_;  // of the graph before the first change; made when needed
  bool changed_ = false;
};

bool propagate(ir::Graph& graph, bool only_immutable) {
  // Removed nodes write no more, so the next round may know more.
  bool changed = false;
  for (int round = 0; round < kMaxRounds && Propagation(graph, only_immutable).run(); ++round) {
    changed = true;
    dead_code(graph);
  }
  return changed;
}

}  // namespace

bool constant_propagation(ir::Graph& graph) { return propagate(graph, false); }
bool constant_propagation_immutable(ir::Graph& graph) { return propagate(graph, true); }

}  // namespace sconce::passes
