// GraphRecorder's calls from Python: which callables are operators, attributes of fakes, what a failure means.
#include <algorithm>
#include <unordered_set>

#include "binder.h"
#include "capture/graph/graph_recorder.h"
#include "sconce/autograd/variable.h"
#include "sconce/sconce.hpp"
#include "small_objects.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

// Methods of Tensor that lead out of a graph.
constexpr std::string_view kOutside[] = {"__array__",
                                         "__dlpack__",
                                         "__dlpack_device__",
                                         "backward",
                                         "data_ptr",
                                         "item",
                                         "numpy",
                                         "retain_grad",
                                         "register_hook",
                                         "tolist",
                                         "__repr__",
                                         "untyped_storage",
                                         "__float__",
                                         "register_post_accumulate_grad_hook",
                                         "__bool__",
                                         "__int__",
                                         "__index__",
                                         "__contains__",
                                         "__setattr__",
                                         "__delattr__",
                                         "__getattribute__",
                                         "__hash__"};

bool is_outside(std::string_view name) {
  return std::find(std::begin(kOutside), std::end(kOutside), name) != std::end(kOutside);
}

// requires_grad_ as an operator, since the method is none: the graph has to repeat it.
Owned require_grad(PyObject* tensor, bool on) {
  static PyObject* packet = find_packet("aten::requires_grad_").give();
  return Owned::take(PyObject_CallFunctionObjArgs(packet, tensor, on ? Py_True : Py_False, nullptr));
}

// "meta", or the device of that name.
bool is_meta(PyObject* o) {
  if (PyUnicode_Check(o)) return PyUnicode_CompareWithASCIIString(o, "meta") == 0;
  return is_device(o) && device_of(o).type == DeviceType::meta;
}

std::string name_of(PyObject* target) {
  static PyObject* const attribute = PyUnicode_InternFromString("__name__");
  PyObject* name = PyObject_GetAttr(target, attribute);
  if (name == nullptr) {
    PyErr_Clear();
    return {};
  }
  const Owned owned = Owned::take(name);
  return PyUnicode_Check(name) ? std::string(text_of(name)) : std::string();
}

PyTypeObject* operator_function_type() {
  static PyTypeObject* type = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
    const Owned packet = Owned::take(PyObject_CallMethod(module.get(), "_function", "s", "abs"));
    return Py_TYPE(packet.get());
  }();
  return type;
}

bool is_of_module(PyObject* function, const char* module) {
  PyObject* name = PyCFunction_Check(function) ? reinterpret_cast<PyCFunctionObject*>(function)->m_module : nullptr;
  return name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, module) == 0;
}

// A function of PyTorch's C++ part.
bool is_torch_function(PyObject* target) {
  PyObject* name = PyCFunction_Check(target) ? reinterpret_cast<PyCFunctionObject*>(target)->m_module : nullptr;
  if (name == nullptr && PyCFunction_Check(target)) {
    // torch.relu and its like are methods of a class, and know their module as an attribute only.
    const Owned found = Owned::take(PyObject_GetAttrString(target, "__module__"));
    return PyUnicode_Check(found.get()) && text_of(found.get()) == "torch";
  }
  return name != nullptr && PyUnicode_Check(name) && text_of(name).starts_with("torch");
}

// Functions of the extension that read and set modes of the thread. They do so at once; the graph follows (match_modes).
bool is_of_modes(PyObject* target) {
  static const std::unordered_set<std::string_view> names = {"_set_grad_enabled",
                                                             "is_grad_enabled",
                                                             "_set_autocast",
                                                             "_autocast_state",
                                                             "clear_autocast_cache",
                                                             "_set_inference_mode",
                                                             "_inference_mode_state",
                                                             "_restore_inference_mode",
                                                             "is_inference_mode_enabled",
                                                             "_set_saves_inference_tensors"};
  return PyCFunction_Check(target) && names.contains(name_of(target)) &&
         (is_of_module(target, "_sconce") || is_of_module(target, "sconce._sconce"));
}

}  // namespace

bool GraphRecorder::is_operator(PyObject* target) const {
  if (Py_IS_TYPE(target, operator_function_type())) return true;
  if (Py_IS_TYPE(target, &PyMethodDescr_Type) || Py_IS_TYPE(target, &PyWrapperDescr_Type))
    return !is_outside(name_of(target)) && (reinterpret_cast<PyDescrObject*>(target)->d_type == &tensor_type ||
                                            (torch_ && torch_target(target) != nullptr));
  if (!PyCFunction_Check(target)) return false;
  if (is_torch_function(target) && torch_target(target)) return true;
  if (is_of_module(target, "_operator") || is_of_modes(target)) return true;
  return name_of(target) == "tensor" && (is_of_module(target, "_sconce") || is_of_module(target, "sconce._sconce"));
}

// A tensor that a call made of data of Python: each run of the graph makes its own.
Owned GraphRecorder::adopt(PyObject* made) {
  if (!is_tensor(made) || known(made)) return Owned::share(made);
  const Tensor& t = tensor_of(made);
  const bool requires_grad = t.requires_grad();
  const auto found = fakes_.find(made);
  if (found != fakes_.end()) return Owned::share(found->second);
  const Tensor data = shallow_copy(t);
  const Owned constant = wrap(data);
  const Owned clone = Owned::take(PyObject_CallMethod(constant.get(), "clone", nullptr));
  if (!requires_grad) return Owned::share(clone.get());
  return require_grad(clone.get(), true);
}

Owned GraphRecorder::call_logged(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  ++depth_;
  struct Leave {
    GraphRecorder& recorder;
    ~Leave() {
      --recorder.depth_;
      recorder.symbols_.clear_stand_ins();
    }
  } leave{*this};
  // Numbers alone know themselves how to be recorded.
  const bool on_tensors = !is_of_module(target, "_operator") ||
                          std::any_of(args.begin(), args.end(), [&](PyObject* o) { return known(o) != nullptr; });
  std::vector<Owned> held;
  std::vector<PyObject*> given(args.begin(), args.end());
  if (symbols_.any() && on_tensors) {
    for (PyObject*& o : given) o = held.emplace_back(with_stand_ins(o)).get();
  }
  PyObject* made = PyObject_Vectorcall(target, given.data(), given.size() - named, names);
  const bool holds_numbers = made != nullptr && is_tensor(made) && !known(made);  // a tensor of data of Python
  if ((made == nullptr || holds_numbers) && symbols_.has_stand_ins() && !failure_) {
    // Python's side of the call looked at a number, perhaps: it gets the numbers themselves, which are fixed then.
    PyErr_Clear();
    Py_XDECREF(made);
    symbols_.clear_stand_ins();
    for (PyObject* o : args) fix_numbers(o);
    for (size_t i = 0; i < args.size(); ++i) given[i] = (held[i] = with_stand_ins(args[i])).get();
    made = PyObject_Vectorcall(target, given.data(), given.size() - named, names);
  }
  const Owned result = Owned::take(made);
  return adopt(result.get());
}

// Methods of Tensor that are no operators, and are recorded as such: requires_grad_, as_subclass. Empty for others.
Owned GraphRecorder::call_substitute(const std::string& name, std::span<PyObject* const> args, PyObject* names) {
  if (name == "tensor" && args.size() == 1 && sym_number(args[0])) {  // torch.tensor(n)
    static PyObject* full = find_packet("aten::full").give();
    const Owned none = Owned::take(PyTuple_New(0));
    PyObject* const given[] = {none.get(), args[0]};
    return call_logged(full, given, nullptr);
  }
  struct Inside {
    int& depth;
    ~Inside() { --depth; }
  };
  if (name == "as_subclass" && args.size() == 2 && !names && known(args[0]) && PyType_Check(args[1]) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(args[1]), &tensor_type)) {
    const Inside inside{++depth_};
    return wrap_as(reinterpret_cast<PyTypeObject*>(args[1]), sconce::alias(tensor_of(args[0])));
  }
  if (name != "requires_grad_" || args.empty() || !known(args[0])) return {};
  if (args.size() > 2 || (names && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "requires_grad") != 0))
    throw NotRecordable{"a call of requires_grad_ with other arguments than requires_grad"};
  const Inside inside{++depth_};
  return require_grad(args[0], args.size() == 1 || is_true(args[1]));
}

Owned GraphRecorder::call(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  if (depth_ == 0 && (torch_ || is_torch_function(target))) {
    if (PyObject* ours = torch_target(target)) return torch_answer(torch_call(ours, args, names));
    if (Py_IS_TYPE(target, operator_function_type()) || Py_IS_TYPE(target, &PyMethodDescr_Type))
      return torch_answer(torch_call(target, args, names));
  }
  return call_ours(target, args, names);
}

Owned GraphRecorder::call_ours(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  if (!is_operator(target)) {
    const std::string name = name_of(target);
    const bool needs_data = name == "item" || name == "tolist" || name == "numpy" || name == "__bool__" ||
                            name == "__float__" || name == "__int__" || name == "__index__";
    throw NotRecordable{"a call of " + (name.empty() ? std::string(class_name(target)) : name), needs_data};
  }
  failure_.reset();
  // The program is told its own devices, so that meta is what it wants.
  if (depth_ == 0 && std::any_of(args.begin(), args.end(), is_meta)) meta_is_real_ = true;
  if (std::any_of(args.begin(), args.end(), [&](PyObject* o) { return known(o) && depends(Value(tensor_of(o))); })) {
    if (Owned answer = ask_geometry(name_of(target), args)) return answer;
  }
  const size_t before = nodes_;
  try {
    if (Owned made = call_substitute(name_of(target), args, names)) {
      if (depth_ == 0) log_.add_call(target, args, names, made.get());
      return made;
    }
    if (name_of(target) == "__iter__")  // an iterator is no value of a graph: unbind, which makes its items, is
      return Owned::take(PyObject_Vectorcall(target, args.data(), args.size(), nullptr));
    Owned result = call_logged(target, args, names);
    if (nodes_ != before && depth_ == 0) log_.add_call(target, args, names, result.get());
    return result;
  } catch (const PythonError&) {
    if (std::optional<NotRecordable> why = explain_failure()) throw *why;
    throw;
  }
}

Owned GraphRecorder::as_class(PyTypeObject* type, PyObject* fake) {
  if (torch_) throw NotRecordable{"a subclass of PyTorch's tensors"};
  failure_.reset();
  try {
    return wrap_as(type, tensor_of(fake).detach());
  } catch (const Error& error) {
    if (failure_) throw *std::exchange(failure_, std::nullopt);
    throw NotRecordable{error.what()};
  }
}

std::optional<NotRecordable> GraphRecorder::explain_failure() {
  if (!PyErr_Occurred()) return std::nullopt;
  std::optional<NotRecordable> why = std::exchange(failure_, std::nullopt);
  if (!why) {
    // No tensor of the program has its data on device meta, so an error that speaks of it is ours.
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject* shown = value ? PyObject_Str(value) : nullptr;
    const char* message = shown ? PyUnicode_AsUTF8(shown) : nullptr;
    if (message && std::string_view(message).find("meta") != std::string_view::npos)
      why = NotRecordable{"the value of a tensor is asked for", true};
    Py_XDECREF(shown);
    if (message == nullptr) PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
  if (why) PyErr_Clear();
  return why;
}

Owned GraphRecorder::attribute(PyObject* fake, PyObject* name) {
  Owned found = attribute_of(fake, name);
  return torch_ && found ? torch_answer(std::move(found)) : std::move(found);
}

Owned GraphRecorder::attribute_of(PyObject* fake, PyObject* name) {
  const Known* of = known(fake);
  if (!of) return {};
  const std::string_view wanted = text_of(name);
  const auto truth = [](bool v) { return Owned::share(v ? Py_True : Py_False); };
  if (wanted == "device") return make_device(of->device);
  if (wanted == "is_cuda") return truth(of->device.type == DeviceType::cuda);
  if (wanted == "is_cpu") return truth(of->device.type == DeviceType::cpu);
  if (wanted == "is_meta") return truth(of->device.type == DeviceType::meta);
  if (wanted == "is_leaf" && of->original) return truth(of->is_leaf);
  if (wanted == "name") return Owned::share(Py_None);
  if (wanted == "grad_fn") return of->kept.requires_grad() && !of->is_leaf ? Owned() : Owned::share(Py_None);
  static const std::unordered_set<std::string_view> plain = {
      "shape",  "dtype",        "ndim",      "layout",        "requires_grad", "is_leaf",   "itemsize",
      "nbytes", "is_quantized", "is_sparse", "is_sparse_csr", "is_nested",     "is_mkldnn", "is_mps",
      "is_xpu", "is_xla",       "is_ipu",    "is_maia",       "is_mtia",       "is_vulkan"};
  if (wanted == "shape") return shape(fake);
  if (wanted == "ndim") claim_rank(*of);
  if (wanted == "nbytes" && depends(Value(of->kept))) {
    const Owned bytes = Owned::take(PyLong_FromSize_t(of->kept.item_size()));
    return Owned::take(PyNumber_Multiply(numel(fake).get(), bytes.get()));
  }
  if (plain.contains(wanted)) return Owned::take(PyObject_GetAttr(fake, name));
  if (wanted == "data") {
    static PyObject* packet = find_packet("prim::data").give();
    failure_.reset();
    PyObject* const given[] = {fake};
    Owned result = call_logged(packet, given, nullptr);
    log_.add_call(packet, given, nullptr, result.get());
    return result;
  }
  static const std::unordered_set<std::string_view> computed = {"T", "H", "mT", "mH", "real", "imag"};
  if (!computed.contains(wanted)) return {};
  static PyObject* getattr = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
  PyObject* const args[] = {fake, name};
  failure_.reset();
  Owned result = call_logged(getattr, args, nullptr);
  log_.add_call(getattr, args, nullptr, result.get());
  return result;
}

}  // namespace sconce::python::capture
