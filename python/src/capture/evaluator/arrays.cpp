#include "capture/evaluator/arrays.h"

#include <string_view>
#include <unordered_set>

#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/graph/sym_int.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

// Functions whose results have sizes that their arguments decide by sizes and constants alone.
const std::unordered_set<std::string_view> kFunctions = {
    "zeros",        "ones",      "full",        "arange",      "linspace",  "eye",
    "identity",     "array",     "asarray",     "zeros_like",  "ones_like", "full_like",
    "reshape",      "transpose", "ravel",       "concatenate", "stack",     "vstack",
    "hstack",       "squeeze",   "expand_dims", "swapaxes",    "moveaxis",  "broadcast_to",
    "clip",         "sum",       "mean",        "std",         "var",       "max",
    "min",          "amax",      "amin",        "prod",        "cumsum",    "cumprod",
    "argmax",       "argmin",    "round",       "around",      "dot",       "matmul",
    "outer",        "inner",     "tile",        "flip",        "roll",      "pad",
    "sort",         "argsort",   "any",         "all",         "diff",      "norm",
    "isclose",      "trace",     "diag",        "triu",        "tril",      "ascontiguousarray",
    "column_stack", "einsum",    "atleast_1d",  "atleast_2d"};
const std::unordered_set<std::string_view> kMethods = {
    "reshape", "astype", "sum",    "mean",     "std",  "var",    "max",      "min",     "prod",
    "cumsum",  "argmax", "argmin", "round",    "copy", "ravel",  "flatten",  "squeeze", "clip",
    "dot",     "any",    "all",    "swapaxes", "item", "tolist", "transpose"};

bool of_numpy(std::string_view name) { return name.starts_with("numpy."); }

std::string name_of(PyObject* callable) {
  PyObject* name = PyObject_GetAttrString(callable, "__name__");
  if (name == nullptr) {
    PyErr_Clear();
    return {};
  }
  const Owned owned = Owned::take(name);
  return PyUnicode_Check(name) ? std::string(text_of(name)) : std::string();
}

// Functions that make an array of a tensor as numpy() does; others give the tensor a say in what they return.
bool takes_tensors(std::string_view name) {
  return name == "asarray" || name == "array" || name == "ascontiguousarray";
}

enum class Kind : uint8_t { none, function, ufunc, method };
Kind kind_of(PyObject* callable) {
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyMethodDescr_Type)
    return of_numpy(PyDescr_TYPE(callable)->tp_name) && kMethods.contains(text_of(PyDescr_NAME(callable)))
               ? Kind::method
               : Kind::none;
  const std::string_view name(type->tp_name);
  if (name == "numpy.ufunc") return Kind::ufunc;
  if (PyType_Check(callable)) {  // numpy.float32(2)
    static const std::unordered_set<std::string_view> numbers = {
        "numpy.float16", "numpy.float32", "numpy.float64", "numpy.int8",  "numpy.int16",
        "numpy.int32",   "numpy.int64",   "numpy.uint8",   "numpy.bool_", "numpy.bool"};
    return numbers.contains(reinterpret_cast<PyTypeObject*>(callable)->tp_name) ? Kind::function : Kind::none;
  }
  if (type == &PyFunction_Type) {  // functions of numpy that are written in Python and loop over nothing
    static const std::unordered_set<std::string_view> windows = {"hanning", "hamming", "blackman", "bartlett",
                                                                 "kaiser",  "ones",    "full"};
    auto* function = reinterpret_cast<PyFunctionObject*>(callable);
    const bool named = function->func_module != nullptr && PyUnicode_Check(function->func_module) &&
                       text_of(function->func_module).starts_with("numpy");
    return named && windows.contains(text_of(function->func_name)) ? Kind::function : Kind::none;
  }
  if (type == &PyCFunction_Type) {
    PyObject* module = reinterpret_cast<PyCFunctionObject*>(callable)->m_module;
    if (module == nullptr || !PyUnicode_Check(module) || !text_of(module).starts_with("numpy")) return Kind::none;
  } else if (!of_numpy(name)) {
    return Kind::none;
  }
  return kFunctions.contains(name_of(callable)) ? Kind::function : Kind::none;
}

PyObject* helper(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule("sconce._polyfills.of_arrays"));
  return Owned::take(PyObject_GetAttrString(module.get(), name)).give();
}

bool is_option(PyObject* o) { return is_constant(o) || PyType_Check(o) || of_numpy(Py_TYPE(o)->tp_name); }

// What an argument might be: samples in place of what comes later. Empty: it is not taken.
Owned sample_of(Evaluator& e, PyObject* o, bool& some, int depth = 0) {
  if (const Later* l = later_of(o)) {
    some = some || is_numpy(l->sample.get());
    return Owned::share(l->sample.get());
  }
  if (sym_number(o) || e.recorder.is_fake(o)) return {};
  if (is_constant(o) || PyType_Check(o) || (PySlice_Check(o) && is_immutable(o))) return Owned::share(o);
  if (std::string_view(Py_TYPE(o)->tp_name).find("dtype") != std::string_view::npos && of_numpy(Py_TYPE(o)->tp_name))
    return Owned::share(o);
  if (depth > 3 || e.origins.outside(o) || !(PyTuple_CheckExact(o) || PyList_CheckExact(o))) return {};
  Owned made = Owned::take(PyList_New(0));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    const Owned item = sample_of(e, PySequence_Fast_GET_ITEM(o, i), some, depth + 1);
    if (!item) return {};
    check(PyList_Append(made.get(), item.get()));
  }
  return PyList_CheckExact(o) ? std::move(made) : Owned::take(PyList_AsTuple(made.get()));
}

// The result for samples, without warnings; empty: it fails, or is neither an array nor a number.
Owned tried(PyObject* callable, const std::vector<Owned>& samples) {
  static PyObject* const quietly = helper("quietly");
  std::vector<PyObject*> all{callable};
  for (const Owned& s : samples) all.push_back(s.get());
  PyObject* made = PyObject_Vectorcall(quietly, all.data(), all.size(), nullptr);
  if (made == nullptr) {
    PyErr_Clear();
    return {};
  }
  Owned result = Owned::take(made);
  return is_numpy(made) || is_constant(made) || PyList_CheckExact(made) ? std::move(result) : Owned();
}

Owned compute(Evaluator& e, PyObject* callable, std::span<PyObject* const> args, bool always) {
  bool some = always;
  std::vector<Owned> samples;
  for (PyObject* arg : args) {
    Owned sample = sample_of(e, arg, some);
    if (!sample) return {};
    samples.push_back(std::move(sample));
  }
  if (!some) return {};
  Owned result = tried(callable, samples);
  return result ? make_later(e, callable, args, std::move(result)) : Owned();
}

// What comes later as tuples that compute() of of_arrays understands.
Owned expression(PyObject* o) {
  static PyObject* const mark = helper("compute");
  const Later* l = later_of(o);
  if (l == nullptr && !PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return Owned::share(o);
  Owned made = Owned::take(PyList_New(0));
  if (l != nullptr) {
    check(PyList_Append(made.get(), mark));
    check(PyList_Append(made.get(), l->callable.get()));
    for (const Owned& arg : l->args) check(PyList_Append(made.get(), expression(arg.get()).get()));
    return Owned::take(PyList_AsTuple(made.get()));
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    check(PyList_Append(made.get(), expression(PySequence_Fast_GET_ITEM(o, i)).get()));
  return PyList_CheckExact(o) ? std::move(made) : Owned::take(PyList_AsTuple(made.get()));
}

}  // namespace

bool is_numpy(PyObject* o) {
  const std::string_view name(Py_TYPE(o)->tp_name);
  if (name == "numpy.ndarray") return true;
  return of_numpy(name) && PyNumber_Check(o) && Py_TYPE(o)->tp_as_number != nullptr &&
         std::string_view(Py_TYPE(o)->tp_base == nullptr ? "" : Py_TYPE(o)->tp_base->tp_name) != "object";
}

Owned call_numpy(Evaluator& e, PyObject* callable, const Arguments& args) {
  Kind kind = kind_of(callable);
  if (kind == Kind::none && args.values.size() == 3 && args.named() == 0 && name_of(callable) == "where" &&
      of_numpy(Py_TYPE(callable)->tp_name))
    kind = Kind::function;  // with one argument the size of its result is in the values
  if (kind == Kind::none) return {};
  Owned called = Owned::share(callable);
  std::vector<PyObject*> given;
  for (size_t i = 0; i < args.positional(); ++i) given.push_back(args[i]);
  Owned array;
  if (!given.empty() && is_tensor(given[0]) && e.recorder.is_fake(given[0]) && takes_tensors(name_of(callable))) {
    static PyObject* const numpy = _PyType_Lookup(&tensor_type, interned("numpy"));
    if (!e.recorder.is_over_pytorch()) array = array_of(e, numpy, given[0]);
    if (!array) return {};
    given[0] = array.get();
  }
  if (args.named() != 0) {  // options: constants
    const Owned options = Owned::take(PyDict_New());
    for (size_t i = 0; i < args.named(); ++i) {
      PyObject* value = args[args.positional() + i];
      if (later_of(value) || e.recorder.is_fake(value) || !is_option(value)) return {};
      if (text_of(args.name(i)) == "out") return {};
      check(PyDict_SetItem(options.get(), args.name(i), value));
    }
    static PyObject* const partial = [] {
      const Owned module = Owned::take(PyImport_ImportModule("functools"));
      return Owned::take(PyObject_GetAttrString(module.get(), "partial")).give();
    }();
    const Owned first = Owned::take(PyTuple_Pack(1, callable));
    called = Owned::take(PyObject_Call(partial, first.get(), options.get()));
  }
  // Functions that make arrays of numbers take no array.
  return compute(e, called.get(), given, kind == Kind::function);
}

Owned operate_on_arrays(Evaluator& e, PyObject* function, PyObject* a, PyObject* b) {
  PyObject* const args[] = {a, b};
  const Later *x = later_of(a), *y = later_of(b);
  if (!(x && is_numpy(x->sample.get())) && !(y && is_numpy(y->sample.get()))) return {};
  return compute(e, function, std::span(args, b == nullptr ? 1 : 2), false);
}

Owned array_attribute(Evaluator& e, PyObject* array, PyObject* name) {
  const Later& l = *later_of(array);
  if (!is_numpy(l.sample.get())) return {};
  const std::string_view wanted = text_of(name);
  if (wanted == "T") {
    static PyObject* const getattr = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
    PyObject* const args[] = {array, name};
    return compute(e, getattr, args, false);
  }
  if (wanted == "shape" || wanted == "ndim" || wanted == "size" || wanted == "itemsize")
    return Owned::take(PyObject_GetAttr(l.sample.get(), name));
  if (wanted == "dtype") {
    Owned dtype = Owned::take(PyObject_GetAttr(l.sample.get(), name));
    e.origins.enter_constant(dtype.get());
    return dtype;
  }
  PyObject* method = kMethods.contains(wanted) ? _PyType_Lookup(Py_TYPE(l.sample.get()), name) : nullptr;
  if (method == nullptr || Py_TYPE(method) != &PyMethodDescr_Type) return {};
  static PyObject* const partial = [] {
    const Owned module = Owned::take(PyImport_ImportModule("functools"));
    return Owned::take(PyObject_GetAttrString(module.get(), "partial")).give();
  }();
  return Owned::take(PyObject_CallFunctionObjArgs(partial, method, array, nullptr));
}

Owned array_of(Evaluator& e, PyObject* method, PyObject* fake) {
  static PyObject* const ones = helper("ones");
  static PyObject* const shape_name = interned("shape");
  static PyObject* const dtype_name = interned("dtype");
  if (tensor_of(fake).requires_grad()) return {};
  const Owned shape = e.recorder.attribute(fake, shape_name), dtype = e.recorder.attribute(fake, dtype_name);
  if (!shape || !dtype || !PyTuple_Check(shape.get())) return {};
  const Owned sizes = Owned::take(PySequence_Tuple(shape.get()));
  if (!is_constant(sizes.get())) return {};
  PyObject* const given[] = {sizes.get(), dtype.get()};
  Owned sample;
  try {
    sample = e.recorder.ask(ones, given);
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
  PyObject* const args[] = {fake};
  return make_later(e, method, args, std::move(sample));
}

Owned tensor_of_array(Evaluator& e, PyObject* callable, const Arguments& args) {
  const Later* l = args.values.empty() ? nullptr : later_of(args[0]);
  if (l == nullptr || args.positional() != 1 || !is_numpy(l->sample.get())) return {};
  static PyObject* const shares = helper("shares_memory");
  static PyObject* const make = helper("make_tensor");
  static PyObject* const sketch = helper("sketch");
  const std::string name = name_of(callable);
  if (!holds_still(e.recorder, *l)) return {};
  if (name != "tensor") {  // a tensor over the memory of an array that nobody else has
    PyObject* const one[] = {l->sample.get()};
    const Owned shared = e.recorder.ask(shares, one);
    if (is_true(shared.get())) return {};
  }
  std::vector<PyObject*> options{callable};
  for (size_t i = 0; i < args.named(); ++i) {
    if (!is_immutable(args[1 + i])) return {};
    if (text_of(args.name(i)) == "requires_grad") return {};
    options.push_back(args[1 + i]);
  }
  const Owned names = args.named() == 0 ? Owned::take(PyTuple_New(0)) : Owned::share(args.names.get());
  const auto with = [&](PyObject* array) {
    std::vector<PyObject*> all{callable, names.get(), array};
    all.insert(all.end(), options.begin() + 1, options.end());
    return all;
  };
  Owned fake;
  try {
    fake = e.recorder.pending(sketch, with(l->sample.get()));
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
  const Owned computed = expression(args[0]);
  e.recorder.call_in_turn(make, with(computed.get()), nullptr, fake.get());
  l->in_graph = name != "tensor";
  return fake;
}

}  // namespace sconce::python::capture
