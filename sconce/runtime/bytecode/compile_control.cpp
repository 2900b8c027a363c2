// Control flow: If, Loop, and the values that they pass on.
#include "sconce/passes/analysis/activity.h"
#include "sconce/runtime/bytecode/compiler.h"

namespace sconce::runtime {

void BytecodeCompiler::block(const ir::Block* b) {
  for (const ir::Value* v : liveness_->dead_at_entry(b)) drop(v);
  for (const ir::Node* n : b->nodes()) node(n);
}

// The instructions from here on belong to this node. A node before it that emitted none has no site.
void BytecodeCompiler::note_site(const ir::Node* n) {
  const auto first = static_cast<uint32_t>(drafts_.size());
  std::vector<Site>& sites = code_->sites;
  if (sites.empty() || sites.back().first != first) sites.emplace_back();
  sites.back() = {first, n->range(), n->inlined()};
  if (!node_sites_) return;
  std::vector<NodeSite>& nodes = (*node_sites_)[code_.get()];
  nodes.resize(sites.size());
  nodes.back() = {n, first, {}};
}

void BytecodeCompiler::note_results(const ir::Node* n) {
  if (!node_sites_) return;
  std::vector<NodeSite>& nodes = (*node_sites_)[code_.get()];
  for (const ir::Value* out : n->outputs()) {
    const auto place = places_.find(out);
    nodes.back().results.push_back(place == places_.end() ? std::nullopt : std::optional<size_t>(place->second.r));
  }
}

void BytecodeCompiler::node(const ir::Node* n) {
  if (n->is(ir::kind::Constant) || deferred_.contains(n)) return;
  if (n->is(ir::kind::unchecked_cast) && root(n->output()) != n->output()) return;
  current_ = n;
  note_site(n);
  switch (n->kind().id()) {
    case ir::kind::If_id:
      emit_if(n);
      return;
    case ir::kind::Loop_id:
      emit_loop(n);
      return;
    default:
      break;
  }
  switch (n->kind().id()) {
    case ir::kind::ListConstruct_id:
      emit_build_node(n, Opcode::make_list);
      break;
    case ir::kind::DictConstruct_id:
      emit_build_node(n, Opcode::make_dict);
      break;
    case ir::kind::TupleConstruct_id:
      emit_build_node(n, Opcode::make_tuple);
      break;
    case ir::kind::CreateObject_id:
      emit_build_node(n, Opcode::make_object);
      break;
    case ir::kind::TupleUnpack_id:
      emit_unpack(n, Opcode::unpack_tuple);
      break;
    case ir::kind::ListUnpack_id:
      emit_unpack(n, Opcode::unpack_list);
      break;
    case ir::kind::TupleIndex_id:
      emit_tuple_index(n);
      break;
    case ir::kind::TupleSlice_id:
      emit_tuple_slice(n);
      break;
    case ir::kind::GetAttr_id:
      emit_get_attr(n);
      break;
    case ir::kind::SetAttr_id:
      emit_set_attr(n);
      break;
    case ir::kind::isinstance_id:
      emit_isinstance(n);
      break;
    case ir::kind::tolist_id:
      emit_tolist(n);
      break;
    case ir::kind::unchecked_cast_id:
      emit_cast(n);
      break;
    case ir::kind::Uninitialized_id:
      emit_uninitialized(n);
      break;
    case ir::kind::CallFunction_id:
    case ir::kind::CallMethod_id:
      emit_function_call(n);
      break;
    case ir::kind::fork_id:
      emit_fork(n, Opcode::fork);
      break;
    case ir::kind::awaitable_id:
      emit_fork(n, Opcode::make_await);
      break;
    case ir::kind::awaitable_wait_id:
    case ir::kind::awaitable_nowait_id:
      emit_wait(n);
      break;
    case ir::kind::Enter_id:
      emit_enter(n);
      break;
    case ir::kind::Exit_id:
      emit_exit(n);
      break;
    case ir::kind::RaiseException_id:
      emit_raise(n);
      break;
    default:
      if (n->is(passes::differentiable_graph())) {
        emit_region(n);
        break;
      }
      if (!emit_arithmetic(n) && !emit_container(n)) emit_op(n);
      break;
  }
  finish(n);
  note_results(n);
}

// Jumps to `target` when the condition is `when`.
void BytecodeCompiler::branch(const ir::Value* condition, bool when, Label& target) {
  if (const std::optional<bool> known = constant_bool(condition)) {
    if (*known == when) jump(Opcode::jump, target);
    return;
  }
  const ir::Node* n = root(condition)->node();
  if (deferred_.contains(n) && branch_on(n, when, target)) return;
  jump(when ? Opcode::jump_if : Opcode::jump_unless, target, operand(condition));
}

void BytecodeCompiler::emit_if(const ir::Node* n) {
  const Liveness::Values& ends = liveness_->ends(n);
  // A register for each result: the one where it is wanted, if the value in it dies in here.
  std::vector<uint32_t> results;
  std::vector<bool> was_reserved;
  for (const ir::Value* out : n->outputs()) {
    const RegisterClass c = class_of(out->type());
    const auto hint = hints_.find(out);
    uint32_t r = 0;
    const auto is_usable = [&](uint32_t h) {
      if (registers_.class_at(h) != c) return false;
      if (registers_.is_free(h)) return true;
      return std::any_of(ends.begin(), ends.end(), [&](const ir::Value* v) {
        const auto place = places_.find(v);
        return v->node() != n && place != places_.end() && place->second.r == h && !place->second.borrowed;
      });
    };
    if (hint != hints_.end() && is_usable(hint->second)) {
      r = hint->second;
    } else {
      r = registers_.take(c);
      registers_.free(r);
    }
    was_reserved.push_back(registers_.is_reserved(r));
    registers_.reserve(r, true);
    results.push_back(r);
  }

  Label& otherwise = labels_.emplace_back();
  Label& end = labels_.emplace_back();
  branch(n->input(0), false, otherwise);
  // Values that only the condition used: words are free now, the others are dropped on both ways.
  free_taken();
  taken_are_free_ = false;
  moved_.clear();
  const Liveness::Values& dead = liveness_->deaths(n);
  const Registers::Bits before = registers_.busy();
  for (size_t k = 0; k < 2; ++k) {
    const ir::Block* b = n->block_at(k);
    registers_.restore(before);
    if (k == 1) bind(otherwise);
    for (const ir::Value* v : dead) {
      if (is_owned(v)) drop(v);
    }
    std::vector<Move> moves;
    for (size_t i = 0; i < results.size(); ++i) {
      const ir::Value* out = root(b->outputs()[i]);
      if (out->node()->block() == b) hints_.emplace(out, results[i]);
      moves.push_back({b->outputs()[i], local(results[i]), class_of(n->outputs()[i]->type())});
    }
    block(b);
    pass_results(b, std::move(moves));
    if (k == 0 && !(n->block_at(1)->empty() && results.empty() && liveness_->dead_at_entry(n->block_at(1)).empty())) {
      jump(Opcode::jump, end);
    }
  }
  bind(end);

  registers_.restore(before);
  for (const ir::Value* v : dead) {
    if (const auto place = places_.find(v); place != places_.end()) registers_.free(place->second.r);
  }
  for (const ir::Value* v : ends) {
    if (v->node() == n) continue;
    if (const auto place = places_.find(v); place != places_.end()) registers_.free(place->second.r);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    registers_.reserve(results[i], was_reserved[i]);
    registers_.take_this(results[i]);
    place(n->outputs()[i], results[i]);
  }
  for (const ir::Value* v : ends) {
    if (v->node() == n) drop(v);
  }
}

//       (carried = initial values)
//       for_prep i n exit            with a number of turns
//       jump_unless cond exit        with a condition
// top:  step                         without a trip count
//       body, carried = its results
//       for_loop i n top   or   jump_if cond top
// exit:
void BytecodeCompiler::emit_loop(const ir::Node* n) {
  const ir::Block* body = n->block_at(0);
  const ir::Value* next = body->outputs()[0];
  const ir::Value* trip = body->inputs()[0];
  const size_t carried = n->outputs().size();
  const std::optional<int64_t> known_count = constant_int(n->input(0));
  const bool counted = known_count != INT64_MAX;
  const bool counter = counted || trip->has_uses();

  // The registers that carry values from turn to turn, and the results behind the loop.
  std::vector<uint32_t> homes;
  std::vector<bool> was_reserved;
  std::vector<Move> moves;
  const Liveness::Values& dead = liveness_->deaths(n);
  for (size_t k = 0; k < carried; ++k) {
    const ir::Value* initial = root(n->input(k + 2));
    const RegisterClass c = class_of(n->outputs()[k]->type());
    const auto place = places_.find(initial);
    const bool ends_here =
        place != places_.end() && !place->second.borrowed && std::find(dead.begin(), dead.end(), initial) != dead.end();
    const auto is_taken = [&](uint32_t r) { return std::find(homes.begin(), homes.end(), r) != homes.end(); };
    const auto fits = [&](uint32_t r) { return registers_.class_at(r) == c && !is_taken(r); };
    const auto hint = hints_.find(n->outputs()[k]);
    uint32_t r = 0;
    if (hint != hints_.end() && fits(hint->second) &&
        (registers_.is_free(hint->second) || (ends_here && place->second.r == hint->second))) {
      r = hint->second;
    } else if (ends_here && fits(place->second.r)) {
      r = place->second.r;
    } else {
      r = registers_.take(c);
    }
    homes.push_back(r);
    was_reserved.push_back(registers_.is_reserved(r));
    registers_.reserve(r, true);
    registers_.take_this(r);
    moves.push_back({n->input(k + 2), local(r), c});
  }
  uint32_t i = 0;
  if (counter) {
    i = registers_.take_pair();
    registers_.reserve(i, true);
    registers_.reserve(i + 1, true);
    if (counted) {
      if (known_count)
        emit(Opcode::load_int, local(i + 1), 0, 0, *known_count);
      else
        emit(Opcode::move_word, local(i + 1), operand(n->input(0)));
    } else {
      emit(Opcode::load_int, local(i), 0, 0, -1);  // counted up when a turn begins
    }
  }
  const std::optional<bool> known_first = constant_bool(n->input(1));
  uint32_t first_copy = 0;
  bool has_copy = false;
  const auto home_of = [&](Draft d) {
    return std::any_of(homes.begin(), homes.end(), [&](uint32_t r) { return local(r) == d; });
  };
  // The first condition may be one of the initial values' registers, which the move overwrites.
  if (!known_first && home_of(operand(n->input(1)))) {
    first_copy = registers_.take(RegisterClass::bool_);
    has_copy = true;
    emit(Opcode::move_word, local(first_copy), operand(n->input(1)));
  }
  parallel_move(std::move(moves));
  Label& top = labels_.emplace_back();
  Label& exit = labels_.emplace_back();
  if (has_copy) {
    jump(Opcode::jump_unless, exit, local(first_copy));
    registers_.free(first_copy);
  } else {
    branch(n->input(1), false, exit);
  }
  for (const ir::Value* v : dead) {
    const auto place = places_.find(v);
    if (place == places_.end()) continue;
    const bool kept = std::find(homes.begin(), homes.end(), place->second.r) != homes.end();
    const bool moved = std::find(moved_.begin(), moved_.end(), v) != moved_.end();
    if (is_owned(v) && !moved && !kept) emit(Opcode::drop, local(place->second.r));
    if (!kept) registers_.free(place->second.r);
  }
  moved_.clear();
  taken_are_free_ = false;

  if (counted) jump(Opcode::for_prep, exit, local(i), local(i + 1));
  const Registers::Bits before = registers_.busy();
  bind(top);
  if (!counted) emit(Opcode::step);
  if (!counted && counter) emit(Opcode::count, local(i));
  if (counter) place(trip, i, true);
  std::vector<Move> passed;
  for (size_t k = 0; k < carried; ++k) {
    place(body->inputs()[k + 1], homes[k]);
    const ir::Value* out = root(body->outputs()[k + 1]);
    if (out->node()->block() == body && !out->node()->is(ir::kind::Param)) hints_.emplace(out, homes[k]);
    passed.push_back({body->outputs()[k + 1], local(homes[k]), class_of(n->outputs()[k]->type())});
  }
  block(body);

  // The next condition is read behind the moves, unless they overwrite its register.
  current_ = body->return_node();
  const std::optional<bool> known_next = constant_bool(next);
  Draft condition = kNowhere;
  uint32_t temporary = 0;
  const auto reads_home = [&](const auto& self, const ir::Value* v) -> bool {
    const ir::Value* r = root(v);
    if (r->node()->is(ir::kind::Constant)) return false;
    if (deferred_.contains(r->node())) {
      return std::any_of(r->node()->inputs().begin(), r->node()->inputs().end(),
                         [&](const ir::Value* input) { return self(self, input); });
    }
    return std::any_of(passed.begin(), passed.end(),
                       [&](const Move& m) { return m.to == operand(r) && operand(m.from) != m.to; });
  };
  if (!known_next && reads_home(reads_home, next)) {
    temporary = registers_.take(RegisterClass::bool_);
    condition = local(temporary);
    Label& is_true = labels_.emplace_back();
    emit(Opcode::load_int, condition, 0, 0, 1);
    branch(next, true, is_true);
    emit(Opcode::load_int, condition, 0, 0, 0);
    bind(is_true);
  }
  pass_results(body, std::move(passed));
  const bool never_again = known_next == false;
  if (!never_again) {
    const auto test = [&](bool when, Label& target) {
      if (condition != kNowhere)
        jump(when ? Opcode::jump_if : Opcode::jump_unless, target, condition);
      else
        branch(next, when, target);
    };
    if (counted) {
      if (!known_next) test(false, exit);
      jump(Opcode::for_loop, top, local(i), local(i + 1));
    } else {
      test(true, top);
    }
  }
  bind(exit);

  registers_.restore(before);
  if (counter) {
    for (const uint32_t r : {i, i + 1}) {
      registers_.reserve(r, false);
      registers_.free(r);
    }
  }
  for (size_t k = 0; k < carried; ++k) {
    registers_.reserve(homes[k], was_reserved[k]);
    registers_.take_this(homes[k]);
    place(n->outputs()[k], homes[k]);
  }
  for (const ir::Value* v : liveness_->ends(n)) drop(v);
}

void BytecodeCompiler::pass_results(const ir::Block* b, std::vector<Move> moves) {
  current_ = b->return_node();
  parallel_move(std::move(moves));
  moved_.clear();
  taken_are_free_ = false;
}

// A parallel move: a register is written only when no other move still reads it; a cycle is cut with a temporary.
void BytecodeCompiler::parallel_move(std::vector<Move> moves) {
  struct Pending {
    Move move;
    Draft from;
    bool dies;
  };
  std::vector<Pending> pending;
  std::vector<const ir::Value*> kept;
  for (const Move& m : moves) {
    const bool is_place = !root(m.from)->node()->is(ir::kind::Constant);
    const Draft from = operand(m.from);
    if (is_place && from == m.to && (is_owned(m.from) || is_word(m.from))) {
      kept.push_back(root(m.from));
      moved_.push_back(root(m.from));
    } else {
      pending.push_back({m, from, is_place && dies_here(m.from)});
    }
  }
  const auto stays = [&](size_t at) {  // another move still reads the source
    const ir::Value* r = root(pending[at].move.from);
    if (std::find(kept.begin(), kept.end(), r) != kept.end()) return true;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (i != at && root(pending[i].move.from) == r) return true;
    }
    return false;
  };
  std::vector<uint32_t> temporaries;
  while (!pending.empty()) {
    bool progress = false;
    for (size_t at = 0; at < pending.size();) {
      const bool blocked = std::any_of(pending.begin(), pending.end(), [&](const Pending& p) {
        return &p != &pending[at] && p.from == pending[at].move.to;
      });
      if (blocked) {
        ++at;
        continue;
      }
      const Pending p = pending[at];
      move_one(p.move, p.from, p.dies && !stays(at));
      if (p.dies) moved_.push_back(root(p.move.from));
      pending.erase(pending.begin() + static_cast<ptrdiff_t>(at));
      progress = true;
    }
    if (progress || pending.empty()) continue;
    const Draft from = pending[0].from;
    const RegisterClass c = registers_.class_at(from / 2);
    // Results of the function go to registers that may be free, and written already.
    const auto is_target = [&](uint32_t r) {
      return std::any_of(moves.begin(), moves.end(), [&](const Move& m) { return m.to == local(r); });
    };
    uint32_t t = registers_.take(c);
    for (; is_target(t); t = registers_.take(c)) temporaries.push_back(t);
    temporaries.push_back(t);
    emit(c == RegisterClass::value ? Opcode::move : Opcode::move_word, local(t), from);
    for (Pending& p : pending) {
      if (p.from == from) p.from = local(t);
    }
  }
  for (const uint32_t t : temporaries) registers_.free(t);
}

void BytecodeCompiler::move_one(const Move& m, Draft from, bool dies) {
  const bool from_constant = from >= kConstants && from < kWindow;
  const bool word_wanted = m.to_class != RegisterClass::value;
  if (from_constant) {
    const Value& v = constants_[(from - kConstants) / 2];
    if (word_wanted && !m.whole)
      emit(Opcode::load_int, m.to, 0, 0, v.tag() < Tag::tensor ? static_cast<int64_t>(v.bits()) : 0);
    else if (word_wanted && static_cast<uint8_t>(v.tag()) != tag_of(m.to_class))
      emit(Opcode::retag, m.to, from, tag_of(m.to_class));
    else
      emit(v.tag() < Tag::tensor ? Opcode::copy_bits : Opcode::copy, m.to, from);
    return;
  }
  const RegisterClass c = registers_.class_at(from / 2);
  if (word_wanted && (c == RegisterClass::value || c == RegisterClass::borrowed))  // as for casts: see emit_cast
    emit(Opcode::check_tag, from, tag_of(m.to_class));
  if (word_wanted && c == RegisterClass::value && dies) {
    m.whole ? emit(Opcode::retag, m.to, from, tag_of(m.to_class)) : emit(Opcode::move_word, m.to, from);
    emit(Opcode::drop, from);
    return;
  }
  if (word_wanted && !m.whole)
    emit(Opcode::move_word, m.to, from);
  else if (word_wanted && c != m.to_class)
    emit(Opcode::retag, m.to, from, tag_of(m.to_class));
  else if (c != RegisterClass::value && c != RegisterClass::borrowed)
    emit(Opcode::copy_bits, m.to, from);
  else
    emit(dies ? Opcode::move : Opcode::copy, m.to, from);
}

}  // namespace sconce::runtime
