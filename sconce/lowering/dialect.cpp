#include "sconce/lowering/dialect.h"

#include <algorithm>
#include <map>

#include "sconce/base/error.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/effects/drop_bookkeeping.h"
#include "sconce/lowering/effects/guarded.h"
#include "sconce/lowering/effects/inline_forks.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/lowering/origins.h"
#include "sconce/lowering/quantized/plain_integers.h"
#include "sconce/lowering/to_core.h"
#include "sconce/lowering/to_prims.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

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
    case ir::kind::Enter_id:  // a mode of autograd, which decides no element
    case ir::kind::Exit_id:
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

void make_plain(ir::Graph& graph) {
  passes::inline_calls(graph);  // of which some may fork
  inline_forks(graph);
  passes::run_pipeline(graph);
  drop_self_assignments(graph);
}

void lower_to_functional(ir::Graph& graph, const sconce::Value*) {
  make_plain(graph);
  functionalize(graph);
}

void lower_to_core(ir::Graph& graph, const sconce::Value* self) {
  make_plain(graph);
  drop_detach(graph);
  lower_guarded(graph, [self](ir::Graph& each, bool apart) {
    functionalize(each, {.apart = apart});
    plain_integers(each, self);
    to_core(each, apart);
  });
}

// Where sizes are known: what is computed from other tensors stays Core ATen.
void lower_to_prims(ir::Graph& graph, const sconce::Value* self) {
  lower_to_core(graph, self);
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

namespace {

// An input, an attribute, or an item of one that is a list, a dict or a tuple; also one that was found not to be None.
bool comes_from_outside(const ir::Value& v) {
  static const ir::Symbol item("aten::__getitem__");
  const ir::Node& node = *v.node();
  if (node.is(ir::kind::Param)) return !node.block()->owner();
  if (node.is(ir::kind::GetAttr)) return true;
  const bool takes_out = node.is(item) || node.is(ir::kind::unchecked_cast) || node.is(ir::kind::TupleUnpack) ||
                         node.is(ir::kind::TupleIndex) || node.is(ir::kind::ListUnpack);
  return takes_out && comes_from_outside(*node.input());
}

}  // namespace

bool is_write_back(const ir::Node& node) {
  static const ir::Symbol copy("aten::copy_");
  if (!node.is(copy) || !node.op()) return false;
  if (node.block()->owner() && !node.block()->owner()->is(ir::kind::If)) return false;
  if (!comes_from_outside(*node.input())) return false;
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
