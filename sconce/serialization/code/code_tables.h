// Reference tables of printed code: classes, functions, constants, versions of operators. Filled while the code is
// printed, in the order of first use.
#pragma once

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sconce/ir/function.h"

namespace sconce {

class CodeTables {
 public:
  // A class, interface, enum or named tuple, or a function, and its name in the text.
  struct Definition {
    std::variant<TypePtr, ir::Function*> what;
    std::string name;
  };

  // For a file, which can hold less than people can read.
  bool for_file = false;

  // As an annotation. Throws Error when two types of one name are met: the text could not tell them apart.
  std::string type(TypePtr type);
  // The qualified name; functions of one name (of two programs, overloads) are told apart by ___torch_mangle_N.
  std::string function(ir::Function& function);
  // A literal, or "CONSTANTS.c0": equal tensors and strings have one entry.
  std::string value(const Value& v);
  // Of a parameter: tensors inside of tuples and lists are constants of their own.
  std::string default_value(const Value& v);
  // How a call of the operator begins; notes the version that it needs. Throws Error for an overload that its name does
  // not mean.
  struct OperatorText {
    std::string head;       // "torch.add", "ops.prim.dtype", "^f" for a function of Python
    std::string_view cast;  // "int" for one that is also a conversion
  };
  const OperatorText& operator_text(const Op& op);

  const std::vector<Definition>& definitions() const { return definitions_; }
  std::vector<Value> take_constants() { return std::move(constants_); }
  int version() const { return version_; }

 private:
  void note(TypePtr type);
  std::string constant(const Value& v);
  std::vector<Definition> definitions_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<const ir::Function*, std::string> functions_;
  std::vector<Value> constants_;
  std::unordered_map<std::string, std::vector<size_t>> alike_;  // constants that may be equal, by a cheap key
  std::unordered_map<const Op*, OperatorText> operators_;
  int version_ = 3;
};

}  // namespace sconce
