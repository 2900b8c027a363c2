// Peephole rules for queries that the type of a tensor answers: rank, sizes, dtype, device.
//   %n : int = aten::size(%x, %one)      # %x : Float(2, 3, device=cpu)    =>  3
// The facts of a type hold whenever the graph runs; makers of graphs from examples erase them before.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/peephole/peephole.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {
namespace {

struct Kinds {
  ir::Symbol dim{"aten::dim"}, size{"aten::size"}, len{"aten::len"}, numel{"aten::numel"}, dtype{"prim::dtype"},
      device{"prim::device"}, is_cuda{"prim::is_cuda"}, is_cpu{"prim::is_cpu"}, is_meta{"prim::is_meta"},
      is_floating_point{"aten::is_floating_point"}, is_complex{"aten::is_complex"};
};

std::optional<int64_t> size_at(const TensorFacts& facts, int64_t at) {
  const auto rank = static_cast<int64_t>(facts.sizes->size());
  if (at < -rank || at >= rank) return std::nullopt;  // the operator refuses it
  const int64_t n = (*facts.sizes)[static_cast<size_t>(at < 0 ? at + rank : at)];
  return n >= 0 ? std::optional(n) : std::nullopt;
}

// One answer that is a number.
std::optional<sconce::Value> answer(const ir::Node& node, const TensorFacts& facts, const Kinds& kinds) {
  const ir::Symbol kind = node.kind();
  if (facts.sizes) {
    if (kind == kinds.dim) return static_cast<int64_t>(facts.sizes->size());
    std::optional<int64_t> n;
    if (kind == kinds.size && node.inputs().size() == 2) {
      if (const std::optional<int64_t> at = constant_int(node.input(1))) n = size_at(facts, *at);
    }
    if (kind == kinds.len) n = size_at(facts, 0);
    if (n) return *n;
    const bool all = std::all_of(facts.sizes->begin(), facts.sizes->end(), [](int64_t size) { return size >= 0; });
    if (kind == kinds.numel && all) {
      int64_t product = 1;
      for (int64_t size : *facts.sizes) product *= size;
      return product;
    }
  }
  if (facts.dtype) {
    if (kind == kinds.dtype) return static_cast<int64_t>(*facts.dtype);
    if (kind == kinds.is_floating_point) return is_floating(*facts.dtype);
    if (kind == kinds.is_complex) return is_complex(*facts.dtype);
  }
  if (facts.device) {
    if (kind == kinds.device) return *facts.device;
    if (kind == kinds.is_cuda) return facts.device->type == DeviceType::cuda;
    if (kind == kinds.is_cpu) return facts.device->type == DeviceType::cpu;
    if (kind == kinds.is_meta) return facts.device->type == DeviceType::meta;
  }
  return std::nullopt;
}

}  // namespace

bool simplify_query(ir::Node& node) {
  static const Kinds kinds;
  if (!node.op() || node.inputs().empty() || node.outputs().size() != 1) return false;
  const TypePtr type = node.input()->type();
  if (!type->is(TypeKind::tensor) || !type->tensor_facts() || type->tensor_facts()->undefined) return false;
  const TensorFacts& facts = *type->tensor_facts();
  if (std::optional<sconce::Value> known = answer(node, facts, kinds)) {
    replace_with_constant(node, std::move(*known));
    return true;
  }
  // All sizes: a new list each time, as the operator makes it.
  if (node.is(kinds.size) && node.inputs().size() == 1 && facts.sizes &&
      std::all_of(facts.sizes->begin(), facts.sizes->end(), [](int64_t n) { return n >= 0; })) {
    std::vector<ir::Value*> sizes;
    for (int64_t n : *facts.sizes) {
      ir::Node* size = node.graph()->create_constant(n)->set_range(node.range());
      sizes.push_back(size->insert_before(&node)->output());
    }
    ir::Node* list = create_like(node, ir::kind::ListConstruct, sizes, node.output()->type());
    replace_node(node, list->insert_before(&node)->output());
    return true;
  }
  return false;
}

}  // namespace sconce::passes
