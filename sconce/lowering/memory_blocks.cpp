// Memory in control flow: what is dirty after an If, and what a Loop carries.
#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/lowering/memory.h"

namespace sconce::lowering {
namespace {

bool is_inside(const ir::Value* v, const ir::Node& node) {
  for (const ir::Block* b = v->node()->block(); b; b = b->owner() ? b->owner()->block() : nullptr) {
    if (b->owner() == &node) return true;
  }
  return false;
}

}  // namespace

void Memory::collect(const ir::Node& node, Accessed& all) const {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const bool control = node.is(ir::kind::If) || node.is(ir::kind::Loop);
    const Access how = control ? Access::keeps : access(node, i);
    if (how == Access::nothing || !ir::is_mutable(node.input(i)->type())) continue;
    if (!is_known_list(*node.input(i)->node())) all.values.push_back(node.input(i));
    if (how == Access::writes && is_tensor(node.input(i)->type())) all.writers.push_back(&node);
  }
  for (const ir::Block* block : node.blocks()) {
    for (const ir::Node* inner : block->nodes()) collect(*inner, all);
    for (ir::Value* v : block->outputs()) {
      if (ir::is_mutable(v->type())) all.values.push_back(v);
    }
  }
}

const Memory::Accessed& Memory::accessed(const ir::Node& node) {
  const auto [at, is_new] = accessed_.try_emplace(&node);
  if (is_new) collect(node, at->second);
  return at->second;
}

void Memory::settle_before(ir::Node& node) {
  const Accessed& inside = accessed(node);
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    if (d.value) continue;
    const auto sees = [&](const ir::Value* v) { return touches(v, d.root); };
    if (std::ranges::any_of(inside.values, sees) || facts_.writes_to(&node, d.assigned->input(1)) ||
        facts_.writes_to(&node, d.root)) {
      is_foreign(d.root) ? flush(d.root, node) : static_cast<void>(made(*find(d.root), node));
    }
  }
}

std::vector<ir::Value*> Memory::carried_by(ir::Node& loop, FunctionRef<bool(const ir::Node&)> becomes_value) {
  const Accessed& inside = accessed(loop);
  std::vector<ir::Value*> roots, carried;
  const auto add = [](std::vector<ir::Value*>& to, ir::Value* v) {
    if (std::ranges::find(to, v) == to.end()) to.push_back(v);
  };
  for (const Dirty& d : changes_) roots.push_back(d.root);
  for (const ir::Node* writer : inside.writers) {
    for (size_t i = 0; i < writer->inputs().size(); ++i) {
      if (access(*writer, i) != Access::writes || !is_tensor(writer->input(i)->type())) continue;
      ir::Value* root = origins_.of(writer->input(i)).root;
      if (!is_inside(root, loop)) add(roots, root);
    }
  }
  for (ir::Value* root : roots) {
    const bool known = std::ranges::none_of(
        inside.values, [&](const ir::Value* v) { return origins_.of(v).root != root && touches(v, root); });
    bool becomes = false, written = false;
    for (const ir::Node* writer : inside.writers) {
      for (size_t i = 0; i < writer->inputs().size(); ++i) {
        if (access(*writer, i) != Access::writes || origins_.of(writer->input(i)).root != root) continue;
        written = true;
        becomes |= becomes_value(*writer);
      }
    }
    if (known && becomes) {
      carried.push_back(root);
    } else if (!known || written || facts_.writes_to(&loop, root)) {
      flush(root, loop);
    }
  }
  return carried;
}

void Memory::write_back_other(const Changes& at_start, const std::vector<ir::Value*>& carried, ir::Node& end) {
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    if (std::ranges::find(carried, d.root) != carried.end()) continue;
    const auto same = [&](const Dirty& before) {
      return before.root == d.root && before.value == d.value && before.assigned == d.assigned;
    };
    if (std::ranges::none_of(at_start, same)) flush(d.root, end);
  }
}

void Memory::write_back_foreign(ir::Node& end) {
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    if (is_foreign(d.root)) flush(d.root, end);
  }
}

// Tensors that the block made are gone, unless somebody has them.
void Memory::leave(const ir::Block& block) {
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    if (d.root->node()->block() != &block) continue;
    if (!is_fresh(d.root) || is_foreign(d.root) || held_.contains(d.root)) {
      flush(d.root, *block.return_node());
    }
    std::erase_if(changes_, [&](const Dirty& each) { return each.root == d.root; });
  }
}

Memory::Changes Memory::merged(ir::Node& node, const Changes& before, Changes& first, Changes& second) {
  Changes* const branches[] = {&first, &second};
  std::vector<ir::Value*> roots;
  for (const Changes* branch : branches) {
    for (const Dirty& d : *branch) {
      if (std::ranges::find(roots, d.root) == roots.end()) roots.push_back(d.root);
    }
  }
  // What belongs to somebody else is written in the branch that changes it: the other one leaves it alone.
  for (size_t b = 0; b < 2; ++b) {
    changes_ = std::move(*branches[b]);
    for (ir::Value* root : roots) {
      if (!is_foreign(root) || !find(root)) continue;
      const bool in_other = b == 0 ? find(second, root) != nullptr : find(first, root) != nullptr;
      if (!in_other) flush(root, *node.block_at(b)->return_node());
    }
    *branches[b] = std::move(changes_);
  }
  Changes after;
  for (ir::Value* root : roots) {
    Dirty* ends[] = {find(first, root), find(second, root)};
    const auto known = std::ranges::find(before, root, &Dirty::root);
    const auto is_unchanged = [&](const Dirty* d) {
      return known != before.end() && d && d->value == known->value && d->assigned == known->assigned;
    };
    if (!ends[0] && !ends[1]) continue;
    if (is_unchanged(ends[0]) && is_unchanged(ends[1])) {
      after.push_back(*known);
      after.back().is_given |= ends[0]->is_given || ends[1]->is_given;
      after.back().is_made |= ends[0]->is_made && ends[1]->is_made;
      continue;
    }
    for (size_t b = 0; b < 2; ++b) {
      ir::Block& block = *node.block_at(b);
      block.add_output(ends[b] ? made(*ends[b], *block.return_node()) : root);
    }
    const ir::Node* writer = ends[0] ? ends[0]->writer : ends[1]->writer;
    const bool is_given = (ends[0] && ends[0]->is_given) || (ends[1] && ends[1]->is_given);
    after.push_back({.root = root, .value = node.add_output(root->type()), .writer = writer, .is_given = is_given});
  }
  return after;
}

}  // namespace sconce::lowering
