// Freezing: makes the attributes of a module constants of its code, for inference without further training.
#pragma once

#include <string>
#include <vector>

#include "sconce/ir/function.h"

namespace sconce::passes {

struct FreezeOptions {
  std::vector<std::string> preserved;  // attributes and methods, beside forward, that the frozen module keeps
  bool fold_numerics = true;           // fold_conv_bn: results may differ in the last digits
};

// A new module, of a new class of `unit`, with the method forward and those that are preserved. Calls are inlined; each
// attribute that they never write to is a constant (parameters without gradients), the others and the preserved ones
// are attributes of the new module, or of new modules inside it, with the values of the old ones: a tensor that is
// written in place is shared. Then the graphs are optimised, dropout goes, batch norm becomes part of convolutions. The
// old module stays as it is.
//
// Throws Error when `module` is not a module or in training mode, has neither forward nor a preserved method, when a
// name to preserve is unknown, and when a method gives the module itself to code that stays a call.
SCONCE_API sconce::Value freeze(ir::CompilationUnit& unit, const sconce::Value& module,
                                const FreezeOptions& options = {});

}  // namespace sconce::passes
