#include "capture/compiled/disabled.h"

#include <structmember.h>

#include "capture/compiled/settings.h"
#include "capture/frames/frame_hook.h"
#include "sconce/base/logs.h"

namespace sconce::python::capture {
namespace {

struct DisabledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *reason, *dict, *weak_references;
  bool recursive;
};
DisabledObject& of(PyObject* self) { return *reinterpret_cast<DisabledObject*>(self); }

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  if (!of(self).recursive) return PyObject_Vectorcall(of(self).function, args, flags, names);
  const HookPause pause;
  const RegionScope outside(nullptr);
  return PyObject_Vectorcall(of(self).function, args, flags, names);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(of(self).function);
  Py_VISIT(of(self).reason);
  Py_VISIT(of(self).dict);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (of(self).weak_references) PyObject_ClearWeakRefs(self);
  Py_XDECREF(of(self).function);
  Py_XDECREF(of(self).reason);
  Py_XDECREF(of(self).dict);
  PyObject_GC_Del(self);
}
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(of(self).function, name);
}
PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}
PyObject* describe(PyObject* self) { return PyUnicode_FromFormat("<disabled %R>", of(self).function); }
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* of_function(PyObject* self, void* name) {
  return PyObject_GetAttrString(of(self).function, static_cast<const char*>(name));
}
PyObject* by_name(PyObject* self, PyObject*) { return of_function(self, const_cast<char*>("__qualname__")); }

PyMethodDef methods[] = {{"__copy__", itself, METH_NOARGS, nullptr},
                         {"__deepcopy__", itself, METH_O, nullptr},
                         {"__reduce__", by_name, METH_NOARGS, nullptr},
                         {}};
PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(DisabledObject, function), READONLY, nullptr},
    {"_torchdynamo_disable_msg", T_OBJECT, offsetof(DisabledObject, reason), READONLY, nullptr},
    {"_torchdynamo_disable_recursive", T_BOOL, offsetof(DisabledObject, recursive), READONLY, nullptr},
    {}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {"__name__", of_function, nullptr, nullptr, const_cast<char*>("__name__")},
                            {"__qualname__", of_function, nullptr, nullptr, const_cast<char*>("__qualname__")},
                            {"__module__", of_function, nullptr, nullptr, const_cast<char*>("__module__")},
                            {"__doc__", of_function, nullptr, nullptr, const_cast<char*>("__doc__")},
                            {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.compiler.Disabled";
  type.tp_basicsize = sizeof(DisabledObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_vectorcall_offset = offsetof(DisabledObject, vectorcall);
  type.tp_dictoffset = offsetof(DisabledObject, dict);
  type.tp_weaklistoffset = offsetof(DisabledObject, weak_references);
  type.tp_call = PyVectorcall_Call;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_repr = describe;
  type.tp_descr_get = bind;
  type.tp_getattro = get_attribute;
  type.tp_setattro = PyObject_GenericSetAttr;
  type.tp_methods = methods;
  type.tp_members = members;
  type.tp_getset = properties;
  return type;
}
PyTypeObject disabled_type = make_type();

// _capture_disable(function, recursive, reason)
PyObject* disable(PyObject*, PyObject* args) {
  PyObject *function = nullptr, *reason = nullptr;
  int recursive = 1;
  if (!PyArg_ParseTuple(args, "OpO", &function, &recursive, &reason)) return nullptr;
  auto* self = PyObject_GC_New(DisabledObject, &disabled_type);
  if (self == nullptr) return nullptr;
  self->vectorcall = call;
  self->function = Py_NewRef(function);
  self->reason = Py_NewRef(reason);
  self->dict = self->weak_references = nullptr;
  self->recursive = recursive != 0;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

// graph_break(msg=""): a graph ends here; when Python runs it, nothing.
PyObject* graph_break(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"msg", nullptr};
  PyObject* message = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:graph_break", const_cast<char**>(keywords), &message))
    return nullptr;
  Py_RETURN_NONE;
}

// _log_levels(): {"guards": 1}, of those that are on; 2: with more. Raises ValueError for a wrong SCONCE_LOGS.
PyObject* levels(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    static constexpr const char* kNames[] = {
#define SCONCE_LOG_TAG(name, shows, more) #name,
        SCONCE_LOG_TAGS(SCONCE_LOG_TAG)
#undef SCONCE_LOG_TAG
    };
    const LogLevels& now = log_levels();
    Owned dict = Owned::take(PyDict_New());
    for (size_t i = 0; i < kLogTags; ++i) {
      if (now[i] == LogLevel::off) continue;
      const Owned level = Owned::take(PyLong_FromLong(static_cast<long>(now[i])));
      check(PyDict_SetItemString(dict.get(), kNames[i], level.get()));
    }
    return dict.give();
  });
}

PyMethodDef functions[] = {
    {"_capture_disable", disable, METH_VARARGS, nullptr},
    {"_capture_graph_break", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(graph_break)),
     METH_VARARGS | METH_KEYWORDS, "graph_break(msg=''): a captured graph ends here, and Python goes on."},
    {"_log_levels", levels, METH_NOARGS, nullptr},
    {}};

}  // namespace

bool is_disabled(PyObject* object) { return Py_IS_TYPE(object, &disabled_type); }

void add_disabled(PyObject* module) {
  check(PyType_Ready(&disabled_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python::capture
