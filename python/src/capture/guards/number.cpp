#include "capture/guards/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sconce/base/numbers.h"

namespace sconce::python::capture {
namespace {

constexpr std::array<std::string_view, 17> kBinary = {
    "+", "-", "*", "//", "%", "**", "min", "max", "==", "!=", "<", "<=", ">", ">=", "and", "or", "/"};
enum Binary { add, sub, mul, floor_div, mod, power, least, most, eq, ne, lt, le, gt, ge, both, either, true_div };
constexpr std::array<std::string_view, 2> kUnary = {"neg", "not"};
// A float has every int up to here.
constexpr int64_t kExact = int64_t{1} << 53;

template <size_t N>
int find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

std::optional<Number> int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || (result == 1 && base == 1)) break;
  }
  return result;
}

template <class T>
std::optional<Number> compared(int op, T a, T b) {
  switch (op) {
    case eq:
      return int64_t{a == b};
    case ne:
      return int64_t{a != b};
    case lt:
      return int64_t{a < b};
    case le:
      return int64_t{a <= b};
    case gt:
      return int64_t{a > b};
    case ge:
      return int64_t{a >= b};
    default:
      return std::nullopt;
  }
}

std::optional<Number> of_ints(int op, int64_t a, int64_t b) {
  int64_t r = 0;
  const auto checked = [&](bool overflow) { return overflow ? std::nullopt : std::optional<Number>(r); };
  switch (op) {
    case add:
      return checked(__builtin_add_overflow(a, b, &r));
    case sub:
      return checked(__builtin_sub_overflow(a, b, &r));
    case mul:
      return checked(__builtin_mul_overflow(a, b, &r));
    case floor_div:
    case mod:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      return op == floor_div ? numbers::floor_div(a, b) : numbers::floor_mod(a, b);
    case power:
      return int_power(a, b);
    case true_div:
      if (b == 0 || std::max(std::abs(a), std::abs(b)) > kExact) return std::nullopt;
      return static_cast<double>(a) / static_cast<double>(b);
    default:
      return compared(op, a, b);
  }
}

std::optional<Number> of_floats(int op, double a, double b) {
  switch (op) {
    case add:
      return a + b;
    case sub:
      return a - b;
    case mul:
      return a * b;
    case true_div:
      if (b == 0) return std::nullopt;
      return a / b;
    case power: {
      if (!(a > 0) || !std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
      const double r = std::pow(a, b);
      return std::isfinite(r) ? std::optional<Number>(r) : std::nullopt;
    }
    default:
      return compared(op, a, b);
  }
}

}  // namespace

bool Number::same(const Number& other) const {
  if (is_float != other.is_float) return false;
  return is_float ? std::memcmp(&d, &other.d, sizeof d) == 0 : i == other.i;
}

int find_binary(std::string_view name) { return find(kBinary, name); }
std::string_view binary_name(int op) { return kBinary[static_cast<size_t>(op)]; }
int find_unary(std::string_view name) { return find(kUnary, name); }

std::optional<Number> compute(int op, Number a, Number b) {
  if (op == both) return a.real() != 0 ? b : a;
  if (op == either) return a.real() != 0 ? a : b;
  if (op == least || op == most) {
    const auto other_is_it = compute(op == least ? lt : gt, b, a);
    if (!other_is_it) return std::nullopt;
    return other_is_it->i ? b : a;
  }
  if (!a.is_float && !b.is_float) return of_ints(op, a.i, b.i);
  for (const Number& n : {a, b})
    if (!n.is_float && (n.i > kExact || n.i < -kExact)) return std::nullopt;
  return of_floats(op, a.real(), b.real());
}

std::optional<Number> compute(int op, Number a) {
  if (op == 1) return int64_t{a.real() == 0};
  if (a.is_float) return -a.d;
  if (a.i == INT64_MIN) return std::nullopt;
  return -a.i;
}

std::optional<Number> number_of(PyObject* object) {
  if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return static_cast<int64_t>(value);
}

Owned object_of_number(Number number) {
  return Owned::take(number.is_float ? PyFloat_FromDouble(number.d) : PyLong_FromLongLong(number.i));
}

}  // namespace sconce::python::capture
