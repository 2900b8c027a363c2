#include "capture/guards/items_ahead.h"

#include <algorithm>
#include <string_view>

namespace sconce::python::capture {
namespace {

enum class Kind : uint8_t { unknown, sequence, backwards, rest, enumerated, zipped };

Kind kind_of(PyObject* iterator) {
  const PyTypeObject* type = Py_TYPE(iterator);
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || type->tp_iternext == nullptr) return Kind::unknown;
  if (type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type ||
      type == &PyLongRangeIter_Type || type == &PyUnicodeIter_Type || type == &PyBytesIter_Type)
    return Kind::sequence;
  if (type == &PyDictIterKey_Type || type == &PyDictIterValue_Type || type == &PyDictIterItem_Type ||
      type == &PyDictRevIterKey_Type || type == &PyDictRevIterValue_Type || type == &PyDictRevIterItem_Type ||
      type == &PySetIter_Type)
    return Kind::rest;
  if (type == &PyListRevIter_Type || type == &PyReversed_Type) return Kind::backwards;
  if (type == &PyEnum_Type) return Kind::enumerated;
  if (type == &PyZip_Type) return Kind::zipped;
  const std::string_view name(type->tp_name);
  if (name == "str_ascii_iterator") return Kind::sequence;
  return name == "odict_iterator" ? Kind::rest : Kind::unknown;
}

// What __reduce__ says: (callable, arguments) or (callable, arguments, state).
Owned reduced(PyObject* iterator) {
  static PyObject* const name = PyUnicode_InternFromString("__reduce__");
  Owned made = Owned::take(PyObject_CallMethodNoArgs(iterator, name));
  const bool fits =
      PyTuple_Check(made.get()) && PyTuple_GET_SIZE(made.get()) >= 2 && PyTuple_Check(PyTuple_GET_ITEM(made.get(), 1));
  if (!fits) {
    PyErr_Format(PyExc_TypeError, "%s.__reduce__ gave something else than a callable and arguments",
                 Py_TYPE(iterator)->tp_name);
    throw PythonError();
  }
  return made;
}
PyObject* arguments(const Owned& made) { return PyTuple_GET_ITEM(made.get(), 1); }
PyObject* first_argument(const Owned& made) {
  return PyTuple_GET_SIZE(arguments(made)) > 0 ? PyTuple_GET_ITEM(arguments(made), 0) : nullptr;
}

bool is_plain_sequence(PyObject* o) {
  return PyList_CheckExact(o) || PyTuple_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ||
         Py_IS_TYPE(o, &PyRange_Type);
}

// The place in the sequence at which it stands; null: it has none.
PyObject* state(const Owned& made) {
  PyObject* at = PyTuple_GET_SIZE(made.get()) > 2 ? PyTuple_GET_ITEM(made.get(), 2) : nullptr;
  return at != nullptr && PyLong_Check(at) ? at : nullptr;
}

Owned element(PyObject* sequence, Py_ssize_t at) {
  const Py_ssize_t n = PyObject_Size(sequence);
  if (n < 0) throw PythonError();
  if (at < 0 || at >= n) return {};
  return Owned::take(PySequence_GetItem(sequence, at));
}

}  // namespace

std::vector<Owned> inner_iterators(PyObject* iterator) {
  std::vector<Owned> inner;
  const Kind kind = kind_of(iterator);
  if (kind != Kind::enumerated && kind != Kind::zipped) return inner;
  const Owned made = reduced(iterator);
  const Py_ssize_t n = kind == Kind::enumerated ? 1 : PyTuple_GET_SIZE(arguments(made));
  for (Py_ssize_t i = 0; i < n; ++i) inner.push_back(Owned::share(PyTuple_GET_ITEM(arguments(made), i)));
  return inner;
}

bool has_items_ahead(PyObject* iterator) {
  switch (kind_of(iterator)) {
    case Kind::unknown:
      return false;
    case Kind::rest:
      return true;
    case Kind::sequence:
    case Kind::backwards: {
      const Owned made = reduced(iterator);
      PyObject* through = first_argument(made);
      return through != nullptr && is_plain_sequence(through);
    }
    case Kind::zipped:
      if (PyTuple_GET_SIZE(reduced(iterator).get()) > 2) return false;  // strict: its end may be an error
      [[fallthrough]];
    case Kind::enumerated: {
      const std::vector<Owned> inner = inner_iterators(iterator);
      for (size_t i = 0; i < inner.size(); ++i) {
        if (!has_items_ahead(inner[i].get())) return false;
        for (size_t k = 0; k < i; ++k)
          if (inner[i].get() == inner[k].get()) return false;
      }
      return true;
    }
  }
  return false;
}

Owned iterated(PyObject* iterator) {
  const Kind kind = kind_of(iterator);
  if (kind != Kind::sequence && kind != Kind::backwards) return {};
  const Owned made = reduced(iterator);
  PyObject* through = first_argument(made);
  // At the end it names an empty sequence that is nobody's.
  return through == nullptr || PyObject_Size(through) == 0 ? Owned() : Owned::share(through);
}

bool goes_through_keys(PyObject* iterator) { return kind_of(iterator) == Kind::rest; }

Owned item_ahead(PyObject* iterator, Py_ssize_t before) {
  const Kind kind = kind_of(iterator);
  if (kind == Kind::unknown) {
    PyErr_Format(PyExc_TypeError, "items of %s cannot be looked at ahead", Py_TYPE(iterator)->tp_name);
    throw PythonError();
  }
  const Owned made = reduced(iterator);
  PyObject *first = first_argument(made), *at = state(made);
  const auto number = [](PyObject* n) {
    const Py_ssize_t value = n == nullptr ? 0 : PyLong_AsSsize_t(n);
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return value;
  };
  switch (kind) {
    case Kind::sequence:
    case Kind::rest:
      return first == nullptr ? Owned() : element(first, number(at) + before);
    case Kind::backwards:
      return first == nullptr || at == nullptr ? Owned() : element(first, number(at) - before);
    case Kind::enumerated: {
      Owned item = item_ahead(first, before);
      if (!item) return {};
      const Owned more = Owned::take(PyLong_FromSsize_t(before));
      const Owned count = Owned::take(PyNumber_Add(PyTuple_GET_ITEM(arguments(made), 1), more.get()));
      return Owned::take(PyTuple_Pack(2, count.get(), item.get()));
    }
    default: {
      const Py_ssize_t n = PyTuple_GET_SIZE(arguments(made));
      if (n == 0) return {};
      Owned all = Owned::take(PyTuple_New(n));
      for (Py_ssize_t i = 0; i < n; ++i) {
        Owned item = item_ahead(PyTuple_GET_ITEM(arguments(made), i), before);
        if (!item) return {};
        PyTuple_SET_ITEM(all.get(), i, item.give());
      }
      return all;
    }
  }
}

void move_iterator(PyObject* iterator, Py_ssize_t calls) {
  for (Py_ssize_t i = 0; i < calls; ++i) {
    PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
    if (item == nullptr && PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_StopIteration)) throw PythonError();
      PyErr_Clear();
    }
    Py_XDECREF(item);
  }
}

}  // namespace sconce::python::capture
