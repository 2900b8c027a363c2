// Lowering to Core ATen: operators become others until only those are left that every compiler knows (the 193 of
// PyTorch's tag `core`).
//
//   %y : Tensor = aten::silu(%x)     =>    %a : Tensor = aten::neg(%x)
//                                          %b : Tensor = aten::exp(%a)
//                                          %c : Tensor = aten::add(%b, %1, %1)
//                                          %y : Tensor = aten::div(%x, %c)
//
// An operator that is not core becomes, in this order: the operator that it is another name of; its decomposition
// (OpEntry::decompose); its body; its expression, written out (expression_text.h). Bodies that write are made
// functional again. An operator that has none of these stays (find_outside names it).
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Of a functional graph. Returns whether it changed. With `apart`, inputs and attributes that bodies write share no
// memory (FunctionalizeOptions).
SCONCE_API bool to_core(ir::Graph& graph, bool apart = false);

// Operators on numbers, lists and text, questions about tensors, checks: they stay in every dialect.
SCONCE_API bool makes_no_tensor(const Op& op);

}  // namespace sconce::lowering
