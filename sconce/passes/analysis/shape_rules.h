// Shape inference: runs a node's operator on Meta tensors, which have sizes and a dtype but no memory, and takes the
// facts of the results.
//
// Note [Sizes by example]
// A size that is not a number is tried with several numbers. If a size of the result follows those of one symbol,
// it is that symbol; if it never changes, it is a number; else it is unknown. One of the trials is 1, for
// operators to which that is special (squeeze, broadcasting). So every operator with a Meta kernel has a shape
// rule for unknown sizes.
#pragma once

#include <unordered_map>

#include "sconce/ir/graph.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {

// An int of a shape: a number, or a symbol of TensorFacts (negative, below kUnknown).
struct KnownInt {
  int64_t value;
  bool symbolic;
};
using KnownInts = std::unordered_map<const ir::Value*, KnownInt>;

// The facts of one output, if it is a tensor.
using OutputFacts = std::optional<TensorFacts>;

struct MetaResult {
  std::vector<OutputFacts> outputs;
  bool changed_input = false;  // an input that the operator writes to has another size or dtype afterwards
};

// Nothing when too little is known of the inputs, or the operator fails on them or has no Meta kernel.
std::optional<MetaResult> call_on_meta(const ir::Node& node, const KnownInts& ints);

}  // namespace sconce::passes
