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

// X(our name, name in the file, operands, operator). Operands: what X and N are: r a register, c a constant, o an
// operator, t a type, j a distance to jump, s a slot of an object, n a count, - nothing. R and T are the first of N.
// Since version 8 some operators have an opcode of their own.
#define SCONCE_LITE_OPCODES(X)                                        \
  X(op, "OP", "o-", "")                                               \
  X(opn, "OPN", "on", "")                                             \
  X(load, "LOAD", "r-", "")                                           \
  X(move, "MOVE", "r-", "")                                           \
  X(store, "STORE", "r-", "")                                         \
  X(storen, "STOREN", "Rn", "")                                       \
  X(drop, "DROP", "--", "")                                           \
  X(dropr, "DROPR", "r-", "")                                         \
  X(loadc, "LOADC", "c-", "")                                         \
  X(jf, "JF", "j-", "")                                               \
  X(jmp, "JMP", "j-", "")                                             \
  X(loop, "LOOP", "jn", "")                                           \
  X(ret, "RET", "--", "")                                             \
  X(get_attr, "GET_ATTR", "s-", "")                                   \
  X(set_attr, "SET_ATTR", "s-", "")                                   \
  X(list_construct, "LIST_CONSTRUCT", "tn", "")                       \
  X(tuple_construct, "TUPLE_CONSTRUCT", "n-", "")                     \
  X(named_tuple_construct, "NAMED_TUPLE_CONSTRUCT", "tn", "")         \
  X(dict_construct, "DICT_CONSTRUCT", "tn", "")                       \
  X(create_object, "CREATE_OBJECT", "t-", "")                         \
  X(isinstance, "ISINSTANCE", "Tn", "")                               \
  X(tuple_slice, "TUPLE_SLICE", "nn", "")                             \
  X(list_unpack, "LIST_UNPACK", "n-", "")                             \
  X(warn, "WARN", "--", "")                                           \
  X(interface_call, "INTERFACE_CALL", "cn", "")                       \
  X(raise, "RAISE_EXCEPTION", "--", "")                               \
  X(dict_index, "DICT_INDEX", "--", "aten::__getitem__.Dict_str")     \
  X(tuple_index, "TUPLE_INDEX", "--", "prim::TupleIndex")             \
  X(unchecked_cast, "UNCHECKED_CAST", "--", "")                       \
  X(uninitialized, "UN_INITIALIZED", "--", "")                        \
  X(is, "__IS__", "--", "aten::__is__")                               \
  X(is_not, "__ISNOT__", "--", "aten::__isnot__")                     \
  X(not_, "__NOT__", "--", "aten::__not__")                           \
  X(format, "FORMAT", "n-", "aten::format")                           \
  X(device, "DEVICE", "--", "prim::device")                           \
  X(dtype, "DTYPE", "--", "prim::dtype")                              \
  X(dim, "DIM", "--", "aten::dim")                                    \
  X(is_cuda, "IS_CUDA", "--", "prim::is_cuda")                        \
  X(num_to_tensor, "NUM_TO_TENSOR", "--", "prim::NumToTensor.Scalar") \
  X(to_list, "TO_LIST", "--", "")

enum class Opcode : uint8_t {
#define SCONCE_LITE_OPCODE(name, text, operands, op) name,
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
