// Cost model of loop nests: how long a nest takes, estimated from its bytes and its steps.
//
// Note [Costs]
//   cost = bytes moved / bandwidth of the cache that the working set fits
//        + elements * cycles of the steps / (lanes * clock)
//        + a fixed time for a call
// Memory and arithmetic are added, not overlapped: a tile is loaded, then computed, and with one thread the processor
// hides only a part of either. Only comparisons of such sums are used, so a common factor does not matter. The numbers
// of Machine are of the kind "right within a factor of 1.5 on any x86-64 of the last ten years"; a golden test
// (fuse.test) fails when a change of one of them changes an answer.
#pragma once

#include <cstdint>

#include "sconce/base/export.h"
#include "sconce/loops/nest.h"

namespace sconce::loops {

struct Machine {
  // Bytes that a cache holds for us: half of it, because the operands of the neighbours want to stay, too.
  int64_t l1 = 16 << 10, l2 = 256 << 10, l3 = 8 << 20;
  // Bytes per nanosecond of one thread, read or written. Memory: what a copy reaches; a store counts twice there,
  // because its line is read first (but for streaming stores, which are for 16 MB and more).
  double l1_rate = 100, l2_rate = 40, l3_rate = 20, memory_rate = 10;
  double clock = 3;            // cycles per nanosecond
  int vector_bytes = 32;       // of the loops
  double call_ns = 60;         // a kernel of a plan: its call, its tiles, the thread's scratch
  double tile_pass_ns = 0.02;  // one more pass over a tile in L1, for each element: a load and a store
};

// The constants above; the same on every machine, so that equal programs get equal plans.
SCONCE_API const Machine& this_machine();

// Cycles that one vector of a step takes, in a loop with others; 0 for leaves.
double step_cycles(StepKind kind, Compute compute);
// Cycles of a vector for a whole call: its steps and the conversions of its operands.
double call_cycles(const LoopCall& call);
// The time of a call for each element, without memory.
double element_ns(const LoopCall& call, const Machine& machine);
// The time to move `bytes` when the working set is `working_set` bytes.
double move_ns(double bytes, double working_set, const Machine& machine);

}  // namespace sconce::loops
