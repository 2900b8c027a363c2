#include "programs/scripting.h"

#include <unordered_map>

#include "programs/program_values.h"
#include "programs/programs.h"
#include "sconce/base/error.h"
#include "sconce/base/text/program_output.h"
#include "sconce/frontend/script/program/host_program.h"
#include "sconce/sconce.hpp"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

using script::Definition;
using script::Dynamic;
using script::HostText;
using script::Instance;
using script::Scope;

// All that Python scripts is one program, which lives as long as the process: classes are the same type everywhere.
script::HostProgram& program() {
  static script::HostProgram& made = *[] {
    auto* p = new script::HostProgram;
    p->unit()->keep_types_forever();
    return p;
  }();
  return made;
}

// Capsules stand for definitions, scopes and instances: Python only hands them around.
constexpr const char* kScope = "sconce.jit.scope";
constexpr const char* kDefinition = "sconce.jit.definition";
constexpr const char* kInstance = "sconce.jit.instance";

Owned capsule(void* what, const char* kind) { return Owned::take(PyCapsule_New(what, kind, nullptr)); }
template <class T>
T& from_capsule(PyObject* object, const char* kind) {
  void* found = PyCapsule_GetPointer(object, kind);
  if (!found) throw PythonError();
  return *static_cast<T*>(found);
}
Scope& scope_of(PyObject* object) { return from_capsule<Scope>(object, kScope); }
Definition& definition_of(PyObject* object) { return from_capsule<Definition>(object, kDefinition); }
Owned give(Definition& d) { return capsule(&d, kDefinition); }

using InstancePtr = std::shared_ptr<Instance>;
void free_instance(PyObject* object) { delete static_cast<InstancePtr*>(PyCapsule_GetPointer(object, kInstance)); }

// jit/_sources.py: the definition of a class, and a class by its type.
PyObject* find_class = nullptr;  // class -> definition or None

std::unordered_map<TypePtr, PyObject*>& classes() {
  static auto& made = *new std::unordered_map<TypePtr, PyObject*>;
  return made;
}

// ---- objects as constants ----

Dynamic dynamic_of(PyObject* o, int depth = 0);

Dynamic sequence_of(PyObject* o, int depth) {
  std::vector<Dynamic> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(o, i));
    items.push_back(dynamic_of(item.get(), depth + 1));
  }
  if (PyList_Check(o)) {
    auto list = std::make_shared<script::DynamicList>();
    list->items = std::move(items);
    return list;
  }
  auto tuple = std::make_shared<script::DynamicTuple>();
  tuple->items = std::move(items);
  if (!PyTuple_CheckExact(o)) {
    const TypePtr type = type_of_class(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    if (type && type->is(TypeKind::tuple)) tuple->named = type;
  }
  return tuple;
}

Dynamic dynamic_of(PyObject* o, int depth) {
  SCONCE_CHECK_AS(value, depth < 100, "a value is nested deeper than {}", 100);
  if (PyCapsule_IsValid(o, kDefinition)) return Dynamic(&definition_of(o));
  if (PyCapsule_IsValid(o, kInstance)) return Dynamic(from_capsule<InstancePtr>(o, kInstance));
  if (PyList_Check(o) || PyTuple_Check(o)) return sequence_of(o, depth);
  if (PyDict_Check(o)) {
    auto dict = std::make_shared<script::DynamicDict>();
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
      dict->items.emplace_back(dynamic_of(key, depth + 1), dynamic_of(value, depth + 1));
    return dict;
  }
  if (auto v = plain_value(o)) return Dynamic(std::move(*v));
  return script::DynamicForeign{std::string(class_name(o)), {}};
}

// ---- texts ----

// (name, text, file, first line, marks, defaults, operator that calls back)
HostText text_in(PyObject* tuple) {
  HostText made;
  PyObject *marks = nullptr, *defaults = nullptr;
  const char *name = nullptr, *text = nullptr, *file = nullptr, *callback = nullptr;
  if (!PyArg_ParseTuple(tuple, "sssiO!O!s", &name, &text, &file, &made.first_line, &PyTuple_Type, &marks, &PyDict_Type,
                        &defaults, &callback))
    throw PythonError();
  made.name = name;
  made.text = text;
  made.file = file;
  made.callback = callback;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(marks); ++i) made.marks.emplace_back(text_of(PyTuple_GET_ITEM(marks, i)));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(defaults, &at, &key, &value);)
    made.defaults.emplace_back(std::string(text_of(key)), dynamic_of(value));
  return made;
}
std::vector<HostText> texts_in(PyObject* list) {
  std::vector<HostText> made;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) made.push_back(text_in(PyList_GET_ITEM(list, i)));
  return made;
}

PyObject* make_scope(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* prefix = nullptr;
    PyObject* lookup = nullptr;
    if (!PyArg_ParseTuple(args, "sO", &prefix, &lookup)) throw PythonError();
    Py_INCREF(lookup);  // as long as the program: forever
    // Compiling has Python's lock, unless a method is compiled by a call that comes first.
    const auto find = [lookup](const std::string& name) -> Definition* {
      const Locked locked;
      const Owned found = Owned::take(PyObject_CallFunction(lookup, "s", name.c_str()));
      return found.get() == Py_None ? nullptr : &definition_of(found.get());
    };
    return capsule(&program().add_scope(prefix, find), kScope).give();
  });
}
PyObject* make_function(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *texts = nullptr;
    if (!PyArg_ParseTuple(args, "OO!", &scope, &PyList_Type, &texts)) throw PythonError();
    return give(program().add_function(scope_of(scope), texts_in(texts))).give();
  });
}
PyObject* make_class(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *text = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &scope, &text)) throw PythonError();
    return give(program().add_class(scope_of(scope), text_in(text))).give();
  });
}
PyObject* make_module_class(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *text = nullptr, *methods = nullptr, *bases = nullptr;
    if (!PyArg_ParseTuple(args, "OOO!O!", &scope, &text, &PyList_Type, &methods, &PyList_Type, &bases))
      throw PythonError();
    std::vector<Definition*> order;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(bases); ++i) order.push_back(&definition_of(PyList_GET_ITEM(bases, i)));
    return give(program().add_module_class(scope_of(scope), text_in(text), texts_in(methods), std::move(order))).give();
  });
}
PyObject* make_import(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* scope = nullptr;
    const char *name = nullptr, *path = nullptr;
    if (!PyArg_ParseTuple(args, "Oss", &scope, &name, &path)) throw PythonError();
    return give(program().add_import(scope_of(scope), name, path)).give();
  });
}
PyObject* make_namespace(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *members = nullptr;
    const char* name = nullptr;
    if (!PyArg_ParseTuple(args, "OsO", &scope, &name, &members)) throw PythonError();
    return give(program().add_namespace(scope_of(scope), name, scope_of(members))).give();
  });
}
PyObject* make_constant(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *value = nullptr;
    const char* name = nullptr;
    if (!PyArg_ParseTuple(args, "OsO", &scope, &name, &value)) throw PythonError();
    return give(program().add_constant(scope_of(scope), name, dynamic_of(value))).give();
  });
}
// An object that cannot be used: the message says why.
PyObject* make_foreign(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* scope = nullptr;
    const char *name = nullptr, *type = nullptr, *message = nullptr;
    if (!PyArg_ParseTuple(args, "Osss", &scope, &name, &type, &message)) throw PythonError();
    return give(program().add_constant(scope_of(scope), name, script::DynamicForeign{type, message})).give();
  });
}
PyObject* make_type(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* scope = nullptr;
    const char *name = nullptr, *text = nullptr;
    if (!PyArg_ParseTuple(args, "Oss", &scope, &name, &text)) throw PythonError();
    const TypePtr type = program().annotated_type(scope_of(scope), text);
    return give(program().add_constant(scope_of(scope), name, Dynamic(type))).give();
  });
}
PyObject* make_compiled(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *scope = nullptr, *function = nullptr;
    const char* name = nullptr;
    if (!PyArg_ParseTuple(args, "OsO", &scope, &name, &function)) throw PythonError();
    const jit::Function& f = function_of(function);
    return give(program().add_compiled(scope_of(scope), name, f.function(), f.unit())).give();
  });
}
PyObject* library_class(PyObject*, PyObject* path) {
  return guarded([&] {
    Definition* d = program().library_class(text_of(path));
    return d ? give(*d).give() : Py_NewRef(Py_None);
  });
}
PyObject* is_known(PyObject*, PyObject* path) {
  return guarded([&] { return PyBool_FromLong(program().is_known(std::string(text_of(path)))); });
}

// ---- compiling ----

PyObject* compile(PyObject*, PyObject* definition) {
  return guarded([&] {
    const std::vector<ir::Function*> functions = program().compile(definition_of(definition));
    Owned list = Owned::take(PyList_New(0));
    for (ir::Function* f : functions)
      check(PyList_Append(list.get(), wrap_function(jit::Function(program().unit(), f)).get()));
    return list.give();
  });
}
// The class of Python belongs to the type from now on.
PyObject* compile_class(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *definition = nullptr, *cls = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &definition, &cls)) throw PythonError();
    const TypePtr type = program().compile_class(definition_of(definition));
    if (!type) Py_RETURN_NONE;
    if (classes().try_emplace(type, cls).second) Py_INCREF(cls);
    return text(type->annotation()).give();
  });
}
std::vector<Dynamic> hooks_in(PyObject* list) {
  std::vector<Dynamic> hooks;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const Definition& d = definition_of(PyList_GET_ITEM(list, i));
    hooks.emplace_back(script::DynamicFunction{d.functions.back(), d.scope});
  }
  return hooks;
}
// (class, [(name, kind, value)], pre-hooks, hooks)
PyObject* make_instance(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *cls = nullptr, *attributes = nullptr, *pre_hooks = nullptr, *hooks = nullptr;
    if (!PyArg_ParseTuple(args, "OO!O!O!", &cls, &PyList_Type, &attributes, &PyList_Type, &pre_hooks, &PyList_Type,
                          &hooks))
      throw PythonError();
    auto instance = std::make_shared<Instance>();
    instance->cls = &definition_of(cls);
    instance->is_module = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(attributes); ++i) {
      PyObject* value = nullptr;
      const char* name = nullptr;
      int kind = 0;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(attributes, i), "siO", &name, &kind, &value)) throw PythonError();
      Dynamic v = dynamic_of(value);
      const Value* plain = v.get<Value>();
      if (kind == static_cast<int>(Instance::Kind::parameter) && plain && plain->is_tensor())
        v = script::DynamicParameter{*plain};
      instance->attributes.push_back({name, std::move(v), static_cast<Instance::Kind>(kind)});
    }
    instance->forward_pre_hooks = hooks_in(pre_hooks);
    instance->forward_hooks = hooks_in(hooks);
    return PyCapsule_New(new InstancePtr(std::move(instance)), kInstance, free_instance);
  });
}
// (instance, attribute, scope, text of the type)
PyObject* annotate(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *instance = nullptr, *scope = nullptr;
    const char *name = nullptr, *type = nullptr;
    if (!PyArg_ParseTuple(args, "OsOs", &instance, &name, &scope, &type)) throw PythonError();
    program().annotate(*from_capsule<InstancePtr>(instance, kInstance), name, scope_of(scope), type);
    Py_RETURN_NONE;
  });
}
// A module that is compiled already, as a submodule of another.
PyObject* make_built_instance(PyObject*, PyObject* module) {
  return guarded([&] {
    auto instance = std::make_shared<Instance>();
    instance->is_module = true;
    instance->object = module_of(module).value();
    program().keep(module_of(module).unit());
    instance->type = instance->object.to_object().type();
    return PyCapsule_New(new InstancePtr(std::move(instance)), kInstance, free_instance);
  });
}
PyObject* build(PyObject*, PyObject* instance) {
  return guarded([&] {
    Value object = program().build(from_capsule<InstancePtr>(instance, kInstance));
    return wrap_module(jit::Module(program().unit(), std::move(object))).give();
  });
}
// (type definition, object): the value of a result of Python, as special_value takes it.
PyObject* typed_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *definition = nullptr, *object = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &definition, &object)) throw PythonError();
    const Definition& d = definition_of(definition);
    const TypePtr* type = d.value ? d.value->get<TypePtr>() : nullptr;
    SCONCE_CHECK_AS(type, type, "'{}' is no type", d.name);
    auto v = value_as(object, *type);
    SCONCE_CHECK_AS(type, v,
                    "Expected a value of type '{}' from a function of Python, but it returned an object of class {}",
                    (*type)->annotation(), class_name(object));
    return value_capsule(std::move(*v)).give();
  });
}
PyObject* set_class_finder(PyObject*, PyObject* finder) {
  Py_XDECREF(find_class);
  find_class = Py_NewRef(finder);
  Py_RETURN_NONE;
}

// print() of programs writes to sys.stdout of the moment; None there discards it.
void print_to_python(std::string_view line) {
  call_python([&] {
    PyObject* file = PySys_GetObject("stdout");
    if (file == nullptr || file == Py_None) return;
    const Owned kept = Owned::share(file);
    check(PyFile_WriteObject(text(line).get(), kept.get(), Py_PRINT_RAW));
  });
}
// warnings.warn() of programs is a warning of Python at the line that called the program.
void warn_in_python(std::string_view message) {
  call_python([&] { check(PyErr_WarnEx(PyExc_UserWarning, std::string(message).c_str(), 1)); });
}

PyMethodDef functions[] = {
    {"_script_scope", make_scope, METH_VARARGS, "(prefix, lookup): names of one function or class."},
    {"_script_function", make_function, METH_VARARGS, "(scope, texts)"},
    {"_script_class", make_class, METH_VARARGS, "(scope, text)"},
    {"_script_module_class", make_module_class, METH_VARARGS, "(scope, text, methods, bases)"},
    {"_script_import", make_import, METH_VARARGS, "(scope, name, path)"},
    {"_script_namespace", make_namespace, METH_VARARGS, "(scope, name, members)"},
    {"_script_constant", make_constant, METH_VARARGS, "(scope, name, value)"},
    {"_script_foreign", make_foreign, METH_VARARGS, "(scope, name, class, message)"},
    {"_script_type", make_type, METH_VARARGS, "(scope, name, annotation)"},
    {"_script_compiled", make_compiled, METH_VARARGS, "(scope, name, function)"},
    {"_script_library_class", library_class, METH_O, "(path)"},
    {"_script_is_known", is_known, METH_O, "(path)"},
    {"_script_compile", compile, METH_O, "(definition): functions"},
    {"_script_compile_class", compile_class, METH_VARARGS, "(definition, class): name of the type"},
    {"_script_instance", make_instance, METH_VARARGS, "(class, attributes, pre_hooks, hooks)"},
    {"_script_annotate", annotate, METH_VARARGS, "(instance, attribute, scope, type)"},
    {"_script_built_instance", make_built_instance, METH_O, "(module)"},
    {"_script_build", build, METH_O, "(instance): module"},
    {"_script_typed_value", typed_value, METH_VARARGS, "(type, object)"},
    {"_script_set_class_finder", set_class_finder, METH_O, "(function): class -> definition or None"},
    {}};

}  // namespace

TypePtr type_of_class(PyObject* cls) {
  if (!find_class) return nullptr;
  const Owned found = Owned::take(PyObject_CallOneArg(find_class, cls));
  if (found.get() == Py_None) return nullptr;
  Definition& d = definition_of(found.get());
  return program().compile_class(d);
}

PyObject* class_of_type(TypePtr type) {
  const auto found = classes().find(type);
  return found == classes().end() ? nullptr : found->second;
}

jit::UnitPtr scripted_unit() { return program().unit(); }

void add_scripting(PyObject* module) {
  check(PyModule_AddFunctions(module, functions));
  set_program_output({print_to_python, warn_in_python});
}

}  // namespace sconce::python
