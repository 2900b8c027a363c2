// Modules of a trace: instances of classes that hold what the original modules hold, and get methods by tracing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sconce/ir/function.h"

namespace sconce::tracing {

struct ModuleParts {
  std::string class_name;  // "__torch__.torch.nn.modules.linear.Linear", made unique in the unit
  std::vector<std::pair<std::string, Tensor>> parameters, buffers;
  std::vector<std::pair<std::string, Value>> modules;
  bool training = true;
};

// A new class of the unit, as PyTorch's tracer makes one for each module, and its instance.
SCONCE_API Value make_traced_module(ir::CompilationUnit& unit, const ModuleParts& parts);

}  // namespace sconce::tracing
