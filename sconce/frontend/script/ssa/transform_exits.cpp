// return, break and continue out of a graph.
//
// Note [Exits]
// A block that may be left early tells so by two values: whether it was left, and the values that it left with. Nodes
// that follow a node which may leave are moved into the second block of an If on the first value:
//
//   if c: return a                          %left, %v = If(%c) { -> (true, %a) } { -> (false, uninitialized) }
//   b = f()                         =>      %r = If(%left) { -> %v } { %b = f(); -> %b }
//   return b                                return (%r)
//
// and merge_ifs() makes one If of the two. The same happens to loops, first for break and continue (which leave a
// loop's body), then for return (which leaves the function).
#include <map>

#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

// How deep guards may nest: one level for each statement that may leave.
constexpr int kMaxGuards = 1000;

const ir::Symbol& with_kind() {
  static const ir::Symbol kind("prim::With");
  return kind;
}

struct Exit {
  enum class Status : uint8_t { wont, might, will, throws } status = Status::wont;
  ir::Value* has_left = nullptr;  // of might and will
  std::vector<ir::Value*> values;
};

class ExitTransformer {
 public:
  ExitTransformer(ir::Graph& graph, ir::Symbol kind, bool raises_leave)
      : graph_(graph), kind_(kind), raises_leave_(raises_leave) {}
  void run() { block(graph_.block()); }

 private:
  using Status = Exit::Status;

  ir::Value* constant(sconce::Value v) {
    ir::Node* n = graph_.create_constant(std::move(v));
    graph_.block()->prepend(n);
    return n->output();
  }
  ir::Value* yes() { return yes_ ? yes_ : yes_ = constant(sconce::Value(true)); }
  ir::Value* no() { return no_ ? no_ : no_ = constant(sconce::Value(false)); }
  ir::Value* uninitialized(TypePtr type) {
    ir::Value*& v = uninitialized_[type];
    if (!v) {
      ir::Node* n = graph_.create(ir::kind::Uninitialized, {}, 1);
      graph_.block()->prepend(n);
      v = n->output()->set_type(type);
    }
    return v;
  }
  std::vector<ir::Value*> uninitialized_like(const std::vector<ir::Value*>& values) {
    std::vector<ir::Value*> out;
    for (const ir::Value* v : values) out.push_back(uninitialized(v->type()));
    return out;
  }
  static void set_outputs(ir::Block* block, const std::vector<ir::Value*>& values) {
    block->return_node()->clear_inputs();
    for (ir::Value* v : values) block->add_output(v);
  }
  // One output more of the If for each pair.
  static std::vector<ir::Value*> add_outputs(ir::Node* n, const std::vector<ir::Value*>& if_true,
                                             const std::vector<ir::Value*>& if_false) {
    std::vector<ir::Value*> out;
    for (size_t i = 0; i < if_true.size(); ++i) {
      n->block_at(0)->add_output(if_true[i]);
      n->block_at(1)->add_output(if_false[i]);
      out.push_back(n->add_output(merged_type(if_true[i]->type(), if_false[i]->type())));
    }
    return out;
  }

  bool is_target(const ir::Block* block) const {
    const ir::Node* owner = block->owner();
    if (kind_ == ir::kind::LoopContinuation) return owner && owner->is(ir::kind::Loop);
    return !owner || owner->is(ir::kind::Closure) || owner->is(ir::kind::fork) || owner->is(ir::kind::awaitable);
  }

  Exit block(ir::Block* b) {
    Exit exit;
    for (ir::Node* n = b->first(); n != b->return_node();) {
      ir::Node* next = n->next();
      exit = node(n);
      if (exit.status == Status::will || exit.status == Status::throws) {
        drop_from(b, next);
        break;
      }
      if (exit.status == Status::might) {
        if (next != b->return_node()) exit = guard(b, exit, next);
        break;
      }
      n = next;
    }
    if (!is_target(b)) return exit;
    // Here the exit ends.
    if (exit.status == Status::might) {
      ir::Node* choice = graph_.create(ir::kind::If, {exit.has_left});
      b->append(choice);
      choice->add_block();
      choice->add_block();
      const std::vector<ir::Value*> outputs = b->outputs();
      set_outputs(b, add_outputs(choice, exit.values, outputs));
    } else if (exit.status == Status::will) {
      set_outputs(b, exit.values);
    }
    return {};
  }

  Exit node(ir::Node* n) {
    if (n->is(ir::kind::RaiseException) && raises_leave_) return {Status::throws, nullptr, {}};
    if (n->is(kind_)) {
      Exit exit{Status::will, yes(), n->inputs()};
      n->destroy();
      return exit;
    }
    if (n->is(ir::kind::If)) return if_node(n);
    if (n->is(ir::kind::Loop)) return loop(n);
    if (n->is(with_kind())) return block(n->block_at(0));
    for (ir::Block* b : n->blocks()) block(b);  // closures: exits end inside
    return {};
  }

  // Nodes that are never reached.
  void drop_from(ir::Block* b, ir::Node* first) {
    if (first == b->return_node()) return;
    const std::vector<ir::Value*> outputs = b->outputs();
    set_outputs(b, uninitialized_like(outputs));
    for (ir::Node* n = b->last();;) {
      ir::Node* prev = n->prev();
      const bool done = n == first;
      n->destroy();
      if (done) return;
      n = prev;
    }
  }

  Exit guard(ir::Block* b, const Exit& exit, ir::Node* first) {
    if (++guards_ > kMaxGuards) {
      refuse(first->range(), "a function may have {} statements after which it can be left", kMaxGuards);
    }
    ir::Node* n = graph_.create(ir::kind::If, {exit.has_left})->insert_before(first);
    n->set_range(first->range());
    ir::Block* left = n->add_block();
    ir::Block* rest = n->add_block();
    for (ir::Node* moved = first; moved != b->return_node();) {
      ir::Node* next = moved->next();
      moved->move_before(rest->return_node());
      moved = next;
    }
    const std::vector<ir::Value*> outputs = b->outputs();
    set_outputs(b, add_outputs(n, uninitialized_like(outputs), outputs));
    left->append(graph_.create(kind_, exit.values));
    return if_node(n);
  }

  Exit if_node(ir::Node* n) {
    Exit t = block(n->block_at(0));
    Exit f = block(n->block_at(1));
    const Status status = t.status == Status::throws   ? f.status
                          : f.status == Status::throws ? t.status
                          : t.status == f.status       ? t.status
                                                       : Status::might;
    if (status == Status::wont || status == Status::throws) return {status, nullptr, {}};
    const auto fill = [&](Exit& one, const Exit& other) {
      if (one.status == Status::might || one.status == Status::will) return;
      one.has_left = no();
      one.values = uninitialized_like(other.values);
    };
    fill(t, f);
    fill(f, t);
    Exit exit{status, yes(), {}};
    if (status == Status::might) exit.has_left = add_outputs(n, {t.has_left}, {f.has_left})[0];
    exit.values = add_outputs(n, t.values, f.values);
    return exit;
  }

  // A loop whose body may leave further out ends when it does, and carries whether it did and with what.
  Exit loop(ir::Node* n) {
    ir::Block* body = n->block_at(0);
    const Exit inner = block(body);
    if (inner.status == Status::wont || inner.status == Status::throws) return {};  // perhaps it is never entered
    ir::Node* choice = graph_.create(ir::kind::If, {inner.has_left}, 1);
    body->append(choice);
    choice->add_block()->add_output(no());
    choice->add_block()->add_output(body->outputs()[0]);
    body->return_node()->set_input(0, choice->output()->set_type(bool_type()));
    Exit exit{Status::might, nullptr, {}};
    const auto carry = [&](ir::Value* first, ir::Value* v) {
      n->add_input(first);
      body->add_input(v->type());
      body->add_output(v);
      return n->add_output(v->type());
    };
    exit.has_left = carry(no(), inner.has_left);
    for (ir::Value* v : inner.values) exit.values.push_back(carry(uninitialized(v->type()), v));
    return exit;
  }

  ir::Graph& graph_;
  const ir::Symbol kind_;
  const bool raises_leave_;
  ir::Value* yes_ = nullptr;
  ir::Value* no_ = nullptr;
  std::map<TypePtr, ir::Value*> uninitialized_;
  int guards_ = 0;
};

// ---- with ----
// The code between Enter and Exit must reach Exit on every way out: for the time of the transformation it is a block,
// and Exit is in a second one.

ir::Node* find_exit(ir::Node* enter) {
  int depth = 0;
  for (ir::Node* n = enter->next(); n != enter->block()->return_node(); n = n->next()) {
    if (n->is(ir::kind::Enter) && n->input() == enter->input()) ++depth;
    if (n->is(ir::kind::Exit) && n->input() == enter->input() && depth-- == 0) return n;
  }
  return nullptr;
}

void wrap_withs(ir::Graph& graph, ir::Block* block) {
  for (ir::Node* n = block->first(); n != block->return_node(); n = n->next()) {
    for (ir::Block* b : n->blocks()) wrap_withs(graph, b);
    ir::Node* exit = n->is(ir::kind::Enter) ? find_exit(n) : nullptr;
    if (!exit) continue;
    ir::Node* with = graph.create(with_kind())->insert_after(n);
    ir::Block* body = with->add_block();
    for (ir::Node* moved = with->next(); moved != exit;) {
      ir::Node* next = moved->next();
      moved->move_before(body->return_node());
      moved = next;
    }
    exit->move_before(with->add_block()->return_node());
    for (ir::Node* inner : body->nodes()) {
      for (ir::Value* v : inner->outputs()) {
        const std::vector<ir::Use> uses = v->uses();
        ir::Value* out = nullptr;
        for (const ir::Use& use : uses) {
          if (use.user->is_inside(with)) continue;
          if (!out) {
            out = with->add_output(v->type());
            body->add_output(v);
          }
          use.user->set_input(use.offset, out);
        }
      }
    }
    wrap_withs(graph, body);
    n = with;
  }
}

void unwrap_withs(ir::Block* block) {
  for (ir::Node* n = block->first(); n != block->return_node();) {
    for (ir::Block* b : n->blocks()) unwrap_withs(b);
    ir::Node* next = n->next();
    if (n->is(with_kind())) {
      for (ir::Block* b : n->blocks()) {
        for (ir::Node* moved : b->nodes()) moved->move_before(n);
      }
      for (size_t i = 0; i < n->outputs().size(); ++i) {
        n->output(i)->replace_all_uses_with(n->block_at(0)->outputs()[i]);
      }
      n->destroy();
    }
    n = next;
  }
}

}  // namespace

void transform_exits(ir::Graph& graph, bool raises_leave) {
  wrap_withs(graph, graph.block());
  ExitTransformer(graph, ir::kind::LoopContinuation, raises_leave).run();
  ExitTransformer(graph, ir::kind::ReturnStmt, raises_leave).run();
  merge_ifs(graph);
  unwrap_withs(graph.block());
}

}  // namespace sconce::script
