#include "interop/torch_function.h"

#include "tensor_object.h"

namespace sconce::python {
namespace {

// DisableTorchFunctionSubclass: this thread's calls ask no class.
[[gnu::tls_model("initial-exec")]] constinit thread_local int disabled = 0;
constinit thread_local AskOverride asking = nullptr;

PyObject* attribute_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}
// What classes set that want plain tensors as results and no questions: Parameter.
PyObject* disabled_implementation(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 4 && n != 3) {
    PyErr_SetString(PyExc_TypeError, "__torch_function__ takes func, types, args and kwargs");
    return nullptr;
  }
  ++disabled;
  PyObject* kwargs = n == 4 && args[3] != Py_None ? args[3] : nullptr;
  PyObject* result = PyObject_Call(args[0], args[2], kwargs);
  --disabled;
  return result;
}
PyMethodDef disabled_method = {"_disabled_torch_function_impl",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(disabled_implementation)),
                               METH_FASTCALL, "Calls the function as if no class decided about it."};
PyObject* disabled_function = nullptr;

// Does the class decide? Found through Python's cache of attributes of types.
bool overrides(PyTypeObject* type) {
  if (type == &tensor_type) return false;
  PyObject* own = _PyType_Lookup(type, attribute_name());
  return own != nullptr && own != disabled_function;
}

Owned keyword_dict(const Given& given) {
  Owned kwargs = Owned::take(PyDict_New());
  for (size_t k = 0; k < given.keywords(); ++k) check(PyDict_SetItem(kwargs.get(), given.name(k), given.named[k]));
  return kwargs;
}

}  // namespace

bool torch_function_disabled() { return disabled != 0; }
int torch_function_disabled_depth() { return disabled; }
void set_torch_function_disabled_depth(int depth) { disabled = depth; }

AskOverrideScope::AskOverrideScope(AskOverride ask) : before_(std::exchange(asking, ask)) {}
AskOverrideScope::~AskOverrideScope() { asking = before_; }

constinit thread_local size_t FunctionModes::count_ = 0;
std::vector<Owned>& FunctionModes::stack() {
  thread_local std::vector<Owned> modes;
  return modes;
}
void FunctionModes::push(PyObject* mode) {
  stack().push_back(Owned::share(mode));
  count_ = stack().size();
}
Owned FunctionModes::pop() {
  Owned mode = std::move(stack().back());
  stack().pop_back();
  count_ = stack().size();
  return mode;
}
FunctionModes::Scope::Scope(std::vector<Owned> modes) : before_(std::exchange(stack(), std::move(modes))) {
  count_ = stack().size();
}
FunctionModes::Scope::~Scope() {
  std::swap(stack(), before_);
  count_ = stack().size();
}

TorchFunction::TorchFunction(const Given& given) : in_mode_(FunctionModes::any()) {
  if (disabled != 0) return;
  for (PyObject* o : given.positional) add(o);
  for (size_t k = 0; k < given.keywords(); ++k) add(given.named[k]);
}

void TorchFunction::add(PyObject* object) {
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) add(PySequence_Fast_GET_ITEM(object, i));
    return;
  }
  PyTypeObject* type = Py_TYPE(object);
  if (!overrides(type)) return;
  size_t at = objects_.size();
  for (size_t i = 0; i < objects_.size(); ++i) {
    if (Py_TYPE(objects_[i]) == type) return;
    if (at == objects_.size() && PyType_IsSubtype(type, Py_TYPE(objects_[i]))) at = i;
  }
  objects_.insert(objects_.begin() + static_cast<ptrdiff_t>(at), object);
}

Owned TorchFunction::call(PyObject* function, const Given& given) const {
  const auto n = static_cast<Py_ssize_t>(given.positional.size());
  Owned args = Owned::take(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(args.get(), i, Py_NewRef(given.positional[static_cast<size_t>(i)]));
  const Owned kwargs = keyword_dict(given);
  Owned types = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(objects_.size())));
  for (size_t i = 0; i < objects_.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(objects_[i]))));
  const auto ask = [&](PyObject* object) {
    if (asking != nullptr) return Owned::take(asking(object, function, types.get(), args.get(), kwargs.get()));
    return Owned::take(
        PyObject_CallMethod(object, "__torch_function__", "OOOO", function, types.get(), args.get(), kwargs.get()));
  };
  if (in_mode_) {  // a mode calls functions as if it were not there
    struct Without {
      Owned mode = FunctionModes::pop();
      ~Without() { FunctionModes::push(mode.get()); }
    } without;
    Owned answer = ask(without.mode.get());
    if (answer.get() != Py_NotImplemented) return answer;
  }
  for (PyObject* object : objects_) {
    Owned answer = ask(object);
    if (answer.get() != Py_NotImplemented) return answer;
  }
  PyErr_Format(PyExc_TypeError, "no implementation found for %R on types that implement __torch_function__: %R",
               function, types.get());
  throw PythonError();
}

namespace {

PyObject* set_disabled(PyObject*, PyObject* change) {
  const long by = PyLong_AsLong(change);
  if (by == -1 && PyErr_Occurred()) return nullptr;
  disabled += by != 0 ? 1 : -1;
  Py_RETURN_NONE;
}
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(disabled == 0); }
// has_torch_function(args): does a class among these objects decide?
PyObject* has_torch_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const Owned items = Owned::take(PySequence_Fast(args, "a sequence of arguments was expected"));
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get()));
    const TorchFunction found({{PySequence_Fast_ITEMS(items.get()), n}, nullptr, nullptr});
    return PyBool_FromLong(static_cast<bool>(found));
  });
}
// handle_torch_function(function, relevant, args, kwargs): asks the classes of the relevant arguments.
PyObject* handle_torch_function(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *relevant = nullptr, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(given, "OOO!O!", &function, &relevant, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
      throw PythonError();
    const Owned items = Owned::take(PySequence_Fast(relevant, "a sequence of arguments was expected"));
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get()));
    const TorchFunction found({{PySequence_Fast_ITEMS(items.get()), n}, nullptr, nullptr});
    const Owned names = Owned::take(PySequence_Tuple(kwargs));
    std::vector<PyObject*> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
      values.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names.get(), i)));
    const Given call{
        {PySequence_Fast_ITEMS(args), static_cast<size_t>(PyTuple_GET_SIZE(args))}, names.get(), values.data()};
    return found.call(function, call).give();
  });
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  FunctionModes::push(mode);
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  if (!FunctionModes::any()) {
    PyErr_SetString(PyExc_RuntimeError, "there is no TorchFunctionMode to leave");
    return nullptr;
  }
  return FunctionModes::pop().give();
}
PyObject* mode_stack(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Owned all = Owned::take(PyList_New(0));
    for (const Owned& mode : FunctionModes::stack()) check(PyList_Append(all.get(), mode.get()));
    return all.give();
  });
}

PyMethodDef functions[] = {{"_push_torch_function_mode", push_mode, METH_O, nullptr},
                           {"_pop_torch_function_mode", pop_mode, METH_NOARGS, nullptr},
                           {"_torch_function_modes", mode_stack, METH_NOARGS, nullptr},
                           {"_change_torch_function_disabled", set_disabled, METH_O, nullptr},
                           {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
                           {"_has_torch_function", has_torch_function, METH_O, nullptr},
                           {"_handle_torch_function", handle_torch_function, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void add_torch_function(PyObject* module) {
  check(PyModule_AddFunctions(module, functions));
  disabled_function = Owned::take(PyCFunction_New(&disabled_method, nullptr)).give();
  check(PyModule_AddObjectRef(module, "_disabled_torch_function_impl", disabled_function));
}

}  // namespace sconce::python
