#include "capture/graph/compiled_graph.h"

#include <structmember.h>

#include "capture/graph/recorder.h"
#include "long_call.h"
#include "sconce/base/error.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python::capture {
namespace {

struct Held {
  ir::CompilationUnit unit;
  ir::Function* function = nullptr;
  std::vector<Tensor> tensors;  // inputs that it gives itself, behind those of the call
  CallLog log;
  std::vector<Owned> outputs;
  size_t inputs = 0;
  bool by_plans = true;
};
struct CompiledGraphObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Held* held;
  PyObject* module;   // the fx.GraphModule, when it was made
  PyObject* backend;  // what the backend returned; null: the function runs here
};
extern PyTypeObject compiled_graph_type;

CompiledGraphObject& compiled(PyObject* self) { return *reinterpret_cast<CompiledGraphObject*>(self); }

PyObject* run(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const CompiledGraphObject& object = compiled(self);
    const Held& held = *object.held;
    const auto n = static_cast<size_t>(PyVectorcall_NARGS(flags));
    SCONCE_CHECK_AS(type, n == held.inputs && (names == nullptr || PyTuple_GET_SIZE(names) == 0),
                    "a compiled graph takes {} tensors, not {} arguments", held.inputs, n);
    if (object.backend != nullptr) return PyObject_Vectorcall(object.backend, args, n, nullptr);
    std::vector<Value> values;
    values.reserve(n + held.tensors.size());
    double work = 0;
    for (size_t i = 0; i < n; ++i) {
      SCONCE_CHECK_AS(type, is_tensor(args[i]), "input {} of a compiled graph must be a tensor, not {}", i,
                      class_name(args[i]));
      const Tensor& t = tensor_of(args[i]);
      work += static_cast<double>(t.numel());
      values.emplace_back(t);
    }
    for (const Tensor& t : held.tensors) values.emplace_back(t);
    const Value result = run_long(work, [&] { return runtime::run(*held.function, values); });
    const std::vector<Value>& items = result.to_tuple().items;
    Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(items[i].to_tensor()).give());
    return tuple.give();
  });
}

void dealloc(PyObject* self) {
  delete compiled(self).held;
  Py_XDECREF(compiled(self).module);
  Py_XDECREF(compiled(self).backend);
  PyObject_Free(self);
}

PyObject* graph_text(PyObject* self, void*) {
  return guarded([&] { return text(compiled(self).held->function->graph()->to_string(false)).give(); });
}
Owned graph_module_of(PyObject* self) {
  CompiledGraphObject& object = compiled(self);
  if (object.module == nullptr) {
    const Owned outputs = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(object.held->outputs.size())));
    for (size_t i = 0; i < object.held->outputs.size(); ++i)
      PyTuple_SET_ITEM(outputs.get(), static_cast<Py_ssize_t>(i), Py_NewRef(object.held->outputs[i].get()));
    const Owned backends = Owned::take(PyImport_ImportModule("sconce.compiler._graphs"));
    object.module = Owned::take(PyObject_CallMethod(backends.get(), "graph_module", "OO",
                                                    object.held->log.entries().get(), outputs.get()))
                        .give();
  }
  return Owned::share(object.module);
}
PyObject* graph_module(PyObject* self, void*) {
  return guarded([&] { return graph_module_of(self).give(); });
}

// _set_plans(on): whether the graph runs by plans.
PyObject* set_plans(PyObject* self, PyObject* on) {
  return guarded([&]() -> PyObject* {
    compiled(self).held->by_plans = is_true(on);
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {{"_set_plans", set_plans, METH_O, nullptr}, {}};
PyGetSetDef properties[] = {
    {"graph", graph_text, nullptr, "The operators that run, as text.", nullptr},
    {"graph_module", graph_module, nullptr, "The calls that the program made, as an fx.GraphModule.", nullptr},
    {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.CompiledGraph";
  type.tp_basicsize = sizeof(CompiledGraphObject);
  type.tp_vectorcall_offset = offsetof(CompiledGraphObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = dealloc;
  type.tp_getset = properties;
  type.tp_methods = methods;
  return type;
}
PyTypeObject compiled_graph_type = make_type();

ir::Function& define(ir::CompilationUnit& unit, std::shared_ptr<ir::Graph> graph) {
  ir::Function& f = unit.add_function("compiled_graph");
  Schema schema;
  schema.name = "compiled_graph";
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    Argument a;
    a.name = "input_" + std::to_string(i);
    a.type = graph->inputs()[i]->type();
    schema.arguments.push_back(std::move(a));
  }
  Argument result;
  result.type = graph->outputs().at(0)->type();
  schema.returns.push_back(std::move(result));
  f.set_schema(std::move(schema));
  f.set_graph(std::move(graph));
  return f;
}

// _capture_record(function, tensors): runs a function over fakes; (graph as text, fx module, what running it returns).
PyObject* record(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *tensors = nullptr, *backend = Py_None;
    if (!PyArg_ParseTuple(arguments, "OO!|O:_capture_record", &function, &PyTuple_Type, &tensors, &backend))
      throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(tensors);
    Owned graph;
    try {
      const std::unique_ptr<Recorder> recorder = make_recorder(backend, Py_None);
      const Owned fakes = Owned::take(PyTuple_New(n));
      for (Py_ssize_t i = 0; i < n; ++i) {
        const std::string name = "L_" + std::to_string(i) + "_";
        PyTuple_SET_ITEM(fakes.get(), i,
                         Py_NewRef(recorder->input(PyTuple_GET_ITEM(tensors, i), static_cast<SourceId>(i), name, 0)));
      }
      PyObject* made = PyObject_CallObject(function, fakes.get());
      if (made == nullptr) {
        if (const std::optional<NotRecordable> why = recorder->explain_failure()) throw *why;
        throw PythonError();
      }
      const Owned result = Owned::take(made);
      std::vector<PyObject*> outputs;
      if (PyTuple_Check(made))
        outputs.assign(&PyTuple_GET_ITEM(made, 0), &PyTuple_GET_ITEM(made, 0) + PyTuple_GET_SIZE(made));
      else
        outputs.push_back(made);
      graph = recorder->finish(outputs);
    } catch (const NotRecordable& why) {
      fail_as(ErrorKind::not_implemented, "{}", why.reason);
    }
    const Owned results = Owned::take(PyObject_CallObject(graph.get(), tensors));
    const Owned module = graph_module_of(graph.get());
    return Py_BuildValue("(NOOO)", graph_text(graph.get(), nullptr), module.get(), results.get(), graph.get());
  });
}

PyMethodDef functions[] = {{"_capture_record", record, METH_VARARGS, nullptr}, {}};

}  // namespace

Owned make_compiled_graph(GraphParts parts) {
  auto held = std::make_unique<Held>();
  held->tensors = std::move(parts.held);
  held->inputs = parts.graph->inputs().size() - held->tensors.size();
  held->function = &define(held->unit, std::move(parts.graph));
  held->log = std::move(parts.log);
  for (PyObject* output : parts.outputs) held->outputs.push_back(Owned::share(output));
  auto* object = PyObject_New(CompiledGraphObject, &compiled_graph_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->vectorcall = run;
  object->held = held.release();
  object->module = nullptr;
  object->backend = nullptr;
  if (parts.backend == Py_None) return made;
  const Owned backends = Owned::take(PyImport_ImportModule("sconce.compiler._backends"));
  const Owned chosen = Owned::take(
      PyObject_CallMethod(backends.get(), "compile_graph", "OOO", made.get(), parts.backend, parts.options));
  if (chosen.get() != Py_None) object->backend = Py_NewRef(chosen.get());
  return made;
}

void add_graph_capture(PyObject* module) {
  check(PyType_Ready(&compiled_graph_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python::capture
