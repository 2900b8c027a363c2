// _capture_guards: guards made by hand, so that tests reach each kind of source and fact without evaluating a function.
#include "capture/guards/guards.h"

namespace sconce::python::capture {
namespace {

struct GuardsObject {
  PyObject_HEAD Guards* guards;
};

constexpr const char* kSteps[] = {
    "local",         "free_variable",   "global",      "builtin",          "constant", "attribute",
    "instance_item", "instance_dict",   "type",        "class_item",       "item",     "key_at",
    "element",       "contents",        "defaults",    "keyword_defaults", "closure",  "code",
    "globals",       "method_function", "method_self", "gradient"};
constexpr const char* kFacts[] = {"present", "absent", "type",        "identity",     "equal", "length",
                                  "keys",    "tensor", "same_object", "other_object", "truth", "relation"};

template <class E, size_t N>
E named(const char* const (&names)[N], PyObject* name) {
  for (size_t i = 0; i < N; ++i)
    if (text_of(name) == names[i]) return static_cast<E>(i);
  PyErr_Format(PyExc_ValueError, "%R is no kind of source or fact", name);
  throw PythonError();
}

std::vector<std::string> names_in(PyObject* list) {
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) names.emplace_back(text_of(PyList_GET_ITEM(list, i)));
  return names;
}

// _capture_guards(sources, facts, inputs, locals, free): sources are (step, base, index, key, object), facts (source, kind,
// object, number).
PyObject* make_guards(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *sources = nullptr, *facts = nullptr, *inputs = nullptr, *locals = nullptr, *free = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!", &PyList_Type, &sources, &PyList_Type, &facts, &PyList_Type, &inputs,
                          &PyList_Type, &locals, &PyList_Type, &free))
      throw PythonError();
    Sources made;
    const auto or_null = [](PyObject* o) { return o == Py_Ellipsis ? nullptr : o; };
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sources); ++i) {
      PyObject *step = nullptr, *key = nullptr, *object = nullptr;
      int base = -1, index = 0;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(sources, i), "UiiOO", &step, &base, &index, &key, &object))
        throw PythonError();
      made.add(named<Step>(kSteps, step), base, index, or_null(key), or_null(object));
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(facts); ++i) {
      PyObject *kind = nullptr, *object = nullptr;
      int source = -1;
      long long number = 0;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(facts, i), "iUOL", &source, &kind, &object, &number)) throw PythonError();
      made.guard(source, named<FactKind>(kFacts, kind), or_null(object), number);
    }
    std::vector<SourceId> wanted;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); ++i)
      wanted.push_back(static_cast<SourceId>(PyLong_AsLong(PyList_GET_ITEM(inputs, i))));
    if (PyErr_Occurred()) throw PythonError();
    auto guards = std::make_unique<Guards>(made, wanted, names_in(locals), names_in(free), nullptr);
    Owned self = Owned::take(PyType_GenericAlloc(type, 0));
    reinterpret_cast<GuardsObject*>(self.get())->guards = guards.release();
    return self.give();
  });
}

Guards& of(PyObject* self) { return *reinterpret_cast<GuardsObject*>(self)->guards; }

struct Frame {
  std::vector<PyObject*> locals;
  PyObject* closure = nullptr;
  Frame(PyObject* args) {
    PyObject *list = nullptr, *cells = Py_None;
    if (!PyArg_ParseTuple(args, "O!|O", &PyList_Type, &list, &cells)) throw PythonError();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) locals.push_back(PyList_GET_ITEM(list, i));
    if (cells != Py_None) closure = cells;
  }
};

PyMethodDef methods[] = {
    {"check",
     [](PyObject* self, PyObject* args) {
       return guarded([&]() -> PyObject* {
         const Frame frame(args);
         FoundInputs found;
         if (!of(self).check(frame.locals.data(), frame.closure, found)) Py_RETURN_NONE;
         Owned list = Owned::take(PyList_New(static_cast<Py_ssize_t>(found.size())));
         for (size_t i = 0; i < found.size(); ++i)
           PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Py_NewRef(found.data()[i]));
         return list.give();
       });
     },
     METH_VARARGS, nullptr},
    {"why",
     [](PyObject* self, PyObject* args) {
       return guarded([&]() -> PyObject* {
         const Frame frame(args);
         return text(of(self).why(frame.locals.data(), frame.closure)).give();
       });
     },
     METH_VARARGS, nullptr},
    {"texts",
     [](PyObject* self, PyObject*) {
       return guarded([&]() -> PyObject* {
         Owned list = Owned::take(PyList_New(0));
         for (const std::string& line : of(self).texts()) check(PyList_Append(list.get(), text(line).get()));
         return list.give();
       });
     },
     METH_NOARGS, nullptr},
    {"is_dead", [](PyObject* self, PyObject*) { return PyBool_FromLong(of(self).is_dead()); }, METH_NOARGS, nullptr},
    // time(locals, n): nanoseconds of one check.
    {"time",
     [](PyObject* self, PyObject* args) {
       return guarded([&]() -> PyObject* {
         PyObject* list = nullptr;
         long n = 0;
         if (!PyArg_ParseTuple(args, "O!l", &PyList_Type, &list, &n)) throw PythonError();
         std::vector<PyObject*> locals;
         for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) locals.push_back(PyList_GET_ITEM(list, i));
         timespec a{}, b{};
         clock_gettime(CLOCK_MONOTONIC, &a);
         for (long i = 0; i < n; ++i) {
           FoundInputs found;
           if (!of(self).check(locals.data(), nullptr, found)) {
             PyErr_SetString(PyExc_ValueError, "the guards do not hold");
             throw PythonError();
           }
         }
         clock_gettime(CLOCK_MONOTONIC, &b);
         return PyFloat_FromDouble(
             (static_cast<double>(b.tv_sec - a.tv_sec) * 1e9 + static_cast<double>(b.tv_nsec - a.tv_nsec)) /
             static_cast<double>(n));
       });
     },
     METH_VARARGS, nullptr},
    {}};

PyTypeObject guards_type = {PyVarObject_HEAD_INIT(nullptr, 0) "sconce._sconce._capture_guards", sizeof(GuardsObject)};

}  // namespace

void add_guards(PyObject* module) {
  guards_type.tp_flags = Py_TPFLAGS_DEFAULT;
  guards_type.tp_new = make_guards;
  guards_type.tp_methods = methods;
  guards_type.tp_dealloc = [](PyObject* self) {
    delete reinterpret_cast<GuardsObject*>(self)->guards;
    Py_TYPE(self)->tp_free(self);
  };
  check(PyModule_AddType(module, &guards_type));
}

}  // namespace sconce::python::capture
