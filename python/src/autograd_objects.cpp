#include "autograd_objects.h"

#include <unordered_map>

#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/custom_function.h"
#include "sconce/autograd/graph/accumulate_grad.h"
#include "sconce/autograd/graph/inference_saves.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/capsule.h"
#include "tensor_object.h"

namespace sconce::python {
namespace {

using autograd::Node;

// Objects of nodes. An entry goes with its object (or, for the context of a custom function, with its node), so that no
// address in here is one that was given to another node since. Guarded by Python's lock.
std::unordered_map<const Node*, PyObject*>& node_objects() {
  static auto& objects = *new std::unordered_map<const Node*, PyObject*>;
  return objects;
}

Owned tuple_of_tensors(std::span<const Tensor> tensors) {
  Owned made = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]).give());
  return made;
}

void check_callable(PyObject* o) {
  SCONCE_CHECK_AS(type, PyCallable_Check(o), "'{}' object is not callable", class_name(o));
}

// ---- handles ----

struct HandleObject {
  PyObject_HEAD autograd::HookHandle handle;
  int64_t id;
};
extern PyTypeObject handle_type;

Owned make_handle(autograd::HookHandle handle) {
  static int64_t next = 0;
  auto* object = PyObject_New(HandleObject, &handle_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  new (&object->handle) autograd::HookHandle(std::move(handle));
  object->id = next++;
  return made;
}
void handle_dealloc(PyObject* self) {
  reinterpret_cast<HandleObject*>(self)->handle.~HookHandle();  // the hook stays
  PyObject_Free(self);
}
PyObject* handle_remove(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    reinterpret_cast<HandleObject*>(self)->handle.remove();
    Py_RETURN_NONE;
  });
}
PyMethodDef handle_methods[] = {
    {"remove", handle_remove, METH_NOARGS, "The hook is not called any more."},
    {"__enter__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_NOARGS, nullptr},
    {"__exit__", handle_remove, METH_VARARGS, nullptr},
    {}};
PyGetSetDef handle_properties[] = {
    {"id", [](PyObject* self, void*) { return PyLong_FromLongLong(reinterpret_cast<HandleObject*>(self)->id); },
     nullptr, nullptr, nullptr},
    {}};
PyTypeObject make_handle_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.utils.hooks.RemovableHandle";
  type.tp_doc = "What registering a hook returns: remove() takes the hook away.";
  type.tp_basicsize = sizeof(HandleObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = handle_dealloc;
  type.tp_methods = handle_methods;
  type.tp_getset = handle_properties;
  return type;
}
PyTypeObject handle_type = make_handle_type();

// ---- what nodes and contexts have in common ----

Owned next_functions(const Node& node) {
  Owned made = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(node.edges.size())));
  for (size_t i = 0; i < node.edges.size(); ++i) {
    const autograd::Edge& edge = node.edges[i];
    PyObject* pair = Py_BuildValue("NI", wrap_node(edge.node).give(), static_cast<unsigned>(edge.slot));
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), Owned::take(pair).give());
  }
  return made;
}

// A hook's result for gradients: None keeps them, else as many as there are.
void replace_gradients(PyObject* result, std::vector<Tensor>& grads) {
  if (result == Py_None) return;
  const bool one = is_tensor(result) && grads.size() == 1;
  SCONCE_CHECK_AS(type, one || PyTuple_Check(result), "expected tuple, but hook returned '{}'", class_name(result));
  const size_t n = one ? 1 : static_cast<size_t>(PyTuple_GET_SIZE(result));
  SCONCE_CHECK(n == grads.size(), "hook has returned an incorrect number of values (got {}, but expected {})", n,
               grads.size());
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = one ? result : PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    SCONCE_CHECK_AS(type, item == Py_None || is_tensor(item), "expected Variable or None (got {})", class_name(item));
    grads[i] = item == Py_None ? Tensor() : tensor_of(item);
  }
}

Owned register_node_hook(Node& node, PyObject* hook) {
  check_callable(hook);
  const Kept kept = keep(hook);
  return make_handle(
      autograd::register_post_hook(node, [kept](std::vector<Tensor>& inputs, const std::vector<Tensor>& grads) {
        call_python([&] {
          const Owned in = tuple_of_tensors(inputs), out = tuple_of_tensors(grads);
          const Owned result = Owned::take(PyObject_CallFunctionObjArgs(kept.get(), in.get(), out.get(), nullptr));
          replace_gradients(result.get(), inputs);
        });
      }));
}
Owned register_node_prehook(Node& node, PyObject* hook) {
  check_callable(hook);
  const Kept kept = keep(hook);
  return make_handle(autograd::register_pre_hook(node, [kept](std::vector<Tensor>& grads) {
    call_python([&] {
      const Owned result = Owned::take(PyObject_CallOneArg(kept.get(), tuple_of_tensors(grads).get()));
      replace_gradients(result.get(), grads);
    });
  }));
}

// ---- node objects: AddBackward0, one class for each name ----

struct NodeObject {
  PyObject_HEAD Ref<Node> node;
  PyObject* metadata;
};
extern PyTypeObject node_type;

// Of nodes and of contexts. Throws Error where a context has none.
Node& node_of(PyObject* self);

template <Owned (*f)(Node&)>
PyObject* node_property(PyObject* self, void*) {
  return guarded([&] { return f(node_of(self)).give(); });
}
template <Owned (*f)(Node&, PyObject*)>
PyObject* node_method(PyObject* self, PyObject* arg) {
  return guarded([&] { return f(node_of(self), arg).give(); });
}
PyObject* node_name(PyObject* self, PyObject*) {
  return guarded([&] { return text(node_of(self).name()).give(); });
}
PyObject* node_sequence(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(node_of(self).sequence); });
}
PyObject* node_metadata(PyObject* self, void*) {
  auto& object = *reinterpret_cast<NodeObject*>(self);
  if (object.metadata == nullptr) object.metadata = PyDict_New();
  return Py_XNewRef(object.metadata);
}
PyObject* node_variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Node& node = node_of(self);
    if (node.name() != "AccumulateGrad") {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node.name().c_str());
      throw PythonError();
    }
    return wrap(static_cast<autograd::AccumulateGrad&>(node).leaf()).give();
  });
}
PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", std::string(class_name(self)).c_str(), static_cast<void*>(self));
}
void node_dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<NodeObject*>(self);
  node_objects().erase(object.node.get());
  Py_CLEAR(object.metadata);
  object.node.~Ref<Node>();
  Py_TYPE(self)->tp_free(self);  // Python lets go of the class
}

#define SCONCE_NODE_METHODS                                                                   \
  {"name", node_name, METH_NOARGS, "The name of the operation: 'AddBackward0'."},             \
      {"_sequence_nr", node_sequence, METH_NOARGS, "The number of the call, of its thread."}, \
      {"register_hook", node_method<register_node_hook>, METH_O,                              \
       "register_hook(fn): fn(grad_inputs, grad_outputs) after the node has run."},           \
      {"register_prehook", node_method<register_node_prehook>, METH_O,                        \
       "register_prehook(fn): fn(grad_outputs) before the node runs."},                       \
  {}
#define SCONCE_NEXT_FUNCTIONS                                                                 \
  {"next_functions", node_property<[](Node& node) { return next_functions(node); }>, nullptr, \
   "Where gradients go: a pair of node and number of its output for each.", nullptr}
PyMethodDef node_methods[] = {SCONCE_NODE_METHODS};
PyGetSetDef node_properties[] = {SCONCE_NEXT_FUNCTIONS,
                                 {"metadata", node_metadata, nullptr, "A dict of the user's.", nullptr},
                                 {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad.", nullptr},
                                 {}};
PyTypeObject make_node_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.autograd.graph.Node";
  type.tp_doc = "An operation in the graph of gradients.";
  type.tp_basicsize = sizeof(NodeObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = node_dealloc;
  type.tp_repr = node_repr;
  type.tp_methods = node_methods;
  type.tp_getset = node_properties;
  return type;
}
PyTypeObject node_type = make_node_type();

PyTypeObject* class_of_node(const std::string& name) {
  static auto& known = *new std::unordered_map<std::string, PyTypeObject*>;
  const auto [found, added] = known.try_emplace(name);
  if (!added) return found->second;
  PyType_Slot slots[] = {{0, nullptr}};
  const std::string full = "sconce.autograd.graph." + name;
  PyType_Spec spec{full.c_str(), sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* type = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&node_type));
  if (type == nullptr) {
    known.erase(found);
    throw PythonError();
  }
  found->second = reinterpret_cast<PyTypeObject*>(type);
  return found->second;
}

// ---- custom functions ----

// Context: what forward leaves for backward, and the node of the call. Its Python subclass has the attributes.
struct ContextObject {
  PyObject_HEAD autograd::Context context;
  PyObject* needs;  // a bool for each argument
};
extern PyTypeObject context_type;

ContextObject& context_of(PyObject* self) { return *reinterpret_cast<ContextObject*>(self); }

PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    Owned made = Owned::take(type->tp_alloc(type, 0));
    new (&context_of(made.get()).context) autograd::Context;
    return made.give();
  });
}
void context_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  ContextObject& object = context_of(self);
  if (const Node* node = object.context.node()) node_objects().erase(node);
  Py_CLEAR(object.needs);
  object.context.~Context();
  Py_TYPE(self)->tp_free(self);
}
int context_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(context_of(self).needs);
  return 0;
}
PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&] {
    std::vector<Tensor> saved;
    {
      const Unlocked unlocked;  // hooks for saved tensors may run, of Python too
      saved = context_of(self).context.saved();
    }
    return tuple_of_tensors(saved).give();
  });
}
PyObject* needs_input_grad(PyObject* self, void*) {
  PyObject* needs = context_of(self).needs;
  return needs ? Py_NewRef(needs) : PyTuple_New(0);
}
PyMethodDef context_methods[] = {SCONCE_NODE_METHODS};
PyGetSetDef context_properties[] = {
    SCONCE_NEXT_FUNCTIONS,
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward was given.", nullptr},
    {"needs_input_grad", needs_input_grad, nullptr, "For each argument of forward, is its gradient wanted?", nullptr},
    {}};
PyTypeObject make_context_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._FunctionContext";
  type.tp_basicsize = sizeof(ContextObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  type.tp_new = context_new;
  type.tp_dealloc = context_dealloc;
  type.tp_traverse = context_traverse;
  type.tp_free = PyObject_GC_Del;
  type.tp_repr = node_repr;
  type.tp_methods = context_methods;
  type.tp_getset = context_properties;
  return type;
}
PyTypeObject context_type = make_context_type();

Node& node_of(PyObject* self) {
  if (PyObject_TypeCheck(self, &node_type)) return *reinterpret_cast<NodeObject*>(self)->node;
  Node* node = context_of(self).context.node();
  SCONCE_CHECK(node, "this function was not recorded, or its graph is gone: it has no place in a graph");
  return *node;
}

// A node's hold on the context: when the node goes, nobody may find the context by the node's address any more.
struct ContextHold {
  ContextHold(PyObject* ctx, PyObject* cls) : ctx(keep(ctx)), cls(keep(cls)) {}
  ~ContextHold() {
    if (!node || !Py_IsInitialized()) return;
    const Locked locked;
    node_objects().erase(node);
  }
  Kept ctx, cls;
  const Node* node = nullptr;
};

std::vector<Tensor> marked(PyObject* ctx, const char* attribute, const char* message) {
  const Owned items = Owned::take(PyObject_GetAttrString(ctx, attribute));
  std::vector<Tensor> out;
  if (items.get() == Py_None) return out;
  SCONCE_CHECK_AS(type, PyTuple_Check(items.get()), "{} attribute is expected to be a tuple, but is {}", attribute,
                  class_name(items.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    SCONCE_CHECK_AS(type, is_tensor(item) || item == Py_None, "{}, but argument {} is of type {}", message,
                    static_cast<int64_t>(i), class_name(item));
    out.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  check(PyObject_SetAttrString(ctx, attribute, Py_None));
  return out;
}

// The call of backward: one gradient for each argument of forward, of which only those of tensors count.
std::vector<Tensor> call_backward(PyObject* cls, PyObject* ctx, const std::vector<Tensor>& grads,
                                  const std::vector<bool>& is_input) {
  const Owned args = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(grads.size()) + 1));
  PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(ctx));
  for (size_t i = 0; i < grads.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i) + 1, wrap(grads[i]).give());
  const Owned function = Owned::take(PyObject_GetAttrString(cls, "_backward_function"));
  const Owned result = Owned::take(PyObject_Call(function.get(), args.get(), nullptr));
  const bool several = PyTuple_Check(result.get());
  const auto given = several ? static_cast<size_t>(PyTuple_GET_SIZE(result.get())) : 1;
  const auto item = [&](size_t i) {
    return several ? PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i)) : result.get();
  };
  size_t count = given;
  while (count > is_input.size() && item(count - 1) == Py_None) --count;
  const std::string name(class_name(ctx));
  SCONCE_CHECK(count == is_input.size(), "function {} returned an incorrect number of gradients (expected {}, got {})",
               name, is_input.size(), count);
  std::vector<Tensor> out;
  for (size_t i = 0; i < count; ++i) {
    PyObject* grad = item(i);
    if (!is_input[i]) {
      SCONCE_CHECK(grad == Py_None,
                   "function {} returned a gradient different from None at position {}, but the corresponding forward "
                   "input was not a Variable",
                   name, i + 1);
      continue;
    }
    SCONCE_CHECK_AS(type, grad == Py_None || is_tensor(grad), "expected Variable or None (got {})", class_name(grad));
    out.push_back(grad == Py_None ? Tensor() : tensor_of(grad));
  }
  return out;
}

// apply_function(cls, ctx, args): runs cls.forward and records the call.
PyObject* apply_function(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *cls = nullptr, *ctx = nullptr, *args = nullptr;
    if (!PyArg_ParseTuple(given, "OO!O!", &cls, &context_type, &ctx, &PyTuple_Type, &args)) throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    std::vector<Tensor> inputs;
    std::vector<bool> is_input(static_cast<size_t>(n));
    Owned needs = Owned::take(PyTuple_New(n));
    const bool grad = grad_enabled();
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* arg = PyTuple_GET_ITEM(args, i);
      const bool tensor = is_tensor(arg);
      if (tensor) inputs.push_back(tensor_of(arg));
      is_input[static_cast<size_t>(i)] = tensor;
      PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(tensor && tensor_of(arg).requires_grad()));
    }
    context_of(ctx).needs = needs.give();

    Owned output;
    std::vector<bool> is_result;  // of items of the output
    bool several = false;
    const auto run_forward = [&](autograd::Context& context) {
      const Owned function = Owned::take(PyObject_GetAttrString(cls, "_run_forward"));
      output = Owned::take(PyObject_CallFunctionObjArgs(function.get(), ctx, args, nullptr));
      several = PyTuple_Check(output.get());
      if (!several) output = Owned::take(PyTuple_Pack(1, output.get()));
      std::vector<Tensor> results;  // undefined for other objects: backward has an argument for each of them, too
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(output.get()); ++i) {
        PyObject* item = PyTuple_GET_ITEM(output.get(), i);
        is_result.push_back(is_tensor(item));
        results.push_back(is_result.back() ? tensor_of(item) : Tensor());
      }
      context.save_for_backward(marked(ctx, "to_save", "save_for_backward can only save variables"));
      context.mark_dirty(marked(ctx, "dirty_tensors", "mark_dirty can only accept variables"));
      context.mark_non_differentiable(
          marked(ctx, "non_differentiable", "mark_non_differentiable only accepts variable arguments"));
      const Owned materialize = Owned::take(PyObject_GetAttrString(ctx, "materialize_grads"));
      context.set_materialize_grads(is_true(materialize.get()));
      context_of(ctx).context = context;
      return results;
    };
    const auto hold = std::make_shared<ContextHold>(ctx, cls);
    const Owned name = Owned::take(PyObject_GetAttrString(cls, "__name__"));
    const std::vector<Tensor> results = autograd::apply_custom(
        text_of(name.get()), inputs, run_forward,
        [hold, is_input](autograd::Context&, const std::vector<Tensor>& grads) {
          return call_python([&] { return call_backward(hold->cls.get(), hold->ctx.get(), grads, is_input); });
        });
    if (const Node* node = grad ? context_of(ctx).context.node() : nullptr) {
      hold->node = node;
      node_objects().emplace(node, ctx);
    }
    if (!several) return is_result[0] ? wrap(results[0]).give() : Py_NewRef(PyTuple_GET_ITEM(output.get(), 0));
    Owned made = Owned::take(PyTuple_New(PyTuple_GET_SIZE(output.get())));
    for (size_t i = 0; i < is_result.size(); ++i) {
      const auto at = static_cast<Py_ssize_t>(i);
      PyTuple_SET_ITEM(made.get(), at,
                       is_result[i] ? wrap(results[i]).give() : Py_NewRef(PyTuple_GET_ITEM(output.get(), at)));
    }
    return made.give();
  });
}

// ---- hooks for saved tensors ----

Value capsule_of(const Kept& object) { return make_capsule(object); }

PyObject* push_saved_tensor_hooks(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack = nullptr, *unpack = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) throw PythonError();
    check_callable(pack);
    check_callable(unpack);
    autograd::SavedTensorHooks hooks;
    hooks.pack = [f = keep(pack)](const Tensor& t) {
      return call_python(
          [&] { return capsule_of(keep(Owned::take(PyObject_CallOneArg(f.get(), wrap(t).get())).get())); });
    };
    hooks.unpack = [f = keep(unpack)](const Value& v) {
      return call_python([&] {
        const Owned t = Owned::take(PyObject_CallOneArg(f.get(), static_cast<Kept*>(v.to_capsule().object)->get()));
        SCONCE_CHECK_AS(type, is_tensor(t.get()),
                        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {}",
                        class_name(t.get()));
        return tensor_of(t.get());
      });
    };
    autograd::SavedTensorHookStack stack = autograd::saved_tensor_hooks();
    stack.push_back(std::make_shared<const autograd::SavedTensorHooks>(std::move(hooks)));
    autograd::set_saved_tensor_hooks(std::move(stack));
    Py_RETURN_NONE;
  });
}
PyObject* pop_saved_tensor_hooks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    autograd::SavedTensorHookStack stack = autograd::saved_tensor_hooks();
    SCONCE_CHECK(!stack.empty(), "there are no hooks for saved tensors to leave");
    stack.pop_back();
    autograd::set_saved_tensor_hooks(std::move(stack));
    Py_RETURN_NONE;
  });
}

// ---- anomaly mode ----

// The stack of the Python that calls an operator, as a traceback prints it.
std::string python_stack() {
  if (!Py_IsInitialized()) return {};
  const Locked locked;
  const auto stack = [] {
    const Owned module = Owned::take(PyImport_ImportModule("traceback"));
    const Owned lines = Owned::take(PyObject_CallMethod(module.get(), "format_stack", nullptr));
    const Owned joined = Owned::take(PyUnicode_Join(text("").get(), lines.get()));
    return std::string(text_of(joined.get()));
  };
  try {
    return stack();
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
}

PyObject* set_anomaly(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int enabled = 0, check_nan = 1;
    if (!PyArg_ParseTuple(args, "pp", &enabled, &check_nan)) throw PythonError();
    autograd::AnomalyMode::set(enabled != 0, check_nan != 0);
    Py_RETURN_NONE;
  });
}
PyObject* is_anomaly_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autograd::AnomalyMode::enabled()); }
PyObject* does_anomaly_check_nan(PyObject*, PyObject*) { return PyBool_FromLong(autograd::AnomalyMode::checks_nan()); }

PyObject* gradient_edge(PyObject*, PyObject* tensor) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, is_tensor(tensor), "get_gradient_edge: a tensor was expected, got {}", class_name(tensor));
    const autograd::Edge edge = autograd::gradient_edge(tensor_of(tensor));
    SCONCE_CHECK(edge, "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    return Py_BuildValue("NI", wrap_node(edge.node).give(), static_cast<unsigned>(edge.slot));
  });
}

PyObject* queue_callback(PyObject*, PyObject* f) {
  return guarded([&]() -> PyObject* {
    check_callable(f);
    autograd::queue_callback([kept = keep(f)] { call_python([&] { Owned::take(PyObject_CallNoArgs(kept.get())); }); });
    Py_RETURN_NONE;
  });
}

PyObject* set_saves_inference_tensors(PyObject*, PyObject* allowed) {
  return guarded([&] { return PyBool_FromLong(autograd::set_saves_inference_tensors(is_true(allowed))); });
}
PyObject* without_inference(PyObject*, PyObject* tensor) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, is_tensor(tensor), "a tensor was expected, got {}", class_name(tensor));
    const Tensor made = autograd::without_inference(tensor_of(tensor));
    return made.is_same(tensor_of(tensor)) ? Py_NewRef(tensor) : wrap(made).give();
  });
}

PyMethodDef functions[] = {
    {"_apply_function", apply_function, METH_VARARGS, nullptr},
    {"_push_saved_tensors_hooks", push_saved_tensor_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_hooks", pop_saved_tensor_hooks, METH_NOARGS, nullptr},
    {"_set_anomaly", set_anomaly, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", is_anomaly_enabled, METH_NOARGS, "Is anomaly mode on?"},
    {"is_anomaly_check_nan_enabled", does_anomaly_check_nan, METH_NOARGS, "Does anomaly mode look for NaN?"},
    {"_gradient_edge", gradient_edge, METH_O, nullptr},
    {"_queue_callback", queue_callback, METH_O, nullptr},
    {"_set_saves_inference_tensors", set_saves_inference_tensors, METH_O, nullptr},
    {"_without_inference", without_inference, METH_O, nullptr},
    {}};

}  // namespace

Owned wrap_node(const Ref<Node>& node) {
  if (!node) return Owned::share(Py_None);
  if (const auto found = node_objects().find(node.get()); found != node_objects().end())
    return Owned::share(found->second);
  PyTypeObject* type = class_of_node(node->name());
  Owned made = Owned::take(type->tp_alloc(type, 0));
  new (&reinterpret_cast<NodeObject*>(made.get())->node) Ref<Node>(node);
  node_objects().emplace(node.get(), made.get());
  return made;
}

// Before a leaf gets a hook: sconce._sconce._leaf_hooks tells compiled functions that backward runs other code now. A
// text, since numbers that change become inputs of graphs.
void note_leaf_hook(PyObject* tensor) {
  static int64_t count = 0;
  if (!autograd::is_leaf(tensor_of(tensor))) return;
  const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
  check(PyObject_SetAttrString(module.get(), "_leaf_hooks", text(std::to_string(++count)).get()));
}

PyObject* register_tensor_hook(PyObject* tensor, PyObject* hook) {
  return guarded([&] {
    check_callable(hook);
    note_leaf_hook(tensor);
    return make_handle(autograd::register_hook(
                           tensor_of(tensor),
                           [kept = keep(hook)](const Tensor& grad) {
                             return call_python([&] {
                               const Owned result = Owned::take(PyObject_CallOneArg(kept.get(), wrap(grad).get()));
                               SCONCE_CHECK(result.get() == Py_None || is_tensor(result.get()),
                                            "expected Variable, but hook returned '{}'", class_name(result.get()));
                               return result.get() == Py_None ? Tensor() : tensor_of(result.get());
                             });
                           }))
        .give();
  });
}

PyObject* register_post_accumulate_hook(PyObject* tensor, PyObject* hook) {
  return guarded([&] {
    check_callable(hook);
    note_leaf_hook(tensor);
    const auto run = [kept = keep(hook)](const Tensor& leaf) {
      call_python([&] {
        const Owned result = Owned::take(PyObject_CallOneArg(kept.get(), wrap(leaf).get()));
        SCONCE_CHECK(result.get() == Py_None, "Tensor post accumulate grad hooks should return None.");
      });
    };
    return make_handle(autograd::register_post_accumulate_grad_hook(tensor_of(tensor), run)).give();
  });
}

void add_autograd(PyObject* module) {
  check(PyType_Ready(&handle_type));
  check(PyType_Ready(&node_type));
  check(PyType_Ready(&context_type));
  check(PyModule_AddObjectRef(module, "_RemovableHandle", reinterpret_cast<PyObject*>(&handle_type)));
  check(PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(&node_type)));
  check(PyModule_AddObjectRef(module, "_FunctionContext", reinterpret_cast<PyObject*>(&context_type)));
  check(PyModule_AddFunctions(module, functions));
  check(PyModule_AddStringConstant(module, "_leaf_hooks", "0"));
  autograd::set_outer_place_source(python_stack);
}

}  // namespace sconce::python
