// Step 1 of SSA construction: variables that a branch or a loop body sets become outputs of the If or Loop, that is
// what phi nodes are elsewhere.
#include <map>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

struct Variable {
  TypePtr type;      // of the value
  TypePtr declared;  // of the variable: the same, or wider
};

// The variables that a block sets.
struct Frame {
  const Frame* parent;
  std::map<std::string, Variable> variables;
  const Variable* find(const std::string& name) const {
    for (const Frame* f = this; f; f = f->parent) {
      if (const auto it = f->variables.find(name); it != f->variables.end()) return &it->second;
    }
    return nullptr;
  }
};

TypePtr declared_type(const ir::Node* store) {
  const auto* type = store->attribute("type");
  return type ? std::get<TypePtr>(*type) : store->input()->type();
}

class Carrier {
 public:
  explicit Carrier(ir::Graph& graph) : graph_(graph) {}
  Carried carried;

  Frame block(ir::Block* b, const Frame* parent) {
    Frame frame{parent, {}};
    for (ir::Node* n : b->nodes()) {
      if (n->is(ir::kind::Store)) {
        frame.variables[n->string_attribute("name")] = {n->input()->type(), declared_type(n)};
      } else if (n->is(ir::kind::If)) {
        if_node(n, frame);
      } else if (n->is(ir::kind::Loop)) {
        loop(n, frame);
      } else {
        for (ir::Block* inner : n->blocks()) block(inner, &frame);  // closures keep their variables to themselves
      }
    }
    return frame;
  }

 private:
  ir::Value* load(ir::Node* before, const std::string& name, TypePtr type) {
    ir::Node* n = graph_.create(ir::kind::Load, {}, 1)->insert_before(before);
    n->set_attribute("name", sconce::Value(name));
    return n->output()->set_type(type);
  }
  ir::Node* store(const std::string& name, ir::Value* v) {
    ir::Node* n = graph_.create(ir::kind::Store, {v});
    n->set_attribute("name", sconce::Value(name));
    return n;
  }
  // One more output, stored behind the node.
  ir::Node* add_output(ir::Node* n, ir::Node* after, const std::string& name, TypePtr type) {
    ir::Value* out = n->add_output(type);
    out->set_name(variable_name(name));
    return store(name, out)->insert_after(after);
  }

  //   if c: x = a  else: x = b    =>    x = If(c) { -> a } { -> b }
  void if_node(ir::Node* n, Frame& frame) {
    ir::Block* t = n->block_at(0);
    ir::Block* f = n->block_at(1);
    const Frame true_frame = block(t, &frame), false_frame = block(f, &frame);
    std::map<std::string, TypePtr> merged;
    const auto collect = [&](const Frame& set) {
      for (const auto& [name, variable] : set.variables) {
        const Variable* a = true_frame.find(name);
        const Variable* b = false_frame.find(name);
        if (!a || !b) continue;  // not defined on the other side: it is unused
        TypePtr both = unify(a->type, b->type);
        if (!both) both = unify(a->declared, b->declared);
        if (!both && frame.find(name)) both = merged_type(a->type, b->type);
        if (both) merged[name] = both;
      }
    };
    collect(true_frame);
    collect(false_frame);
    ir::Node* after = n;
    for (const auto& [name, type] : merged) {
      t->add_output(load(t->return_node(), name, true_frame.find(name)->type));
      f->add_output(load(f->return_node(), name, false_frame.find(name)->type));
      after = add_output(n, after, name, type);
      frame.variables[name] = {type, type};
    }
  }

  //   while c: x = f(x)    =>    x = Loop(..., x) { (i, x0): -> f(x0) }
  void loop(ir::Node* n, Frame& frame) {
    ir::Block* body = n->block_at(0);
    const Frame set = block(body, &frame);
    if (n->blocks().size() > 1) block(n->block_at(1), &frame);
    ir::Node* after = n;
    ir::Node* first = body->param_node();
    std::vector<std::string>& names = carried[n];
    for (const auto& [name, variable] : set.variables) {
      const Variable* before = frame.find(name);
      if (!before) continue;
      const TypePtr both = merged_type(before->type, variable.type);
      n->add_input(load(n, name, before->type));
      ir::Value* input = body->add_input(both, variable_name(name));
      first = store(name, input)->insert_after(first);
      body->add_output(load(body->return_node(), name, variable.type));
      after = add_output(n, after, name, both);
      frame.variables[name] = {both, both};
      names.push_back(name);
    }
  }

  ir::Graph& graph_;
};

}  // namespace

Carried carry_variables(ir::Graph& graph) {
  Carrier carrier(graph);
  carrier.block(graph.block(), nullptr);
  return std::move(carrier.carried);
}

}  // namespace sconce::script
