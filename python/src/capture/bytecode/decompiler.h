// Decompiler: the walk over instructions behind decompile(). Its parts: decompiler_texts.cpp (names and entries of the
// stack), decompiler_walk.cpp (branches, loops, try, with), decompiler_instructions.cpp (what has no branches).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capture/bytecode/flow.h"
#include "capture/bytecode/instruction.h"
#include "capture/bytecode/literals.h"

namespace sconce::python::capture::decompiling {

inline PyObject* unseen_function = nullptr;  // by show_as_call_of_argument
inline const std::string kUnseen = "___unseen";

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
  std::string run(const std::string& name);

 private:
  // ---- Texts.
  void line(const std::string& text);
  std::string fresh(const char* what) { return "___" + std::string(what) + std::to_string(counter_++); }
  std::string local(int slot) const;
  std::string name(int index) const { return std::string(text_of(code_.names[index].get())); }
  std::string object(PyObject* constant);
  // A function of Python's that the text calls on its own: by another name where the code has that one for something
  // else.
  std::string builtin(const char* name);
  std::string parameters() const;
  // Names that are written here and belong to others.
  void declare();

  // ---- The stack.
  static Entry value(std::string text, bool atom = true);
  static Entry stable(std::string text);
  static bool is_mark(const Entry& e);
  static std::string shown(const Entry& e);
  static std::string operand(const Entry& e);
  static std::string attribute_of(const Entry& e);
  static Entry pop(Stack& s);
  static std::string pop_text(Stack& s) { return shown(pop(s)); }
  static std::string pop_operand(Stack& s) { return operand(pop(s)); }
  static Entry& peek(Stack& s, int below);
  // Texts of the last n entries, the deepest first.
  static std::vector<std::string> pop_texts(Stack& s, int n);
  static std::string joined(const std::vector<std::string>& texts, size_t from = 0);
  void keep(Entry& e);
  void keep_running(Stack& s);
  // Before a statement: what the stack holds is computed. A local that the statement does not write may stay a name.
  void settle(Stack& s, int written = -1);
  void statement(Stack& s, const std::string& text, int written = -1);
  // Where ways meet: every entry is in its variable.
  void meet(Stack& s);

  // ---- The walk.
  bool covered(int at, int handler) const;
  bool same_handler(int a, int b) const;
  // A handler that only tidies up the frame on the way out: variables of `except ... as`, of comprehensions, the
  // exception that was handled before.
  bool only_tidies(int handler) const;
  // A local that a comprehension has put aside here, and not before this code was resumed.
  bool is_put_aside(int slot) const;
  // Falls through, or leads to the next round or the end of a loop: then the way is written.
  bool arrives(int at, Stack& s);
  // Writes a block in the one at hand.
  void nested(const Block& block, int at, const Stack& s);
  void walk(int at, Stack s);
  // Of the handlers around an instruction, the outermost one whose block has not begun; -1 when all have.
  int outermost_open(int at) const;
  bool is_guarded(int handler) const;
  // One instruction; the next one, or -1 at the end of the way.
  int step(int at, const Instruction& i, Stack& s);
  // if text: (what follows) else: (what is jumped to). Leaves the stack where both meet, and returns that place.
  int write_if(int at, const std::string& text, int target, Stack follow, Stack jumped, Stack& s);
  static bool needs_meeting(const Stack& s);
  // A value in a variable of its own: those of the stack are about to be written.
  std::string moved(const std::string& text);
  // The stack where ways have met at an instruction.
  void resume_at(int at, Stack& s);
  size_t depth_at(int at);
  int write_for(int at, Stack& s);
  // What comes behind a loop that has ended by itself; where `break` leads, when both differ.
  int after_loop(int exit, int end, Stack& s);
  static bool ends_call(const std::string& text);
  void drop_last(const char* statement);
  int write_while(int at, Stack& s);
  // try: (what the handler covers) except BaseException as e: (the handler)
  int write_guarded(int at, int handler, Stack& s);
  // The beginning of a handler: the exception is the one that is being handled. Resume code may begin with one, and has
  // the exception as an argument: it is raised again.
  int write_handler(int at, Stack& s);
  // with m as x: (what the handler covers)
  int write_with(int at, Stack& s);
  // get_yield_from_iter, load_const None, L: send X, yield_value, resume, jump L
  int write_yield_from(int at, Stack& s);

  // ---- Stores.
  bool is_store(int at) const;
  bool header_or_target(int at) const { return flow_.is_header(at); }
  std::vector<int> stores_from(int at, int n) const;
  std::string stored(int at) const;

  // ---- Instructions without branches; the next one.
  int plain(int at, const Instruction& i, Stack& s);
  bool is_stack_argument(int slot) const;
  // A method with its self: one expression, with a mark where the other entry lies.
  static void push_callable(Stack& s, const std::string& text);
  void drop(Stack& s);
  int store(int at, const Instruction& i, Stack& s);
  int binary(int at, const Instruction& i, Stack& s);
  int containers(int at, const Instruction& i, Stack& s);
  std::string literal_name(int index) const { return *literal(code_.names[index].get()); }
  // An element more for a container that lies on the stack: in its display, or by its method.
  int extend(int at, const Instruction& i, Stack& s, const char* method, const char* stars);
  int unpack(int at, const Instruction& i, Stack& s);
  int call(int at, const Instruction& i, Stack& s);
  // def name(...): (its code), for a function that is made here.
  int write_function(int at, PyCodeObject* code, Stack& s);

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

}  // namespace sconce::python::capture::decompiling
