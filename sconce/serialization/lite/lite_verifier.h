// Bytecode verifier: checks the bytecode of a method before anything of it runs.
//
// Note [Verified bytecode]
// The stack machine is run by abstract interpretation, which follows the depth of the stack. It proves that every
// opcode's operands name something that exists; that all ways to a jump target arrive with the same depth, so that a
// place on the stack is a register of ours (Note [Stack as registers] in lite_translate.cpp); that nothing is taken
// from an empty stack; that RET finds exactly the results. The kinds of values (a bool for a branch, an object with as
// many slots) are not proved; the instructions that it is translated to check them.
#pragma once

#include "sconce/dispatch/op.h"
#include "sconce/ir/function.h"
#include "sconce/serialization/lite/lite_tables.h"

namespace sconce::lite {

// Limits against hostile files; each has a clear error and a test.
inline constexpr int64_t kMaxStack = 8'000;  // values on the stack of one method
inline constexpr int64_t kMaxSlot = 4'095;   // the highest slot of an object

// The meaning of an operator of the table.
struct Operator {
  enum class Kind : uint8_t { op, upgrader, tuple_unpack, uninitialized, raise, missing };
  Kind kind = Kind::op;
  const Op* op = nullptr;
  ir::Function* upgrader = nullptr;  // does what the operator did when the file was written
  const Schema* schema = nullptr;    // of either
  size_t pushed = 0;                 // arguments on the stack; the rest are defaults. Vararg: at least these
  size_t out = 0;                    // of them out= arguments, which are the last
};
// The operators of each method. `archive_version` chooses upgraders. Throws one Error that names all that cannot be
// called with so many arguments, and those that do not exist, unless `missing` is given, which gets their names.
std::vector<std::vector<Operator>> find_operators(const Tables& tables, int archive_version, const std::string& file,
                                                  std::vector<std::string>* missing = nullptr);

// The stack effect of an instruction, whose operands must be in range.
Effect effect_of(const Method& method, const std::vector<Operator>& operators, size_t at);

// Whether a raise finds the class of the exception on top of the message. Old files have the message alone.
bool has_exception_class(const Method& method, size_t at);

struct Verified {
  std::vector<int32_t> depth;  // of the stack before each instruction; -1: it is never reached
  uint32_t max_depth = 0;
};
// Throws Error: file, method, instruction, what is wrong.
Verified verify(const Method& method, const std::vector<Operator>& operators, const std::string& file);

}  // namespace sconce::lite
