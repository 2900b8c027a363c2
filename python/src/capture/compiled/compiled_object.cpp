#include "capture/compiled/compiled_object.h"

#include <structmember.h>

#include "capture/compiled/argument_binding.h"
#include "capture/compiled/cache_object.h"
#include "capture/compiled/newcomers.h"
#include "capture/compiled/recipe_result.h"
#include "capture/frames/tail_call.h"
#include "capture/graph/compiled_graph.h"
#include "capture/guards/watched_part.h"
#include "interop/torch_function.h"

namespace sconce::python::capture {
namespace {

struct State {
  std::shared_ptr<const CompileConfig> config;
  Owned cache;                   // cache_object.h
  PyCodeObject* code = nullptr;  // that it is for
  Owned kept_code;
  size_t direct_arguments = SIZE_MAX;  // how many a direct call has; none has so many: there is none
  int hooked_in_vain = 0;              // calls that ran as they are under the hook, in which nothing was captured
};
struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  State* state;
};
extern PyTypeObject compiled_type;

CompiledObject& of(PyObject* self) { return *reinterpret_cast<CompiledObject*>(self); }
PyFunctionObject* function_of(PyObject* self) { return reinterpret_cast<PyFunctionObject*>(of(self).function); }

// After so many calls of a function that runs as it is, and in which nothing was captured, the hook is left out.
constexpr int kHookedInVain = 8;

// Runs the function as it is; functions that it calls may be captured.
PyObject* run_plain(PyObject* self, PyObject* const* args, size_t flags, PyObject* names, Handed* handed) {
  State& state = *of(self).state;
  if (state.hooked_in_vain >= kHookedInVain) return call_handing(of(self).function, args, flags, names, handed);
  leave_alone(function_of(self)->func_code);
  const uint64_t before = captured_frames();
  PyObject* result = nullptr;
  {
    const RegionScope region(state.config);
    const HookScope hook;
    result = call_handing(of(self).function, args, flags, names, handed);
  }
  state.hooked_in_vain = captured_frames() == before ? state.hooked_in_vain + 1 : 0;
  return result;
}

// A function with the entry's code and all else of the program's function.
PyObject* function_with_code(CacheEntry& entry, PyFunctionObject* function) {
  const auto is_right = [&](PyObject* made) {
    const auto* f = reinterpret_cast<PyFunctionObject*>(made);
    return f->func_closure == function->func_closure && f->func_globals == function->func_globals;
  };
  if (!entry.function || !is_right(entry.function.get())) {
    Owned made =
        Owned::take(PyFunction_NewWithQualName(entry.code.get(), function->func_globals, function->func_qualname));
    if (function->func_closure) check(PyFunction_SetClosure(made.get(), function->func_closure));
    entry.function = std::move(made);
  }
  auto* made = reinterpret_cast<PyFunctionObject*>(entry.function.get());
  if (made->func_defaults != function->func_defaults)
    check(PyFunction_SetDefaults(entry.function.get(), function->func_defaults ? function->func_defaults : Py_None));
  if (made->func_kwdefaults != function->func_kwdefaults)
    check(PyFunction_SetKwDefaults(entry.function.get(),
                                   function->func_kwdefaults ? function->func_kwdefaults : Py_None));
  return entry.function.get();
}

// The graph has failed and changed nothing: Note [Graphs that fail].
struct RunEagerly {};

// Graph and recipe, without a frame of Python.
Owned run_recipe(const CacheEntry& entry, PyObject* const* inputs, PyObject* const* slots) {
  if (!entry.graph) return make_result(*entry.result, nullptr, slots);
  constexpr size_t kFew = 4;
  const size_t count = graph_outputs(entry.graph.get());
  if (count <= kFew) {
    std::array<Owned, kFew> few;
    run_graph(entry.graph.get(), inputs, {few.data(), count});
    if (entry.result->what == Recipe::What::output) return std::move(few[static_cast<size_t>(entry.result->index)]);
    return make_result(*entry.result, few.data(), slots);
  }
  std::vector<Owned> many(count);
  run_graph(entry.graph.get(), inputs, many);
  return make_result(*entry.result, many.data(), slots);
}

Owned run_direct(const CacheEntry& entry, PyObject* const* inputs, PyObject* const* slots) {
  if (!entry.graph) return run_recipe(entry, inputs, slots);
  const GraphAttempt attempt(entry.graph.get(), inputs);
  try {
    return run_recipe(entry, inputs, slots);
  } catch (const PythonError&) {
    if (!attempt.may_run_again() || !clear_failure()) throw;
  } catch (const Error&) {
    if (!attempt.may_run_again()) throw;
  }
  throw RunEagerly();
}

// Direct calls: arguments that the function takes as they are, for the entry that answered the call before.
size_t direct_arguments(const State& state) {
  const bool is_direct = state.config->backend.get() == Py_None && state.code->co_kwonlyargcount == 0 &&
                         (state.code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) == 0;
  return is_direct ? static_cast<size_t>(state.code->co_argcount) : SIZE_MAX;
}
// Null and no exception: not one of these.
PyObject* call_directly(State& state, PyFunctionObject* function, PyObject* const* args) {
  if (reinterpret_cast<PyCodeObject*>(function->func_code) != state.code) return nullptr;
  CacheEntry* entry = cache_in(state.cache.get()).last_used();
  if (entry == nullptr) return nullptr;
  PyObject* const* inputs = entry->guards->check_directly(args, function->func_closure);
  if (inputs == nullptr) return nullptr;
  if (entry->graph && entry->result->what == Recipe::What::output) {
    if (PyObject* made = run_quickly(entry->graph.get(), inputs, entry->result->index)) return made;
  }
  Answer answer;
  answer.set(entry);
  return run_direct(*entry, inputs, args).give();
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  PyFunctionObject* function = function_of(self);
  State& state = *of(self).state;
  Handed* handed = take_handed();
  // A mode of the thread takes functions over, which only the program itself has.
  if (FunctionModes::any() || (unusual_calls != 0 && (settings().stance == Stance::force_eager || is_evaluating())))
    return call_handing(of(self).function, args, flags, names, handed);
  const auto compiled = [&]() -> PyObject* {
    if (state.direct_arguments == static_cast<size_t>(PyVectorcall_NARGS(flags)) && names == nullptr &&
        unusual_calls == 0) {
      if (PyObject* made = call_directly(state, function, args)) return made;
    }
    if (reinterpret_cast<PyCodeObject*>(function->func_code) != state.code) {  // somebody set __code__
      state.code = reinterpret_cast<PyCodeObject*>(function->func_code);
      state.kept_code = Owned::share(function->func_code);
      state.cache = cache_for(state.code, state.config);
      state.direct_arguments = direct_arguments(state);
    }
    const Owned kept_cache = Owned::share(state.cache.get());
    CodeCache* cache = &cache_in(kept_cache.get());
    if (cache->gave_up()) return run_plain(self, args, flags, names, handed);
    const BoundArguments bound(function, args, static_cast<size_t>(PyVectorcall_NARGS(flags)), names);
    if (bound.slots() == nullptr) return PyObject_Vectorcall(of(self).function, args, flags, names);
    const Owned kept = Owned::share(self);
    Answer answer;
    cache->find_or_compile(function, bound.slots(), answer);
    CacheEntry* entry = answer.entry;
    if (entry == nullptr || entry->is_plain()) {
      answer.clear();
      return run_plain(self, args, flags, names, handed);
    }
    if (entry->result) {
      if (state.config->backend.get() != Py_None) answer.inputs.own_all();  // code of Python runs with them
      return run_direct(*entry, answer.inputs.data(), bound.slots()).give();
    }
    const Owned with_code = Owned::share(function_with_code(*entry, function));
    answer.inputs.clear();  // its code fetches them
    const RegionScope region(state.config);
    const HookScope hook;
    PyObject* result = take_eager_answer(call_handing(with_code.get(), args, flags, names, handed));
    return handed != nullptr ? result : finish_calls(result);
  };
  return guarded([&]() -> PyObject* {
    try {
      return compiled();
    } catch (const RunEagerly&) {
      const HookPause pause;
      return PyObject_Vectorcall(of(self).function, args, flags, names);
    }
  });
}

PyObject* make(std::shared_ptr<const CompileConfig> config, PyObject* function) {
  auto state = std::make_unique<State>();
  state->config = std::move(config);
  state->kept_code = Owned::share(reinterpret_cast<PyFunctionObject*>(function)->func_code);
  state->code = reinterpret_cast<PyCodeObject*>(state->kept_code.get());
  state->cache = cache_for(state->code, state->config);
  state->direct_arguments = direct_arguments(*state);
  auto* self = PyObject_GC_New(CompiledObject, &compiled_type);
  if (self == nullptr) throw PythonError();
  self->vectorcall = call;
  self->function = Py_NewRef(function);
  self->dict = self->weak_references = nullptr;
  self->state = state.release();
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(of(self).function);
  Py_VISIT(of(self).dict);
  const State& state = *of(self).state;
  Py_VISIT(state.kept_code.get());
  if (state.config.use_count() == 1) {
    Py_VISIT(state.config->backend.get());
    Py_VISIT(state.config->options.get());
  }
  Py_VISIT(state.cache.get());
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(of(self).dict);  // others may have the cache, which is cleared by itself
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (of(self).weak_references) PyObject_ClearWeakRefs(self);
  delete of(self).state;
  Py_XDECREF(of(self).function);
  Py_XDECREF(of(self).dict);
  PyObject_GC_Del(self);
}

// f.anything: its own, otherwise the function's.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(of(self).function, name);
}
PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}
PyObject* describe(PyObject* self) {
  return PyUnicode_FromFormat("<compiled function %U>", function_of(self)->func_qualname);
}
PyObject* refuse_pickle(PyObject* self, PyObject*) {
  PyErr_Format(
      PyExc_TypeError,
      "cannot pickle the compiled function '%U': pickle the function itself (its __wrapped__) and compile it again",
      function_of(self)->func_qualname);
  return nullptr;
}
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(of(self).function); }
PyObject* of_function(PyObject* self, void* name) {
  return PyObject_GetAttrString(of(self).function, static_cast<const char*>(name));
}

// _entries(): a list of (frame/number, guards, graph, code) of what is compiled.
PyObject* entries(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Owned list = Owned::take(PyList_New(0));
    for (const CacheEntry* entry : cache_in(of(self).state->cache.get()).entries()) {
      const Owned guards = Owned::take(PyList_New(0));
      for (const std::string& line : entry->guards->texts()) check(PyList_Append(guards.get(), text(line).get()));
      const Owned row =
          Owned::take(Py_BuildValue("(iOOOO)", entry->number, guards.get(), entry->graph ? entry->graph.get() : Py_None,
                                    entry->code ? entry->code.get() : Py_None, entry->result ? Py_True : Py_False));
      check(PyList_Append(list.get(), row.get()));
    }
    return list.give();
  });
}
PyObject* reset(PyObject* self, PyObject*) {
  cache_in(of(self).state->cache.get()).clear();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"_entries", entries, METH_NOARGS, nullptr},
                         {"_reset", reset, METH_NOARGS, nullptr},
                         {"__reduce_ex__", refuse_pickle, METH_O, nullptr},
                         {"__reduce__", refuse_pickle, METH_NOARGS, nullptr},
                         {"__copy__", itself, METH_NOARGS, nullptr},
                         {"__deepcopy__", itself, METH_O, nullptr},
                         {}};
PyGetSetDef properties[] = {{"__wrapped__", wrapped, nullptr, "The function that was compiled.", nullptr},
                            {"_torchdynamo_orig_callable", wrapped, nullptr, nullptr, nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {"__name__", of_function, nullptr, nullptr, const_cast<char*>("__name__")},
                            {"__qualname__", of_function, nullptr, nullptr, const_cast<char*>("__qualname__")},
                            {"__module__", of_function, nullptr, nullptr, const_cast<char*>("__module__")},
                            {"__doc__", of_function, nullptr, nullptr, const_cast<char*>("__doc__")},
                            {"__annotations__", of_function, nullptr, nullptr, const_cast<char*>("__annotations__")},
                            {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.compiler.Compiled";
  type.tp_basicsize = sizeof(CompiledObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_vectorcall_offset = offsetof(CompiledObject, vectorcall);
  type.tp_dictoffset = offsetof(CompiledObject, dict);
  type.tp_weaklistoffset = offsetof(CompiledObject, weak_references);
  type.tp_call = PyVectorcall_Call;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_repr = describe;
  type.tp_descr_get = bind;
  type.tp_getattro = get_attribute;
  type.tp_setattro = PyObject_GenericSetAttr;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}
PyTypeObject compiled_type = make_type();

// _capture_compile(function, backend, options, fullgraph, dynamic): dynamic is -1, 0 or 1.
PyObject* compile_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *backend = nullptr, *options = nullptr;
    int fullgraph = 0, dynamic = -1;
    if (!PyArg_ParseTuple(args, "O!OOpi", &PyFunction_Type, &function, &backend, &options, &fullgraph, &dynamic))
      throw PythonError();
    auto config = std::make_shared<CompileConfig>();
    config->backend = Owned::share(backend);
    config->options = Owned::share(options);
    config->fullgraph = fullgraph != 0;
    config->dynamic = dynamic;
    return make(std::move(config), function);
  });
}

constexpr const char* kStances[] = {"default", "force_eager", "eager_on_recompile", "fail_on_recompile",
                                    "eager_then_compile"};

// _capture_set_stance(name, skip guards, backend or None)
PyObject* set_stance(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name = nullptr;
    int skip = 0;
    PyObject* backend = Py_None;
    if (!PyArg_ParseTuple(args, "spO", &name, &skip, &backend)) throw PythonError();
    for (size_t i = 0; i < std::size(kStances); ++i) {
      if (std::string_view(name) != kStances[i]) continue;
      settings().stance = static_cast<Stance>(i);
      settings().skip_guards = skip != 0;
      settings().stance_backend = backend == Py_None ? Owned() : Owned::share(backend);
      note_stance();
      Py_RETURN_NONE;
    }
    PyErr_Format(PyExc_ValueError, "there is no stance '%s'", name);
    throw PythonError();
  });
}

// _capture_configure(recompile_limit, accumulated limit, fail on limit, automatic dynamic, assume static, without tensors,
// every round)
PyObject* configure(PyObject*, PyObject* args) {
  Settings& s = settings();
  long long limit = 0, accumulated = 0;
  int fail = 0, automatic = 0, assume = 0, without = 0, every_round = 0;
  if (!PyArg_ParseTuple(args, "LLppppp", &limit, &accumulated, &fail, &automatic, &assume, &without, &every_round))
    return nullptr;
  s.recompile_limit = limit;
  s.accumulated_limit = accumulated;
  s.fail_on_limit = fail != 0;
  s.automatic_dynamic_sizes = automatic != 0;
  s.assume_static = assume != 0;
  s.without_tensors = without != 0;
  s.every_round = every_round != 0;
  Py_RETURN_NONE;
}

// _capture_observe(observer or None, whether it reads guards)
PyObject* observe(PyObject*, PyObject* args) {
  PyObject* observer = nullptr;
  int reads_guards = 0;
  if (!PyArg_ParseTuple(args, "Op", &observer, &reads_guards)) return nullptr;
  settings().observer = observer == Py_None ? Owned() : Owned::share(observer);
  settings().observer_reads_guards = reads_guards != 0;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_capture_compile", compile_function, METH_VARARGS, nullptr},
    {"_capture_set_stance", set_stance, METH_VARARGS, nullptr},
    {"_capture_configure", configure, METH_VARARGS, nullptr},
    {"_capture_observe", observe, METH_VARARGS, nullptr},
    {"_capture_reset",
     [](PyObject*, PyObject*) -> PyObject* {
       reset_caches();
       Py_RETURN_NONE;
     },
     METH_NOARGS, nullptr},
    {"_capture_note_marks",
     [](PyObject*, PyObject*) -> PyObject* {
       note_tensor_marks();
       Py_RETURN_NONE;
     },
     METH_NOARGS, nullptr},
    {"_capture_is_evaluating", [](PyObject*, PyObject*) { return PyBool_FromLong(is_evaluating()); }, METH_NOARGS,
     nullptr},
    {}};

}  // namespace

PyFunctionObject* function_of_compiled(PyObject* object) {
  return Py_IS_TYPE(object, &compiled_type) ? function_of(object) : nullptr;
}

Owned make_compiled(PyObject* function, std::shared_ptr<const CompileConfig> config) {
  if (!PyFunction_Check(function)) return Owned::share(function);
  static int resumed = 0;
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  const int line = PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(f->func_code), 0);
  // Frames keep the program's name, which is the code's.
  Py_SETREF(f->func_qualname, Owned::take(PyUnicode_FromFormat("__resume_at_%d_%d", line, ++resumed)).give());
  Py_SETREF(f->func_name, Py_NewRef(f->func_qualname));
  return Owned::take(make(std::move(config), function));
}

void add_compiled(PyObject* module) {
  add_cache_type();
  check(PyType_Ready(&compiled_type));
  add_tail_calls();
  check(PyModule_AddFunctions(module, functions));
  set_newcomer_callback(meet_newcomer);
  check(PyModule_AddObjectRef(module, "_Compiled", reinterpret_cast<PyObject*>(&compiled_type)));
}

}  // namespace sconce::python::capture
