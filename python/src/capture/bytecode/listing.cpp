#include "capture/bytecode/listing.h"

#include "capture/bytecode/literals.h"
#include "capture/bytecode/liveness.h"
#include "capture/bytecode/opcodes.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {
namespace {

std::string argument_text(const Code& code, const Instruction& i) {
  switch (i.op) {
    case Op::load_const: {
      PyObject* constant = code.constants[i.arg].get();
      const std::optional<std::string> text = literal(constant);
      return text ? *text : "<" + std::string(class_name(constant)) + " " + object_name(constant) + ">";
    }
    case Op::load_super_attr:
    case Op::load_super_method:
      return std::string(text_of(code.names[i.arg >> 1].get()));
    case Op::binary_op:
      return std::string(kBinarySigns[i.arg % 13]) + (i.arg < 13 ? "" : "=");
    case Op::compare:
      return kCompareSigns[i.arg];
    default:
      if (names_name(i.op)) return std::string(text_of(code.names[i.arg].get()));
      if (names_slot(i.op)) return std::string(text_of(code.locals[i.arg].get()));
      if (is_jump(i.op)) return "to " + std::to_string(i.target);
      return i.arg ? std::to_string(i.arg) : "";
  }
}

}  // namespace

std::string list_instructions(const Code& code) {
  std::string out;
  int line = -1;
  for (size_t at = 0; at < code.instructions.size(); ++at) {
    const Instruction& i = code.instructions[at];
    std::string row = std::to_string(at);
    row = std::string(row.size() < 5 ? 5 - row.size() : 0, ' ') + row + " " + op_name(i.op);
    const std::string argument = argument_text(code, i);
    if (!argument.empty()) row += std::string(row.size() < 26 ? 26 - row.size() : 1, ' ') + argument;
    if (i.names) row += " " + literal(i.names).value_or("");
    if (i.location.line >= 0 && i.location.line != line) {
      line = i.location.line;
      row += std::string(row.size() < 48 ? 48 - row.size() : 1, ' ') + "# line " + std::to_string(line);
    }
    out += row + "\n";
  }
  return out;
}

}  // namespace sconce::python::capture
