#include "dispatch_hook.h"

#include <mutex>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/key_set.h"
#include "values.h"

namespace sconce::python {
namespace {

// The hook of this thread, and the functions that are called in place of operators, borrowed from the run that is under
// way.
thread_local PyObject* current = nullptr;
thread_local PyObject* decompositions = nullptr;

Owned tuple_of(const Value* values, const std::vector<Argument>& types) {
  Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(types.size())));
  for (size_t i = 0; i < types.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(values[i], types[i].type).give());
  return tuple;
}

// Calls what stands for the operator, if anything does; the operators that it calls are seen.
bool decomposed(const Op& op, Value* args, Value* returns) {
  return call_python([&] {
    PyObject* function = PyDict_GetItemWithError(decompositions, text(op.qualified_name()).get());
    if (function == nullptr) {
      if (PyErr_Occurred()) throw PythonError();
      return false;
    }
    const Schema& schema = op.schema();
    const Owned all = tuple_of(args, schema.arguments);
    Py_ssize_t positional = 0;
    const Owned kwargs = Owned::take(PyDict_New());
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument& argument = schema.arguments[i];
      PyObject* value = PyTuple_GET_ITEM(all.get(), static_cast<Py_ssize_t>(i));
      if (!argument.keyword_only)
        ++positional;
      else if (!argument.default_value || value != Py_None)
        check(PyDict_SetItemString(kwargs.get(), argument.name.c_str(), value));
    }
    const Owned given = Owned::take(PyTuple_GetSlice(all.get(), 0, positional));
    const Owned result = Owned::take(PyObject_Call(function, given.get(), kwargs.get()));
    const size_t n = schema.returns.size();
    for (size_t i = 0; i < n; ++i) {
      const Owned item = n == 1 ? Owned::share(result.get())
                                : Owned::take(PySequence_GetItem(result.get(), static_cast<Py_ssize_t>(i)));
      SCONCE_CHECK_AS(type, convert(item.get(), schema.returns[i].type, std::nullopt, returns[i]),
                      "what stands for {} returned a {}", op.qualified_name(), class_name(item.get()));
    }
    return true;
  });
}

// Note [What a hook sees]
// An operator that others are differentiated through (a body, or a kernel that calls operators) is run with the hook on,
// so that those are seen in its place; the hook is then asked whether it knows the results, and else told of the operator
// itself. All others are run with the hook off.
void run_hooked(const Op& op, KeySet keys, Value* args, Value* returns) {
  const Schema& schema = op.schema();
  if (PyDict_GET_SIZE(decompositions) != 0 && decomposed(op, args, returns)) return;
  const KeySet below = keys & KeySet::below(Key::python);
  Owned given;
  call_python([&] { return (given = tuple_of(args, schema.arguments), 0); });
  const bool goes_through = op.has(Trait::compound) || op.info.gradient == Gradient::through;
  if (goes_through) {
    op.redispatch_boxed(below, args, returns);
  } else {
    const ModeGuard off(KeySet(), Key::python);
    op.redispatch_boxed(below, args, returns);
  }
  call_python([&] {
    const ModeGuard off(KeySet(), Key::python);
    const Owned name = text(op.qualified_name());
    const Owned results = tuple_of(returns, schema.returns);
    (void)Owned::take(PyObject_CallFunction(current, "OOOO", name.get(), given.get(), results.get(),
                                            goes_through ? Py_True : Py_False));
    given = Owned();
    return 0;
  });
}

// run_hooked(hook, decompositions, function, args): function(*args), with hook(name, args, results, goes_through) after
// every operator; decompositions are functions that are called in place of operators, by their names.
PyObject* run(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *hook = nullptr, *table = nullptr, *function = nullptr, *args = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO!OO!:run_hooked", &hook, &PyDict_Type, &table, &function, &PyTuple_Type, &args))
      throw PythonError();
    static std::once_flag once;
    std::call_once(once, [] { set_fallback(Key::python, &run_hooked); });
    struct Restore {
      PyObject *hook, *table;
      ~Restore() { current = hook, decompositions = table; }
    } restore{std::exchange(current, hook), std::exchange(decompositions, table)};
    const ModeGuard on(Key::python, KeySet());
    return Owned::take(PyObject_CallObject(function, args)).give();
  });
}

// operator_parameters(qualified name): per argument its name, a tuple of the default or None, and whether it is keyword
// only.
PyObject* parameters(PyObject*, PyObject* name) {
  return guarded([&] {
    const Op* op = find_op(text_of(name));
    SCONCE_CHECK_AS(value, op, "there is no operator {}", text_of(name));
    Owned list = Owned::take(PyList_New(0));
    for (const Argument& a : op->schema().arguments) {
      const Owned value = a.default_value ? object_of(*a.default_value, a.type) : Owned::share(Py_None);
      const Owned fallback = a.default_value ? Owned::take(PyTuple_Pack(1, value.get())) : Owned::share(Py_None);
      const Owned row =
          Owned::take(Py_BuildValue("sOO", a.name.c_str(), fallback.get(), a.keyword_only ? Py_True : Py_False));
      check(PyList_Append(list.get(), row.get()));
    }
    return list.give();
  });
}

PyMethodDef functions[] = {
    {"_run_hooked", run, METH_VARARGS, nullptr}, {"_operator_parameters", parameters, METH_O, nullptr}, {}};

}  // namespace

void add_dispatch_hook(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python
