// Builtin methods: those of classes of C++ (dispatch/custom/custom_class.h), as functions that programs call.
#pragma once

#include "sconce/dispatch/custom/custom_class.h"

namespace sconce::runtime {

// Gives the class's type its methods and properties. They have code, one call of an operator, and no graph: calls of
// them stay calls, in files too.
void define_class_methods(const CustomClass& made);

}  // namespace sconce::runtime
