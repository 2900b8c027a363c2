#include "sconce/passes/containers/tuple_parts.h"

#include <algorithm>

#include "sconce/passes/analysis/rewrite.h"

namespace sconce::passes {

const ir::Node* construct_of(const ir::Value* v) {
  return v->node()->is(ir::kind::TupleConstruct) ? v->node() : nullptr;
}

bool takes_apart(const ir::Node& node) {
  return node.is(ir::kind::TupleUnpack) || node.is(ir::kind::TupleIndex) || node.is(ir::kind::TupleSlice);
}

bool take_apart(ir::Node& node) {
  if (!takes_apart(node)) return false;
  const ir::Node* tuple = construct_of(node.input());
  if (!tuple) return false;
  const auto size = static_cast<int64_t>(tuple->inputs().size());
  if (node.is(ir::kind::TupleUnpack)) {
    if (node.outputs().size() != tuple->inputs().size()) return false;
    for (size_t i = 0; i < node.outputs().size(); ++i) replace_value(node.output(i), tuple->input(i));
    node.destroy();
    return true;
  }
  if (node.is(ir::kind::TupleIndex)) {
    const std::optional<int64_t> index = constant_int(node.input(1));
    if (!index || *index < -size || *index >= size) return false;
    replace_node(node, tuple->input(static_cast<size_t>(*index < 0 ? *index + size : *index)));
    return true;
  }
  const auto bound = [&](const char* name) {
    const int64_t v = node.value_attribute(name).to_int();
    return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size);
  };
  const int64_t begin = bound("beg"), end = std::max(bound("end"), begin);
  const ListRef<ir::Value*> items(tuple->inputs());
  ir::Node* part =
      create_like(node, ir::kind::TupleConstruct,
                  items.slice(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), node.output()->type());
  replace_node(node, part->insert_before(&node)->output());
  return true;
}

}  // namespace sconce::passes
