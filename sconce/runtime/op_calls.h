// Operator calls: bytecode calls kernels here.
#pragma once

#include "sconce/runtime/bytecode/code.h"

namespace sconce::runtime {

// Through Values, which are put into `window`. Typed kernels borrow the registers; boxed ones, which may move from
// their arguments, get counted copies.
void call_operator(Slot* base, const OpCall& call, Slot* window);

// Kernels of the commonest signatures, called as they are. Anything unusual (a boxed kernel, an argument that is None)
// goes through call_operator.
void call_t(Slot* base, const Instruction& i, Slot* window);
void call_tt(Slot* base, const Instruction& i, Slot* window);
void call_ts(Slot* base, const Instruction& i, Slot* window);
void call_tts(Slot* base, const Instruction& i, Slot* window);
void call_tss(Slot* base, const Instruction& i, Slot* window);
void call_ttt(Slot* base, const Instruction& i, Slot* window);

}  // namespace sconce::runtime
