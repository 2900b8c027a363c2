// Keys of a dict in the order in which Python goes through them.
#pragma once

#include "object.h"

namespace sconce::python::capture {

// A tuple. An OrderedDict has an order of its own, which PyDict_Next does not know. No code of the program runs.
inline Owned dict_keys(PyObject* dict) {
  Owned all = Owned::take(PyList_New(0));
  if (PyODict_Check(dict)) {
    const Owned iterator = Owned::take(PyODict_Type.tp_iter(dict));
    while (PyObject* key = Py_TYPE(iterator.get())->tp_iternext(iterator.get()))
      check(PyList_Append(all.get(), Owned::take(key).get()));
    if (PyErr_Occurred()) throw PythonError();
  } else {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) check(PyList_Append(all.get(), key));
  }
  return Owned::take(PyList_AsTuple(all.get()));
}

}  // namespace sconce::python::capture
