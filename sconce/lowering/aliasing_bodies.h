// Compound operators that may return an argument or a view of it: narrow, expand_as, dropout without training. Their
// bodies say which.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Replaces them by their bodies where their memory is written. True if there were some.
bool expand_aliasing_bodies(ir::Graph& graph);

}  // namespace sconce::lowering
