// The tree of a body: statements and expressions, as the parser makes them and the interpreter walks them.
#pragma once

#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::body {

enum class Kind : uint8_t {
  // statements: children are as named
  assign,    // target, value
  augment,   // target, value; `op`
  branch,    // test, block, block
  loop,      // target, iterable, block
  while_,    // test, block
  return_,   // value, or none
  assert_,   // test, message or none
  raise,     // message; `text` is the exception
  evaluate,  // value
  pass,
  break_,
  continue_,
  block,  // statements
  // expressions
  constant,   // `value`
  name,       // `text`, `slot`
  binary,     // left, right; `op`
  unary,      // operand; `op`
  compare,    // left, right, right, ...; `ops`
  and_,       // operands
  or_,        // operands
  not_,       // operand
  choose,     // test, then, else
  list,       // items
  tuple,      // items
  index,      // value, index
  slice,      // from, to, step; each may be a constant None
  attribute,  // value; `text`
  call,       // callee, positional arguments, then those of `keywords`
  format,     // parts of an f-string
};

enum class Operator : uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  pow,
  matmul,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  neg,
  plus,
  invert,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  is,
  is_not,
  in,
  not_in,
};

struct Node {
  Kind kind;
  Operator op = Operator::add;
  int line = 0, column = 0;
  int slot = -1;  // of a name
  std::string text;
  Value value;
  std::vector<Node> children;
  std::vector<Operator> ops;          // of a comparison
  std::vector<std::string> keywords;  // of a call
};

struct Program {
  Node block;
  std::vector<std::string> names;  // by slot
  std::vector<bool> assigned;      // by slot: is there an assignment to it?
  std::string space;
};

// Throws Error ("line 2, column 8: expected ...").
Program parse(std::string_view text, int first_line, int first_column);

}  // namespace sconce::body
