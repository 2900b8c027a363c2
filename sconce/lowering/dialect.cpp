#include "sconce/lowering/dialect.h"

#include <algorithm>
#include <map>

#include "sconce/base/error.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/lowering/origins.h"
#include "sconce/lowering/to_core.h"
#include "sconce/lowering/to_prims.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

bool names_tensors(TypePtr type) {
  return type->is(TypeKind::tensor) || std::ranges::any_of(type->contained(), names_tensors);
}

// Kinds without an operator.
bool is_structure(const ir::Node& node) {
  switch (node.kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::If_id:
    case ir::kind::Loop_id:
    case ir::kind::ListConstruct_id:
    case ir::kind::DictConstruct_id:
    case ir::kind::TupleConstruct_id:
    case ir::kind::ListUnpack_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::TupleIndex_id:
    case ir::kind::TupleSlice_id:
    case ir::kind::GetAttr_id:
    case ir::kind::SetAttr_id:
    case ir::kind::CreateObject_id:
    case ir::kind::RaiseException_id:
    case ir::kind::Uninitialized_id:
    case ir::kind::unchecked_cast_id:
    case ir::kind::isinstance_id:
    case ir::kind::Print_id:
    case ir::kind::tolist_id:
      return true;
    default:
      return false;
  }
}

bool writes_tensors(const ir::Node& node) {
  const Schema& schema = node.op()->schema();
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (schema.arguments[i].is_written() && names_tensors(schema.arguments[i].type)) return true;
  }
  return false;
}

bool is_functional(const ir::Node& node) {
  if (!node.op() || ir::is_call(node)) return is_structure(node);
  return !writes_tensors(node) || is_write_back(node);
}

bool is_core(const ir::Node& node) {
  if (!is_functional(node)) return false;
  return !node.op() || makes_no_tensor(*node.op()) || node.op()->has(Trait::core) || is_write_back(node);
}

void lower_to_functional(ir::Graph& graph) {
  passes::run_pipeline(graph);
  functionalize(graph);
}

void lower_to_core(ir::Graph& graph) {
  lower_to_functional(graph);
  to_core(graph);
}

// Where sizes are known: what is computed from other tensors stays Core ATen.
void lower_to_prims(ir::Graph& graph) {
  lower_to_core(graph);
  to_prims(graph);
}

}  // namespace

const std::vector<Dialect>& all_dialects() {
  static const std::vector<Dialect> dialects{
      {"functional", "no operator writes to a tensor", lower_to_functional, is_functional},
      {"core", "Core ATen: functional, in the operators that compilers know", lower_to_core, is_core},
      {"prims", "Prims: promotion and broadcasting are nodes of their own, where sizes are known", lower_to_prims,
       in_prims},
  };
  return dialects;
}

const Dialect* find_dialect(std::string_view name) {
  const auto found = std::ranges::find(all_dialects(), name, [](const Dialect& d) { return std::string_view(d.name); });
  return found == all_dialects().end() ? nullptr : &*found;
}

std::string dialect_names() {
  std::string names;
  for (const Dialect& d : all_dialects()) names += (names.empty() ? "" : ", ") + std::string(d.name);
  return names;
}

bool is_write_back(const ir::Node& node) {
  static const ir::Symbol copy("aten::copy_");
  if (!node.is(copy) || !node.op()) return false;
  if (node.block()->owner() && !node.block()->owner()->is(ir::kind::If)) return false;
  const ir::Node& target = *node.input()->node();
  if (!target.is(ir::kind::Param) && !target.is(ir::kind::GetAttr)) return false;
  if (node.output()->has_uses()) return false;
  for (const ir::Node* n = node.next(); n != node.block()->return_node(); n = n->next()) {
    const bool harmless = n->is(copy) || n->is(ir::kind::Constant) || n->is(ir::kind::TupleConstruct) ||
                          n->is(ir::kind::ListConstruct) || (n->op() && n->op()->has(Trait::view));
    if (!harmless) return false;
  }
  return true;
}

std::vector<Outside> find_outside(const ir::Graph& graph, const Dialect& dialect) {
  std::map<std::string, Outside> found;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (dialect.has(node)) return;
    const std::string name = node.op() ? node.op()->qualified_name() : node.kind().text();
    Outside& outside = found[name];
    outside.name = name;
    ++outside.count;
    const Range& at = node.range();
    const auto same_line = [&](const Range& other) { return other.source == at.source && other.line() == at.line(); };
    if (at && std::ranges::none_of(outside.places, same_line)) outside.places.push_back(at);
  });
  std::vector<Outside> all;
  for (auto& [name, outside] : found) all.push_back(std::move(outside));
  return all;
}

std::string to_string(const Outside& outside) {
  std::string places;
  for (const Range& at : outside.places) {
    places += (places.empty() ? ": " : ", ") + format_message("{}:{}", {at.source->name(), at.line()});
  }
  return format_message("{} ({}{})", {outside.name, outside.count, places});
}

}  // namespace sconce::lowering
