// Lite bytecode tables: methods of a stack machine as bytecode.pkl holds them. They are read here and checked for their
// form; lite_verifier.h checks the code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::lite {

// The versions of bytecode that can be read.
inline constexpr int64_t kOldestBytecode = 4, kNewestBytecode = 9;
// Limits against hostile files; each has a clear error and a test.
inline constexpr int64_t kMaxRegisters = 20'000;  // of a method
inline constexpr int64_t kMaxArguments = 1'000;   // of a method

// X(our name, name in the file, operands, stack effect, operator). Operands: what X and N are: r a register, c a
// constant, o an operator, t a type, j a distance to jump, s a slot of an object, n a count, - nothing. R and T are the
// first of N.
// Stack effect: how many values it pops and pushes, a digit each, or x, n: as many as that operand says; 00 for op, opn
// and loop, whose effects the verifiers know. Since version 8 some operators have an opcode of their own.
#define SCONCE_LITE_OPCODES(X)                                              \
  X(op, "OP", "o-", "00", "")                                               \
  X(opn, "OPN", "on", "00", "")                                             \
  X(load, "LOAD", "r-", "01", "")                                           \
  X(move, "MOVE", "r-", "01", "")                                           \
  X(store, "STORE", "r-", "10", "")                                         \
  X(storen, "STOREN", "Rn", "n0", "")                                       \
  X(drop, "DROP", "--", "10", "")                                           \
  X(dropr, "DROPR", "r-", "00", "")                                         \
  X(loadc, "LOADC", "c-", "01", "")                                         \
  X(jf, "JF", "j-", "10", "")                                               \
  X(jmp, "JMP", "j-", "00", "")                                             \
  X(loop, "LOOP", "jn", "00", "")                                           \
  X(ret, "RET", "--", "11", "")                                             \
  X(get_attr, "GET_ATTR", "s-", "11", "")                                   \
  X(set_attr, "SET_ATTR", "s-", "20", "")                                   \
  X(list_construct, "LIST_CONSTRUCT", "tn", "n1", "")                       \
  X(tuple_construct, "TUPLE_CONSTRUCT", "n-", "x1", "")                     \
  X(named_tuple_construct, "NAMED_TUPLE_CONSTRUCT", "tn", "n1", "")         \
  X(dict_construct, "DICT_CONSTRUCT", "tn", "n1", "")                       \
  X(create_object, "CREATE_OBJECT", "t-", "01", "")                         \
  X(isinstance, "ISINSTANCE", "Tn", "11", "")                               \
  X(tuple_slice, "TUPLE_SLICE", "nn", "11", "")                             \
  X(list_unpack, "LIST_UNPACK", "n-", "1x", "")                             \
  X(warn, "WARN", "--", "20", "")                                           \
  X(interface_call, "INTERFACE_CALL", "cn", "n1", "")                       \
  X(raise, "RAISE_EXCEPTION", "--", "10", "")                               \
  X(dict_index, "DICT_INDEX", "--", "21", "aten::__getitem__.Dict_str")     \
  X(tuple_index, "TUPLE_INDEX", "--", "21", "prim::TupleIndex")             \
  X(unchecked_cast, "UNCHECKED_CAST", "--", "11", "")                       \
  X(uninitialized, "UN_INITIALIZED", "--", "01", "")                        \
  X(is, "__IS__", "--", "21", "aten::__is__")                               \
  X(is_not, "__ISNOT__", "--", "21", "aten::__isnot__")                     \
  X(not_, "__NOT__", "--", "11", "aten::__not__")                           \
  X(format, "FORMAT", "n-", "x1", "aten::format")                           \
  X(device, "DEVICE", "--", "11", "prim::device")                           \
  X(dtype, "DTYPE", "--", "11", "prim::dtype")                              \
  X(dim, "DIM", "--", "11", "aten::dim")                                    \
  X(is_cuda, "IS_CUDA", "--", "11", "prim::is_cuda")                        \
  X(num_to_tensor, "NUM_TO_TENSOR", "--", "11", "prim::NumToTensor.Scalar") \
  X(to_list, "TO_LIST", "--", "31", "")

enum class Opcode : uint8_t {
#define SCONCE_LITE_OPCODE(name, text, operands, effect, op) name,
  SCONCE_LITE_OPCODES(SCONCE_LITE_OPCODE)
#undef SCONCE_LITE_OPCODE
};
std::string_view opcode_name(Opcode op);
std::string_view opcode_operands(Opcode op);
std::optional<Opcode> opcode_by_name(std::string_view name);
std::string_view opcode_operator(Opcode op);  // "aten::dim"; empty when it has none
std::optional<Opcode> opcode_by_operator(std::string_view qualified_name);

struct Instruction {
  Opcode op;
  int32_t x = 0;
  uint16_t n = 0;
};

// The stack effect of an instruction.
struct Effect {
  int64_t pops = 0, pushes = 0;
};
Effect effect_in_table(const Instruction& i);

struct OperatorRow {
  std::string name, overload;
  std::optional<int64_t> specified;  // arguments that the caller pushes; nothing: all of them
  std::string qualified_name() const { return overload.empty() ? name : name + "." + overload; }
};

struct ArgumentRow {
  std::string name, type;
  Value default_value;
};

struct Method {
  std::string name;  // "__torch__.m.MLP.forward"
  std::vector<Instruction> instructions;
  std::vector<OperatorRow> operators;
  std::vector<Value> constants;
  std::vector<std::string> types;
  int64_t registers = 0;
  std::vector<ArgumentRow> arguments, returns;
  std::vector<int64_t> debug_handles;  // one per instruction, or none

  std::string class_name() const { return name.substr(0, name.rfind('.')); }
  std::string_view short_name() const { return std::string_view(name).substr(name.rfind('.') + 1); }
};

struct Tables {
  int64_t version = 0;
  std::vector<Method> methods;
};

// The tables that the pickle in bytecode.pkl is; `file` is for messages. Throws Error: a table is not where it belongs,
// misnamed or of another form; an unknown opcode, a number that no instruction can hold, a limit.
Tables read_tables(const Value& pickle, const std::string& file);
// Gives the methods their handles: the pickle in mobile_debug_handles.pkl. Throws Error.
void read_debug_handles(const Value& pickle, const std::string& file, Tables& tables);

}  // namespace sconce::lite
