#include "capture/bytecode/bytecode_doors.h"

#include "capture/bytecode/decompile.h"
#include "capture/bytecode/instruction.h"
#include "capture/bytecode/listing.h"
#include "capture/bytecode/stack_depth.h"

namespace sconce::python::capture {

namespace {

// The code object that was given, or that of the function. Borrowed.
PyCodeObject* code_in(PyObject* object) {
  if (PyFunction_Check(object)) object = PyFunction_GET_CODE(object);
  if (!PyCode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a function or code object was expected, but got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return reinterpret_cast<PyCodeObject*>(object);
}

// [(name, arg, target or None, line or None, handler or None, names or None)], a row for each instruction; handler:
// (target, depth, push_lasti).
PyObject* decoded(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const std::shared_ptr<const Code> code = decode(code_in(object));
    Owned rows = Owned::take(PyList_New(0));
    for (const Instruction& i : code->instructions) {
      Owned handler = Owned::share(Py_None);
      if (i.handler >= 0) {
        const Handler& h = code->handlers[i.handler];
        handler = Owned::take(Py_BuildValue("iiO", h.target, h.depth, h.push_lasti ? Py_True : Py_False));
      }
      const auto number = [](int value) {
        return Owned::take(value < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(value));
      };
      const Owned row =
          Owned::take(Py_BuildValue("siOOOO", op_name(i.op), i.arg, number(i.target).get(),
                                    number(i.location.line).get(), handler.get(), i.names ? i.names : Py_None));
      check(PyList_Append(rows.get(), row.get()));
    }
    return rows.give();
  });
}

PyObject* round_trip(PyObject*, PyObject* object) {
  return guarded([&] { return assemble(*decode(code_in(object))).give(); });
}

// (as computed, as CPython's compiler says)
PyObject* stack_sizes(PyObject*, PyObject* object) {
  return guarded([&] {
    PyCodeObject* code = code_in(object);
    const std::shared_ptr<const Code> d = decode(code);
    return Py_BuildValue("ii", stack_size(*d, stack_depths(*d)), code->co_stacksize);
  });
}

// (source, {name: object}, names of the closure, is it structured?)
PyObject* source(PyObject*, PyObject* object) {
  return guarded([&] {
    const Decompiled made = decompile(*decode(code_in(object)));
    const Owned objects = Owned::take(PyDict_New()), closure = Owned::take(PyList_New(0));
    for (const auto& [name, o] : made.objects) check(PyDict_SetItemString(objects.get(), name.c_str(), o.get()));
    for (const std::string& name : made.closure) check(PyList_Append(closure.get(), text(name).get()));
    return Owned::take(Py_BuildValue("s#OOO", made.text.data(), static_cast<Py_ssize_t>(made.text.size()),
                                     objects.get(), closure.get(), made.structured ? Py_True : Py_False))
        .give();
  });
}
PyObject* listing(PyObject*, PyObject* object) {
  return guarded([&] { return text(list_instructions(*decode(code_in(object)))).give(); });
}

PyMethodDef doors[] = {
    {"_capture_decode", decoded, METH_O, nullptr},          {"_capture_round_trip", round_trip, METH_O, nullptr},
    {"_capture_stack_sizes", stack_sizes, METH_O, nullptr}, {"_capture_source", source, METH_O, nullptr},
    {"_capture_listing", listing, METH_O, nullptr},         {}};

}  // namespace

void add_bytecode_doors(PyObject* module) { check(PyModule_AddFunctions(module, doors)); }

}  // namespace sconce::python::capture
