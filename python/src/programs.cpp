#include "programs.h"

#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "sconce/types/class_info.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

template <class T>
struct Holder {
  PyObject_HEAD T held;
};
using ModuleObject = Holder<jit::Module>;
using FunctionObject = Holder<jit::Function>;
extern PyTypeObject module_type, function_type;

template <class T>
const T& held(PyObject* self) {
  return reinterpret_cast<Holder<T>*>(self)->held;
}
template <class T>
Owned hold(PyTypeObject& type, T what) {
  auto* object = PyObject_New(Holder<T>, &type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  new (&object->held) T(std::move(what));
  return made;
}
template <class T>
void dealloc(PyObject* self) {
  reinterpret_cast<Holder<T>*>(self)->held.~T();
  PyObject_Free(self);
}

std::vector<Value> positional(PyObject* args) {
  std::vector<Value> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) values.push_back(value_of(PyTuple_GET_ITEM(args, i)));
  return values;
}
jit::NamedValues named(PyObject* kwargs) {
  jit::NamedValues values;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);)
    values.emplace_back(text_of(key), value_of(value));
  return values;
}

// Programs run without Python's lock: other threads may call the same one.
template <class T>
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    std::vector<Value> values = positional(args);
    jit::NamedValues names = named(kwargs);
    Value result;
    {
      const Unlocked unlocked;
      result = held<T>(self).call(std::move(values), std::move(names));
    }
    return object_of(result).give();
  });
}

// ---- functions ----

PyObject* function_repr(PyObject* self) {
  return guarded([&] { return text("<ScriptFunction " + held<jit::Function>(self).qualified_name() + ">").give(); });
}
template <std::string (jit::Function::*f)() const>
PyObject* function_text(PyObject* self, void*) {
  return guarded([&] { return text((held<jit::Function>(self).*f)()).give(); });
}
PyObject* function_schema(PyObject* self, void*) {
  return guarded([&] { return text(held<jit::Function>(self).schema().to_string()).give(); });
}
PyGetSetDef function_properties[] = {
    {"name", function_text<&jit::Function::name>, nullptr, "Its name.", nullptr},
    {"qualified_name", function_text<&jit::Function::qualified_name>, nullptr, "Its name with its module's.", nullptr},
    {"code", function_text<&jit::Function::code>, nullptr, "Its text, as archives hold it.", nullptr},
    {"graph", function_text<&jit::Function::graph>, nullptr, "Its graph as text, before optimisation.", nullptr},
    {"schema", function_schema, nullptr, "Its arguments and results.", nullptr},
    {}};

// ---- modules ----

bool is_module_value(const Value& v) { return v.is_object() && v.to_object().type()->class_info()->is_module; }

PyObject* module_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    const jit::Module& module = held<jit::Module>(self);
    const std::string_view wanted = text_of(name);
    if (module.has_method(wanted)) {
      PyErr_Clear();
      return hold(function_type, module.get_method(wanted)).give();
    }
    if (!module.has_attr(wanted)) throw PythonError();
    PyErr_Clear();
    const Value v = module.attr(wanted);
    if (is_module_value(v)) return hold(module_type, module.submodule(wanted)).give();
    return object_of(v).give();
  });
}
int module_set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return guarded_int([&] {
    SCONCE_CHECK(value, "attributes of a module cannot be deleted");
    held<jit::Module>(self).set_attr(text_of(name), value_of(value));
    return 0;
  });
}
PyObject* module_repr(PyObject* self) {
  return guarded([&] { return text("<ScriptModule " + held<jit::Module>(self).type_name() + ">").give(); });
}
PyObject* module_save(PyObject* self, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const Owned real = Owned::take(PyOS_FSPath(path));
    const std::string to(text_of(real.get()));
    {
      const Unlocked unlocked;
      to.ends_with(".ptl") ? held<jit::Module>(self).save_lite(to) : held<jit::Module>(self).save(to);
    }
    Py_RETURN_NONE;
  });
}
PyObject* module_train(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int on = 1;
    if (!PyArg_ParseTuple(args, "|p:train", &on)) throw PythonError();
    held<jit::Module>(self).train(on != 0);
    return Py_NewRef(self);
  });
}
PyObject* module_eval(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    held<jit::Module>(self).eval();
    return Py_NewRef(self);
  });
}
Owned dict_of(const jit::NamedTensors& tensors) {
  Owned dict = Owned::take(PyDict_New());
  for (const auto& [name, t] : tensors) check(PyDict_SetItem(dict.get(), text(name).get(), wrap(t).get()));
  return dict;
}
template <jit::NamedTensors (jit::Module::*f)(bool) const>
PyObject* module_tensors(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Owned dict = dict_of((held<jit::Module>(self).*f)(true));
    const Owned items = Owned::take(PyDict_Items(dict.get()));
    return PyObject_GetIter(items.get());
  });
}
PyObject* module_state(PyObject* self, PyObject*) {
  return guarded([&] { return dict_of(held<jit::Module>(self).state_dict()).give(); });
}
PyObject* module_load_state(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"state_dict", "strict", nullptr};
    PyObject* state = nullptr;
    int strict = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|p:load_state_dict", const_cast<char**>(names), &PyDict_Type,
                                     &state, &strict))
      throw PythonError();
    jit::NamedTensors tensors;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(state, &at, &key, &value);) {
      SCONCE_CHECK_AS(type, is_tensor(value), "state_dict: '{}' is a {}, a Tensor was expected", text_of(key),
                      class_name(value));
      tensors.emplace_back(text_of(key), tensor_of(value));
    }
    held<jit::Module>(self).load_state_dict(tensors, strict != 0);
    Py_RETURN_NONE;
  });
}
template <std::string (jit::Function::*f)() const>
PyObject* module_text(PyObject* self, void*) {
  return guarded([&] { return text((held<jit::Module>(self).get_method("forward").*f)()).give(); });
}
PyObject* module_training(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(held<jit::Module>(self).is_training()); });
}

PyGetSetDef module_properties[] = {
    {"code", module_text<&jit::Function::code>, nullptr, "The text of forward, as archives hold it.", nullptr},
    {"graph", module_text<&jit::Function::graph>, nullptr, "The graph of forward as text, before optimisation.",
     nullptr},
    {"training", module_training, nullptr, "Is it in training mode?", nullptr},
    {}};
PyMethodDef module_methods[] = {
    {"save", module_save, METH_O, "save(path): writes a TorchScript archive, or for .ptl one with bytecode."},
    {"train", module_train, METH_VARARGS, "train(mode=True): puts it and all below into training mode."},
    {"eval", module_eval, METH_NOARGS, "Puts it and all below into evaluation mode."},
    {"named_parameters", module_tensors<&jit::Module::named_parameters>, METH_NOARGS, "Names and parameters."},
    {"named_buffers", module_tensors<&jit::Module::named_buffers>, METH_NOARGS, "Names and buffers."},
    {"state_dict", module_state, METH_NOARGS, "Parameters and buffers by name."},
    {"load_state_dict", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(module_load_state)),
     METH_VARARGS | METH_KEYWORDS,
     "load_state_dict(state_dict, strict=True): copies values into the tensors of the same names."},
    {}};

template <class T>
PyTypeObject make_type(const char* name, const char* doc, reprfunc repr, PyGetSetDef* properties,
                       PyMethodDef* methods) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_doc = doc;
  type.tp_basicsize = sizeof(Holder<T>);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = dealloc<T>;
  type.tp_call = call<T>;
  type.tp_repr = repr;
  type.tp_getset = properties;
  type.tp_methods = methods;
  return type;
}
PyTypeObject function_type =
    make_type<jit::Function>("sconce.jit.ScriptFunction", "A function or method of a TorchScript program.",
                             function_repr, function_properties, nullptr);
PyTypeObject module_type = [] {
  PyTypeObject type = make_type<jit::Module>("sconce.jit.ScriptModule", "A module of a TorchScript program.",
                                             module_repr, module_properties, module_methods);
  type.tp_getattro = module_attribute;
  type.tp_setattro = module_set_attribute;
  return type;
}();

// ---- functions of sconce.jit ----

PyObject* load(PyObject*, PyObject* path) {
  return guarded([&] {
    const Owned real = Owned::take(PyOS_FSPath(path));
    const std::string from(text_of(real.get()));
    std::optional<jit::Module> module;
    {
      const Unlocked unlocked;
      module = jit::load(from);
    }
    return hold(module_type, std::move(*module)).give();
  });
}
// A text of functions, as a dict of them.
PyObject* compile(PyObject*, PyObject* source) {
  return guarded([&] {
    const jit::CompilationUnit unit = jit::compile(text_of(source));
    Owned dict = Owned::take(PyDict_New());
    for (const std::string& name : unit.function_names())
      check(PyDict_SetItemString(dict.get(), name.c_str(), hold(function_type, unit.function(name)).get()));
    return dict.give();
  });
}

PyMethodDef functions[] = {{"_jit_load", load, METH_O, "load(path): the module in a .pt, .ptl or .pt2 file."},
                           {"_jit_compile", compile, METH_O, "compile(text): the functions of a text, by name."},
                           {}};

}  // namespace

Owned wrap_function(jit::Function function) { return hold(function_type, std::move(function)); }
const jit::Function& function_of(PyObject* object) {
  if (!PyObject_TypeCheck(object, &function_type)) {
    PyErr_Format(PyExc_TypeError, "a ScriptFunction was expected, got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return held<jit::Function>(object);
}

void add_programs(PyObject* module) {
  check(PyModule_AddType(module, &function_type));
  check(PyModule_AddType(module, &module_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
