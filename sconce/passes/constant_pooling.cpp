// Constant pooling: there is one node for each constant, all of them at the top of the graph.
//   %y = prim::If(%c): %a = Constant[2] -> (%a)         %a = Constant[2]
//                else: %b = Constant[2] -> (%b)     =>  %y = prim::If(%c): -> (%a)  else: -> (%a)
// Each constant that is met goes in front of all others, as in PyTorch. Two that can be changed (lists, tensors) become
// one only if they are never written and do not both escape.
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/passes/analysis/lazy_alias.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

class Pool {
 public:
  explicit Pool(ir::Graph& graph) : graph_(graph), facts_(graph) {}

  bool run() {
    if (is_done()) return false;
    block(*graph_.block());
    return true;
  }

 private:
  // Are all constants at the top, each once?
  bool is_done() {
    bool done = true, at_top = true;
    std::unordered_multimap<size_t, ir::Node*> seen;
    for (ir::Node* node : graph_.nodes()) {
      for (const ir::Block* inner : node->blocks()) {
        each_node(*inner, [&](ir::Node& n) { done = done && !n.is(ir::kind::Constant); });
      }
      if (!node->is(ir::kind::Constant)) {
        at_top = false;
        continue;
      }
      if (!at_top || !done) return false;
      const size_t hash = constant_hash(*node);
      const auto [from, to] = seen.equal_range(hash);
      for (auto it = from; it != to; ++it) {
        if (is_same_constant(*it->second, *node) && may_merge(*it->second, *node)) return false;
      }
      seen.emplace(hash, node);
    }
    return done;
  }

  void block(const ir::Block& b) {
    for (ir::Node* node : b.nodes()) {
      for (const ir::Block* inner : node->blocks()) block(*inner);
      if (node->is(ir::kind::Constant)) visit(*node);
    }
  }

  void visit(ir::Node& node) {
    const size_t hash = constant_hash(node);
    const auto [from, to] = pool_.equal_range(hash);
    for (auto it = from; it != to; ++it) {
      ir::Node& kept = *it->second;
      if (!is_same_constant(kept, node) || !may_merge(kept, node)) continue;
      if (ir::is_mutable(node.output()->type())) facts_.note_replaced(node.output(), kept.output());
      node.output()->replace_all_uses_with(kept.output());
      node.destroy();
      return;
    }
    pool_.emplace(hash, &node);
    node.move_before(graph_.block()->first());
  }

  bool may_merge(const ir::Node& a, const ir::Node& b) {
    const ir::Value *x = a.output(), *y = b.output();
    if (!ir::is_mutable(x->type())) return true;
    const std::optional<sconce::Value> u = ir::constant_value(x), v = ir::constant_value(y);
    if (u && v && u->is_same(*v)) return true;
    return !facts_->has_writers(x) && !facts_->has_writers(y) && !(facts_.may_leave(x) && facts_.may_leave(y));
  }

  ir::Graph& graph_;
  LazyAlias facts_;
  std::unordered_multimap<size_t, ir::Node*> pool_;
};

}  // namespace

bool constant_pooling(ir::Graph& graph) { return Pool(graph).run(); }

}  // namespace sconce::passes
