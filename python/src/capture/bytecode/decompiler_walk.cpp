#include "capture/bytecode/decompiler.h"

#include <algorithm>

#include "capture/bytecode/opcodes.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture::decompiling {

bool Decompiler::covered(int at, int handler) const {
  int h = code_.instructions[at].handler;
  for (int steps = 0; h >= 0 && steps < 100; ++steps) {
    if (same_handler(h, handler)) return true;
    h = code_.instructions[code_.handlers[h].target].handler;  // the block around it
  }
  return false;
}

bool Decompiler::same_handler(int a, int b) const {
  return a == b || (a >= 0 && b >= 0 && code_.handlers[a].target == code_.handlers[b].target);
}

// A handler that only tidies up the frame on the way out: variables of `except ... as`, of comprehensions, the
// exception that was handled before.
bool Decompiler::only_tidies(int handler) const {
  for (size_t at = static_cast<size_t>(code_.handlers[handler].target); at < code_.instructions.size(); ++at) {
    switch (code_.instructions[at].op) {
      case Op::copy:
      case Op::pop_except:
      case Op::swap:
      case Op::pop_top:
      case Op::load_const:
      case Op::delete_fast:
      case Op::store_deref:
      case Op::delete_deref:
      case Op::nop:
      case Op::stop_iteration_error:
        continue;
      case Op::store_fast:
        if (code_.instructions[at - 1].op != Op::load_const && !is_put_aside(code_.instructions[at].arg)) return false;
        continue;
      case Op::reraise:
        return true;
      default:
        return false;
    }
  }
  return false;
}

// A local that a comprehension has put aside here, and not before this code was resumed.
bool Decompiler::is_put_aside(int slot) const {
  return std::ranges::any_of(code_.instructions,
                             [&](const Instruction& i) { return i.op == Op::load_fast_and_clear && i.arg == slot; });
}

// Falls through, or leads to the next round or the end of a loop: then the way is written.
bool Decompiler::arrives(int at, Stack& s) {
  if (!blocks_.empty() && blocks_.back().kind != Block::Kind::loop && blocks_.back().end == at) {
    meet(s);
    return true;
  }
  for (size_t i = blocks_.size(); i-- > 0;) {
    if (blocks_[i].kind != Block::Kind::loop) continue;
    if (blocks_[i].header == at) {
      meet(s);
      line("continue");
      return true;
    }
    if (blocks_[i].end == at) {
      meet(s);
      line("break");
      return true;
    }
    break;
  }
  return false;
}

// Writes a block in the one at hand.
void Decompiler::nested(const Block& block, int at, const Stack& s) {
  if (++depth_ > kDeepest) throw Unstructured{"blocks lie too deep in each other"};
  const auto renamed = renamed_;
  blocks_.push_back(block);
  ++indent_;
  const size_t start = lines_.size();
  walk(at, s);
  if (lines_.size() == start) line("pass");
  --indent_;
  blocks_.pop_back();
  renamed_ = renamed;
  --depth_;
}

void Decompiler::walk(int at, Stack s) {
  for (;;) {
    const bool entered = std::exchange(entered_, -1) == at;
    if (!entered && arrives(at, s)) return;
    const Instruction& i = code_.instructions[at];
    if (const int handler = outermost_open(at); handler >= 0) {
      at = write_guarded(at, handler, s);
      if (at < 0) return;
      continue;
    }
    if (i.op == Op::for_iter) {
      at = write_for(at, s);
      if (at < 0) return;
      continue;
    }
    if (flow_.is_header(at) && !entered) {
      at = write_while(at, s);
      if (at < 0) return;
      continue;
    }
    at = step(at, i, s);
    if (at < 0) return;
  }
}

// Of the handlers around an instruction, the outermost one whose block has not begun; -1 when all have.
int Decompiler::outermost_open(int at) const {
  int found = -1, h = code_.instructions[at].handler;
  for (int steps = 0; h >= 0 && steps < 100; ++steps) {
    if (!is_guarded(h) && !only_tidies(h)) found = h;
    h = code_.instructions[code_.handlers[h].target].handler;
  }
  return found;
}

bool Decompiler::is_guarded(int handler) const {
  for (const Block& b : blocks_)
    if (b.kind == Block::Kind::guarded && same_handler(b.handler, handler)) return true;
  return false;
}

// One instruction; the next one, or -1 at the end of the way.
int Decompiler::step(int at, const Instruction& i, Stack& s) {
  switch (i.op) {
    case Op::jump:
      return i.target;
    case Op::jump_if_true:
    case Op::jump_if_false:
    case Op::jump_if_none:
    case Op::jump_if_not_none: {
      const Entry tested = pop(s);
      const std::string text = i.op == Op::jump_if_true    ? "not " + operand(tested)
                               : i.op == Op::jump_if_false ? shown(tested)
                               : i.op == Op::jump_if_none  ? operand(tested) + " is not None"
                                                           : operand(tested) + " is None";
      return write_if(at, text, i.target, s, s, s);
    }
    case Op::jump_if_true_or_pop:
    case Op::jump_if_false_or_pop: {
      meet(s);
      const std::string tested = shown(peek(s, 1));
      Stack popped = s;
      popped.pop_back();
      return write_if(at, i.op == Op::jump_if_true_or_pop ? "not " + tested : tested, i.target, popped, s, s);
    }
    case Op::return_value: {
      const std::string result = pop_text(s);
      if (code_.flags & CO_GENERATOR && result == "None")
        statement(s, "return");
      else
        statement(s, "return " + result);
      return -1;
    }
    case Op::raise_varargs: {
      std::vector<std::string> texts = pop_texts(s, i.arg);
      statement(s, i.arg == 0 ? "raise" : i.arg == 1 ? "raise " + texts[0] : "raise " + texts[0] + " from " + texts[1]);
      return -1;
    }
    case Op::reraise: {
      const std::string error = pop_text(s);
      line(error.starts_with("___e") ? "raise" : "raise " + error);
      return -1;
    }
    case Op::push_exc_info:
      return write_handler(at, s);
    case Op::before_with:
      return write_with(at, s);
    case Op::get_yield_from_iter:
      return write_yield_from(at, s);
    default:
      return plain(at, i, s);
  }
}

// if text: (what follows) else: (what is jumped to). Leaves the stack where both meet, and returns that place.
int Decompiler::write_if(int at, const std::string& text, int target, Stack follow, Stack jumped, Stack& s) {
  for (size_t i = 0; i < follow.size(); ++i) {
    keep(follow[i]);
    jumped[i] = follow[i];
  }
  int join = flow_.join(at);
  for (const Block& b : blocks_)
    if (b.kind == Block::Kind::loop && (b.header == join || b.end == join)) join = -1;
  line("if " + text + ":");
  nested({Block::Kind::join, join}, at + 1, follow);
  s = jumped;
  if (join < 0) return target;  // what follows has ended: no else is needed
  if (target != join || needs_meeting(jumped)) {
    line("else:");
    nested({Block::Kind::join, join}, target, jumped);
  }
  resume_at(join, s);
  return join;
}

bool Decompiler::needs_meeting(const Stack& s) {
  for (size_t i = 0; i < s.size(); ++i)
    if (!is_mark(s[i]) && !(s[i].kind == Entry::Kind::value && s[i].text == "___s" + std::to_string(i))) return true;
  return false;
}

// A value in a variable of its own: those of the stack are about to be written.
std::string Decompiler::moved(const std::string& text) {
  const std::string variable = fresh("t");
  line(variable + " = " + text);
  return variable;
}

// The stack where ways have met at an instruction.
void Decompiler::resume_at(int at, Stack& s) {
  const size_t depth = depth_at(at);
  while (s.size() > depth) s.pop_back();
  while (s.size() < depth) s.emplace_back();
  for (size_t i = 0; i < depth; ++i)
    if (!is_mark(s[i])) s[i] = stable("___s" + std::to_string(i));
}

size_t Decompiler::depth_at(int at) {
  if (depths_.empty()) depths_ = stack_depths(code_);
  if (depths_[at] < 0) throw Unstructured{"ways meet where none leads"};
  return static_cast<size_t>(depths_[at]);
}

int Decompiler::write_for(int at, Stack& s) {
  const Instruction& i = code_.instructions[at];
  Entry iterator = pop(s);
  for (Entry& e : s) keep(e);
  std::string over = iterator.kind == Entry::Kind::iterator ? iterator.text : shown(iterator);
  if (over.starts_with("iter(") && iterator.kind == Entry::Kind::value && !iterator.stable && ends_call(over))
    over = over.substr(5, over.size() - 6);
  if (needs_meeting(s)) over = moved(over);
  meet(s);
  int body = at + 1;
  std::string target;
  Stack inside = s;
  Entry mark = value("");
  mark.kind = Entry::Kind::iterator;
  inside.push_back(mark);
  std::vector<int> stores = stores_from(body, 1);
  if (stores.size() == 1 && !header_or_target(body)) {
    target = stored(stores[0]);
    ++body;
  } else if (code_.instructions[body].op == Op::unpack_sequence &&
             stores_from(body + 1, code_.instructions[body].arg).size() ==
                 static_cast<size_t>(code_.instructions[body].arg)) {
    const int n = code_.instructions[body].arg;
    for (int k = 0; k < n; ++k) target += (k ? ", " : "") + stored(body + 1 + k);
    if (n == 1) target += ",";
    body += n + 1;
  } else {
    target = fresh("v");
    inside.push_back(stable(target));
  }
  line("for " + target + " in " + over + ":");
  const int end = flow_.after_loop(at);
  nested({Block::Kind::loop, end, at}, body, inside);
  drop_last("continue");
  return after_loop(i.target, end, s);
}

// What comes behind a loop that has ended by itself; where `break` leads, when both differ.
int Decompiler::after_loop(int exit, int end, Stack& s) {
  if (end < 0 || end == exit) return exit;
  line("else:");
  nested({Block::Kind::join, end}, exit, s);
  resume_at(end, s);
  return end;
}

bool Decompiler::ends_call(const std::string& text) {  // iter(...) and nothing behind
  int open = 0;
  for (size_t i = 4; i < text.size(); ++i) {
    if (text[i] == '\'' || text[i] == '"') return false;
    if (text[i] == '(') ++open;
    if (text[i] == ')' && --open == 0) return i + 1 == text.size();
  }
  return false;
}

void Decompiler::drop_last(const char* statement) {
  const std::string last = std::string(static_cast<size_t>(indent_ + 1) * 4, ' ') + statement;
  if (lines_.size() > 1 && lines_.back() == last && !lines_[lines_.size() - 2].ends_with(":")) lines_.pop_back();
}

int Decompiler::write_while(int at, Stack& s) {
  meet(s);
  line("while True:");
  const int end = flow_.after_loop(at);
  entered_ = at;  // the header itself, which is met at once
  nested({Block::Kind::loop, end, at}, at, s);
  drop_last("continue");
  if (end < 0) return -1;
  resume_at(end, s);
  return end;
}

// try: (what the handler covers) except BaseException as e: (the handler)
int Decompiler::write_guarded(int at, int handler, Stack& s) {
  const Handler& h = code_.handlers[handler];
  meet(s);
  // Behind all that is covered, and behind the handler, which has more on the stack.
  int end = at;
  while (end >= 0 && (covered(end, handler) || depth_at(end) > static_cast<size_t>(h.depth))) end = flow_.join(end);
  if (end < 0) end = flow_.join(h.target);
  while (end >= 0 && depth_at(end) > static_cast<size_t>(h.depth)) end = flow_.join(end);
  line("try:");
  nested({Block::Kind::guarded, end, -1, handler}, at, s);
  const std::string error = fresh("e");
  line("except BaseException as " + error + ":");
  Stack raised(s.begin(), s.begin() + std::min(static_cast<ptrdiff_t>(s.size()), static_cast<ptrdiff_t>(h.depth)));
  if (h.push_lasti) raised.push_back(stable("0"));
  raised.push_back(stable(error));
  nested({Block::Kind::join, end}, h.target, raised);
  if (end < 0) return -1;
  resume_at(end, s);
  return end;
}

// The beginning of a handler: the exception is the one that is being handled. Resume code may begin with one, and has
// the exception as an argument: it is raised again.
int Decompiler::write_handler(int at, Stack& s) {
  Entry error = pop(s), null;
  null.kind = Entry::Kind::null;
  Stack inside = s;
  inside.push_back(null);
  if (error.text.starts_with("___e")) {
    inside.push_back(error);
    s = inside;
    return at + 1;
  }
  const std::string raised = needs_meeting(s) ? moved(shown(error)) : shown(error), name = fresh("e");
  meet(s);
  int end = flow_.join(at);
  while (end >= 0 && depth_at(end) > s.size()) end = flow_.join(end);
  line("try:");
  line("    raise " + raised);
  line("except BaseException as " + name + ":");
  inside = s;
  inside.push_back(null);
  inside.push_back(stable(name));
  nested({Block::Kind::join, end}, at + 1, inside);
  if (end < 0) return -1;
  resume_at(end, s);
  return end;
}

// with m as x: (what the handler covers)
int Decompiler::write_with(int at, Stack& s) {
  const int first = at + 1;
  const int handler = code_.instructions[first].handler;
  if (handler < 0) throw Unstructured();
  const auto& all = code_.instructions;
  const size_t target = static_cast<size_t>(code_.handlers[handler].target);
  if (all[target].op != Op::push_exc_info || all[target + 1].op != Op::with_except_start) throw Unstructured();
  std::string manager = pop_text(s);
  settle(s);
  if (needs_meeting(s)) manager = moved(manager);
  meet(s);
  Stack inside = s;
  Entry exit = value("");
  exit.kind = Entry::Kind::exit;
  inside.push_back(exit);
  int body = first;
  std::string as;
  if (all[body].op == Op::pop_top) {
    ++body;
  } else if (stores_from(body, 1).size() == 1) {
    as = " as " + stored(body);
    ++body;
  } else {
    const std::string entered = fresh("v");
    as = " as " + entered;
    inside.push_back(stable(entered));
  }
  int end = body;
  while (end >= 0 && (covered(end, handler) || depth_at(end) > s.size())) end = flow_.join(end);
  line("with " + manager + as + ":");
  nested({Block::Kind::guarded, end, -1, handler}, body, inside);
  if (end < 0) return -1;
  resume_at(end, s);
  return end;
}

// get_yield_from_iter, load_const None, L: send X, yield_value, resume, jump L
int Decompiler::write_yield_from(int at, Stack& s) {
  const auto& all = code_.instructions;
  for (int k = at + 1; k < at + 6 && static_cast<size_t>(k) < all.size(); ++k) {
    if (all[k].op != Op::send) continue;
    int next = all[k].target;
    if (all[next].op == Op::end_send) ++next;
    const std::string over = pop_text(s);
    s.push_back(value("yield from " + over, false));
    keep(s.back());
    return next;
  }
  throw Unstructured();
}

bool Decompiler::is_store(int at) const {
  if (static_cast<size_t>(at) >= code_.instructions.size()) return false;
  const Op op = code_.instructions[at].op;
  return op == Op::store_fast || op == Op::store_deref || op == Op::store_global;
}

std::vector<int> Decompiler::stores_from(int at, int n) const {
  std::vector<int> found;
  for (int k = 0; k < n && is_store(at + k); ++k) found.push_back(at + k);
  return found;
}

std::string Decompiler::stored(int at) const {
  const Instruction& i = code_.instructions[at];
  return i.op == Op::store_global ? name(i.arg) : local(i.arg);
}

}  // namespace sconce::python::capture::decompiling
