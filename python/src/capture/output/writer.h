// Writer: normalised code under construction, with constants, names and temporaries as they are needed.
#pragma once

#include <unordered_map>

#include "capture/bytecode/instruction.h"
#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

class Writer {
 public:
  // Code with the arguments and free variables of `like`, and no other locals.
  explicit Writer(const Code& like);

  void op(Op op, int arg = 0) { write(op, arg); }
  void constant(PyObject* object);
  void load_name(Op op, PyObject* name) { write(op, name_index(name)); }
  int temporary();
  // f(args): callee and arguments are written between.
  void begin_call(PyObject* callee);
  void begin_call_on_stack(PyObject* method);  // method of the object on the stack
  void end_call(int count) { op(Op::call, count); }
  // Cells and values of free variables, by their place in the closure.
  void free_cell(int index) { write(Op::load_closure, -1 - index); }
  void free_value(int index) { write(Op::load_deref, -1 - index); }
  void store_free(int index) { write(Op::store_deref, -1 - index); }
  void delete_free(int index) { write(Op::delete_deref, -1 - index); }

  // A jump, whose target is set later.
  size_t jump(Op op) {
    write(op, 0);
    return code_.instructions.size() - 1;
  }
  void land(size_t at) { code_.instructions[at].target = static_cast<int32_t>(code_.instructions.size()); }
  size_t here() const { return code_.instructions.size(); }
  void copy(const Instruction& in) { write(in); }
  int name_index(PyObject* name);
  int constant_index(PyObject* object);
  Code& code() { return code_; }
  Location location;  // of what is written next

  // How to reach the object again.
  void source(const Sources& sources, SourceId id, PyObject* globals);

  Owned finish();

 private:
  void write(Op op, int arg) {
    Instruction in;
    in.op = op;
    in.arg = arg;
    write(in);
  }
  void write(Instruction in) {
    in.location = location;
    code_.instructions.push_back(in);
  }
  Code code_;
  std::vector<Owned> free_;
  std::vector<uint8_t> free_kinds_;
  std::unordered_map<PyObject*, int> constants_, names_;
  int temporaries_ = 0;
};

}  // namespace sconce::python::capture
