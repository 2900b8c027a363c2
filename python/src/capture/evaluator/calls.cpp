// Calls: methods are taken apart, operators recorded, functions of Python evaluated, classes made into instances; code of
// C runs on constants, owned objects and shadows, or a function of Python stands for it (sconce/_polyfills).
#include <unordered_set>

#include "capture/compiled/compiled_object.h"
#include "capture/compiled/disabled.h"
#include "capture/evaluator/arrays.h"
#include "capture/evaluator/callbacks.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/evaluator/memory_facts.h"
#include "capture/evaluator/policy.h"
#include "capture/evaluator/torch_modules.h"
#include "capture/evaluator/warnings_guard.h"
#include "capture/graph/sym_int.h"
#include "capture/set_entries.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

PyObject* attribute_name(const char* text) {
  static std::unordered_map<const char*, PyObject*> known;
  PyObject*& name = known[text];
  if (name == nullptr) name = interned(text);
  return name;
}

PyTypeObject* type_from(const char* module, const char* name) {
  const Owned m = Owned::take(PyImport_ImportModule(module));
  return reinterpret_cast<PyTypeObject*>(Owned::take(PyObject_GetAttrString(m.get(), name)).give());
}
PyTypeObject* partial_type() {
  static PyTypeObject* type = type_from("functools", "partial");
  return type;
}
PyTypeObject* cached_type() {
  static PyTypeObject* type = type_from("functools", "_lru_cache_wrapper");
  return type;
}
PyTypeObject* module_base() {
  static PyTypeObject* type = type_from("sconce._sconce", "_ModuleBase");
  return type;
}
PyTypeObject* method_wrapper_type() {
  static PyTypeObject* type = Py_TYPE(Owned::take(PyObject_GetAttrString(Py_None, "__str__")).give());
  return type;
}

// Code of these modules has state, or does what only the world can answer.
bool is_left_alone(PyObject* function) {
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
  if (name == nullptr || !PyUnicode_Check(name)) return false;
  static const std::unordered_set<std::string_view> modules = {"warnings",
                                                               "logging",
                                                               "threading",
                                                               "importlib",
                                                               "importlib._bootstrap",
                                                               "inspect",
                                                               "re",
                                                               "traceback",
                                                               "linecache",
                                                               "tokenize",
                                                               "ast",
                                                               "dis",
                                                               "asyncio",
                                                               "subprocess",
                                                               "socket",
                                                               "unittest.case",
                                                               "unittest.mock",
                                                               "random",
                                                               "weakref",
                                                               "abc",

                                                               "pickle",
                                                               "json",
                                                               "tempfile",
                                                               "os",
                                                               "time",
                                                               "datetime",
                                                               "io",
                                                               "contextvars",
                                                               "signal",
                                                               "gc",
                                                               "_weakrefset",
                                                               "copyreg",
                                                               "locale",
                                                               "shutil",
                                                               "multiprocessing",
                                                               "concurrent.futures"};
  // Optimisers are objects of C below, which the library's classes make and ask.
  const std::string_view of = text_of(reinterpret_cast<PyFunctionObject*>(function)->func_name);
  if (text_of(name) == "sconce.optim.optimizer" && of == "__init__") {
    const std::string_view qualified = text_of(reinterpret_cast<PyFunctionObject*>(function)->func_qualname);
    return !qualified.starts_with("Optimizer.");
  }
  if (!modules.contains(text_of(name))) return false;
  // os.environ is a dict with methods of Python: what is read of it is guarded, and writing calls code of C.
  const std::string_view function_name = text_of(reinterpret_cast<PyFunctionObject*>(function)->func_qualname);
  return !(text_of(name) == "os" && (function_name.starts_with("_Environ.") || function_name == "getenv" ||
                                     function_name.starts_with("_createenviron.")));
}

// What a bound method of C was bound from: its class may have another of that name, of Python. Null: not found.
PyObject* method_descriptor(PyObject* bound, PyObject* self, PyObject* name) {
  PyObject* mro = Py_TYPE(self)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i)), name);
    if (found != nullptr && Py_TYPE(found) == &PyMethodDescr_Type &&
        reinterpret_cast<PyMethodDescrObject*>(found)->d_method == reinterpret_cast<PyCFunctionObject*>(bound)->m_ml)
      return found;
  }
  return nullptr;
}

bool is_random_generator(PyObject* o) {
  PyTypeObject* base = Py_TYPE(o);
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE && base->tp_base != &PyBaseObject_Type) base = base->tp_base;
  return std::string_view(base->tp_name) == "_random.Random";
}

std::string_view name_text(PyObject* descriptor) { return text_of(PyDescr_NAME(descriptor)); }

// sconce/_lazy.py: functions that import themselves when they are first called. What they stand for; empty for others.
Owned behind_lazy_function(PyObject* function) {
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
  if (name == nullptr || !PyUnicode_Check(name) || text_of(name) != "sconce._lazy") return {};
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  if (PyUnicode_CompareWithASCIIString(code->co_name, "function") != 0) return {};
  const Owned module = Owned::take(PyObject_GetAttrString(function, "__module__"));
  const Owned attribute = Owned::take(PyObject_GetAttrString(function, "__name__"));
  const Owned loaded = Owned::take(PyImport_Import(module.get()));
  return Owned::take(
      PyObject_GetAttr(PyDict_GetItemWithError(PyImport_GetModuleDict(), module.get()), attribute.get()));
}

bool in_polyfill(const std::vector<Frame*>& frames) {
  if (frames.empty()) return false;
  PyObject* name = PyDict_GetItemString(frames.back()->globals, "__name__");
  return name != nullptr && PyUnicode_Check(name) && text_of(name).starts_with("sconce._polyfills");
}

// Once for each place. Where warnings are errors, it is none: evaluating must not fail.
void warn_of_cache(const Frame& f, PyObject* callable) {
  static std::unordered_set<std::string> said;
  const Owned of = Owned::take(PyObject_GetAttr(callable, attribute_name("__module__")));
  if (PyUnicode_Check(of.get()) && text_of(of.get()).starts_with("sconce")) return;
  std::string_view file = text_of(f.code->file.get());
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  const std::string place =
      std::string(file) + ":" + std::to_string(f.code->instructions[static_cast<size_t>(f.at)].location.line);
  if (!said.insert(place).second) return;
  const std::string message =
      "Dynamo detected a call to a `functools.lru_cache`-wrapped function at '" + place +
      "'. Dynamo ignores the cache wrapper and directly traces the wrapped function: its effects "
      "come at each call, and a result that is an object is another one each time.";
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) PyErr_Clear();
}

std::string shown(PyObject* callable) {
  PyObject* name = PyObject_GetAttrString(callable, "__qualname__");
  if (name == nullptr || !PyUnicode_Check(name)) {
    PyErr_Clear();
    Py_XDECREF(name);
    return std::string(Py_TYPE(callable)->tp_name);
  }
  const Owned owned = Owned::take(name);
  std::string all(text_of(name));
  if (PyObject* module = PyObject_GetAttrString(callable, "__module__")) {
    const Owned kept = Owned::take(module);
    if (PyUnicode_Check(module)) all = std::string(text_of(module)) + "." + all;
  } else {
    PyErr_Clear();
  }
  return all;
}

}  // namespace

bool has_python_specials(PyTypeObject* type, Looks looks) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  struct Found {
    bool any, texts, equality;
    bool of(Looks looks) const {
      if (looks == Looks::at_texts) return texts;
      return looks == Looks::at_equality || looks == Looks::at_keys ? equality : any;
    }
  };
  static std::unordered_map<PyTypeObject*, Found> known;
  static std::unordered_map<PyTypeObject*, unsigned> versions;
  const auto at = known.find(type);
  if (at != known.end() && versions[type] == type->tp_version_tag && type->tp_version_tag != 0)
    return at->second.of(looks);
  static const char* const kSpecials[] = {
      "__eq__",       "__ne__",     "__lt__",      "__le__",       "__gt__",       "__ge__",      "__hash__",
      "__len__",      "__iter__",   "__next__",    "__bool__",     "__getitem__",  "__setitem__", "__delitem__",
      "__contains__", "__index__",  "__int__",     "__float__",    "__complex__",  "__add__",     "__radd__",
      "__sub__",      "__rsub__",   "__mul__",     "__rmul__",     "__mod__",      "__rmod__",    "__and__",
      "__or__",       "__neg__",    "__abs__",     "__round__",    "__reversed__", "__missing__", "__length_hint__",
      "__call__",     "__iadd__",   "__del__",     "__trunc__",    "__floor__",    "__ceil__",    "__divmod__",
      "__pow__",      "__matmul__", "__truediv__", "__floordiv__", "__bytes__"};
  const auto of_python = [&](const char* name) {
    PyObject* found = _PyType_Lookup(type, attribute_name(name));
    if (found == nullptr || found == Py_None) return false;
    if (is_renamed_special(found, attribute_name(name))) return true;
    PyTypeObject* t = Py_TYPE(found);
    return t != &PyWrapperDescr_Type && t != &PyMethodDescr_Type && t != &PyCFunction_Type &&
           t != &PyClassMethodDescr_Type;
  };
  bool any = false;
  for (const char* name : kSpecials) any = any || of_python(name);
  bool any_text = any;
  for (const char* name : {"__repr__", "__str__", "__format__"}) any_text = any_text || of_python(name);
  known[type] = {any, any_text, of_python("__eq__") || of_python("__hash__") || of_python("__ne__")};
  versions[type] = type->tp_version_tag;
  return known[type].of(looks);
}

bool Evaluator::prepare(Owned& arg, bool blind, int depth) {
  PyObject* o = arg.get();
  if (later_of(o)) {
    const bool key = is_address(o) && (looks_ == Looks::at_equality || looks_ == Looks::at_keys);
    if (!blind && !key) want_now(o);
    return true;
  }
  if (looks_ == Looks::at_texts && sym_number(o)) {
    arg = fixed_number(o);
    return true;
  }
  if (looks_ == Looks::at_texts && recorder.is_fake(o)) break_here(Reason::data_dependent, "the text of a tensor");
  if (is_immutable(o) || recorder.is_fake(o)) return true;
  if (Py_TYPE(o) == &PyBaseObject_Type) {  // a mark: nothing but itself
    origins.guard_identity(o);
    return true;
  }
  if (PyType_Check(o)) return blind || !has_python_specials(Py_TYPE(o), looks_);
  if (Py_TYPE(o) == &PyCFunction_Type) {  // bound to an object from outside, which it would change at once
    PyObject* self = PyCFunction_GET_SELF(o);
    if (self != nullptr && (origins.outside(o) || origins.outside(origins.canonical(self)))) return false;
  }
  if (depth > 40) return false;
  const bool outside = origins.outside(o);
  if (outside && origins.can_absorb(o)) {
    arg = Owned::share(origins.absorb(o));
    o = arg.get();
  } else if (PyFunction_Check(o) &&
             (looks_ == Looks::at_equality || looks_ == Looks::at_keys)) {  // is itself, and nothing else
    origins.guard_identity(o);
    return true;
  } else if (PyFunction_Check(o) || PyMethod_Check(o)) {
    return blind;
  } else if (is_heap_instance(o)) {
    if (blind) return true;
    PyTypeObject* base = Py_TYPE(o);
    if (is_plain_class(base)) return !outside && prepare_contents(o, depth);
    while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
    if (has_python_specials(Py_TYPE(o), looks_)) {
      if (callbacks == nullptr || (base != &PyBaseObject_Type && base != &PyTuple_Type)) return false;
      callbacks->want();
      origins.guard_type(o);
      return true;
    }
    if (!outside) return true;
    if (base != &PyBaseObject_Type && base != module_base() && base != &PyLong_Type && base != &PyUnicode_Type &&
        base != &PyFloat_Type)
      return false;
    origins.guard_identity(o);
    return true;
  } else if (outside) {
    return blind;
  }
  return blind || prepare_contents(o, depth);
}

bool Evaluator::prepare_contents(PyObject* o, int depth) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      if (is_constant(item)) continue;
      Owned replaced = Owned::share(item);
      if (!prepare(replaced, false, depth + 1)) return false;
      // Owned by this evaluation, so that a tuple may change, too: its shadow stands for the same element.
      if (replaced.get() != item) {
        PyObject** place = PyTuple_Check(o) ? &PyTuple_GET_ITEM(o, i) : &PyList_GET_ITEM(o, i);
        Py_SETREF(*place, replaced.give());
      }
    }
    return true;
  }
  if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    std::vector<std::pair<Owned, Owned>> changed;
    while (PyDict_Next(o, &at, &key, &value)) {
      if (!is_constant(key)) {
        Owned k = Owned::share(key);
        if (!prepare(k, false, depth + 1)) return false;
      }
      if (is_constant(value) || looks_ == Looks::at_keys) continue;
      Owned v = Owned::share(value);
      if (!prepare(v, false, depth + 1)) return false;
      if (v.get() != value) changed.emplace_back(Owned::share(key), std::move(v));
    }
    for (auto& [k, v] : changed) check(PyDict_SetItem(o, k.get(), v.get()));
    return true;
  }
  if (PyAnySet_Check(o)) {
    Py_ssize_t at = 0;
    Py_hash_t hash = 0;
    PyObject* item = nullptr;
    while (_PySet_NextEntry(o, &at, &item, &hash)) {
      Owned k = Owned::share(item);
      if (!prepare(k, false, depth + 1)) return false;
    }
    return true;
  }
  if (PyExceptionInstance_Check(o)) {  // nobody asks for frames that its traceback leads to
    PyObject* given = reinterpret_cast<PyBaseExceptionObject*>(o)->args;
    return given == nullptr || prepare_contents(given, depth + 1);
  }
  // Iterators and the like: what they hold is found as the collector finds it.
  PyTypeObject* type = Py_TYPE(o);
  if (!PyType_IS_GC(type) || type->tp_traverse == nullptr || !is_plain_class(type)) return true;
  struct Search {
    Looks looks;
    int left;  // objects that may still be looked at
    bool found;
    static int visit(PyObject* held, void* arg) {
      auto& search = *static_cast<Search*>(arg);
      if (is_immutable(held) || PyType_Check(held) || PyModule_Check(held)) return 0;
      PyTypeObject* t = Py_TYPE(held);
      if (--search.left < 0 || later_of(held) || PyFunction_Check(held) || PyMethod_Check(held) ||
          ((t->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && has_python_specials(t, search.looks))) {
        search.found = true;
        return 1;
      }
      const bool inside =
          PyTuple_Check(held) || PyList_Check(held) || PyDict_Check(held) || PyAnySet_Check(held) || is_plain_class(t);
      return inside && PyType_IS_GC(t) && t->tp_traverse != nullptr ? t->tp_traverse(held, visit, arg) : 0;
    }
  } search{looks_, 10'000, false};
  type->tp_traverse(o, Search::visit, &search);
  return !search.found;
}

// Objects with a finaliser of Python: those of the evaluation go with it, and would run it.
static void refuse_finaliser(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
  if (_PyType_Lookup(type, attribute_name("__del__")) != nullptr)
    break_here(Reason::unknown_object, std::string(type->tp_name) + " has a finaliser");
}

bool Evaluator::is_opaque(PyObject* o) {
  return origins.outside(o) && !origins.can_absorb(o) && !is_immutable(o) && !recorder.is_fake(o) && !PyType_Check(o);
}

// The key with numbers in place of those that are not fixed, through tuples, which stay the same objects: one with such a
// number was made by this evaluation.
static Owned fixed_key(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return fixed_number(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    Owned item = fixed_key(PyTuple_GET_ITEM(key, i));
    if (item.get() != PyTuple_GET_ITEM(key, i)) Py_SETREF(PyTuple_GET_ITEM(key, i), item.give());
  }
  return Owned::share(key);
}

// Does code of C take numbers as they come, and give them on? Others get the numbers themselves, which are fixed then.
static bool passes_numbers(PyObject* callable, size_t count) {
  static const auto* known = [] {
    auto* all = new std::unordered_set<PyObject*>();
    for (const char* name : {"min", "max", "sum"}) all->insert(PyDict_GetItemString(PyEval_GetBuiltins(), name));
    return all;
  }();
  static PyObject* const absolute = PyDict_GetItemString(PyEval_GetBuiltins(), "abs");
  if (callable == absolute || callable == reinterpret_cast<PyObject*>(&PySlice_Type)) return true;
  if (known->contains(callable)) return count > 1;  // one alone is gone through, and a number cannot be
  if (Py_TYPE(callable) != &PyMethodDescr_Type && Py_TYPE(callable) != &PyWrapperDescr_Type) return false;
  const PyTypeObject* of = PyDescr_TYPE(callable);
  return of == &PyList_Type || of == &PyTuple_Type || of == &PyDict_Type || of == &PySet_Type ||
         of == &PyFrozenSet_Type;
}

// Does code of C put its last argument away, and look at nothing of it?
static bool stores_alone(PyObject* callable) {
  if (PyType_Check(callable))
    return callable == reinterpret_cast<PyObject*>(partial_type()) ||
           PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(callable),
                            reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
  if (Py_TYPE(callable) != &PyMethodDescr_Type) return false;
  const std::string_view name = name_text(callable);
  return name == "append" || name == "appendleft";
}

// torch.from_numpy, torch.tensor, torch.as_tensor
static bool makes_tensor(PyObject* callable) {
  if (!PyCFunction_Check(callable) && !PyFunction_Check(callable)) return false;
  const Owned name = Owned::take(PyObject_GetAttrString(callable, "__name__"));
  if (!PyUnicode_Check(name.get())) return false;
  const std::string_view text = text_of(name.get());
  if (text != "from_numpy" && text != "tensor" && text != "as_tensor") return false;
  const Owned module = Owned::take(PyObject_GetAttrString(callable, "__module__"));
  return PyUnicode_Check(module.get()) && text_of(module.get()).find("sconce") != std::string_view::npos;
}

// str.format and str.join, which may be given tensors.
static bool makes_text(PyObject* callable) {
  if (Py_TYPE(callable) != &PyMethodDescr_Type || PyDescr_TYPE(callable) != &PyUnicode_Type) return false;
  const std::string_view name = name_text(callable);
  return name == "format" || name == "join";
}

bool Evaluator::prepare_key(Owned& key) {
  key = fixed_key(key.get());
  looks_ = Looks::at_equality;
  const bool done = prepare(key, false);
  looks_ = Looks::at_all;
  return done;
}

void Evaluator::prepare_lookup(CallbackScope& calls_back, PyObject* dict, Owned& key, const char* what) {
  if (!prepare_key(key)) break_here(Reason::callback, what);
  calls_back.start();
  const bool compares = is_heap_instance(key.get()) && has_python_specials(Py_TYPE(key.get()), Looks::at_equality);
  if (compares && origins.outside(dict)) (void)origins.absorb(dict);  // its keys are read, too, and so they are guarded
}

void Evaluator::failed() {
  if (interrupt) {
    PyErr_Clear();
    throw Break(*std::exchange(interrupt, std::nullopt));
  }
  if (std::optional<NotRecordable> why = recorder.explain_failure())
    break_here(why->needs_data ? Reason::data_dependent : Reason::unknown_callable, why->reason);
  if (PyErr_ExceptionMatches(PyExc_Warning)) {
    PyErr_Clear();
    break_here(Reason::output, "a warning");
  }
  throw PythonError();
}

Owned Evaluator::native(PyObject* callable, Arguments& args, bool blind) {
  for (Owned& value : args.values) {
    if (!prepare(value, blind)) break_here(Reason::callback, shown(callable));
  }
  return canonical(call_c(callable, args));
}

// Lets CPython call it. Throws what a failure means.
Owned Evaluator::call_c(PyObject* callable, const Arguments& args) {
  const std::vector<PyObject*> all = args.pointers();
  PyObject* result = nullptr;
  {
    const WarningsGuard guard;
    if (callbacks != nullptr) callbacks->start();
    result = PyObject_Vectorcall(callable, all.data(), args.positional(), args.names.get());
  }
  if (result == nullptr) failed();
  return Owned::take(result);
}

// Calls of C: by the table, on plain arguments, or through a function of Python that stands for it.
Owned Evaluator::call_known(PyObject* callable, Arguments& args, bool& done) {
  done = true;
  const Known known = known_of(callable);
  switch (known.treatment) {
    case Treatment::handler:
      return known.handler(*this, callable, args);
    case Treatment::output:
      break_here(Reason::output, shown(callable));
    case Treatment::graph_break:
      break_here(Reason::asked);
    case Treatment::disabled:
      break_here(Reason::disabled, shown(callable));
    case Treatment::unknown:
      done = false;
      return {};
    default:
      break;
  }
  const bool blind = known.treatment == Treatment::blind;
  if (std::any_of(args.values.begin(), args.values.end(),
                  [](const Owned& v) { return later_of(v.get()) != nullptr; })) {
    if (Owned made = call_later(*this, callable, args)) return made;
    const bool of_keys = Py_TYPE(callable) == &PyMethodDescr_Type &&
                         (PyDescr_TYPE(callable) == &PyDict_Type || PyDescr_TYPE(callable) == &PySet_Type);
    if (!stores_alone(callable))
      for (const Owned& value : args.values)
        if (!of_keys || !is_address(value.get())) want_now(value.get());
  } else if (!blind && makes_text(callable)) {
    if (Owned made = call_later(*this, callable, args)) return made;
  }
  const bool copies =
      callable == reinterpret_cast<PyObject*>(&PyList_Type) || callable == reinterpret_cast<PyObject*>(&PyTuple_Type);
  if (copies || (!blind && !passes_numbers(callable, args.values.size())))
    for (Owned& value : args.values)
      if (sym_number(value.get())) value = fixed_number(value.get());
  // list(x) and tuple(x) of an iterator that is written in Python: its items first.
  if ((callable == reinterpret_cast<PyObject*>(&PyList_Type) ||
       callable == reinterpret_cast<PyObject*>(&PyTuple_Type)) &&
      args.values.size() == 1 && !args.names && is_heap_instance(args[0]) && !recorder.is_fake(args[0]) &&
      !is_plain_class(Py_TYPE(args[0]))) {
    const Owned iterator = iterate(args[0]);
    Owned items = Owned::take(PyList_New(0));
    while (const Owned item = next(iterator.get())) check(PyList_Append(items.get(), item.get()));
    return callable == reinterpret_cast<PyObject*>(&PyList_Type) ? std::move(items)
                                                                 : Owned::take(PyList_AsTuple(items.get()));
  }
  const bool method = Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyWrapperDescr_Type;
  const PyTypeObject* of = method ? PyDescr_TYPE(callable) : nullptr;
  looks_ =
      of == &PyUnicode_Type ? Looks::at_texts
      : of == &PySet_Type || of == &PyFrozenSet_Type || of == &PyDict_Type || of == &PyList_Type ||
              callable == reinterpret_cast<PyObject*>(&PySet_Type)
          ? (std::string_view(of != nullptr ? name_text(callable) : "") == "sort" ? Looks::at_all : Looks::at_equality)
          : Looks::at_all;
  if (of == &PyDict_Type && name_text(callable) == "update") looks_ = Looks::at_keys;
  bool plain = true;
  std::optional<CallbackScope> calls_back;
  if (in_polyfill(frames) || polyfill_of(callable) == nullptr) calls_back.emplace(*this);
  if (method && known.treatment != Treatment::unknown) ++writes;  // list.append and the like
  for (size_t i = 0; i < args.values.size() && plain; ++i) {
    Owned& value = args.values[i];
    // dict(d) of a subclass that iterates as dict does: C takes what it holds, and asks none of its methods.
    if ((callable == reinterpret_cast<PyObject*>(&PyDict_Type) ||
         (of == &PyDict_Type && i > 0 && name_text(callable) == "update")) &&
        PyDict_Check(value.get()) && is_heap_instance(value.get()) &&
        Py_TYPE(value.get())->tp_iter == PyDict_Type.tp_iter &&
        (!origins.outside(value.get()) || origins.can_absorb(value.get()))) {
      value = Owned::share(origins.absorb(value.get()));
      plain = prepare_contents(value.get(), 0);
      continue;
    }
    if (known.iterables && is_heap_instance(value.get()) && !recorder.is_fake(value.get()) && !(method && i == 0) &&
        !is_plain_class(Py_TYPE(value.get())) && Py_TYPE(value.get())->tp_iter != nullptr &&
        has_python_specials(Py_TYPE(value.get()))) {
      plain = false;
      break;
    }
    // An instance of a class over list or dict that the program made: C works on what it holds, not on its methods.
    if (method && i == 0 && is_heap_instance(value.get()) &&
        (!origins.outside(value.get()) || PyList_Check(value.get())) &&
        PyObject_TypeCheck(value.get(), PyDescr_TYPE(callable)) && PyDescr_TYPE(callable) != &PyBaseObject_Type) {
      value = Owned::share(origins.absorb(value.get()));
      plain = blind || prepare_contents(value.get(), 0);
      continue;
    }
    if (known.iterables && !(method && i == 0) && is_opaque(value.get())) {
      plain = false;
      break;
    }
    // sorted(items, key=type): for C the class of a fake, or of a number that is not fixed, is another.
    if (known.iterables && i > 0 && value.get() == reinterpret_cast<PyObject*>(&PyType_Type)) {
      plain = false;
      break;
    }
    plain = prepare(value, blind);
    if (method && i == 0 && plain && origins.outside(value.get()) && !is_immutable(value.get()) &&
        !recorder.is_fake(value.get()))
      plain = false;
  }
  looks_ = Looks::at_all;
  const PyTypeObject* maker = of != nullptr            ? of
                              : PyType_Check(callable) ? reinterpret_cast<PyTypeObject*>(callable)
                                                       : nullptr;
  if (plain && maker != nullptr && std::string_view(maker->tp_name) == "decimal.Decimal") {
    if (args.named() != 0) break_here(Reason::unknown_callable, "Decimal with keywords");
    const std::vector<PyObject*> all = args.pointers();
    return call_exactly(callable, all);
  }
  if (plain) return canonical(call_c(callable, args));
  if (!in_polyfill(frames)) {
    if (PyObject* substitute = polyfill_of(callable)) {
      for (Owned& value : args.values) value = canonical(std::move(value));
      return call_function(substitute, std::move(args));
    }
  }
  break_here(Reason::callback, shown(callable));
}

// Arithmetic of Decimal rounds, and notes so, by the context of the thread: a result that needs it is a break.
Owned Evaluator::call_exactly(PyObject* callable, std::span<PyObject* const> args) {
  static PyObject* const exactly = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._polyfills.of_numbers"));
    return Owned::take(PyObject_GetAttrString(module.get(), "exactly")).give();
  }();
  std::vector<PyObject*> all{callable};
  all.insert(all.end(), args.begin(), args.end());
  PyObject* result = PyObject_Vectorcall(exactly, all.data(), all.size(), nullptr);
  if (result == nullptr) failed();
  Owned made = Owned::take(result);
  if (result == exactly) break_here(Reason::state);
  return made;
}

// The object of a bound method of C. One from outside (out.append, on the stack at a break) leads to an object from
// outside, which is not to be written now; guards check that it is a method of that name.
Owned Evaluator::owner_of(PyObject* method, PyObject* self) {
  Origins::Entry* e = origins.find(method);
  if (e == nullptr || e->identity_guarded || e->source == kNoSource) return canonical(Owned::share(self));
  origins.guard_type(method);
  const SourceId source = e->source;
  const Owned name = Owned::take(PyObject_GetAttr(method, attribute_name("__name__")));
  (void)origins.wrap(name.get(), origins.sources().add(Step::attribute, source, 0, attribute_name("__name__")));
  Owned owner = origins.wrap(self, origins.sources().add(Step::attribute, source, 0, attribute_name("__self__")));
  origins.guard_type(owner.get());
  return canonical(std::move(owner));
}

// Functions that the program has marked: capture calls them itself, and does not look inside.
Owned Evaluator::call_marked(PyObject* callable, const Arguments& args, bool constant) {
  origins.guard_identity(callable);
  const std::vector<PyObject*> values = args.pointers();
  if (constant && std::any_of(values.begin(), values.end(), [&](PyObject* v) { return recorder.is_fake(v); }))
    break_here(Reason::unknown_callable, "a tensor is given to " + shown(callable) + ", whose result is a constant");
  Owned result = Owned::take(PyObject_Vectorcall(callable, values.data(), args.positional(), args.names.get()));
  if (constant && !recorder.is_fake(result.get())) origins.enter_constant(result.get());
  return result;
}

Owned Evaluator::call(PyObject* callable, Arguments args, bool plain) {
  want_now(callable);
  if (sym_number(callable)) return call(fixed_number(callable).get(), std::move(args), plain);
  PyTypeObject* type = Py_TYPE(callable);
  if (auto* function = reinterpret_cast<PyObject*>(function_of_compiled(callable))) {  // part of this graph
    origins.guard_identity(callable);
    origins.enter_constant(function);
    return call(function, std::move(args), plain);
  }
  if (is_disabled(callable)) break_here(Reason::disabled, shown(callable));
  if (type == &PyMethod_Type || type == &PyCFunction_Type) {
    if (Owned drawn = draw_later(*this, callable, args)) {
      origins.guard_identity(callable);
      return drawn;
    }
  }
  if (type == &PyMethod_Type) {
    if (Origins::Entry* e = origins.find(callable); e != nullptr && !e->identity_guarded) {
      origins.guard_type(callable);
      const SourceId source = e->source;
      const Owned function =
          origins.wrap(PyMethod_GET_FUNCTION(callable), origins.sources().add(Step::method_function, source));
      args.prepend(origins.wrap(PyMethod_GET_SELF(callable), origins.sources().add(Step::method_self, source)));
      return call(function.get(), std::move(args), plain);
    }
    const Owned function = Owned::share(PyMethod_GET_FUNCTION(callable));
    args.prepend(canonical(Owned::share(PyMethod_GET_SELF(callable))));
    return call(function.get(), std::move(args), plain);
  }
  if (type == &PyFunction_Type) {
    if (Owned made = call_numpy(*this, callable, args)) return made;
    if (!args.values.empty() && later_of(args[0]) && makes_tensor(callable))
      if (Owned made = tensor_of_array(*this, callable, args)) return made;
    bool done = false;
    Owned result = call_known(callable, args, done);
    if (done) return result;
    if (is_note_of_dynamo(callable)) return Owned::share(Py_None);
    if (recorder.is_operator(callable)) {
      origins.guard_identity(callable);
      return call_operator(callable, args);
    }
    if (PyObject* dict = reinterpret_cast<PyFunctionObject*>(callable)->func_dict) {
      if (PyDict_GetItemString(dict, "_dynamo_marked_constant") != nullptr) return call_marked(callable, args, true);
      if (PyDict_GetItemString(dict, "_dynamo_allowed_in_graph") != nullptr) return call_marked(callable, args, false);
    }
    if (const Owned behind = behind_lazy_function(callable)) {
      origins.guard_identity(callable);
      origins.enter_constant(behind.get());
      return call(behind.get(), std::move(args), plain);
    }
    if (Owned found = dispatch_by_class(*this, callable, args)) return found;
    // A generator of random numbers that the program has made itself is an object like others.
    const bool own_generator = !args.values.empty() && is_random_generator(args[0]) && !origins.outside(args[0]);
    if (is_left_alone(callable) && !own_generator) break_here(Reason::unknown_callable, shown(callable));
    if (!in_polyfill(frames)) {
      if (PyObject* substitute = polyfill_of(callable)) return call_function(substitute, std::move(args));
    }
    return call_function(callable, std::move(args), plain);
  }
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (self != nullptr && !PyModule_Check(self)) {
      if (!PyType_Check(self)) {  // a bound method of C
        const Owned name =
            Owned::take(PyUnicode_InternFromString(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name));
        PyObject* descriptor = method_descriptor(callable, self, name.get());
        if (descriptor != nullptr) {
          args.prepend(owner_of(callable, self));
          return call(descriptor, std::move(args));
        }
      } else {
        const Owned name =
            Owned::take(PyUnicode_InternFromString(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name));
        if (PyUnicode_CompareWithASCIIString(name.get(), "__new__") == 0) {
          auto* base = reinterpret_cast<PyTypeObject*>(self);
          if (std::string_view(base->tp_name) == "_random.Random" && args.values.size() > 1 && args[1] != Py_None)
            return native(callable, args, true);
          const bool known_base = base == &PyBaseObject_Type || is_plain_class(base) || base == module_base() ||
                                  PyType_IsSubtype(base, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
          if (known_base && !args.values.empty() && PyType_Check(args[0])) {
            refuse_finaliser(reinterpret_cast<PyTypeObject*>(args[0]));
            if (base == &PyBaseObject_Type || base == &PyDict_Type || base == &PySet_Type) {  // __init__ takes the rest
              Arguments alone = Arguments::of({args[0]});
              return native(callable, alone, true);
            }
            return native(callable, args, base != &PyFrozenSet_Type);
          }
        }
        PyObject* descriptor = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(self), name.get());
        if (descriptor != nullptr && known_of(descriptor).treatment != Treatment::unknown)
          return native(callable, args, false);
      }
    }
  }
  if (type == method_wrapper_type()) {
    const Owned self = Owned::take(PyObject_GetAttr(callable, attribute_name("__self__")));
    const Owned name = Owned::take(PyObject_GetAttr(callable, attribute_name("__name__")));
    const Owned of = Owned::take(PyObject_GetAttr(callable, attribute_name("__objclass__")));
    PyObject* descriptor = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(of.get()), name.get());
    if (descriptor != nullptr) {
      args.prepend(owner_of(callable, self.get()));
      return call(descriptor, std::move(args));
    }
  }
  if (type != &PyType_Type ||
      std::string_view(reinterpret_cast<PyTypeObject*>(callable)->tp_name).starts_with("numpy."))
    if (Owned made = call_numpy(*this, callable, args)) return made;
  if (!args.values.empty() && later_of(args[0]) && makes_tensor(callable))
    if (Owned made = tensor_of_array(*this, callable, args)) return made;
  if (type == &PyMethodDescr_Type && !args.values.empty() && recorder.is_fake(args[0])) {
    if (Owned made = ask_later(*this, callable, args)) return made;
  }
  if (recorder.is_operator(callable)) {
    if (Owned made = ask_memory(*this, callable, args)) return made;
    bool on_fakes = type != &PyCFunction_Type || PyCFunction_GET_SELF(callable) == nullptr ||
                    PyModule_Check(PyCFunction_GET_SELF(callable)) == 0 ||
                    known_of(callable).treatment == Treatment::unknown;
    for (const Owned& value : args.values) on_fakes = on_fakes || recorder.is_fake(value.get());
    if (on_fakes) {
      origins.guard_identity(callable);
      return call_operator(callable, args);
    }
  }
  if (PyType_Check(callable)) {
    return instantiate(reinterpret_cast<PyTypeObject*>(callable), std::move(args));
  }
  if (type == &PyWrapperDescr_Type && PyDescr_TYPE(callable) == module_base() && name_text(callable) == "__call__" &&
      args.positional() > 0 && PyObject_TypeCheck(args[0], module_base())) {  // super().__call__(x)
    const Owned module = std::move(args.values.front());
    args.values.erase(args.values.begin());
    return call_module(module.get(), std::move(args), plain);
  }
  bool done = false;
  Owned result = call_known(callable, args, done);
  if (done) return result;
  if (type == partial_type()) {
    const auto part = [&](const char* name) {
      Owned value = Owned::take(PyObject_GetAttr(callable, attribute_name(name)));
      Origins::Entry* e = origins.find(callable);
      if (e == nullptr) return value;
      origins.guard_type(callable);
      return origins.wrap(value.get(), origins.sources().add(Step::attribute, e->source, 0, attribute_name(name)));
    };
    const Owned function = part("func"), first = part("args"), keywords = part("keywords");
    PyObject* positional = origins.absorb(first.get());
    PyObject* named = origins.absorb(keywords.get());
    Arguments all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional); ++i)
      all.values.push_back(canonical(Owned::share(PyTuple_GET_ITEM(positional, i))));
    const size_t given = args.positional();
    for (size_t i = 0; i < given; ++i) all.values.push_back(std::move(args.values[i]));
    const Owned merged = Owned::take(PyDict_Copy(named));
    for (size_t i = 0; i < args.named(); ++i) check(PyDict_SetItem(merged.get(), args.name(i), args[given + i]));
    if (PyDict_GET_SIZE(merged.get()) > 0) {
      all.names = Owned::take(PyTuple_New(PyDict_GET_SIZE(merged.get())));
      Py_ssize_t at = 0, i = 0;
      PyObject *key = nullptr, *value = nullptr;
      while (PyDict_Next(merged.get(), &at, &key, &value)) {
        PyTuple_SET_ITEM(all.names.get(), i++, Py_NewRef(key));
        all.values.push_back(canonical(Owned::share(value)));
      }
    }
    return call(function.get(), std::move(all), plain);
  }
  if (type == &_PyWeakref_RefType && !origins.outside(callable) && args.values.empty()) {
    PyObject* object = PyWeakref_GET_OBJECT(callable);
    // What the program has taken out of its place may be gone eagerly.
    if (object == Py_None || !origins.same({})) break_here(Reason::unknown_callable, "weakref.ReferenceType");
    return Owned::share(object);
  }
  if (type == cached_type()) {  // functools.cache: the function itself, as PyTorch does it and says
    origins.guard_identity(callable);
    warn_of_cache(*frames.back(), callable);
    const Owned function = Owned::take(PyObject_GetAttr(callable, attribute_name("__wrapped__")));
    origins.enter_constant(function.get());
    return call(function.get(), std::move(args), plain);
  }
  if (is_heap_instance(callable)) {
    if (PyObject_TypeCheck(callable, module_base()) && Py_TYPE(callable)->tp_call == module_base()->tp_call)
      return call_module(callable, std::move(args), plain);
    if (Owned method = python_special(callable, attribute_name("__call__"))) {
      if (PyMethod_Check(method.get())) {
        if (Owned forward = torch_forward(*this, callable, PyMethod_GET_FUNCTION(method.get())))
          method = std::move(forward);
      }
      return call(method.get(), std::move(args), plain);
    }
  }
  if (!in_polyfill(frames)) {
    if (PyObject* substitute = polyfill_of(callable)) return call_function(substitute, std::move(args));
  }
  if (PyObject* substitute = polyfill_of(callable, true)) {  // also as the key of sorted, which a polyfill calls
    args.prepend(Owned::share(callable));
    return call_function(substitute, std::move(args));
  }
  if (type->tp_call == nullptr) raise(PyExc_TypeError, "'%.200s' object is not callable", type->tp_name);
  break_here(Reason::unknown_callable, shown(callable));
}

Owned Evaluator::call_operator(PyObject* callable, Arguments& args) {
  if (const std::vector<PyObject*> all = args.pointers(); is_overridden(all, args.names.get()))
    return call_overridden(callable, all, args.names.get());
  if (args.keyword("requires_grad") == Py_True)  // the graph would give it back without
    break_here(Reason::unknown_callable, shown(callable) + " with requires_grad=True");
  for (Owned& value : args.values) {
    value = number_for_graph(*this, value.get());
    if (!prepare(value, false)) break_here(Reason::callback, shown(callable));
  }
  const std::vector<PyObject*> all = args.pointers();
  return canonical(recorder.call(callable, all, args.names.get()));
}

// Module.__call__, which is of C: forward at once where no hooks are.
Owned Evaluator::call_module(PyObject* module, Arguments args, bool plain) {
  static PyObject* const tables[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                     interned("_backward_hooks"), interned("_backward_pre_hooks")};
  static PyObject* const global_tables = [] {
    const Owned m = Owned::take(PyImport_ImportModule("sconce.nn.module"));
    Owned all = Owned::take(PyTuple_New(4));
    Py_ssize_t i = 0;
    for (const char* name :
         {"_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks"})
      PyTuple_SET_ITEM(all.get(), i++, Owned::take(PyObject_GetAttrString(m.get(), name)).give());
    return all.give();
  }();
  origins.guard_type(module);
  bool hooked = false;
  for (Py_ssize_t i = 0; i < 4; ++i) {
    PyObject* table = PyTuple_GET_ITEM(global_tables, i);
    if (!origins.outside(table))
      origins.enter(table, origins.sources().add(Step::constant, kNoSource, 0, nullptr, table)).type_guarded = true;
    hooked = hooked || length(table) != 0;
  }
  PyObject* dict = origins.instance_dict(module);
  for (PyObject* name : tables) {
    if (hooked) break;
    PyObject* table = origins.dict_find(dict, name);
    hooked = table == nullptr || !PyDict_Check(table) || length(table) != 0;
  }
  static PyObject* const forward = interned("forward");
  static PyObject* const slow = interned("_call_with_hooks");
  const Owned method = get_attribute(module, hooked ? slow : forward);
  return call(method.get(), std::move(args), plain);
}

Owned Evaluator::instantiate(PyTypeObject* type, Arguments args) {
  auto* object = reinterpret_cast<PyObject*>(type);
  bool done = false;
  if (type != &PyType_Type || args.positional() != 3) {
    Owned result = call_known(object, args, done);
    if (done) return result;
  }
  PyTypeObject* meta = Py_TYPE(type);
  if (meta->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    PyObject* custom = origins.class_find(meta, attribute_name("__call__"));
    if (custom != nullptr && PyFunction_Check(custom)) {
      static PyTypeObject* const enum_meta = type_from("enum", "EnumMeta");
      if (PyType_IsSubtype(meta, enum_meta) && args.values.size() == 1 && is_constant(args[0])) {
        const Owned member = native(object, args, true);
        origins.enter_constant(member.get());
        return Owned::share(member.get());
      }
      const Owned method = Owned::take(PyMethod_New(custom, object));
      return call(method.get(), std::move(args));
    }
  }
  return make_instance(type, std::move(args));
}

// type.__call__: __new__, then __init__.
Owned Evaluator::make_instance(PyTypeObject* type, Arguments args) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) break_here(Reason::unknown_callable, type->tp_name);
  refuse_finaliser(type);
  if (PyType_IsSubtype(type, &PyType_Type)) break_here(Reason::class_definition, type->tp_name);
  PyObject* maker = origins.class_find(type, attribute_name("__new__"));
  PyObject* init = origins.class_find(type, attribute_name("__init__"));
  static PyObject* const object_init = _PyType_Lookup(&PyBaseObject_Type, attribute_name("__init__"));
  static PyObject* const object_new = _PyType_Lookup(&PyBaseObject_Type, attribute_name("__new__"));
  const auto copy_of = [&] {
    Arguments copy;
    for (const Owned& value : args.values) copy.values.push_back(Owned::share(value.get()));
    if (args.names) copy.names = Owned::share(args.names.get());
    return copy;
  };
  Owned made;
  if (maker == object_new) {
    if (init == object_init && !args.values.empty()) return native(object, args, true);  // says that it takes none
    Arguments alone = Arguments::of({object});
    made = native(maker, alone, true);
  } else if (Py_TYPE(maker) == &PyStaticMethod_Type || PyFunction_Check(maker)) {
    bool bound = false;
    const Owned function = bind(maker, nullptr, type, bound);
    Arguments with = copy_of();
    with.prepend(Owned::share(object));
    made = call(function.get(), std::move(with));
  } else {
    Arguments with = copy_of();
    with.prepend(Owned::share(object));
    made = call(maker, std::move(with));
  }
  if (!PyObject_TypeCheck(made.get(), type)) return made;
  init = origins.class_find(Py_TYPE(made.get()), attribute_name("__init__"));
  if (init == object_init || init == nullptr) return made;
  Arguments with = copy_of();
  with.prepend(Owned::share(made.get()));
  bool bound = false;
  if (PyFunction_Check(init)) {
    const Owned nothing = call(init, std::move(with));
    if (nothing.get() != Py_None)
      raise(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(nothing.get())->tp_name);
  } else if (Py_TYPE(init) == &PyWrapperDescr_Type) {
    (void)call(init, std::move(with));
  } else {
    const Owned method = bind(init, made.get(), type, bound);
    (void)call(method.get(), std::move(args));
  }
  return made;
}

}  // namespace sconce::python::capture
