// Resume code: the rest of a function from one instruction on, as a function of what is on the stack and in locals
// there.
//
//   def f(a, xs):                  def f(s, ___stack0):   # at `print(s)`, inside of the loop
//       s = a                          push ___stack0     # the iterator of xs
//       for x in xs:                   goto the instruction
//           print(s)                   (the loop, and what comes behind)
//           s = s + x
//       return s
//
// What handlers the instruction lies in, loops and `with` blocks that are open need no care: their state is on the
// stack.
#pragma once

#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

struct ResumeShape {
  std::vector<bool> nulls;  // one for each entry of the stack, bottom first: is it a null?
  std::vector<int> locals;  // slots that are passed: bound and live (live_locals); the others are unbound
};

struct ResumeCode {
  struct Argument {
    enum class From : uint8_t { local, stack, cell_contents } from = From::local;
    int index = 0;  // a slot; an entry of the stack, bottom first
  };
  Owned code;
  std::vector<Argument> arguments;  // what a function of `code` is called with, all by position
  std::vector<int> closure;         // slots whose cells are its closure; an empty cell for one that has none yet
};

// Resumes before the instruction at `index`. It bears the name of the original, and its lines. Throws PythonError
// (ValueError) for generators and coroutines, and for an instruction that is not reached or that makes cells of
// arguments.
ResumeCode resume_code(const Code& original, int index, const ResumeShape& shape);

}  // namespace sconce::python::capture
