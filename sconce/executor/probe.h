// Shape inference by a call on Meta tensors: what a node of a tape gives for tensors of the geometry that the tape
// says.
#pragma once

#include <unordered_map>

#include "sconce/executor/tape.h"

namespace sconce::executor {

// The Meta tensors of a call, by value.
using MetaTwins = std::unordered_map<ValueId, Tensor>;

// Calls the node's operator on Meta twins of its arguments, which `twins` keeps: results may be views of them. A call
// without tensors makes its results on Meta. Throws what the operator throws. Sets node.pointwise where the call is one
// loop over its tensors.
void call_on_meta(const Tape& tape, TapeNode& node, MetaTwins& twins, std::vector<Value>& results);

// The same; false if it fails there.
bool probe(const Tape& tape, TapeNode& node, std::vector<Value>& results);

// Dtype, sizes and strides.
bool same_geometry(const Tensor& a, const Tensor& b);

}  // namespace sconce::executor
