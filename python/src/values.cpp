#include "values.h"

#include "generator_object.h"
#include "programs/program_values.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "small_objects.h"
#include "tensor_object.h"

namespace sconce::python {
namespace {

bool is_plain_int(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }
// A number of numpy, or of another library: has a method for it, and is no tensor.
bool has_index(PyObject* o) { return !is_tensor(o) && !PyBool_Check(o) && PyIndex_Check(o); }
// Also a complex number of numpy, which has a method for a real one: that drops the imaginary part.
bool is_complex_number(PyObject* o) {
  return PyComplex_Check(o) || std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.complex");
}
bool has_float(PyObject* o) {
  const PyNumberMethods* numbers = Py_TYPE(o)->tp_as_number;
  return !is_tensor(o) && numbers != nullptr && numbers->nb_float != nullptr && !is_complex_number(o);
}
bool is_numpy_bool(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return name == "numpy.bool_" || name == "numpy.bool";
}
// A tensor that may stand for a number: of one element, without dimensions or history.
bool is_number_tensor(PyObject* o) { return is_tensor(o) && tensor_of(o).dim() == 0 && !tensor_of(o).requires_grad(); }

int64_t to_int(PyObject* o) {
  const Owned number = Owned::take(PyNumber_Index(o));
  const long long v = PyLong_AsLongLong(number.get());
  if (v == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError();
    PyErr_Clear();
    fail_as(ErrorKind::overflow, "Overflow when unpacking long long");
  }
  return v;
}
double to_double(PyObject* o) {
  const double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

bool convert_int(PyObject* o, Value& out) {
  if (is_plain_int(o) || has_index(o)) {
    out = to_int(o);
  } else if (is_number_tensor(o) && is_integral(tensor_of(o).dtype())) {
    out = item_of(tensor_of(o)).to_int();
  } else {
    return false;
  }
  return true;
}
bool convert_float(PyObject* o, Value& out) {
  if (PyFloat_Check(o) || PyLong_Check(o) || (has_float(o) && !PyUnicode_Check(o))) {
    out = to_double(o);
  } else if (is_number_tensor(o) && !is_complex(tensor_of(o).dtype())) {
    out = item_of(tensor_of(o)).to_double();
  } else {
    return false;
  }
  return true;
}
bool convert_bool(PyObject* o, Value& out) {
  if (!PyBool_Check(o) && !is_numpy_bool(o)) return false;
  const int truth = PyObject_IsTrue(o);
  check(truth);
  out = truth != 0;
  return true;
}
bool convert_number(PyObject* o, Value& out) {
  if (convert_bool(o, out) || convert_int(o, out)) return true;
  if (is_complex_number(o)) {
    const Py_complex v = PyComplex_AsCComplex(o);
    if (v.real == -1 && PyErr_Occurred()) throw PythonError();
    out = std::complex<double>(v.real, v.imag);
    return true;
  }
  if (is_number_tensor(o)) {
    out = Value(item_of(tensor_of(o)));
    return true;
  }
  return convert_float(o, out);
}

bool convert_device(PyObject* o, Value& out) {
  if (is_device(o)) {
    out = device_of(o);
  } else if (PyUnicode_Check(o)) {
    out = parse_device(text_of(o));
  } else {
    return false;
  }
  return true;
}

bool convert_dtype(PyObject* o, Value& out) {
  if (is_dtype(o)) {
    out = number_of(o);
  } else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    out = DType::float64;
  } else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    out = DType::int64;
  } else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    out = DType::bool_;
  } else {
    return false;
  }
  return true;
}

bool is_sequence(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

bool convert_list(PyObject* o, TypePtr element, std::optional<int32_t> fixed_size, Value& out) {
  auto list = make_ref<List>(element);
  Value item;
  if (is_sequence(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    list->reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Owned each = Owned::share(PySequence_Fast_GET_ITEM(o, i));
      if (!convert(each.get(), element, std::nullopt, item)) return false;
      list->append(std::move(item));
    }
  } else if (fixed_size && !is_tensor(o) && convert(o, element, std::nullopt, item)) {
    for (int32_t i = 0; i < *fixed_size; ++i) list->append(item);
  } else {
    return false;
  }
  out = Value(std::move(list));
  return true;
}

Owned tuple_of(const std::vector<Value>& items, TypePtr element) {
  Owned made = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), object_of(items[i], element).give());
  return made;
}

}  // namespace

bool convert(PyObject* o, TypePtr type, std::optional<int32_t> fixed_size, Value& out) {
  switch (type->kind()) {
    case TypeKind::tensor:
      if (!is_tensor(o)) return false;
      out = Value(tensor_of(o));
      return true;
    case TypeKind::optional:
      if (o != Py_None) return convert(o, type->element(), fixed_size, out);
      out = Value();
      return true;
    case TypeKind::list:
      return convert_list(o, type->element(), fixed_size, out);
    case TypeKind::int_:
    case TypeKind::sym_int:
      return convert_int(o, out);
    case TypeKind::float_:
    case TypeKind::sym_float:
      return convert_float(o, out);
    case TypeKind::bool_:
    case TypeKind::sym_bool:
      return convert_bool(o, out);
    case TypeKind::number:
      return convert_number(o, out);
    case TypeKind::complex:
      if (!convert_number(o, out)) return false;
      out = out.to_complex();
      return true;
    case TypeKind::string:
      if (!PyUnicode_Check(o)) return false;
      out = text_of(o);
      return true;
    case TypeKind::device:
      return convert_device(o, out);
    case TypeKind::scalar_type:
      return convert_dtype(o, out);
    case TypeKind::layout:
      if (!is_layout(o)) return false;
      out = number_of(o);
      return true;
    case TypeKind::memory_format:
      if (!is_memory_format(o)) return false;
      out = number_of(o);
      return true;
    case TypeKind::none:
      out = Value();
      return o == Py_None;
    case TypeKind::any:
      out = value_of(o);
      return true;
    case TypeKind::generator:
      if (!is_generator(o)) return false;
      out = Value(generator_of(o));
      return true;
    default:
      return false;  // streams, names of dimensions: no object stands for them here
  }
}

Value value_of(PyObject* o) {
  Value v;
  if (o == Py_None) return v;
  if (is_tensor(o)) return tensor_of(o);
  if (convert_bool(o, v) || convert_int(o, v)) return v;
  if (PyFloat_Check(o)) return to_double(o);
  if (PyComplex_Check(o) && convert_number(o, v)) return v;
  if (PyUnicode_Check(o)) return text_of(o);
  if (is_device(o)) return device_of(o);
  if (is_dtype(o) || is_layout(o) || is_memory_format(o)) return number_of(o);
  if (is_sequence(o)) {
    std::vector<Value> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      const Owned each = Owned::share(PySequence_Fast_GET_ITEM(o, i));
      items.push_back(value_of(each.get()));
    }
    if (PyTuple_Check(o)) return make_ref<Tuple>(std::move(items));
    TypePtr element = items.empty() ? ::sconce::tensor_type() : items[0].type();
    for (const Value& item : items) {
      if (item.type() != element) element = any_type();
    }
    auto list = make_ref<List>(element);
    for (Value& item : items) list->append(std::move(item));
    return list;
  }
  if (PyDict_Check(o)) {
    std::vector<std::pair<Value, Value>> items;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) items.emplace_back(value_of(key), value_of(value));
    TypePtr keys = items.empty() ? string_type() : items[0].first.type();
    TypePtr values = items.empty() ? ::sconce::tensor_type() : items[0].second.type();
    for (const auto& [k, item] : items) {
      SCONCE_CHECK_AS(type, k.type() == keys, "the keys of a dict must have one type, got {} and {}",
                      keys->annotation(), k.type()->annotation());
      if (item.type() != values) values = any_type();
    }
    auto dict = make_ref<Dict>(keys, values);
    for (auto& [k, item] : items) dict->set(std::move(k), std::move(item));
    return dict;
  }
  if (auto special = special_value(o)) return std::move(*special);
  fail_as(ErrorKind::type, "an object of class {} cannot be given to a program", class_name(o));
}

std::vector<Tensor> tensors_in(PyObject* o) {
  if (o == nullptr || o == Py_None) return {};
  if (is_tensor(o)) return {tensor_of(o)};
  const Owned items = Owned::take(PySequence_Fast(o, "a tensor or a sequence of tensors was expected"));
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    SCONCE_CHECK_AS(type, is_tensor(item) || item == Py_None, "a tensor was expected, got {}", class_name(item));
    out.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return out;
}

Owned object_of(const Value& v, TypePtr type) {
  switch (v.tag()) {
    case Tag::none:
      return Owned::share(Py_None);
    case Tag::boolean:
      return Owned::share(v.to_bool() ? Py_True : Py_False);
    case Tag::integer:
      if (type && type->is(TypeKind::optional)) type = type->element();
      if (type && type->is(TypeKind::scalar_type)) return Owned::share(dtype_object(static_cast<DType>(v.to_int())));
      if (type && type->is(TypeKind::layout)) return Owned::share(layout_object(static_cast<Layout>(v.to_int())));
      if (type && type->is(TypeKind::memory_format))
        return Owned::share(memory_format_object(static_cast<MemoryFormat>(v.to_int())));
      return Owned::take(PyLong_FromLongLong(v.to_int()));
    case Tag::real:
      return Owned::take(PyFloat_FromDouble(v.to_double()));
    case Tag::complex:
      return Owned::take(PyComplex_FromDoubles(v.to_complex().real(), v.to_complex().imag()));
    case Tag::string:
      return text(v.to_string_ref());
    case Tag::device:
      return make_device(v.to_device());
    case Tag::generator:
      return wrap_generator(v.to_generator());
    case Tag::tensor:
      return wrap(v.to_tensor());
    case Tag::tuple:
      if (v.to_tuple().named_type) return special_object(v);
      return tuple_of(v.to_tuple().items, nullptr);
    case Tag::list: {
      const std::vector<Value> items = v.to_list().values();
      Owned made = Owned::take(PyList_New(static_cast<Py_ssize_t>(items.size())));
      for (size_t i = 0; i < items.size(); ++i)
        PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), object_of(items[i]).give());
      return made;
    }
    case Tag::dict: {
      Owned made = Owned::take(PyDict_New());
      for (const auto& [key, value] : v.to_dict().items())
        check(PyDict_SetItem(made.get(), object_of(key).get(), object_of(value).get()));
      return made;
    }
    default:
      return special_object(v);
  }
}

std::string type_text(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::optional:
      return type_text(type->element());
    case TypeKind::number:
      return "Number";
    case TypeKind::int_:
    case TypeKind::sym_int:
      return "int";
    case TypeKind::string:
      return "str";
    case TypeKind::scalar_type:
      return "torch.dtype";
    case TypeKind::device:
      return "torch.device";
    case TypeKind::generator:
      return "torch.Generator";
    case TypeKind::layout:
      return "torch.layout";
    case TypeKind::memory_format:
      return "torch.memory_format";
    case TypeKind::list:
      return "tuple of " + type_text(type->element()) + "s";
    default:
      return type->annotation();
  }
}

}  // namespace sconce::python
