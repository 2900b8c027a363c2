// Decompiler: Python source for bytecode, for logs and readers. It is exact: compiled again, the text does what the
// code does. Code that has no structured form (async, except*, patterns, class bodies) is shown as a list of
// instructions.
//
//   load_fast x, load_attr weight      ___s0 = x.weight        (where a branch needs the stack)
//   for_iter                           for x in xs:
//   load_const <function f>            f                       (objects without a literal have names)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

struct Decompiled {
  std::string text;                                    // "def f(x):\n    return x + 1\n"
  std::vector<std::pair<std::string, Owned>> objects;  // names in the text for constants that have no literal
  std::vector<std::string> closure;                    // free variables
  bool structured = true;                              // false: a list of instructions in comments
};
Decompiled decompile(const Code& code);

// f(g, x) is shown as g(x) for this f. Kept alive by the caller.
void show_as_call_of_argument(PyObject* function);

}  // namespace sconce::python::capture
