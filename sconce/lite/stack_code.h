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

#include <span>
#include <string>
#include <vector>

#include "sconce/dispatch/op.h"
#include "sconce/lite/archive_types.h"
#include "sconce/serialization/lite/lite_tables.h"
#include "sconce/types/containers.h"

namespace sconce::lite {

// Memory for plain things that go together.
class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  ~Room();
  // Things that are all zeros.
  template <class T>
  std::span<T> take(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return {static_cast<T*>(zeros(count * sizeof(T))), count};
  }

 private:
  struct Block;
  void* zeros(size_t bytes);
  Block* last_ = nullptr;
};

struct StackOperator {
  enum class Kind : uint8_t { op, tuple_unpack, uninitialized, raise, missing };
  Kind kind;
  bool is_vararg;
  // Of the arguments that the schema has, `pushed` lie on the stack, the last `out` of them for its last arguments;
  // what is between are defaults.
  uint16_t arguments, pushed, out, results;
  const Op* op;
  const char* name;  // of one that is missing, whole
  const Value* defaults;
};

struct StackArgument {
  std::string_view name;
  TypePtr type;
  const Value* default_value;  // null: none
};

struct StackMethod {
  std::string_view name;  // "__torch__.m.MLP.forward"
  TypePtr self;           // its class
  std::span<Instruction> code;
  std::span<StackOperator> operators;
  std::span<const Value> constants;
  std::span<TypePtr> types;  // of those of the file's table that the code uses; null for the others
  std::span<StackArgument> arguments;
  TypePtr result;
  uint32_t registers, frame;  // values that a call holds: registers, and all that the stack may have

  std::string_view short_name() const { return name.substr(name.rfind('.') + 1); }
  std::string signature(size_t from) const;  // "forward(Tensor x) -> Tensor", without the first `from` arguments
};

// Plain structures, which one room holds; names, constants and defaults are those of values that are kept.
struct StackProgram {
  std::span<StackMethod> methods;
  Room room;
  Value kept = new_list(any_type());

  // Null when the class has none of this name.
  StackMethod* find(TypePtr self, std::string_view short_name);
};

// The methods that the pickle in bytecode.pkl is; `file` is for messages. Throws Error that says where and what is
// wrong; of kind not_implemented, with all their names, where operators are missing.
void read_program(const Value& pickle, const std::string& file, int archive_version, ArchiveTypes& types,
                  StackProgram& program);

}  // namespace sconce::lite
