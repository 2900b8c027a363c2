// Note [Sources from stacks]
// The stack is a list of expressions while instructions are walked. Whatever runs code or could change goes into a
// variable before a statement is written, so that the text keeps the order of the code. Where branches meet, entry
// number n of the stack is the variable ___sn. A way through the code that leaves its loop or block without meeting the
// others is written out to its end, so that code may appear twice but never in another order; kMost bounds that.
#include "capture/bytecode/decompile.h"

#include <algorithm>
#include <map>
#include <set>

#include "capture/bytecode/flow.h"
#include "capture/bytecode/listing.h"
#include "capture/bytecode/literals.h"
#include "capture/bytecode/opcodes.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

namespace {

PyObject* unseen_function = nullptr;  // by show_as_call_of_argument
const std::string kUnseen = "___unseen";

constexpr size_t kMost = 4000;  // lines
constexpr int kDeepest = 60;    // blocks in each other

struct Unstructured {  // no source is found
  const char* why = "instructions that no source has";
};

// An entry of the stack.
struct Entry {
  enum class Kind : uint8_t { value, null, iterator, exit, saved, list, set, dict } kind = Kind::value;
  std::string text;
  bool atom = true;     // needs no parentheses
  bool stable = false;  // neither runs code nor changes: literals and variables of ours
  int slot = -1;        // of a local whose value it is: stable until that is written
};

// What the walk is inside of.
struct Block {
  enum class Kind : uint8_t { join, loop, guarded } kind;
  int end = -1;      // where it falls through to: of loops, where break leads
  int header = -1;   // of loops
  int handler = -1;  // of guarded blocks
};

using Stack = std::vector<Entry>;

class Decompiler {
 public:
  Decompiler(const Code& code, int indent, std::vector<std::pair<std::string, Owned>>& objects, int& counter)
      : code_(code), flow_(code), indent_(indent), objects_(objects), counter_(counter) {}

  std::string run(const std::string& name) {
    if (code_.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) throw Unstructured{"coroutines are not shown as source"};
    line("def " + name + "(" + parameters() + "):");
    ++indent_;
    const size_t start = lines_.size();
    declare();
    walk(0, {});
    if (lines_.size() == start) line("pass");
    std::string out;
    for (const std::string& l : lines_) out += l + "\n";
    return out;
  }

 private:
  // ---- Texts.

  void line(const std::string& text) {
    if (lines_.size() >= kMost) throw Unstructured{"the source would be too long"};
    lines_.push_back(std::string(static_cast<size_t>(indent_) * 4, ' ') + text);
  }
  std::string fresh(const char* what) { return "___" + std::string(what) + std::to_string(counter_++); }

  std::string local(int slot) const {
    const auto renamed = renamed_.find(slot);
    if (renamed != renamed_.end()) return renamed->second;
    std::string name(text_of(code_.locals[slot].get()));
    if (!is_identifier(code_.locals[slot].get())) {
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      name = "___" + name;  // ".0" of comprehensions
    }
    return name;
  }
  std::string name(int index) const { return std::string(text_of(code_.names[index].get())); }

  std::string object(PyObject* constant) {
    for (const auto& [known, o] : objects_)
      if (o.get() == constant) return known;
    const std::string base = object_name(constant);
    std::string chosen = base;
    const auto taken = [&](const std::string& n) {
      for (const auto& [known, o] : objects_)
        if (known == n) return true;
      for (size_t s = 0; s < code_.locals.size(); ++s)
        if (local(static_cast<int>(s)) == n) return true;
      for (const Owned& global : code_.names)
        if (text_of(global.get()) == n) return true;
      return false;
    };
    for (int i = 1; taken(chosen); ++i) chosen = base + "_" + std::to_string(i);
    objects_.emplace_back(chosen, Owned::share(constant));
    return chosen;
  }

  // A function of Python's that the text calls on its own: by another name where the code has that one for something
  // else.
  std::string builtin(const char* name) {
    const auto equal = [&](const Owned& other) { return PyUnicode_CompareWithASCIIString(other.get(), name) == 0; };
    if (std::ranges::none_of(code_.locals, equal) && std::ranges::none_of(code_.names, equal)) return name;
    const Owned builtins = Owned::take(PyImport_ImportModule("builtins"));
    const Owned found = Owned::take(PyObject_GetAttrString(builtins.get(), name));
    return object(found.get());
  }

  std::string parameters() const {
    std::string out;
    int slot = 0;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    for (; slot < code_.argument_count; ++slot) {
      add(local(slot));
      if (slot + 1 == code_.positional_only) add("/");
    }
    const int keywords = slot + code_.keyword_only;
    if (code_.flags & CO_VARARGS)
      add("*" + local(keywords));
    else if (code_.keyword_only)
      add("*");
    for (; slot < keywords; ++slot) add(local(slot));
    if (code_.flags & CO_VARKEYWORDS) add("**" + local(keywords + !!(code_.flags & CO_VARARGS)));
    return out;
  }

  // Names that are written here and belong to others.
  void declare() {
    std::set<std::string> global, nonlocal;
    for (const Instruction& i : code_.instructions) {
      if (i.op == Op::store_global || i.op == Op::delete_global) global.insert(name(i.arg));
      if ((i.op == Op::store_deref || i.op == Op::delete_deref) && (code_.kinds[i.arg] & 0x80))
        nonlocal.insert(local(i.arg));
    }
    const bool named = is_identifier(code_.name.get());
    if (named && !code_.constants.empty() && PyUnicode_CheckExact(code_.constants[0].get()))
      line(*literal(code_.constants[0].get()));
    for (size_t slot = static_cast<size_t>(code_.slots()); slot < code_.kinds.size(); ++slot) {
      // A local all the same: of functions inside, or unbound.
      const bool bound = std::ranges::any_of(code_.instructions, [&](const Instruction& i) {
        return (i.op == Op::store_deref || i.op == Op::store_fast) && i.arg == static_cast<int>(slot);
      });
      const bool read = std::ranges::any_of(code_.instructions, [&](const Instruction& i) {
        return (i.op == Op::load_fast || i.op == Op::load_fast_check) && i.arg == static_cast<int>(slot);
      });
      if (!bound && ((code_.kinds[slot] & 0x40) || (read && code_.kinds[slot] == 0x20)))
        line("if False: " + local(static_cast<int>(slot)) + " = None");
    }
    // super() looks for its class in the frame; the compiler puts it there where it sees the name.
    for (size_t slot = 0; slot < code_.kinds.size(); ++slot)
      if ((code_.kinds[slot] & 0x80) && local(static_cast<int>(slot)) == "__class__") line("__class__");
    for (const std::string& n : global) line("global " + n);
    for (const std::string& n : nonlocal) line("nonlocal " + n);
  }

  // ---- The stack.

  static Entry value(std::string text, bool atom = true) {
    Entry e;
    e.text = std::move(text);
    e.atom = atom;
    return e;
  }
  static Entry stable(std::string text) {
    Entry e = value(std::move(text));
    e.stable = true;
    return e;
  }
  static bool is_mark(const Entry& e) {
    return e.kind == Entry::Kind::null || e.kind == Entry::Kind::iterator || e.kind == Entry::Kind::exit ||
           e.kind == Entry::Kind::saved;
  }
  static std::string shown(const Entry& e) {
    switch (e.kind) {
      case Entry::Kind::list:
        return "[" + e.text + "]";
      case Entry::Kind::set:
        return e.text.empty() ? "set()" : "{" + e.text + "}";
      case Entry::Kind::dict:
        return "{" + e.text + "}";
      case Entry::Kind::value:
        return e.text;
      default:
        throw Unstructured{"a null or an iterator is used as a value"};
    }
  }
  static std::string operand(const Entry& e) {
    return e.atom || e.kind != Entry::Kind::value ? shown(e) : "(" + e.text + ")";
  }
  static std::string attribute_of(const Entry& e) {  // 3 .real
    const std::string text = operand(e);
    return std::isdigit(static_cast<unsigned char>(text[0])) ? "(" + text + ")" : text;
  }
  static Entry pop(Stack& s) {
    if (s.empty()) throw Unstructured{"the stack is empty"};
    Entry e = std::move(s.back());
    s.pop_back();
    return e;
  }
  static std::string pop_text(Stack& s) { return shown(pop(s)); }
  static std::string pop_operand(Stack& s) { return operand(pop(s)); }
  static Entry& peek(Stack& s, int below) {
    if (below < 1 || static_cast<size_t>(below) > s.size()) throw Unstructured{"the stack is too short"};
    return s[s.size() - static_cast<size_t>(below)];
  }
  // Texts of the last n entries, the deepest first.
  static std::vector<std::string> pop_texts(Stack& s, int n) {
    std::vector<std::string> texts(static_cast<size_t>(n));
    for (size_t i = texts.size(); i-- > 0;) texts[i] = pop_text(s);
    return texts;
  }
  static std::string joined(const std::vector<std::string>& texts, size_t from = 0) {
    std::string out;
    for (size_t i = from; i < texts.size(); ++i) out += (i > from ? ", " : "") + texts[i];
    return out;
  }

  void keep(Entry& e) {
    if (is_mark(e) || e.stable) return;
    const std::string variable = fresh("t");
    line(variable + " = " + shown(e));
    e = stable(variable);
  }
  void keep_running(Stack& s) {  // all but names of locals
    for (Entry& e : s)
      if (e.slot < 0) keep(e);
  }
  // Before a statement: what the stack holds is computed. A local that the statement does not write may stay a name.
  void settle(Stack& s, int written = -1) {
    for (Entry& e : s)
      if (!(e.slot >= 0 && e.slot != written)) keep(e);
  }
  void statement(Stack& s, const std::string& text, int written = -1) {
    settle(s, written);
    line(text);
  }
  // Where ways meet: every entry is in its variable.
  void meet(Stack& s) {
    std::vector<std::string> to, from;
    for (size_t i = 0; i < s.size(); ++i) {
      const std::string variable = "___s" + std::to_string(i);
      if (is_mark(s[i]) || (s[i].kind == Entry::Kind::value && s[i].text == variable)) continue;
      to.push_back(variable);
      from.push_back(shown(s[i]));
      s[i] = stable(variable);
    }
    if (!to.empty()) line(joined(to) + " = " + joined(from));
  }

  // ---- The walk.

  bool covered(int at, int handler) const {
    int h = code_.instructions[at].handler;
    for (int steps = 0; h >= 0 && steps < 100; ++steps) {
      if (same_handler(h, handler)) return true;
      h = code_.instructions[code_.handlers[h].target].handler;  // the block around it
    }
    return false;
  }
  bool same_handler(int a, int b) const {
    return a == b || (a >= 0 && b >= 0 && code_.handlers[a].target == code_.handlers[b].target);
  }
  // A handler that only tidies up the frame on the way out: variables of `except ... as`, of comprehensions, the
  // exception that was handled before.
  bool only_tidies(int handler) const {
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
          if (code_.instructions[at - 1].op != Op::load_const && !is_put_aside(code_.instructions[at].arg))
            return false;
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
  bool is_put_aside(int slot) const {
    return std::ranges::any_of(code_.instructions,
                               [&](const Instruction& i) { return i.op == Op::load_fast_and_clear && i.arg == slot; });
  }

  // Falls through, or leads to the next round or the end of a loop: then the way is written.
  bool arrives(int at, Stack& s) {
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
  void nested(const Block& block, int at, const Stack& s) {
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

  void walk(int at, Stack s) {
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
  int outermost_open(int at) const {
    int found = -1, h = code_.instructions[at].handler;
    for (int steps = 0; h >= 0 && steps < 100; ++steps) {
      if (!is_guarded(h) && !only_tidies(h)) found = h;
      h = code_.instructions[code_.handlers[h].target].handler;
    }
    return found;
  }
  bool is_guarded(int handler) const {
    for (const Block& b : blocks_)
      if (b.kind == Block::Kind::guarded && same_handler(b.handler, handler)) return true;
    return false;
  }

  // One instruction; the next one, or -1 at the end of the way.
  int step(int at, const Instruction& i, Stack& s) {
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
        statement(s, i.arg == 0   ? "raise"
                     : i.arg == 1 ? "raise " + texts[0]
                                  : "raise " + texts[0] + " from " + texts[1]);
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
  int write_if(int at, const std::string& text, int target, Stack follow, Stack jumped, Stack& s) {
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

  static bool needs_meeting(const Stack& s) {
    for (size_t i = 0; i < s.size(); ++i)
      if (!is_mark(s[i]) && !(s[i].kind == Entry::Kind::value && s[i].text == "___s" + std::to_string(i))) return true;
    return false;
  }

  // A value in a variable of its own: those of the stack are about to be written.
  std::string moved(const std::string& text) {
    const std::string variable = fresh("t");
    line(variable + " = " + text);
    return variable;
  }

  // The stack where ways have met at an instruction.
  void resume_at(int at, Stack& s) {
    const size_t depth = depth_at(at);
    while (s.size() > depth) s.pop_back();
    while (s.size() < depth) s.emplace_back();
    for (size_t i = 0; i < depth; ++i)
      if (!is_mark(s[i])) s[i] = stable("___s" + std::to_string(i));
  }
  size_t depth_at(int at) {
    if (depths_.empty()) depths_ = stack_depths(code_);
    if (depths_[at] < 0) throw Unstructured{"ways meet where none leads"};
    return static_cast<size_t>(depths_[at]);
  }

  int write_for(int at, Stack& s) {
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
  int after_loop(int exit, int end, Stack& s) {
    if (end < 0 || end == exit) return exit;
    line("else:");
    nested({Block::Kind::join, end}, exit, s);
    resume_at(end, s);
    return end;
  }

  static bool ends_call(const std::string& text) {  // iter(...) and nothing behind
    int open = 0;
    for (size_t i = 4; i < text.size(); ++i) {
      if (text[i] == '\'' || text[i] == '"') return false;
      if (text[i] == '(') ++open;
      if (text[i] == ')' && --open == 0) return i + 1 == text.size();
    }
    return false;
  }

  void drop_last(const char* statement) {
    const std::string last = std::string(static_cast<size_t>(indent_ + 1) * 4, ' ') + statement;
    if (lines_.size() > 1 && lines_.back() == last && !lines_[lines_.size() - 2].ends_with(":")) lines_.pop_back();
  }

  int write_while(int at, Stack& s) {
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
  int write_guarded(int at, int handler, Stack& s) {
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
  int write_handler(int at, Stack& s) {
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
  int write_with(int at, Stack& s) {
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
  int write_yield_from(int at, Stack& s) {
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

  // ---- Stores.

  bool is_store(int at) const {
    if (static_cast<size_t>(at) >= code_.instructions.size()) return false;
    const Op op = code_.instructions[at].op;
    return op == Op::store_fast || op == Op::store_deref || op == Op::store_global;
  }
  bool header_or_target(int at) const { return flow_.is_header(at); }
  std::vector<int> stores_from(int at, int n) const {
    std::vector<int> found;
    for (int k = 0; k < n && is_store(at + k); ++k) found.push_back(at + k);
    return found;
  }
  std::string stored(int at) const {
    const Instruction& i = code_.instructions[at];
    return i.op == Op::store_global ? name(i.arg) : local(i.arg);
  }

  // ---- Instructions without branches; the next one.

  int plain(int at, const Instruction& i, Stack& s) {
    const auto push = [&](std::string text, bool atom = true) { s.push_back(value(std::move(text), atom)); };
    switch (i.op) {
      case Op::nop:
      case Op::resume:
      case Op::make_cell:
      case Op::copy_free_vars:
      case Op::pop_except:
      case Op::end_for:
        if (i.op == Op::pop_except) pop(s);
        return at + 1;
      case Op::return_generator:
        s.push_back(stable("None"));
        return at + 1;
      case Op::push_null: {
        Entry null;
        null.kind = Entry::Kind::null;
        s.push_back(null);
        return at + 1;
      }
      case Op::pop_top:
        drop(s);
        return at + 1;
      case Op::copy: {
        const Entry& e = peek(s, i.arg);
        if (!is_mark(e) && !e.stable && e.slot < 0) keep_running(s);
        s.push_back(Entry(peek(s, i.arg)));
        return at + 1;
      }
      case Op::swap: {
        keep_running(s);
        std::swap(peek(s, 1), peek(s, i.arg));
        return at + 1;
      }
      case Op::load_const: {
        PyObject* constant = code_.constants[i.arg].get();
        if (PyCode_Check(constant) && code_.instructions[at + 1].op == Op::make_function)
          return write_function(at, reinterpret_cast<PyCodeObject*>(constant), s);
        const std::optional<std::string> text = literal(constant);
        Entry e = stable(text ? *text : constant == unseen_function ? kUnseen : object(constant));
        e.atom = !(text && text->starts_with("-"));
        s.push_back(e);
        return at + 1;
      }
      case Op::load_fast:
      case Op::load_fast_check: {
        Entry e = value(local(i.arg));
        e.slot = i.arg;
        s.push_back(e);
        return at + 1;
      }
      case Op::load_closure:
        s.push_back(stable(local(i.arg)));
        return at + 1;
      case Op::load_fast_and_clear:
        if (is_stack_argument(i.arg)) {
          Entry e = value(local(i.arg));
          e.slot = i.arg;
          s.push_back(e);
          return at + 1;
        }
        {  // a variable of a comprehension, which has its own until the old one is back
          Entry saved;
          saved.kind = Entry::Kind::saved;
          saved.slot = i.arg;
          s.push_back(saved);
          if (code_.kinds[i.arg] & 0xc0) throw Unstructured{"a comprehension whose variable is kept by functions"};
          renamed_.erase(i.arg);
          renamed_[i.arg] = fresh("c") + "_" + local(i.arg);
          return at + 1;
        }
      case Op::store_fast:
      case Op::store_deref:
      case Op::store_global:
        return store(at, i, s);
      case Op::delete_fast:
      case Op::delete_deref:
        if (is_stack_argument(i.arg)) return at + 1;  // of resume code, which has put it on the stack
        statement(s, "del " + local(i.arg), i.arg);
        return at + 1;
      case Op::delete_global:
        statement(s, "del " + name(i.arg));
        return at + 1;
      case Op::load_global:
        push(name(i.arg));
        return at + 1;
      case Op::load_deref:
        push(local(i.arg));
        return at + 1;
      case Op::load_attr:
        push(attribute_of(pop(s)) + "." + name(i.arg));
        return at + 1;
      case Op::load_method: {
        const std::string method = attribute_of(pop(s)) + "." + name(i.arg);
        push_callable(s, method);
        return at + 1;
      }
      case Op::load_super_attr:
      case Op::load_super_method: {
        const std::string self = pop_text(s), type = pop_text(s), super = pop_operand(s);
        const std::string text =
            super + (i.arg & 1 && super == "super" ? "()" : "(" + type + ", " + self + ")") + "." + name(i.arg >> 1);
        if (i.op == Op::load_super_method)
          push_callable(s, text);
        else
          push(text);
        return at + 1;
      }
      case Op::store_attr: {
        const std::string of = pop_operand(s), given = pop_text(s);
        statement(s, of + "." + name(i.arg) + " = " + given);
        return at + 1;
      }
      case Op::delete_attr: {
        const std::string of = pop_operand(s);
        statement(s, "del " + of + "." + name(i.arg));
        return at + 1;
      }
      case Op::load_assertion_error:
        push("AssertionError");
        return at + 1;
      case Op::unary_positive:
        push("+" + pop_operand(s), false);
        return at + 1;
      case Op::unary_negative:
        push("-" + pop_operand(s), false);
        return at + 1;
      case Op::unary_not:
        push("not " + pop_operand(s), false);
        return at + 1;
      case Op::unary_invert:
        push("~" + pop_operand(s), false);
        return at + 1;
      case Op::to_bool:
        if (code_.instructions[at + 1].op != Op::jump_if_true && code_.instructions[at + 1].op != Op::jump_if_false &&
            code_.instructions[at + 1].op != Op::unary_not)
          push(builtin("bool") + "(" + pop_text(s) + ")");
        return at + 1;
      case Op::binary_op:
        return binary(at, i, s);
      case Op::compare: {
        const std::string right = pop_operand(s), left = pop_operand(s);
        push(left + " " + kCompareSigns[i.arg] + " " + right, false);
        return at + 1;
      }
      case Op::is_op: {
        const std::string right = pop_operand(s), left = pop_operand(s);
        push(left + (i.arg ? " is not " : " is ") + right, false);
        return at + 1;
      }
      case Op::contains_op: {
        const std::string right = pop_operand(s), left = pop_operand(s);
        push(left + (i.arg ? " not in " : " in ") + right, false);
        return at + 1;
      }
      case Op::subscript: {
        const std::string key = pop_text(s), of = pop_operand(s);
        push(of + "[" + key + "]");
        return at + 1;
      }
      case Op::store_subscript: {
        const std::string key = pop_text(s), of = pop_operand(s), given = pop_text(s);
        statement(s, of + "[" + key + "] = " + given);
        return at + 1;
      }
      case Op::delete_subscript: {
        const std::string key = pop_text(s), of = pop_operand(s);
        statement(s, "del " + of + "[" + key + "]");
        return at + 1;
      }
      case Op::build_slice: {
        const std::string arguments = joined(pop_texts(s, i.arg));
        push(builtin("slice") + "(" + arguments + ")");
        return at + 1;
      }
      default:
        return containers(at, i, s);
    }
  }

  bool is_stack_argument(int slot) const {
    return slot < code_.argument_count && text_of(code_.locals[slot].get()).starts_with("___stack");
  }

  // A method with its self: one expression, with a mark where the other entry lies.
  static void push_callable(Stack& s, const std::string& text) {
    Entry null;
    null.kind = Entry::Kind::null;
    if (!null_is_above) s.push_back(null);
    s.push_back(value(text));
    if (null_is_above) s.push_back(null);
  }

  void drop(Stack& s) {
    const Entry e = pop(s);
    if (is_mark(e) || e.stable || e.slot >= 0) return;
    statement(s, shown(e));
  }

  int store(int at, const Instruction& i, Stack& s) {
    const Entry e = pop(s);
    if (e.kind == Entry::Kind::saved) {  // the variable that a comprehension had put aside is back
      renamed_.erase(e.slot);
      return at + 1;
    }
    if (i.op == Op::store_fast && (code_.kinds[i.arg] & 0xc0))
      throw Unstructured{"a comprehension whose variable is kept by functions"};
    const std::string to = stored(at);
    const int written = i.op == Op::store_global ? -1 : i.arg;
    const std::string given = shown(e);
    settle(s, written);
    if (given != to) line(to + " = " + given);
    return at + 1;
  }

  int binary(int at, const Instruction& i, Stack& s) {
    const Entry right = pop(s), left = pop(s);
    const int op = i.arg % 13;
    if (i.arg < 13) {
      s.push_back(value(operand(left) + " " + kBinarySigns[op] + " " + operand(right), false));
      return at + 1;
    }
    if (is_store(at + 1) && stored(at + 1) == shown(left) && !flow_.is_header(at + 1)) {
      const std::string given = shown(right);
      settle(s, code_.instructions[at + 1].op == Op::store_global ? -1 : code_.instructions[at + 1].arg);
      line(shown(left) + " " + kBinarySigns[op] + "= " + given);
      return at + 2;
    }
    // In place: into a variable, so that it is one statement of Python too.
    const std::string variable = fresh("t");
    settle(s);
    const std::string given = shown(right);
    const std::string before = shown(left);
    if (right.stable || right.slot >= 0) {
      line(variable + " = " + before);
      line(variable + " " + kBinarySigns[op] + "= " + given);
    } else {
      const std::string other = fresh("t");
      line(variable + " = " + before);
      line(other + " = " + given);
      line(variable + " " + kBinarySigns[op] + "= " + other);
    }
    s.push_back(stable(variable));
    return at + 1;
  }

  int containers(int at, const Instruction& i, Stack& s) {
    const auto push = [&](std::string text, bool atom = true) { s.push_back(value(std::move(text), atom)); };
    const auto display = [&](Entry::Kind kind, std::string text) {
      Entry e = value(std::move(text));
      e.kind = kind;
      s.push_back(e);
    };
    switch (i.op) {
      case Op::build_tuple: {
        const std::vector<std::string> texts = pop_texts(s, i.arg);
        push("(" + joined(texts) + (texts.size() == 1 ? ",)" : ")"));
        return at + 1;
      }
      case Op::build_list:
        display(Entry::Kind::list, joined(pop_texts(s, i.arg)));
        return at + 1;
      case Op::build_set:
        display(Entry::Kind::set, joined(pop_texts(s, i.arg)));
        return at + 1;
      case Op::build_map: {
        const std::vector<std::string> texts = pop_texts(s, 2 * i.arg);
        std::string out;
        for (size_t k = 0; k < texts.size(); k += 2) out += (k ? ", " : "") + texts[k] + ": " + texts[k + 1];
        display(Entry::Kind::dict, out);
        return at + 1;
      }
      case Op::build_const_key_map: {
        pop(s);
        PyObject* keys = code_.constants[code_.instructions[at - 1].arg].get();
        if (code_.instructions[at - 1].op != Op::load_const || !PyTuple_Check(keys)) throw Unstructured();
        const std::vector<std::string> texts = pop_texts(s, i.arg);
        std::string out;
        for (size_t k = 0; k < texts.size(); ++k) {
          const std::optional<std::string> key = literal(PyTuple_GET_ITEM(keys, static_cast<Py_ssize_t>(k)));
          if (!key) throw Unstructured();
          out += (k ? ", " : "") + *key + ": " + texts[k];
        }
        display(Entry::Kind::dict, out);
        return at + 1;
      }
      case Op::build_string:
        push("''.join((" + joined(pop_texts(s, i.arg)) + (i.arg == 1 ? ",))" : "))"));
        return at + 1;
      case Op::convert_value:
      case Op::format_value: {
        const std::string spec = i.op == Op::format_value && (i.arg & 4) ? ", " + pop_text(s) : "";
        static constexpr const char* conversions[] = {"", "str", "repr", "ascii"};
        std::string text = pop_text(s);
        if (i.arg & 3) text = builtin(conversions[i.arg & 3]) + "(" + text + ")";
        push(i.op == Op::convert_value ? text : builtin("format") + "(" + text + spec + ")");
        return at + 1;
      }
      case Op::list_append:
      case Op::set_add:
        return extend(at, i, s, i.op == Op::list_append ? "append" : "add", "");
      case Op::list_extend:
      case Op::set_update:
        return extend(at, i, s, i.op == Op::list_extend ? "extend" : "update", "*");
      case Op::dict_update:
      case Op::dict_merge:
        return extend(at, i, s, "update", "**");
      case Op::map_add: {
        const std::string given = pop_text(s), key = pop_text(s);
        Entry& into = peek(s, i.arg);
        keep(into);
        const std::string name = shown(into);
        statement(s, name + "[" + key + "] = " + given);
        return at + 1;
      }
      case Op::list_to_tuple: {
        const Entry e = pop(s);
        push(e.kind == Entry::Kind::list ? "(" + e.text + (e.text.empty() ? ")" : ",)")
                                         : builtin("tuple") + "(" + shown(e) + ")");
        return at + 1;
      }
      case Op::unpack_sequence:
      case Op::unpack_ex:
        return unpack(at, i, s);
      case Op::get_len: {
        keep_running(s);
        push(builtin("len") + "(" + shown(peek(s, 1)) + ")");
        return at + 1;
      }
      case Op::get_iter:
        push(builtin("iter") + "(" + pop_text(s) + ")");
        return at + 1;
      case Op::call:
      case Op::call_function_ex:
        return call(at, i, s);
      case Op::check_exc_match: {
        const std::string type = pop_text(s);
        push(builtin("isinstance") + "(" + shown(peek(s, 1)) + ", " + type + ")");
        return at + 1;
      }
      case Op::yield_value: {
        const std::string given = pop_text(s);
        for (Entry& e : s) keep(e);
        push("yield " + given, false);
        if (code_.instructions[at + 1].op == Op::resume && code_.instructions[at + 2].op == Op::pop_top) return at + 2;
        keep(s.back());
        return at + 1;
      }
      case Op::import_name: {
        const std::string from = pop_text(s), level = pop_text(s);
        if (from == "None" && level == "0" && is_store(at + 1) && name(i.arg).find('.') == std::string::npos) {
          const std::string to = stored(at + 1);
          statement(s, "import " + name(i.arg) + (to == name(i.arg) ? "" : " as " + to));
          return at + 2;
        }
        push(builtin("__import__") + "(" + literal_name(i.arg) + ", globals(), None, " + from + ", " + level + ")");
        return at + 1;
      }
      case Op::import_from: {
        keep_running(s);
        push(shown(peek(s, 1)) + "." + name(i.arg));
        return at + 1;
      }
      default:
        throw Unstructured();
    }
  }

  std::string literal_name(int index) const { return *literal(code_.names[index].get()); }

  // An element more for a container that lies on the stack: in its display, or by its method.
  int extend(int at, const Instruction& i, Stack& s, const char* method, const char* stars) {
    const Entry element = pop(s);
    Entry& into = peek(s, i.arg);
    const bool display =
        into.kind == Entry::Kind::list || into.kind == Entry::Kind::set || into.kind == Entry::Kind::dict;
    if (display && i.arg == 1) {
      into.text += (into.text.empty() ? "" : ", ") + std::string(stars) + (*stars ? operand(element) : shown(element));
      return at + 1;
    }
    keep(into);
    const std::string name = shown(into);
    statement(s, name + "." + method + "(" + shown(element) + ")");
    return at + 1;
  }

  int unpack(int at, const Instruction& i, Stack& s) {
    const int n = i.op == Op::unpack_sequence ? i.arg : (i.arg & 255) + 1 + (i.arg >> 8);
    const int starred = i.op == Op::unpack_sequence ? -1 : i.arg & 255;
    const std::string given = pop_text(s);
    const bool direct = stores_from(at + 1, n).size() == static_cast<size_t>(n);
    std::string to;
    std::vector<std::string> variables;
    settle(s);
    for (int k = 0; k < n; ++k) {
      variables.push_back(direct ? stored(at + 1 + k) : fresh("t"));
      to += (k ? ", " : "") + std::string(k == starred ? "*" : "") + variables.back();
    }
    if (n == 1) to += ",";
    if (n == 0) to = "()";
    if (direct)
      for (int k = 0; k < n; ++k) settle(s, code_.instructions[at + 1 + k].arg);
    line(to + " = " + given);
    if (direct) return at + 1 + n;
    for (size_t k = variables.size(); k-- > 0;) s.push_back(stable(variables[k]));
    return at + 1;
  }

  int call(int at, const Instruction& i, Stack& s) {
    std::string arguments;
    if (i.op == Op::call) {
      const Py_ssize_t named = i.names ? PyTuple_GET_SIZE(i.names) : 0;
      std::vector<std::string> texts(static_cast<size_t>(i.arg));
      for (size_t k = texts.size(); k-- > 0;) {
        const Entry e = pop(s);
        if (e.kind == Entry::Kind::null) throw Unstructured();
        texts[k] = e.text.starts_with("yield") && !e.stable ? operand(e) : shown(e);
      }
      for (Py_ssize_t k = 0; k < named; ++k) {
        std::string& text = texts[texts.size() - static_cast<size_t>(named - k)];
        text = std::string(text_of(PyTuple_GET_ITEM(i.names, k))) + "=" + text;
      }
      const auto callee = s.size() < 2 ? std::string() : s[s.size() - 1].text + s[s.size() - 2].text;
      if (callee == kUnseen && !texts.empty()) {
        s.resize(s.size() - 2);
        s.push_back(value(texts.front() + "(" + joined({texts.begin() + 1, texts.end()}) + ")"));
        return at + 1;
      }
      arguments = joined(texts);
    } else {
      const std::string keywords = i.arg & 1 ? ", **" + pop_operand(s) : "";
      arguments = "*" + pop_operand(s) + keywords;
    }
    const Entry upper = pop(s), lower = pop(s);
    if (lower.kind == Entry::Kind::exit) {  // the end of a with block, which the text has
      s.push_back(stable("None"));
    } else if (upper.kind == Entry::Kind::null || lower.kind == Entry::Kind::null) {
      s.push_back(value(operand(upper.kind == Entry::Kind::null ? lower : upper) + "(" + arguments + ")"));
    } else if (upper.text == "None" && arguments == "None, None") {
      throw Unstructured{"it begins inside of a with block"};
    } else {  // a function with its first argument beside it
      s.push_back(value(operand(lower) + "(" + shown(upper) + (arguments.empty() ? "" : ", ") + arguments + ")"));
    }
    return at + 1;
  }

  // def name(...): (its code), for a function that is made here.
  int write_function(int at, PyCodeObject* code, Stack& s) {
    const Instruction& make = code_.instructions[at + 1];
    if (!(code->co_flags & CO_OPTIMIZED)) throw Unstructured();
    const auto given = [&](int flag) { return make.arg & flag ? std::optional(pop_text(s)) : std::nullopt; };
    given(8);
    const std::optional<std::string> annotations = given(4), keywords = given(2), defaults = given(1);
    settle(s);
    const bool direct = is_store(at + 2) && is_identifier(code->co_name) && stored(at + 2) == text_of(code->co_name);
    const std::string name = direct ? std::string(text_of(code->co_name)) : fresh("f");
    const std::shared_ptr<const Code> decoded = decode(code);
    Decompiler inner(*decoded, indent_, objects_, counter_);
    inner.run(name);
    for (const std::string& l : inner.lines_) {
      if (lines_.size() >= kMost) throw Unstructured();
      lines_.push_back(l);
    }
    if (defaults) line(name + ".__defaults__ = " + *defaults);
    if (keywords) line(name + ".__kwdefaults__ = " + *keywords);
    if (annotations) {
      const std::string pairs = fresh("t");
      line(pairs + " = " + *annotations);
      line(name + ".__annotations__ = " + builtin("dict") + "(" + builtin("zip") + "(" + pairs + "[::2], " + pairs +
           "[1::2]))");
    }
    if (!direct) line(name + ".__name__ = " + *literal(code->co_name));
    if (direct) return at + 3;
    s.push_back(stable(name));
    return at + 2;
  }

  const Code& code_;
  Flow flow_;
  int indent_;
  std::vector<std::pair<std::string, Owned>>& objects_;
  int& counter_;
  std::vector<std::string> lines_;
  std::vector<Block> blocks_;
  std::map<int, std::string> renamed_;  // slots that a comprehension uses
  std::vector<int> depths_;
  int entered_ = -1;  // a header whose loop has just begun
  int depth_ = 0;
};

}  // namespace

Decompiled decompile(const Code& code) {
  Decompiled made;
  for (size_t s = 0; s < code.locals.size(); ++s)
    if (code.kinds[s] & 0x80) made.closure.emplace_back(text_of(code.locals[s].get()));
  const std::string name = is_identifier(code.name.get()) ? std::string(text_of(code.name.get())) : "___lambda";
  try {
    int counter = 0;
    made.text = Decompiler(code, 0, made.objects, counter).run(name);
  } catch (const Unstructured& e) {
    made.structured = false;
    made.objects.clear();
    made.text = "# " + name + ": " + e.why + "\n";
    const std::string listed = list_instructions(code);
    for (size_t start = 0; start < listed.size();) {
      const size_t end = listed.find('\n', start);
      made.text += "# " + listed.substr(start, end - start) + "\n";
      start = end + 1;
    }
  }
  return made;
}

void show_as_call_of_argument(PyObject* function) { unseen_function = function; }

}  // namespace sconce::python::capture
