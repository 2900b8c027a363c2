#include "capture/graph/symbols.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::python::capture {
namespace {

constexpr int64_t kStandIn = int64_t{0x5C0CE} << 28;  // no size; exact as a double
constexpr int64_t kMostStandIns = 1 << 20;

Owned expression(const char* op, PyObject* a, PyObject* b) { return Owned::take(Py_BuildValue("(sOO)", op, a, b)); }
Owned number_object(int64_t v) { return Owned::take(PyLong_FromLongLong(v)); }

const char* opposite(std::string_view op) {
  if (op == "<") return ">=";
  if (op == "<=") return ">";
  if (op == "==") return "!=";
  if (op == "!=") return "==";
  if (op == ">") return "<=";
  return "<";
}

struct Operation {
  const char *symbol, *op, *python;
};
// `op` without its overload, which the classes of the operands decide.
constexpr Operation kOperations[] = {{"+", "aten::add", "add"},
                                     {"-", "aten::sub", "sub"},
                                     {"*", "aten::mul", "mul"},
                                     {"/", "aten::div", "truediv"},
                                     {"//", "aten::floordiv", "floordiv"},
                                     {"%", "aten::remainder", "mod"},
                                     {"**", "aten::pow", "pow"},
                                     {"neg", "aten::neg", "neg"}};
const Operation& operation(std::string_view symbol) {
  return *std::find_if(std::begin(kOperations), std::end(kOperations),
                       [&](const Operation& o) { return o.symbol == symbol; });
}

// Ints of the program: larger ones stay constants, so that the arithmetic of graphs, which has 64 bits, is Python's.
constexpr int kInputBits = 31, kMostBits = 62;
// Longer expressions are not kept: guards would compute them at each call.
constexpr int kMostTerms = 64;

}  // namespace

Owned Symbols::size_expression(SourceId source, int64_t dim) {
  return Owned::take(Py_BuildValue("(siL)", "size", static_cast<int>(source), static_cast<long long>(dim)));
}

void Symbols::relate(Owned relation) {
  for (const Owned& r : relations_) {
    const int same = PyObject_RichCompareBool(r.get(), relation.get(), Py_EQ);
    check(same);
    if (same) return;
  }
  relations_.push_back(std::move(relation));
}

std::vector<Witnesses> Symbols::add_input(const Tensor& t, SourceId source, uint64_t free_dims) {
  std::vector<Witnesses> sizes;
  for (int64_t dim = 0; dim < t.dim(); ++dim) {
    const int64_t size = t.size(dim);
    Witnesses& all = sizes.emplace_back();
    all.fill(size);
    if (!(free_dims >> dim & 1)) continue;
    Owned here = size_expression(source, dim);
    // 0 and 1 mean something of their own: nothing to compute, and broadcasting.
    if (size < 2 || all_fixed_) {
      relate(expression("==", here.get(), number_object(size).get()));
      continue;
    }
    const auto found = std::find_if(symbols_.begin(), symbols_.end(),
                                    [&](const Symbol& s) { return !s.is_number && s.hint.i == size; });
    if (found != symbols_.end()) {
      for (size_t w = 0; w < kWitnesses; ++w) all[w] = found->others[w].i;
      relate(expression("==", here.get(), found->expression.get()));
      continue;
    }
    all = {2, 2 * size, 3 * size};
    relate(expression("<=", number_object(2).get(), here.get()));
    symbols_.push_back({Number(size), {Number(all[0]), Number(all[1]), Number(all[2])}, std::move(here), false});
  }
  return sizes;
}

bool Symbols::can_be_free(PyObject* object) {
  const std::optional<Number> number = number_of(object);
  if (!number) return false;
  // Zeros of both signs are equal, and not the same: a relation could not tell them apart.
  return number->is_float ? std::isfinite(number->d) && number->d != 0 : std::abs(number->i) < int64_t{1} << kInputBits;
}

Owned Symbols::add_number(PyObject* object, SourceId source, ir::Value* value) {
  const Number hint = *number_of(object);
  SymNumber made{value, hint, {}, {}, 1, kInputBits, true};
  made.expression = Owned::take(Py_BuildValue("(si)", hint.is_float ? "float" : "int", static_cast<int>(source)));
  // As sizes have them, so that what is less than a size stays less, but never the same as a size.
  const auto near = static_cast<int64_t>(symbols_.size());
  if (hint.is_float) {
    made.others = {hint, Number(0.75 * hint.d), Number(0.5 * hint.d)};  // a probability stays one
    const Owned most = object_of_number(Number(std::numeric_limits<double>::max()));
    const Owned least = object_of_number(Number(std::numeric_limits<double>::lowest()));
    relate(expression("<=", made.expression.get(), most.get()));  // no infinity, no NaN
    relate(expression("<=", least.get(), made.expression.get()));
    relate(expression("!=", made.expression.get(), number_object(0).get()));
  } else {
    const int64_t v = hint.i, sign = v < 0 ? -1 : 1;
    made.others = {Number(std::min(v, int64_t{2})), Number(2 * v + sign * (1 + near)),
                   Number(3 * v + sign * (2 + near))};
    const Owned most = number_object(int64_t{1} << kInputBits), least = number_object(-(int64_t{1} << kInputBits));
    relate(expression("<", made.expression.get(), most.get()));
    relate(expression("<", least.get(), made.expression.get()));
  }
  symbols_.push_back({hint, made.others, Owned::share(made.expression.get()), true});
  return make_sym_number(self_, std::move(made));
}

Owned Symbols::add_unknown(Number sample, ir::Value* value) {
  has_unknown_ = true;
  SymNumber made{value, sample, {}, {}, 1, 0, false, true};
  made.others.fill(sample);
  return make_sym_number(self_, std::move(made));
}

// Sums and products of floats; ints have no bounds in Python.
Owned Symbols::unknown_arithmetic(const char* op, PyObject* a, PyObject* b, const SymNumber& x, const SymNumber& y) {
  const std::string_view name(op);
  const bool known_divisor = name == "/" && y.value == nullptr && y.hint.real() != 0;
  if (name != "+" && name != "-" && name != "*" && name != "neg" && !known_divisor) return {};
  if (!x.hint.is_float && !y.hint.is_float) return {};
  Owned result = add_unknown(Number(1.5), insert(operation(name).op, x, b ? &y : nullptr));
  static PyObject* const module = PyImport_ImportModule("operator");
  const Owned function = Owned::take(PyObject_GetAttrString(module, operation(name).python));
  PyObject* const args[] = {a, b};
  log_.add_call(function.get(), {args, b ? 2u : 1u}, nullptr, result.get());
  return result;
}

void Symbols::kill(size_t witness) {
  alive_[witness] = false;
  if (!alive_[1] && !alive_[2]) fix_all();
}

void Symbols::fix_all() {
  if (all_fixed_) return;
  all_fixed_ = true;
  for (const Symbol& s : symbols_) relate(expression("==", s.expression.get(), object_of_number(s.hint).get()));
}

bool Symbols::is_fixed(const SymNumber& number) const {
  if (number.unknown) return false;
  if (all_fixed_ || symbols_.empty() || number.value == nullptr) return true;
  if (!number.expression) return fixed_values_.contains(number.value);
  return std::any_of(fixed_.begin(), fixed_.end(), [&](const Owned& e) {
    const int same = PyObject_RichCompareBool(e.get(), number.expression.get(), Py_EQ);
    check(same);
    return same != 0;
  });
}

bool Symbols::differs(int64_t hint, const Witnesses& others) const {
  for (size_t i = 0; i < kWitnesses; ++i)
    if (is_alive(i) && others[i] != hint) return true;
  return false;
}

// Floats decide no sizes: what depends on one has no expression.
Owned Symbols::fit(int64_t hint, const Witnesses& others) const {
  const auto agrees = [&](auto&& f) {
    for (size_t i = 0; i < kWitnesses; ++i)
      if (is_alive(i) && f(i) != others[i]) return false;
    return true;
  };
  for (const Symbol& s : symbols_) {
    if (!s.hint.is_float && s.hint.i == hint && agrees([&](size_t i) { return s.others[i].i; }))
      return Owned::share(s.expression.get());
  }
  const size_t other = alive_[1] ? 1 : 2;
  for (const Symbol& s : symbols_) {
    if (s.hint.is_float) continue;
    const int64_t run = s.others[other].i - s.hint.i, rise = others[other] - hint;
    if (run == 0 || rise % run != 0) continue;
    const int64_t factor = rise / run, rest = hint - factor * s.hint.i;
    // Two points always lie on a line: a third has to.
    if (alive_[0] + alive_[1] + alive_[2] < 2 || !agrees([&](size_t i) { return factor * s.others[i].i + rest; }))
      continue;
    Owned made = expression("*", s.expression.get(), number_object(factor).get());
    return rest == 0 ? std::move(made) : expression("+", made.get(), number_object(rest).get());
  }
  for (const Symbol& a : symbols_) {
    for (const Symbol& b : symbols_) {
      if (a.hint.is_float || b.hint.is_float) continue;
      const int64_t both = a.hint.i * b.hint.i;
      if (both == 0 || hint % both != 0) continue;
      const int64_t factor = hint / both;
      if (!agrees([&](size_t i) { return factor * a.others[i].i * b.others[i].i; })) continue;
      const Owned product = expression("*", a.expression.get(), b.expression.get());
      return expression("*", product.get(), number_object(factor).get());
    }
  }
  return {};
}

// ---- arithmetic ----

SymNumber Symbols::operand(PyObject* o) const {
  if (const SymNumber* n = sym_number(o)) return n->copy();
  SymNumber made;
  made.hint = *number_of(o);
  made.others.fill(made.hint);
  made.expression = Owned::share(o);
  if (!made.hint.is_float)
    while (made.bits < kMostBits && std::abs(made.hint.i) >> made.bits != 0) ++made.bits;
  return made;
}

// Zero raises: guards keep it away.
bool Symbols::may_divide(const SymNumber& by) {
  if (by.value == nullptr) return by.hint.real() != 0;
  if (!by.expression || by.hint.real() == 0) return false;
  relate(expression("!=", by.expression.get(), number_object(0).get()));
  return true;
}

// Powers that neither raise nor overflow: n ** 2, s ** -0.5 of a positive s, 0.9 ** n.
bool Symbols::may_raise(const SymNumber& base, const SymNumber& exponent) {
  const bool fixed_base = base.value == nullptr, fixed_exponent = exponent.value == nullptr;
  if (!base.expression || !exponent.expression) return false;
  if (!base.hint.is_float && fixed_exponent && !exponent.hint.is_float)
    return exponent.hint.i >= 0 && exponent.hint.i <= 4;
  const Owned zero = number_object(0);
  if (fixed_exponent && exponent.hint.is_float && std::abs(exponent.hint.d) <= 1 && base.hint.real() > 0) {
    relate(expression("<", zero.get(), base.expression.get()));
    return true;
  }
  if (fixed_base && base.hint.is_float && base.hint.d > 0 && base.hint.d <= 1 && exponent.hint.real() >= 0) {
    relate(expression("<=", zero.get(), exponent.expression.get()));
    return true;
  }
  return false;
}

ir::Value* Symbols::insert(const char* name, const SymNumber& x, const SymNumber* y) {
  const bool floats = x.hint.is_float || (y && y->hint.is_float);
  const auto value = [&](const SymNumber& n) {
    if (!n.value) {
      if (floats) return graph_.insert_constant(n.hint.real());
      return graph_.insert_constant(n.hint.i);
    }
    if (!floats || n.hint.is_float) return n.value;
    return graph_.insert(graph_.create(*find_op("aten::Float.int"), {n.value}))->output();
  };
  std::vector<ir::Value*> inputs{value(x)};
  if (y) inputs.push_back(value(*y));
  const bool int_power = !floats && std::string_view(name) == "aten::pow";
  const Op* op = find_op(name + std::string(floats ? ".float" : int_power ? ".int_to_int" : ".int"));
  SCONCE_ASSERT(op);
  return graph_.insert(graph_.create(*op, inputs))->output();
}

Owned Symbols::arithmetic(const char* op, PyObject* a, PyObject* b) {
  if (!any()) return {};
  const SymNumber x = operand(a), y = b ? operand(b) : SymNumber();
  if (x.unknown || y.unknown) return unknown_arithmetic(op, a, b, x, y);
  const std::string_view name(op);
  const bool floats = x.hint.is_float || y.hint.is_float;
  if ((name == "//" || name == "%") && floats) return {};
  if ((name == "/" || name == "//" || name == "%") && !may_divide(y)) return {};
  if (name == "**" && !may_raise(x, y)) return {};
  SymNumber made;
  made.of_numbers = x.of_numbers || y.of_numbers;
  made.terms = x.terms + y.terms + 1;
  if (made.of_numbers && !floats && name != "/") {
    const auto bits = [](const SymNumber& n) { return n.of_numbers || n.value == nullptr ? n.bits : kInputBits; };
    made.bits = name == "*"                  ? bits(x) + bits(y)
                : name == "**"               ? bits(x) * static_cast<int>(y.hint.i)
                : name == "+" || name == "-" ? std::max(bits(x), bits(y)) + 1
                                             : std::max(bits(x), bits(y));
    if (made.bits > kMostBits) return {};
  }
  const int number = b ? find_binary(name) : find_unary(name);
  const auto computed = [&](Number p, Number q) { return b ? compute(number, p, q) : compute(number, p); };
  const std::optional<Number> hint = computed(x.hint, y.hint);
  if (!hint) return {};
  made.hint = *hint;
  for (size_t i = 0; i < kWitnesses; ++i) {
    const std::optional<Number> other = computed(x.others[i], y.others[i]);
    if (!other && is_alive(i)) {
      if (i > 0) return {};
      kill(i);
    }
    made.others[i] = other.value_or(*hint);
  }
  if (x.expression && (!b || y.expression) && made.terms <= kMostTerms)
    made.expression = b ? expression(op, x.expression.get(), y.expression.get())
                        : Owned::take(Py_BuildValue("(sO)", op, x.expression.get()));
  made.value = insert(operation(name).op, x, b ? &y : nullptr);
  Owned result = make_sym_number(self_, std::move(made));
  static PyObject* const module = PyImport_ImportModule("operator");
  const Owned function = Owned::take(PyObject_GetAttrString(module, operation(name).python));
  PyObject* const args[] = {a, b};
  log_.add_call(function.get(), {args, b ? 2u : 1u}, nullptr, result.get());
  return result;
}

bool Symbols::compare(const char* op, PyObject* a, PyObject* b) {
  const SymNumber x = operand(a), y = operand(b);
  if (x.unknown || y.unknown) {
    number_is_wanted();
    throw PythonError();
  }
  const std::optional<Number> answer = compute(find_binary(op), x.hint, y.hint);
  if (!answer) {  // an int that no float has: as Python compares them
    const Owned left = fixed_number(a), right = fixed_number(b);
    constexpr std::string_view kNames[] = {"<", "<=", "==", "!=", ">", ">="};
    const auto how = std::find(std::begin(kNames), std::end(kNames), op) - std::begin(kNames);
    const int is = PyObject_RichCompareBool(left.get(), right.get(), static_cast<int>(how));
    check(is);
    return is != 0;
  }
  const bool truth = answer->i != 0;
  if (!any() || (is_fixed(x) && is_fixed(y))) return truth;
  if (x.expression && y.expression)
    relate(expression(truth ? op : opposite(op), x.expression.get(), y.expression.get()));
  else if (claim)
    claim(find_binary(op), x, y, truth);
  else
    fix_all();
  return truth;
}

void Symbols::fix(PyObject* number) {
  const SymNumber* n = sym_number(number);
  if (n && n->unknown) {
    number_is_wanted();
    throw PythonError();
  }
  if (!n || is_fixed(*n)) return;
  if (!n->expression) {
    if (!claim || (n->hint.is_float && n->hint.d == 0)) return fix_all();
    SymNumber now;
    now.hint = n->hint;
    claim(find_binary("=="), *n, now, true);
    fixed_values_.insert(n->value);
    return;
  }
  const Owned hint = object_of_number(n->hint);
  if (n->hint.is_float && n->hint.d == 0) return fix_all();  // -0.0 is equal, and another
  relate(expression("==", n->expression.get(), hint.get()));
  fixed_.push_back(Owned::share(n->expression.get()));
}

// ---- stand-ins ----

Owned Symbols::stand_in(PyObject* number) {
  SCONCE_CHECK(static_cast<int64_t>(stand_ins_.size()) < kMostStandIns, "too many sizes in one call");
  stand_ins_.push_back(Owned::share(number));
  const int64_t at = kStandIn + static_cast<int64_t>(stand_ins_.size()) - 1;
  return sym_number(number)->hint.is_float ? Owned::take(PyFloat_FromDouble(static_cast<double>(at) + 0.5))
                                           : number_object(at);
}

const SymNumber* Symbols::of_stand_in(int64_t number) const {
  const int64_t index = number - kStandIn;
  if (index < 0 || index >= static_cast<int64_t>(stand_ins_.size())) return nullptr;
  return sym_number(stand_ins_[static_cast<size_t>(index)].get());
}

const SymNumber* Symbols::of_stand_in(double number) const {
  if (stand_ins_.empty() || !(number >= static_cast<double>(kStandIn)) || number > 2.0 * static_cast<double>(kStandIn))
    return nullptr;
  const double whole = std::floor(number);
  if (number != whole && number != whole + 0.5) return nullptr;
  const SymNumber* found = of_stand_in(static_cast<int64_t>(whole));
  return found && found->hint.is_float == (number != whole) ? found : nullptr;
}

}  // namespace sconce::python::capture
