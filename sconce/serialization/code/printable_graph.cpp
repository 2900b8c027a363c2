#include "sconce/serialization/code/printable_graph.h"

#include <algorithm>

#include "sconce/dispatch/op.h"
#include "sconce/frontend/script/ssa/to_ssa.h"
#include "sconce/frontend/script/ssa/to_ssa_steps.h"
#include "sconce/serialization/archive/portable_checks.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce {
namespace {

bool holds_list(const Value& v) {
  if (v.is_list() || v.is_dict()) return true;
  return v.is_tuple() && std::any_of(v.to_tuple().items.begin(), v.to_tuple().items.end(), holds_list);
}

// Nodes that make the value, in front of `before`.
ir::Value* make_value(const Value& v, TypePtr type, ir::Node* before, const Range& range) {
  ir::Graph& graph = *before->graph();
  const auto place = [&](ir::Node* n) { return n->insert_before(before)->set_range(range)->output(); };
  if (!holds_list(v)) return place(graph.create_constant(v, type));
  std::vector<ir::Value*> items;
  ir::Symbol kind = ir::kind::ListConstruct;
  if (v.is_list()) {
    const TypePtr element = v.to_list().element_type();
    for (const Value& item : v.to_list().values()) items.push_back(make_value(item, nullptr, before, range));
    type = list_type(element);
  } else if (v.is_dict()) {
    kind = ir::kind::DictConstruct;
    for (const auto& [key, item] : v.to_dict().items()) {
      items.push_back(make_value(key, nullptr, before, range));
      items.push_back(make_value(item, nullptr, before, range));
    }
    type = v.type();
  } else {
    kind = ir::kind::TupleConstruct;
    for (const Value& item : v.to_tuple().items) items.push_back(make_value(item, nullptr, before, range));
    type = v.type();
  }
  ir::Node* made = graph.create(kind, items, 1);
  made->output()->set_type(type);
  return place(made);
}

// A list is written as what makes it: each use has one of its own, as it would have when the text is read.
void make_constant_lists(ir::Block& block) {
  for (ir::Node* n : block.nodes()) {
    for (ir::Block* b : n->blocks()) make_constant_lists(*b);
    if (!n->is(ir::kind::Constant) || n->callee()) continue;
    const std::optional<Value> value = ir::constant_value(n->output());
    if (!value || !holds_list(*value)) continue;
    const std::vector<ir::Use> uses = n->output()->uses();
    for (const ir::Use& use : uses) {
      use.user->set_input(use.offset, make_value(*value, n->output()->type(), use.user, n->range()));
    }
    n->destroy();
  }
}

// A bool for a Scalar is read as an int, whatever was written: so it is written as one.
void make_bools_numbers(ir::Block& block) {
  for (ir::Node* n : block.nodes()) {
    for (ir::Block* b : n->blocks()) make_bools_numbers(*b);
    const Op* op = n->op();
    if (!op || op->schema().arguments.size() != n->inputs().size()) continue;
    for (size_t i = 0; i < n->inputs().size(); ++i) {
      ir::Value* v = n->input(i);
      if (!v->type()->is(TypeKind::bool_) || !plain_type(op->schema().arguments[i].type)->is(TypeKind::number))
        continue;
      const ir::InsertPoint before(*n->graph(), n);
      const std::optional<Value> constant = ir::constant_value(v);
      ir::Value* number = constant ? n->graph()->insert_constant(Value(int64_t{constant->to_bool()}), n->range())
                                   : exported::insert_call(*n->graph(), "aten::Int", {v}, n->range());
      n->set_input(i, number);
    }
  }
}

}  // namespace

std::shared_ptr<ir::Graph> printable_graph(const ir::Graph& graph) {
  for (const ir::Node* n : graph.nodes())
    SCONCE_CHECK_AS(not_implemented, !n->op() || std::string_view(n->op()->info.name) != "sconce::compiled_for",
                    "the module was loaded from a compiled file, which has calls for arguments of known sizes and no "
                    "code; the program that it was made from can be saved");
  std::shared_ptr<ir::Graph> copy = graph.copy();
  make_checks_portable(*copy);
  make_bools_numbers(*copy->block());
  make_constant_lists(*copy->block());
  script::canonicalize_loops(*copy);
  script::clean_up(*copy);
  return copy;
}

}  // namespace sconce
