// Scalar replacement of tuples: tuples that are taken apart are not made.
//   %t : (A, B) = prim::TupleConstruct(%a, %b)
//   %x : A, %y : B = prim::TupleUnpack(%t)          =>  %a, %b     likewise TupleIndex and TupleSlice
// also through the outputs of an If and the carried values of a Loop, which then carry the elements:
//   %t : (A, B) = prim::If(%c)                            %p : A, %q : B = prim::If(%c)
//     block0():                                             block0():
//       %u : (A, B) = prim::TupleConstruct(%a, %b)            -> (%a, %b)
//       -> (%u)                                             block1():
//     block1():                                     =>        -> (%c, %d)
//       %v : (A, B) = prim::TupleConstruct(%c, %d)        %t : (A, B) = prim::TupleConstruct(%p, %q)
//       -> (%v)
// Tuples cannot be written to, so nothing else has to be known. dead_code removes the nodes that are left unused.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/containers/tuple_parts.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// Whether a node takes the value apart, perhaps after it left some blocks.
bool is_taken_apart(const ir::Value* v, int depth = 8) {
  if (depth == 0) return false;
  for (const ir::Use& use : v->uses()) {
    if (takes_apart(*use.user)) return true;
    if (!use.user->is(ir::kind::Return)) continue;
    const ir::Node* owner = use.user->block()->owner();
    if (!owner) continue;
    if (owner->is(ir::kind::If) && is_taken_apart(owner->output(use.offset), depth - 1)) return true;
    if (owner->is(ir::kind::Loop) && use.offset > 0 && is_taken_apart(owner->output(use.offset - 1), depth - 1)) {
      return true;
    }
  }
  return false;
}

// Output `at` of the node becomes one output per element; a TupleConstruct behind the node takes its place.
void split_output(ir::Node& node, size_t at, ListRef<TypePtr> elements) {
  ir::Value* whole = node.output(at);
  std::vector<ir::Value*> parts;
  for (size_t i = 0; i < elements.size(); ++i) parts.push_back(node.insert_output(at + 1 + i, elements[i]));
  ir::Node* again = create_like(node, ir::kind::TupleConstruct, parts, whole->type())->insert_after(&node);
  whole->replace_all_uses_with(again->output());
  node.remove_output(at);
}

void split_block_output(ir::Block& block, size_t at) {
  const std::vector<ir::Value*> items = construct_of(block.outputs()[at])->inputs();
  block.remove_output(at);
  for (size_t i = 0; i < items.size(); ++i) block.insert_output(at + i, items[i]);
}

bool is_plain_tuple(const ir::Value* v) { return v->type()->is(TypeKind::tuple) && !v->type()->contained().empty(); }

bool split_if(ir::Node& node) {
  bool changed = false;
  for (size_t at = node.outputs().size(); at-- > 0;) {
    const ir::Value* out = node.output(at);
    if (!is_plain_tuple(out) || !is_taken_apart(out)) continue;
    const size_t size = out->type()->contained().size();
    const auto made_here = [&](const ir::Block* block) {
      const ir::Node* made = construct_of(block->outputs()[at]);
      return made && made->inputs().size() == size;
    };
    if (!made_here(node.block_at(0)) || !made_here(node.block_at(1))) continue;
    split_block_output(*node.block_at(0), at);
    split_block_output(*node.block_at(1), at);
    split_output(node, at, out->type()->contained());
    changed = true;
  }
  return changed;
}

bool split_loop(ir::Node& loop) {
  bool changed = false;
  ir::Block& body = *loop.block_at(0);
  for (size_t at = loop.outputs().size(); at-- > 0;) {
    const ir::Value* out = loop.output(at);
    if (!is_plain_tuple(out) || (!is_taken_apart(out) && !is_taken_apart(body.inputs()[at + 1]))) continue;
    const ListRef<TypePtr> elements = out->type()->contained();
    const ir::Node* first = construct_of(loop.input(at + 2));
    const ir::Node* last = construct_of(body.outputs()[at + 1]);
    if (!first || !last || first->inputs().size() != elements.size() || last->inputs().size() != elements.size())
      continue;
    const std::vector<ir::Value*> items = first->inputs();
    loop.remove_input(at + 2);
    for (size_t i = 0; i < items.size(); ++i) loop.insert_input(at + 2 + i, items[i]);
    split_block_output(body, at + 1);
    ir::Value* whole = body.inputs()[at + 1];
    std::vector<ir::Value*> parts;
    for (size_t i = 0; i < elements.size(); ++i) parts.push_back(body.insert_input(at + 2 + i, elements[i]));
    ir::Node* again = create_like(loop, ir::kind::TupleConstruct, parts, whole->type());
    body.prepend(again);
    whole->replace_all_uses_with(again->output());
    body.remove_input(at + 1);
    split_output(loop, at, elements);
    changed = true;
  }
  return changed;
}

bool run(const ir::Block& block) {
  bool changed = false;
  for (ir::Node* node = block.first(); node != block.return_node();) {
    bool split = node->is(ir::kind::Loop) && split_loop(*node);  // before its body: that sees the elements
    for (const ir::Block* inner : node->blocks()) split |= run(*inner);
    if (node->is(ir::kind::If)) split |= split_if(*node);
    if (node->is(ir::kind::Loop)) split |= split_loop(*node) && (run(*node->block_at(0)), true);
    ir::Node* next = node->next();  // perhaps the TupleConstruct that came behind it
    changed |= split | take_apart(*node);
    node = next;
  }
  return changed;
}

}  // namespace

bool unpack_tuples(ir::Graph& graph) { return run(*graph.block()); }

}  // namespace sconce::passes
