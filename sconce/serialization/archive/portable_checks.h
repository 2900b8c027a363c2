// Check lowering: expresses the checks of exported programs in operators that PyTorch has, for archives:
//
//   sconce::check_range(%n, "input 'x': dimension 0", 2, 64)
//     =>  if not (2 <= n and n <= 64): raise RuntimeError("input 'x': dimension 0 is {}, ...".format(n))
#pragma once

#include "sconce/ir/graph.h"

namespace sconce {

// Replaces every sconce::check_* node. Messages are those of the operators, but for lists and repr strings.
void make_checks_portable(ir::Graph& graph);

}  // namespace sconce
