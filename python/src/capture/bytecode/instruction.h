// Normalised bytecode: one instruction set for CPython 3.11, 3.12 and 3.13. Capture reads and writes it; only
// decode.cpp and assemble.cpp know what each version makes of it (opcodes.h).
//
//   LOAD_FAST_LOAD_FAST 1 (3.13)      load_fast 0, load_fast 1
//   RETURN_CONST 2 (3.12)             load_const 2, return_value
//   POP_JUMP_FORWARD_IF_FALSE (3.11)  jump_if_false, target = index of an instruction
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

enum class Op : uint8_t {
  // The stack. The place of the null beside a callable is that of the version: see null_is_above.
  nop,
  resume,
  push_null,
  pop_top,
  copy,
  swap,
  // Names: arg is an index into the table of its kind (constants, locals, names).
  load_const,
  load_fast,
  load_fast_check,
  load_fast_and_clear,
  store_fast,
  delete_fast,
  load_global,
  store_global,
  delete_global,
  load_name,
  store_name,
  delete_name,
  load_locals,
  load_closure,
  load_deref,
  store_deref,
  delete_deref,
  load_class_deref,           // 3.11: first of the frame's own names
  load_from_dict_or_deref,    // 3.12: first of a mapping that is popped
  load_from_dict_or_globals,  // 3.12
  make_cell,
  copy_free_vars,
  load_attr,
  load_method,
  store_attr,
  delete_attr,
  load_super_attr,    // pops the global super, the class and self; pushes an attribute of super(class, self)
  load_super_method,  // arg: twice the index of the name, 1 more for super() written without arguments
  load_build_class,
  load_assertion_error,
  // Operators. 3.13 has to_bool before unary_not and before jumps that test, which earlier versions do themselves;
  // whoever writes code for all writes to_bool: the assembler drops it where it says nothing. binary_op: CPython's
  // number (0 to 25, in-place ones from 13); compare: 0 to 5 for < <= == != > >=; is_op, contains_op: 1 inverts.
  unary_positive,
  unary_negative,
  unary_not,
  unary_invert,
  to_bool,
  binary_op,
  compare,
  is_op,
  contains_op,
  subscript,
  store_subscript,
  delete_subscript,
  build_slice,
  // Containers and texts. format_value: flags of 3.11 (conversion in the low two bits, 4: a format is on the stack).
  // convert_value (3.13): conversion alone, 1 to 3 for str, repr, ascii.
  build_tuple,
  build_list,
  build_set,
  build_map,
  build_const_key_map,
  build_string,
  format_value,
  convert_value,
  list_append,
  set_add,
  map_add,
  list_extend,
  set_update,
  dict_update,
  dict_merge,
  list_to_tuple,
  unpack_sequence,
  unpack_ex,
  get_len,
  // Jumps: `target` is the instruction that comes next. All but jump, for_iter and send pop what they test; for_iter at
  // the end pops the iterator, and its target lies behind end_for (3.13: and pop_top), which are never run but must be
  // there (Note [The end of a loop], assemble.cpp). jump: arg 1 is one backward that signals do not interrupt.
  jump,
  jump_if_true,
  jump_if_false,
  jump_if_none,
  jump_if_not_none,
  jump_if_true_or_pop,
  jump_if_false_or_pop,
  get_iter,
  for_iter,
  end_for,
  // Calls. call: arg counts all arguments, `names` those of the last ones. call_function_ex: 1 with keywords.
  // make_function: flags of 3.11 (1 defaults, 2 keyword defaults, 4 annotations, 8 closure).
  call,
  call_function_ex,
  make_function,
  return_value,
  // Exceptions and contexts.
  raise_varargs,
  reraise,
  push_exc_info,
  pop_except,
  check_exc_match,
  check_eg_match,
  prep_reraise_star,
  before_with,
  with_except_start,
  // Generators and coroutines. send at the end jumps with the result: 3.11 has popped the receiver, later versions
  // leave it for end_send (send_pops_receiver).
  return_generator,
  yield_value,
  send,
  end_send,
  get_yield_from_iter,
  get_awaitable,
  get_aiter,
  get_anext,
  before_async_with,
  end_async_for,
  async_gen_wrap,
  cleanup_throw,
  stop_iteration_error,
  // Imports, patterns, rest.
  import_name,
  import_from,
  import_star,
  match_class,
  match_keys,
  match_mapping,
  match_sequence,
  setup_annotations,
  print_expr,
  intrinsic,  // of typing (3.12): arg is CPython's number, 256 more for those of two operands
  unknown     // arg is the opcode, with its argument above the low 8 bits
};

// Where the null lies beside a callable that is no method: 3.13 pushes it behind the callable, earlier versions before.
constexpr bool null_is_above = PY_VERSION_HEX >= 0x030d0000;
constexpr bool send_pops_receiver = PY_VERSION_HEX < 0x030c0000;

struct Location {
  int line = -1, end_line = -1, column = -1, end_column = -1;  // -1: none
  bool operator==(const Location&) const = default;
};

struct Instruction {
  Op op = Op::nop;
  int32_t arg = 0;
  int32_t target = -1;        // of jumps: index of an instruction
  int32_t handler = -1;       // index into Code::handlers of the one that covers it; -1: none
  int32_t offset = -1;        // of decoded ones: bytes from the start of the code object's code
  bool joined = false;        // one instruction of CPython together with the one before
  PyObject* names = nullptr;  // of calls with keywords: a tuple, kept alive by the code's constants
  Location location;
  Location names_location;  // of `names`, as compilers place them; without a line: as `location`
};

// An exception inside: the stack is cut to `depth`, with `push_lasti` the offset of the instruction is pushed, then the
// exception, and `target` comes next.
struct Handler {
  int32_t target = 0, depth = 0;
  bool push_lasti = false;
};

// A code object, decoded.
struct Code {
  std::vector<Instruction> instructions;
  std::vector<Handler> handlers;
  std::vector<Owned> constants, names;
  // Locals as CPython lays them out: arguments, other locals, cells that are no arguments, free variables.
  std::vector<Owned> locals;
  std::vector<uint8_t> kinds;  // of locals: 0x20 local, 0x40 cell, 0x80 free, 0x10 hidden
  int argument_count = 0, positional_only = 0, keyword_only = 0, flags = 0, first_line = 0;
  Owned name, qualified_name, file;
  PyCodeObject* original = nullptr;  // of decoded ones; borrowed

  // Arguments with *args and **kwargs.
  int slots() const { return argument_count + keyword_only + !!(flags & CO_VARARGS) + !!(flags & CO_VARKEYWORDS); }
};

// Decodes a code object, once: the result is kept with it. Throws PythonError (ValueError) for bytes that no compiler
// of Python writes.
std::shared_ptr<const Code> decode(PyCodeObject* code);

// The code object. Throws PythonError (ValueError) for what this version has no instructions for, and for targets and
// indices that are not there.
Owned assemble(const Code& code);

const char* op_name(Op op);

}  // namespace sconce::python::capture
