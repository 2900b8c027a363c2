// Disassembler: normalised instructions as a list that a person reads.
#pragma once

#include <string>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// "  12 load_attr      weight        # line 7", one line for each instruction.
std::string list_instructions(const Code& code);

}  // namespace sconce::python::capture
