// The attribute protocol, as object.__getattribute__, type.__getattribute__, super and modules have it: data descriptors
// of the class, the instance's dict, other descriptors, __getattr__. Whatever is written in Python on the way is evaluated.
#include "capture/evaluator/arrays.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/evaluator/torch_modules.h"
#include "capture/graph/sym_int.h"
#include "tensor_object.h"

#include <structmember.h>

namespace sconce::python::capture {
namespace {

struct Names {
  PyObject *get, *set, *delete_, *getattr, *getattribute, *setattr, *delattr, *dict, *class_, *fget, *fset, *fdel,
      *func, *thisclass, *self, *self_class, *grad, *parameters, *buffers, *modules, *wrapped, *name, *doc, *traceback,
      *func_member, *attrname;
};
const Names& names() {
  static const Names all = {interned("__get__"),
                            interned("__set__"),
                            interned("__delete__"),
                            interned("__getattr__"),
                            interned("__getattribute__"),
                            interned("__setattr__"),
                            interned("__delattr__"),
                            interned("__dict__"),
                            interned("__class__"),
                            interned("fget"),
                            interned("fset"),
                            interned("fdel"),
                            interned("__func__"),
                            interned("__thisclass__"),
                            interned("__self__"),
                            interned("__self_class__"),
                            interned("grad"),
                            interned("_parameters"),
                            interned("_buffers"),
                            interned("_modules"),
                            interned("__wrapped__"),
                            interned("__name__"),
                            interned("__doc__"),
                            interned("__traceback__"),
                            interned("func"),
                            interned("attrname")};
  return all;
}

// sconce._ModuleBase, whose __getattr__ is of C.
PyTypeObject* module_base() {
  static PyTypeObject* type = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
    return reinterpret_cast<PyTypeObject*>(Owned::take(PyObject_GetAttrString(module.get(), "_ModuleBase")).give());
  }();
  return type;
}
PyObject* module_getattr() {
  static PyObject* found = _PyType_Lookup(module_base(), names().getattr);
  return found;
}
bool is_enum_class(PyObject* type) {
  static PyObject* meta = [] {
    const Owned module = Owned::take(PyImport_ImportModule("enum"));
    return Owned::take(PyObject_GetAttrString(module.get(), "EnumMeta")).give();
  }();
  return PyObject_TypeCheck(type, reinterpret_cast<PyTypeObject*>(meta));
}

bool is_cached_property(PyObject* found) {
  static PyObject* type = [] {
    const Owned module = Owned::take(PyImport_ImportModule("functools"));
    return Owned::take(PyObject_GetAttrString(module.get(), "cached_property")).give();
  }();
  return reinterpret_cast<PyObject*>(Py_TYPE(found)) == type;
}

bool is_data_descriptor(PyObject* found) {
  return Py_TYPE(found)->tp_descr_get != nullptr && Py_TYPE(found)->tp_descr_set != nullptr;
}
// A property of C, with its functions in members.
bool is_property(PyObject* found) { return PyObject_TypeCheck(found, &PyProperty_Type); }

}  // namespace

// Modules of the library load themselves when they are first asked for something: before guards say what they lack.
static void load_lazily(PyObject* module, PyObject* name) {
  PyObject* dict = PyModule_GetDict(module);
  if (PyDict_GetItemWithError(dict, name) != nullptr) return;
  const char* module_name = PyModule_GetName(module);
  if (module_name != nullptr && std::string_view(module_name).starts_with("sconce"))
    Py_XDECREF(PyObject_GetAttr(module, name));
  PyErr_Clear();
}

// A constant: reached through what is guarded already.
static Owned constant(Origins& origins, Owned object) {
  if (is_constant(object.get()) || is_tensor(object.get())) return object;
  origins.enter_constant(object.get());
  return object;
}

bool is_renamed_special(PyObject* found, PyObject* name) {
  PyTypeObject* t = Py_TYPE(found);
  if (t != &PyWrapperDescr_Type && t != &PyMethodDescr_Type) return false;
  PyObject* own = PyDescr_NAME(found);
  if (own == name || PyUnicode_Compare(own, name) == 0 || _PyType_Lookup(PyDescr_TYPE(found), name) == found)
    return false;
  // Texts are code of C's affair, which finds them by itself: IntEnum has __str__ = int.__repr__.
  const std::string_view text = text_of(name);
  return text != "__str__" && text != "__repr__" && text != "__format__";
}

Owned Evaluator::python_special(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return {};
  origins.guard_type(object);
  PyObject* found = origins.class_find(type, name);
  if (found == nullptr || found == Py_None) return {};
  if (PyFunction_Check(found)) return Owned::take(PyMethod_New(found, object));
  PyTypeObject* t = Py_TYPE(found);
  if (is_renamed_special(found, name)) return Owned::take(t->tp_descr_get(found, object, nullptr));
  if (t == &PyWrapperDescr_Type || t == &PyMethodDescr_Type || t == &PyCFunction_Type ||
      t == &PyClassMethodDescr_Type || t == &PyGetSetDescr_Type || t == &PyMemberDescr_Type)
    return {};
  bool bound = false;
  return bind(found, object, type, bound);
}

Owned Evaluator::special(PyObject* object, const char* name_text) {
  const Owned name = Owned::take(PyUnicode_InternFromString(name_text));
  if (Owned found = python_special(object, name.get())) return found;
  PyObject* found = _PyType_Lookup(Py_TYPE(object), name.get());
  if (found == nullptr) return {};
  origins.guard_type(object);
  descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  if (get == nullptr) return Owned::share(found);
  return Owned::take(get(found, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

// What a class gives for an attribute that it has: descriptors bind. `object` null: looked up on the class itself.
Owned Evaluator::bind(PyObject* found, PyObject* object, PyTypeObject* type, bool& bound) {
  bound = true;
  PyTypeObject* t = Py_TYPE(found);
  if (t == &PyFunction_Type) return object == nullptr ? Owned::share(found) : Owned::take(PyMethod_New(found, object));
  if (t == &PyStaticMethod_Type) return constant(origins, Owned::take(PyObject_GetAttr(found, names().func)));
  if (t == &PyClassMethod_Type) {
    const Owned inner = constant(origins, Owned::take(PyObject_GetAttr(found, names().func)));
    if (!PyFunction_Check(inner.get()) && Py_TYPE(inner.get())->tp_descr_get != nullptr) {
      bool again = false;
      return bind(inner.get(), reinterpret_cast<PyObject*>(type), Py_TYPE(type), again);
    }
    return Owned::take(PyMethod_New(inner.get(), reinterpret_cast<PyObject*>(type)));
  }
  if (is_property(found) && object != nullptr) {
    const Owned getter = constant(origins, Owned::take(PyObject_GetAttr(found, names().fget)));
    if (getter.get() == Py_None) raise(PyExc_AttributeError, "property of '%s' object has no getter", type->tp_name);
    return call(getter.get(), Arguments::of({object}));
  }
  if (is_cached_property(found) &&
      object != nullptr) {  // its __get__ takes a lock (3.11), which nobody else can hold here
    const Owned function = constant(origins, Owned::take(PyObject_GetAttr(found, names().func_member)));
    const Owned name = Owned::take(PyObject_GetAttr(found, names().attrname));
    Owned value = call(function.get(), Arguments::of({object}));
    generic_set(object, name.get(), value.get());
    return value;
  }
  if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    if (Owned get = python_special(found, names().get))
      return call(get.get(), Arguments::of({object == nullptr ? Py_None : object, reinterpret_cast<PyObject*>(type)}));
  }
  if (t->tp_descr_get == nullptr) {
    bound = false;
    return Owned::share(found);
  }
  // Fields of named tuples. Later versions than 3.11 name the class without the underscore.
  if (object != nullptr && std::string_view(t->tp_name).ends_with("collections._tuplegetter")) {
    const Owned made = Owned::take(PyObject_CallMethod(found, "__reduce__", nullptr));
    return subscript(object, PyTuple_GET_ITEM(PyTuple_GET_ITEM(made.get(), 1), 0));
  }
  const bool makes_method = t == &PyMethodDescr_Type || t == &PyWrapperDescr_Type || t == &PyClassMethodDescr_Type;
  if (object != nullptr && !makes_method && origins.outside(object) && !recorder.is_fake(object))
    break_here(Reason::attribute_protocol, std::string("a descriptor of class ") + t->tp_name);
  return Owned::take(t->tp_descr_get(found, object, reinterpret_cast<PyObject*>(type)));
}

// Null without an exception when there is none.
Owned Evaluator::generic_attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  origins.guard_type(object);
  Origins::Entry* e = origins.find(object);
  const bool heap = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  PyObject* found = heap ? origins.class_find(type, name) : _PyType_Lookup(type, name);
  if (found != nullptr && is_data_descriptor(found)) {
    PyTypeObject* t = Py_TYPE(found);
    if (t == &PyMemberDescr_Type || t == &PyGetSetDescr_Type) {
      if (name == names().dict || PyUnicode_Compare(name, names().dict) == 0) {
        PyObject* dict = origins.instance_dict(object);
        if (dict != nullptr) return Owned::share(dict);
      }
      if (PyUnicode_Compare(name, names().class_) == 0) return Owned::share(reinterpret_cast<PyObject*>(type));
      if (e == nullptr) {
        PyObject* value = PyObject_GenericGetAttr(object, name);
        if (value == nullptr) throw PythonError();
        return canonical(Owned::take(value));
      }
      bool known = false;
      PyObject* stored = origins.slot_find(object, name, known);
      if (known) return stored == nullptr ? Owned() : Owned::share(stored);
      PyObject* value = t->tp_descr_get(found, object, reinterpret_cast<PyObject*>(type));
      const SourceId source = origins.sources().add(Step::attribute, e->source, 0, name);
      if (value == nullptr) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
        PyErr_Clear();
        origins.sources().guard(source, FactKind::absent);
        return {};
      }
      const Owned owned = Owned::take(value);
      // ctx.saved_tensors in backward of a Function: a tuple that is made for whoever asks.
      const bool saved =
          PyTuple_CheckExact(value) && std::string_view(PyDescr_TYPE(found)->tp_name).ends_with("_FunctionContext");
      if (t == &PyGetSetDescr_Type && !is_immutable(value) && !is_tensor(value) && !PyType_Check(value) && !saved)
        break_here(Reason::attribute_protocol, std::string(type->tp_name) + "." + std::string(text_of(name)));
      return origins.wrap(value, source);
    }
    bool bound = false;
    return bind(found, object, type, bound);
  }
  if (PyObject* dict = origins.instance_dict(object)) {
    if (PyObject* value = origins.dict_find(dict, name)) return Owned::share(value);
  }
  if (found == nullptr) return {};
  bool bound = false;
  return bind(found, object, type, bound);
}

Owned Evaluator::tensor_attribute(PyObject* fake, PyObject* name) {
  PyTypeObject* type = Py_TYPE(fake);
  PyObject* found = _PyType_Lookup(type, name);
  Origins::Entry* e = origins.find(fake);
  const bool is_grad = PyUnicode_Compare(name, names().grad) == 0;
  if (is_grad && recorder.records_gradients(fake)) {
    if (std::optional<Owned> grad = recorder.gradient(fake)) return std::move(*grad);
  }
  if (e != nullptr) {
    bool known = false;
    PyObject* stored = origins.slot_find(fake, name, known);
    if (known) return Owned::share(stored == nullptr ? Py_None : stored);
    if (is_grad) {
      PyObject* real = origins.real_of(fake);
      const Owned grad = Owned::take(PyObject_GetAttr(real, name));
      Owned wrapped = origins.wrap(grad.get(), origins.sources().add(Step::gradient, e->source));
      recorder.note_gradient(fake, wrapped.get());
      return wrapped;
    }
  }
  if (found == nullptr) {
    if (e != nullptr) {
      PyObject* real = origins.real_of(fake);
      origins.enter(real, e->source);
      if (PyObject* dict = origins.instance_dict(real)) {
        if (PyObject* value = origins.dict_find(dict, name)) return Owned::share(value);
      }
    } else if (PyObject* value = PyObject_GenericGetAttr(fake, name)) {
      return Owned::take(value);
    } else {
      PyErr_Clear();
    }
    return {};
  }
  PyTypeObject* t = Py_TYPE(found);
  if (t == &PyFunction_Type) return Owned::take(PyMethod_New(found, fake));
  if (t == &PyGetSetDescr_Type || t == &PyMemberDescr_Type) {
    if (PyUnicode_Compare(name, names().class_) == 0) return Owned::share(reinterpret_cast<PyObject*>(type));
    // Whether a tensor from outside is a leaf is no fact of tensors, which most programs do not ask for.
    const std::string_view asked = text_of(name);
    if (e != nullptr && e->source != kNoSource && (asked == "is_leaf" || asked == "grad_fn") &&
        !recorder.is_over_pytorch()) {
      const Owned leaf = Owned::take(PyObject_GetAttrString(origins.real_of(fake), "is_leaf"));
      origins.sources().guard(origins.sources().add(Step::attribute, e->source, 0, interned("is_leaf")),
                              FactKind::equal, leaf.get());
    }
    Owned value = recorder.attribute(fake, name);
    if (!value) break_here(Reason::unknown_attribute, "Tensor." + std::string(text_of(name)));
    return value;
  }
  bool bound = false;
  return bind(found, fake, type, bound);
}

Owned Evaluator::module_attribute(PyObject* module, PyObject* name) {
  PyObject* dict = origins.instance_dict(module);
  if (PyObject* found = origins.dict_find(dict, name)) return Owned::share(found);
  if (PyUnicode_Compare(name, names().dict) == 0) return Owned::share(dict);
  if (PyUnicode_Compare(name, names().class_) == 0) return Owned::share(reinterpret_cast<PyObject*>(Py_TYPE(module)));
  PyObject* hook = PyDict_GetItemWithError(dict, names().getattr);
  if (hook == nullptr) return {};
  // The library loads parts of itself when they are first asked for; what comes is the same ever after.
  const char* module_name = PyModule_GetName(module);
  if (module_name == nullptr) PyErr_Clear();
  if (module_name != nullptr && std::string_view(module_name).substr(0, 6) == "sconce") {
    PyObject* value = PyObject_GetAttr(module, name);
    if (value != nullptr) {
      const Owned owned = Owned::take(value);
      return is_tensor(value) ? origins.wrap(value, origins.sources().add(Step::constant, kNoSource, 0, nullptr, value))
                              : constant(origins, Owned::share(value));
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
    PyErr_Clear();
    return {};
  }
  const Owned function =
      origins.wrap(hook, origins.sources().add(Step::instance_item, origins.source_of(module), 0, names().getattr));
  return call(function.get(), Arguments::of({name}));
}

Owned Evaluator::class_attribute(PyTypeObject* type, PyObject* name) {
  PyTypeObject* meta = Py_TYPE(type);
  auto* object = reinterpret_cast<PyObject*>(type);
  PyObject* in_meta =
      meta->tp_flags & Py_TPFLAGS_HEAPTYPE ? origins.class_find(meta, name) : _PyType_Lookup(meta, name);
  if (in_meta != nullptr && is_data_descriptor(in_meta)) {
    if (Py_TYPE(in_meta) == &PyGetSetDescr_Type || Py_TYPE(in_meta) == &PyMemberDescr_Type) {
      if (PyUnicode_Compare(name, names().dict) == 0) {  // made anew at each look, over what the class has by then
        const SourceId source = origins.class_source(type);
        if (source == kNoSource || origins.has_other_content(object))
          break_here(Reason::attribute_protocol, "__dict__ of a class");
        return origins.wrap(Owned::take(PyObject_GetAttr(object, name)).get(),
                            origins.sources().add(Step::attribute, source, 0, name));
      }
      return constant(origins, Owned::take(PyObject_GetAttr(object, name)));
    }
    bool bound = false;
    return bind(in_meta, object, meta, bound);
  }
  if (is_enum_class(object)) {
    PyObject* value = PyObject_GetAttr(object, name);
    if (value == nullptr) throw PythonError();
    if (!PyFunction_Check(value) && !PyMethod_Check(value)) return constant(origins, Owned::take(value));
    Py_DECREF(value);
  }
  PyObject* found = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? origins.class_find(type, name) : _PyType_Lookup(type, name);
  bool bound = false;
  if (found != nullptr) return bind(found, nullptr, type, bound);
  if (in_meta != nullptr) return bind(in_meta, object, meta, bound);
  return {};
}

Owned Evaluator::super_attribute(PyObject* super, PyObject* name) {
  const Owned start = Owned::take(PyObject_GetAttr(super, names().thisclass));
  const Owned self = Owned::take(PyObject_GetAttr(super, names().self));
  const Owned self_class = Owned::take(PyObject_GetAttr(super, names().self_class));
  if (self_class.get() == Py_None || PyUnicode_Compare(name, names().class_) == 0)
    return canonical(Owned::take(PyObject_GenericGetAttr(super, name)));
  auto* type = reinterpret_cast<PyTypeObject*>(self_class.get());
  PyObject* mro = type->tp_mro;
  const Py_ssize_t n = PyTuple_GET_SIZE(mro);
  Py_ssize_t i = 0;
  while (i < n && PyTuple_GET_ITEM(mro, i) != start.get()) ++i;
  for (++i; i < n; ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
#if PY_VERSION_HEX >= 0x030c0000
    const Owned dict = Owned::take(PyType_GetDict(base));
#else
    const Owned dict = Owned::share(base->tp_dict);
#endif
    PyObject* found = PyDict_GetItemWithError(dict.get(), name);
    if (found == nullptr) continue;
    if (base->tp_flags & Py_TPFLAGS_HEAPTYPE) {
      PyObject* guarded = origins.class_find(base, name);
      if (guarded != nullptr) found = guarded;
    }
    bool bound = false;
    const bool on_class = self.get() == self_class.get();
    if (Py_TYPE(found) == &PyClassMethod_Type || Py_TYPE(found) == &PyClassMethodDescr_Type)
      return bind(found, nullptr, type, bound);
    return bind(found, on_class ? nullptr : self.get(), type, bound);
  }
  return canonical(Owned::take(PyObject_GenericGetAttr(super, name)));
}

// AttributeError with the name and the object that it was looked for in.
[[noreturn]] static void raise_missing(const char* format, PyObject* object, PyObject* name) {
  const Owned message = Owned::take(PyUnicode_FromFormat(format, Py_TYPE(object)->tp_name, name));
  const Owned error = Owned::take(PyObject_CallOneArg(PyExc_AttributeError, message.get()));
  check(PyObject_SetAttrString(error.get(), "name", name));
  check(PyObject_SetAttrString(error.get(), "obj", object));
  PyErr_SetObject(PyExc_AttributeError, error.get());
  throw PythonError();
}

// Module.__getattr__, which is of C: parameters, buffers, modules.
Owned Evaluator::registered_attribute(PyObject* module, PyObject* name) {
  PyObject* dict = origins.instance_dict(module);
  for (PyObject* table : {names().parameters, names().buffers, names().modules}) {
    PyObject* in = origins.dict_find(dict, table);
    if (in == nullptr || !PyDict_Check(in)) continue;
    if (PyObject* value = origins.dict_find(in, name)) return Owned::share(value);
  }
  raise_missing("'%.100s' object has no attribute '%U'", module, name);
}

Owned Evaluator::get_attribute(PyObject* object, PyObject* name) {
  if (later_of(object) && PyUnicode_Compare(name, names().class_) == 0)
    return Owned::share(reinterpret_cast<PyObject*>(later_class(object)));
  if (later_of(object))
    if (Owned found = array_attribute(*this, object, name)) return found;
  want_now(object);
  if (handles.contains(object)) break_here(Reason::unknown_object, "the handle of a hook");
  if (const SymNumber* n = sym_number(object)) {
    if (PyUnicode_Compare(name, names().class_) == 0)
      return Owned::share(reinterpret_cast<PyObject*>(n->hint.is_float ? &PyFloat_Type : &PyLong_Type));
    return get_attribute(origins.keep(fixed_number(object)), name);
  }
  const auto missing = [&]() -> Owned {
    if (PyModule_Check(object)) {
      const char* module_name = PyModule_GetName(object);
      if (module_name == nullptr) PyErr_Clear();
      raise(PyExc_AttributeError, "module '%s' has no attribute '%U'", module_name == nullptr ? "?" : module_name,
            name);
    }
    if (PyType_Check(object))
      raise(PyExc_AttributeError, "type object '%.100s' has no attribute '%U'",
            reinterpret_cast<PyTypeObject*>(object)->tp_name, name);
    raise_missing("'%.100s' object has no attribute '%U'", object, name);
  };
  PyTypeObject* type = Py_TYPE(object);
  if (PyTraceBack_Check(object)) break_here(Reason::attribute_protocol, "a traceback");
  if (PyExceptionInstance_Check(object) && !origins.outside(object) && PyUnicode_Compare(name, names().traceback) == 0)
    break_here(Reason::attribute_protocol, "__traceback__");
  if (recorder.is_fake(object)) {
    Owned found = tensor_attribute(object, name);
    return found ? std::move(found) : missing();
  }
  if (PyModule_Check(object)) load_lazily(object, name);
  if (PyModule_Check(object) && type == &PyModule_Type) {
    Owned found = module_attribute(object, name);
    return found ? std::move(found) : missing();
  }
  if (PyType_Check(object)) {
    if (Owned found = class_attribute(reinterpret_cast<PyTypeObject*>(object), name)) return found;
    if (Owned hook = python_special(object, names().getattr)) return call(hook.get(), Arguments::of({name}));
    return missing();
  }
  if (type == &PySuper_Type) return super_attribute(object, name);
  if (type == &PyMethod_Type && PyUnicode_Compare(name, names().self) != 0 &&
      PyUnicode_Compare(name, names().func) != 0) {
    if (_PyType_Lookup(type, name) == nullptr || PyUnicode_Compare(name, names().doc) == 0)
      return get_attribute(PyMethod_GET_FUNCTION(object), name);
  }
  if (PyFunction_Check(object)) {
    Origins::Entry* e = origins.find(object);
    if (e != nullptr) {
      PyObject* in_type = _PyType_Lookup(type, name);
      if (in_type != nullptr && is_data_descriptor(in_type) && PyUnicode_Compare(name, names().dict) != 0) {
        const Owned value = Owned::take(PyObject_GetAttr(object, name));
        return origins.wrap(value.get(), origins.sources().add(Step::attribute, e->source, 0, name));
      }
    } else {
      PyObject* value = PyObject_GetAttr(object, name);
      if (value == nullptr) throw PythonError();
      return canonical(Owned::take(value));
    }
  }
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    origins.guard_type(object);
    PyObject* custom = origins.class_find(type, names().getattribute);
    PyObject* hook = origins.class_find(type, names().getattr);
    Owned found;
    if (custom != nullptr && PyFunction_Check(custom)) {
      const Owned method = Owned::take(PyMethod_New(custom, object));
      if (hook == nullptr) return call(method.get(), Arguments::of({name}));
      try {
        return call(method.get(), Arguments::of({name}));
      } catch (const PythonError&) {
        if (interrupt || !PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
      }
    } else {
      if (hook != nullptr) {
        try {
          found = generic_attribute(object, name);
        } catch (const PythonError&) {  // a property may raise AttributeError, too
          if (interrupt || !PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
          PyErr_Clear();
        }
      } else {
        found = generic_attribute(object, name);
      }
    }
    if (found) return found;
    if (hook == nullptr) return missing();
    if (hook == module_getattr() || is_torch_module_getattr(hook)) return registered_attribute(object, name);
    bool bound = false;
    const Owned method = bind(hook, object, type, bound);
    return call(method.get(), Arguments::of({name}));
  }
  // Classes of C.
  if (!origins.outside(object)) {
    PyObject* value = PyObject_GetAttr(object, name);
    if (value == nullptr) throw PythonError();
    Owned owned = canonical(Owned::take(value));
    return owned;
  }
  Owned found = generic_attribute(object, name);
  return found ? std::move(found) : missing();
}

Owned Evaluator::find_attribute(PyObject* object, PyObject* name) {
  try {
    return get_attribute(object, name);
  } catch (const PythonError&) {
    if (interrupt || !PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
    PyErr_Clear();
    return {};
  }
}

// ------------------------------------------------------------------------------------------------ stores

void Evaluator::generic_set(PyObject* object, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(object);
  origins.guard_type(object);
  const bool outside = origins.outside(object);
  if (PyUnicode_Compare(name, names().dict) == 0)  // an owned object would write to a dict from outside
    break_here(Reason::mutation, std::string(type->tp_name) + ".__dict__");
  PyObject* found = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? origins.class_find(type, name) : _PyType_Lookup(type, name);
  if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr) {
    if (is_property(found)) {
      const Owned setter =
          constant(origins, Owned::take(PyObject_GetAttr(found, value == nullptr ? names().fdel : names().fset)));
      if (setter.get() == Py_None)
        raise(PyExc_AttributeError, "property '%U' of '%s' object has no %s", name, type->tp_name,
              value == nullptr ? "deleter" : "setter");
      (void)call(setter.get(), value == nullptr ? Arguments::of({object}) : Arguments::of({object, value}));
      return;
    }
    if (Owned set = python_special(found, value == nullptr ? names().delete_ : names().set)) {
      (void)call(set.get(), value == nullptr ? Arguments::of({object}) : Arguments::of({object, value}));
      return;
    }
    if (!outside) {
      if (PyUnicode_Compare(name, names().class_) == 0) break_here(Reason::mutation, "__class__");
      check(PyObject_GenericSetAttr(object, name, value));
      return;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type) {
      const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
      if ((member->flags & READONLY) != 0 || member->type != T_OBJECT_EX)
        break_here(Reason::mutation, std::string(type->tp_name) + "." + std::string(text_of(name)));
      if (value == nullptr && !find_attribute(object, name)) raise(PyExc_AttributeError, "%U", name);
      origins.slot_store(object, name, value);
      return;
    }
    break_here(Reason::mutation, std::string(type->tp_name) + "." + std::string(text_of(name)));
  }
  if (!outside) {
    check(PyObject_GenericSetAttr(object, name, value));
    return;
  }
  PyObject* dict = origins.instance_dict(object);
  if (dict == nullptr || (value == nullptr && !origins.dict_contains(dict, name))) {
    if (found != nullptr && dict == nullptr)
      raise(PyExc_AttributeError, "'%.100s' object attribute '%U' is read-only", type->tp_name, name);
    raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", type->tp_name, name);
  }
  origins.dict_store(dict, name, value);
}

void Evaluator::set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  want_now(object);
  if (sym_number(object)) return set_attribute(fixed_number(object).get(), name, value);
  PyTypeObject* type = Py_TYPE(object);
  if (recorder.is_fake(object)) {
    Origins::Entry* e = origins.find(object);
    if (PyUnicode_Compare(name, names().grad) == 0 && recorder.records_gradients(object) &&
        (value == nullptr || value == Py_None || recorder.is_fake(value))) {
      recorder.set_gradient(object, value == nullptr ? Py_None : value);
      return;
    }
    if (e == nullptr) {
      if (_PyType_Lookup(type, name) != nullptr) break_here(Reason::mutation, "Tensor." + std::string(text_of(name)));
      check(PyObject_SetAttr(object, name, value));
      return;
    }
    if (PyUnicode_Compare(name, names().grad) == 0) {
      if (recorder.records_gradients(object)) break_here(Reason::mutation, "Tensor.grad, by what is no tensor");
      origins.slot_store(object, name, value == nullptr ? Py_None : value);
      return;
    }
    if (_PyType_Lookup(type, name) != nullptr) break_here(Reason::mutation, "Tensor." + std::string(text_of(name)));
    PyObject* real = origins.real_of(object);
    origins.enter(real, e->source);
    PyObject* dict = origins.instance_dict(real);
    if (dict == nullptr) break_here(Reason::mutation, "Tensor." + std::string(text_of(name)));
    origins.dict_store(dict, name, value);
    return;
  }
  if (PyModule_Check(object) && type == &PyModule_Type) {
    PyObject* dict = origins.instance_dict(object);
    if (value == nullptr && !origins.dict_contains(dict, name)) raise(PyExc_AttributeError, "%U", name);
    origins.dict_store(dict, name, value);
    return;
  }
  if (PyType_Check(object)) {
    PyObject* in_meta = _PyType_Lookup(type, name);
    if ((in_meta != nullptr && is_data_descriptor(in_meta)) || text_of(name).starts_with("__") ||
        type->tp_setattro != PyType_Type.tp_setattro ||
        !(reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
      break_here(Reason::mutation, "an attribute of a class");
    if (value == nullptr) break_here(Reason::mutation, "an attribute of a class is deleted");
    origins.class_store(reinterpret_cast<PyTypeObject*>(object), name, value);
    return;
  }
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    if (Owned custom = python_special(object, value == nullptr ? names().delattr : names().setattr)) {
      (void)call(custom.get(), value == nullptr ? Arguments::of({name}) : Arguments::of({name, value}));
      return;
    }
    generic_set(object, name, value);
    return;
  }
  if (PyFunction_Check(object) && origins.outside(object)) {
    PyObject* found = _PyType_Lookup(type, name);
    if (found != nullptr) break_here(Reason::mutation, "an attribute of a function");
    generic_set(object, name, value);
    return;
  }
  if (origins.outside(object)) {
    if (std::string_view(type->tp_name) == "types.SimpleNamespace") return generic_set(object, name, value);
    break_here(Reason::mutation, std::string(type->tp_name) + "." + std::string(text_of(name)));
  }
  check(value == nullptr ? PyObject_DelAttr(object, name) : PyObject_SetAttr(object, name, value));
}

}  // namespace sconce::python::capture
