// Exported programs (.pt2, torch.export): a graph of Core ATen or aten operators with its weights, as a module whose
// forward() takes the user's inputs and returns the user's outputs.
//
// Sizes that the program holds fixed, and the ranges and equalities of those that it does not, are checked at every
// call:
//   Error: input 'x': dimension 0 is 65, the program was exported for 4 to 64
#pragma once

#include "sconce/serialization/archive/archive.h"

namespace sconce {

// The module's parameters, buffers and constants are attributes (a name with dots is nested modules, as it was). Throws
// Error with the path and what is wrong.
SCONCE_API Archive load_exported_program(const std::string& path);
SCONCE_API Archive load_exported_program(FileBytesPtr file, const LoadOptions& options = {});

}  // namespace sconce
