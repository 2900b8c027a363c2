#include "sconce/lowering/effects/drop_bookkeeping.h"

#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

// The tensor itself, of which in-place operators give another name.
const ir::Value* behind_writes(const ir::Value* v) {
  while (v->node()->op() && !ir::is_call(*v->node()) && v->node()->outputs().size() == 1) {
    const Schema& schema = v->node()->op()->schema();
    if (schema.is_vararg || schema.arguments.empty() || schema.returns.size() != 1) return v;
    const bool same = schema.arguments[0].is_written() && schema.returns[0].alias &&
                      schema.arguments[0].type->is(TypeKind::tensor) && !schema.arguments[0].keyword_only;
    if (!same) return v;
    v = v->node()->input();
  }
  return v;
}

bool is_self_assignment(const ir::Node& set) {
  const ir::Value* v = behind_writes(set.input(1));
  const ir::Node& get = *v->node();
  return get.is(ir::kind::GetAttr) && get.input() == set.input() &&
         get.string_attribute("name") == set.string_attribute("name");
}

}  // namespace

bool drop_self_assignments(ir::Graph& graph) {
  std::vector<ir::Node*> sets;
  bool calls = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(ir::kind::SetAttr)) sets.push_back(&node);
    calls |= ir::is_call(node);  // which may assign, too
  });
  if (calls) return false;
  const auto name = [](const ir::Node* set) { return set->string_attribute("name"); };
  std::vector<ir::Node*> gone;
  for (ir::Node* set : sets) {
    // No other assignment of that name, to this object or one that may be the same.
    const bool alone = std::ranges::all_of(
        sets, [&](const ir::Node* other) { return name(other) != name(set) || is_self_assignment(*other); });
    if (alone && is_self_assignment(*set)) gone.push_back(set);
  }
  for (ir::Node* set : gone) set->destroy();
  return !gone.empty();
}

bool drop_detach(ir::Graph& graph) {
  static const ir::Symbol detach("aten::detach_");
  std::vector<ir::Node*> found;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(detach)) found.push_back(&node);
  });
  for (ir::Node* node : found) {
    node->output()->replace_all_uses_with(node->input());
    node->destroy();
  }
  return !found.empty();
}

}  // namespace sconce::lowering
