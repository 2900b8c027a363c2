// Pointwise operators to prims: the steps of an expression of the table (Note [Steps] in dispatch/entry.h), one by one.
#include <algorithm>
#include <limits>

#include "sconce/dispatch/entry.h"
#include "sconce/lowering/prims_rules.h"
#include "sconce/lowering/table_condition.h"
#include "sconce/tensor/promotion.h"

namespace sconce::lowering {
namespace {

NumberClass class_of(DType t) {
  if (t == DType::bool_) return kBools;
  switch (category(t)) {
    case Category::floating:
      return kFloats;
    case Category::complex:
      return kComplexNumbers;
    default:
      return kIntegers;
  }
}

// Steps that are a prim of their operands.
struct SamePrim {
  StepKind kind;
  std::string_view prim;
};
constexpr SamePrim kSame[] = {
    {StepKind::neg, "neg"},
    {StepKind::add, "add"},
    {StepKind::sub, "sub"},
    {StepKind::mul, "mul"},
    {StepKind::div, "div"},
    {StepKind::trunc_div, "div"},
    {StepKind::shift_left, "shift_left"},
    {StepKind::shift_right, "shift_right_arithmetic"},
    {StepKind::eq, "eq"},
    {StepKind::ne, "ne"},
    {StepKind::lt, "lt"},
    {StepKind::le, "le"},
    {StepKind::gt, "gt"},
    {StepKind::ge, "ge"},
    {StepKind::abs, "abs"},
    {StepKind::acos, "acos"},
    {StepKind::acosh, "acosh"},
    {StepKind::asin, "asin"},
    {StepKind::asinh, "asinh"},
    {StepKind::atan, "atan"},
    {StepKind::atan2, "atan2"},
    {StepKind::atanh, "atanh"},
    {StepKind::bessel_j0, "bessel_j0"},
    {StepKind::bessel_j1, "bessel_j1"},
    {StepKind::ceil, "ceil"},
    {StepKind::cos, "cos"},
    {StepKind::cosh, "cosh"},
    {StepKind::digamma, "digamma"},
    {StepKind::erf, "erf"},
    {StepKind::erfc, "erfc"},
    {StepKind::erfcx, "erfcx"},
    {StepKind::erfinv, "erf_inv"},
    {StepKind::exp, "exp"},
    {StepKind::exp2, "exp2"},
    {StepKind::expm1, "expm1"},
    {StepKind::floor, "floor"},
    {StepKind::fmax, "fmax"},
    {StepKind::fmin, "fmin"},
    {StepKind::fmod, "fmod"},
    {StepKind::gcd, "gcd"},
    {StepKind::hypot, "hypot"},
    {StepKind::i0, "bessel_i0"},
    {StepKind::i0e, "bessel_i0e"},
    {StepKind::i1, "bessel_i1"},
    {StepKind::i1e, "bessel_i1e"},
    {StepKind::igamma, "igamma"},
    {StepKind::igammac, "igammac"},
    {StepKind::isfinite, "isfinite"},
    {StepKind::lgamma, "lgamma"},
    {StepKind::log, "log"},
    {StepKind::log10, "log10"},
    {StepKind::log1p, "log1p"},
    {StepKind::log2, "log2"},
    {StepKind::maximum, "maximum"},
    {StepKind::minimum, "minimum"},
    {StepKind::ndtri, "ndtri"},
    {StepKind::nextafter, "nextafter"},
    {StepKind::pow, "pow"},
    {StepKind::remainder, "remainder"},
    {StepKind::round, "round"},
    {StepKind::rsqrt, "rsqrt"},
    {StepKind::sign, "sign"},
    {StepKind::signbit, "signbit"},
    {StepKind::sin, "sin"},
    {StepKind::sinh, "sinh"},
    {StepKind::sqrt, "sqrt"},
    {StepKind::tan, "tan"},
    {StepKind::tanh, "tanh"},
    {StepKind::trunc, "trunc"},
    {StepKind::zeta, "zeta"},
};

// The steps of one expression, as values of the graph; null where a step cannot be said in prims. Masks are values of
// bool, whatever the dtype that is computed in.
class Steps {
 public:
  Steps(const LoweredCall& call, const PointwiseCase& c, const Expression& expression, DType common, DType compute,
        PrimsBuilder& b)
      : call_(call),
        expression_(expression),
        common_(common),
        compute_(compute),
        sizes_(call.result().sizes()),
        masks_(c.masks),
        b_(b) {}

  ir::Value* result() {
    for (const Step& step : expression_.steps()) {
      ir::Value* v = value_of(step);
      if (v == nullptr) return nullptr;
      values_.push_back(v);
    }
    return values_.back();
  }

 private:
  ir::Value* value_of(const Step& s) {
    switch (s.kind) {
      case StepKind::argument:
        return argument(s.a);
      case StepKind::constant: {
        const Constant& c = expression_.constants[s.a];
        return literal(class_of(compute_) & (kFloats | kComplexNumbers) ? Scalar(c.real) : Scalar(c.integer));
      }
      case StepKind::fma:
        return fma(s);
      case StepKind::where: {
        ir::Value *a = number(s.b), *c = number(s.c);
        if (is_mask(s.b) && is_mask(s.c)) a = values_[s.b], c = values_[s.c];
        match(a, c);
        return b_.call("where", {mask(s.a), a, c});
      }
      case StepKind::not_:
        return b_.call("bitwise_not", {mask(s.a)});
      case StepKind::and_:
        return b_.call("bitwise_and", {mask(s.a), mask(s.b)});
      case StepKind::or_:
        return b_.call("bitwise_or", {mask(s.a), mask(s.b)});
      case StepKind::bit_and:
        return bits("bitwise_and", s);
      case StepKind::bit_or:
        return bits("bitwise_or", s);
      case StepKind::bit_xor:
        return bits("bitwise_xor", s);
      case StepKind::invert:
        return b_.call("bitwise_not", {values_[s.a]});
      case StepKind::floor_div:
        return floor_div(number(s.a), number(s.b));
      case StepKind::isnan:
        return b_.call("ne", {number(s.a), number(s.a)});
      case StepKind::isinf:
        return is_inf(number(s.a));
      case StepKind::sigmoid: {
        ir::Value* e = b_.call("exp", {b_.call("neg", {number(s.a)})});
        return b_.call("reciprocal", {b_.call("add", {e, literal(1)})});
      }
      case StepKind::normal_cdf:
        return normal_cdf(s.a);
      case StepKind::narrow:
        return b_.convert(b_.convert(number(s.a), common_), compute_);
      case StepKind::to_bool:
        return mask(s.a);
      case StepKind::copysign: {
        ir::Value* a = b_.call("abs", {number(s.a)});
        return b_.call("where", {b_.call("signbit", {number(s.b)}), b_.call("neg", {a}), a});
      }
      case StepKind::conj:
        return is_complex(b_.dtype(values_[s.a])) ? b_.call("conj_physical", {values_[s.a]}) : values_[s.a];
      case StepKind::real:
        return is_complex(b_.dtype(values_[s.a])) ? b_.call("real", {values_[s.a]}) : values_[s.a];
      case StepKind::imag:
        return is_complex(b_.dtype(values_[s.a])) ? b_.call("imag", {values_[s.a]}) : nullptr;
      default:
        return same(s);
    }
  }

  ir::Value* same(const Step& s) {
    for (const SamePrim& row : kSame) {
      if (row.kind != s.kind) continue;
      ir::Value* a = number(s.a);
      if (step_arity(s.kind) == 1) return b_.call(row.prim, {a});
      ir::Value* c = number(s.b);
      match(a, c);
      return b_.call(row.prim, {a, c});
    }
    return nullptr;
  }

  // Operands are converted and broadcast; those without dimensions stay so beside others.
  ir::Value* argument(size_t place) {
    const sconce::Value& arg = call_.args[place];
    if (arg.is_number()) return literal(arg.to_scalar());
    if (!arg.is_tensor()) return nullptr;
    ir::Value* v = call_.node.input(place);
    const bool is_mask = b_.dtype(v) == DType::bool_ && masks_ >> place & 1;
    // As a loop reads it: in the common dtype first, then in that of the registers.
    if (!is_mask) v = b_.convert(b_.dtype(v) == common_ ? v : b_.convert(v, common_), compute_);
    return b_.shape(v).dim() == 0 ? v : b_.broadcast(v, sizes_);
  }

  ir::Value* literal(const Scalar& value) {
    const bool fits = !value.is_complex() || is_complex(compute_);
    return fits ? b_.number(value, compute_) : nullptr;
  }

  bool is_mask(size_t step) const { return b_.dtype(values_[step]) == DType::bool_ && compute_ != DType::bool_; }
  // A comparison used as a number is 1 or 0.
  ir::Value* number(size_t step) { return is_mask(step) ? b_.convert(values_[step], compute_) : values_[step]; }
  // A number used as a condition is true unless 0.
  ir::Value* mask(size_t step) {
    ir::Value* v = values_[step];
    return b_.dtype(v) == DType::bool_ ? v : b_.call("ne", {v, b_.number(0, b_.dtype(v))});
  }
  // Real parts beside complex numbers are such.
  void match(ir::Value*& a, ir::Value*& c) {
    if (b_.dtype(a) == b_.dtype(c)) return;
    a = b_.convert(a, compute_);
    c = b_.convert(c, compute_);
  }

  ir::Value* bits(std::string_view prim, const Step& s) {
    ir::Value *a = values_[s.a], *c = values_[s.b];
    if (is_mask(s.a) != is_mask(s.b)) a = number(s.a), c = number(s.b);
    return b_.call(prim, {a, c});
  }

  std::optional<Scalar> literal_of(size_t step) const {
    const Step& s = expression_.steps()[step];
    if (s.kind == StepKind::argument && call_.args[s.a].is_number()) return call_.args[s.a].to_scalar();
    if (s.kind == StepKind::constant) return Scalar(expression_.constants[s.a].real);
    if (s.kind == StepKind::neg) {
      const std::optional<Scalar> v = literal_of(s.a);
      if (v && !v->is_complex()) return Scalar(-v->to_double());
    }
    return std::nullopt;
  }

  // a * b + c; a is a number in most uses, and 1 or -1 in most calls.
  ir::Value* fma(const Step& s) {
    ir::Value *a = number(s.a), *b = number(s.b), *c = number(s.c);
    match(a, b);
    match(b, c);
    if (const std::optional<Scalar> factor = literal_of(s.a); factor && !factor->is_complex()) {
      if (factor->to_double() == 1) return b_.call("add", {c, b});
      if (factor->to_double() == -1) return b_.call("sub", {c, b});
    }
    return b_.call("add", {b_.call("mul", {b, a}), c});
  }

  ir::Value* is_inf(ir::Value* v) {
    const DType dtype = b_.dtype(v);
    if (category(dtype) < Category::floating) return b_.call("ne", {v, v});  // never
    ir::Value* size = b_.call("abs", {v});
    return b_.call("eq", {size, b_.number(std::numeric_limits<double>::infinity(), b_.dtype(size))});
  }

  // (1 + erf(x / sqrt(2))) / 2, as the loop for float64; that for float32 is as exact, but not the same.
  ir::Value* normal_cdf(size_t step) {
    ir::Value* scaled = b_.call("mul", {number(step), literal(0.70710678118654752440)});
    ir::Value* above = b_.call("add", {b_.call("erf", {scaled}), literal(1)});
    return b_.call("mul", {above, literal(0.5)});
  }

  // Python's //. The quotient of what is a multiple, less one where the signs of remainder and divisor differ.
  ir::Value* floor_div(ir::Value* a, ir::Value* d) {
    const bool floats = class_of(compute_) == kFloats;
    ir::Value* rest = b_.call("fmod", {a, d});
    ir::Value* zero = b_.number(0, compute_);
    ir::Value* signs = b_.call("ne", {b_.call("lt", {rest, zero}), b_.call("lt", {d, zero})});
    ir::Value* less = b_.call("bitwise_and", {b_.call("ne", {rest, zero}), signs});
    ir::Value* quotient = b_.call("div", {b_.call("sub", {a, rest}), d});
    quotient = b_.call("sub", {quotient, b_.convert(less, compute_)});
    if (!floats) return quotient;
    // Rounding may leave it between two integers; a quotient of 0 has the sign of a / d, and x // 0 is x / 0.
    ir::Value* floored = b_.call("floor", {quotient});
    ir::Value* half = b_.call("gt", {b_.call("sub", {quotient, floored}), b_.number(0.5, compute_)});
    floored = b_.call("add", {floored, b_.convert(half, compute_)});
    ir::Value* exact = b_.call("div", {a, d});
    ir::Value* negative = b_.call("signbit", {exact});
    ir::Value* nothing = b_.call("where", {negative, b_.number(-0.0, compute_), zero});
    ir::Value* result = b_.call("where", {b_.call("eq", {quotient, zero}), nothing, floored});
    return b_.call("where", {b_.call("eq", {d, zero}), exact, result});
  }

  const LoweredCall& call_;
  const Expression& expression_;
  DType common_, compute_;
  IntList sizes_;
  uint16_t masks_;  // bit k: argument k is bool whatever the common dtype is
  PrimsBuilder& b_;
  std::vector<ir::Value*> values_;
};

const PointwiseCase* case_of(const LoweredCall& call) {
  for (const PointwiseCase& c : call.op.info.entry->pointwise()) {
    const std::optional<bool> taken = holds(c.when, call.op, call.args);
    if (!taken) return nullptr;
    if (*taken) return &c;
  }
  return nullptr;
}

bool has_expression(const PointwiseCase& c, NumberClass numbers) {
  return std::ranges::any_of(c.expressions(), [&](const Expression& e) { return e.classes & numbers; });
}

DType common_dtype(const LoweredCall& call, const PointwiseCase& c) {
  if (c.dtype == DTypeRule::self) return call.args[0].to_tensor().dtype();
  ResultType type;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!(c.promoting >> i & 1)) continue;
    if (call.args[i].is_tensor())
      type.add(call.args[i].to_tensor());
    else if (call.args[i].is_number())
      type.add(call.args[i].to_scalar());
  }
  const DType common = type.get();
  const bool floats = c.dtype == DTypeRule::floating || c.dtype == DTypeRule::wide;
  return floats && category(common) < Category::floating ? default_dtype() : common;
}

}  // namespace

DType compute_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

Lowered lower_pointwise(const LoweredCall& call, PrimsBuilder& b) {
  const PointwiseCase* c = case_of(call);
  if (c == nullptr) return nullptr;
  const DType common = common_dtype(call, *c);
  if (is_limited(common)) return nullptr;
  // Bools without an expression of their own run as integers.
  const bool as_integers = common == DType::bool_ && !has_expression(*c, kBools);
  const DType compute = as_integers ? DType::uint8 : compute_dtype(common);
  for (const Expression& e : c->expressions()) {
    if (!(e.classes & class_of(compute))) continue;
    ir::Value* v = Steps(call, *c, e, common, compute, b).result();
    if (v == nullptr) return nullptr;
    // A comparison used as the result is a number there, unless it is to be a predicate.
    v = b.convert(v, call.result().dtype());
    return b.broadcast(v, call.result().sizes());
  }
  return nullptr;
}

}  // namespace sconce::lowering
