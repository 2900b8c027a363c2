#include "variants.h"

#include "sconce/base/variants/variants.h"
#include "values.h"

namespace sconce::python {

namespace {

// _variants(): {name: what was seen since _forget_variants(), 1 not taken, 2 taken, 3 both}.
PyObject* seen_variants(PyObject*, PyObject*) {
  return guarded([&] {
    Owned seen = Owned::take(PyDict_New());
    for (const Variant& variant : variants()) {
      const Owned bits = Owned::take(PyLong_FromLong(variant.seen.load()));
      check(PyDict_SetItemString(seen.get(), variant.name, bits.get()));
    }
    return seen.give();
  });
}

PyMethodDef functions[] = {{"_variants", seen_variants, METH_NOARGS, nullptr},
                           {"_forget_variants",
                            [](PyObject*, PyObject*) -> PyObject* {
                              forget_variants();
                              Py_RETURN_NONE;
                            },
                            METH_NOARGS, nullptr},
                           {}};

}  // namespace

void add_variants(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python
