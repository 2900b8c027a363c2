// Dead code elimination: nodes without uses and effects go.
//   %a : Tensor = aten::relu(%x)      # never used      =>
//   %b : int, %c : int = prim::If(%p)                   =>  %b : int = prim::If(%p)      when %c is never used
// likewise values that a loop carries. Kept: nodes with side effects (see ir/effects.h), and writes to memory that may
// be read: memory that comes from outside, is returned, or is read by a node that is kept.
#include <algorithm>

#include "sconce/base/pointer_set.h"
#include "sconce/ir/alias.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool is_control_flow(const ir::Node& node) { return node.is(ir::kind::If) || node.is(ir::kind::Loop); }

// A look that is enough for most graphs: nothing is dead when every node has an effect or a result with a use, and all
// results of every `if` and loop are used or, if there are none, it holds an effect. A use is behind the node or a
// result of the block around it, so that from the end backwards each user is alive by the same rule.
class FirstLook {
 public:
  explicit FirstLook(const ir::Block& block) { look(block); }
  bool all_alive() const { return all_alive_; }

 private:
  // Is there an effect inside?
  bool look(const ir::Block& block) {
    bool effects = false;
    for (const ir::Node* node : block.nodes()) {
      if (!all_alive_) return effects;
      effects |= is_control_flow(*node) ? look_inside(*node) : look_at(*node);
    }
    return effects;
  }
  bool look_at(const ir::Node& node) {
    const bool effects = ir::has_side_effects(node);
    const auto has_use = [](const ir::Value* v) { return v->has_uses(); };
    all_alive_ &= effects || std::any_of(node.outputs().begin(), node.outputs().end(), has_use);
    return effects;
  }
  bool look_inside(const ir::Node& node) {
    bool effects = false;
    for (const ir::Block* block : node.blocks()) effects |= look(*block);
    for (const ir::Value* v : node.outputs()) all_alive_ &= v->has_uses();
    all_alive_ &= effects || !node.outputs().empty();
    return effects;
  }

  bool all_alive_ = true;
};

// Marks the nodes that are needed, from the results backwards.
class Needed {
 public:
  explicit Needed(const ir::Graph& graph) {
    if (ir::may_write(*graph.block())) facts_.emplace(graph);
    for (const ir::Value* v : graph.outputs()) need(v);
    each_node(*graph.block(), [&](ir::Node& node) {
      if (is_control_flow(node)) return;  // through the nodes inside
      if (ir::has_side_effects(node)) {
        need(node);
      } else if (facts_ && facts_->writes(&node)) {
        writers_.push_back(&node);
      }
    });
    do {
      follow();
    } while (need_writers());
  }

  bool contains(const ir::Node* n) const { return nodes_.contains(n); }
  bool contains(const ir::Value* v) const { return values_.contains(v); }

 private:
  void need(const ir::Value* v) {
    if (!values_.insert(v)) return;
    open_.push_back(v);
    if (!facts_) return;
    for (const ir::Place p : facts_->reach(v)) {
      if (p >= places_.size()) places_.resize(p + 1);
      places_[p] = true;
    }
  }

  void need(const ir::Node& node) {
    if (!nodes_.insert(&node)) return;
    if (node.is(ir::kind::Loop)) {
      // Carried values as far as they are needed themselves.
      need(node.input(0));
      need(node.input(1));
      need(node.block_at(0)->outputs()[0]);
    } else {
      for (const ir::Value* v : node.inputs()) need(v);
    }
    if (const ir::Node* owner = node.block()->owner()) need(*owner);
  }

  void follow() {
    while (!open_.empty()) {
      const ir::Value* v = open_.back();
      open_.pop_back();
      const ir::Node& node = *v->node();
      if (node.is(ir::kind::Param)) {
        const ir::Node* owner = node.block()->owner();
        if (!owner) continue;
        need(*owner);
        if (owner->is(ir::kind::Loop) && v->offset() > 0) need_carried(*owner, v->offset() - 1);
        continue;
      }
      need(node);
      if (node.is(ir::kind::If)) {
        for (const ir::Block* block : node.blocks()) need(block->outputs()[v->offset()]);
      } else if (node.is(ir::kind::Loop)) {
        need_carried(node, v->offset());
      }
    }
  }
  void need_carried(const ir::Node& loop, size_t i) {
    need(loop.input(i + 2));
    need(loop.block_at(0)->outputs()[i + 1]);
    need(loop.block_at(0)->inputs()[i + 1]);
  }

  // Writes to memory that is needed, or that escapes.
  bool need_writers() {
    bool found = false;
    std::erase_if(writers_, [&](const ir::Node* node) {
      const ir::PlaceSet& written = facts_->written(node);
      const bool seen = std::any_of(written.begin(), written.end(), [&](ir::Place p) {
        return facts_->is_outside(p) || (p < places_.size() && places_[p]);
      });
      if (seen) need(*node);
      found |= seen;
      return seen;
    });
    return found;
  }

  std::optional<ir::AliasFacts> facts_;  // when something is written at all
  PointerSet<ir::Node> nodes_;
  PointerSet<ir::Value> values_;
  std::vector<bool> places_;  // that are read
  std::vector<const ir::Value*> open_;
  std::vector<const ir::Node*> writers_;
};

class Sweep {
 public:
  explicit Sweep(const Needed& needed) : needed_(needed) {}

  // From the end, so that users go before their inputs.
  bool block(const ir::Block& block) {
    bool changed = false;
    for (ir::Node* node = block.last(); node != block.param_node();) {
      ir::Node* before = node->prev();
      if (!needed_.contains(node)) {
        node->destroy();
        changed = true;
      } else if (is_control_flow(*node)) {
        changed |= outputs(*node);
      }
      node = before;
    }
    return changed;
  }

 private:
  bool outputs(ir::Node& node) {
    const bool is_loop = node.is(ir::kind::Loop);
    std::vector<size_t> gone;
    for (size_t i = node.outputs().size(); i-- > 0;) {
      const bool carried = is_loop && needed_.contains(node.block_at(0)->inputs()[i + 1]);
      if (!carried && !needed_.contains(node.output(i))) gone.push_back(i);
    }
    for (const size_t i : gone) {
      for (ir::Block* b : node.blocks()) b->remove_output(i + is_loop);
      node.remove_output(i);
    }
    bool changed = !gone.empty();
    for (const ir::Block* b : node.blocks()) changed |= block(*b);
    if (is_loop) {
      for (const size_t i : gone) {
        node.block_at(0)->remove_input(i + 1);
        node.remove_input(i + 2);
      }
    }
    return changed;
  }

  const Needed& needed_;
};

}  // namespace

bool dead_code(ir::Graph& graph) {
  if (FirstLook(*graph.block()).all_alive()) return false;
  const Needed needed(graph);
  return Sweep(needed).block(*graph.block());
}

}  // namespace sconce::passes
