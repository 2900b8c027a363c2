#include "sconce/syntax/tree.h"

namespace sconce::syntax {

Tree::Tree() = default;
Tree::~Tree() = default;

std::string_view operator_text(Operator op) {
  switch (op) {
    case Operator::add:
      return "+";
    case Operator::sub:
      return "-";
    case Operator::mul:
      return "*";
    case Operator::div:
      return "/";
    case Operator::floordiv:
      return "//";
    case Operator::mod:
      return "%";
    case Operator::pow:
      return "**";
    case Operator::matmul:
      return "@";
    case Operator::bit_and:
      return "&";
    case Operator::bit_or:
      return "|";
    case Operator::bit_xor:
      return "^";
    case Operator::shift_left:
      return "<<";
    case Operator::shift_right:
      return ">>";
    case Operator::neg:
      return "-";
    case Operator::plus:
      return "+";
    case Operator::invert:
      return "~";
    case Operator::not_:
      return "not";
    case Operator::eq:
      return "==";
    case Operator::ne:
      return "!=";
    case Operator::lt:
      return "<";
    case Operator::le:
      return "<=";
    case Operator::gt:
      return ">";
    case Operator::ge:
      return ">=";
    case Operator::is:
      return "is";
    case Operator::is_not:
      return "is not";
    case Operator::in:
      return "in";
    case Operator::not_in:
      return "not in";
  }
  return "?";
}

std::string dotted_name(ExprPtr e) {
  if (const auto* name = as<Name>(e)) return name->id;
  const auto* attribute = as<Attribute>(e);
  const std::string outer = attribute ? dotted_name(attribute->value) : std::string();
  return outer.empty() ? outer : outer + "." + attribute->attr;
}

}  // namespace sconce::syntax
