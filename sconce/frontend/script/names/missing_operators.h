// Undefined operators: finds all operators that a program calls and that do not exist, before an archive is compiled,
// so that one message names all of them rather than the first call that fails.
#pragma once

#include <string>
#include <vector>

#include "sconce/syntax/tree.h"

namespace sconce::script {

struct MissingOperator {
  std::string name;  // "aten::foo", "custom::bar"
  Range first_use;
};

struct CalledOperator {
  std::string name;  // "aten::relu", "custom::bar"
  Range first_use;
  size_t count = 0;
  bool known = true;  // does it exist?
};

// All operators that the tree calls as missing_operators finds them, in order of their first use.
SCONCE_API std::vector<CalledOperator> called_operators(const syntax::Tree& tree);

// Operators that the tree calls as torch.foo(...), ops.custom.bar(...) or torch.ops.custom.bar(...) and that do not
// exist, in order of their first use. Meant for archives, where every operator is written so; a Python text may hold
// branches that are never compiled.
SCONCE_API std::vector<MissingOperator> missing_operators(const syntax::Tree& tree);

// Throws CompileError at the first use, naming all of them and, when given, the file that calls them; does nothing when
// `missing` is empty.
SCONCE_API void refuse_missing(const std::vector<MissingOperator>& missing, std::string_view file = {});

}  // namespace sconce::script
