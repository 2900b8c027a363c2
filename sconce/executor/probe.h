// Shape inference by a call on Meta tensors: what a node of a tape gives for tensors of the geometry that the tape
// says.
#pragma once

#include "sconce/executor/tape.h"

namespace sconce::executor {

// Calls the node's operator on Meta twins of its arguments. False if it fails there. Sets node.pointwise where the call
// is one loop over its tensors.
bool probe(const Tape& tape, TapeNode& node, std::vector<Value>& results);

// Dtype, sizes and strides.
bool same_geometry(const Tensor& a, const Tensor& b);

}  // namespace sconce::executor
