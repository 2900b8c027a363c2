// Canonical order of outputs: those of If and Loop stand in the order in which they are first used, unused ones last.
//   %a, %b = prim::If(%c) ...  %x = f(%b, %a)     =>  %b, %a = prim::If(%c) ...  %x = f(%b, %a)
// The order in which the frontend met variables has no meaning; this one is the same for the same program.
#include <algorithm>
#include <numeric>

#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool is_earlier(const ir::Use& a, const ir::Use& b) {
  return a.user == b.user ? a.offset < b.offset : a.user->is_before(b.user);
}

std::optional<ir::Use> first_use(const ir::Value* v) {
  const std::vector<ir::Use>& uses = v->uses();
  if (uses.empty()) return std::nullopt;
  return *std::min_element(uses.begin(), uses.end(), is_earlier);
}

// The indices of the outputs in their new order.
std::vector<size_t> order_of(const ir::Node& node) {
  std::vector<std::optional<ir::Use>> uses;
  for (const ir::Value* v : node.outputs()) uses.push_back(first_use(v));
  std::vector<size_t> order(uses.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!uses[a] || !uses[b]) return uses[a].has_value() && !uses[b].has_value();
    return is_earlier(*uses[a], *uses[b]);
  });
  return order;
}

void move_name(ir::Value* from, ir::Value* to) {
  if (!from->has_name()) return;
  const std::string name = from->name();
  from->set_name("");
  to->set_name(name);
}

// New values behind the old ones, in the new order; then the old ones go. `from` is the first that takes part.
void reorder_outputs(ir::Node& node, size_t from, const std::vector<size_t>& order) {
  for (const size_t i : order) {
    ir::Value* old = node.output(from + i);
    ir::Value* now = node.add_output(old->type());
    old->replace_all_uses_with(now);
    move_name(old, now);
  }
  for (size_t i = 0; i < order.size(); ++i) node.remove_output(from);
}

void reorder_inputs(ir::Node& node, size_t from, const std::vector<size_t>& order) {
  const std::vector<ir::Value*> old = node.inputs();
  for (size_t i = 0; i < order.size(); ++i) node.set_input(from + i, old[from + order[i]]);
}

bool reorder(ir::Node& node) {
  const std::vector<size_t> order = order_of(node);
  if (std::is_sorted(order.begin(), order.end())) return false;
  reorder_outputs(node, 0, order);
  const size_t first = node.is(ir::kind::Loop) ? 1 : 0;
  if (node.is(ir::kind::Loop)) {
    reorder_inputs(node, 2, order);
    reorder_outputs(*node.block_at(0)->param_node(), first, order);
  }
  for (const ir::Block* block : node.blocks()) reorder_inputs(*block->return_node(), first, order);
  return true;
}

// From the end, since the order follows from later uses; a node before its blocks, whose values are used
// by its outputs.
bool run(const ir::Block& block) {
  bool changed = false;
  for (ir::Node* node = block.last(); node != block.param_node(); node = node->prev()) {
    if (node->is(ir::kind::If) || node->is(ir::kind::Loop)) changed |= reorder(*node);
    for (const ir::Block* inner : node->blocks()) changed |= run(*inner);
  }
  return changed;
}

}  // namespace

bool canonicalize_outputs(ir::Graph& graph) { return run(*graph.block()); }

}  // namespace sconce::passes
