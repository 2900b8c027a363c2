#include "capture/bytecode/literals.h"

#include <cmath>

namespace sconce::python::capture {

namespace {

std::string repr(PyObject* object) {
  const Owned shown = Owned::take(PyObject_Repr(object));
  return std::string(text_of(shown.get()));
}

std::optional<std::string> float_literal(PyObject* constant) {
  const double value = PyFloat_AS_DOUBLE(constant);
  if (std::isfinite(value)) return repr(constant);
  return "float('" + repr(constant) + "')";
}

std::optional<std::string> items(PyObject* constant, const char* open, const char* close, bool comma_of_one) {
  const Owned list = Owned::take(PySequence_List(constant));
  std::string out = open;
  const Py_ssize_t count = PyList_GET_SIZE(list.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::optional<std::string> item = literal(PyList_GET_ITEM(list.get(), i));
    if (!item) return std::nullopt;
    out += (i ? ", " : "") + *item;
  }
  return out + (count == 1 && comma_of_one ? "," : "") + close;
}

}  // namespace

std::optional<std::string> literal(PyObject* constant) {
  if (constant == Py_None || PyBool_Check(constant) || PyLong_CheckExact(constant) || PyUnicode_CheckExact(constant) ||
      PyBytes_CheckExact(constant))
    return repr(constant);
  if (constant == Py_Ellipsis) return "...";
  if (PyFloat_CheckExact(constant)) return float_literal(constant);
  if (PyComplex_CheckExact(constant)) {
    const Py_complex value = PyComplex_AsCComplex(constant);
    if (std::isfinite(value.real) && std::isfinite(value.imag) && !std::signbit(value.real) && value.real == 0)
      return repr(constant);
    return std::nullopt;
  }
  if (PyTuple_CheckExact(constant)) return items(constant, "(", ")", true);
  if (PyFrozenSet_CheckExact(constant) && PySet_GET_SIZE(constant) > 0)
    return items(constant, "frozenset({", "})", false);
  return std::nullopt;
}

std::string object_name(PyObject* object) {
  PyObject* found = PyObject_GetAttrString(object, "__name__");
  if (!found) PyErr_Clear();
  const Owned name = found ? Owned::take(found) : Owned();
  std::string out =
      name && PyUnicode_Check(name.get()) ? std::string(text_of(name.get())) : "___" + std::string(class_name(object));
  for (char& c : out)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_')) c = '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "___" + out;
  return out;
}

bool is_identifier(PyObject* text) { return PyUnicode_IsIdentifier(text) == 1; }

}  // namespace sconce::python::capture
