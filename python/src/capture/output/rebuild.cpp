#include "capture/output/rebuild.h"

#include "capture/evaluator/later.h"
#include "capture/evaluator/policy.h"
#include "capture/evaluator/stand_ins.h"
#include "capture/graph/sym_int.h"
#include "capture/set_entries.h"
#include "sconce/base/error.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

PyObject* types_member(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule("types"));
  return Owned::take(PyObject_GetAttrString(module.get(), name)).give();
}
// Of None.__str__: later versions than 3.11 do not declare it.
PyTypeObject* method_wrapper_type() {
  static PyTypeObject* const type = Py_TYPE(Owned::take(PyObject_GetAttrString(Py_None, "__str__")).give());
  return type;
}
PyObject* object_new() {
  static PyObject* found =
      Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__")).give();
  return found;
}
PyObject* object_setattr() {
  static PyObject* found =
      Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__")).give();
  return found;
}
PyObject* name_of(const char* text) {
  static std::unordered_map<const char*, PyObject*> known;
  PyObject*& name = known[text];
  if (name == nullptr) name = interned(text);
  return name;
}

// Attributes of an owned instance: its dict, or null.
PyObject* dict_of(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  const Owned dict = Owned::take(PyObject_GenericGetDict(o, nullptr));
  return dict.get();
}
// Values in slots, name and value in turn.
std::vector<std::pair<PyObject*, Owned>> slots_of(PyObject* o) {
  std::vector<std::pair<PyObject*, Owned>> all;
  PyObject* mro = Py_TYPE(o)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(type->tp_dict, &at, &key, &value)) {
      if (Py_TYPE(value) != &PyMemberDescr_Type) continue;
      PyObject* held = Py_TYPE(value)->tp_descr_get(value, o, reinterpret_cast<PyObject*>(Py_TYPE(o)));
      if (held == nullptr)
        PyErr_Clear();
      else
        all.emplace_back(key, Owned::take(held));
    }
  }
  return all;
}
// The class of C, or below, whose __new__ makes instances of a class: those of Python are passed over.
PyTypeObject* maker_of(PyTypeObject* type) {
  static const newfunc of_python = [] {  // what a class with __new__ in Python has
    const Owned m = Owned::take(PyImport_ImportModule("abc"));
    return reinterpret_cast<PyTypeObject*>(Owned::take(PyObject_GetAttrString(m.get(), "ABCMeta")).get())->tp_new;
  }();
  while (type->tp_new == of_python) type = type->tp_base;
  return type;
}
bool is_bare_instance(PyObject* o) {
  PyTypeObject* base = Py_TYPE(o);
  if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  static PyTypeObject* const module_base = [] {
    const Owned m = Owned::take(PyImport_ImportModule("sconce._sconce"));
    return reinterpret_cast<PyTypeObject*>(Owned::take(PyObject_GetAttrString(m.get(), "_ModuleBase")).give());
  }();
  // object.__new__ must be able to make it: a class of C on the heap (functools.partial) has its own.
  PyTypeObject* maker = maker_of(base);
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  return (base == &PyBaseObject_Type && maker->tp_new == PyBaseObject_Type.tp_new) || base == module_base;
}
// The class of C that an instance of the program's own class over a list, dict or set is made by; null for others.
PyTypeObject* container_base(PyObject* o) {
  PyTypeObject* base = Py_TYPE(o);
  if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  static PyTypeObject* const default_dict = [] {
    const Owned m = Owned::take(PyImport_ImportModule("collections"));
    return reinterpret_cast<PyTypeObject*>(Owned::take(PyObject_GetAttrString(m.get(), "defaultdict")).give());
  }();
  const bool known = base == &PyList_Type || base == &PyDict_Type || base == &PySet_Type || base == &PyODict_Type ||
                     base == default_dict;
  return known ? base : nullptr;
}
// The factory of a defaultdict; null for others.
PyObject* default_factory(PyObject* o, PyTypeObject* base) {
  if (base == &PyList_Type || base == &PySet_Type || base == &PyDict_Type || base == &PyODict_Type) return nullptr;
  return Owned::take(PyObject_GetAttr(o, name_of("default_factory"))).get();  // the dict keeps it
}
// What such an instance holds, in its order: elements, or keys and values in turn. No code of the program runs.
std::vector<Owned> contents_of(PyObject* o, PyTypeObject* base) {
  std::vector<Owned> all;
  if (base == &PyList_Type) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) all.push_back(Owned::share(PyList_GET_ITEM(o, i)));
    return all;
  }
  const Owned iterator = Owned::take(base->tp_iter(o));
  while (PyObject* key = Py_TYPE(iterator.get())->tp_iternext(iterator.get())) {
    all.push_back(Owned::take(key));
    if (base != &PySet_Type) all.push_back(Owned::share(PyDict_GetItemWithError(o, key)));
  }
  if (PyErr_Occurred()) throw PythonError();
  return all;
}
// Is it an iterator that stands for one of C? It becomes that one again.
bool is_substitute(PyObject* o) {
  if (!is_heap_instance(o)) return false;
  PyObject* module = PyDict_GetItemString(Py_TYPE(o)->tp_dict, "__module__");
  return module != nullptr && PyUnicode_Check(module) && text_of(module).starts_with("sconce._polyfills");
}

}  // namespace

// What a bound method of C was bound from: by its name an object may have another one, of Python (super().append). Borrowed;
// null: not found.
static PyObject* descriptor_of(PyObject* bound, PyObject* self) {
  if (!PyCFunction_Check(bound)) {
    const Owned of = Owned::take(PyObject_GetAttr(bound, name_of("__objclass__")));
    const Owned name = Owned::take(PyObject_GetAttr(bound, name_of("__name__")));
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(of.get()), name.get());
  }
  PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(bound)->m_ml;
  const Owned name = Owned::take(PyUnicode_InternFromString(method->ml_name));
  PyObject* mro = Py_TYPE(self)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i)), name.get());
    if (found != nullptr && Py_IS_TYPE(found, &PyMethodDescr_Type) &&
        reinterpret_cast<PyMethodDescrObject*>(found)->d_method == method)
      return found;
  }
  return nullptr;
}

// Of collections.namedtuple, whose __new__ is of Python, and does nothing but what tuple does.
static bool is_named_tuple(PyObject* o) {
  return PyTuple_Check(o) && _PyType_Lookup(Py_TYPE(o), name_of("_fields")) != nullptr &&
         _PyType_Lookup(Py_TYPE(o), name_of("_make")) != nullptr;
}

// An instance of the program's own class over a tuple, text or number, as __reduce_ex__ would give it: made by the class of C
// alone, since __new__ of the program has run while evaluating. Also views of dicts. Empty for others.
static Owned parts_of_value(PyObject* o) {
  PyTypeObject* base = Py_TYPE(o);
  const char* view = base == &PyDictKeys_Type     ? "keys"
                     : base == &PyDictItems_Type  ? "items"
                     : base == &PyDictValues_Type ? "values"
                                                  : nullptr;
  if (view != nullptr) {
    PyObject* method = _PyType_Lookup(&PyDict_Type, Owned::take(PyUnicode_InternFromString(view)).get());
    PyObject* dict = nullptr;  // all that a view holds
    const auto visit = [](PyObject* held, void* found) {
      *static_cast<PyObject**>(found) = held;
      return 0;
    };
    base->tp_traverse(o, visit, &dict);
    const Owned of = Owned::take(PyTuple_Pack(1, dict));
    return Owned::take(PyTuple_Pack(2, method, of.get()));
  }
  if (base == &_PyWeakref_RefType && PyWeakref_GET_OBJECT(o) != Py_None) {
    const Owned of = Owned::take(PyTuple_Pack(1, PyWeakref_GET_OBJECT(o)));
    return Owned::take(PyTuple_Pack(2, reinterpret_cast<PyObject*>(base), of.get()));
  }
  if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_named_tuple(o)) return {};
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  if (maker_of(Py_TYPE(o))->tp_new != base->tp_new) return {};
  Owned value;
  if (base == &PyTuple_Type)
    value = Owned::take(PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o)));
  else if (base == &PyUnicode_Type)
    value = Owned::take(PyUnicode_FromObject(o));
  else if (base == &PyFloat_Type)
    value = Owned::take(PyFloat_FromDouble(PyFloat_AS_DOUBLE(o)));
  else if (base == &PyLong_Type)
    value = Owned::take(PyLong_Type.tp_as_number->nb_int(o));
  else
    return {};
  if (!slots_of(o).empty()) return {};
  const Owned make = Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__new__"));
  const Owned args = Owned::take(PyTuple_Pack(2, Py_TYPE(o), value.get()));
  PyObject* dict = dict_of(o);
  return Owned::take(
      PyTuple_Pack(3, make.get(), args.get(), dict != nullptr && PyDict_GET_SIZE(dict) > 0 ? dict : Py_None));
}

// Would making it again from what __reduce_ex__ gave run code of Python, which has run while evaluating?
static bool runs_python(PyObject* o, PyObject* reduced) {
  if (is_substitute(o) || is_named_tuple(o)) return false;
  const auto of_python = [](PyTypeObject* type, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      PyObject* found = _PyType_Lookup(type, name_of(name));
      if (found == nullptr) continue;
      if (PyFunction_Check(found) || Py_TYPE(found) == &PyStaticMethod_Type) return true;
    }
    return false;
  };
  PyObject* callee = PyTuple_GET_ITEM(reduced, 0);
  PyObject* args = PyTuple_GET_ITEM(reduced, 1);
  if (PyType_Check(callee) && of_python(reinterpret_cast<PyTypeObject*>(callee), {"__new__", "__init__"})) return true;
  if (PyFunction_Check(callee) && PyTuple_GET_SIZE(args) > 0 && PyType_Check(PyTuple_GET_ITEM(args, 0)) &&
      of_python(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(args, 0)), {"__new__"}))
    return true;
  return of_python(Py_TYPE(o), {"__setstate__", "extend", "append", "__setitem__", "__setattr__"});
}

// Keys that are hashed and compared by code of Python which changes something: others may be hashed again.
static bool has_changing_keys(const Evaluator& e, PyObject* o) {
  if (e.changing_classes.empty()) return false;
  const auto is_python = [&](PyObject* key) { return PyTuple_Check(key) || e.changing_classes.contains(Py_TYPE(key)); };
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  Py_hash_t hash = 0;
  if (PyDict_Check(o)) {
    while (PyDict_Next(o, &at, &key, &value))
      if (is_python(key)) return true;
  } else {
    while (_PySet_NextEntry(o, &at, &key, &hash))
      if (is_python(key)) return true;
  }
  return false;
}

// Is it a tensor of a subclass? The graph gives plain ones.
bool Rebuilder::has_class(PyObject* o) const {
  return is_tensor(o) && Py_TYPE(o) != &tensor_type && !e_.recorder.is_over_pytorch();
}

Rebuilder::Item& Rebuilder::classify(PyObject* o) {
  Item& item = items_[o];
  item.kept = Owned::share(o);
  if (const SymNumber* n = sym_number(o); n != nullptr && n->of_numbers && n->expression) {
    item.kind = Kind::number;
    item.parts = Owned::share(n->expression.get());
    return item;
  }
  if (o == handled_mark()) return item;
  if (const Later* later = later_of(o)) {
    if (later->in_graph) throw Unrebuildable{o, "an array whose memory a tensor of the graph has"};
    if (!holds_still(e_.recorder, *later)) throw Unrebuildable{o, "a value of a tensor that is written behind it"};
    item.kind = Kind::later;
    return item;
  }
  if (e_.recorder.is_fake(o)) {
    item.source = e_.recorder.source_of(o);
    item.kind = item.source == kNoSource ? Kind::output : Kind::source;
    if (item.kind == Kind::output) {
      item.output = static_cast<int>(outputs_.size());
      outputs_.push_back(o);
      PyObject* attributes = is_tensor(o) ? reinterpret_cast<TensorObject*>(o)->dict : nullptr;  // or a SymInt
      if (attributes != nullptr && PyDict_GET_SIZE(attributes) > 0) item.parts = Owned::take(PyDict_Copy(attributes));
    }
    return item;
  }
  if (const Origins::Entry* entry = e_.origins.find(o); entry != nullptr && entry->source != kNoSource) {
    item.kind = Kind::source;
    item.source = entry->source;
    return item;
  }
  if (is_immutable(o) || (PyType_Check(o) && !e_.births.contains(o)) || PyModule_Check(o)) return item;
  if (e_.origins.outside(o)) return item;  // the globals of a function
  if (PyFunction_Check(o) && !e_.births.contains(o)) return item;
  PyTypeObject* type = Py_TYPE(o);
  if (e_.handles.contains(o)) throw Unrebuildable{o, "the handle of a hook"};
  if (e_.raises.contains(o)) throw Unrebuildable{o, "an exception that was raised"};
  if (PyTraceBack_Check(o)) throw Unrebuildable{o, "a traceback"};
  if ((PyDict_Check(o) || PyAnySet_Check(o)) && has_changing_keys(e_, o))
    throw Unrebuildable{o, "keys whose __hash__ or __eq__ would run again"};
  if (type == &PyTuple_Type)
    item.kind = Kind::tuple;
  else if (type == &PyList_Type)
    item.kind = Kind::list;
  else if (type == &PyDict_Type)
    item.kind = Kind::dict;
  else if (type == &PySet_Type || type == &PyFrozenSet_Type)
    item.kind = Kind::set;
  else if (type == &PySlice_Type)
    item.kind = Kind::slice;
  else if (type == &PyCell_Type)
    item.kind = Kind::cell;
  else if (type == &PyFunction_Type)
    item.kind = Kind::function;
  else if (type == &PyMethod_Type)
    item.kind = Kind::method;
  else if (type == &PyCFunction_Type)
    item.kind = Kind::c_method;
  else if (type == method_wrapper_type())
    item.kind = Kind::c_method;
  else if (type == &PySuper_Type)
    item.kind = Kind::super;
  else if (is_generator(o)) {
    item.parts = call_of_generator(e_, o);
    if (!item.parts) throw Unrebuildable{o, "a generator"};
    item.kind = Kind::reduced;
  } else if (PyType_Check(o))
    throw Unrebuildable{o, "a class"};
  else if (is_tensor(o))
    item.kind = Kind::constant;
  else if (PyExceptionInstance_Check(o))
    item.kind = Kind::exception;
  else if ((is_bare_instance(o) || container_base(o) != nullptr) && !is_substitute(o))
    item.kind = Kind::instance;
  else if (Owned parts = parts_of_value(o)) {
    item.kind = Kind::reduced;
    item.parts = std::move(parts);
  } else {
    item.kind = Kind::reduced;
    for (const char* name : {"__reduce_ex__", "__reduce__", "__getstate__"}) {
      PyObject* found = _PyType_Lookup(type, name_of(name));
      if (found != nullptr && PyFunction_Check(found) && !is_substitute(o))
        throw Unrebuildable{o, std::string("an object of class ") + type->tp_name};
    }
    PyObject* reduced = PyObject_CallMethod(o, "__reduce_ex__", "i", 2);
    if (reduced == nullptr) {
      PyErr_Clear();
      throw Unrebuildable{o, std::string("an object of class ") + type->tp_name};
    }
    item.parts = Owned::take(reduced);
    if (!PyTuple_Check(reduced) || PyTuple_GET_SIZE(reduced) < 2 || runs_python(o, reduced))
      throw Unrebuildable{o, std::string("an object of class ") + type->tp_name};
    for (Py_ssize_t i = 3; i < PyTuple_GET_SIZE(reduced); ++i) {  // iterators of items become lists
      PyObject* more = PyTuple_GET_ITEM(reduced, i);
      if (more == Py_None) continue;
      PyObject* list = PySequence_List(more);
      if (list == nullptr) throw PythonError();
      PyTuple_SET_ITEM(reduced, i, list);
      Py_DECREF(more);
    }
  }
  return item;
}

void Rebuilder::scan(PyObject* o) {
  if (o == nullptr) return;
  o = e_.origins.canonical(o);
  const auto at = items_.find(o);
  if (at != items_.end()) {
    ++at->second.uses;
    return;
  }
  Item& item = classify(o);
  item.uses = 1;
  switch (item.kind) {
    case Kind::source:
    case Kind::number:
      fetched_.push_back(o);
      return;
    case Kind::output:
      if (item.parts) {
        const Owned attributes = Owned::share(item.parts.get());
        Py_ssize_t i = 0;
        PyObject *key = nullptr, *value = nullptr;
        while (PyDict_Next(attributes.get(), &i, &key, &value)) scan(value);
      }
      return;
    case Kind::tuple:
    case Kind::list:
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) scan(PySequence_Fast_GET_ITEM(o, i));
      return;
    case Kind::dict: {
      Py_ssize_t i = 0;
      PyObject *key = nullptr, *value = nullptr;
      while (PyDict_Next(o, &i, &key, &value)) scan(key), scan(value);
      return;
    }
    case Kind::set: {
      Py_ssize_t i = 0;
      Py_hash_t hash = 0;
      PyObject* element = nullptr;
      while (_PySet_NextEntry(o, &i, &element, &hash)) scan(element);
      return;
    }
    case Kind::slice: {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      scan(s->start), scan(s->stop), scan(s->step);
      return;
    }
    case Kind::cell:
      scan(PyCell_GET(o));
      return;
    case Kind::later:
      for (const Owned& arg : later_of(o)->args) scan(arg.get());
      return;
    case Kind::function: {
      auto* f = reinterpret_cast<PyFunctionObject*>(o);
      scan(f->func_defaults), scan(f->func_kwdefaults), scan(f->func_closure), scan(f->func_dict);
      scan(f->func_annotations);
      return;
    }
    case Kind::method:
      scan(PyMethod_GET_FUNCTION(o)), scan(PyMethod_GET_SELF(o));
      return;
    case Kind::c_method: {
      const Owned self = Owned::take(PyObject_GetAttr(o, name_of("__self__")));
      const bool fake = e_.recorder.is_fake(self.get());  // the tensor that stands in its place may be PyTorch's
      if ((is_heap_instance(self.get()) && !fake) || !PyCFunction_Check(o)) {
        PyObject* descriptor = descriptor_of(o, self.get());
        if (descriptor == nullptr) throw Unrebuildable{o, "a method of C"};
        const Owned get = Owned::take(PyObject_GetAttr(descriptor, name_of("__get__")));
        item.parts = Owned::take(PyTuple_Pack(2, get.get(), self.get()));
      }
      scan(self.get());
      return;
    }
    case Kind::super: {
      const Owned type = Owned::take(PyObject_GetAttr(o, name_of("__thisclass__")));
      const Owned self = Owned::take(PyObject_GetAttr(o, name_of("__self__")));
      item.parts = Owned::take(PyTuple_Pack(2, type.get(), self.get()));
      scan(type.get()), scan(self.get());
      return;
    }
    case Kind::instance: {
      scan(reinterpret_cast<PyObject*>(Py_TYPE(o)));
      if (PyTypeObject* base = container_base(o)) {
        for (const Owned& part : contents_of(o, base)) scan(part.get());
        if (PyObject* factory = default_factory(o, base)) scan(factory);
      }
      if (PyObject* dict = dict_of(o)) {
        Py_ssize_t i = 0;
        PyObject *key = nullptr, *value = nullptr;
        while (PyDict_Next(dict, &i, &key, &value)) scan(key), scan(value);
      }
      for (auto& [name, value] : slots_of(o)) scan(value.get());
      return;
    }
    case Kind::exception: {
      // args, the dict, cause and context; None for what is not there.
      const auto or_none = [](PyObject* p) { return p == nullptr ? Owned::share(Py_None) : Owned::take(p); };
      const Owned args = Owned::take(PyObject_GetAttr(o, name_of("args")));
      PyObject* dict = dict_of(o);
      const Owned cause = or_none(PyException_GetCause(o)), context = or_none(PyException_GetContext(o));
      const Owned attributes =
          dict == nullptr || PyDict_GET_SIZE(dict) == 0 ? Owned::share(Py_None) : Owned::take(PyDict_Copy(dict));
      item.parts = Owned::take(PyTuple_Pack(4, args.get(), attributes.get(), cause.get(), context.get()));
      for (Py_ssize_t i = 0; i < 4; ++i) scan(PyTuple_GET_ITEM(items_.at(o).parts.get(), i));
      for (auto& [name, value] : slots_of(o)) scan(value.get());
      return;
    }
    case Kind::reduced: {
      const Owned parts = Owned::share(item.parts.get());
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
        PyObject* part = PyTuple_GET_ITEM(parts.get(), i);
        if (part == Py_None) continue;
        scan(part);
      }
      return;
    }
    default:
      return;
  }
}

void Rebuilder::fetch(Writer& w) {
  const Sources& sources = e_.origins.sources();
  for (PyObject* o : fetched_) {
    Item& item = items_.at(o);
    if (item.kind == Kind::number) {
      write_expression(w, item.parts.get());
      item.local = w.temporary();
      w.op(Op::store_fast, item.local);
      continue;
    }
    const Source& s = sources.all()[static_cast<size_t>(item.source)];
    if (s.step == Step::local) {
      item.local = s.index;
      continue;
    }
    const bool constant =
        s.step == Step::constant || s.step == Step::class_item || (PyType_Check(o) && s.step != Step::free_variable);
    if (constant && !e_.recorder.is_fake(o)) {  // for a fake the tensor is fetched: an attribute of a class or a module
      item.kind = Kind::constant;
      continue;
    }
    item.local = w.temporary();
    w.source(sources, item.source, globals_);
    w.op(Op::store_fast, item.local);
  }
}

// An expression of Note [Relations], as Python computes it.
void Rebuilder::write_expression(Writer& w, PyObject* e) {
  if (!PyTuple_Check(e)) {
    w.constant(e);
    return;
  }
  const auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(e, i); };
  const std::string_view what = text_of(at(0));
  if (what == "int" || what == "float" || what == "size" || what == "stride") {
    w.source(e_.origins.sources(), static_cast<SourceId>(PyLong_AsLong(at(1))), globals_);
    if (what == "size") {
      w.load_name(Op::load_attr, name_of("shape"));
      w.constant(at(2));
      w.op(Op::subscript);
    } else if (what == "stride") {
      w.begin_call_on_stack(name_of("stride"));
      w.constant(at(2));
      w.end_call(1);
    }
    return;
  }
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(e); ++i) write_expression(w, at(i));
  if (what == "neg") {
    w.op(Op::unary_negative);
    return;
  }
  // Arguments of BINARY_OP, which are the same in all versions.
  static constexpr std::pair<std::string_view, int> kNumbers[] = {{"+", 0},  {"//", 2}, {"*", 5}, {"%", 6},
                                                                  {"**", 8}, {"-", 10}, {"/", 11}};
  for (const auto& [name, number] : kNumbers)
    if (name == what) return w.op(Op::binary_op, number);
  SCONCE_ASSERT(false);
}

void Rebuilder::make_shell(Writer& w, PyObject* o, Item& item) {
  switch (item.kind) {
    case Kind::list:
      w.op(Op::build_list, 0);
      break;
    case Kind::dict:
      w.op(Op::build_map, 0);
      break;
    case Kind::cell: {
      static PyObject* const cell_type = types_member("CellType");
      w.begin_call(cell_type);
      w.end_call(0);
      break;
    }
    default: {  // an instance
      PyTypeObject* type = Py_TYPE(o);
      PyObject* maker = object_new();
      PyTypeObject* base = type;
      while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
      if (base != &PyBaseObject_Type)
        maker = e_.origins.keep(Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__new__")));
      w.begin_call(maker);
      write(w, reinterpret_cast<PyObject*>(type));
      w.end_call(1);
    }
  }
  item.local = w.temporary();
  w.op(Op::store_fast, item.local);
}

void Rebuilder::fill(Writer& w, PyObject* o, Item& item) {
  const int local = item.local;
  switch (item.kind) {
    case Kind::list: {
      if (PyList_GET_SIZE(o) == 0) return;
      w.op(Op::load_fast, local);
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) write(w, PyList_GET_ITEM(o, i));
      w.op(Op::build_list, static_cast<int>(PyList_GET_SIZE(o)));
      w.op(Op::list_extend, 1);
      w.op(Op::pop_top);
      return;
    }
    case Kind::dict: {
      Py_ssize_t i = 0;
      PyObject *key = nullptr, *value = nullptr;
      while (PyDict_Next(o, &i, &key, &value)) {
        write(w, value);
        w.op(Op::load_fast, local);
        write(w, key);
        w.op(Op::store_subscript);
      }
      return;
    }
    case Kind::cell:
      if (PyCell_GET(o) == nullptr) return;
      write(w, PyCell_GET(o));
      w.op(Op::load_fast, local);
      w.load_name(Op::store_attr, name_of("cell_contents"));
      return;
    default: {
      if (PyTypeObject* base = container_base(o)) fill_container(w, o, base, local);
      const bool direct = Py_TYPE(o)->tp_setattro == PyObject_GenericSetAttr;
      const auto store = [&](PyObject* name, PyObject* value) {
        if (direct && PyUnicode_CheckExact(name)) {
          write(w, value);
          w.op(Op::load_fast, local);
          w.load_name(Op::store_attr, name);
        } else {
          w.begin_call(object_setattr());
          w.op(Op::load_fast, local);
          write(w, name);
          write(w, value);
          w.end_call(3);
          w.op(Op::pop_top);
        }
      };
      if (PyObject* dict = dict_of(o)) {
        Py_ssize_t i = 0;
        PyObject *key = nullptr, *value = nullptr;
        while (PyDict_Next(dict, &i, &key, &value)) {
          PyObject* in_type = _PyType_Lookup(Py_TYPE(o), key);
          if (in_type != nullptr && Py_TYPE(in_type)->tp_descr_set != nullptr) {  // hidden by a property: past it
            write(w, value);
            w.op(Op::load_fast, local);
            w.load_name(Op::load_attr, name_of("__dict__"));
            write(w, key);
            w.op(Op::store_subscript);
          } else {
            store(key, value);
          }
        }
      }
      for (auto& [name, value] : slots_of(o)) store(name, value.get());
    }
  }
}

// By methods of C: those of the program's class have run while evaluating.
void Rebuilder::fill_container(Writer& w, PyObject* o, PyTypeObject* base, int local) {
  const bool pairs = base != &PyList_Type && base != &PySet_Type;
  PyObject* method = e_.origins.keep(
      Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), pairs                  ? "__setitem__"
                                                                            : base == &PyList_Type ? "append"
                                                                                                   : "add")));
  const std::vector<Owned> contents = contents_of(o, base);
  for (size_t i = 0; i < contents.size(); i += pairs ? 2 : 1) {
    w.begin_call(method);
    w.op(Op::load_fast, local);
    write(w, contents[i].get());
    if (pairs) write(w, contents[i + 1].get());
    w.end_call(pairs ? 3 : 2);
    w.op(Op::pop_top);
  }
  if (PyObject* factory = default_factory(o, base)) {
    w.begin_call(object_setattr());
    w.op(Op::load_fast, local);
    w.constant(name_of("default_factory"));
    write(w, factory);
    w.end_call(3);
    w.op(Op::pop_top);
  }
}

void Rebuilder::write(Writer& w, PyObject* o) {
  o = e_.origins.canonical(o);
  const auto at = items_.find(o);
  if (at == items_.end()) {  // a constant that was not scanned: names of attributes
    w.constant(o);
    return;
  }
  Item& item = at->second;
  if (item.local >= 0) {
    w.op(Op::load_fast, item.local);
    return;
  }
  const auto keep = [&] {
    if (item.uses < 2) return;
    item.local = w.temporary();
    w.op(Op::copy, 1);
    w.op(Op::store_fast, item.local);
  };
  switch (item.kind) {
    case Kind::constant:
    case Kind::source:
      w.constant(o);
      return;
    case Kind::output: {
      const Owned index = Owned::take(PyLong_FromLong(item.output));
      static PyObject* const as_subclass = _PyType_Lookup(&tensor_type, interned("as_subclass"));
      if (has_class(o)) w.begin_call(as_subclass);
      w.op(Op::load_fast, results_);
      w.constant(index.get());
      w.op(Op::subscript);
      if (has_class(o)) {
        w.constant(reinterpret_cast<PyObject*>(Py_TYPE(o)));
        w.end_call(2);
      }
      if (item.parts) {  // attributes that the program gave it
        item.local = w.temporary();
        w.op(Op::store_fast, item.local);
        const Owned attributes = Owned::share(item.parts.get());
        Py_ssize_t i = 0;
        PyObject *key = nullptr, *value = nullptr;
        while (PyDict_Next(attributes.get(), &i, &key, &value)) {
          write(w, value);
          w.op(Op::load_fast, item.local);
          w.load_name(Op::store_attr, key);
        }
        w.op(Op::load_fast, item.local);
        return;
      }
      keep();
      return;
    }
    case Kind::tuple:
      if (item.begun) throw Unrebuildable{o, "a tuple that holds itself"};
      item.begun = true;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) write(w, PyTuple_GET_ITEM(o, i));
      item.begun = false;
      w.op(Op::build_tuple, static_cast<int>(PyTuple_GET_SIZE(o)));
      keep();
      return;
    case Kind::set: {
      Py_ssize_t i = 0;
      int n = 0;
      Py_hash_t hash = 0;
      PyObject* element = nullptr;
      const bool frozen = PyFrozenSet_CheckExact(o);
      if (frozen) w.begin_call(reinterpret_cast<PyObject*>(&PyFrozenSet_Type));
      while (_PySet_NextEntry(o, &i, &element, &hash)) write(w, element), ++n;
      w.op(Op::build_set, n);
      if (frozen) w.end_call(1);
      keep();
      return;
    }
    case Kind::slice: {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      write(w, s->start), write(w, s->stop), write(w, s->step);
      w.op(Op::build_slice, 3);
      keep();
      return;
    }
    case Kind::later: {
      const Later& later = *later_of(o);
      w.begin_call(later.callable.get());
      for (const Owned& arg : later.args) write(w, arg.get());
      w.end_call(static_cast<int>(later.args.size()));
      keep();
      return;
    }
    case Kind::method: {
      static PyObject* const method_type = types_member("MethodType");
      w.begin_call(method_type);
      write(w, PyMethod_GET_FUNCTION(o));
      write(w, PyMethod_GET_SELF(o));
      w.end_call(2);
      keep();
      return;
    }
    case Kind::c_method: {
      if (item.parts) {
        w.begin_call(PyTuple_GET_ITEM(item.parts.get(), 0));
        write(w, PyTuple_GET_ITEM(item.parts.get(), 1));
        w.end_call(1);
        keep();
        return;
      }
      const Owned name =
          Owned::take(PyUnicode_InternFromString(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name));
      write(w, PyCFunction_GET_SELF(o));
      w.load_name(Op::load_attr, name.get());
      keep();
      return;
    }
    case Kind::super:
      w.begin_call(reinterpret_cast<PyObject*>(&PySuper_Type));
      write(w, PyTuple_GET_ITEM(item.parts.get(), 0));
      write(w, PyTuple_GET_ITEM(item.parts.get(), 1));
      w.end_call(2);
      keep();
      return;
    case Kind::function: {
      static PyObject* const function_type = types_member("FunctionType");
      auto* f = reinterpret_cast<PyFunctionObject*>(o);
      // A cell of the closure may lead back to the function: cells are made empty, and filled when the function is there.
      std::vector<PyObject*> empty;
      for (Py_ssize_t i = 0; f->func_closure != nullptr && i < PyTuple_GET_SIZE(f->func_closure); ++i) {
        PyObject* cell = e_.origins.canonical(PyTuple_GET_ITEM(f->func_closure, i));
        const auto found = items_.find(cell);
        if (found == items_.end() || found->second.kind != Kind::cell || found->second.local >= 0) continue;
        make_shell(w, cell, found->second);
        empty.push_back(cell);
      }
      w.begin_call(function_type);
      w.constant(f->func_code);
      w.constant(f->func_globals);
      w.constant(f->func_name);
      if (f->func_defaults != nullptr)
        write(w, f->func_defaults);
      else
        w.constant(Py_None);
      if (f->func_closure != nullptr)
        write(w, f->func_closure);
      else
        w.constant(Py_None);
      w.end_call(5);
      item.local = w.temporary();
      w.op(Op::store_fast, item.local);
      for (PyObject* cell : empty) fill(w, cell, items_.at(cell));
      const auto set = [&](const char* name, PyObject* value) {
        if (value == nullptr) return;
        write(w, value);
        w.op(Op::load_fast, item.local);
        w.load_name(Op::store_attr, name_of(name));
      };
      set("__kwdefaults__", f->func_kwdefaults);
      set("__annotations__", f->func_annotations);
      if (PyUnicode_Compare(f->func_qualname, reinterpret_cast<PyCodeObject*>(f->func_code)->co_qualname) != 0)
        set("__qualname__", f->func_qualname);
      if (f->func_dict != nullptr && PyDict_GET_SIZE(f->func_dict) > 0) set("__dict__", f->func_dict);
      if (f->func_doc != nullptr && f->func_doc != Py_None) set("__doc__", f->func_doc);
      w.op(Op::load_fast, item.local);
      return;
    }
    case Kind::exception:
      write_exception(w, o, item);
      w.op(Op::load_fast, item.local);
      return;
    case Kind::reduced: {
      // callable(*args), then state, items and pairs, as copy.copy has it.
      if (item.begun) throw Unrebuildable{o, "an object that holds itself"};
      item.begun = true;
      const Owned parts = Owned::share(item.parts.get());
      PyObject* args = PyTuple_GET_ITEM(parts.get(), 1);
      PyObject* callee = PyTuple_GET_ITEM(parts.get(), 0);
      if (!null_is_above) w.op(Op::push_null);
      write(w, callee);
      if (null_is_above) w.op(Op::push_null);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) write(w, PyTuple_GET_ITEM(args, i));
      w.end_call(static_cast<int>(PyTuple_GET_SIZE(args)));
      item.local = w.temporary();
      w.op(Op::store_fast, item.local);
      const auto part = [&](Py_ssize_t i) -> PyObject* {
        PyObject* p = i < PyTuple_GET_SIZE(parts.get()) ? PyTuple_GET_ITEM(parts.get(), i) : Py_None;
        return p == Py_None ? nullptr : p;
      };
      if (PyObject* state = part(2)) {
        if (PyObject_HasAttrString(o, "__setstate__")) {
          w.op(Op::load_fast, item.local);
          w.begin_call_on_stack(name_of("__setstate__"));
          write(w, state);
          w.end_call(1);
          w.op(Op::pop_top);
        } else if (PyDict_Check(state)) {
          w.op(Op::load_fast, item.local);
          w.load_name(Op::load_attr, name_of("__dict__"));
          w.begin_call_on_stack(name_of("update"));
          write(w, state);
          w.end_call(1);
          w.op(Op::pop_top);
        } else {
          throw Unrebuildable{o, "an object with a state in slots"};
        }
      }
      if (PyObject* items = part(3)) {
        w.op(Op::load_fast, item.local);
        w.begin_call_on_stack(name_of("extend"));
        write(w, items);
        w.end_call(1);
        w.op(Op::pop_top);
      }
      if (PyObject* pairs = part(4)) {
        w.op(Op::load_fast, item.local);
        w.begin_call_on_stack(name_of("update"));
        write(w, pairs);
        w.end_call(1);
        w.op(Op::pop_top);
      }
      w.op(Op::load_fast, item.local);
      return;
    }
    case Kind::list:
      if (item.uses < 2) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) write(w, PyList_GET_ITEM(o, i));
        w.op(Op::build_list, static_cast<int>(PyList_GET_SIZE(o)));
        return;
      }
      break;
    case Kind::dict:
      if (item.uses < 2) {
        Py_ssize_t i = 0;
        PyObject *key = nullptr, *value = nullptr;
        while (PyDict_Next(o, &i, &key, &value)) write(w, key), write(w, value);
        w.op(Op::build_map, static_cast<int>(PyDict_GET_SIZE(o)));
        return;
      }
      break;
    default:
      break;
  }
  make_shell(w, o, item);
  fill(w, o, item);
  w.op(Op::load_fast, item.local);
}

namespace {

// An exception that was raised has a traceback: `with` (3.11) and readers of __traceback__ count on it.
PyObject* add_traceback(PyObject*, PyObject* error) {
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) Py_RETURN_NONE;
  PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), nullptr);
  PyTraceBack_Here(frame);
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(error, trace);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  Py_RETURN_NONE;
}

}  // namespace

// Code of C alone makes it: __init__ of the program's classes has run while evaluating.
void Rebuilder::write_exception(Writer& w, PyObject* o, Item& item) {
  const Owned parts = Owned::share(item.parts.get());
  PyObject* args = PyTuple_GET_ITEM(parts.get(), 0);
  const auto count = static_cast<int>(PyTuple_GET_SIZE(args));
  const auto write_args = [&] {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) write(w, PyTuple_GET_ITEM(args, i));
  };
  PyTypeObject* base = Py_TYPE(o);
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  auto* base_object = reinterpret_cast<PyObject*>(base);
  if (base == Py_TYPE(o)) {
    w.begin_call(base_object);
    write_args();
    w.end_call(count);
    item.local = w.temporary();
    w.op(Op::store_fast, item.local);
  } else {
    w.begin_call(e_.origins.keep(Owned::take(PyObject_GetAttrString(base_object, "__new__"))));
    write(w, reinterpret_cast<PyObject*>(Py_TYPE(o)));
    write_args();
    w.end_call(count + 1);
    item.local = w.temporary();
    w.op(Op::store_fast, item.local);
    w.begin_call(e_.origins.keep(Owned::take(PyObject_GetAttrString(base_object, "__init__"))));
    w.op(Op::load_fast, item.local);
    write_args();
    w.end_call(count + 1);
    w.op(Op::pop_top);
  }
  const auto set = [&](const char* name, PyObject* value) {
    write(w, value);
    w.op(Op::load_fast, item.local);
    w.load_name(Op::store_attr, name_of(name));
  };
  if (PyObject* dict = PyTuple_GET_ITEM(parts.get(), 1); dict != Py_None) {
    w.op(Op::load_fast, item.local);
    w.load_name(Op::load_attr, name_of("__dict__"));
    w.begin_call_on_stack(name_of("update"));
    write(w, dict);
    w.end_call(1);
    w.op(Op::pop_top);
  }
  for (auto& [name, value] : slots_of(o)) {
    write(w, value.get());
    w.op(Op::load_fast, item.local);
    w.load_name(Op::store_attr, name);
  }
  if (PyObject* cause = PyTuple_GET_ITEM(parts.get(), 2); cause != Py_None) set("__cause__", cause);
  if (PyObject* context = PyTuple_GET_ITEM(parts.get(), 3); context != Py_None) set("__context__", context);
  if (reinterpret_cast<PyBaseExceptionObject*>(o)->suppress_context) set("__suppress_context__", Py_True);
  static PyMethodDef traced = {"add_traceback", add_traceback, METH_O, nullptr};
  static PyObject* const function = PyCFunction_New(&traced, nullptr);
  w.begin_call(function);
  w.op(Op::load_fast, item.local);
  w.end_call(1);
  w.op(Op::pop_top);
}

void Rebuilder::settle(Writer& w, PyObject* o) {
  o = e_.origins.canonical(o);
  const auto at = items_.find(o);
  if (at == items_.end()) return;
  Item& item = at->second;
  if (item.local >= 0 || item.kind == Kind::constant || item.kind == Kind::source) return;
  write(w, o);
  if (item.local < 0) {
    item.local = w.temporary();
    w.op(Op::store_fast, item.local);
  } else {
    w.op(Op::pop_top);
  }
}

void Rebuilder::forget(Writer& w, PyObject* o) {
  const auto at = items_.find(e_.origins.canonical(o));
  if (at == items_.end() || at->second.local < 0 || at->second.kind == Kind::source) return;
  w.constant(Py_None);
  w.op(Op::store_fast, at->second.local);
}

std::optional<Recipe> Rebuilder::recipe(PyObject* o) {
  o = e_.origins.canonical(o);
  const Item& item = items_.at(o);
  Recipe made;
  switch (item.kind) {
    case Kind::constant:
      made.what = Recipe::What::constant;
      made.object = Owned::share(o);
      return made;
    case Kind::source: {
      const Source& s = e_.origins.sources().all()[static_cast<size_t>(item.source)];
      if (s.step == Step::constant) {
        made.what = Recipe::What::constant;
        made.object = Owned::share(s.object);
        return made;
      }
      if (s.step != Step::local) return std::nullopt;
      made.what = Recipe::What::input;
      made.index = s.index;
      return made;
    }
    case Kind::number: {
      if (PyTuple_GET_SIZE(item.parts.get()) != 2 || !PyLong_Check(PyTuple_GET_ITEM(item.parts.get(), 1)))
        return std::nullopt;
      const auto id = static_cast<size_t>(PyLong_AsLong(PyTuple_GET_ITEM(item.parts.get(), 1)));
      const Source& s = e_.origins.sources().all()[id];
      if (s.step != Step::local) return std::nullopt;
      made.what = Recipe::What::input;
      made.index = s.index;
      return made;
    }
    case Kind::output:
      if (item.parts || has_class(o)) return std::nullopt;
      made.what = Recipe::What::output;
      made.index = item.output;
      return made;
    case Kind::tuple:
    case Kind::list:
      if (item.uses > 1 && item.kind == Kind::list) return std::nullopt;
      if (item.uses > 1 && PyTuple_GET_SIZE(o) > 0) return std::nullopt;
      made.what = item.kind == Kind::tuple ? Recipe::What::tuple : Recipe::What::list;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        std::optional<Recipe> part = recipe(PySequence_Fast_GET_ITEM(o, i));
        if (!part) return std::nullopt;
        made.parts.push_back(std::move(*part));
      }
      return made;
    case Kind::dict: {
      if (item.uses > 1) return std::nullopt;
      made.what = Recipe::What::dict;
      Py_ssize_t i = 0;
      PyObject *key = nullptr, *value = nullptr;
      while (PyDict_Next(o, &i, &key, &value)) {
        for (PyObject* each : {key, value}) {
          std::optional<Recipe> part = recipe(each);
          if (!part) return std::nullopt;
          made.parts.push_back(std::move(*part));
        }
      }
      return made;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace sconce::python::capture
