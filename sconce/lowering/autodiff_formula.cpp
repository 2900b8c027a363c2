// Going back through operators: their formulas become part of df.
#include <algorithm>

#include "sconce/dispatch/formula.h"
#include "sconce/lowering/autodiff_backward.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::passes {
namespace {

using Kind = FormulaGraph::Input::Kind;

// The gradient of an operator over elements of one tensor has the shape and dtype of that tensor by itself.
bool fits_by_itself(const Op& op) {
  if (!op.has(Trait::pointwise)) return false;
  const auto& arguments = op.schema().arguments;
  return std::count_if(arguments.begin(), arguments.end(), [](const Argument& a) { return may_hold_tensor(a.type); }) ==
         1;
}

}  // namespace

// The value of an argument of the forward node; a new constant of the forward graph where it is left out.
const ir::Value* Backward::argument(const ir::Node& node, size_t index) {
  if (index < node.inputs().size()) return node.input(index);
  ir::Graph& graph = *of_.graph_;
  ir::Node* constant = graph.create_constant(node.op()->schema().arguments[index].default_value.value());
  graph.block()->prepend(constant);
  return constant->output();
}

void Backward::visit_op(Level& level, const ir::Node& node) {
  const Schema& schema = node.op()->schema();
  std::vector<Grad> grads;
  for (const ir::Value* v : node.outputs()) grads.push_back(active_(v) ? take_grad(level, v) : Grad());
  const auto count = [&](auto&& f) { return std::count_if(grads.begin(), grads.end(), f); };
  const auto there = count([](const Grad& g) { return static_cast<bool>(g); });
  if (there == 0) return;
  const bool guarded = there == count([](const Grad& g) { return g && g.maybe; });

  // Gradients of all results, zeros where there are none and the result counts.
  const auto complete = [&](bool known) {
    std::vector<ir::Value*> all;
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      const ir::Value* result = i < node.outputs().size() ? node.output(i) : nullptr;
      if (!result || !active_(result)) {
        all.push_back(none());
      } else if (!grads[i]) {
        all.push_back(zeros(level, result).value);
      } else if (!grads[i].maybe) {
        all.push_back(grads[i].value);
      } else if (known && there == 1) {
        all.push_back(cast(grads[i].value, result->type()));
      } else {
        ir::Node* choice = df_->insert(df_->create(ir::kind::If, {is_there(grads[i].value)}));
        ir::Block *yes = choice->add_block(), *no = choice->add_block();
        {
          const ir::InsertPoint at(*df_, yes);
          yes->add_output(cast(grads[i].value, result->type()));
        }
        {
          const ir::InsertPoint at(*df_, no);
          no->add_output(zeros(level, result).value);
        }
        all.push_back(choice->add_output(tensor_type()));
      }
    }
    return all;
  };

  if (!guarded) {
    for (auto& [v, grad] : apply_formulas(level, node, complete(false))) add_grad(level, v, grad);
    return;
  }
  ir::Value* condition = nullptr;
  for (const Grad& g : grads) {
    if (!g) continue;
    ir::Value* one = is_there(g.value);
    condition = condition ? emit("aten::__or__.bool", {condition, one}) : one;
  }
  ir::Node* guard = df_->insert(df_->create(ir::kind::If, {condition}));
  guard->set_range(range_)->set_inlined(inlined_);
  ir::Block *yes = guard->add_block(), *no = guard->add_block();
  ValueGrads made;
  {
    const ir::InsertPoint at(*df_, yes);
    made = apply_formulas(level, node, complete(true));
    for (auto& [v, grad] : made) {
      grad = fitted(level, v, grad);
      yes->add_output(grad.value);
    }
  }
  for (auto& [v, grad] : made) {
    no->add_output(none());
    add_grad(level, v, {guard->add_output(optional_type(tensor_type())), true});
  }
}

Backward::ValueGrads Backward::apply_formulas(Level& level, const ir::Node& node,
                                              const std::vector<ir::Value*>& grads) {
  ValueGrads out;
  for (const FormulaGraph& formula : *op_graphs()->formulas(*node.op())) {
    const auto wants = [&](size_t i) { return i < node.inputs().size() && active_(node.input(i)); };
    if (std::none_of(formula.targets.begin(), formula.targets.end(), wants)) continue;
    const std::vector<ir::Value*> results = inline_formula(level, node, formula, grads);
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t target = formula.targets[i];
      if (!wants(target) || ir::is_none(results[i])) continue;
      const ir::Value* to = node.input(target);
      if (is_tensor_list(to->type())) {
        // To the elements of the list.
        const std::vector<ir::Value*>& items = to->node()->inputs();
        ir::Node* unpack = df_->insert(df_->create(ir::kind::ListUnpack, {results[i]}, items.size()));
        unpack->set_range(range_)->set_inlined(inlined_);
        for (size_t k = 0; k < items.size(); ++k) {
          unpack->output(k)->set_type(tensor_type());
          if (active_(items[k])) out.push_back({items[k], {unpack->output(k), false, true}});
        }
        continue;
      }
      if (!results[i]->type()->is(TypeKind::optional)) {
        out.push_back({to, {results[i], false, !fits_by_itself(*node.op())}});
        continue;
      }
      // Fits when it is there.
      ir::Node* choice = df_->insert(df_->create(ir::kind::If, {is_there(results[i])}));
      ir::Block *yes = choice->add_block(), *no = choice->add_block();
      {
        const ir::InsertPoint at(*df_, yes);
        yes->add_output(fitted(level, to, {cast(results[i], tensor_type()), false, true}).value);
      }
      no->add_output(none());
      out.push_back({to, {choice->add_output(optional_type(tensor_type())), true}});
    }
  }
  return out;
}

std::vector<ir::Value*> Backward::inline_formula(Level& level, const ir::Node& node, const FormulaGraph& formula,
                                                 const std::vector<ir::Value*>& grads) {
  const std::shared_ptr<ir::Graph> graph = formula.graph->copy();
  // Which inputs are forward values.
  std::map<const ir::Value*, const ir::Value*> forward;
  for (size_t i = 0; i < formula.inputs.size(); ++i) {
    const FormulaGraph::Input& in = formula.inputs[i];
    const ir::Value* v = graph->inputs()[i];
    if (in.kind == Kind::argument) forward[v] = argument(node, in.index);
    if (in.kind == Kind::result) forward[v] = node.output(in.index);
  }
  // Queries of them go to the forward graph.
  each_node(*graph->block(), [&](ir::Node& n) {
    if (!is_geometry_query(n)) return;
    std::vector<ir::Value*> inputs;
    for (ir::Value* v : n.inputs()) {
      const auto known = forward.find(v);
      if (known != forward.end()) {
        inputs.push_back(const_cast<ir::Value*>(known->second));
      } else if (constant_int(v)) {
        inputs.push_back(of_.graph_->create_constant(*constant_int(v))->output());
      } else {
        return;
      }
    }
    for (ir::Value* v : inputs) {
      if (!v->node()->block()) of_.graph_->block()->prepend(v->node());
    }
    const ir::Value* answer = ask(n, inputs);
    ir::Value* in = graph->add_input(n.output()->type());
    forward[in] = answer;
    n.output()->replace_all_uses_with(in);
    n.destroy();
  });
  ir::Block::ValueMap map;
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    const ir::Value* v = graph->inputs()[i];
    if (!v->has_uses()) continue;
    if (const auto known = forward.find(v); known != forward.end()) {
      map[v] = need(level, known->second);
      continue;
    }
    const FormulaGraph::Input& in = formula.inputs[i];
    if (in.kind == Kind::grad) {
      map[v] = grads[in.index];
    } else if (in.kind == Kind::grads) {
      // Of a result that is a list, its gradient is one already.
      if (is_tensor_list(node.op()->schema().returns[0].type)) {
        map[v] = grads[0];
        continue;
      }
      ir::Node* list = df_->insert(df_->create(ir::kind::ListConstruct));
      for (ir::Value* g : grads)
        list->add_input(ir::is_none(g)
                            ? *std::find_if(grads.begin(), grads.end(), [](ir::Value* o) { return !ir::is_none(o); })
                            : g);
      map[v] = list->add_output(list_type(tensor_type()));
    } else {
      std::vector<ir::Value*> flags;
      for (const size_t target : formula.targets) {
        flags.push_back(df_->insert_constant(target < node.inputs().size() && active_(node.input(target))));
      }
      ir::Node* list = df_->insert(df_->create(ir::kind::ListConstruct, flags));
      map[v] = list->add_output(list_type(bool_type()));
    }
  }
  for (const ir::Node* n : graph->nodes()) {
    ir::Node* copy = df_->insert(df_->create_copy(*n, map));
    const auto mark = [&](ir::Node& at) {
      at.set_range(range_);
      at.set_inlined(inlined_);
    };
    mark(*copy);
    for (const ir::Block* b : copy->blocks()) each_node(*b, mark);
  }
  std::vector<ir::Value*> out;
  for (const ir::Value* v : graph->outputs()) {
    const auto mapped = map.find(v);
    out.push_back(mapped == map.end() ? need(level, forward.at(v)) : mapped->second);
  }
  return out;
}

}  // namespace sconce::passes
