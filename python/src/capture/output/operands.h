// How many entries of the stack an instruction works on.
#pragma once

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

struct Operands {
  int pops = -1;    // those that it takes, or looks at; -1: it names locals, or is bound to its frame
  int pushes = 0;   // on the way to the next instruction
  int jumping = 0;  // on the way to its target
};
Operands operands_of(const Instruction& in);

}  // namespace sconce::python::capture
