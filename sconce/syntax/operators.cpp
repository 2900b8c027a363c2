#include "sconce/syntax/operators.h"

namespace sconce::syntax {
namespace {

// Of "none" and "aten::none": nothing.
constexpr std::string_view or_nothing(std::string_view word) { return word.ends_with("none") ? "" : word; }

constexpr OperatorNames kNames[] = {
#define SCONCE_OPERATOR(name, text, stem, op, eager, augmented, in_place) \
  {text,                                                                  \
   or_nothing(#stem),                                                     \
   or_nothing("aten::" #op),                                              \
   or_nothing("aten::" #eager),                                           \
   or_nothing("aten::" #augmented),                                       \
   or_nothing("aten::" #in_place)},
#include "sconce/base/operators.def"
};

}  // namespace

const OperatorNames& names_of(Operator op) { return kNames[static_cast<size_t>(op)]; }

std::string magic_method(Operator op) {
  const std::string_view stem = names_of(op).stem;
  return stem.empty() ? std::string() : "__" + std::string(stem) + "__";
}

std::optional<Operator> operator_of_stem(std::string_view stem) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (!stem.empty() && kNames[i].stem == stem) return static_cast<Operator>(i);
  }
  return std::nullopt;
}

bool is_unary(Operator op) { return op >= Operator::neg && op <= Operator::not_; }

std::string_view operator_text(Operator op) { return names_of(op).text; }

}  // namespace sconce::syntax
