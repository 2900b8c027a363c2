// Stack code: the methods of a lite archive as lite libraries run them.
//
// Note [Stack code]
// The whole library translates the bytecode of lite archives to the register code of its interpreter
// (serialization/lite). Lite libraries have one kind of program and count bytes: they run the stack machine that the
// file was written for, on an array of Values (stack_machine.h). The verifier shows once, before anything runs, what
// that takes for granted: operands name something that exists, every way to an instruction arrives with the same number
// of values on the stack, nothing is taken from an empty one, RET finds exactly the result. What kind of value lies
// there is checked where it is used.
#pragma once

#include <string>
#include <vector>

#include "sconce/dispatch/op.h"
#include "sconce/lite/archive_types.h"
#include "sconce/serialization/lite/lite_tables.h"

namespace sconce::lite {

struct StackOperator {
  enum class Kind : uint8_t { op, tuple_unpack, uninitialized, raise, missing };
  Kind kind = Kind::op;
  bool is_vararg = false;
  // Of the arguments that the schema has, `pushed` lie on the stack, the last `out` of them for its last arguments;
  // what is between are defaults.
  uint16_t arguments = 0, pushed = 0, out = 0, results = 0;
  const Op* op = nullptr;
  std::string name;
  std::vector<Value> defaults;
};

struct StackArgument {
  std::string name;
  TypePtr type = nullptr;
  bool has_default = false;
  Value default_value;
};

struct StackMethod {
  std::string name;        // "__torch__.m.MLP.forward"
  TypePtr self = nullptr;  // its class
  std::vector<Instruction> code;
  std::vector<StackOperator> operators;
  std::vector<Value> constants;
  std::vector<TypePtr> types;  // of those of the file's table that the code uses; null for the others
  std::vector<StackArgument> arguments;
  TypePtr result = nullptr;
  uint32_t registers = 0, frame = 0;  // values that a call holds: registers, and all that the stack may have

  std::string_view short_name() const { return std::string_view(name).substr(name.rfind('.') + 1); }
  std::string signature(size_t from) const;  // "forward(Tensor x) -> Tensor", without the first `from` arguments
};

struct StackProgram {
  std::vector<StackMethod> methods;
  std::vector<std::string> missing;  // operators that there are not, where that is allowed

  // Null when the class has none of this name.
  StackMethod* find(TypePtr self, std::string_view short_name);
};

// The methods that the pickle in bytecode.pkl is; `file` is for messages. Throws Error that says where and what is
// wrong; of kind not_implemented, with all their names, where operators are missing.
void read_program(const Value& pickle, const std::string& file, int archive_version, ArchiveTypes& types,
                  StackProgram& program);

}  // namespace sconce::lite
