// The operators that a program calls, and how often they stand in it.
#pragma once

#include <string>
#include <vector>

#include "sconce/serialization/file/file_bytes.h"

namespace sconce::ir {
class CompilationUnit;
}

namespace sconce::cli {

struct OperatorUse {
  std::string name;  // "aten::add.Tensor"; "aten::add" where only the text is known
  size_t count = 0;
  bool known = true;  // is there such an operator?
};

// From the text of a program, or the code of an archive, without compiling it: calls of torch.f(...) and
// ops.space.f(...). What is written otherwise (methods, arithmetic of archives' text) is not seen. Sorted by name.
std::vector<OperatorUse> operators_in_text(const FileBytesPtr& file);

// From the graphs of a compiled program, as they are before optimisation, or from its bytecode where it has no graphs.
// Sorted by name.
std::vector<OperatorUse> operators_in_unit(ir::CompilationUnit& unit);

}  // namespace sconce::cli
