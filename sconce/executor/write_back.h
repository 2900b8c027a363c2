// Functionalisation of writes to outside memory: a function that writes to tensors that it was given, or to attributes,
// works on copies of them, and what they are at the end is copied back once, behind the last step. So a step that fails
// has written nothing (Note [Plans]).
//
//   x.add_(1)            c = clone(x)                  c' = add(x, 1)
//   return x.sum()  =>   c.add_(1); s = sum(c)    =>   s = sum(c')
//                        x <- c; return s              x <- c'; return s
//
// The first step is shadow_writes, the second functionalize (functional_tape.h) and then read_unwritten_originals.
#pragma once

#include "sconce/executor/tape.h"

namespace sconce::executor {

// Copies what is outside and written, where the copy can take its place: it is dense, no element of it decided
// something while recording, no view of it is returned. Other writes stay, and there is no plan.
void shadow_writes(Tape& tape);

// Copies that nobody writes to any more are not needed: what reads them reads what is outside, as it is until the end.
void read_unwritten_originals(Tape& tape);

// Whether a copy is left that takes more time than the interpreter's writes to a part of a large tensor.
bool has_large_shadow(const Tape& tape);

// Whether no other tensor that the plan reads or writes shares memory with one that is written back. `tensors`: by
// value, those of inputs and constants.
bool are_apart(const Tape& tape, const std::vector<Tensor>& tensors);

// The bytes from the first element to the end of the last one.
int64_t extent_of(const Tensor& t);

}  // namespace sconce::executor
