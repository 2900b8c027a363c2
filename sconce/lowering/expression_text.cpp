#include "sconce/lowering/expression_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sconce/dispatch/entry.h"

namespace sconce::lowering {
namespace {

// Functions of the expression language that a core operator of the same name computes.
constexpr std::string_view kCore[] = {
    "exp",   "log",   "sin",  "cos",   "tan",     "asin",  "acos",  "atan",  "sinh",      "cosh", "tanh",  "asinh",
    "acosh", "atanh", "sqrt", "rsqrt", "sigmoid", "log2",  "log10", "log1p", "expm1",     "erf",  "floor", "ceil",
    "trunc", "round", "abs",  "sign",  "isnan",   "isinf", "atan2", "fmod",  "remainder", "pow"};

// What cannot be written: the operator stays.
struct Unwritable {};

struct Operand {
  enum class Kind : uint8_t { tensor, mask, number, flag } kind;
  std::string text;  // a name or a literal
  bool is_tensor() const { return kind == Kind::tensor || kind == Kind::mask; }
};
using Kind = Operand::Kind;

// One expression, as lines.
class Writer {
 public:
  Writer(const Expression& expression, const std::vector<Operand>& arguments, std::string indent)
      : expression_(expression), arguments_(arguments), indent_(std::move(indent)) {}

  Operand run(std::string& lines) {
    for (const Step& step : expression_.steps()) {
      Operand made = value(step);
      if (step_arity(step.kind) > 0) {
        const std::string name = "t" + std::to_string(values_.size());
        lines += indent_ + name + " = " + made.text + "\n";
        made.text = name;
      }
      values_.push_back(made);
    }
    return values_.back();
  }

  static std::string tensor(const Operand& v) {
    if (v.kind == Kind::tensor) return v.text;
    if (v.kind == Kind::mask) return "_to_copy(" + v.text + ", dtype=c)";
    return "scalar_tensor(" + v.text + ", dtype=c)";
  }
  static std::string mask(const Operand& v) {
    if (v.kind == Kind::mask) return v.text;
    if (v.kind == Kind::tensor) return "(" + v.text + " != 0)";
    if (v.kind == Kind::flag) return "scalar_tensor(" + v.text + ", dtype=11)";
    throw Unwritable{};
  }

 private:
  static Operand literal(const Constant& c) {
    if (c.real == static_cast<double>(c.integer)) return {Kind::number, fmt::format("({})", c.integer)};
    if (c.real != c.real) return {Kind::number, "nan"};
    if (c.real - c.real != 0) return {Kind::number, c.real < 0 ? "(-inf)" : "inf"};
    return {Kind::number, fmt::format("({:.17g})", c.real)};
  }

  // Both as numbers, or both as what arithmetic of tensors takes.
  std::string infix(const char* sign, const Operand& a, const Operand& b) {
    return fmt::format("({} {} {})", number_or_tensor(a), sign, number_or_tensor(b));
  }
  static std::string number_or_tensor(const Operand& v) { return v.kind == Kind::mask ? tensor(v) : v.text; }

  Operand arithmetic(const char* sign, const Operand& a, const Operand& b) {
    const bool tensors = a.is_tensor() || b.is_tensor();
    const Kind kind = tensors ? Kind::tensor : Kind::number;
    if (!tensors || a.is_tensor()) return {kind, infix(sign, a, b)};
    // A number in front of a tensor has no core operator of its own.
    if (*sign == '+' || *sign == '*') return {kind, infix(sign, b, a)};
    if (*sign == '-') return {kind, fmt::format("(-{} + {})", tensor(b), a.text)};
    return {kind, fmt::format("({} {} {})", tensor(a), sign, tensor(b))};
  }

  Operand comparison(const char* sign, const char* mirrored, const Operand& a, const Operand& b) {
    if (!a.is_tensor() && !b.is_tensor()) return {Kind::flag, infix(sign, a, b)};
    if (!a.is_tensor()) return {Kind::mask, infix(mirrored, b, a)};
    return {Kind::mask, infix(sign, a, b)};
  }

  Operand logic(const char* name, const char* word, const Operand& a, const Operand& b) {
    if (!a.is_tensor() && !b.is_tensor()) return {Kind::flag, fmt::format("({} {} {})", a.text, word, b.text)};
    return {Kind::mask, fmt::format("{}({}, {})", name, mask(a), mask(b))};
  }

  Operand bits(const char* sign, const Operand& a, const Operand& b) {
    if (a.kind == Kind::tensor && b.kind == Kind::number) return {Kind::tensor, infix(sign, a, b)};
    if (!a.is_tensor() || !b.is_tensor()) throw Unwritable{};
    const bool masks = a.kind == Kind::mask && b.kind == Kind::mask;
    if (masks) return {Kind::mask, fmt::format("({} {} {})", a.text, sign, b.text)};
    return {Kind::tensor, infix(sign, a, b)};
  }

  Operand extreme(const char* name, const char* bound, const Operand& a, const Operand& b) {
    if (!a.is_tensor() && !b.is_tensor()) throw Unwritable{};
    if (a.is_tensor() && b.is_tensor()) return {Kind::tensor, fmt::format("{}({}, {})", name, tensor(a), tensor(b))};
    const Operand &t = a.is_tensor() ? a : b, &n = a.is_tensor() ? b : a;
    return {Kind::tensor, fmt::format("clamp({}, {}={})", tensor(t), bound, n.text)};
  }

  Operand choice(const Operand& c, const Operand& a, const Operand& b) {
    const bool masks = a.kind == Kind::mask && b.kind == Kind::mask;
    const auto side = [&](const Operand& v) { return masks ? v.text : tensor(v); };
    const Kind kind = masks ? Kind::mask : Kind::tensor;
    if (c.is_tensor()) return {kind, fmt::format("where({}, {}, {})", mask(c), side(a), side(b))};
    if (!a.is_tensor() && !b.is_tensor()) throw Unwritable{};
    return {kind, fmt::format("({} if {} else {})", side(a), c.text, side(b))};
  }

  Operand call(std::string_view name, int arity, const Operand& a, const Operand& b) {
    if (std::find(std::begin(kCore), std::end(kCore), name) == std::end(kCore)) throw Unwritable{};
    const bool asks = name == "isnan" || name == "isinf";
    const Kind kind = asks ? Kind::mask : Kind::tensor;
    if (arity == 1) return {kind, fmt::format("{}({})", name, tensor(a))};
    if (!a.is_tensor() && !b.is_tensor()) {
      if (name == "pow") return {Kind::number, fmt::format("({} ** {})", a.text, b.text)};
      throw Unwritable{};
    }
    const bool takes_numbers = name != "atan2" && a.is_tensor();
    return {kind, fmt::format("{}({}, {})", name, tensor(a), takes_numbers ? number_or_tensor(b) : tensor(b))};
  }

  // A number keeps its digits: operators take it as it is.
  static Operand narrowed(const Operand& v) {
    if (!v.is_tensor()) return v;
    return {Kind::tensor, fmt::format("({0} if c == d else _to_copy(_to_copy({0}, dtype=d), dtype=c))", tensor(v))};
  }

  // Division by powers of two that int64 has, in two steps; by a negative number or the width and more: the sign alone.
  static std::string shifted_right(const std::string& a, const std::string& b) {
    const std::string n =
        fmt::format("where({0} < 0, scalar_tensor(63, dtype=4), clamp(_to_copy({0}, dtype=4), max=63))", b);
    const std::string first = fmt::format("clamp({}, max=31)", n);
    return fmt::format(
        "_to_copy(div(div(_to_copy({0}, dtype=4), pow(2, {1}), rounding_mode='floor'), pow(2, {2} - {1}), "
        "rounding_mode='floor'), dtype=c)",
        a, first, n);
  }

  Operand value(const Step& step) {
    using enum StepKind;
    const auto at = [&](uint8_t i) -> const Operand& { return values_.at(i); };
    switch (step.kind) {
      case argument:
        return arguments_.at(step.a);
      case constant:
        return literal(expression_.constants[step.a]);
      case neg:
        return {at(step.a).is_tensor() ? Kind::tensor : Kind::number, "(-" + number_or_tensor(at(step.a)) + ")"};
      case invert:
        if (!at(step.a).is_tensor()) throw Unwritable{};
        return {at(step.a).kind, "bitwise_not(" + at(step.a).text + ")"};
      case not_:
        if (!at(step.a).is_tensor()) return {Kind::flag, "(not " + at(step.a).text + ")"};
        return {Kind::mask, "logical_not(" + mask(at(step.a)) + ")"};
      case add:
        return arithmetic("+", at(step.a), at(step.b));
      case sub:
        return arithmetic("-", at(step.a), at(step.b));
      case mul:
        return arithmetic("*", at(step.a), at(step.b));
      case div:
        return arithmetic("/", at(step.a), at(step.b));
      case bit_and:
        return bits("&", at(step.a), at(step.b));
      case bit_or:
        return bits("|", at(step.a), at(step.b));
      case bit_xor:
        return bits("^", at(step.a), at(step.b));
      case shift_left:  // by a negative number: 0. A power of two that has no place in the dtype is 0.
        return {Kind::tensor, fmt::format("where({1} < 0, scalar_tensor(0, dtype=c), {0} * pow(2, clamp({1}, min=0)))",
                                          tensor(at(step.a)), tensor(at(step.b)))};
      case shift_right:
        return {Kind::tensor, shifted_right(tensor(at(step.a)), tensor(at(step.b)))};
      case eq:
        return comparison("==", "==", at(step.a), at(step.b));
      case ne:
        return comparison("!=", "!=", at(step.a), at(step.b));
      case lt:
        return comparison("<", ">", at(step.a), at(step.b));
      case le:
        return comparison("<=", ">=", at(step.a), at(step.b));
      case gt:
        return comparison(">", "<", at(step.a), at(step.b));
      case ge:
        return comparison(">=", "<=", at(step.a), at(step.b));
      case and_:
        return logic("logical_and", "and", at(step.a), at(step.b));
      case or_:
        return logic("logical_or", "or", at(step.a), at(step.b));
      case where:
        return choice(at(step.a), at(step.b), at(step.c));
      case fma: {
        const Operand product = arithmetic("*", at(step.a), at(step.b));
        return arithmetic("+", product, at(step.c));
      }
      case narrow:  // to the dtype that is stored
        return narrowed(at(step.a));
      case minimum:
        return extreme("minimum", "max", at(step.a), at(step.b));
      case maximum:
        return extreme("maximum", "min", at(step.a), at(step.b));
      case floor_div:
        return {Kind::tensor,
                fmt::format("div({}, {}, rounding_mode='floor')", tensor(at(step.a)), tensor(at(step.b)))};
      case trunc_div:
        return {Kind::tensor,
                fmt::format("div({}, {}, rounding_mode='trunc')", tensor(at(step.a)), tensor(at(step.b)))};
      case exp2:
        return {Kind::tensor, fmt::format("pow(2, {})", tensor(at(step.a)))};
      case erfc:
        return {Kind::tensor, fmt::format("(-erf({}) + 1)", tensor(at(step.a)))};
      case normal_cdf:
        return {Kind::tensor, fmt::format("((erf({} * 0.70710678118654757) + 1) * 0.5)", tensor(at(step.a)))};
      case isfinite:
        return {Kind::mask, fmt::format("logical_not(logical_or(isnan({0}), isinf({0})))", tensor(at(step.a)))};
      default:
        return call(step_name(step.kind), step_arity(step.kind), at(step.a),
                    step_arity(step.kind) > 1 ? at(step.b) : at(step.a));
    }
  }

  const Expression& expression_;
  const std::vector<Operand>& arguments_;
  const std::string indent_;
  std::vector<Operand> values_;
};

std::string indented(std::string_view lines) {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    out += "    " + std::string(lines.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

bool is_optional_number(const Argument& a) {
  return a.type->is(TypeKind::optional) && !a.type->element()->is(TypeKind::tensor);
}

// The body of one case.
class Case {
 public:
  Case(const Op& op, const PointwiseCase& c) : op_(op), case_(c) {}

  std::string run() {
    if (case_.result == ResultRule::real || case_.result == ResultRule::index) throw Unwritable{};
    std::string text = dtypes();
    const std::vector<Operand> arguments = operands(text);
    const std::span<const Expression> all = case_.expressions();
    for (size_t i = 0; i < all.size(); ++i) {
      std::string lines;
      const Operand result = Writer(all[i], arguments, "").run(lines);
      lines += "return " + finished(result) + "\n";
      const bool last = i + 1 == all.size();
      text += last ? lines : "if " + condition(all[i].classes) + ":\n" + indented(lines);
    }
    return text;
  }

 private:
  // d: the dtype of the result; c: the dtype that is computed in.
  std::string dtypes() const {
    std::string common;
    const std::vector<Argument>& arguments = op_.schema().arguments;
    std::string first;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].type->is(TypeKind::tensor) && first.empty() && !(case_.masks >> i & 1))
        first = arguments[i].name;
    }
    if (first.empty()) throw Unwritable{};
    const std::string own = first + ".dtype";
    common = own;
    for (size_t i = 0; i < arguments.size() && case_.dtype != DTypeRule::self; ++i) {
      if (!(case_.promoting >> i & 1) || arguments[i].name == first) continue;
      if (!arguments[i].type->is(TypeKind::tensor) && !arguments[i].type->is(TypeKind::number)) throw Unwritable{};
      const std::string pair = fmt::format("result_type({}, {})", first, arguments[i].name);
      common = common == own ? pair : fmt::format("promote_types({}, {})", common, pair);
    }
    std::string text = "d = " + common + "\n";
    const bool floating = case_.dtype == DTypeRule::floating || case_.dtype == DTypeRule::wide;
    if (floating) text += "if can_cast(d, 4):\n    d = default_dtype()\n";
    return text + "c = 6 if d == 5 or d == 15 else d\n";
  }

  std::vector<Operand> operands(std::string& text) const {
    std::vector<Operand> all;
    for (size_t i = 0; i < op_.schema().arguments.size(); ++i) {
      const Argument& a = op_.schema().arguments[i];
      const std::string x = "x" + std::to_string(i);
      if (a.type->is(TypeKind::tensor) && (case_.masks >> i & 1)) {
        text += fmt::format("{0} = {1} if {1}.dtype == 11 else ({1} != 0)\n", x, a.name);
        all.push_back({Kind::mask, x});
      } else if (a.type->is(TypeKind::tensor)) {
        text += fmt::format("{0} = {1} if {1}.dtype == c else _to_copy({1}, dtype=c)\n", x, a.name);
        all.push_back({Kind::tensor, x});
      } else if (is_optional_number(a)) {
        all.push_back({Kind::number, "n" + std::to_string(i)});
      } else {
        all.push_back({a.type->is(TypeKind::bool_) ? Kind::flag : Kind::number, a.name});
      }
    }
    return all;
  }

  std::string finished(const Operand& result) const {
    if (case_.result == ResultRule::predicate) return Writer::mask(result);
    if (!result.is_tensor()) throw Unwritable{};
    if (result.kind == Kind::mask) return "_to_copy(" + result.text + ", dtype=d)";
    return fmt::format("{0} if {0}.dtype == d else _to_copy({0}, dtype=d)", result.text);
  }

  static std::string condition(uint8_t classes) {
    std::string text;
    const auto add = [&](NumberClass c, const char* test) {
      if (classes & c) text += (text.empty() ? "" : " or ") + std::string(test);
    };
    add(kBools, "c == 11");
    add(kIntegers, "(c != 11 and can_cast(c, 4))");
    add(kFloats, "(not can_cast(c, 4) and can_cast(c, 7))");
    add(kComplexNumbers, "(not can_cast(c, 7))");
    return text;
  }

  const Op& op_;
  const PointwiseCase& case_;
};

// n2 = 1.0 if weight is None else weight, from lines "weight: 1.0".
std::string absent_numbers(const Op& op) {
  std::string out;
  for (size_t i = 0; i < op.schema().arguments.size(); ++i) {
    const Argument& a = op.schema().arguments[i];
    if (!is_optional_number(a)) continue;
    const std::string lines = "\n" + std::string(op.info.entry->absent ? op.info.entry->absent : "") + "\n";
    const size_t at = lines.find("\n" + a.name + ": ");
    const size_t from = at + a.name.size() + 3;
    // Where nothing is said, a case that reads it asks whether it is there.
    const std::string none = a.type->element()->is(TypeKind::float_) ? "0.0" : "0";
    out += fmt::format("n{} = {} if {} is None else {}\n", i,
                       at == lines.npos ? none : lines.substr(from, lines.find('\n', from) - from), a.name, a.name);
  }
  return out;
}

}  // namespace

std::optional<std::string> expression_text(const Op& op) {
  if (!op.info.entry || op.info.entry->pointwise().empty() || op.schema().is_mutable()) return std::nullopt;
  if (op.schema().returns.size() != 1) return std::nullopt;
  try {
    std::string text = absent_numbers(op);
    for (const PointwiseCase& c : op.info.entry->pointwise()) {
      const std::string body = Case(op, c).run();
      text += c.when ? fmt::format("if {}:\n{}", c.when, indented(body)) : body;
      if (!c.when) break;
    }
    return text;
  } catch (const Unwritable&) {
    return std::nullopt;
  }
}

}  // namespace sconce::lowering
