// Schema: the signature of an operator, as PyTorch writes it:
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// parse_schema reads every schema of PyTorch's own list and to_string prints it back character for character.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

// Which memory an argument or result may share: Tensor(a), Tensor(a!), Tensor(a -> *), Tensor(a|b).
struct AliasInfo {
  std::vector<std::string> before;  // sets on entry; "*" is the wildcard
  std::vector<std::string> after;   // sets on exit, when they differ ("a -> *"); else empty
  bool write = false;
  // Alias of the elements of a list, one level: Tensor(a!)[] has no set of its own and {a!} here.
  std::vector<AliasInfo> contained;
  friend bool operator==(const AliasInfo&, const AliasInfo&) = default;
};

struct SCONCE_API Argument {
  std::string name;                    // may be empty for a return
  TypePtr type = nullptr;              // int[2]? is Optional[List[int]]
  std::optional<int32_t> fixed_size;   // the 2 of int[2]: a single int is repeated
  std::optional<Value> default_value;  // as a Value of the argument's type
  std::string default_text;            // as written, for printing back
  bool keyword_only = false;
  std::optional<AliasInfo> alias;
  bool is_written() const;  // by the operator, itself or its elements
};

struct SCONCE_API Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor", or empty
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  bool is_vararg = false;     // "..." instead of or after the arguments
  bool is_varret = false;     // "-> ..."
  bool single_return = true;  // "-> Tensor" rather than "-> (Tensor)"

  bool is_mutable() const;  // writes to an argument
  std::optional<size_t> find_argument(std::string_view name) const;
  std::string qualified_name() const;  // "aten::add.Tensor"
  std::string to_string() const;
};

// Throws Error with the text, the place and what was expected.
SCONCE_API Schema parse_schema(std::string_view text);

}  // namespace sconce
