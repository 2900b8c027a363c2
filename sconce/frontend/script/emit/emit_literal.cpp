#include "sconce/frontend/script/emit/emit_literal.h"

#include <limits>

namespace sconce::script {
namespace {

using namespace syntax;

std::optional<Value> constant_of(const Constant& c) {
  switch (c.literal) {
    case Constant::Literal::none:
      return Value();
    case Constant::Literal::true_:
      return Value(true);
    case Constant::Literal::false_:
      return Value(false);
    case Constant::Literal::integer:
      return Value(c.integer);
    case Constant::Literal::real:
      return Value(c.real);
    case Constant::Literal::imaginary:
      return Value(std::complex<double>(0, c.real));
    case Constant::Literal::string:
      return Value(c.string);
    case Constant::Literal::ellipsis:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::vector<Value>> literals(const std::vector<ExprPtr>& items) {
  std::vector<Value> values;
  for (ExprPtr item : items) {
    auto v = literal_value(item);
    if (!v) return std::nullopt;
    values.push_back(std::move(*v));
  }
  return values;
}

std::optional<Value> negated(const Value& v) {
  if (v.is_int()) return Value(-v.to_int());
  if (v.is_double()) return Value(-v.to_double());
  if (v.is_complex()) return Value(-v.to_complex());
  return std::nullopt;
}

}  // namespace

std::optional<Value> literal_value(ExprPtr e) {
  if (const auto* c = as<Constant>(e)) return constant_of(*c);
  if (const auto* u = as<Unary>(e)) {
    const auto operand = literal_value(u->operand);
    return operand && u->op == Operator::neg ? negated(*operand) : std::nullopt;
  }
  if (const auto* b = as<Binary>(e)) {  // 2.5-1.j
    const auto left = literal_value(b->left), right = literal_value(b->right);
    if (!left || !right || !right->is_complex() || !left->is_number()) return std::nullopt;
    if (b->op == Operator::add) return Value(left->to_complex() + right->to_complex());
    if (b->op == Operator::sub) return Value(left->to_complex() - right->to_complex());
    return std::nullopt;
  }
  if (const auto* n = as<Name>(e)) {  // of archives
    if (n->id == "inf") return Value(std::numeric_limits<double>::infinity());
    if (n->id == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    return std::nullopt;
  }
  if (const auto* t = as<TupleExpr>(e)) {
    auto items = literals(t->items);
    return items ? std::optional(Value(make_ref<Tuple>(std::move(*items)))) : std::nullopt;
  }
  if (const auto* l = as<ListExpr>(e)) {
    auto items = literals(l->items);
    if (!items) return std::nullopt;
    TypePtr element = items->empty() ? tensor_type() : items->front().type();
    for (const Value& v : *items) {
      if (v.type() != element) element = any_type();
    }
    auto list = make_ref<List>(element);
    for (Value& v : *items) list->append(std::move(v));
    return Value(std::move(list));
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> literal_strings(ExprPtr e) {
  std::vector<std::string> texts;
  const std::vector<ExprPtr>* items = nullptr;
  if (const auto* l = as<ListExpr>(e)) items = &l->items;
  if (const auto* t = as<TupleExpr>(e)) items = &t->items;
  if (!items) return std::nullopt;
  for (ExprPtr item : *items) {
    const auto* c = as<Constant>(item);
    if (!c || c->literal != Constant::Literal::string) return std::nullopt;
    texts.push_back(c->string);
  }
  return texts;
}

}  // namespace sconce::script
