#include "capture/graph/symbols.h"

#include <algorithm>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::python::capture {
namespace {

constexpr int64_t kStandIn = int64_t{0x5C0CE} << 28;  // no size; exact as a double
constexpr int64_t kMostStandIns = 1 << 20;

Owned expression(const char* op, PyObject* a, PyObject* b) { return Owned::take(Py_BuildValue("(sOO)", op, a, b)); }
Owned number_object(int64_t v) { return Owned::take(PyLong_FromLongLong(v)); }

// As Python divides.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// False: division by zero, or no number of 64 bits.
bool compute(std::string_view op, int64_t a, int64_t b, int64_t& out) {
  if (op == "+") return !__builtin_add_overflow(a, b, &out);
  if (op == "-") return !__builtin_sub_overflow(a, b, &out);
  if (op == "*") return !__builtin_mul_overflow(a, b, &out);
  if (op == "neg") return !__builtin_sub_overflow(int64_t{0}, a, &out);
  if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
  out = op == "//" ? floor_div(a, b) : a - floor_div(a, b) * b;
  return true;
}

bool holds(std::string_view op, int64_t a, int64_t b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == ">") return a > b;
  return a >= b;
}
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
constexpr Operation kOperations[] = {{"+", "aten::add.int", "add"},       {"-", "aten::sub.int", "sub"},
                                     {"*", "aten::mul.int", "mul"},       {"//", "aten::floordiv.int", "floordiv"},
                                     {"%", "aten::remainder.int", "mod"}, {"neg", "aten::neg.int", "neg"}};

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
    const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const Symbol& s) { return s.hint == size; });
    if (found != symbols_.end()) {
      all = found->others;
      relate(expression("==", here.get(), found->expression.get()));
      continue;
    }
    all = {2, 2 * size, 3 * size};
    relate(expression("<=", number_object(2).get(), here.get()));
    symbols_.push_back({size, all, std::move(here)});
  }
  return sizes;
}

void Symbols::kill(size_t witness) {
  alive_[witness] = false;
  if (!alive_[1] && !alive_[2]) fix_all();
}

void Symbols::fix_all() {
  if (all_fixed_) return;
  all_fixed_ = true;
  for (const Symbol& s : symbols_) relate(expression("==", s.expression.get(), number_object(s.hint).get()));
}

bool Symbols::differs(int64_t hint, const Witnesses& others) const {
  for (size_t i = 0; i < kWitnesses; ++i)
    if (is_alive(i) && others[i] != hint) return true;
  return false;
}

// A number that no witness contradicts. Without the least witness nothing is known of smaller sizes than the program's.
Owned Symbols::constant(int64_t hint) {
  if (any() && !alive_[0] && !least_is_guarded_) {
    least_is_guarded_ = true;
    for (const Symbol& s : symbols_) relate(expression("<=", number_object(s.hint).get(), s.expression.get()));
  }
  return number_object(hint);
}

Owned Symbols::fit(int64_t hint, const Witnesses& others) const {
  const auto agrees = [&](auto&& f) {
    for (size_t i = 0; i < kWitnesses; ++i)
      if (is_alive(i) && f(i) != others[i]) return false;
    return true;
  };
  for (const Symbol& s : symbols_) {
    if (s.hint == hint && agrees([&](size_t i) { return s.others[i]; })) return Owned::share(s.expression.get());
  }
  const size_t other = alive_[1] ? 1 : 2;
  for (const Symbol& s : symbols_) {
    const int64_t run = s.others[other] - s.hint, rise = others[other] - hint;
    if (run == 0 || rise % run != 0) continue;
    const int64_t factor = rise / run, rest = hint - factor * s.hint;
    // Two points always lie on a line: a third has to.
    if (alive_[0] + alive_[1] + alive_[2] < 2 || !agrees([&](size_t i) { return factor * s.others[i] + rest; }))
      continue;
    Owned made = expression("*", s.expression.get(), number_object(factor).get());
    return rest == 0 ? std::move(made) : expression("+", made.get(), number_object(rest).get());
  }
  for (const Symbol& a : symbols_) {
    for (const Symbol& b : symbols_) {
      const int64_t both = a.hint * b.hint;
      if (both == 0 || hint % both != 0) continue;
      const int64_t factor = hint / both;
      if (!agrees([&](size_t i) { return factor * a.others[i] * b.others[i]; })) continue;
      const Owned product = expression("*", a.expression.get(), b.expression.get());
      return expression("*", product.get(), number_object(factor).get());
    }
  }
  return {};
}

// ---- arithmetic ----

SymNumber Symbols::operand(PyObject* o) {
  if (const SymNumber* n = sym_number(o)) return n->copy();
  SymNumber made;
  made.hint = PyLong_AsLongLong(o);
  made.others.fill(made.hint);
  made.expression = Owned::share(o);
  return made;
}

Owned Symbols::arithmetic(const char* op, PyObject* a, PyObject* b) {
  SymNumber x = operand(a), y;
  if (b) y = operand(b);
  SymNumber made;
  bool fits = compute(op, x.hint, y.hint, made.hint);
  for (size_t i = 0; i < kWitnesses && fits; ++i)
    fits = compute(op, x.others[i], y.others[i], made.others[i]) || !is_alive(i);
  const Operation& operation = *std::find_if(std::begin(kOperations), std::end(kOperations),
                                             [&](const Operation& o) { return !strcmp(o.symbol, op); });
  const Owned module = Owned::take(PyImport_ImportModule("operator"));
  const Owned function = Owned::take(PyObject_GetAttrString(module.get(), operation.python));
  if (!fits) {  // as Python has it: an exception, or a long number
    fix(a);
    if (b) fix(b);
    const Owned left = number_object(x.hint), right = number_object(y.hint);
    return Owned::take(PyObject_CallFunctionObjArgs(function.get(), left.get(), b ? right.get() : nullptr, nullptr));
  }
  Owned known;
  if (x.expression && !b) known = Owned::take(Py_BuildValue("(sO)", op, x.expression.get()));
  if (x.expression && b && y.expression) known = expression(op, x.expression.get(), y.expression.get());
  Owned result = number(made.hint, made.others, std::move(known), [&] {
    const auto value = [&](const SymNumber& n) { return n.value ? n.value : graph_.insert_constant(n.hint); };
    std::vector<ir::Value*> inputs{value(x)};
    if (b) inputs.push_back(value(y));
    const Op* op_record = find_op(operation.op);
    SCONCE_ASSERT(op_record);
    return graph_.insert(graph_.create(*op_record, inputs))->output();
  });
  PyObject* const args[] = {a, b};
  if (sym_number(result.get())) log_.add_call(function.get(), {args, b ? 2u : 1u}, nullptr, result.get());
  return result;
}

bool Symbols::compare(const char* op, PyObject* a, PyObject* b) {
  const SymNumber x = operand(a), y = operand(b);
  const bool truth = holds(op, x.hint, y.hint);
  if (!any()) return truth;
  if (x.expression && y.expression)
    relate(expression(truth ? op : opposite(op), x.expression.get(), y.expression.get()));
  else
    fix_all();
  return truth;
}

void Symbols::fix(PyObject* number) {
  const SymNumber* n = sym_number(number);
  if (!n || !any()) return;
  if (n->expression)
    relate(expression("==", n->expression.get(), number_object(n->hint).get()));
  else
    fix_all();
}

// ---- stand-ins ----

int64_t Symbols::stand_in(PyObject* sym_int) {
  SCONCE_CHECK(static_cast<int64_t>(stand_ins_.size()) < kMostStandIns, "too many sizes in one call");
  stand_ins_.push_back(Owned::share(sym_int));
  return kStandIn + static_cast<int64_t>(stand_ins_.size()) - 1;
}

const SymNumber* Symbols::of_stand_in(int64_t number) const {
  const int64_t index = number - kStandIn;
  if (index < 0 || index >= static_cast<int64_t>(stand_ins_.size())) return nullptr;
  return sym_number(stand_ins_[static_cast<size_t>(index)].get());
}

}  // namespace sconce::python::capture
