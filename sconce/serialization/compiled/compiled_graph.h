// Compiled programs as graphs: what runs when no plan may (limits, profilers, gradients, SCONCE_PLANS=off, an error
// that is to be raised), and what tools show. A graph begins with the question which program fits:
//
//   %k : int = sconce::compiled_for((%x, %n), ["x", "n"], ["(x: float32 [1, 4], n: 2)"])
//   %y : Tensor = sconce::with_strides(%x, [4, 1])
//   ... the calls of the tape
#pragma once

#include <memory>

#include "sconce/ir/graph.h"
#include "sconce/serialization/compiled/compiled_program.h"

namespace sconce::compiled {

// The inputs are `self` and the arguments of the function. Throws Error for what cannot be a graph.
std::shared_ptr<ir::Graph> make_graph(const CompiledFunction& function, TypePtr self);

}  // namespace sconce::compiled
