// How deep the stack is at each instruction.
#pragma once

#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// What an instruction adds to the depth of the stack, on the way to the next one or to its target.
int stack_effect(const Instruction& i, bool jumps);
// Does the next instruction never follow: return, raise, a jump?
bool ends_flow(Op op);
// Has it a target?
bool is_jump(Op op);

// Depths before each instruction; -1 where none comes by. `start`: where the code begins, with so many values on the
// stack.
std::vector<int> stack_depths(const Code& code, int start = 0, int depth = 0);
// The most that `depths` and what the instructions push come to.
int stack_size(const Code& code, const std::vector<int>& depths);

}  // namespace sconce::python::capture
