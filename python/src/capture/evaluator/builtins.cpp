// Builtins that the evaluator knows by heart, as they look at attributes, classes or iterators of their arguments.
#include <algorithm>

#include "capture/evaluator/callbacks.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/evaluator/policy.h"
#include "capture/evaluator/stand_ins.h"
#include "capture/graph/sym_int.h"
#include "tensor_object.h"

namespace sconce::python::capture {

// Handlers: what a callable does with these arguments. A friend of the evaluator.
struct Builtins {
  static void need(const Arguments& args, size_t least, size_t most, const char* name) {
    if (args.named() != 0 || args.values.size() < least || args.values.size() > most) refuse(name);
  }
  // Not inlined: where g++ 12 knows the name's length, it warns of bounds inside of std::string.
  [[noreturn, gnu::noinline]] static void refuse(const char* name) {
    break_here(Reason::unknown_callable, std::string(name) + " with unusual arguments");
  }
  static Owned truth_object(bool v) { return Owned::share(v ? Py_True : Py_False); }

  // isinstance(object, P) of a protocol that is checked when the program runs: it has these attributes. Reading them guards
  // what the answer depends on. Empty: not for these.
  static std::optional<bool> fulfils(Evaluator& e, PyObject* object, PyObject* type) {
    static PyObject* const mark = interned("_is_runtime_protocol");
    static PyTypeObject* const meta = Py_TYPE(
        Owned::take(PyObject_GetAttrString(Owned::take(PyImport_ImportModule("typing")).get(), "Protocol")).get());
    if (Py_TYPE(type) != meta || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return {};
    if (_PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), mark) != Py_True) return {};
    static PyObject* const attributes =
        Owned::take(PyObject_GetAttrString(Owned::take(PyImport_ImportModule("typing")).get(), "_get_protocol_attrs"))
            .give();
    const Owned names = Owned::take(PyObject_CallOneArg(attributes, type));
    const Owned iterator = Owned::take(PyObject_GetIter(names.get()));
    while (PyObject* name = PyIter_Next(iterator.get())) {
      const Owned kept = Owned::take(name);
      (void)e.find_attribute(object, e.origins.keep(Owned::share(name)));
    }
    PyObject* dict = e.origins.instance_dict(object);
    if (e.origins.outside(object) && (e.origins.is_written(object) || (dict != nullptr && e.origins.is_written(dict))))
      return {};
    const int is = PyObject_IsInstance(object, type);
    check(is);
    return is != 0;
  }

  static bool instance_of(Evaluator& e, PyObject* object, PyObject* type, bool subclass) {
    type = e.origins.absorb(type);
    if (PyTuple_Check(type)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); ++i) {
        if (instance_of(e, object, PyTuple_GET_ITEM(type, i), subclass)) return true;
      }
      return false;
    }
    if (!subclass && later_of(object)) {
      const int is = PyObject_IsSubclass(reinterpret_cast<PyObject*>(later_class(object)), type);
      check(is);
      return is != 0;
    }
    e.origins.guard_type(object);
    if (!subclass && reinterpret_cast<PyObject*>(Py_TYPE(object)) == type) return true;
    if (!subclass)
      if (const std::optional<bool> is = fulfils(e, object, type)) return *is;
    static PyObject* const names[] = {interned("__instancecheck__"), interned("__subclasscheck__")};
    PyTypeObject* meta = Py_TYPE(type);
    if (meta->tp_flags & Py_TPFLAGS_HEAPTYPE) {
      PyObject* custom = _PyType_Lookup(meta, names[subclass]);
      static PyObject* const abstract = [] {
        const Owned m = Owned::take(PyImport_ImportModule("abc"));
        return Owned::take(PyObject_GetAttrString(m.get(), "ABCMeta")).give();
      }();
      if (custom != nullptr && PyFunction_Check(custom) &&
          custom != _PyType_Lookup(reinterpret_cast<PyTypeObject*>(abstract), names[subclass])) {
        const Owned method = Owned::take(PyMethod_New(e.origins.class_find(meta, names[subclass]), type));
        const Owned is = e.call(method.get(), Arguments::of({object}));
        return e.truth(is.get());
      }
    }
    const int is = subclass ? PyObject_IsSubclass(object, type) : PyObject_IsInstance(object, type);
    check(is);
    return is;
  }

  static Owned isinstance(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "isinstance");
    return truth_object(instance_of(e, a[0], a[1], false));
  }
  static Owned issubclass(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "issubclass");
    return truth_object(instance_of(e, a[0], a[1], true));
  }
  static Owned callable(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 1, 1, "callable");
    if (later_of(a[0])) return truth_object(later_class(a[0])->tp_call != nullptr);
    if (sym_number(a[0])) return truth_object(false);
    e.origins.guard_type(a[0]);
    static PyObject* const name = interned("__call__");
    if (is_heap_instance(a[0])) (void)e.origins.class_find(Py_TYPE(a[0]), name);
    return truth_object(PyCallable_Check(a[0]));
  }
  static Owned hasattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "hasattr");
    want_now(a[1]);
    return truth_object(static_cast<bool>(e.find_attribute(a[0], a[1])));
  }
  static Owned getattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 3, "getattr");
    want_now(a[1]);
    if (!PyUnicode_Check(a[1]))
      raise(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(a[1])->tp_name);
    PyObject* name = Py_NewRef(a[1]);
    PyUnicode_InternInPlace(&name);
    const Owned interned_name = Owned::take(name);
    if (a.values.size() == 2) return e.get_attribute(a[0], name);
    Owned found = e.find_attribute(a[0], name);
    return found ? std::move(found) : Owned::share(a[2]);
  }
  static Owned setattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 3, 3, "setattr");
    want_now(a[1]);
    PyObject* name = Py_NewRef(a[1]);
    if (!PyUnicode_CheckExact(name)) {
      Py_DECREF(name);
      raise(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(a[1])->tp_name);
    }
    PyUnicode_InternInPlace(&name);
    const Owned kept = Owned::take(name);
    e.set_attribute(a[0], name, a[2]);
    return Owned::share(Py_None);
  }
  static Owned delattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "delattr");
    want_now(a[1]);
    e.set_attribute(a[0], a[1], nullptr);
    return Owned::share(Py_None);
  }
  static Owned object_setattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 3, 3, "object.__setattr__");
    want_now(a[1]);
    e.generic_set(a[0], a[1], a[2]);
    return Owned::share(Py_None);
  }
  static Owned object_delattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "object.__delattr__");
    want_now(a[1]);
    e.generic_set(a[0], a[1], nullptr);
    return Owned::share(Py_None);
  }
  static Owned object_getattribute(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "object.__getattribute__");
    want_now(a[1]);
    Owned found = e.generic_attribute(a[0], a[1]);
    if (!found) raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(a[0])->tp_name, a[1]);
    return found;
  }
  static Owned module_getattr(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "Module.__getattr__");
    want_now(a[1]);
    e.origins.guard_type(a[0]);
    return e.registered_attribute(a[0], a[1]);
  }
  static Owned object_init(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.size() > 1) return e.native(callable, a, true);
    return Owned::share(Py_None);
  }
  static Owned same_or_not(Evaluator& e, PyObject*, Arguments& a) {  // object.__eq__
    need(a, 2, 2, "object.__eq__");
    return Owned::share(e.is_same(a[0], a[1]) ? Py_True : Py_NotImplemented);
  }
  static Owned init_subclass(Evaluator&, PyObject*, Arguments&) { return Owned::share(Py_None); }
  static Owned type_call(Evaluator& e, PyObject*, Arguments& a) {
    if (a.values.empty() || !PyType_Check(a[0])) break_here(Reason::unknown_callable, "type.__call__");
    const Owned type = std::move(a.values[0]);
    a.values.erase(a.values.begin());
    return e.make_instance(reinterpret_cast<PyTypeObject*>(type.get()), std::move(a));
  }
  static Owned type_of(Evaluator& e, PyObject*, Arguments& a) {
    if (a.values.size() != 1) break_here(Reason::class_definition, "type(name, bases, dict)");
    if (later_of(a[0])) return Owned::share(reinterpret_cast<PyObject*>(later_class(a[0])));
    e.origins.guard_type(a[0]);
    if (const SymNumber* n = sym_number(a[0]))
      return Owned::share(reinterpret_cast<PyObject*>(n->hint.is_float ? &PyFloat_Type : &PyLong_Type));
    return Owned::share(reinterpret_cast<PyObject*>(Py_TYPE(a[0])));
  }
  static Owned super(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.empty()) {
      Frame& f = *e.frames.back();
      PyObject* cell = nullptr;
      for (size_t i = 0; i < f.code->locals.size(); ++i) {
        if ((f.code->kinds[i] & 0x80) && PyUnicode_CompareWithASCIIString(f.code->locals[i].get(), "__class__") == 0)
          cell = f.fast[i];
      }
      if (cell == nullptr) raise(PyExc_RuntimeError, "super(): __class__ cell not found");
      PyObject* type = e.origins.cell_contents(cell);
      if (type == nullptr) raise(PyExc_RuntimeError, "super(): empty __class__ cell");
      PyObject* self = f.fast.size() == 0 ? nullptr : f.fast[0];
      if (self != nullptr && PyCell_Check(self))
        self = e.origins.cell_contents(self);
      else if (self != nullptr)
        self = e.origins.keep(e.load_fast(f, 0));
      if (self == nullptr) raise(PyExc_RuntimeError, "super(): arg[0] deleted");
      a = Arguments::of({type, self});
    }
    if (a.values.size() == 2) e.origins.guard_type(a[1]);
    const std::vector<PyObject*> all = a.pointers();
    return Owned::take(PyObject_Vectorcall(callable, all.data(), all.size(), nullptr));
  }
  static Owned len(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 1, 1, "len");
    if (e.recorder.is_fake(a[0]) && !sym_number(a[0])) {  // the number itself, where it is one of the graph
      static PyObject* const shape_name = PyUnicode_InternFromString("shape");
      const Owned shape = e.recorder.attribute(a[0], shape_name);
      if (shape && PyTuple_Check(shape.get()) && PyTuple_GET_SIZE(shape.get()) > 0 &&
          sym_number(PyTuple_GET_ITEM(shape.get(), 0)))
        return Owned::share(PyTuple_GET_ITEM(shape.get(), 0));
    }
    return Owned::take(PyLong_FromSsize_t(e.length(a[0])));
  }
  static Owned iter(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.size() == 1) return e.iterate(a[0]);
    if (PyObject* substitute = polyfill_of(callable)) return e.call_function(substitute, std::move(a));
    break_here(Reason::callback, "iter");
  }
  static Owned next(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 1, 2, "next");
    if (a.values.size() == 1 && is_generator(a[0]) && !is_coroutine(a[0])) {
      Owned returned;
      if (Owned item = e.resume_generator(a[0], Py_None, returned)) return item;
      const Owned stop = returned.get() == Py_None
                             ? Owned::take(PyObject_CallNoArgs(PyExc_StopIteration))
                             : Owned::take(PyObject_CallOneArg(PyExc_StopIteration, returned.get()));
      PyErr_SetObject(PyExc_StopIteration, stop.get());
      throw PythonError();
    }
    if (a.values.size() == 1) {  // the exception of __next__ passes as it is
      static PyObject* const name = interned("__next__");
      if (Owned method = e.python_special(a[0], name)) return e.call(method.get(), {});
    }
    Owned item = e.next(a[0]);
    if (item) return item;
    if (a.values.size() == 2) return Owned::share(a[1]);
    PyErr_SetNone(PyExc_StopIteration);
    throw PythonError();
  }
  static Owned bool_(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 0, 1, "bool");
    return truth_object(!a.values.empty() && e.truth(a[0]));
  }

  // repr, str, hash, int and the like: a special method, or code of C on what has none.
  static Owned by_special(Evaluator& e, PyObject* callable, Arguments& a, std::initializer_list<const char*> specials) {
    if (!a.values.empty() && (later_of(a[0]) || (e.recorder.is_fake(a[0]) && !sym_number(a[0])))) {
      if (Owned made = call_later(e, callable, a)) return made;
      want_now(a[0]);
    }
    for (Owned& value : a.values) value = fixed_number(value.get());
    if (!a.values.empty()) {
      PyObject* o = a[0];
      if (e.recorder.is_fake(o) && !sym_number(o))
        break_here(Reason::data_dependent, std::string(*specials.begin()) + " of a tensor");
      if (is_heap_instance(o) && !PyType_Check(o)) {
        for (const char* name : specials) {
          const Owned key = Owned::take(PyUnicode_InternFromString(name));
          if (Owned method = e.python_special(o, key.get())) {
            Arguments rest;
            for (size_t i = 1; i < a.values.size(); ++i) rest.values.push_back(Owned::share(a[i]));
            return e.call(method.get(), std::move(rest));
          }
          // One of C that is not just object's (str of an IntEnum): it comes first.
          PyObject* of_c = _PyType_Lookup(Py_TYPE(o), key.get());
          if (of_c != nullptr && of_c != _PyType_Lookup(&PyBaseObject_Type, key.get())) {
            break_if_opaque(e, o);
            return e.call_c(callable, a);
          }
        }
      }
    }
    e.looks_ = Looks::at_texts;
    bool plain = true;
    for (Owned& value : a.values) plain = plain && e.prepare(value, false);
    e.looks_ = Looks::at_all;
    if (!plain) {
      if (PyObject* substitute = polyfill_of(callable)) return e.call_function(substitute, std::move(a));
      break_here(Reason::callback, *specials.begin());
    }
    return e.call_c(callable, a);
  }
  // Code of C looks at what nothing guards.
  static void break_if_opaque(Evaluator& e, PyObject* o) {
    PyTypeObject* base = Py_TYPE(o);
    while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
    const bool value = base == &PyLong_Type || base == &PyUnicode_Type || base == &PyFloat_Type ||
                       base == &PyComplex_Type || base == &PyBytes_Type;
    if (!value) break_here(Reason::unknown_object, Py_TYPE(o)->tp_name);
    if (e.origins.outside(o)) e.origins.guard_identity(o);
  }
  static bool has_address(PyObject* o) {  // object.__repr__ shows where the object lies
    static PyObject* const name = interned("__repr__");
    return _PyType_Lookup(Py_TYPE(o), name) == _PyType_Lookup(&PyBaseObject_Type, name) || PyFunction_Check(o) ||
           PyMethod_Check(o);
  }
  static Owned repr(Evaluator& e, PyObject* c, Arguments& a) {
    if (a.values.size() == 1 && has_address(a[0]))
      break_here(Reason::unknown_object, "the address of an object is shown");
    return by_special(e, c, a, {"__repr__"});
  }
  // Of an exception from outside, whose class is one of C: its arguments alone make it. Empty for others.
  static Owned text_of_error(Evaluator& e, PyObject* error) {
    if (!PyExceptionInstance_Check(error) || is_heap_instance(error)) return {};
    static PyObject* const plain[] = {PyExc_Exception,      PyExc_ValueError,         PyExc_TypeError,
                                      PyExc_RuntimeError,   PyExc_KeyError,           PyExc_IndexError,
                                      PyExc_LookupError,    PyExc_ArithmeticError,    PyExc_ZeroDivisionError,
                                      PyExc_AssertionError, PyExc_NotImplementedError};
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(error));
    if (std::find(std::begin(plain), std::end(plain), type) == std::end(plain)) return {};
    static PyObject* const name = interned("args");
    e.origins.guard_type(error);
    const Owned args = Owned::take(PyObject_GetAttr(error, name));
    if (!is_constant(args.get())) return {};
    e.origins.sources().guard(e.origins.sources().add(Step::attribute, e.origins.source_of(error), 0, name),
                              FactKind::equal, args.get());
    return Owned::take(PyObject_Str(error));
  }
  static Owned str(Evaluator& e, PyObject* c, Arguments& a) {
    if (a.values.size() == 1 && PyExceptionInstance_Check(a[0]) && !e.origins.outside(a[0])) {
      if (Owned m = is_heap_instance(a[0]) ? e.special(a[0], "__str__") : Owned(); m && PyMethod_Check(m.get()))
        return e.call(m.get(), {});
      const Owned given = Owned::take(PyObject_GetAttrString(a[0], "args"));
      e.looks_ = Looks::at_texts;
      const bool plain = e.prepare_contents(given.get(), 0);
      e.looks_ = Looks::at_all;
      if (!plain) break_here(Reason::callback, "__str__");
      return Owned::take(PyObject_Str(a[0]));
    }
    if (a.values.size() == 1 && e.origins.outside(a[0])) {
      if (Owned made = text_of_error(e, a[0])) return made;
    }
    if (a.values.size() == 1 && has_address(a[0]) && !e.python_special(a[0], str_name()))
      break_here(Reason::unknown_object, "the address of an object is shown");
    return by_special(e, c, a, {"__str__", "__repr__"});
  }
  static PyObject* str_name() {
    static PyObject* const name = interned("__str__");
    return name;
  }
  static Owned format(Evaluator& e, PyObject* c, Arguments& a) {
    if (a.values.empty()) break_here(Reason::unknown_callable, "format");
    if (is_heap_instance(a[0]) && !PyType_Check(a[0]) && !e.recorder.is_fake(a[0])) {
      static PyObject* const name = interned("__format__");
      if (!e.python_special(a[0], name) && has_python_specials(Py_TYPE(a[0]), Looks::at_texts) &&
          (a.values.size() == 1 || (PyUnicode_Check(a[1]) && PyUnicode_GET_LENGTH(a[1]) == 0))) {
        Arguments one = Arguments::of({a[0]});
        return str(e, reinterpret_cast<PyObject*>(&PyUnicode_Type), one);
      }
    }
    return by_special(e, c, a, {"__format__"});
  }
  static Owned hash(Evaluator& e, PyObject* c, Arguments& a) {
    need(a, 1, 1, "hash");
    if (e.recorder.is_fake(a[0]) && !sym_number(a[0])) break_here(Reason::unknown_object, "the hash of a tensor");
    return by_special(e, c, a, {"__hash__"});
  }
  // int(n) of a number that is not fixed is that number.
  static bool is_already(const Arguments& a, bool is_float) {
    const SymNumber* n = a.values.size() == 1 && a.named() == 0 ? sym_number(a[0]) : nullptr;
    return n != nullptr && n->hint.is_float == is_float;
  }
  static Owned int_(Evaluator& e, PyObject* c, Arguments& a) {
    if (is_already(a, false)) return Owned::share(a[0]);
    return by_special(e, c, a, {"__int__", "__index__", "__trunc__"});
  }
  static Owned float_(Evaluator& e, PyObject* c, Arguments& a) {
    if (is_already(a, true)) return Owned::share(a[0]);
    return by_special(e, c, a, {"__float__", "__index__"});
  }
  static Owned globals(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 0, 0, "globals");
    return Owned::share(e.frames.back()->globals);
  }
  static Owned vars(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 1, 1, "vars");
    static PyObject* const name = interned("__dict__");
    return e.get_attribute(a[0], name);
  }
  static Owned id(Evaluator& e, PyObject* callable, Arguments& a) {
    need(a, 1, 1, "id");
    PyObject* o = e.origins.canonical(a[0]);
    const bool made_here = (is_tensor(o) && e.recorder.is_fake(o)) ||
                           (!e.recorder.is_fake(o) && !e.origins.outside(o) && !is_immutable(o) && !later_of(o) &&
                            !PyType_Check(o) && !sym_number(o));
    if (made_here) return make_address(e, callable, o);
    if (o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis) return Owned::take(PyLong_FromVoidPtr(o));
    // Numbers and texts that are equal may be one object or several; is says of them what they are here, and so does this.
    if (is_constant(o) && !e.origins.outside(o)) return make_address(e, callable, o);
    if (e.recorder.is_fake(o) || !e.origins.outside(o)) break_here(Reason::unknown_object, "the address of an object");
    e.origins.guard_identity(o);
    return Owned::take(PyLong_FromVoidPtr(o));
  }
  static Owned push_mode(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 1, 1, "_push_torch_function_mode");
    e.function_modes.push_back(Owned::share(a[0]));
    return Owned::share(Py_None);
  }
  static Owned pop_mode(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 0, 0, "_pop_torch_function_mode");
    if (e.function_modes.empty()) break_here(Reason::state);
    Owned mode = std::move(e.function_modes.back());
    e.function_modes.pop_back();
    return mode;
  }
  static Owned mode_stack(Evaluator& e, PyObject*, Arguments&) {
    Owned all = Owned::take(PyList_New(0));
    for (const Owned& mode : e.function_modes) check(PyList_Append(all.get(), mode.get()));
    return all;
  }
  // with torch.device("meta"): what these methods of C call, followed.
  static Owned enter_device(Evaluator& e, PyObject*, Arguments& a) {
    static PyObject* const function = function_of("sconce._settings", "enter_device");
    return e.call(function, Arguments::of({a[0]}));
  }
  static Owned exit_device(Evaluator& e, PyObject*, Arguments& a) {
    static PyObject* const function = function_of("sconce._settings", "exit_device");
    return e.call(function, Arguments::of({a[0]}));
  }
  static PyObject* function_of(const char* module, const char* name) {
    const Owned found = Owned::take(PyImport_ImportModule(module));
    return Owned::take(PyObject_GetAttrString(found.get(), name)).give();
  }
  // weakref.ref(object): of one from outside, which lives on.
  static Owned refer(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.size() != 1 || e.recorder.is_fake(a[0]) || !e.origins.outside(a[0]) || !is_heap_instance(a[0]))
      break_here(Reason::unknown_callable, "weakref.ReferenceType");
    return Owned::take(PyObject_CallOneArg(callable, a[0]));
  }
  // torch.compile inside: what it makes is part of this graph when it is called (Evaluator::call).
  static Owned compile_inside(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.empty() || !PyFunction_Check(a[0])) break_here(Reason::unknown_callable, "_capture_compile");
    Owned made = e.native(callable, a, true);
    e.born(made.get());
    return made;
  }
  static Owned build_class(Evaluator& e, PyObject*, Arguments& a) { return e.build_class(a); }
  // of_objects.special(object, name): looked up in dicts of classes, which the evaluator does with guards.
  static Owned special_method(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "special");
    Owned found = e.special(a[0], std::string(text_of(a[1])).c_str());
    return found ? std::move(found) : Owned::share(Py_None);
  }
  // function.__get__(instance, owner)
  static Owned bind_function(Evaluator&, PyObject*, Arguments& a) {
    need(a, 2, 3, "function.__get__");
    if (!PyFunction_Check(a[0])) refuse("function.__get__");
    return a[1] == Py_None ? Owned::share(a[0]) : Owned::take(PyMethod_New(a[0], a[1]));
  }
  static Owned not_tracing(Evaluator&, PyObject*, Arguments&) { return Owned::share(Py_False); }
  // _sconce._function(name): a function of the library, the same each time.
  static Owned library_function(Evaluator& e, PyObject* callable, Arguments& a) {
    if (a.values.size() != 1 || !PyUnicode_CheckExact(a[0])) refuse("_function");
    const Owned found = Owned::take(PyObject_CallOneArg(callable, a[0]));
    e.origins.enter_constant(found.get());
    return Owned::share(found.get());
  }
  static Owned compiling(Evaluator&, PyObject*, Arguments&) { return Owned::share(Py_True); }
  static Owned not_pure(Evaluator&, PyObject* callable, Arguments&) {
    const Owned name = Owned::take(PyObject_Repr(callable));
    break_here(Reason::unknown_callable, std::string(text_of(name.get())));
  }

  // Dicts: lookups with guards for just one key.
  static Owned dict_get(Evaluator& e, PyObject* c, Arguments& a) {
    need(a, 2, 3, "dict.get");
    CallbackScope calls_back(e);
    e.prepare_lookup(calls_back, a[0], a.values[1], "dict.get");
    (void)c;
    if (PyObject* found = e.origins.dict_find(a[0], a[1])) return Owned::share(found);
    return Owned::share(a.values.size() == 3 ? a[2] : Py_None);
  }
  static Owned dict_contains(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "dict.__contains__");
    return truth_object(e.contains(a[0], a[1]));
  }
  static Owned get_item(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 2, "__getitem__");
    CallbackScope calls_back(e);
    e.prepare_lookup(calls_back, a[0], a.values[1], "dict.__getitem__");
    if (PyObject* found = e.origins.dict_find(a[0], a[1])) return Owned::share(found);
    PyErr_SetObject(PyExc_KeyError, a[1]);
    throw PythonError();
  }
  static Owned set_item(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 3, 3, "__setitem__");
    CallbackScope calls_back(e);
    e.prepare_lookup(calls_back, a[0], a.values[1], "dict.__setitem__");
    e.origins.dict_store(a[0], a[1], a[2]);
    return Owned::share(Py_None);
  }
  static Owned dict_pop(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 3, "dict.pop");
    CallbackScope calls_back(e);
    e.prepare_lookup(calls_back, a[0], a.values[1], "dict.pop");
    if (PyObject* found = e.origins.dict_find(a[0], a[1])) {
      Owned value = Owned::share(found);
      e.origins.dict_store(a[0], a[1], nullptr);
      return value;
    }
    if (a.values.size() == 3) return Owned::share(a[2]);
    PyErr_SetObject(PyExc_KeyError, a[1]);
    throw PythonError();
  }
  static Owned dict_setdefault(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 3, "dict.setdefault");
    CallbackScope calls_back(e);
    e.prepare_lookup(calls_back, a[0], a.values[1], "dict.setdefault");
    if (PyObject* found = e.origins.dict_find(a[0], a[1])) return Owned::share(found);
    PyObject* value = a.values.size() == 3 ? a[2] : Py_None;
    e.origins.dict_store(a[0], a[1], value);
    return Owned::share(value);
  }

  // sconce's Module.__setattr__ ends here: parameters and modules are registered, the rest are attributes.
  static Owned set_module_attribute(Evaluator& e, PyObject*, Arguments& a) {
    need(a, 2, 3, "_set_module_attribute");
    static PyObject* const tables[] = {interned("_parameters"), interned("_buffers"), interned("_modules")};
    static PyObject* const set = interned("_set_registered");
    static PyObject* const del = interned("_delete_registered");
    PyObject *self = a[0], *name = a[1], *value = a.values.size() == 3 ? a[2] : nullptr;
    e.origins.guard_type(self);
    PyObject* dict = e.origins.instance_dict(self);
    bool registered = false;
    for (PyObject* table : tables) {
      PyObject* in = e.origins.dict_find(dict, table);
      registered = registered || (in != nullptr && PyDict_Check(in) && e.origins.dict_contains(in, name));
    }
    static PyTypeObject* const base = reinterpret_cast<PyTypeObject*>(
        Owned::take(PyObject_GetAttrString(Owned::take(PyImport_ImportModule("sconce._sconce")).get(), "_ModuleBase"))
            .give());
    const bool special =
        value != nullptr && !Py_IS_TYPE(value, &tensor_type) && (is_tensor(value) || PyObject_TypeCheck(value, base));
    if (!registered && !special) {
      e.generic_set(self, name, value);
      return Owned::share(Py_None);
    }
    const Owned method = e.get_attribute(self, value == nullptr ? del : set);
    return e.call(method.get(), value == nullptr ? Arguments::of({name}) : Arguments::of({name, value}));
  }
  // Grad mode and the like: set for good here, where operators are recorded under it; the driver sets it back.
  static Owned state(Evaluator& e, PyObject* callable, Arguments& a) {
    for (Owned& value : a.values) {
      value = fixed_number(value.get());
      if (!is_immutable(value.get())) break_here(Reason::state);
    }
    const std::vector<PyObject*> all = a.pointers();
    PyObject* result = PyObject_Vectorcall(callable, all.data(), a.positional(), a.names.get());
    if (result == nullptr) e.failed();
    return Owned::take(result);
  }
};

// The body of a class is evaluated; the class itself is made by CPython.
Owned Evaluator::build_class(Arguments& args) {
  (void)args;
  break_here(Reason::class_definition);
}

void add_builtins() {
  using H = CallHandler;
  const auto add = [](const char* module, const char* name, H handler) {
    add_known(module, name, Known{Treatment::handler, handler, false});
  };
  using B = Builtins;
  const std::pair<const char*, H> rows[] = {{"isinstance", B::isinstance},
                                            {"issubclass", B::issubclass},
                                            {"hasattr", B::hasattr},
                                            {"callable", B::callable},
                                            {"getattr", B::getattr},
                                            {"setattr", B::setattr},
                                            {"delattr", B::delattr},
                                            {"type", B::type_of},
                                            {"super", B::super},
                                            {"len", B::len},
                                            {"iter", B::iter},
                                            {"next", B::next},
                                            {"bool", B::bool_},
                                            {"repr", B::repr},
                                            {"str", B::str},
                                            {"format", B::format},
                                            {"hash", B::hash},
                                            {"int", B::int_},
                                            {"float", B::float_},
                                            {"globals", B::globals},
                                            {"vars", B::vars},
                                            {"id", B::id},
                                            {"__build_class__", B::build_class},
                                            {"object.__setattr__", B::object_setattr},
                                            {"object.__delattr__", B::object_delattr},
                                            {"object.__getattribute__", B::object_getattribute},
                                            {"object.__init__", B::object_init},
                                            {"object.__eq__", B::same_or_not},
                                            {"type.__call__", B::type_call},
                                            {"dict.get", B::dict_get},
                                            {"dict.__contains__", B::dict_contains},
                                            {"dict.__getitem__", B::get_item},
                                            {"dict.__setitem__", B::set_item},
                                            {"dict.pop", B::dict_pop},
                                            {"dict.setdefault", B::dict_setdefault},
                                            {"locals", B::not_pure},
                                            {"dir", B::not_pure},
                                            {"eval", B::not_pure},
                                            {"exec", B::not_pure},
                                            {"compile", B::not_pure},
                                            {"__import__", B::not_pure},
                                            {"breakpoint", B::not_pure}};
  for (const auto& [name, handler] : rows) add("builtins", name, handler);
  for (const char* name : {"property", "staticmethod", "classmethod"})
    add_known("builtins", name, Known{Treatment::blind, nullptr, false});
  add_known("functools", "partial", Known{Treatment::blind, nullptr, false});
  add_known("types", "MethodType", Known{Treatment::blind, nullptr, false});
  add_known("types", "SimpleNamespace", Known{Treatment::blind, nullptr, false});
  add("weakref", "ref", B::refer);
  add("sconce._sconce", "_torch_function_modes", B::mode_stack);
  add("sconce._sconce", "device.__enter__", B::enter_device);
  add("sconce._sconce", "device.__exit__", B::exit_device);
  add("sconce._sconce", "_push_torch_function_mode", B::push_mode);
  add("sconce._sconce", "_pop_torch_function_mode", B::pop_mode);
  add("sconce._sconce", "_capture_compile", B::compile_inside);
  add("sconce._sconce", "_set_module_attribute", B::set_module_attribute);
  add("sconce._sconce", "_ModuleBase.__getattr__", B::module_getattr);
  for (const char* name :
       {"is_grad_enabled", "_set_grad_enabled", "is_inference_mode_enabled", "get_default_dtype", "_set_inference_mode",
        "_restore_inference_mode", "_inference_mode_state", "_autocast_state", "_set_autocast", "clear_autocast_cache",
        "get_num_threads", "is_deterministic", "_cpu_level", "_change_torch_function_disabled", "set_default_dtype",
        "_is_torch_function_enabled", "_set_saves_inference_tensors"})
    add("sconce._sconce", name, B::state);
  add("types", "FunctionType.__get__", B::bind_function);
  add("sconce._polyfills.of_objects", "special", B::special_method);
  add("sconce._sconce", "_is_tracing", B::not_tracing);
  add("sconce._sconce", "_function", B::library_function);
  add("sconce.compiler", "is_compiling", B::compiling);
  add("sconce.compiler", "is_dynamo_compiling", B::compiling);
  add_known("sconce.compiler", "graph_break", Known{Treatment::graph_break, nullptr, false});
}

}  // namespace sconce::python::capture
