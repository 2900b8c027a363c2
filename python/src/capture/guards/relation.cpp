#include "capture/guards/relation.h"

#include <optional>

#include "sconce/base/inline_vector.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

constexpr int kDeepest = 200;

int64_t integer(PyObject* object) {
  const long long v = PyLong_AsLongLong(object);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
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
  if (PyLong_Check(e) || PyFloat_Check(e)) {
    pieces_.push_back({What::number, 0, -1, PyFloat_Check(e) ? Number(PyFloat_AS_DOUBLE(e)) : Number(integer(e))});
    return;
  }
  if (!PyTuple_Check(e) || PyTuple_GET_SIZE(e) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(e, 0))) refuse();
  const std::string_view name = text_of(PyTuple_GET_ITEM(e, 0));
  const Py_ssize_t operands = PyTuple_GET_SIZE(e) - 1;
  const auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(e, i); };
  const auto leaf = [&](What what) {
    if (!PyLong_Check(at(1)) || (operands == 2 && !PyLong_Check(at(2)))) refuse();
    pieces_.push_back({what, 0, step_of(integer(at(1))), Number(operands == 2 ? integer(at(2)) : int64_t{0})});
  };
  if (name == "size" && operands == 2) return leaf(What::size);
  if (name == "stride" && operands == 2) return leaf(What::stride);
  if (name == "offset" && operands == 1) return leaf(What::offset);
  if ((name == "int" || name == "float") && operands == 1) return leaf(What::number_of);
  const int two = find_binary(name), one = find_unary(name);
  if ((two < 0 || operands != 2) && (one < 0 || operands != 1)) refuse();
  for (Py_ssize_t i = 1; i <= operands; ++i) compile(at(i), step_of, depth + 1);
  pieces_.push_back(
      {operands == 2 ? What::binary : What::unary, static_cast<uint8_t>(operands == 2 ? two : one), -1, {}});
}

std::vector<int32_t> Relation::steps() const {
  std::vector<int32_t> read;
  for (const Piece& p : pieces_)
    if (p.step >= 0) read.push_back(p.step);
  return read;
}

bool Relation::holds(PyObject* const* slots) const {
  const std::optional<Number> is = value(slots);
  return is && is->real() != 0;
}

std::optional<Number> Relation::value(PyObject* const* slots) const {
  InlineVector<Number, 24> held(pieces_.size());
  Number* stack = held.data();
  size_t top = 0;
  for (const Piece& p : pieces_) {
    switch (p.what) {
      case What::number:
        stack[top++] = p.number;
        break;
      case What::size:
      case What::stride:
      case What::offset: {
        PyObject* object = slots[p.step];
        if (object == nullptr || !is_tensor(object)) return std::nullopt;
        const Tensor& t = tensor_of(object);
        const int64_t dim = p.number.i;
        if (p.what != What::offset && (dim < 0 || dim >= t.dim())) return std::nullopt;
        stack[top++] = p.what == What::size     ? t.sizes()[static_cast<size_t>(dim)]
                       : p.what == What::stride ? t.strides()[static_cast<size_t>(dim)]
                                                : t.storage_offset();
        break;
      }
      case What::number_of: {
        PyObject* object = slots[p.step];
        const std::optional<Number> number = object == nullptr ? std::nullopt : number_of(object);
        if (!number) return std::nullopt;
        stack[top++] = *number;
        break;
      }
      case What::binary: {
        const auto result = compute(p.op, stack[top - 2], stack[top - 1]);
        if (!result) return std::nullopt;
        stack[--top - 1] = *result;
        break;
      }
      case What::unary: {
        const auto result = compute(p.op, stack[top - 1]);
        if (!result) return std::nullopt;
        stack[top - 1] = *result;
        break;
      }
    }
  }
  return stack[0];
}

std::string Relation::text(const std::function<std::string(int32_t)>& step_text) const {
  std::vector<std::pair<std::string, bool>> stack;  // and whether it needs brackets
  const auto bracketed = [](const std::pair<std::string, bool>& v) { return v.second ? "(" + v.first + ")" : v.first; };
  for (const Piece& p : pieces_) {
    switch (p.what) {
      case What::number:
        stack.emplace_back(text_of(Owned::take(PyObject_Repr(object_of_number(p.number).get())).get()),
                           p.number.real() < 0);
        break;
      case What::size:
        stack.emplace_back(step_text(p.step) + ".size()[" + std::to_string(p.number.i) + "]", false);
        break;
      case What::stride:
        stack.emplace_back(step_text(p.step) + ".stride()[" + std::to_string(p.number.i) + "]", false);
        break;
      case What::offset:
        stack.emplace_back(step_text(p.step) + ".storage_offset()", false);
        break;
      case What::number_of:
        stack.emplace_back(step_text(p.step), false);
        break;
      case What::binary: {
        const auto b = std::move(stack.back());
        stack.pop_back();
        auto& a = stack.back();
        const std::string_view name = binary_name(p.op);
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
