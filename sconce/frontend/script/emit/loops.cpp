// Loops. Until the conversion to SSA a prim::Loop has two blocks: its body, and the condition of the next round.
#include <limits>

#include "sconce/frontend/script/emit/emitter_impl.h"

namespace sconce::script {

using namespace syntax;

void Emitter::Impl::while_loop(const While& s) {
  ir::Node* n = node(s.range, ir::kind::Loop, {}, {});
  ir::Block* body_block = n->add_block();
  ir::Block* condition_block = n->add_block();
  {
    push(condition_block);
    const ir::InsertPoint point(graph, condition_block);
    condition_block->add_output(condition(s.test).value);
    pop();
  }
  {
    const ir::InsertPoint point(graph, n);
    n->add_input(e.constant(s.range, sconce::Value(std::numeric_limits<int64_t>::max())));
  }
  body_block->add_input(int_type());
  const auto saved = loop;
  loop = Loop::loop;
  push(body_block);
  {
    const ir::InsertPoint point(graph, body_block);
    body(s.body);
  }
  pop();
  loop = saved;
}

void Emitter::Impl::for_statement(const For& s) {
  const SugaredPtr iterable = sugared(s.iter, nullptr)->iterate(e, s.range);
  for_loop(s.range, s.target, iterable, [&] { body(s.body); });
}

void Emitter::Impl::for_loop(const Range& at, ExprPtr target, SugaredPtr iterable,
                             const std::function<void()>& emit_body) {
  check_targets({target}, at);
  if (const std::optional<size_t> count = iterable->static_length()) {
    return unrolled(at, target, iterable, *count, emit_body);
  }
  ir::Value* trips = iterable->length(e, at);
  ir::Value* go = e.constant(at, sconce::Value(true));
  ir::Node* n = node(at, ir::kind::Loop, {trips}, {});
  ir::Block* body_block = n->add_block();
  n->add_block()->add_output(go);
  ir::Value* index = body_block->add_input(int_type());
  const auto saved = loop;
  loop = Loop::loop;
  push(body_block);
  {
    const ir::InsertPoint point(graph, body_block);
    const SugaredPtr item = iterable->item(e, at, index, nullptr);
    assign_value(at, target, item);
    emit_body();
  }
  pop();
  loop = saved;
}

// One copy of the body an item, in the block around the loop.
void Emitter::Impl::unrolled(const Range& at, ExprPtr target, SugaredPtr iterable, size_t count,
                             const std::function<void()>& emit_body) {
  const auto saved = loop;
  loop = Loop::unrolled;
  for (size_t i = 0; i < count && !has_exited(); ++i) {
    if (++unrolled_bodies > kMaxUnrolledBodies) {
      refuse(at, "unrolled loops repeat their bodies more than {} times", kMaxUnrolledBodies);
    }
    ir::Value* index = e.constant(at, sconce::Value(static_cast<int64_t>(i)));
    const SugaredPtr item = iterable->item(e, at, index, nullptr);
    assign_value(at, target, item);
    emit_body();
  }
  loop = saved;
}

}  // namespace sconce::script
