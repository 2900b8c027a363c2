#include "sconce/lowering/table_condition.h"

#include <limits>

#include "sconce/base/error.h"
#include "sconce/syntax/parser.h"

namespace sconce {
namespace {

using syntax::ExprKind;
using syntax::ExprPtr;
using syntax::Operator;

// Only what conditions of the table use; everything else is not known.
class Evaluation {
 public:
  Evaluation(const Schema& schema, std::span<const Value> args) : schema_(schema), args_(args) {}

  std::optional<Value> operator()(ExprPtr e) const {
    switch (e->kind) {
      case ExprKind::name:
        return name(static_cast<const syntax::Name*>(e)->id);
      case ExprKind::constant:
        return constant(*static_cast<const syntax::Constant*>(e));
      case ExprKind::unary:
        return unary(*static_cast<const syntax::Unary*>(e));
      case ExprKind::bool_op:
        return bool_op(*static_cast<const syntax::BoolOp*>(e));
      case ExprKind::compare:
        return compare(*static_cast<const syntax::Compare*>(e));
      case ExprKind::attribute:
        return attribute(*static_cast<const syntax::Attribute*>(e));
      case ExprKind::call:
        return call(*static_cast<const syntax::Call*>(e));
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<Value> name(std::string_view id) const {
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      if (schema_.arguments[i].name == id) return args_[i];
    }
    if (id == "inf") return Value(std::numeric_limits<double>::infinity());
    return std::nullopt;
  }

  static std::optional<Value> constant(const syntax::Constant& c) {
    using Literal = syntax::Constant::Literal;
    switch (c.literal) {
      case Literal::none:
        return Value();
      case Literal::true_:
      case Literal::false_:
        return Value(c.literal == Literal::true_);
      case Literal::integer:
        return Value(c.integer);
      case Literal::real:
        return Value(c.real);
      case Literal::string:
        return Value(std::string_view(c.string));
      default:
        return std::nullopt;
    }
  }

  std::optional<Value> unary(const syntax::Unary& e) const {
    const std::optional<Value> v = (*this)(e.operand);
    if (!v) return std::nullopt;
    if (e.op == Operator::not_ && v->is_bool()) return Value(!v->to_bool());
    if (e.op == Operator::neg && v->is_int()) return Value(-v->to_int());
    if (e.op == Operator::neg && v->is_double()) return Value(-v->to_double());
    return std::nullopt;
  }

  std::optional<Value> bool_op(const syntax::BoolOp& e) const {
    const std::optional<Value> left = (*this)(e.left);
    if (!left || !left->is_bool()) return std::nullopt;
    return left->to_bool() == e.is_and ? (*this)(e.right) : left;
  }

  std::optional<Value> compare(const syntax::Compare& e) const {
    const std::optional<Value> a = (*this)(e.left), b = (*this)(e.right);
    if (!a || !b) return std::nullopt;
    if (e.op == Operator::is || e.op == Operator::is_not)
      return Value((a->is_none() == b->is_none()) == (e.op == Operator::is));
    if (a->is_number() && b->is_number()) return numbers(e.op, a->to_scalar(), b->to_scalar());
    if (e.op == Operator::eq) return Value(a->equals(*b));
    if (e.op == Operator::ne) return Value(!a->equals(*b));
    return std::nullopt;
  }

  static std::optional<Value> numbers(Operator op, const Scalar& a, const Scalar& b) {
    if (a.is_complex() || b.is_complex()) {
      const bool same = a.to_complex() == b.to_complex();
      return op == Operator::eq || op == Operator::ne ? std::optional(Value(same == (op == Operator::eq)))
                                                      : std::nullopt;
    }
    const double x = a.to_double(), y = b.to_double();
    switch (op) {
      case Operator::eq:
        return Value(x == y);
      case Operator::ne:
        return Value(x != y);
      case Operator::lt:
        return Value(x < y);
      case Operator::le:
        return Value(x <= y);
      case Operator::gt:
        return Value(x > y);
      case Operator::ge:
        return Value(x >= y);
      default:
        return std::nullopt;
    }
  }

  // x.dtype, torch.float16: dtypes as their numbers.
  std::optional<Value> attribute(const syntax::Attribute& e) const {
    if (e.value->kind != ExprKind::name) return std::nullopt;
    const std::string& of = static_cast<const syntax::Name*>(e.value)->id;
    if (of == "torch") {
      for (DType t : kAllDTypes) {
        if (dtype_name(t) == e.attr) return Value(static_cast<int64_t>(t));
      }
      return std::nullopt;
    }
    const std::optional<Value> v = name(of);
    if (!v || !v->is_tensor() || e.attr != "dtype") return std::nullopt;
    return Value(static_cast<int64_t>(v->to_tensor().dtype()));
  }

  // x.dim(), is_floating_point(x), is_complex(x)
  std::optional<Value> call(const syntax::Call& e) const {
    if (e.callee->kind == ExprKind::attribute) {
      const auto& method = *static_cast<const syntax::Attribute*>(e.callee);
      const std::optional<Value> v = (*this)(method.value);
      if (!v || !v->is_tensor() || method.attr != "dim") return std::nullopt;
      return Value(v->to_tensor().dim());
    }
    if (e.callee->kind != ExprKind::name || e.args.size() != 1) return std::nullopt;
    const std::optional<Value> v = (*this)(e.args[0]);
    if (!v || !v->is_tensor()) return std::nullopt;
    const std::string& function = static_cast<const syntax::Name*>(e.callee)->id;
    const DType dtype = v->to_tensor().dtype();
    if (function == "is_floating_point") return Value(is_floating(dtype));
    if (function == "is_complex") return Value(is_complex(dtype));
    return std::nullopt;
  }

  const Schema& schema_;
  std::span<const Value> args_;
};

}  // namespace

std::optional<bool> holds(const char* condition, const Op& op, std::span<const Value> args) {
  if (condition == nullptr) return true;
  const syntax::ParsedExpr parsed = syntax::parse_expression(std::make_shared<const Source>("when", condition));
  const std::optional<Value> v = Evaluation(op.schema(), args)(parsed.expr);
  return v && v->is_bool() ? std::optional(v->to_bool()) : std::nullopt;
}

}  // namespace sconce
