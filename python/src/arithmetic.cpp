// Arithmetic: the operators of Python on tensors. Each is a call of the operator that PyTorch calls; where the left side
// is a number, of the one with its arguments exchanged.
#include <array>

#include "binder.h"
#include "programs/tracing.h"
#include "sconce/sconce.hpp"
#include "tensor_object.h"

namespace sconce::python {
namespace {

// What `a + b` calls, from the table of Python's operators: on::add is "add", on::floordiv "floor_divide".
namespace on {
#define SCONCE_OPERATOR(name, text, stem, op, eager, augmented, in_place) constexpr char name[] = #eager;
#include "sconce/base/operators.def"
}  // namespace on
// What only tensors have: forms for a number on the left, and those of `a += b`, which are not what scripts call (a
// script's %= is fmod_).
#define SCONCE_NAME(id, text) constexpr char id[] = text
SCONCE_NAME(kReciprocal, "reciprocal");
SCONCE_NAME(kRsub, "rsub");
SCONCE_NAME(kAndNumber, "bitwise_and");
SCONCE_NAME(kOrNumber, "bitwise_or");
SCONCE_NAME(kXorNumber, "bitwise_xor");
SCONCE_NAME(kNumberLeft, "bitwise_left_shift");
SCONCE_NAME(kNumberRight, "bitwise_right_shift");
SCONCE_NAME(kPositive, "positive");
SCONCE_NAME(kAbs, "abs");
SCONCE_NAME(kAddTo, "add_");
SCONCE_NAME(kSubTo, "sub_");
SCONCE_NAME(kMulTo, "mul_");
SCONCE_NAME(kDivTo, "div_");
SCONCE_NAME(kFloorDivideTo, "floor_divide_");
SCONCE_NAME(kRemainderTo, "remainder_");
SCONCE_NAME(kPowTo, "pow_");
SCONCE_NAME(kAndTo, "bitwise_and_");
SCONCE_NAME(kOrTo, "bitwise_or_");
SCONCE_NAME(kXorTo, "bitwise_xor_");
SCONCE_NAME(kLeftTo, "bitwise_left_shift_");
SCONCE_NAME(kRightTo, "bitwise_right_shift_");

template <const char* name>
const Overloads& overloads() {
  static const Overloads& found = overloads_for_slot(name);
  return found;
}
template <const char* name>
PyObject* call_two(PyObject* a, PyObject* b) {
  return guarded([&] {
    const std::array<PyObject*, 2> args = {a, b};
    return call(overloads<name>(), args, true).give();
  });
}
template <const char* name>
PyObject* call_one(PyObject* a) {
  return guarded([&] {
    const std::array<PyObject*, 1> args = {a};
    return call(overloads<name>(), args, false).give();
  });
}

// A slot is called with the tensor on either side. `reversed` computes with sides exchanged.
template <const char* name, PyObject* (*reversed)(PyObject* number, PyObject* tensor)>
PyObject* binary(PyObject* a, PyObject* b) {
  return is_tensor(a) ? call_two<name>(a, b) : reversed(a, b);
}
template <const char* name>
PyObject* exchanged(PyObject* number, PyObject* tensor) {
  return call_two<name>(tensor, number);
}
template <const char* name>
PyObject* as_it_is(PyObject* number, PyObject* tensor) {
  return call_two<name>(number, tensor);
}
template <const char* name>
PyObject* in_place(PyObject* a, PyObject* b) {
  return call_two<name>(a, b);
}
template <const char* name>
PyObject* unary(PyObject* a) {
  return call_one<name>(a);
}

// The number as a tensor, for operators that have no overload with a number on the left.
template <const char* name>
PyObject* wrapped(PyObject* number, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!PyNumber_Check(number) || PyComplex_Check(number)) Py_RETURN_NOTIMPLEMENTED;
    const Owned like = Owned::take(PyObject_CallMethod(tensor, "new_tensor", "O", number));
    tensor_of(like.get()).set_wrapped_number();
    return call_two<name>(like.get(), tensor);
  });
}
PyObject* divide_number(PyObject* number, PyObject* tensor) {
  const Owned inverse = guarded([&] { return Owned::take(call_one<kReciprocal>(tensor)); });
  return inverse ? call_two<on::mul>(inverse.get(), number) : nullptr;
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_two<on::pow>(a, b);
}
PyObject* power_to(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_two<kPowTo>(a, b);
}

int truth(PyObject* self) {
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    warn_of_value("Converting a tensor to a Python boolean");
    if (t.numel() != 1) {
      const char* message = t.numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                           : "Boolean value of Tensor with more than one value is ambiguous";
      PyErr_SetString(PyExc_RuntimeError, message);
      throw PythonError();
    }
    const Scalar v = item_of(t);
    return v.is_complex() ? v.to_complex() != std::complex<double>() : v.is_real() ? v.real() != 0 : v.integer() != 0;
  });
}
Scalar only_item(PyObject* self) {
  const Tensor& t = tensor_of(self);
  SCONCE_CHECK_AS(value, t.numel() == 1, "only one element tensors can be converted to Python scalars");
  return item_of(t);
}
PyObject* to_int(PyObject* self) {
  return guarded([&] {
    warn_of_value("Converting a tensor to a Python integer");
    const Scalar v = only_item(self);
    return v.is_real() ? PyLong_FromDouble(v.real()) : PyLong_FromLongLong(v.to_int());
  });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] {
    warn_of_value("Converting a tensor to a Python float");
    return PyFloat_FromDouble(only_item(self).to_double());
  });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    warn_of_value("Converting a tensor to a Python index");
    const Tensor& t = tensor_of(self);
    SCONCE_CHECK_AS(type, t.numel() == 1 && (is_integral(t.dtype()) || t.dtype() == DType::bool_),
                    "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(item_of(t).to_int());
  });
}

PyNumberMethods make_numbers() {
  PyNumberMethods n = {};
  n.nb_add = binary<on::add, exchanged<on::add>>;
  n.nb_subtract = binary<on::sub, exchanged<kRsub>>;
  n.nb_multiply = binary<on::mul, exchanged<on::mul>>;
  n.nb_true_divide = binary<on::div, divide_number>;
  n.nb_floor_divide = binary<on::floordiv, wrapped<on::floordiv>>;
  n.nb_remainder = binary<on::mod, as_it_is<on::mod>>;
  n.nb_power = power;
  n.nb_matrix_multiply = binary<on::matmul, as_it_is<on::matmul>>;
  n.nb_and = binary<on::bit_and, exchanged<kAndNumber>>;
  n.nb_or = binary<on::bit_or, exchanged<kOrNumber>>;
  n.nb_xor = binary<on::bit_xor, exchanged<kXorNumber>>;
  n.nb_lshift = binary<on::shift_left, as_it_is<kNumberLeft>>;
  n.nb_rshift = binary<on::shift_right, as_it_is<kNumberRight>>;
  n.nb_negative = unary<on::neg>;
  n.nb_positive = unary<kPositive>;
  n.nb_absolute = unary<kAbs>;
  n.nb_invert = unary<on::invert>;
  n.nb_bool = truth;
  n.nb_int = to_int;
  n.nb_float = to_float;
  n.nb_index = to_index;
  n.nb_inplace_add = in_place<kAddTo>;
  n.nb_inplace_subtract = in_place<kSubTo>;
  n.nb_inplace_multiply = in_place<kMulTo>;
  n.nb_inplace_true_divide = in_place<kDivTo>;
  n.nb_inplace_floor_divide = in_place<kFloorDivideTo>;
  n.nb_inplace_remainder = in_place<kRemainderTo>;
  n.nb_inplace_power = power_to;
  n.nb_inplace_and = in_place<kAndTo>;
  n.nb_inplace_or = in_place<kOrTo>;
  n.nb_inplace_xor = in_place<kXorTo>;
  n.nb_inplace_lshift = in_place<kLeftTo>;
  n.nb_inplace_rshift = in_place<kRightTo>;
  return n;
}

}  // namespace

PyNumberMethods tensor_numbers = make_numbers();

PyObject* compare_tensors(PyObject* a, PyObject* b, int how) {
  static constexpr binaryfunc kBy[] = {call_two<on::lt>, call_two<on::le>, call_two<on::eq>,
                                       call_two<on::ne>, call_two<on::gt>, call_two<on::ge>};
  return kBy[how](a, b);  // Py_LT, Py_LE, ...
}

}  // namespace sconce::python
