// Common subexpression elimination: a node that was computed already is not computed again.
//   %a : Tensor = aten::relu(%x)
//   %b : Tensor = aten::relu(%x)          =>  %a
// also when the first is in a block around the second. Only nodes without effects whose inputs and outputs are never
// written; two results that can be changed and both leave the graph stay two. Tensors before and after something that
// may switch gradients on or off (with torch.no_grad()) are not the same.
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/passes/analysis/lazy_alias.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

size_t mix(size_t hash, const void* v) {
  return (hash ^ reinterpret_cast<size_t>(v)) * 0x9E3779B97F4A7C15u + (hash >> 9);
}

size_t hash_of(const ir::Node& node) {
  size_t hash = node.kind().id();
  for (const ir::Value* v : node.inputs()) hash = mix(hash, v);
  for (const ir::Value* v : node.outputs()) hash = mix(hash, v->type());
  return hash;
}

bool is_same_attribute(const ir::AttributeValue& a, const ir::AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* v = std::get_if<sconce::Value>(&a)) return is_same_value(*v, std::get<sconce::Value>(b));
  if (const auto* type = std::get_if<TypePtr>(&a)) return *type == std::get<TypePtr>(b);
  if (const auto* types = std::get_if<std::vector<TypePtr>>(&a)) return *types == std::get<std::vector<TypePtr>>(b);
  return false;  // graphs
}

bool is_same(const ir::Node& a, const ir::Node& b) {
  if (!a.is(b.kind()) || a.op() != b.op() || a.callee() != b.callee() || a.inputs() != b.inputs()) return false;
  if (a.outputs().size() != b.outputs().size() || a.attributes().size() != b.attributes().size()) return false;
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if (a.output(i)->type() != b.output(i)->type()) return false;
  }
  for (const auto& [name, v] : a.attributes()) {
    const ir::AttributeValue* other = b.attribute(name);
    if (!other || !is_same_attribute(v, *other)) return false;
  }
  return true;
}

class Search {
  struct Entry {
    ir::Node* node;
    size_t stretch;
  };
  using Known = std::unordered_multimap<size_t, Entry>;

 public:
  explicit Search(const ir::Graph& graph) : facts_(graph), writes_(ir::may_write(*graph.block())) {}

  bool block(const ir::Block& b) {
    bool changed = false;
    std::vector<Known::iterator> here;
    for (ir::Node* node : b.nodes()) {
      // A switch in the body holds for its next iteration.
      if (node->is(ir::kind::Loop) && may_switch_gradients(*node)) ++stretch_;
      for (const ir::Block* inner : node->blocks()) changed |= block(*inner);
      if (may_switch_gradients(*node)) ++stretch_;
      if (!takes_part(*node)) continue;
      const size_t hash = hash_of(*node);
      if (ir::Node* known = find(*node, hash)) {
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          if (ir::is_mutable(node->output(i)->type())) facts_.note_replaced(node->output(i), known->output(i));
          node->output(i)->replace_all_uses_with(known->output(i));
        }
        node->destroy();
        changed = true;
      } else {
        here.push_back(known_.emplace(hash, Entry{node, stretch_}));
      }
    }
    // Not visible outside of the block.
    for (const auto& it : here) known_.erase(it);
    return changed;
  }

 private:
  bool takes_part(const ir::Node& node) {
    if (!node.blocks().empty() || node.outputs().empty() || node.is(ir::kind::Uninitialized)) return false;
    if (writes_) return facts_->is_pure(&node) && !facts_->has_writers(&node);
    return !ir::has_side_effects(node) && !ir::is_nondeterministic(node);
  }
  ir::Node* find(const ir::Node& node, size_t hash) {
    const auto [from, to] = known_.equal_range(hash);
    for (auto it = from; it != to; ++it) {
      const auto [known, stretch] = it->second;
      if (!is_same(*known, node) || both_leave(*known, node)) continue;
      if (stretch == stretch_ || !makes_tensors(node)) return known;
    }
    return nullptr;
  }
  static bool may_switch_gradients(const ir::Node& node) {
    for (const ir::Block* block : node.blocks()) {
      for (const ir::Node* inner : block->nodes()) {
        if (may_switch_gradients(*inner)) return true;
      }
    }
    return ir::is_call(node) || (node.op() && ir::has_side_effects(node));
  }
  static bool makes_tensors(const ir::Node& node) {
    return node.op() && std::any_of(node.outputs().begin(), node.outputs().end(),
                                    [](const ir::Value* v) { return ir::is_mutable(v->type()); });
  }
  bool both_leave(const ir::Node& a, const ir::Node& b) {
    for (size_t i = 0; i < a.outputs().size(); ++i) {
      if (ir::is_mutable(a.output(i)->type()) && !facts_->may_alias(a.output(i), b.output(i)) &&
          facts_.may_leave(a.output(i)) && facts_.may_leave(b.output(i))) {
        return true;
      }
    }
    return false;
  }

  LazyAlias facts_;
  const bool writes_;  // does anything?
  Known known_;
  size_t stretch_ = 0;  // of nodes between those that may switch gradients
};

}  // namespace

bool common_subexpressions(ir::Graph& graph) { return Search(graph).block(*graph.block()); }

}  // namespace sconce::passes
