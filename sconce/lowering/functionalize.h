// Functionalisation: writes to tensors become new tensors, with the same visible effects.
//
//   graph(%x : Tensor):                                  graph(%x : Tensor):
//     %y : Tensor = aten::select(%x, %0, %0)               %y : Tensor = aten::select(%x, %0, %0)
//     %z : Tensor = aten::add_(%y, %1, %1)           =>    %z : Tensor = aten::add(%y, %1, %1)
//     %r : Tensor = aten::mul(%x, %2)                      %x1 : Tensor = aten::select_scatter(%x, %z, %0, %0)
//     return (%r)                                          %r : Tensor = aten::mul(%x1, %2)
//                                                          %w : Tensor = aten::copy_(%x, %x1)
//                                                          return (%r)
//
// Note [Written values]
// The pass works as a write-back cache does. A tensor whose memory is written is *dirty*: the graph has its elements as
// another value, its memory has not got them yet. Reads of it, and of views of it (origins.h), are reads of that value.
// Its memory is written (aten::copy_) only where that can be seen:
// - when the graph ends, if it belongs to somebody else: inputs, attributes, constants
// - before a node that may read or write the same memory under a name whose views are not known ("may alias": another
//   input, the element of a list, the result of reshape), or that keeps a reference to it while it is written again
// - before a write that has no functional form, which stays as it is: resize_, set_, t_, a write through as_strided or
//   detach, or between operands of one tensor that may overlap
// So no graph is refused, and what is left of writes stands where memory is really shared. In an If the values that its
// branches write become outputs, in a Loop they are carried.
//
// Not kept: after an exception, writes to inputs that came before it may be missing; and inputs that overlap in part,
// of which one is written and the other an operand, are not refused but read before the write. An input that is written
// in part must not be an expanded tensor, whose elements share memory.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

struct FunctionalizeOptions {
  // The caller sees to it that no two inputs and attributes share memory: none has to be written back early. And out=
  // of one of them has the sizes of the result already: where it has not, the graph throws instead of giving it others.
  bool apart = false;
};
// Returns whether the graph changed. Calls in the graph count as nodes that may do anything: inline them first.
SCONCE_API bool functionalize(ir::Graph& graph, const FunctionalizeOptions& options = {});

}  // namespace sconce::lowering
