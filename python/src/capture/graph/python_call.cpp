#include "capture/graph/python_call.h"

#include <algorithm>
#include <unordered_map>

#include "capture/frames/frame_hook.h"
#include "sconce/dispatch/registry.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

using IsFake = std::function<bool(PyObject*)>;

// The same nest with other objects in it; its lists and dicts are new.
template <class F>
Owned with_leaves(PyObject* object, const F& f) {
  if (PyTuple_CheckExact(object)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(object);
    Owned made = Owned::take(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyTuple_SET_ITEM(made.get(), i, with_leaves(PyTuple_GET_ITEM(object, i), f).give());
    return made;
  }
  if (PyList_CheckExact(object)) {
    const Py_ssize_t n = PyList_GET_SIZE(object);
    Owned made = Owned::take(PyList_New(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyList_SET_ITEM(made.get(), i, with_leaves(PyList_GET_ITEM(object, i), f).give());
    return made;
  }
  if (PyDict_CheckExact(object)) {
    Owned made = Owned::take(PyDict_New());
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);)
      check(PyDict_SetItem(made.get(), key, with_leaves(value, f).get()));
    return made;
  }
  return f(object);
}

[[noreturn]] void no_tensor(PyObject* callable) {
  PyErr_Format(PyExc_RuntimeError,
               "a compiled graph called %R, which gave a tensor while it was recorded, and none at the same place now",
               callable);
  throw PythonError();
}

// The tensors of `result` at the places where `pattern` has fakes.
void collect(PyObject* pattern, PyObject* result, const std::vector<PyObject*>& fakes, PyObject* callable,
             std::vector<Tensor>& out) {
  if (PyTuple_CheckExact(pattern) || PyList_CheckExact(pattern)) {
    if (Py_TYPE(result) != Py_TYPE(pattern) || PySequence_Fast_GET_SIZE(result) != PySequence_Fast_GET_SIZE(pattern))
      no_tensor(callable);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(pattern); ++i)
      collect(PySequence_Fast_GET_ITEM(pattern, i), PySequence_Fast_GET_ITEM(result, i), fakes, callable, out);
  } else if (PyDict_CheckExact(pattern)) {
    if (!PyDict_CheckExact(result)) no_tensor(callable);
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(pattern, &at, &key, &value);) {
      PyObject* item = PyDict_GetItemWithError(result, key);
      if (item == nullptr) no_tensor(callable);
      collect(value, item, fakes, callable, out);
    }
  } else if (std::find(fakes.begin(), fakes.end(), pattern) != fakes.end()) {
    if (!is_tensor(result)) no_tensor(callable);
    out.push_back(tensor_of(result));
  }
}

// By number; under Python's lock.
std::unordered_map<int64_t, std::shared_ptr<const PythonCall>>& table() {
  static auto& all = *new std::unordered_map<int64_t, std::shared_ptr<const PythonCall>>;
  return all;
}
int64_t last_number = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local int64_t impure_calls = 0;

}  // namespace

PythonCall::PythonCall(PyObject* callable, std::span<PyObject* const> args, PyObject* names, PyObject* result,
                       const IsFake& is_fake)
    : callable_(Owned::share(callable)), result_(Owned::share(result)) {
  if (names != nullptr) names_ = Owned::share(names);
  const auto add_input = [&](PyObject* o) {
    if (is_fake(o) && std::find(inputs_.begin(), inputs_.end(), o) == inputs_.end()) inputs_.push_back(o);
  };
  for (PyObject* arg : args) {
    // Lists of the program may change later: the call has its own.
    args_.push_back(with_leaves(arg, [](PyObject* o) { return Owned::share(o); }));
    each_leaf(arg, add_input);
  }
  each_leaf(result, [&](PyObject* o) {
    if (is_fake(o)) outputs_.push_back(o);
  });
}

std::vector<Tensor> PythonCall::run(const List& inputs) const {
  const HookPause pause;  // it does what eager does
  if (!is_pure) ++impure_calls;
  std::vector<Owned> tensors, given;
  for (size_t i = 0; i < inputs_.size(); ++i) tensors.push_back(wrap(inputs.get(i).to_tensor()));
  std::vector<PyObject*> pointers;
  for (const Owned& arg : args_) {
    given.push_back(with_leaves(arg.get(), [&](PyObject* o) {
      const auto at = std::find(inputs_.begin(), inputs_.end(), o);
      return at == inputs_.end() ? Owned::share(o)
                                 : Owned::share(tensors[static_cast<size_t>(at - inputs_.begin())].get());
    }));
    pointers.push_back(given.back().get());
  }
  const size_t named = names_ ? static_cast<size_t>(PyTuple_GET_SIZE(names_.get())) : 0;
  const Owned result =
      Owned::take(PyObject_Vectorcall(callable_.get(), pointers.data(), pointers.size() - named, names_.get()));
  std::vector<Tensor> out;
  if (!outputs_.empty()) collect(result_.get(), result.get(), outputs_, callable_.get(), out);
  return out;
}

PythonCallNumber::PythonCallNumber(std::shared_ptr<const PythonCall> call) : value_(++last_number) {
  table()[value_] = std::move(call);
}
PythonCallNumber::~PythonCallNumber() { table().erase(value_); }

Value call_python_number(int64_t number, const List& inputs) {
  return call_python([&] {
    const auto found = table().find(number);
    SCONCE_ASSERT(found != table().end());
    const std::shared_ptr<const PythonCall> call = found->second;
    auto list = make_ref<List>(sconce::tensor_type());
    for (Tensor& t : call->run(inputs)) list->append(Value(std::move(t)));
    return Value(std::move(list));
  });
}

int64_t impure_python_calls() { return impure_calls; }

const PythonCall* python_call_of(const ir::Node& node) {
  if (node.op() != &call_python_op()) return nullptr;
  const std::optional<Value> number = ir::constant_value(node.input(0));
  const auto found = number ? table().find(number->to_int()) : table().end();
  return found == table().end() ? nullptr : found->second.get();
}

const Op& call_python_op() {
  static const Op& made = []() -> const Op& {
    Op& op = define_op("sconce::call_python(int call, Tensor[] inputs) -> Tensor[]");
    const auto kernel = SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value* args, Value* returns) {
      returns[0] = call_python_number(args[0].to_int(), args[1].to_list());
    });
    for (const Key key : {Key::cpu, Key::meta, Key::view, Key::autograd, Key::autocast}) op.set_kernel(key, kernel);
    return op;
  }();
  return made;
}

}  // namespace sconce::python::capture
