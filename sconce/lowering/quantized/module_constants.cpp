#include "sconce/lowering/quantized/module_constants.h"

#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/types/class_info.h"

namespace sconce::lowering {
namespace {

bool is_set(const ir::Graph& graph, const std::string& name) {
  bool found = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    found = found || (node.is(ir::kind::SetAttr) && node.string_attribute("name") == name);
  });
  return found;
}

bool makes_calls(const ir::Graph& graph) {
  bool found = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) { found = found || ir::is_call(node); });
  return found;
}

}  // namespace

bool names_packed(TypePtr type) {
  if (type->is(TypeKind::list)) return names_packed(type->element());
  return type->is(TypeKind::class_) && (type->name().starts_with("__torch__.torch.classes.quantized.") ||
                                        type->name().starts_with("__torch__.torch.classes.rnn."));
}

// Code that is called could set any attribute.
ModuleConstants::ModuleConstants(const ir::Graph& graph, const sconce::Value* self)
    : graph_(graph), self_(makes_calls(graph) ? nullptr : self) {}

std::optional<sconce::Value> ModuleConstants::find(const ir::Value* v, const ir::Node& at) const {
  static const ir::Symbol append("aten::append");
  if (!self_ || graph_.inputs().empty()) return std::nullopt;
  if (v == graph_.inputs()[0]) return *self_;
  const ir::Node& node = *v->node();
  if (node.is(ir::kind::GetAttr)) {
    const std::string& name = node.string_attribute("name");
    const std::optional<sconce::Value> owner = find(node.input(), at);
    if (!owner || !owner->is_object() || is_set(graph_, name)) return std::nullopt;
    const int slot = owner->to_object().type()->class_info()->find(name);
    return slot < 0 ? std::nullopt : std::optional(owner->to_object().slot(static_cast<size_t>(slot)));
  }
  if (!node.is(ir::kind::ListConstruct) || !names_packed(v->type())) return std::nullopt;
  std::vector<const ir::Value*> items(node.inputs().begin(), node.inputs().end());
  std::vector<const ir::Node*> appends;
  for (const ir::Use& use : v->uses()) {
    if (!use.user->op() || !use.user->op()->schema().is_mutable()) continue;
    if (!use.user->is(append) || use.user->block() != node.block() || !use.user->is_before(&at)) return std::nullopt;
    appends.push_back(use.user);
  }
  std::ranges::sort(appends, [](const ir::Node* a, const ir::Node* b) { return a != b && a->is_before(b); });
  for (const ir::Node* each : appends) items.push_back(each->input(1));
  auto list = make_ref<List>(v->type()->element());
  for (const ir::Value* item : items) {
    const std::optional<sconce::Value> one = find(item, at);
    if (!one) return std::nullopt;
    list->append(*one);
  }
  return sconce::Value(std::move(list));
}

bool fold_numbers(ir::Graph& graph, const sconce::Value& self) {
  const ModuleConstants held(graph, &self);
  bool changed = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (!node.is(ir::kind::GetAttr)) return;
    const std::optional<sconce::Value> v = held.find(node.output(), node);
    if (!v || !(v->is_bool() || v->is_int() || v->is_double() || v->is_string())) return;
    if (node.output()->type()->is(TypeKind::optional)) node.output()->set_type(node.output()->type()->element());
    passes::replace_with_constant(node, *v);
    changed = true;
  });
  return changed;
}

}  // namespace sconce::lowering
