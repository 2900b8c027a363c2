#include "capture/graph/graph_doors.h"

#include "capture/graph/recorder.h"
#include "sconce/base/error.h"

namespace sconce::python::capture {
namespace {

Recorder& recorder_of(PyObject* capsule) {
  void* recorder = PyCapsule_GetPointer(capsule, nullptr);
  if (recorder == nullptr) throw PythonError();
  return *static_cast<Recorder*>(recorder);
}

// Runs f, which may meet what a graph cannot have: NotImplementedError.
template <class F>
PyObject* recorded(F&& f) {
  return guarded([&]() -> PyObject* {
    try {
      return f();
    } catch (const NotRecordable& why) {
      fail_as(ErrorKind::not_implemented, "{}", why.reason);
    }
  });
}

// call(target, *args, **kwargs) as the evaluator makes it.
PyObject* call(PyObject* capsule, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return recorded([&] {
    const auto count = static_cast<size_t>(n) + (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
    SCONCE_CHECK_AS(type, n > 0, "call: a callable was expected");
    return recorder_of(capsule).call(args[0], {args + 1, count - 1}, names).give();
  });
}
// attribute(fake, name); NotImplemented when it is not known.
PyObject* attribute(PyObject* capsule, PyObject* args) {
  return recorded([&] {
    PyObject *fake = nullptr, *name = nullptr;
    if (!PyArg_ParseTuple(args, "OU", &fake, &name)) throw PythonError();
    Owned found = recorder_of(capsule).attribute(fake, name);
    return found ? found.give() : Py_NewRef(Py_NotImplemented);
  });
}
PyMethodDef call_definition = {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                               METH_FASTCALL | METH_KEYWORDS, nullptr};
PyMethodDef attribute_definition = {"attribute", attribute, METH_VARARGS, nullptr};

// _capture_record(function, tensors, backend=None, free_dims=None): runs function(*fakes); with free_dims, a tuple of sets
// of bits, function(call, attribute, *fakes). Returns (the compiled graph, relations).
PyObject* record(PyObject*, PyObject* arguments) {
  return recorded([&] {
    PyObject *function = nullptr, *tensors = nullptr, *backend = Py_None, *free_dims = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO!|OO!:_capture_record", &function, &PyTuple_Type, &tensors, &backend,
                          &PyTuple_Type, &free_dims))
      throw PythonError();
    const std::unique_ptr<Recorder> recorder = make_recorder(backend, Py_None);
    const Owned args = Owned::take(PyList_New(0));
    if (free_dims) {
      const Owned capsule = Owned::take(PyCapsule_New(recorder.get(), nullptr, nullptr));
      check(PyList_Append(args.get(), Owned::take(PyCFunction_New(&call_definition, capsule.get())).get()));
      check(PyList_Append(args.get(), Owned::take(PyCFunction_New(&attribute_definition, capsule.get())).get()));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      const std::string name = "L_" + std::to_string(i) + "_";
      const uint64_t bits = free_dims ? PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(free_dims, i)) : 0;
      check(PyList_Append(args.get(),
                          recorder->input(PyTuple_GET_ITEM(tensors, i), static_cast<SourceId>(i), name, bits)));
    }
    PyObject* made = PyObject_CallObject(function, Owned::take(PyList_AsTuple(args.get())).get());
    if (made == nullptr) {
      if (const std::optional<NotRecordable> why = recorder->explain_failure()) throw *why;
      throw PythonError();
    }
    const Owned result = Owned::take(made);
    const Owned all = PyTuple_Check(made) ? Owned::share(made) : Owned::take(PyTuple_Pack(1, made));
    std::vector<PyObject*> outputs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) outputs.push_back(PyTuple_GET_ITEM(all.get(), i));
    const Owned graph = recorder->finish(outputs);
    const Owned relations = Owned::take(PyList_New(0));
    for (const Owned& r : recorder->relations()) check(PyList_Append(relations.get(), r.get()));
    return PyTuple_Pack(2, graph.get(), relations.get());
  });
}

PyMethodDef functions[] = {{"_capture_record", record, METH_VARARGS, nullptr}, {}};

}  // namespace

void add_graph_doors(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python::capture
