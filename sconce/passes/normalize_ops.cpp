// Operator normalisation: one operation has one name.
//   aten::absolute(%x)           =>  aten::abs(%x)            other names, column `alias` of the operator table
//   aten::rsub(%x, %y, %a)       =>  aten::sub(%y, %x, %a)    of two tensors
//   aten::__is__(%p, %q)         =>  aten::eq(%p, %q)         of two bools; __isnot__ becomes ne
#include "sconce/dispatch/op_names.h"
#include "sconce/ir/resolve.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// The same node of another kind, when that takes these inputs.
bool replace(ir::Node& node, ir::Symbol kind, ListRef<ir::Value*> inputs) {
  std::vector<TypePtr> types;
  for (const ir::Value* v : inputs) types.push_back(v->type());
  const ir::ResolvedOp resolved = ir::resolve_types(kind, types);
  if (!resolved.op || resolved.returns.size() != node.outputs().size()) return false;
  ir::Node* made = node.graph()->create(kind, inputs);
  made->set_op(resolved.op);
  made->set_range(node.range())->set_inlined(node.inlined());
  made->set_scope(node.scope());
  made->insert_before(&node);
  for (ir::Value* old : node.outputs()) {
    ir::Value* now = made->add_output(old->type());
    old->replace_all_uses_with(now);
    if (!old->has_name()) continue;
    const std::string name = old->name();
    old->set_name("");
    now->set_name(name);
  }
  node.destroy();
  return true;
}

bool all_of_type(const ir::Node& node, size_t count, TypeKind kind) {
  for (size_t i = 0; i < count; ++i) {
    if (!node.input(i)->type()->is(kind)) return false;
  }
  return true;
}

bool normalize(ir::Node& node) {
  if (!node.op()) return false;
  static const ir::Symbol rsub("aten::rsub"), sub("aten::sub"), is("aten::__is__"), isnot("aten::__isnot__"),
      eq("aten::eq"), ne("aten::ne");
  if (node.is(rsub)) {
    return all_of_type(node, 2, TypeKind::tensor) && replace(node, sub, {node.input(1), node.input(0), node.input(2)});
  }
  if (node.is(is) || node.is(isnot)) {
    return all_of_type(node, 2, TypeKind::bool_) && replace(node, node.is(is) ? eq : ne, node.inputs());
  }
  const std::string_view name = canonical_name(node.kind().text());
  return !name.empty() && replace(node, ir::Symbol(name), node.inputs());
}

}  // namespace

bool normalize_ops(ir::Graph& graph) {
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= normalize(node); });
  return changed;
}

}  // namespace sconce::passes
