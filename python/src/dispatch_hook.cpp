#include "dispatch_hook.h"

#include <mutex>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/key_set.h"
#include "values.h"

namespace sconce::python {
namespace {

// The hook of this thread, borrowed from the run that is under way.
thread_local PyObject* current = nullptr;

Owned tuple_of(const Value* values, const std::vector<Argument>& types) {
  Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(types.size())));
  for (size_t i = 0; i < types.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(values[i], types[i].type).give());
  return tuple;
}

// Note [What a hook sees]
// An operator that others are differentiated through (a body, or a kernel that calls operators) is run with the hook on,
// so that those are seen in its place; the hook is then asked whether it knows the results, and else told of the operator
// itself. All others are run with the hook off.
void run_hooked(const Op& op, KeySet keys, Value* args, Value* returns) {
  const Schema& schema = op.schema();
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

// run_hooked(hook, function, args): function(*args), with hook(name, args, results, goes_through) after every operator.
PyObject* run(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *hook = nullptr, *function = nullptr, *args = nullptr;
    if (!PyArg_ParseTuple(arguments, "OOO!:run_hooked", &hook, &function, &PyTuple_Type, &args)) throw PythonError();
    static std::once_flag once;
    std::call_once(once, [] { set_fallback(Key::python, &run_hooked); });
    PyObject* outer = std::exchange(current, hook);
    struct Restore {
      PyObject* outer;
      ~Restore() { current = outer; }
    } restore{outer};
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
