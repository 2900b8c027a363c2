#include "programs/module_object.h"

#include <vector>

#include "tensor_object.h"

namespace sconce::python {
namespace {

struct ModuleObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weak_references;
  vectorcallfunc call;
};
extern PyTypeObject module_type;

// Hooks that all modules have (register_module_forward_hook): how many there are.
Py_ssize_t global_hooks = 0;

// Names that are looked up again and again.
struct Names {
  PyObject *parameters, *buffers, *modules, *forward, *slow_call, *set_special, *delete_special;
  PyObject* hooks[4];
} names;

PyObject* in_dict(PyObject* self, PyObject* name) {
  PyObject* dict = reinterpret_cast<ModuleObject*>(self)->dict;
  return dict == nullptr ? nullptr : PyDict_GetItemWithError(dict, name);
}
// Of _parameters, _buffers or _modules; null when the name is not there. Borrowed.
PyObject* in_table(PyObject* self, PyObject* table, PyObject* name) {
  PyObject* found = in_dict(self, table);
  return found != nullptr && PyDict_Check(found) ? PyDict_GetItemWithError(found, name) : nullptr;
}
PyObject* in_tables(PyObject* self, PyObject* name) {
  for (PyObject* table : {names.parameters, names.buffers, names.modules}) {
    if (PyObject* found = in_table(self, table, name)) return found;
    if (PyErr_Occurred()) return nullptr;
  }
  return nullptr;
}

PyObject* registered(PyObject* self, PyObject* name) {
  if (PyObject* found = in_tables(self, name)) return Py_NewRef(found);
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  return nullptr;
}

// What the class has not is looked for in the object first: no AttributeError is made on the way to a parameter.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (_PyType_Lookup(Py_TYPE(self), name) == nullptr) {
    if (PyObject* found = in_dict(self, name)) return Py_NewRef(found);
    if (PyErr_Occurred()) return nullptr;
    return registered(self, name);
  }
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return registered(self, name);
}
PyObject* get_registered(PyObject* self, PyObject* name) { return registered(self, name); }

// Module.__setattr__ and __delattr__, which Python calls: object.__setattr__(module, name, value) must pass by them, as
// it does not for a type with a slot of its own. Parameters, modules, and names that stand in a table are registered.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const bool in_one = in_tables(self, name) != nullptr;
  if (!in_one && PyErr_Occurred()) return -1;
  const bool special = value != nullptr && !Py_IS_TYPE(value, &tensor_type) &&
                       (is_tensor(value) || PyObject_TypeCheck(value, &module_type));
  if (!in_one && !special) return PyObject_GenericSetAttr(self, name, value);
  PyObject* done = value == nullptr ? PyObject_CallMethodOneArg(self, names.delete_special, name)
                                    : PyObject_CallMethodObjArgs(self, names.set_special, name, value, nullptr);
  if (done == nullptr) return -1;
  Py_DECREF(done);
  return 0;
}

// With all keywords in a dict, for calls that are not in a hurry.
PyObject* call_other(PyObject* self, ternaryfunc function, PyObject* const* args, size_t count, PyObject* keys) {
  return guarded([&]() -> PyObject* {
    const Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
    Owned dict;
    for (Py_ssize_t i = 0; keys != nullptr && i < PyTuple_GET_SIZE(keys); ++i) {
      if (!dict) dict = Owned::take(PyDict_New());
      check(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys, i), args[count + static_cast<size_t>(i)]));
    }
    return function(self, tuple.get(), dict.get());
  });
}

bool is_hooked(PyObject* self) {
  if (global_hooks != 0) return true;
  for (PyObject* name : names.hooks) {
    PyObject* table = in_dict(self, name);
    if (table == nullptr || !PyDict_Check(table) || PyDict_GET_SIZE(table) != 0) return true;
  }
  return false;
}

// self.function(*args): without a bound method where the class has a function of Python and the object none.
PyObject* call_method(PyObject* self, PyObject* name, PyObject* const* args, size_t nargsf, PyObject* keys) {
  PyObject* function = _PyType_Lookup(Py_TYPE(self), name);
  if (function == nullptr || !PyFunction_Check(function) || in_dict(self, name) != nullptr) {
    PyObject* method = PyObject_GetAttr(self, name);
    if (method == nullptr) return nullptr;
    PyObject* result = PyObject_Vectorcall(method, args, nargsf, keys);
    Py_DECREF(method);
    return result;
  }
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  Py_INCREF(function);
  PyObject* result = nullptr;
  if (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) {  // the place before the first argument is ours for the call
    auto* all = const_cast<PyObject**>(args) - 1;
    PyObject* before = std::exchange(all[0], self);
    result = PyObject_Vectorcall(function, all, count + 1, keys);
    all[0] = before;
  } else {
    const size_t named = keys == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(keys));
    constexpr size_t kFew = 8;
    PyObject* few[kFew + 1];
    std::vector<PyObject*> many;
    PyObject** all = few;
    if (count + named > kFew) {
      many.resize(count + named + 1);
      all = many.data();
    }
    all[0] = self;
    std::copy(args, args + count + named, all + 1);
    result = PyObject_Vectorcall(function, all, count + 1, keys);
  }
  Py_DECREF(function);
  return result;
}

PyObject* method_to_call(PyObject* self) { return is_hooked(self) ? names.slow_call : names.forward; }

// Module.__call__, as super().__call__(x) reaches it.
PyObject* call_with_tuple(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* method = PyObject_GetAttr(self, method_to_call(self));
  if (method == nullptr) return nullptr;
  PyObject* result = PyObject_Call(method, args, kwargs);
  Py_DECREF(method);
  return result;
}
PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keys) {
  // A class whose __call__ was set after it was made (3.11 keeps the flag of vectorcall then).
  if (Py_TYPE(self)->tp_call != call_with_tuple)
    return call_other(self, Py_TYPE(self)->tp_call, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keys);
  return guarded([&] { return call_method(self, method_to_call(self), args, nargsf, keys); });
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<ModuleObject*>(self)->call = call;
  return self;
}
void dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<ModuleObject*>(self);
  PyObject_GC_UnTrack(self);
  if (object.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object.dict);
  Py_TYPE(self)->tp_free(self);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<ModuleObject*>(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<ModuleObject*>(self)->dict);
  return 0;
}

// Called for each subclass. The method __getattr__, which is there for super().__getattr__(name), would make Python
// look up attributes in its own, slower way; and before 3.12 classes do not inherit the flag of vectorcall.
PyObject* tune_class(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!PyType_Check(object)) Py_RETURN_NONE;
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    const auto is_own = [&](const char* name) {
      return _PyType_Lookup(type, text(name).get()) == PyDict_GetItemString(module_type.tp_dict, name);
    };
    if (is_own("__getattr__") && is_own("__getattribute__")) type->tp_getattro = get_attribute;
    if (type->tp_call == call_with_tuple) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {{"__getattr__", get_registered, METH_O, "A parameter, buffer or module by its name."}, {}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
PyObject* set_module_attribute(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !PyObject_TypeCheck(args[0], &module_type) || !PyUnicode_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "a module, a name and perhaps a value were expected");
    return nullptr;
  }
  if (set_attribute(args[0], args[1], count == 3 ? args[2] : nullptr) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_set_module_attribute", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_module_attribute)),
     METH_FASTCALL, nullptr},
    {"_tune_module_class", tune_class, METH_O, nullptr},
    {"_module_has_hooks",
     [](PyObject*, PyObject* module) -> PyObject* {
       if (!PyObject_TypeCheck(module, &module_type))
         return PyErr_Format(PyExc_TypeError, "a module was expected, got %s", Py_TYPE(module)->tp_name);
       return PyBool_FromLong(is_hooked(module));
     },
     METH_O, nullptr},
    {"_add_global_module_hooks",
     [](PyObject*, PyObject* o) -> PyObject* {
       const Py_ssize_t more = PyLong_AsSsize_t(o);
       if (more == -1 && PyErr_Occurred()) return nullptr;
       global_hooks += more;
       Py_RETURN_NONE;
     },
     METH_O, nullptr},
    {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._ModuleBase";
  type.tp_doc = "What nn.Module is made of: calls and attributes.";
  type.tp_basicsize = sizeof(ModuleObject);
  type.tp_dictoffset = offsetof(ModuleObject, dict);
  type.tp_weaklistoffset = offsetof(ModuleObject, weak_references);
  type.tp_vectorcall_offset = offsetof(ModuleObject, call);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_call = call_with_tuple;
  type.tp_new = make;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_getattro = get_attribute;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}
PyTypeObject module_type = make_type();

PyObject* interned(const char* name) { return Owned::take(PyUnicode_InternFromString(name)).give(); }

}  // namespace

void add_module_type(PyObject* module) {
  names = {interned("_parameters"),
           interned("_buffers"),
           interned("_modules"),
           interned("forward"),
           interned("_call_with_hooks"),
           interned("_set_registered"),
           interned("_delete_registered"),
           {interned("_forward_hooks"), interned("_forward_pre_hooks"), interned("_backward_hooks"),
            interned("_backward_pre_hooks")}};
  check(PyModule_AddType(module, &module_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
