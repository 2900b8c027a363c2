// Unknown classes of C++: finds those that an archive's code names and that nobody has registered, and what it calls of
// them, so that whoever loads it knows what to register.
#pragma once

#include <string>
#include <vector>

#include "sconce/syntax/tree.h"

namespace sconce::script {

struct MissingClass {
  std::string name;                  // "__torch__.torch.classes.my.Counter"
  std::vector<std::string> methods;  // in the order of their first use
};

// Adds the tree's to `missing`. Methods are those called on attributes and parameters that are annotated with the
// class, and on variables that hold them.
void add_missing_classes(const syntax::Tree& tree, std::vector<MissingClass>& missing);

}  // namespace sconce::script
