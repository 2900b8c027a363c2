// Operators on every tensor of a list (aten::_foreach_add) call the operator of one tensor by its name.
#pragma once

#include <string>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/dispatch/op.h"

namespace sconce::boxed {

// The names that such an operator calls ("aten::add"), whose overloads are chosen by its arguments; none for others.
SCONCE_API std::vector<std::string> called_by_name(const Op& op);

}  // namespace sconce::boxed
