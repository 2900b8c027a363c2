#include "capture/evaluator/torch_modules.h"

#include <array>

namespace sconce::python::capture {
namespace {

// Of torch.nn.modules.module, which lives on.
struct TorchModule {
  PyObject *getattr, *call, *call_impl;
  std::array<PyObject*, 4> hooks;  // of all modules
};

// Null while PyTorch is not loaded.
const TorchModule* torch_module() {
  static TorchModule* found = nullptr;
  if (found != nullptr) return found;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemString(modules, "torch.nn.modules.module");
  if (module == nullptr) return nullptr;
  const auto part = [](PyObject* of, const char* name) { return Owned::take(PyObject_GetAttrString(of, name)).give(); };
  const Owned type = Owned::take(PyObject_GetAttrString(module, "Module"));
  found = new TorchModule{part(type.get(), "__getattr__"),
                          part(type.get(), "__call__"),
                          part(type.get(), "_call_impl"),
                          {part(module, "_global_forward_hooks"), part(module, "_global_forward_pre_hooks"),
                           part(module, "_global_backward_hooks"), part(module, "_global_backward_pre_hooks")}};
  return found;
}

// GenerationTracker.tag, which PyTorch's own capture has put into the constructor of all modules when it first ran; null
// while it is not loaded.
PyObject* tag_function() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._dynamo.mutation_guard");
  if (module == nullptr) return nullptr;
  const Owned tracker = Owned::take(PyObject_GetAttrString(module, "GenerationTracker"));
  const Owned method = Owned::take(PyObject_GetAttrString(tracker.get(), "tag"));
  return found = Py_NewRef(PyMethod_Check(method.get()) ? PyMethod_GET_FUNCTION(method.get()) : method.get());
}

}  // namespace

bool is_note_of_dynamo(PyObject* function) {
  static PyObject* const tag = interned("tag");
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_name;
  return (name == tag || PyUnicode_Compare(name, tag) == 0) && function == tag_function();
}

bool is_torch_module_getattr(PyObject* function) {
  const TorchModule* torch = torch_module();
  return torch != nullptr && function == torch->getattr;
}

Owned torch_forward(Evaluator& e, PyObject* module, PyObject* call) {
  const TorchModule* torch = torch_module();
  if (torch == nullptr || call != torch->call) return {};
  static PyObject* const call_impl = interned("_call_impl");
  static PyObject* const compiled = interned("_compiled_call_impl");
  static PyObject* const forward = interned("forward");
  static PyObject* const tables[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                     interned("_backward_hooks"), interned("_backward_pre_hooks")};
  if (e.origins.class_find(Py_TYPE(module), call_impl) != torch->call_impl) return {};
  if (e.get_attribute(module, compiled).get() != Py_None) return {};
  for (PyObject* table : torch->hooks) {
    if (!e.origins.outside(table))
      e.origins.enter(table, e.origins.sources().add(Step::constant, kNoSource, 0, nullptr, table)).type_guarded = true;
    if (e.length(table) != 0) return {};
  }
  PyObject* dict = e.origins.instance_dict(module);
  for (PyObject* name : tables) {
    PyObject* table = e.origins.dict_find(dict, name);
    if (table == nullptr || !PyDict_Check(table) || e.length(table) != 0) return {};
  }
  return e.get_attribute(module, forward);
}

}  // namespace sconce::python::capture
