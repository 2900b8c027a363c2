// Functions of the standard library that are known by heart: they have state of their own, or run code of Python only for
// some arguments.
#include <string_view>

#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/policy.h"

namespace sconce::python::capture {
namespace {

std::string name_in(const char* module, PyObject* callable) {
  const Owned name = Owned::take(PyObject_GetAttrString(callable, "__name__"));
  return std::string(module) + "." + std::string(text_of(name.get()));
}

// sys.exc_info: the exception that is being handled.
Owned exc_info(Evaluator& e, PyObject*, Arguments&) {
  const Owned error = Owned::share(e.handled_anywhere());
  const bool none = error.get() == Py_None;
  const Owned trace = none ? Owned::share(Py_None) : e.traceback_of(error.get());
  return Owned::take(
      PyTuple_Pack(3, none ? Py_None : reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get(), trace.get()));
}

// sys.exception (3.11)
Owned exception(Evaluator& e, PyObject*, Arguments&) { return Owned::share(e.handled_anywhere()); }

// typing.cast(type, value)
Owned cast(Evaluator&, PyObject*, Arguments& args) {
  if (args.values.size() != 2 || args.named() != 0) break_here(Reason::unknown_callable, "typing.cast with keywords");
  return Owned::share(args[1]);
}

// Functions of re keep what they compiled; for texts and numbers that is not to be seen.
Owned regular_expression(Evaluator&, PyObject* callable, Arguments& args) {
  for (const Owned& value : args.values) {
    const bool pattern = std::string_view(Py_TYPE(value.get())->tp_name) == "re.Pattern";
    const bool flag = PyLong_Check(value.get());
    if (!is_constant(value.get()) && !pattern && !flag) break_here(Reason::unknown_callable, name_in("re", callable));
  }
  const std::vector<PyObject*> all = args.pointers();
  return Owned::take(PyObject_Vectorcall(callable, all.data(), args.positional(), args.names.get()));
}

// defaultdict(factory): the factory is not called before a key is missed, which subscripts see to.
Owned default_dict(Evaluator& e, PyObject* callable, Arguments& args) {
  const bool factory_alone = args.values.size() == 1 && args.named() == 0;
  if (factory_alone) return e.native(callable, args, true);
  Owned factory = args.values.empty() || args.positional() == 0 ? Owned::share(Py_None) : Owned::share(args[0]);
  const bool function = PyFunction_Check(factory.get()) || PyMethod_Check(factory.get());
  if (function) args.values[0] = Owned::share(Py_None);
  Owned made = e.native(callable, args, false);
  if (function) check(PyObject_SetAttrString(made.get(), "default_factory", factory.get()));
  return made;
}

// inspect.signature(function): made anew at each call, of what the function's guards hold on to.
Owned signature(Evaluator& e, PyObject* callable, Arguments& args) {
  if (args.values.size() != 1 || args.named() != 0)
    break_here(Reason::unknown_callable, "inspect.signature with options");
  PyObject* function = PyMethod_Check(args[0]) ? PyMethod_GET_FUNCTION(args[0]) : args[0];
  if (!PyFunction_Check(function)) break_here(Reason::unknown_callable, "inspect.signature of what is no function");
  e.origins.guard_identity(function);
  return Owned::take(PyObject_CallOneArg(callable, args[0]));
}

// Signature.parameters, a property.
Owned signature_parameters(Evaluator& e, PyObject*, Arguments& args) {
  if (args.values.size() != 1 || e.origins.outside(args[0]))
    break_here(Reason::unknown_callable, "inspect.Signature.parameters of an object from outside");
  return Owned::take(PyObject_GetAttrString(args[0], "_parameters"));
}

#if PY_VERSION_HEX >= 0x030d0000
// singledispatchmethod.__get__(self, obj, cls) keeps bound methods in a weak dict. Of one that is called at once nobody sees
// whether it was kept.
Owned dispatched_method(Evaluator& e, PyObject* callable, Arguments& args) {
  static PyObject* const unkept = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._polyfills.of_functools"));
    return Owned::take(PyObject_GetAttrString(module.get(), "dispatched_method")).give();
  }();
  const Frame& f = *e.frames.back();
  const bool is_called = f.code->instructions[static_cast<size_t>(f.at)].op == Op::load_method;
  return e.call_function(is_called ? unkept : callable, std::move(args));
}
#endif

// logging.getLogger("name"): makes the logger once, and finds it ever after.
Owned get_logger(Evaluator& e, PyObject* callable, Arguments& args) {
  for (const Owned& value : args.values)
    if (!is_constant(value.get())) break_here(Reason::unknown_callable, "logging.getLogger");
  const Owned logger = e.call_c(callable, args);
  e.origins.enter_constant(logger.get());
  return Owned::share(logger.get());
}

}  // namespace

// dispatch(cls) of functools.singledispatch, a closure that keeps what it has found in a weak dict. What it finds depends on
// the registry, whose keys are guarded, and what stands there for the class.
Owned dispatch_by_class(Evaluator& e, PyObject* function, const Arguments& args) {
  static PyObject* const code = [] {
    const Owned module = Owned::take(PyImport_ImportModule("functools"));
    const Owned generic = Owned::take(PyObject_CallMethod(module.get(), "singledispatch", "O", &PyLong_Type));
    const Owned dispatch = Owned::take(PyObject_GetAttrString(generic.get(), "dispatch"));
    return Py_NewRef(PyFunction_GET_CODE(dispatch.get()));
  }();
  if (PyFunction_GET_CODE(function) != code || args.values.size() != 1 || !PyType_Check(args[0])) return {};
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_localsplusnames;
  PyObject* registry = nullptr;
  const Py_ssize_t first = PyTuple_GET_SIZE(names) - PyTuple_GET_SIZE(closure);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, first + i), "registry") == 0)
      registry = PyCell_GET(PyTuple_GET_ITEM(closure, i));
  if (registry == nullptr || !PyDict_CheckExact(registry)) return {};
  e.origins.guard_identity(function);
  if (!e.origins.outside(registry))
    e.origins.enter(registry, e.origins.sources().add(Step::constant, kNoSource, 0, nullptr, registry)).type_guarded =
        true;
  (void)e.origins.absorb(registry);
  const Owned found = Owned::take(PyObject_CallOneArg(function, args[0]));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(registry, &at, &key, &value);)
    if (value == found.get()) return Owned::share(e.origins.dict_find(registry, key));
  return {};
}

void add_library_calls() {
  const auto add = [](const char* module, const char* name, CallHandler handler) {
    add_known(module, name, Known{Treatment::handler, handler, false});
  };
  add("sys", "exc_info", exc_info);
  add("sys", "exception", exception);
  add("typing", "cast", cast);
  add("logging", "getLogger", get_logger);
  add("inspect", "signature", signature);
  add("inspect", "Signature.parameters.fget", signature_parameters);
  for (const char* name : {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "compile", "escape"})
    add("re", name, regular_expression);
  add("collections", "defaultdict", default_dict);
#if PY_VERSION_HEX >= 0x030d0000
  add("functools", "singledispatchmethod.__get__", dispatched_method);
#endif
}

}  // namespace sconce::python::capture
