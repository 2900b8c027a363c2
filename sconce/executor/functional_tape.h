// Functionalisation of a tape: in-place operators become functional ones where nobody can tell the difference, so that
// they can be fused.
#pragma once

#include "sconce/executor/tape.h"

namespace sconce::executor {

// A write x.op_(...) becomes x' = op(x, ...), and what reads x later reads x', if the memory was made by the tape, is
// later seen only as x is, and the functional operator gives the geometry of x. Other writes stay as they are.
void functionalize(Tape& tape);

// Takes away nodes that write nothing and whose results nobody uses. Random ones stay: they draw numbers.
void eliminate_dead_nodes(Tape& tape);

// Blocks that a node of the tape writes to.
std::vector<bool> written_blocks(const Tape& tape);

}  // namespace sconce::executor
