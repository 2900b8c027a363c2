#include "capture/evaluator/origins.h"

#include "binder.h"
#include "capture/dict_keys.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/reasons.h"
#include "capture/guards/items_ahead.h"
#include "capture/guards/tensor_fact.h"
#include "capture/set_entries.h"
#include "size_object.h"
#include "small_objects.h"
#include "tensor_object.h"

namespace sconce::python::capture {

// datetime.date, time, datetime, timedelta and timezone, and Decimal: values as numbers are.
static bool is_library_value(PyObject* o) {
  const std::string_view name(Py_TYPE(o)->tp_name);
  if (!name.starts_with("datetime.") && !name.starts_with("decimal.")) return false;
  if (name == "datetime.date" || name == "datetime.timedelta" || name == "decimal.Decimal") return true;
  static PyObject* const utc = [] {
    const Owned module = Owned::take(PyImport_ImportModule("datetime"));
    return Owned::take(PyObject_GetAttrString(module.get(), "UTC")).give();
  }();
  if (name == "datetime.timezone") return o == utc;
  if (name != "datetime.datetime" && name != "datetime.time") return false;
  const Owned zone = Owned::take(PyObject_GetAttrString(o, "tzinfo"));
  return zone.get() == Py_None || zone.get() == utc;
}

bool is_constant(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented) return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyBool_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyUnicode_Type || t == &PyBytes_Type ||
      t == &PyComplex_Type)
    return true;
  if (t == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      if (!is_constant(PyTuple_GET_ITEM(o, i))) return false;
    }
    return true;
  }
  if (t == &PyFrozenSet_Type) {
    Py_ssize_t at = 0;
    Py_hash_t hash = 0;
    PyObject* item = nullptr;
    while (_PySet_NextEntry(o, &at, &item, &hash)) {
      if (!is_constant(item)) return false;
    }
    return true;
  }
  return t->tp_name[0] == 'd' && is_library_value(o);
}

namespace {

// torch.float32, torch.device('cpu') ...: values of PyTorch.
bool is_torch_value(PyTypeObject* t) {
  const std::string_view name(t->tp_name);
  if (!name.starts_with("torch.") || t->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
  return name == "torch.dtype" || name == "torch.device" || name == "torch.layout" || name == "torch.memory_format" ||
         name == "torch.Size" || name == "torch.finfo" || name == "torch.iinfo";
}

}  // namespace

bool is_immutable(PyObject* o) {
  if (is_constant(o) || is_dtype(o) || is_device(o) || is_layout(o) || is_memory_format(o) || PyCode_Check(o) ||
      is_library_function(o))
    return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t->tp_name[0] == 'r' && t->tp_name[1] == 'e' && t->tp_name[2] == '.') return true;  // re.Pattern, re.Match
  if (is_torch_value(t) || std::string_view(t->tp_name).starts_with("numpy.dtype")) return true;
  if (t == &PyCFunction_Type || t == &PyMethodDescr_Type || t == &PyWrapperDescr_Type ||
      t == &PyClassMethodDescr_Type || t == &PyGetSetDescr_Type || t == &PyMemberDescr_Type || t == &PyRange_Type ||
      t == &PyModule_Type)
    return t != &PyCFunction_Type || PyCFunction_GET_SELF(o) == nullptr || PyModule_Check(PyCFunction_GET_SELF(o)) ||
           PyType_Check(PyCFunction_GET_SELF(o));
  if (t == &PySlice_Type) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return is_constant(s->start) && is_constant(s->stop) && is_constant(s->step);
  }
  return PyType_Check(o) && !(reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

PyObject* Origins::changed() {
  static PyObject* const mark =
      Owned::take(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).give();
  return mark;
}

void Origins::mark_changed(PyObject* dict, PyObject* key) {
  Entry* e = find(dict);
  if (e == nullptr || e->shadow) throw Break{Reason::mutation, "an object of which a copy was made before"};
  check(PyDict_SetItem(overlay_of(dict).overlay.get(), key, changed()));
}

Origins::Written Origins::written() const {
  Written all;
  all.stores = stores_;
  for (const auto& [object, e] : entries_) {
    if (e.overlay) all.overlays.emplace_back(object, Owned::take(PyDict_Copy(e.overlay.get())));
    if (!e.shadow || PyTuple_Check(object)) continue;
    all.shadows.emplace_back(object, PyDict_Check(e.shadow.get()) ? Owned::take(PyDict_Copy(e.shadow.get()))
                                     : PyList_Check(e.shadow.get()) || is_deque(e.shadow.get())
                                         ? Owned::take(PySequence_Tuple(e.shadow.get()))
                                         : Owned::take(PyFrozenSet_New(e.shadow.get())));
  }
  return all;
}

bool Origins::same(const Written& before) const {
  const auto put_back = [&](PyObject* object, const Entry& e) {
    PyObject *then = nullptr, *key = nullptr, *value = nullptr;
    for (const auto& [one, copy] : before.overlays)
      if (one == object) then = copy.get();
    for (Py_ssize_t at = 0; PyDict_Next(e.overlay.get(), &at, &key, &value);) {
      PyObject* old = then == nullptr ? nullptr : PyDict_GetItemWithError(then, key);
      if (old == nullptr && e.seen) old = PyDict_GetItemWithError(e.seen.get(), key);
      if (old != value) return false;
    }
    return true;
  };
  if (stores_ != before.stores) {
    for (const auto& [object, e] : entries_)
      if (e.overlay && !put_back(object, e)) return false;
  }
  const auto same_items = [](PyObject* now, PyObject* then) {
    if (PyDict_Check(now)) {
      if (PyDict_GET_SIZE(now) != PyDict_GET_SIZE(then)) return false;
      PyObject *key = nullptr, *value = nullptr, *old_key = nullptr, *old = nullptr;
      Py_ssize_t b = 0;
      for (Py_ssize_t a = 0; PyDict_Next(now, &a, &key, &value);)
        if (!PyDict_Next(then, &b, &old_key, &old) || key != old_key || value != old) return false;
      return true;
    }
    if (PyList_Check(now)) {
      if (PyList_GET_SIZE(now) != PyTuple_GET_SIZE(then)) return false;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(now); ++i)
        if (PyList_GET_ITEM(now, i) != PyTuple_GET_ITEM(then, i)) return false;
      return true;
    }
    if (is_deque(now)) {
      const Owned items = Owned::take(PySequence_Tuple(now));
      if (PyTuple_GET_SIZE(items.get()) != PyTuple_GET_SIZE(then)) return false;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(then); ++i)
        if (PyTuple_GET_ITEM(items.get(), i) != PyTuple_GET_ITEM(then, i)) return false;
      return true;
    }
    return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
  };
  for (const auto& [object, e] : entries_) {
    if (!e.shadow || PyTuple_Check(object)) continue;
    PyObject* then = e.snapshot.get();
    for (const auto& [one, copy] : before.shadows)
      if (one == object) then = copy.get();
    if (!same_items(e.shadow.get(), then)) return false;
  }
  return true;
}

bool Origins::is_written(PyObject* object, PyObject* but) {
  Entry* e = find(object);
  if (e == nullptr) return false;
  if (e->shadow) {
    if (!PyList_Check(object)) return true;
    PyObject *now = e->shadow.get(), *then = e->snapshot.get();
    if (PyList_GET_SIZE(now) != PyTuple_GET_SIZE(then)) return true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(now); ++i)
      if (canonical(PyList_GET_ITEM(now, i)) != canonical(PyTuple_GET_ITEM(then, i))) return true;
    return false;
  }
  if (!e->overlay) return false;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(e->overlay.get(), &at, &key, &value);)
    if (value != changed() && key != but) return true;
  return false;
}

PyObject* Origins::deleted() {
  static PyObject* mark = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return mark;
}

Origins::Entry& Origins::enter(PyObject* object, SourceId source) {
  auto [at, fresh] = entries_.try_emplace(object);
  Entry& entry = at->second;
  if (fresh) {
    entry.source = source;
    entry.object = Owned::share(object);
    if (source != kNoSource) {
      if (static_cast<size_t>(source) >= owners_.size()) owners_.resize(static_cast<size_t>(source) + 64);
      if (owners_[static_cast<size_t>(source)] == nullptr) owners_[static_cast<size_t>(source)] = object;
    }
  } else if (entry.source != source && source != kNoSource && entry.source != kNoSource) {
    if (entry.identity_guarded || is_immutable(object))
      sources_.guard(source, FactKind::identity, object);
    else
      sources_.guard(source, FactKind::same_object, nullptr, entry.source);
  }
  return entry;
}

void Origins::enter_constant(PyObject* object) {
  const bool fresh = !outside(object);
  Entry& entry = enter(object, sources_.add(Step::constant, kNoSource, 0, nullptr, object));
  if (fresh) entry.identity_guarded = true;
}

SourceId Origins::source_of(PyObject* object) {
  object = canonical(object);
  if (const Entry* e = find(object)) return e->source;
  return kNoSource;
}

Owned Origins::wrap_tensor(PyObject* tensor, SourceId source) {
  const uint64_t free = free_dims ? free_dims(sources_, source, tensor) : 0;
  PyObject* fake = recorder_.input(tensor, source, sources_.input_name(source, local_names, free_names), free);
  const auto [at, fresh] = reals_.try_emplace(fake, tensor);
  if (fresh) {
    kept_.push_back(Owned::share(fake));
    kept_.push_back(Owned::share(tensor));
    enter(fake, source);
    sources_.guard(source, FactKind::tensor, tensor, static_cast<int64_t>(free));
  } else if (const Entry* e = find(fake); e != nullptr && e->source != source) {
    sources_.guard(source, FactKind::same_object, nullptr, e->source);
  }
  return Owned::share(fake);
}

// A number that changed since an earlier compilation is an input; empty: it is a constant.
Owned Origins::wrap_number(PyObject* number, SourceId source) {
  if (!free_number) return {};
  const Source& s = sources_.all()[static_cast<size_t>(source)];
  const bool of_object = s.step == Step::attribute || s.step == Step::instance_item;
  if (!free_number(sources_, source, number, of_object ? owner_of(s.base) : nullptr)) return {};
  PyObject* made = recorder_.input_number(number, source, sources_.input_name(source, local_names, free_names));
  if (made == nullptr) return {};
  sources_.guard(source, FactKind::type, reinterpret_cast<PyObject*>(Py_TYPE(number)));
  return Owned::share(made);
}

Owned Origins::wrap(PyObject* object, SourceId source) {
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object)) {
    if (Owned made = wrap_number(object, source)) return made;
  }
  if (is_constant(object) || is_device(object)) {
    sources_.guard(source, FactKind::equal, object);
    return Owned::share(object);
  }
  if (is_tensor(object) || is_torch_tensor(object)) return wrap_tensor(object, source);
  Entry& entry = enter(object, source);
  if (is_immutable(object) || PyType_Check(object) || PyModule_Check(object)) guard_identity(object);
  return Owned::share(entry.object.get());
}

bool Origins::has_other_content(PyObject* object) {
  const Entry* e = find(object);
  if (e == nullptr || e->order == 0) return false;
  if (e->taken_by != nullptr) return true;
  if (e->overlay && PyDict_GET_SIZE(e->overlay.get()) > 0) return true;
  if (!e->shadow || PyTuple_Check(object)) return false;
  PyObject *now = e->shadow.get(), *then = e->snapshot.get();
  if (PyList_Check(now)) {
    if (PyList_GET_SIZE(now) != PyTuple_GET_SIZE(then)) return true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(now); ++i)
      if (canonical(PyList_GET_ITEM(now, i)) != canonical(PyTuple_GET_ITEM(then, i))) return true;
    return false;
  }
  if (PyAnySet_Check(now))
    return PySet_GET_SIZE(now) != PySet_GET_SIZE(then) || PyObject_RichCompareBool(now, then, Py_EQ) != 1;
  if (!PyDict_Check(now) || PyDict_GET_SIZE(now) != PyDict_GET_SIZE(then)) return true;
  Py_ssize_t a = 0, b = 0;
  PyObject *key = nullptr, *value = nullptr, *old_key = nullptr, *old_value = nullptr;
  while (PyDict_Next(now, &a, &key, &value) && PyDict_Next(then, &b, &old_key, &old_value))
    if (key != old_key || canonical(value) != canonical(old_value)) return true;
  return false;
}

void Origins::guard_type(PyObject* object) {
  Entry* e = find(object);
  if (e == nullptr || e->type_guarded || e->identity_guarded) return;
  e->type_guarded = true;
  if (recorder_.is_fake(object)) return;  // its class, which a fake's own is not, is among the facts of a tensor
  if (e->source != kNoSource) sources_.guard(e->source, FactKind::type, reinterpret_cast<PyObject*>(Py_TYPE(object)));
}
void Origins::guard_identity(PyObject* object) {
  Entry* e = find(object);
  if (e == nullptr || e->identity_guarded || recorder_.is_fake(object)) return;
  e->identity_guarded = true;
  if (e->source != kNoSource) sources_.guard(e->source, FactKind::identity, object);
}
void Origins::guard_length(PyObject* object) {
  Entry* e = find(object);
  if (e == nullptr || e->length_guarded) return;
  guard_type(object);
  e->length_guarded = true;
  sources_.guard(e->source, FactKind::length, nullptr, PyObject_Size(object));
}

bool is_deque(PyObject* object) {
  static PyObject* const type = [] {
    const Owned module = Owned::take(PyImport_ImportModule("collections"));
    return Owned::take(PyObject_GetAttrString(module.get(), "deque")).give();
  }();
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

bool Origins::can_absorb(PyObject* o) const {
  return PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o) || PyAnySet_CheckExact(o) || is_deque(o);
}

namespace {

PyTypeObject* class_of_c(PyObject* object) {
  PyTypeObject* base = Py_TYPE(object);
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  return base;
}

// Stores as the class of C does it: what a class of Python has in its place was evaluated. `value` null: deletes.
void store_plainly(PyObject* dict, PyObject* key, PyObject* value) {
  check(class_of_c(dict)->tp_as_mapping->mp_ass_subscript(dict, key, value));
}

// Is a dict of the program's own class read as a dict is: no method of Python stands between?
bool is_read_plainly(PyObject* dict) {
  static PyObject* const names[] = {Owned::take(PyUnicode_InternFromString("__getitem__")).give(),
                                    Owned::take(PyUnicode_InternFromString("__iter__")).give(),
                                    Owned::take(PyUnicode_InternFromString("keys")).give()};
  for (PyObject* name : names) {
    PyObject* found = _PyType_Lookup(Py_TYPE(dict), name);
    if (found != nullptr && !Py_IS_TYPE(found, &PyWrapperDescr_Type) && !Py_IS_TYPE(found, &PyMethodDescr_Type))
      return false;
  }
  return true;
}

}  // namespace

PyObject* Origins::absorb(PyObject* object) {
  Entry* e = find(object);
  if (e == nullptr || e->shadow) return e == nullptr ? object : e->shadow.get();
  if (e->source == kNoSource || !can_absorb(object)) return object;
  guard_type(object);
  const SourceId source = e->source;
  if (PyTuple_Check(object) || PyList_Check(object)) {
    guard_length(object);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    Owned items = Owned::take(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, i);
      PyTuple_SET_ITEM(items.get(), i, wrap(item, sources_.add(Step::element, source, static_cast<int32_t>(i))).give());
    }
    e = find(object);
    if (PyList_Check(object)) {
      const Owned none = Owned::take(PyTuple_New(0));
      e->shadow = Owned::take(PyList_Type.tp_new(Py_TYPE(object), none.get(), nullptr));
      check(PyList_SetSlice(e->shadow.get(), 0, 0, items.get()));
    } else if (PyTuple_CheckExact(object)) {
      e->shadow = Owned::share(items.get());
    } else {
      const Owned args = Owned::take(PyTuple_Pack(1, items.get()));
      e->shadow = Owned::take(PyTuple_Type.tp_new(Py_TYPE(object), args.get(), nullptr));
    }
    e->snapshot = std::move(items);
  } else if (PyDict_Check(object)) {
    if (!PyDict_CheckExact(object) && !is_read_plainly(object))
      throw Break{Reason::unknown_object, std::string(Py_TYPE(object)->tp_name)};
    const Owned keys = dict_keys(object);
    const Py_ssize_t n = PyTuple_GET_SIZE(keys.get());
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    sources_.guard(source, FactKind::keys, keys.get());
    Owned copy;
    if (PyDict_CheckExact(object)) {
      copy = Owned::take(PyDict_New());
    } else {  // OrderedDict, defaultdict: an empty one of its class
      const Owned none = Owned::take(PyTuple_New(0));
      copy = Owned::take(class_of_c(object)->tp_new(Py_TYPE(object), none.get(), nullptr));
      const Owned name = Owned::take(PyUnicode_InternFromString("default_factory"));
      if (_PyType_Lookup(Py_TYPE(object), name.get()) != nullptr) {
        const Owned made = Owned::take(PyObject_GenericGetAttr(object, name.get()));
        const Owned wrapped = wrap(made.get(), sources_.add(Step::attribute, source, 0, name.get()));
        check(PyObject_GenericSetAttr(copy.get(), name.get(), wrapped.get()));
      }
    }
    const SourceId items = find(object)->items;
    for (Py_ssize_t i = 0; i < n; ++i) {
      key = PyTuple_GET_ITEM(keys.get(), i);
      value = PyDict_GetItemWithError(object, key);
      const Owned seen_key =
          is_constant(key) ? Owned::share(key) : wrap(key, sources_.add(Step::key_at, source, static_cast<int32_t>(i)));
      const SourceId from = items != kNoSource ? sources_.add(Step::instance_item, items, 0, key)
                                               : sources_.add(Step::item, source, 0, key);
      const Owned wrapped = wrap(value, from);
      store_plainly(copy.get(), seen_key.get(), wrapped.get());
    }
    e = find(object);
    e->snapshot = Owned::take(PyDict_New());
    check(PyDict_Update(e->snapshot.get(), copy.get()));
    if (e->overlay) {
      at = 0;
      while (PyDict_Next(e->overlay.get(), &at, &key, &value)) {
        if (value == changed()) throw Break{Reason::unknown_attribute, "what the graph changes on its way"};
        if (value != deleted())
          store_plainly(copy.get(), key, value);
        else if (PyDict_Contains(copy.get(), key) == 1)
          store_plainly(copy.get(), key, nullptr);
      }
    }
    e->shadow = std::move(copy);
  } else if (is_deque(object)) {
    static PyObject* const maxlen = PyUnicode_InternFromString("maxlen");
    guard_length(object);
    const Owned most = Owned::take(PyObject_GetAttr(object, maxlen));
    (void)wrap(most.get(), sources_.add(Step::attribute, source, 0, maxlen));
    const Py_ssize_t n = PySequence_Size(object);
    Owned items = Owned::take(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Owned item = Owned::take(PySequence_GetItem(object, i));
      PyTuple_SET_ITEM(items.get(), i,
                       wrap(item.get(), sources_.add(Step::element, source, static_cast<int32_t>(i))).give());
    }
    e = find(object);
    e->shadow = Owned::take(
        PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(Py_TYPE(object)), items.get(), most.get(), nullptr));
    e->snapshot = std::move(items);
  } else {
    Py_ssize_t at = 0;
    Py_hash_t hash = 0;
    PyObject* item = nullptr;
    while (_PySet_NextEntry(object, &at, &item, &hash)) {
      if (!is_immutable(item) && !PyType_Check(item))
        throw Break{Reason::unknown_object, "a set of objects from outside"};
    }
    e->snapshot = Owned::take(PyFrozenSet_New(object));
    e->shadow = PySet_Check(object) ? Owned::take(PySet_New(object)) : Owned::take(PyFrozenSet_New(object));
    sources_.guard(source, FactKind::equal, PySet_Check(object) ? keep(Owned::take(PySet_New(object))) : object);
  }
  if (e->order == 0) e->order = next_order();
  originals_[e->shadow.get()] = object;
  return e->shadow.get();
}

// ------------------------------------------------------------------------------------------------ iterators

// Notes that an iterator, and those that it takes from, are moved by asking `root`. False: one of them is moved by asking
// another, or goes through what was written.
bool Origins::claim(PyObject* iterator, PyObject* root) {
  Entry* e = find(iterator);
  if (e->taken_by != nullptr && e->taken_by != root) return false;
  const SourceId source = e->source;
  guard_type(iterator);
  const std::vector<Owned> inner = inner_iterators(iterator);
  for (size_t i = 0; i < inner.size(); ++i) {
    enter(inner[i].get(), sources_.add(Step::inner, source, static_cast<int32_t>(i)));
    if (!claim(inner[i].get(), root)) return false;
  }
  if (const Owned through = iterated(iterator)) {
    if (!is_immutable(through.get())) {
      enter(through.get(), sources_.add(Step::iterated, source));
      guard_type(through.get());
      if (has_other_content(through.get())) return false;
    }
  } else if (goes_through_keys(iterator)) {
    for (auto& [object, entry] : entries_)
      if ((PyDict_Check(object) || PyAnySet_Check(object)) && has_other_content(object)) return false;
  }
  e = find(iterator);
  e->taken_by = root;
  if (e->order == 0) e->order = next_order();
  return true;
}

Owned Origins::take_item(PyObject* iterator, bool& known) {
  known = false;
  if (find(iterator)->source == kNoSource || !has_items_ahead(iterator) || !claim(iterator, iterator)) return {};
  known = true;
  ++stores_;
  Entry* e = find(iterator);
  const SourceId source = sources_.add(Step::ahead, e->source, e->taken);
  const Owned item = item_ahead(iterator, e->taken++);
  if (!item) {
    sources_.guard(source, FactKind::absent);
    return {};
  }
  Owned wrapped = wrap(item.get(), source);
  guard_type(wrapped.get());
  return wrapped;
}

// ------------------------------------------------------------------------------------------------ dicts

PyObject* Origins::dict_find(PyObject* dict, PyObject* key) {
  Entry* e = find(dict);
  PyObject* in = e == nullptr ? dict : e->shadow.get();
  if (in == nullptr && e->overlay) {
    if (PyObject* found = PyDict_GetItemWithError(e->overlay.get(), key)) {
      if (found == changed()) throw Break{Reason::unknown_attribute, "what the graph changes on its way"};
      return found == deleted() ? nullptr : found;
    }
  }
  if (in != nullptr) {
    PyObject* found = PyDict_GetItemWithError(in, key);
    if (found == nullptr && PyErr_Occurred()) throw PythonError();
    return found == nullptr ? nullptr : canonical(found);
  }
  if (e->seen) {
    if (PyObject* found = PyDict_GetItemWithError(e->seen.get(), key)) return found;
  }
  guard_type(dict);
  PyObject* real = real_of(key);
  PyObject* found = PyDict_GetItemWithError(dict, real);
  if (found == nullptr && PyErr_Occurred()) throw PythonError();
  const SourceId source = e->globals              ? sources_.add(Step::global, kNoSource, 0, real, dict)
                          : e->items != kNoSource ? sources_.add(Step::instance_item, e->items, 0, real)
                                                  : sources_.add(Step::item, e->source, 0, real);
  if (found == nullptr) {
    sources_.guard(source, FactKind::absent);
    return nullptr;
  }
  const Owned wrapped = wrap(found, source);
  e = find(dict);
  if (!e->seen) e->seen = Owned::take(PyDict_New());
  check(PyDict_SetItem(e->seen.get(), key, wrapped.get()));
  return wrapped.get();
}

bool Origins::dict_contains(PyObject* dict, PyObject* key) {
  Entry* e = find(dict);
  if (e != nullptr && !e->shadow) {
    if (e->overlay) {
      if (PyObject* found = PyDict_GetItemWithError(e->overlay.get(), key)) return found != deleted();
    }
    PyObject* real = real_of(key);
    const int there = PyDict_Contains(dict, real);
    check(there);
    guard_type(dict);
    const SourceId source = e->items != kNoSource ? sources_.add(Step::instance_item, e->items, 0, real)
                            : e->globals          ? sources_.add(Step::global, kNoSource, 0, real, dict)
                                                  : sources_.add(Step::item, e->source, 0, real);
    sources_.guard(source, there ? FactKind::present : FactKind::absent);
    return there;
  }
  const int there = PyDict_Contains(e == nullptr ? dict : e->shadow.get(), key);
  check(there);
  return there;
}

Origins::Entry& Origins::overlay_of(PyObject* object) {
  Entry& e = *find(object);
  ++stores_;
  if (!e.overlay) e.overlay = Owned::take(PyDict_New());
  if (e.order == 0) e.order = next_order();
  return e;
}

void Origins::dict_store(PyObject* dict, PyObject* key, PyObject* value) {
  Entry* e = find(dict);
  if (e == nullptr || e->shadow) {
    PyObject* in = e == nullptr ? dict : e->shadow.get();
    store_plainly(in, key, value);
    return;
  }
  guard_type(dict);
  if (value == nullptr && !dict_contains(dict, key)) {
    PyErr_SetObject(PyExc_KeyError, key);
    throw PythonError();
  }
  if (value != nullptr && e->overlay && !e->globals && !PyModule_Check(dict) &&
      PyDict_GetItemWithError(e->overlay.get(), key) == deleted() && can_absorb(dict)) {
    (void)absorb(dict);  // deleted and stored again, it stands last: the copy keeps the order
    dict_store(dict, key, value);
    return;
  }
  check(PyDict_SetItem(overlay_of(dict).overlay.get(), key, value == nullptr ? deleted() : value));
}

PyObject* Origins::instance_dict(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (PyModule_Check(object)) {
    PyObject* dict = PyModule_GetDict(object);
    if (Entry* e = find(object)) {
      if (find(dict) == nullptr) {
        const SourceId base = e->source;
        Entry& d = enter(dict, sources_.add(Step::instance_dict, base));
        d.items = base;
        d.type_guarded = true;
      }
    }
    return dict;
  }
  if (type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  const Owned dict = Owned::take(PyObject_GenericGetDict(object, nullptr));  // the object keeps it
  if (Entry* e = find(object)) {
    if (find(dict.get()) == nullptr) {
      const SourceId base = e->source;
      Entry& d = enter(dict.get(), sources_.add(Step::instance_dict, base));
      d.items = base;
      d.type_guarded = true;
    }
  }
  return dict.get();
}

// ------------------------------------------------------------------------------------------------ classes

SourceId Origins::class_source(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (const Entry* e = find(object)) return e->source;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return kNoSource;
  const auto at = classes_.find(object);
  if (at != classes_.end()) return at->second;
  // Reached through an instance whose type is guarded: the class itself is a constant from here on.
  const SourceId source = sources_.add(Step::constant, kNoSource, 0, nullptr, object);
  classes_.emplace(object, source);
  return source;
}

PyObject* Origins::class_find(PyTypeObject* type, PyObject* name) {
  if (class_written_) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
      bool known = false;
      if (PyObject* stored = slot_find(base, name, known); known) return stored;
#if PY_VERSION_HEX >= 0x030c0000
      const Owned dict = Owned::take(PyType_GetDict(reinterpret_cast<PyTypeObject*>(base)));
#else
      const Owned dict = Owned::share(reinterpret_cast<PyTypeObject*>(base)->tp_dict);
#endif
      if (PyDict_Contains(dict.get(), name) == 1) break;
    }
  }
  const auto [at, fresh] = lookups_.try_emplace(Lookup{type, name}, nullptr);
  if (!fresh) return at->second;
  PyObject* found = _PyType_Lookup(type, name);
  kept_.push_back(Owned::share(name));
  const SourceId base = class_source(type);
  if (base != kNoSource) {
    const SourceId source = sources_.add(Step::class_item, base, 0, name);
    if (found == nullptr) {
      sources_.guard(source, FactKind::absent);
    } else {
      if (is_constant(found)) {
        sources_.guard(source, FactKind::equal, found);
      } else if (is_tensor(found)) {
        const Owned fake = wrap_tensor(found, source);
        kept_.push_back(Owned::share(fake.get()));
        found = fake.get();
      } else {
        enter(found, source);
        guard_identity(found);
      }
    }
  }
  if (found != nullptr) kept_.push_back(Owned::share(found));
  lookups_[Lookup{type, name}] = found;
  return found;
}

void Origins::class_store(PyTypeObject* type, PyObject* name, PyObject* value) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!outside(object)) enter(object, class_source(type)).identity_guarded = true;
  class_written_ = true;
  slot_store(object, name, value);
}

// ------------------------------------------------------------------------------------------------ cells, slots

PyObject* Origins::cell_contents(PyObject* cell) {
  Entry* e = find(cell);
  if (e == nullptr) return PyCell_GET(cell);
  if (e->overlay) {
    PyObject* found = PyDict_GetItemWithError(e->overlay.get(), Py_None);
    if (found != nullptr) return found == deleted() ? nullptr : found;
  }
  const SourceId source = sources_.add(Step::contents, e->source);
  PyObject* real = PyCell_GET(cell);
  if (real == nullptr) {
    sources_.guard(source, FactKind::absent);
    return nullptr;
  }
  return keep(wrap(real, source));
}

void Origins::cell_store(PyObject* cell, PyObject* value) {
  if (!outside(cell)) {
    check(PyCell_Set(cell, value));
    return;
  }
  Entry& e = overlay_of(cell);
  e.is_cell = true;
  check(PyDict_SetItem(e.overlay.get(), Py_None, value == nullptr ? deleted() : value));
}

PyObject* Origins::slot_find(PyObject* object, PyObject* name, bool& known) {
  Entry* e = find(object);
  known = false;
  if (e == nullptr || !e->overlay) return nullptr;
  PyObject* found = PyDict_GetItemWithError(e->overlay.get(), name);
  known = found != nullptr;
  return found == deleted() ? nullptr : found;
}
void Origins::slot_store(PyObject* object, PyObject* name, PyObject* value) {
  Entry& e = overlay_of(object);
  e.is_slots = true;
  check(PyDict_SetItem(e.overlay.get(), name, value == nullptr ? deleted() : value));
}

}  // namespace sconce::python::capture
