// Liveness: which locals an instruction and those behind it may still read.
#pragma once

#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// Is `arg` of such instructions a slot? The index of a name?
bool names_slot(Op op);
bool names_name(Op op);

// Does the slot hold a cell wherever code goes on from a break: one of the function's own, or of its closure?
bool is_cell_slot(const Code& code, int slot);

// One for each slot: may its value be read by the instruction at `index` or later? False for cells, which resumed code
// has in its closure. All are live in functions that may look at their own frame (locals(), eval, exec, vars, dir,
// _getframe); the first argument is where super() may look for it.
std::vector<bool> live_locals(const Code& code, int index);

}  // namespace sconce::python::capture
