#include "sconce/lowering/origins.h"

#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

// A loop inside a loop inside ... is gone through again for each value that turns out not to stay the same.
constexpr int kRounds = 8;

bool is_in_scope(const ir::Value* v, const ir::Node& user) {
  for (const ir::Node* n = &user; n; n = n->block()->owner()) {
    if (v->node() == n->block()->param_node()) return true;
    if (v->node()->block() == n->block()) return v->node()->is_before(n);
  }
  return false;
}

// The argument that a result is, of in-place operators.
std::optional<size_t> written_argument(const Schema& schema, size_t result) {
  if (result >= schema.returns.size()) return std::nullopt;
  const std::optional<AliasInfo>& alias = schema.returns[result].alias;
  if (!alias || !alias->write || alias->before.size() != 1) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const std::optional<AliasInfo>& given = schema.arguments[i].alias;
    if (!given || given->before != alias->before) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

bool is_tensor(TypePtr type) {
  return type->is(TypeKind::tensor) || (type->is(TypeKind::optional) && type->element()->is(TypeKind::tensor));
}

Origins::Origins(const ir::Graph& graph, const ir::AliasFacts& facts) : facts_(facts) {
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(ir::kind::SetAttr) || ir::is_call(node)) attributes_stay_ = false;
  });
  visit(*graph.block());
}

const Origin& Origins::of(const ir::Value* v) const {
  Origin& origin = origins_[v];
  if (!origin.root) origin.root = const_cast<ir::Value*>(v);
  return origin;
}

void Origins::visit(const ir::Block& block) {
  for (ir::Node* node : block.nodes()) visit(*node);
}

void Origins::visit(ir::Node& node) {
  if (node.is(ir::kind::If)) return visit_if(node);
  if (node.is(ir::kind::Loop)) return visit_loop(node);
  if (node.is(ir::kind::ListUnpack)) return visit_unpack(node);
  if (node.is(ir::kind::GetAttr) && attributes_stay_ && is_tensor(node.output()->type())) {
    // The same attribute of the same object, read again.
    std::vector<ir::Value*>& known =
        attributes_[std::to_string(node.input()->id()) + "." + node.string_attribute("name")];
    const auto first = std::ranges::find_if(known, [&](const ir::Value* v) { return is_in_scope(v, node); });
    first == known.end() ? known.push_back(node.output()) : set(node.output(), of(*first));
    return;
  }
  if (!node.op() || ir::is_call(node)) return;
  if (is_view(node)) return set(node.output(), viewed(node, node.output(), nullptr));
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const std::optional<size_t> same = written_argument(node.op()->schema(), i);
    if (!same || *same >= node.inputs().size() || !is_tensor(node.output(i)->type())) continue;
    if (node.input(*same)->type()->is(TypeKind::tensor)) set(node.output(i), of(node.input(*same)));
  }
}

// A view for certain, which the same operator makes of any other tensor with these sizes. reshape may copy, and what
// as_strided shows depends on the strides of what it is given.
bool Origins::is_view(const ir::Node& node) const {
  static const ir::Symbol reshape("aten::reshape"), as_strided("aten::as_strided");
  const Op& op = *node.op();
  if (!op.has(Trait::view) || node.is(reshape) || node.is(as_strided)) return false;
  const Schema& schema = op.schema();
  if (schema.returns.size() != 1 || !schema.returns[0].alias || schema.is_mutable()) return false;
  if (node.inputs().size() != schema.arguments.size() || !node.input()->type()->is(TypeKind::tensor)) return false;
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    const ir::Value* v = node.input(i);
    if (!ir::is_mutable(v->type())) continue;
    if (is_tensor(v->type()) || facts_.has_writers(v)) return false;  // a list of numbers is the same later
  }
  return true;
}

Origin Origins::viewed(ir::Node& node, ir::Value* value, ir::Node* unpack) const {
  static const ir::Symbol detach("aten::detach");
  Origin origin = of(node.input());
  // A write to what detach gives does not change what autograd recorded of the tensor; a new tensor would.
  const ir::Graph* scatter = node.is(detach) ? nullptr : passes::op_graphs()->scatter(*node.op());
  origin.steps.push_back({value, &node, unpack, scatter});
  return origin;
}

void Origins::visit_unpack(ir::Node& node) {
  ir::Node& list = *node.input()->node();
  if (!list.op() || ir::is_call(list) || !node.input()->type()->is(TypeKind::list) || !is_view(list)) return;
  // Nobody puts other tensors into the list.
  const auto takes_apart = [](const ir::Use& use) { return use.user->is(ir::kind::ListUnpack); };
  if (!std::ranges::all_of(node.input()->uses(), takes_apart)) return;
  for (ir::Value* v : node.outputs()) set(v, viewed(list, v, &node));
}

// `to` is what both are, if the node's blocks did not make it.
bool Origins::join(const ir::Node& node, const ir::Value* to, const Origin& a, const Origin& b) {
  set(to, {});  // what an earlier round said
  if (!is_tensor(to->type()) || !a.is_same(b) || !is_in_scope(a.real(), node)) return false;
  if (!is_in_scope(a.root, node) || !a.real()->type()->is(TypeKind::tensor)) return false;
  set(to, a);
  return true;
}

void Origins::visit_if(ir::Node& node) {
  for (const ir::Block* block : node.blocks()) visit(*block);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Origin a = of(node.block_at(0)->outputs()[i]), b = of(node.block_at(1)->outputs()[i]);
    join(node, node.output(i), a, b);
  }
}

// Induction: a carried value stays what it was before the loop if an iteration that begins so ends so.
void Origins::visit_loop(ir::Node& node) {
  const ir::Block& body = *node.block_at(0);
  std::vector<bool> stays(node.outputs().size(), true);
  for (int round = 0;; ++round) {
    if (round == kRounds) std::fill(stays.begin(), stays.end(), false);
    for (size_t i = 0; i < stays.size(); ++i) {
      const ir::Value* inside = body.inputs()[i + 1];
      const Origin before = of(node.input(i + 2));
      if (stays[i]) stays[i] = join(node, inside, before, before);
      if (!stays[i]) set(inside, {});
    }
    visit(body);
    bool changed = false;
    for (size_t i = 0; i < stays.size(); ++i) {
      if (!stays[i] || of(body.outputs()[i + 1]).is_same(of(node.input(i + 2)))) continue;
      stays[i] = false;
      changed = true;
    }
    if (!changed) break;
  }
  for (size_t i = 0; i < stays.size(); ++i) {
    const Origin before = of(node.input(i + 2));
    stays[i] ? static_cast<void>(join(node, node.output(i), before, before)) : set(node.output(i), {});
  }
}

}  // namespace sconce::lowering
