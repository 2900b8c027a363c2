// Operators of the language: their enumeration and names (base/operators.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce::syntax {

// Binary ones, unary ones, comparisons, in this order.
enum class Operator : uint8_t {
#define SCONCE_OPERATOR(name, text, stem, op, eager, augmented, in_place) name,
#include "sconce/base/operators.def"
};

// Empty where there is no such name.
struct OperatorNames {
  std::string_view text;   // "+", "//", "is not"
  std::string_view stem;   // "truediv" of __truediv__ and __itruediv__
  std::string_view op;     // "aten::floordiv": what graphs call
  std::string_view eager;  // "aten::floor_divide": what takes tensors at once
  std::string_view augmented,
      in_place;  // "aten::fmod", "aten::fmod_": what `x %= y` calls, and where x is a tensor or list
};
SCONCE_API const OperatorNames& names_of(Operator op);
// "__truediv__"; empty without a stem.
SCONCE_API std::string magic_method(Operator op);

// The operator of __stem__: `contains` is `in`.
SCONCE_API std::optional<Operator> operator_of_stem(std::string_view stem);
SCONCE_API bool is_unary(Operator op);
SCONCE_API std::string_view operator_text(Operator op);

}  // namespace sconce::syntax
