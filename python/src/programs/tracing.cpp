#include "programs/tracing.h"

#include "programs/programs.h"
#include "sconce/base/error.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/passes.h"
#include "sconce/sconce.hpp"
#include "sconce/tracing/traced_module.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

using tracing::Tracer;

Owned warning_class;  // sconce.jit.TracerWarning

void warn(const std::string& text) {
  check(PyErr_WarnEx(warning_class ? warning_class.get() : PyExc_UserWarning, text.c_str(), 1));
}

// ---- the recorder's questions, asked with Python's lock held ----

// The line of Python that is running.
Range current_line() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  const Owned code = Owned::take(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  PyObject* file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
  const int line = PyFrame_GetLineNumber(frame);
  Range place;
  place.source = std::make_shared<const Source>(std::string(text_of(file)), std::string(), line);
  return place;
}

// The local variable that holds a tensor.
std::string variable_name(const Tensor& t) {
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr || t.impl()->python == nullptr) return {};
  const Owned locals = Owned::take(PyFrame_GetLocals(frame));
  const Owned items = Owned::take(PyMapping_Items(locals.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    PyObject* value = PyTuple_GET_ITEM(item, 1);
    if (!is_tensor(value) || !tensor_of(value).is_same(t)) continue;
    const std::string_view name = text_of(PyTuple_GET_ITEM(item, 0));
    return std::string(name == "self" || name.starts_with(".") ? "" : name);
  }
  return {};
}

tracing::TraceOptions options_of(PyObject* names, int strict) {
  tracing::TraceOptions options;
  options.strict = strict != 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i)
    options.argument_names.emplace_back(text_of(PyList_GET_ITEM(names, i)));
  options.host = {current_line, variable_name, warn};
  return options;
}

std::vector<Value> inputs_of(PyObject* tuple) {
  std::vector<Value> inputs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) inputs.push_back(value_of(PyTuple_GET_ITEM(tuple, i)));
  return inputs;
}

tracing::TracedFunction caller_of(PyObject* function) {
  return [function](std::vector<Value> inputs) {
    const Owned args = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
    for (size_t i = 0; i < inputs.size(); ++i)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), object_of(inputs[i]).give());
    inputs.clear();
    const Owned out = Owned::take(PyObject_CallObject(function, args.get()));
    SCONCE_CHECK(
        out.get() != Py_None,
        "The traced function didn't return any values! Side-effects are not captured in traces, so it would be "
        "a no-op.");
    return value_of(out.get());
  };
}

// What the modules of one trace belong to, with the programs of scripted modules among them.
struct Program {
  ir::CompilationUnit unit;
  std::vector<jit::UnitPtr> called;
};

// ---- functions of the extension ----

// _trace_function(qualified name, callable, inputs, argument names, strict)
PyObject* trace_function(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* name = nullptr;
    PyObject *function = nullptr, *inputs = nullptr, *names = nullptr;
    int strict = 1;
    if (!PyArg_ParseTuple(args, "sOO!O!p:_trace_function", &name, &function, &PyTuple_Type, &inputs, &PyList_Type,
                          &names, &strict))
      throw PythonError();
    const tracing::Trace made = tracing::trace(caller_of(function), inputs_of(inputs), options_of(names, strict));
    const auto unit = std::make_shared<ir::CompilationUnit>();
    return wrap_function(jit::Function(unit, &tracing::define_traced(*unit, name, made.graph))).give();
  });
}

// _trace_method(module, method name, callable, inputs, argument names, strict)
PyObject* trace_method(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    PyObject *module = nullptr, *function = nullptr, *inputs = nullptr, *names = nullptr;
    int strict = 1;
    if (!PyArg_ParseTuple(args, "OsOO!O!p:_trace_method", &module, &name, &function, &PyTuple_Type, &inputs,
                          &PyList_Type, &names, &strict))
      throw PythonError();
    const jit::Module& traced = module_of(module);
    const Value self = traced.value();
    const TypePtr type = self.to_object().type();
    ir::CompilationUnit& unit = *traced.unit();
    const tracing::Trace made =
        tracing::trace(caller_of(function), inputs_of(inputs), options_of(names, strict), self, &unit);
    tracing::define_traced(unit, type->name() + "." + name, made.graph, type);
    Py_RETURN_NONE;
  });
}

jit::NamedTensors named_tensors(PyObject* pairs) {
  jit::NamedTensors tensors;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); ++i) {
    PyObject *name = nullptr, *t = nullptr;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "UO!", &name, &python::tensor_type, &t)) throw PythonError();
    tensors.emplace_back(text_of(name), tensor_of(t));
  }
  return tensors;
}

// _traced_module(class name, parameters, buffers, modules, training, like): pairs of names and what they name. `like`: a
// module of the same program, or None for a new one.
PyObject* traced_module(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* name = nullptr;
    PyObject *parameters = nullptr, *buffers = nullptr, *modules = nullptr, *program = nullptr;
    int training = 1;
    if (!PyArg_ParseTuple(args, "sO!O!O!pO:_traced_module", &name, &PyList_Type, &parameters, &PyList_Type, &buffers,
                          &PyList_Type, &modules, &training, &program))
      throw PythonError();
    auto* made_by = static_cast<std::shared_ptr<Program>*>(PyCapsule_GetPointer(program, nullptr));
    if (made_by == nullptr) throw PythonError();
    const jit::UnitPtr unit(*made_by, &(*made_by)->unit);
    tracing::ModuleParts parts{name, named_tensors(parameters), named_tensors(buffers), {}, training != 0};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(modules); ++i) {
      PyObject *child = nullptr, *module = nullptr;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(modules, i), "UO", &child, &module)) throw PythonError();
      const jit::Module& held = module_of(module);
      if (held.unit() != unit) (*made_by)->called.push_back(held.unit());
      parts.modules.emplace_back(text_of(child), held.value());
    }
    return wrap_module(jit::Module(unit, tracing::make_traced_module(*unit, parts))).give();
  });
}

// _traced_program(): what the modules of one trace belong to.
PyObject* traced_program(PyObject*, PyObject*) {
  return guarded([&] {
    auto program = std::make_unique<std::shared_ptr<Program>>(std::make_shared<Program>());
    PyObject* capsule = PyCapsule_New(program.get(), nullptr, [](PyObject* self) {
      delete static_cast<std::shared_ptr<Program>*>(PyCapsule_GetPointer(self, nullptr));
    });
    if (capsule == nullptr) throw PythonError();
    program.release();
    return capsule;
  });
}

// _traced_nodes(function, inlined): for each node its text, the tensor that it is a constant of or None, and whether it
// draws random numbers. Inlined, the text has no names and facts, so that two traces can be compared.
PyObject* traced_nodes(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* function = nullptr;
    int inlined = 0;
    if (!PyArg_ParseTuple(args, "Op:_traced_nodes", &function, &inlined)) throw PythonError();
    ir::Function& f = function_of(function).function();
    const std::shared_ptr<ir::Graph> graph = (inlined ? f.graph() : tracing::traced_graph(f))->copy();
    if (inlined) {
      passes::inline_calls(*graph);
      passes::canonicalize(*graph);
    }
    const std::string whole = graph->to_string(!inlined);
    std::vector<std::string> lines;  // of nodes outside of blocks: those that begin with two spaces
    for (size_t at = 0; at < whole.size();) {
      const size_t end = std::min(whole.find('\n', at), whole.size());
      const std::string line = whole.substr(at, end - at);
      if (line.starts_with("  %") || line.starts_with("   =")) lines.push_back(line.substr(2));
      at = end + 1;
    }
    Owned rows = Owned::take(PyList_New(0));
    size_t i = 0;
    for (const ir::Node* node : graph->nodes()) {
      const std::optional<Value> held =
          node->is(ir::kind::Constant) && node->attribute("value") ? ir::constant_value(node->output()) : std::nullopt;
      const Owned t = held && held->is_tensor() ? wrap(held->to_tensor()) : Owned::share(Py_None);
      const Owned row = Owned::take(Py_BuildValue("(NOO)", text(i < lines.size() ? lines[i] : "").give(), t.get(),
                                                  ir::is_nondeterministic(*node) ? Py_True : Py_False));
      check(PyList_Append(rows.get(), row.get()));
      ++i;
    }
    return rows.give();
  });
}

// _script_members(module): the names of its methods, and its submodules with their names.
PyObject* script_members(PyObject*, PyObject* module) {
  return guarded([&] {
    const jit::Module& of = module_of(module);
    const Owned methods = Owned::take(PyList_New(0)), children = Owned::take(PyList_New(0));
    for (const std::string& name : of.method_names()) check(PyList_Append(methods.get(), text(name).get()));
    for (const auto& [name, child] : of.named_children()) {
      const Owned pair = Owned::take(Py_BuildValue("(NN)", text(name).give(), wrap_module(child).give()));
      check(PyList_Append(children.get(), pair.get()));
    }
    return PyTuple_Pack(2, methods.get(), children.get());
  });
}

PyObject* is_tracing_now(PyObject*, PyObject*) { return PyBool_FromLong(is_tracing()); }

PyObject* enter_module(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    if (Tracer* tracer = Tracer::current()) tracer->enter_module(std::string(text_of(path)));
    Py_RETURN_NONE;
  });
}
PyObject* leave_module(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (Tracer* tracer = Tracer::current()) tracer->leave_module();
    Py_RETURN_NONE;
  });
}
PyObject* set_warning_class(PyObject*, PyObject* type) {
  warning_class = Owned::share(type);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_trace_function", trace_function, METH_VARARGS,
                            "_trace_function(name, function, inputs, argument_names, strict)"},
                           {"_trace_method", trace_method, METH_VARARGS,
                            "_trace_method(module, name, function, inputs, argument_names, strict)"},
                           {"_traced_module", traced_module, METH_VARARGS,
                            "_traced_module(class_name, parameters, buffers, modules, training, program)"},
                           {"_traced_program", traced_program, METH_NOARGS, "A program for the modules of one trace."},
                           {"_traced_nodes", traced_nodes, METH_VARARGS, "_traced_nodes(function, inlined)"},
                           {"_script_members", script_members, METH_O, "The methods and submodules of a module."},
                           {"_is_tracing", is_tracing_now, METH_NOARGS, "Is this thread recording?"},
                           {"_trace_enter_module", enter_module, METH_O, "Calls of the module at this path begin."},
                           {"_trace_leave_module", leave_module, METH_NOARGS, "They end."},
                           {"_set_tracer_warning", set_warning_class, METH_O, "The class of warnings."},
                           {}};

}  // namespace

void warn_when_tracing(const std::string& text) {
  if (is_tracing()) warn(text);
}
void warn_of_value(const char* what) {
  warn_when_tracing(std::string(what) +
                    " might cause the trace to be incorrect. We can't record the data flow of Python values, so this "
                    "value will be treated as a constant in the future. This means that the trace might not generalize "
                    "to other inputs!");
}
void warn_of_constant(const char* what) {
  warn_when_tracing(std::string(what) +
                    " results are registered as constants in the trace. You can safely ignore this warning if you use "
                    "this function to create tensors out of constant variables that would be the same every time you "
                    "call this function. In any other case, this might cause the trace to be incorrect.");
}

Tensor traced_constant(const Tensor& t, const char* what) {
  warn_of_constant(what);
  return t.to(t.device(), t.dtype(), false, false, std::nullopt).detach();
}

void stash_argument(const Argument& a, PyObject* o) {
  const TypePtr type = plain_type(a.type->is(TypeKind::optional) ? a.type->element() : a.type);
  if (is_tensor(o)) {
    if (type->is(TypeKind::int_) || type->is(TypeKind::number)) Tracer::current()->stash(a.name, tensor_of(o), type);
    return;
  }
  if (!type->is(TypeKind::list) || !type->element()->is(TypeKind::int_) || !(PyTuple_Check(o) || PyList_Check(o)))
    return;
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(o));
  for (size_t i = 0; i < count; ++i)
    stash_element(a, count, i, PySequence_Fast_GET_ITEM(o, static_cast<Py_ssize_t>(i)));
}
void stash_element(const Argument& a, size_t count, size_t position, PyObject* o) {
  if (is_tensor(o) && !a.type->element()->is(TypeKind::tensor))
    Tracer::current()->stash(a.name, count, position, tensor_of(o));
}

Owned size_object(const Tensor& t, int64_t dim) {
  if (Tracer* tracer = Tracer::current()) return wrap(tracer->size_of(t, dim));
  return Owned::take(PyLong_FromLongLong(t.size(dim)));
}
Owned numel_object(const Tensor& t) {
  if (Tracer* tracer = Tracer::current()) return wrap(tracer->numel_of(t));
  return Owned::take(PyLong_FromLongLong(t.numel()));
}

Value traced_call(const jit::Function& f, std::vector<Value> args, jit::NamedValues kwargs) {
  if (!f.self().is_none()) args.insert(args.begin(), f.self());
  std::vector<Value> bound = runtime::bind_call(f.function(), std::move(args), std::move(kwargs));
  return Tracer::current()->record_call(f.function(), bound, [&] { return runtime::run(f.function(), bound); });
}
Value traced_call(const jit::Module& module, std::vector<Value> args, jit::NamedValues kwargs) {
  return traced_call(module.get_method("forward"), std::move(args), std::move(kwargs));
}

void add_tracing(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python
