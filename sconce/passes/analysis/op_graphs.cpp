#include "sconce/passes/analysis/op_graphs.h"

namespace sconce::passes {

OpGraphs* op_graphs() { return op_graphs_source ? op_graphs_source() : nullptr; }

}  // namespace sconce::passes
