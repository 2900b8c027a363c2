// What a call of an operator that there is not says, where a selection allows such calls (`missing allowed`).
#pragma once

#include "sconce/lite/stack_code.h"

namespace sconce::lite {

// Names the operator, and all that the program lacks.
std::string missing_words_of(const StackProgram& program, std::string_view called);

}  // namespace sconce::lite
