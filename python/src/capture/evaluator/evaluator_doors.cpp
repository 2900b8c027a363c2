// _capture_evaluate and _capture_run: evaluation without guards and cache, for tests.
#include "capture/evaluator/evaluate.h"
#include "capture/frames/tail_call.h"
#include "capture/graph/compiled_graph.h"
#include "capture/guards/guards.h"

namespace sconce::python::capture {
namespace {

// Arguments by position, and defaults.
std::vector<Owned> bind_positional(PyFunctionObject* f, PyObject* args) {
  auto* code = reinterpret_cast<PyCodeObject*>(f->func_code);
  const auto positional = static_cast<Py_ssize_t>(code->co_argcount), given = PyTuple_GET_SIZE(args);
  std::vector<Owned> slots;
  const Py_ssize_t with_default = f->func_defaults == nullptr ? 0 : PyTuple_GET_SIZE(f->func_defaults);
  for (Py_ssize_t i = 0; i < positional; ++i) {
    if (i < given) {
      slots.push_back(Owned::share(PyTuple_GET_ITEM(args, i)));
    } else if (i + with_default >= positional) {
      slots.push_back(Owned::share(PyTuple_GET_ITEM(f->func_defaults, i + with_default - positional)));
    } else {
      PyErr_SetString(PyExc_TypeError, "too few arguments");
      throw PythonError();
    }
  }
  for (int i = 0; i < code->co_kwonlyargcount; ++i) {
    PyObject* found =
        f->func_kwdefaults == nullptr
            ? nullptr
            : PyDict_GetItemWithError(f->func_kwdefaults, PyTuple_GET_ITEM(code->co_localsplusnames, positional + i));
    if (found == nullptr) {
      PyErr_SetString(PyExc_TypeError, "a keyword argument has no default");
      throw PythonError();
    }
    slots.push_back(Owned::share(found));
  }
  if (code->co_flags & CO_VARARGS)
    slots.push_back(Owned::take(PyTuple_GetSlice(args, std::min(positional, given), given)));
  if (code->co_flags & CO_VARKEYWORDS) slots.push_back(Owned::take(PyDict_New()));
  return slots;
}

struct Request {
  PyObject *function = nullptr, *args = nullptr, *backend = nullptr;
  long long break_at = -1;
  explicit Request(PyObject* given, PyObject* keywords) {
    static const char* names[] = {"function", "args", "backend", "break_at", nullptr};
    if (!PyArg_ParseTupleAndKeywords(given, keywords, "O!O!|OL", const_cast<char**>(names), &PyFunction_Type, &function,
                                     &PyTuple_Type, &args, &backend, &break_at))
      throw PythonError();
  }
  Trace trace() const {
    const std::vector<Owned> slots = bind_positional(reinterpret_cast<PyFunctionObject*>(function), args);
    std::vector<PyObject*> pointers;
    for (const Owned& slot : slots) pointers.push_back(slot.get());
    EvaluateOptions options;
    options.backend = backend;
    options.break_at = break_at;
    return evaluate(reinterpret_cast<PyFunctionObject*>(function), pointers, options);
  }
};

// A function that runs the emitted code in place of the original's.
Owned function_with(PyObject* function, PyObject* code) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  Owned made = Owned::take(PyFunction_New(code, f->func_globals));
  if (f->func_closure != nullptr) check(PyFunction_SetClosure(made.get(), f->func_closure));
  if (f->func_defaults != nullptr) check(PyFunction_SetDefaults(made.get(), f->func_defaults));
  if (f->func_kwdefaults != nullptr) check(PyFunction_SetKwDefaults(made.get(), f->func_kwdefaults));
  return made;
}

Owned from_recipe(const Recipe& r, PyObject* results, const std::vector<Owned>& slots) {
  switch (r.what) {
    case Recipe::What::output:
      return Owned::share(PyTuple_GET_ITEM(results, r.index));
    case Recipe::What::input:
      return Owned::share(slots[static_cast<size_t>(r.index)].get());
    case Recipe::What::constant:
      return Owned::share(r.object.get());
    case Recipe::What::dict: {
      Owned dict = Owned::take(PyDict_New());
      for (size_t i = 0; i + 1 < r.parts.size(); i += 2)
        check(PyDict_SetItem(dict.get(), from_recipe(r.parts[i], results, slots).get(),
                             from_recipe(r.parts[i + 1], results, slots).get()));
      return dict;
    }
    default: {
      Owned list = Owned::take(PyList_New(0));
      for (const Recipe& part : r.parts) check(PyList_Append(list.get(), from_recipe(part, results, slots).get()));
      return r.what == Recipe::What::tuple ? Owned::take(PyList_AsTuple(list.get())) : std::move(list);
    }
  }
}

PyObject* evaluate_door(PyObject*, PyObject* given, PyObject* keywords) {
  return guarded([&] {
    const Request request(given, keywords);
    const Trace trace = request.trace();
    Owned out = Owned::take(PyDict_New());
    const auto set = [&](const char* key, const Owned& value) {
      check(PyDict_SetItemString(out.get(), key, value.get()));
    };
    const auto or_none = [](const Owned& o) { return Owned::share(o ? o.get() : Py_None); };
    set("code", or_none(trace.code));
    set("graph", or_none(trace.graph));
    set("nodes", Owned::take(PyLong_FromSize_t(trace.nodes)));
    set("direct", Owned::share(trace.result ? Py_True : Py_False));
    Owned guards = Owned::take(PyList_New(0));
    if (trace.sources) {
      const Guards all(*trace.sources, trace.inputs, trace.locals, trace.free_variables,
                       PyFunction_GET_GLOBALS(request.function));
      for (const std::string& line : all.texts()) check(PyList_Append(guards.get(), text(line).get()));
    }
    set("guards", guards);
    Owned breaks = Owned::take(PyList_New(0));
    for (const GraphBreak& b : trace.breaks) {
      const Owned row =
          Owned::take(Py_BuildValue("(sssi)", b.code.c_str(), b.reason.c_str(), b.function.c_str(), b.line));
      check(PyList_Append(breaks.get(), row.get()));
    }
    set("breaks", breaks);
    return out.give();
  });
}

PyObject* run_door(PyObject*, PyObject* given, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const Request request(given, keywords);
    const Trace trace = request.trace();
    if (trace.result) {
      const std::vector<Owned> slots =
          bind_positional(reinterpret_cast<PyFunctionObject*>(request.function), request.args);
      std::vector<PyObject*> pointers;
      for (const Owned& slot : slots) pointers.push_back(slot.get());
      Owned results = Owned::take(PyTuple_New(0));
      if (trace.graph) {
        Guards guards(*trace.sources, trace.inputs, trace.locals, trace.free_variables,
                      PyFunction_GET_GLOBALS(request.function));
        FoundInputs inputs;
        auto* f = reinterpret_cast<PyFunctionObject*>(request.function);
        if (!guards.check(pointers.data(), f->func_closure, inputs)) {
          PyErr_SetString(PyExc_RuntimeError,
                          ("a guard fails at once: " + guards.why(pointers.data(), f->func_closure)).c_str());
          throw PythonError();
        }
        results = Owned::take(PyObject_Vectorcall(trace.graph.get(), inputs.data(), inputs.size(), nullptr));
      }
      return from_recipe(*trace.result, results.get(), slots).give();
    }
    if (trace.code) {
      const Owned function = function_with(request.function, trace.code.get());
      return Owned::take(finish_calls(PyObject_CallObject(function.get(), request.args))).give();
    }
    return Owned::take(PyObject_CallObject(request.function, request.args)).give();
  });
}

PyMethodDef functions[] = {
    {"_capture_evaluate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(evaluate_door)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_capture_run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_door)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {}};

}  // namespace

void add_evaluator(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python::capture
