// Modules of a trace: the blocks that Tracer::enter_module made become methods.
#pragma once

#include <memory>

#include "sconce/ir/function.h"

namespace sconce::tracing {

// Kinds that exist only while a trace is made: an attribute of a module, by its path, and the call of a module.
extern const ir::Symbol kTracedAttribute, kTracedCall;

// With a unit, the graph's first input is the module: attributes are read in the scope that uses them, and each block
// becomes a method `forward` (`forward1`, ... if the module is called again) of its module's class. Without, blocks are
// opened. Then cleans up: tuples that are taken apart again, values without use.
void scopes_to_methods(const std::shared_ptr<ir::Graph>& graph, ir::CompilationUnit* unit);

}  // namespace sconce::tracing
