#include "programs/programs.h"

#include "long_call.h"
#include "programs/graphs.h"
#include "programs/program_values.h"
#include "programs/tracing.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ir/function.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/passes/passes.h"
#include "sconce/sconce.hpp"
#include "sconce/types/class_info.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

struct FunctionObject {
  PyObject_HEAD jit::Function held;
  PyObject* dict;
};
struct ModuleObject {
  PyObject_HEAD jit::Module held;
};
extern PyTypeObject module_type, function_type;

const jit::Function& held_function(PyObject* self) { return reinterpret_cast<FunctionObject*>(self)->held; }
const jit::Module& held_module(PyObject* self) { return reinterpret_cast<ModuleObject*>(self)->held; }

// Makes the RecursiveScriptModule of a module (jit/_module.py).
PyObject* make_wrapper = nullptr;

Owned handle_of(jit::Module module) {
  auto* object = PyObject_New(ModuleObject, &module_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  new (&object->held) jit::Module(std::move(module));
  return made;
}
void function_dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<FunctionObject*>(self);
  Py_CLEAR(object.dict);
  object.held.~Function();
  PyObject_Free(self);
}
void module_dealloc(PyObject* self) {
  reinterpret_cast<ModuleObject*>(self)->held.~Module();
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
PyObject* call(const T& callee, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const CurrentUnit unit(callee.unit());  // functions of Python that it calls need it, too
    std::vector<Value> values = positional(args);
    jit::NamedValues names = named(kwargs);
    const Value result = is_tracing()
                             ? traced_call(callee, std::move(values), std::move(names))
                             : run_interruptible([&] { return callee.call(std::move(values), std::move(names)); });
    return object_of(result).give();
  });
}
PyObject* call_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call(held_function(self), args, kwargs);
}
PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call(held_module(self), args, kwargs);
}

// ---- functions ----

PyObject* function_repr(PyObject* self) {
  return guarded([&] { return text("<ScriptFunction " + held_function(self).qualified_name() + ">").give(); });
}
template <std::string (jit::Function::*f)() const>
PyObject* function_text(PyObject* self, void*) {
  return guarded([&] { return text((held_function(self).*f)()).give(); });
}
// PyTorch leaves the type of self out, which archives have.
PyObject* function_code(PyObject* self, void*) {
  return guarded([&] {
    std::string code = held_function(self).code();
    const size_t start = code.find("(self: ");
    if (!held_function(self).self().is_none() && start != code.npos) {
      const size_t end = code.find_first_of(",)", start);
      code.erase(start + 5, end - start - 5);
    }
    return text(code).give();
  });
}
PyObject* function_graph(PyObject* self, void*) {
  return guarded([&] {
    ir::Function& f = held_function(self).function();
    const std::shared_ptr<ir::Graph> traced = tracing::traced_graph(f);
    return wrap_graph(traced ? traced : f.graph(), std::make_shared<jit::Function>(held_function(self))).give();
  });
}
PyObject* function_inlined_graph(PyObject* self, void*) {
  return guarded([&] {
    const std::shared_ptr<ir::Graph> copy = held_function(self).function().graph()->copy();
    passes::find_pass("inline_calls")->run(*copy);
    return wrap_graph(copy, std::make_shared<jit::Function>(held_function(self))).give();
  });
}
// Writes a module whose forward is the function.
PyObject* function_save(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce.jit._module"));
    const Owned save = Owned::take(PyObject_GetAttrString(module.get(), "save_function"));
    const Owned before = Owned::take(PyTuple_Pack(1, self));
    const Owned all = Owned::take(PySequence_Concat(before.get(), args));
    return PyObject_Call(save.get(), all.get(), kwargs);
  });
}
PyObject* function_schema(PyObject* self, void*) {
  return guarded([&] {
    Schema schema = held_function(self).schema();
    schema.name = held_function(self).name();
    return text(schema.to_string()).give();
  });
}
PyGetSetDef function_properties[] = {
    {"name", function_text<&jit::Function::name>, nullptr, "Its name.", nullptr},
    {"qualified_name", function_text<&jit::Function::qualified_name>, nullptr, "Its name with its module's.", nullptr},
    {"code", function_code, nullptr, "Its text, as archives hold it.", nullptr},
    {"graph", function_graph, nullptr, "Its graph, before optimisation.", nullptr},
    {"inlined_graph", function_inlined_graph, nullptr, "Its graph, with calls replaced by what they call.", nullptr},
    {"schema", function_schema, nullptr, "Its arguments and results.", nullptr},
    {"__name__", function_text<&jit::Function::name>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMethodDef function_methods[] = {
    {"save", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_save)), METH_VARARGS | METH_KEYWORDS,
     "save(f, _extra_files=None): writes an archive with a module whose forward is the function."},
    {}};

// ---- modules: handles, which jit/_module.py makes modules of ----

TypePtr type_of(const jit::Module& module) { return module.value().to_object().type(); }

bool is_module_value(const Value& v) { return v.is_object() && v.to_object().type()->class_info()->is_module; }

// [(name, kind)], kind: 0 others, 1 parameters, 2 buffers, 3 modules.
PyObject* module_attributes(PyObject* self, PyObject*) {
  return guarded([&] {
    const jit::Module& module = held_module(self);
    Owned list = Owned::take(PyList_New(0));
    for (const ClassInfo::Attribute& a : type_of(module)->class_info()->attributes) {
      const int kind = a.kind == ClassInfo::AttributeKind::parameter ? 1
                       : a.kind == ClassInfo::AttributeKind::buffer  ? 2
                       : is_module_value(module.attr(a.name))        ? 3
                                                                     : 0;
      check(PyList_Append(list.get(), Owned::take(Py_BuildValue("(si)", a.name.c_str(), kind)).get()));
    }
    return list.give();
  });
}
PyObject* module_constants(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned dict = Owned::take(PyDict_New());
    for (const auto& [name, value] : type_of(held_module(self))->class_info()->constants)
      check(PyDict_SetItemString(dict.get(), name.c_str(), object_of(value).get()));
    return dict.give();
  });
}
PyObject* module_get(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const jit::Module& module = held_module(self);
    const std::string_view wanted = text_of(name);
    const CurrentUnit unit(module.unit());
    if (const ClassInfo::Property* p = type_of(module)->class_info()->find_property(wanted))
      return object_of(jit::Function(module.unit(), p->getter, module.value()).call({})).give();
    if (module.has_attr(wanted)) return object_of(module.attr(wanted)).give();
    PyErr_SetObject(PyExc_AttributeError, name);
    throw PythonError();
  });
}
PyObject* module_set(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    PyObject* value = nullptr;
    if (!PyArg_ParseTuple(args, "sO:set", &name, &value)) throw PythonError();
    const jit::Module& module = held_module(self);
    const ClassInfo& info = *type_of(module)->class_info();
    if (const ClassInfo::Property* p = info.find_property(name)) {
      if (!p->setter) {
        PyErr_Format(PyExc_AttributeError, "can't set attribute '%s'", name);
        throw PythonError();
      }
      jit::Function(module.unit(), p->setter, module.value()).call({value_of(value)});
      Py_RETURN_NONE;
    }
    const int slot = info.find(name);
    if (slot < 0) {
      PyErr_SetString(PyExc_AttributeError, name);
      throw PythonError();
    }
    const TypePtr type = info.attributes[static_cast<size_t>(slot)].type;
    auto v = value_as(value, type);
    SCONCE_CHECK(v, "Could not cast attribute '{}' to type {}: got a value of class {}", name, type->annotation(),
                 class_name(value));
    module.set_attr(name, std::move(*v));
    Py_RETURN_NONE;
  });
}
// parameter(name, class): the tensor, whose object is of the class if it has none yet.
PyObject* module_parameter(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    PyTypeObject* cls = nullptr;
    if (!PyArg_ParseTuple(args, "sO!:parameter", &name, &PyType_Type, &cls)) throw PythonError();
    const Value v = held_module(self).attr(name);
    if (!v.is_tensor()) Py_RETURN_NONE;
    Tensor t = v.to_tensor();
    return (t.impl()->python ? wrap(std::move(t)) : wrap_as(cls, std::move(t))).give();
  });
}
PyObject* module_method(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const jit::Module& module = held_module(self);
    if (!module.has_method(text_of(name))) Py_RETURN_NONE;
    return wrap_function(module.get_method(text_of(name))).give();
  });
}
PyObject* module_method_names(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const std::string& name : held_module(self).method_names()) check(PyList_Append(list.get(), text(name).get()));
    return list.give();
  });
}
PyObject* module_properties_list(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const ClassInfo::Property& p : type_of(held_module(self))->class_info()->properties)
      check(PyList_Append(list.get(), text(p.name).get()));
    return list.give();
  });
}
jit::ExtraFiles extra_files_in(PyObject* dict) {
  jit::ExtraFiles files;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; dict != Py_None && PyDict_Next(dict, &at, &key, &value);) {
    const std::string name(text_of(key));
    if (PyBytes_Check(value)) {
      files.emplace_back(name, std::string(PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))));
    } else {
      files.emplace_back(name, std::string(text_of(value)));
    }
  }
  return files;
}
PyObject* module_save(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *path = nullptr, *extra = Py_None;
    int lite = 0;
    if (!PyArg_ParseTuple(args, "O|Op:save", &path, &extra, &lite)) throw PythonError();
    const Owned real = Owned::take(PyOS_FSPath(path));
    const std::string to(text_of(real.get()));
    const jit::ExtraFiles files = extra_files_in(extra);
    {
      const Unlocked unlocked;
      lite ? held_module(self).save_lite(to, files) : held_module(self).save(to, files);
    }
    Py_RETURN_NONE;
  });
}
// freeze(preserved, optimize_numerics)
PyObject* module_freeze(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject* names = nullptr;
    int numerics = 1;
    if (!PyArg_ParseTuple(args, "O!p:freeze", &PyList_Type, &names, &numerics)) throw PythonError();
    passes::FreezeOptions options;
    options.fold_numerics = numerics != 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i)
      options.preserved.emplace_back(text_of(PyList_GET_ITEM(names, i)));
    const jit::Module& module = held_module(self);
    return wrap_module(jit::Module(module.unit(), passes::freeze(*module.unit(), module.value(), options))).give();
  });
}
PyObject* module_clone(PyObject* self, PyObject*) {
  return guarded([&] { return handle_of(held_module(self).clone()).give(); });
}
PyObject* module_type_name(PyObject* self, void*) {
  return guarded([&] { return text(held_module(self).type_name()).give(); });
}
// Whether two handles are of one module.
PyObject* module_compare(PyObject* a, PyObject* b, int how) {
  if (!Py_IS_TYPE(a, &module_type) || !Py_IS_TYPE(b, &module_type) || (how != Py_EQ && how != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong(held_module(a).value().is_same(held_module(b).value()) == (how == Py_EQ));
}
Py_hash_t module_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&held_module(self).value().to_object()) >> 4);
}
PyObject* module_repr(PyObject* self) {
  return guarded([&] { return text("<ScriptModule " + held_module(self).type_name() + ">").give(); });
}

PyGetSetDef module_properties[] = {
    {"type_name", module_type_name, nullptr, "The qualified name of its class.", nullptr}, {}};
PyMethodDef module_methods[] = {
    {"attributes", module_attributes, METH_NOARGS, "[(name, kind)]; kinds: other, parameter, buffer, module."},
    {"constants", module_constants, METH_NOARGS, "Constants by name."},
    {"get", module_get, METH_O, "get(name): an attribute, constant or property."},
    {"set", module_set, METH_VARARGS, "set(name, value)"},
    {"parameter", module_parameter, METH_VARARGS, "parameter(name, class)"},
    {"method", module_method, METH_O, "method(name): the bound method, or None."},
    {"method_names", module_method_names, METH_NOARGS, "Names of methods."},
    {"property_names", module_properties_list, METH_NOARGS, "Names of properties."},
    {"save", module_save, METH_VARARGS, "save(path, extra_files, lite)"},
    {"freeze", module_freeze, METH_VARARGS, "freeze(preserved, optimize_numerics)"},
    {"clone", module_clone, METH_NOARGS, "A copy with its own tensors."},
    {}};

PyTypeObject function_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.jit.ScriptFunction";
  type.tp_doc = "A function or method of a TorchScript program.";
  type.tp_basicsize = sizeof(FunctionObject);
  type.tp_dictoffset = offsetof(FunctionObject, dict);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = function_dealloc;
  type.tp_call = call_function;
  type.tp_repr = function_repr;
  type.tp_getset = function_properties;
  type.tp_methods = function_methods;
  return type;
}();
PyTypeObject module_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._ScriptModule";
  type.tp_doc = "A handle on a module of a TorchScript program.";
  type.tp_basicsize = sizeof(ModuleObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = module_dealloc;
  type.tp_call = call_module;
  type.tp_repr = module_repr;
  type.tp_richcompare = module_compare;
  type.tp_hash = module_hash;
  type.tp_getset = module_properties;
  type.tp_methods = module_methods;
  return type;
}();

// ---- functions of sconce.jit ----

// load(path or bytes, extra_files): the module, and what the file has under the names of extra_files.
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *from = nullptr, *extra = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:load", &from, &extra)) throw PythonError();
    std::optional<jit::Module> module;
    jit::ExtraFiles files;
    if (PyBytes_Check(from)) {
      const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(from)),
                                             static_cast<size_t>(PyBytes_GET_SIZE(from)));
      run_interruptible([&] { module = jit::load(bytes, &files); });
    } else {
      const Owned real = Owned::take(PyOS_FSPath(from));
      const std::string path(text_of(real.get()));
      run_interruptible([&] { module = jit::load(path, &files); });
    }
    for (const auto& [name, content] : files) {
      const Owned key = text(name);
      if (extra == Py_None || PyDict_Contains(extra, key.get()) != 1) continue;
      const Owned bytes =
          Owned::take(PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size())));
      check(PyDict_SetItem(extra, key.get(), bytes.get()));
    }
    return wrap_module(std::move(*module)).give();
  });
}
// A module whose forward is the function: how functions are saved.
PyObject* function_module(PyObject*, PyObject* function) {
  return guarded([&] {
    ir::Function& from = function_of(function).function();
    const auto unit = std::make_shared<ir::CompilationUnit>();
    const TypePtr type = make_class_type("__torch__.PlaceholderModule");
    unit->add_type(type);
    ClassInfo& info = *type->class_info();
    info.is_module = true;
    info.attributes.push_back({"training", bool_type()});
    ir::Function& forward = unit->add_function(type->name() + ".forward");
    const std::shared_ptr<ir::Graph> graph = from.graph()->copy();
    graph->block()->insert_input(0, type)->set_name("self");
    Schema schema = from.schema();
    schema.name = forward.name();
    Argument self;
    self.name = "self";
    self.type = type;
    schema.arguments.insert(schema.arguments.begin(), std::move(self));
    forward.set_self_type(type);
    forward.set_schema(std::move(schema));
    forward.set_graph(graph);
    info.methods.emplace_back("forward", &forward);
    auto object = make_ref<Object>(type);
    object->set_slot(0, true);
    return handle_of(jit::Module(unit, Value(std::move(object)))).give();
  });
}
// A text of functions, as a dict of them.
PyObject* compile(PyObject*, PyObject* source) {
  return guarded([&] {
    const jit::CompilationUnit unit = jit::compile(text_of(source));
    Owned dict = Owned::take(PyDict_New());
    for (const std::string& name : unit.function_names())
      check(PyDict_SetItemString(dict.get(), name.c_str(), wrap_function(unit.function(name)).get()));
    return dict.give();
  });
}

PyObject* set_module_wrapper(PyObject*, PyObject* function) {
  Py_XDECREF(make_wrapper);
  make_wrapper = Py_NewRef(function);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_jit_load", load, METH_VARARGS, "load(path or bytes, extra_files)"},
                           {"_jit_function_module", function_module, METH_O, "(function): a handle of a module"},
                           {"_jit_set_module_wrapper", set_module_wrapper, METH_O, "(handle -> module)"},
                           {"_jit_compile", compile, METH_O, "compile(text): the functions of a text, by name."},
                           {}};

}  // namespace

Owned wrap_function(jit::Function function) {
  auto* object = PyObject_New(FunctionObject, &function_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  new (&object->held) jit::Function(std::move(function));
  object->dict = nullptr;
  return made;
}

Owned wrap_module(jit::Module module) {
  Owned handle = handle_of(std::move(module));
  return make_wrapper ? Owned::take(PyObject_CallOneArg(make_wrapper, handle.get())) : std::move(handle);
}

const jit::Function& function_of(PyObject* object) {
  if (!Py_IS_TYPE(object, &function_type)) {
    PyErr_Format(PyExc_TypeError, "a ScriptFunction was expected, got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return held_function(object);
}

const jit::Module* find_module(PyObject* object) {
  if (Py_IS_TYPE(object, &module_type)) return &held_module(object);
  // A RecursiveScriptModule keeps its handle in its dict, where no __getattr__ is asked.
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  PyObject* dict = PyObject_GenericGetDict(object, nullptr);
  if (!dict) {
    PyErr_Clear();
    return nullptr;
  }
  const Owned items = Owned::take(dict);
  PyObject* handle = PyDict_GetItemString(items.get(), "_c");
  return handle && Py_IS_TYPE(handle, &module_type) ? &held_module(handle) : nullptr;
}

const jit::Module& module_of(PyObject* object) {
  const jit::Module* found = find_module(object);
  if (!found) {
    PyErr_Format(PyExc_TypeError, "a ScriptModule was expected, got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return *found;
}

void add_programs(PyObject* module) {
  script_error = Owned::take(PyErr_NewExceptionWithDoc("sconce.jit.Error", "An exception that a program raised.",
                                                       PyExc_RuntimeError, nullptr))
                     .give();
  check(PyModule_AddObjectRef(module, "JITException", script_error));
  check(PyModule_AddType(module, &function_type));
  check(PyModule_AddType(module, &module_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
