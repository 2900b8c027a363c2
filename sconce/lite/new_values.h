// New containers: one call each, where readers and the stack machine make them.
#pragma once

#include "sconce/types/value.h"

namespace sconce::lite {

Value new_list(TypePtr element);
Value new_dict(TypePtr key, TypePtr value);
// Of as many Nones, which its maker replaces.
Value new_tuple(size_t count, TypePtr named = nullptr);

}  // namespace sconce::lite
