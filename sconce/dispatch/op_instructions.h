// Operator instructions: the operators that have an instruction of their own in the interpreter, from the column
// `instruction` of the operator table.
#pragma once

#include <span>
#include <string_view>

namespace sconce {

struct OpInstruction {
  std::string_view op, instruction;  // "aten::append.t", "list_append"
};

// Generated: all of them, in the order of the table.
std::span<const OpInstruction> op_instructions();

}  // namespace sconce
