// Disassembler: instructions as text, by the operand kinds of bytecode.h.
#include <fmt/format.h>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/bytecode/slots.h"

namespace sconce::runtime {
namespace {

class Disassembler {
 public:
  explicit Disassembler(const Code& code) : code_(code) {}

  std::string run() {
    for (size_t i = 0; i < code_.instructions.size(); ++i) line(i);
    return std::move(out_);
  }

 private:
  std::string reg(uint32_t operand) const {
    const uint32_t r = operand / 2;
    std::string text;
    if (r >= code_.frame) {
      text = fmt::format("w{}", r - code_.frame);
    } else if (r >= code_.locals) {
      const Value& v = code_.initial[r - code_.args];
      text = v.is_tensor() ? "Tensor" : v.is_string() ? string_repr(v.to_string_ref()) : v.repr();
    } else {
      text = fmt::format("r{}", r);
    }
    return operand & kMoves ? "move " + text : text;
  }

  std::string list(const std::vector<Operand>& operands) const {
    std::string text;
    for (const Operand o : operands) {
      if (!text.empty()) text += ", ";
      text += o == kNowhere ? "_" : reg(o);
    }
    return text;
  }

  void field(char kind, uint16_t v) {
    if (kind == 'r' || kind == 'm') out_ += " " + reg(v);
    if (kind == 'n') out_ += fmt::format(" {}", static_cast<int16_t>(v));
  }

  void line(size_t at) {
    const Instruction& i = code_.instructions[at];
    const OpcodeInfo& info = opcode_info(i.op);
    out_ += fmt::format("{:3} {}", at, info.name);
    if (i.op == Opcode::call_op) {
      out_ +=
          fmt::format(" {} = {}({})", list(i.op_call->results), i.op_call->op->qualified_name(), list(i.op_call->args));
      out_ += '\n';
      return;
    }
    field(info.operands[0], i.a);
    field(info.operands[1], i.b);
    field(info.operands[2], i.c);
    switch (info.operands[3]) {
      case 'j':
        out_ += fmt::format(" -> {}", i.target - code_.instructions.data());
        break;
      case 'i':
        out_ += fmt::format(" {}", i.integer);
        break;
      case 'f':
        out_ += " " + float_repr(i.real);
        break;
      case 'o':
        out_ += " " + i.op_call->op->qualified_name();
        if (i.op_call->args.size() > 2) out_ += " " + reg(i.op_call->args[2]);
        break;
      case 'c':
        out_ += " " + (i.call->function ? std::string(i.call->function->short_name()) : "." + i.call->method);
        break;
      case 't':
        if (i.build->type) out_ += " " + i.build->type->to_string();
        for (TypePtr t : i.build->types) out_ += " " + t->to_string();
        if (!i.build->registers.empty()) out_ += " (" + list(i.build->registers) + ")";
        break;
      default:
        break;
    }
    out_ += '\n';
  }

  const Code& code_;
  std::string out_;
};

}  // namespace

const OpcodeInfo& opcode_info(Opcode op) {
  static constexpr OpcodeInfo table[] = {
#define SCONCE_OPCODE(name, operands, text) {#name, operands, text},
      SCONCE_OPCODES(SCONCE_OPCODE)
#undef SCONCE_OPCODE
  };
  return table[static_cast<size_t>(op)];
}

std::string disassemble(const Code& code) { return Disassembler(code).run(); }
std::string disassemble(ir::Function& function) { return disassemble(code_of(function)); }

}  // namespace sconce::runtime
