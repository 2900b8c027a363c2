// Opcodes of CPython: what an instruction of the running version is called and how its argument is read.
#pragma once

#include <array>
#include <cstdint>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// How a unit becomes normalised instructions, and back.
enum class Form : uint8_t {
  same,     // arg as it is
  absent,   // not an instruction of this version
  ignored,  // caches, PRECALL
  extended,
  attribute,  // 3.12: low bit for methods
  super_attribute,
  global,  // low bit: a null beside it
  closure_or_local,
  compare,
  forward,
  backward,
  loop,  // forward, behind the end of the loop
  keyword_names,
  call_with_names,
  constant_return,
  load_load,
  store_load,
  store_store,
  read_slice,
  write_slice,
  format_simple,
  format_with,
  function,
  function_attribute,
  intrinsic_1,
  intrinsic_2,
};

struct Opcode {
  const char* name = nullptr;
  Op op = Op::unknown;
  Form form = Form::absent;
  uint8_t caches = 0;  // units behind it
};

// Of the running version, by number. Read from the table in opcodes.cpp and the interpreter's own `opcode` module when
// first used; throws PythonError (ImportError) when the two do not agree.
struct Opcodes {
  std::array<Opcode, 256> by_number;
  // The number of a name of this version; throws PythonError (ValueError) for one that it does not have.
  uint8_t number(const char* name) const;
  // Of a normalised instruction of form `same` (jumps too); -1 when this version has none.
  int number(Op op) const { return by_op[static_cast<size_t>(op)]; }

  std::array<int16_t, static_cast<size_t>(Op::unknown) + 1> by_op;
};
const Opcodes& opcodes();

// What programs write for binary_op, whose in-place numbers are 13 more, and for compare.
inline constexpr const char* kBinarySigns[] = {"+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"};
inline constexpr const char* kCompareSigns[] = {"<", "<=", "==", "!=", ">", ">="};

}  // namespace sconce::python::capture
