#include "capture/guards/relation.h"

#include <array>
#include <optional>

#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

constexpr std::array<std::string_view, 16> kBinary = {"+",  "-",  "*", "//", "%", "**", "min", "max",
                                                      "==", "!=", "<", "<=", ">", ">=", "and", "or"};
constexpr std::array<std::string_view, 2> kUnary = {"neg", "not"};
constexpr int kDeepest = 200;

template <size_t N>
int find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

int64_t integer(PyObject* object) {
  const long long v = PyLong_AsLongLong(object);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

// Python's floor division and remainder.
int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || (result == 1 && base == 1)) break;
  }
  return result;
}

std::optional<int64_t> binary(int op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case 0:
      return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case 1:
      return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case 2:
      return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case 3:
    case 4:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      return op == 3 ? floor_divide(a, b) : a - floor_divide(a, b) * b;
    case 5:
      return power(a, b);
    case 6:
      return std::min(a, b);
    case 7:
      return std::max(a, b);
    case 8:
      return a == b;
    case 9:
      return a != b;
    case 10:
      return a < b;
    case 11:
      return a <= b;
    case 12:
      return a > b;
    case 13:
      return a >= b;
    case 14:
      return a != 0 ? b : a;
    default:
      return a != 0 ? a : b;
  }
}

}  // namespace

Relation::Relation(PyObject* expression, const std::function<int32_t(int64_t)>& step_of) {
  compile(expression, step_of, 0);
}

void Relation::compile(PyObject* e, const std::function<int32_t(int64_t)>& step_of, int depth) {
  const auto refuse = [&] {
    PyErr_Format(PyExc_ValueError,
                 "a relation must be an int or a tuple (operator, operands...) of at most %d levels, not %R", kDeepest,
                 e);
    throw PythonError();
  };
  if (depth > kDeepest) refuse();
  if (PyLong_Check(e)) {
    pieces_.push_back({What::number, 0, -1, integer(e)});
    return;
  }
  if (!PyTuple_Check(e) || PyTuple_GET_SIZE(e) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(e, 0))) refuse();
  const std::string_view name = text_of(PyTuple_GET_ITEM(e, 0));
  const Py_ssize_t operands = PyTuple_GET_SIZE(e) - 1;
  const auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(e, i); };
  const auto leaf = [&](What what) {
    if (!PyLong_Check(at(1)) || (operands == 2 && !PyLong_Check(at(2)))) refuse();
    pieces_.push_back({what, 0, step_of(integer(at(1))), operands == 2 ? integer(at(2)) : 0});
  };
  if (name == "size" && operands == 2) return leaf(What::size);
  if (name == "stride" && operands == 2) return leaf(What::stride);
  if (name == "offset" && operands == 1) return leaf(What::offset);
  if (name == "int" && operands == 1) return leaf(What::integer);
  const int two = find(kBinary, name), one = find(kUnary, name);
  if ((two < 0 || operands != 2) && (one < 0 || operands != 1)) refuse();
  for (Py_ssize_t i = 1; i <= operands; ++i) compile(at(i), step_of, depth + 1);
  pieces_.push_back(
      {operands == 2 ? What::binary : What::unary, static_cast<uint8_t>(operands == 2 ? two : one), -1, 0});
}

std::vector<int32_t> Relation::steps() const {
  std::vector<int32_t> read;
  for (const Piece& p : pieces_)
    if (p.step >= 0) read.push_back(p.step);
  return read;
}

bool Relation::holds(PyObject* const* slots) const {
  std::array<int64_t, kDeepest + 8> stack;
  size_t top = 0;
  for (const Piece& p : pieces_) {
    if (top >= stack.size() - 1) return false;
    switch (p.what) {
      case What::number:
        stack[top++] = p.number;
        break;
      case What::size:
      case What::stride:
      case What::offset: {
        PyObject* object = slots[p.step];
        if (object == nullptr || !is_tensor(object)) return false;
        const Tensor& t = tensor_of(object);
        if (p.what != What::offset && (p.number < 0 || p.number >= t.dim())) return false;
        stack[top++] = p.what == What::size     ? t.sizes()[static_cast<size_t>(p.number)]
                       : p.what == What::stride ? t.strides()[static_cast<size_t>(p.number)]
                                                : t.storage_offset();
        break;
      }
      case What::integer: {
        PyObject* object = slots[p.step];
        if (object == nullptr || !PyLong_Check(object)) return false;
        int overflow = 0;
        stack[top++] = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) return false;
        break;
      }
      case What::binary: {
        const auto result = binary(p.op, stack[top - 2], stack[top - 1]);
        if (!result) return false;
        stack[--top - 1] = *result;
        break;
      }
      case What::unary:
        if (p.op == 0 && stack[top - 1] == INT64_MIN) return false;
        stack[top - 1] = p.op == 0 ? -stack[top - 1] : stack[top - 1] == 0;
        break;
    }
  }
  return top == 1 && stack[0] != 0;
}

std::string Relation::text(const std::function<std::string(int32_t)>& step_text) const {
  std::vector<std::pair<std::string, bool>> stack;  // and whether it needs brackets
  const auto bracketed = [](const std::pair<std::string, bool>& v) { return v.second ? "(" + v.first + ")" : v.first; };
  for (const Piece& p : pieces_) {
    switch (p.what) {
      case What::number:
        stack.emplace_back(std::to_string(p.number), p.number < 0);
        break;
      case What::size:
        stack.emplace_back(step_text(p.step) + ".size()[" + std::to_string(p.number) + "]", false);
        break;
      case What::stride:
        stack.emplace_back(step_text(p.step) + ".stride()[" + std::to_string(p.number) + "]", false);
        break;
      case What::offset:
        stack.emplace_back(step_text(p.step) + ".storage_offset()", false);
        break;
      case What::integer:
        stack.emplace_back(step_text(p.step), false);
        break;
      case What::binary: {
        const auto b = std::move(stack.back());
        stack.pop_back();
        auto& a = stack.back();
        const std::string_view name = kBinary[p.op];
        if (name == "min" || name == "max")
          a = {std::string(name) + "(" + a.first + ", " + b.first + ")", false};
        else
          a = {bracketed(a) + " " + std::string(name) + " " + bracketed(b), true};
        break;
      }
      case What::unary:
        stack.back() = {(p.op == 0 ? "-" : "not ") + bracketed(stack.back()), true};
        break;
    }
  }
  return stack.empty() ? "" : stack.back().first;
}

}  // namespace sconce::python::capture
