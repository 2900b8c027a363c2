#include "capture/output/effects.h"
#include "capture/guards/items_ahead.h"
#include "capture/set_entries.h"
#include "sconce/base/error.h"

#include <algorithm>

namespace sconce::python::capture {
namespace {

PyObject* name_of(const char* text) {
  static std::unordered_map<const char*, PyObject*> known;
  PyObject*& name = known[text];
  if (name == nullptr) name = interned(text);
  return name;
}

// move(iterator, calls)
PyObject* move(PyObject*, PyObject* args) {
  try {
    move_iterator(PyTuple_GET_ITEM(args, 0), PyLong_AsSsize_t(PyTuple_GET_ITEM(args, 1)));
    return Py_NewRef(Py_None);
  } catch (const PythonError&) {
    return nullptr;
  }
}

}  // namespace

Effects::Effects(Evaluator& evaluator) : e_(evaluator) {
  std::vector<std::pair<int, PyObject*>> changed;
  for (auto& [object, entry] : e_.origins.entries()) {
    if (entry.order != 0) changed.emplace_back(entry.order, object);
  }
  std::sort(changed.begin(), changed.end());
  for (auto& [order, object] : changed) {
    const Origins::Entry& entry = *e_.origins.find(object);
    if (entry.taken_by != object) continue;
    const Owned calls = Owned::take(PyLong_FromLong(entry.taken));
    add(Kind::moved, object, nullptr, calls.get());
  }
  for (auto& [order, object] : changed) {
    Origins::Entry& entry = *e_.origins.find(object);
    if (entry.taken_by != nullptr) continue;
    if (entry.shadow)
      add_shadow(object, entry);
    else
      add_overlay(object, entry);
  }
}

void Effects::add(Kind kind, PyObject* target, PyObject* key, PyObject* value) {
  Write w{kind, Owned::share(target), {}, {}};
  if (key != nullptr) w.key = Owned::share(key);
  if (value != nullptr) w.value = Owned::share(value);
  writes_.push_back(std::move(w));
}

void Effects::add_overlay(PyObject* object, Origins::Entry& entry) {
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(entry.overlay.get(), &at, &key, &value)) {
    if (value == Origins::changed()) continue;
    PyObject* stored = value == Origins::deleted() ? nullptr : value;
    if (entry.is_cell) {
      add(Kind::cell, object, nullptr, stored);
    } else if (entry.is_slots) {
      add(Kind::attribute, object, key, stored);
    } else if (stored == nullptr && PyDict_Contains(object, e_.origins.real_of(key)) == 0) {
      continue;  // made and deleted inside
    } else if (entry.globals) {
      add(Kind::global, object, key, stored);
    } else if (entry.items != kNoSource) {
      // The instance: whoever has the source that the dict hangs on.
      PyObject* owner = nullptr;
      for (auto& [candidate, e] : e_.origins.entries()) {
        if (e.source == entry.items && candidate != object) owner = candidate;
      }
      if (owner != nullptr && PyUnicode_CheckExact(key))
        add(Kind::attribute, owner, key, stored);
      else
        add(Kind::key, object, key, stored);
    } else {
      add(Kind::key, object, key, stored);
    }
  }
}

void Effects::add_shadow(PyObject* object, Origins::Entry& entry) {
  PyObject *now = entry.shadow.get(), *then = entry.snapshot.get();
  if (PyTuple_Check(object)) return;
  const auto same = [&](PyObject* a, PyObject* b) { return e_.origins.canonical(a) == e_.origins.canonical(b); };
  if (PyList_Check(object)) {
    const Py_ssize_t n = PyList_GET_SIZE(now), before = PyTuple_GET_SIZE(then);
    Py_ssize_t equal = 0;
    while (equal < n && equal < before && same(PyList_GET_ITEM(now, equal), PyTuple_GET_ITEM(then, equal))) ++equal;
    if (equal == n && n == before) return;
    if (equal == before) {
      const Owned more = Owned::take(PyList_GetSlice(now, equal, n));
      add(Kind::list_extend, object, nullptr, more.get());
    } else {
      const Owned all = Owned::take(PyList_GetSlice(now, 0, n));
      add(Kind::list_all, object, nullptr, all.get());
    }
    return;
  }
  if (is_deque(object)) {
    const Owned all = Owned::take(PySequence_List(now));
    bool equal = PyList_GET_SIZE(all.get()) == PyTuple_GET_SIZE(then);
    for (Py_ssize_t i = 0; equal && i < PyList_GET_SIZE(all.get()); ++i)
      equal = same(PyList_GET_ITEM(all.get(), i), PyTuple_GET_ITEM(then, i));
    if (!equal) add(Kind::deque_all, object, nullptr, all.get());
    return;
  }
  if (PyODict_Check(object)) {  // has an order of its own
    const auto listed = [](PyObject* dict) { return Owned::take(PySequence_List(dict)); };
    const int same_order = PyObject_RichCompareBool(listed(now).get(), listed(object).get(), Py_EQ);
    check(same_order);
    if (same_order == 0) {
      const Owned all = Owned::take(PyDict_New()), keys = listed(now);
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
        PyObject* key = PyList_GET_ITEM(keys.get(), i);
        check(PyDict_SetItem(all.get(), key, Owned::take(PyObject_GetItem(now, key)).get()));
      }
      add(Kind::dict_all, object, nullptr, all.get());
      return;
    }
  }
  if (PyDict_Check(object)) {
    // Keys that stayed stand in the same order, and new ones behind them: item by item.
    Py_ssize_t a = 0, b = 0;
    PyObject *key = nullptr, *value = nullptr, *old_key = nullptr, *old_value = nullptr;
    std::vector<std::pair<PyObject*, PyObject*>> stores;
    std::vector<PyObject*> deletes;
    bool in_order = true;
    while (PyDict_Next(then, &b, &old_key, &old_value)) {
      if (PyDict_Contains(now, old_key) == 0) deletes.push_back(old_key);
    }
    b = 0;
    bool more = PyDict_Next(then, &b, &old_key, &old_value);
    while (PyDict_Next(now, &a, &key, &value)) {
      while (more && PyDict_Contains(now, old_key) == 0) more = PyDict_Next(then, &b, &old_key, &old_value);
      if (more) {
        if (!same(key, old_key) && PyObject_RichCompareBool(key, old_key, Py_EQ) != 1) {
          in_order = false;
          break;
        }
        if (!same(value, old_value)) stores.emplace_back(key, value);
        more = PyDict_Next(then, &b, &old_key, &old_value);
      } else {
        stores.emplace_back(key, value);
      }
    }
    if (in_order) {
      for (PyObject* gone : deletes) add(Kind::key, object, gone, nullptr);
      for (auto& [k, v] : stores) add(Kind::key, object, k, v);
    } else {
      const Owned all = Owned::take(PyDict_New());
      check(PyDict_Update(all.get(), now));
      add(Kind::dict_all, object, nullptr, all.get());
    }
    return;
  }
  if (PySet_Check(object)) {
    const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
    check(equal);
    if (equal == 0) {
      const Owned all = Owned::take(PyList_New(0));
      Py_ssize_t at = 0;
      Py_hash_t hash = 0;
      PyObject* item = nullptr;
      while (_PySet_NextEntry(now, &at, &item, &hash)) check(PyList_Append(all.get(), item));
      add(Kind::set_all, object, nullptr, all.get());
    }
  }
}

void Effects::scan(Rebuilder& r) {
  for (const Write& w : writes_) {
    if (w.kind != Kind::global) r.scan(w.target.get());
    if (w.key) r.scan(w.key.get());
    if (w.value) r.scan(w.value.get());
  }
}

// The method written in C that an object's class has or inherits: what a class of Python has in its place was evaluated,
// and must not run again. Borrowed.
static PyObject* method_of_c(PyObject* object, const char* name) {
  PyObject* mro = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    const Owned dict = Owned::take(PyObject_GetAttr(PyTuple_GET_ITEM(mro, i), name_of("__dict__")));
    PyObject* found = PyObject_GetItem(dict.get(), name_of(name));
    if (found == nullptr) {
      PyErr_Clear();
      continue;
    }
    Py_DECREF(found);  // the class keeps it
    if (Py_IS_TYPE(found, &PyMethodDescr_Type) || Py_IS_TYPE(found, &PyWrapperDescr_Type)) return found;
  }
  fail_as(ErrorKind::internal, "{} has no {} of C", Py_TYPE(object)->tp_name, name);
}

void Effects::write(Writer& w, Rebuilder& r, PyObject* globals) {
  const auto method = [&](PyObject* target, const char* name, std::initializer_list<PyObject*> values) {
    w.begin_call(method_of_c(target, name));
    r.write(w, target);
    for (PyObject* value : values) r.write(w, value);
    w.end_call(static_cast<int>(values.size()) + 1);
    w.op(Op::pop_top);
  };
  for (const Write& x : writes_) {
    PyObject *target = x.target.get(), *key = x.key.get(), *value = x.value.get();
    switch (x.kind) {
      case Kind::moved: {
        static PyMethodDef definition = {"move", move, METH_VARARGS, nullptr};
        static PyObject* const function = Owned::take(PyCFunction_New(&definition, nullptr)).give();
        w.begin_call(function);
        r.write(w, target);
        w.constant(value);
        w.end_call(2);
        w.op(Op::pop_top);
        break;
      }
      case Kind::attribute: {
        PyTypeObject* type = Py_TYPE(target);
        const bool direct = type->tp_setattro == PyObject_GenericSetAttr || PyModule_Check(target) ||
                            !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || e_.recorder.is_fake(target);
        if (direct) {
          if (value != nullptr) r.write(w, value);
          r.write(w, target);
          w.load_name(value != nullptr ? Op::store_attr : Op::delete_attr, key);
        } else {
          w.begin_call(method_of_c(target, value != nullptr ? "__setattr__" : "__delattr__"));
          r.write(w, target);
          w.constant(key);
          if (value != nullptr) r.write(w, value);
          w.end_call(value != nullptr ? 3 : 2);
          w.op(Op::pop_top);
        }
        break;
      }
      case Kind::global:
        if (target == globals) {
          if (value != nullptr) r.write(w, value);
          w.load_name(value != nullptr ? Op::store_global : Op::delete_global, key);
          break;
        }
        if (value != nullptr) r.write(w, value);
        w.constant(target);
        w.constant(key);
        w.op(value != nullptr ? Op::store_subscript : Op::delete_subscript);
        break;
      case Kind::key:
        if (is_heap_instance(target)) {
          if (value != nullptr)
            method(target, "__setitem__", {key, value});
          else
            method(target, "__delitem__", {key});
          break;
        }
        if (value != nullptr) r.write(w, value);
        r.write(w, target);
        r.write(w, key);
        w.op(value != nullptr ? Op::store_subscript : Op::delete_subscript);
        break;
      case Kind::cell:
        if (value != nullptr) r.write(w, value);
        r.write(w, target);
        w.load_name(value != nullptr ? Op::store_attr : Op::delete_attr, name_of("cell_contents"));
        break;
      case Kind::list_extend:
        method(target, "extend", {value});
        break;
      case Kind::list_all:
        r.write(w, value);
        r.write(w, target);
        w.constant(Py_None);
        w.constant(Py_None);
        w.op(Op::build_slice, 2);
        w.op(Op::store_subscript);
        break;
      case Kind::dict_all:
      case Kind::set_all:
      case Kind::deque_all: {
        // The new content is made first: it may hold what the old one held alone.
        r.write(w, value);
        const int content = w.temporary();
        w.op(Op::store_fast, content);
        method(target, "clear", {});
        w.begin_call(method_of_c(target, x.kind == Kind::deque_all ? "extend" : "update"));
        r.write(w, target);
        w.op(Op::load_fast, content);
        w.end_call(2);
        w.op(Op::pop_top);
        break;
      }
    }
  }
}

}  // namespace sconce::python::capture
