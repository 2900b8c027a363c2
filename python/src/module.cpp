// The extension module sconce._sconce.
#include "autocast.h"
#include "autograd_objects.h"
#include "binder.h"
#include "capture/bytecode/bytecode_doors.h"
#include "capture/compiled/compiled_object.h"
#include "capture/compiled/disabled.h"
#include "capture/evaluator/evaluate.h"
#include "capture/frames/frame_doors.h"
#include "capture/graph/compiled_graph.h"
#include "capture/guards/guards.h"
#include "creation.h"
#include "dispatch_hook.h"
#include "generator_object.h"
#include "interop/dlpack_exchange.h"
#include "interop/torch_bridge.h"
#include "interop/torch_function.h"
#include "library.h"
#include "long_call.h"
#include "optimizers.h"
#include "programs/graph_builder.h"
#include "programs/graphs.h"
#include "programs/module_object.h"
#include "programs/program_values.h"
#include "programs/programs.h"
#include "programs/scripting.h"
#include "programs/tracing.h"
#include "quick_call.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/libraries/float32_precision.h"
#include "sconce/tensor/printing/print_options.h"
#include "size_object.h"
#include "small_objects.h"
#include "storage_object.h"
#include "tensor_object.h"
#include "values.h"
#include "variants.h"

namespace sconce::python {

namespace {

PyObject* none_after(void (*f)(PyObject*), PyObject* arg) {
  return guarded([&]() -> PyObject* {
    f(arg);
    Py_RETURN_NONE;
  });
}

// function(name): the function of operators aten::name.
PyObject* function(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    Owned found = find_function(text_of(name));
    if (!found) {
      PyErr_Format(PyExc_AttributeError, "module 'sconce' has no attribute '%U'", name);
      throw PythonError();
    }
    return found.give();
  });
}
PyObject* packet(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    Owned found = find_packet(text_of(name));
    if (!found) {
      PyErr_Format(PyExc_AttributeError, "there is no operator '%U'", name);
      throw PythonError();
    }
    return found.give();
  });
}
PyObject* names(PyObject*, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const std::string& name : function_names()) check(PyList_Append(list.get(), text(name).get()));
    return list.give();
  });
}

PyObject* make_tensor(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (FunctionModes::any()) {
      const Owned function = Owned::take(PyObject_GetAttrString(module, "tensor"));
      const Owned names = kwargs == nullptr ? Owned() : Owned::take(PySequence_Tuple(kwargs));
      std::vector<PyObject*> named;
      for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i)
        named.push_back(PyDict_GetItemWithError(kwargs, PyTuple_GET_ITEM(names.get(), i)));
      const std::span<PyObject* const> given(&PyTuple_GET_ITEM(args, 0), static_cast<size_t>(PyTuple_GET_SIZE(args)));
      const Given all{given, names.get(), named.data()};
      return TorchFunction(all).call(function.get(), all).give();
    }
    static const char* keywords[] = {"data", "dtype", "device", "requires_grad", nullptr};
    PyObject *data = nullptr, *dtype = Py_None, *device = Py_None;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOp:tensor", const_cast<char**>(keywords), &data, &dtype,
                                     &device, &requires_grad))
      throw PythonError();
    Value type, place;
    SCONCE_CHECK_AS(
        type,
        convert(dtype, optional_type(parse_schema("f(ScalarType t) -> ()").arguments[0].type), std::nullopt, type),
        "tensor(): argument 'dtype' must be torch.dtype, not {}", class_name(dtype));
    SCONCE_CHECK_AS(type, convert(device, optional_type(device_type()), std::nullopt, place),
                    "tensor(): argument 'device' must be torch.device, not {}", class_name(device));
    const ModeGuard unseen(KeySet(), Key::python);  // the data is a constant for those who record operators
    Tensor t = tensor_of_data(data, type.is_none() ? std::nullopt : std::optional(static_cast<DType>(type.to_int())));
    if (!place.is_none() && !(place.to_device() == t.device())) t = t.to(place.to_device(), t.dtype());
    if (is_tracing()) t = traced_constant(t, "torch.tensor");
    if (requires_grad) autograd::set_requires_grad(t, true);
    return wrap(std::move(t)).give();
  });
}
PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, class_name(array) == "ndarray", "expected np.ndarray (got {})", class_name(array));
    warn_of_constant("torch.from_numpy");
    return wrap(tensor_of_buffer(array, true)).give();
  });
}
PyObject* make_subclass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *type = nullptr, *data = nullptr;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "O!O!|p", &PyType_Type, &type, &python::tensor_type, &data, &requires_grad))
      throw PythonError();
    SCONCE_CHECK_AS(type, PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &python::tensor_type),
                    "a subclass of Tensor was expected");
    const Tensor t = shallow_copy(tensor_of(data));
    Owned made = wrap_as(reinterpret_cast<PyTypeObject*>(type), t);
    if (requires_grad) autograd::set_requires_grad(t, true);
    return made.give();
  });
}

// backward(tensors, gradients, retain_graph, create_graph, inputs): all but flags are lists.
PyObject* backward(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors = nullptr, *grads = nullptr, *inputs = nullptr, *retain = nullptr;
    int create = 0;
    if (!PyArg_ParseTuple(args, "O!O!OpO!", &PyList_Type, &tensors, &PyList_Type, &grads, &retain, &create,
                          &PyList_Type, &inputs))
      throw PythonError();
    autograd::BackwardOptions options;
    if (retain != Py_None) options.retain_graph = is_true(retain);
    options.create_graph = create != 0;
    const std::vector<Tensor> of = tensors_in(tensors), given = tensors_in(grads), only = tensors_in(inputs);
    run_interruptible([&] { autograd::backward(of, given, options, only); });
    Py_RETURN_NONE;
  });
}

// grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused): all but flags are lists.
PyObject* gradients(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *inputs = nullptr, *grads = nullptr, *retain = nullptr;
    int create = 0, unused = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!Opp", &PyList_Type, &outputs, &PyList_Type, &inputs, &PyList_Type, &grads,
                          &retain, &create, &unused))
      throw PythonError();
    autograd::GradOptions options;
    if (retain != Py_None) options.retain_graph = is_true(retain);
    options.create_graph = create != 0;
    options.allow_unused = unused != 0;
    const std::vector<Tensor> out = tensors_in(outputs), in = tensors_in(inputs), given = tensors_in(grads);
    std::vector<Tensor> found = run_interruptible([&] { return autograd::grad(out, in, given, options); });
    Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
    for (size_t i = 0; i < found.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(found[i])).give());
    return tuple.give();
  });
}

// Files of values, as torch.save writes them. Numbers, strings, tensors, lists, tuples and dicts of these.
PyObject* save(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *what = nullptr, *path = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &what, &path)) throw PythonError();
    const Owned real = Owned::take(PyOS_FSPath(path));
    write_pickled(std::string(text_of(real.get())), value_of(what));
    Py_RETURN_NONE;
  });
}
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* path = nullptr;
    int mapped = 0;
    if (!PyArg_ParseTuple(args, "Op", &path, &mapped)) throw PythonError();
    const Owned real = Owned::take(PyOS_FSPath(path));
    const std::string from(text_of(real.get()));
    const Value v = read_pickled(mapped ? FileBytes::map(from) : FileBytes::read(from));
    refuse_opaque(v, from);
    return object_of(v).give();
  });
}

int64_t int_argument(PyObject* o) {
  const long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

PyMethodDef functions[] = {
    {"_function", function, METH_O, nullptr},
    {"_packet", packet, METH_O, nullptr},
    {"_function_names", names, METH_NOARGS, nullptr},
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_tensor)), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False): a tensor with a copy of the data."},
    {"from_numpy", from_numpy, METH_O, "from_numpy(array): a tensor over the memory of the array."},
    {"_make_subclass", make_subclass, METH_VARARGS, nullptr},
    {"_save", save, METH_VARARGS, nullptr},
    {"_load", load, METH_VARARGS, nullptr},
    {"_backward", backward, METH_VARARGS, nullptr},
    {"_gradients", gradients, METH_VARARGS, nullptr},
    {"is_grad_enabled", [](PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }, METH_NOARGS,
     "Are operations recorded for gradients?"},
    {"_set_grad_enabled",
     [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { set_grad_enabled(is_true(v)); }, o); }, METH_O,
     nullptr},
    {"is_inference_mode_enabled", [](PyObject*, PyObject*) { return PyBool_FromLong(inference_mode_enabled()); },
     METH_NOARGS, "Are inference tensors made?"},
    {"_inference_mode_state", [](PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(inference_mode_state()); },
     METH_NOARGS, nullptr},
    {"_set_inference_mode",
     [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { set_inference_mode(is_true(v)); }, o); }, METH_O,
     nullptr},
    {"_restore_inference_mode",
     [](PyObject*, PyObject* o) {
       return none_after([](PyObject* v) { restore_inference_mode(PyLong_AsUnsignedLongLongMask(v)); }, o);
     },
     METH_O, nullptr},
    {"get_num_threads", [](PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }, METH_NOARGS,
     "How many threads one operator may use."},
    {"set_num_threads",
     [](PyObject*, PyObject* o) {
       return none_after(
           [](PyObject* v) {
             SCONCE_CHECK(PyLong_Check(v), "set_num_threads expects an int, but got {}", class_name(v));
             const int64_t n = int_argument(v);
             SCONCE_CHECK(n > 0 && n <= INT32_MAX, "set_num_threads expects a positive integer");
             set_num_threads(static_cast<int>(n));
           },
           o);
     },
     METH_O, "set_num_threads(n): one operator may use n threads."},
    {"_matmul_precision", [](PyObject*, PyObject*) { return PyLong_FromLong(static_cast<long>(matmul_precision())); },
     METH_NOARGS, nullptr},
    {"_set_matmul_precision",
     [](PyObject*, PyObject* o) {
       return none_after(
           [](PyObject* v) {
             const int64_t n = int_argument(v);
             SCONCE_CHECK(n >= 0 && n <= 2, "_set_matmul_precision expects 0, 1 or 2, got {}", n);
             set_matmul_precision(static_cast<MatmulPrecision>(n));
           },
           o);
     },
     METH_O, nullptr},
    {"_convolution_tf32", [](PyObject*, PyObject*) { return PyBool_FromLong(convolution_tf32()); }, METH_NOARGS,
     nullptr},
    {"_set_convolution_tf32",
     [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { set_convolution_tf32(is_true(v)); }, o); },
     METH_O, nullptr},
    {"_cpu_level", [](PyObject*, PyObject*) { return PyLong_FromLong(cpu_level()); }, METH_NOARGS, nullptr},
    {"is_deterministic", [](PyObject*, PyObject*) { return PyBool_FromLong(is_deterministic()); }, METH_NOARGS,
     "Do results have the same bits on every machine?"},
    {"set_deterministic",
     [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { set_deterministic(is_true(v)); }, o); }, METH_O,
     "set_deterministic(on): results have the same bits on every machine, which costs speed (docs/numerics.md)."},
    {"get_default_dtype", [](PyObject*, PyObject*) { return Py_NewRef(dtype_object(default_dtype())); }, METH_NOARGS,
     "The dtype of floats that say none."},
    {"set_default_dtype",
     [](PyObject*, PyObject* o) {
       return none_after(
           [](PyObject* v) {
             constexpr const char* kOnly = "only floating-point types are supported as the default type";
             SCONCE_CHECK_AS(type, is_dtype(v), "invalid dtype object: {}", kOnly);
             SCONCE_CHECK_AS(type, is_floating(static_cast<DType>(number_of(v))), "{}", kOnly);
             set_default_dtype(static_cast<DType>(number_of(v)));
           },
           o);
     },
     METH_O, "set_default_dtype(dtype): the dtype of floats that say none."},
    {"_frombuffer",
     [](PyObject*, PyObject* args) {
       return guarded([&]() -> PyObject* {
         PyObject *buffer = nullptr, *dtype = nullptr;
         long long count = 0, offset = 0;
         if (!PyArg_ParseTuple(args, "OOLL:frombuffer", &buffer, &dtype, &count, &offset)) throw PythonError();
         SCONCE_CHECK_AS(type, is_dtype(dtype), "frombuffer(): argument 'dtype' must be torch.dtype, not {}",
                         class_name(dtype));
         return wrap(tensor_of_memory(buffer, static_cast<DType>(number_of(dtype)), count, offset)).give();
       });
     },
     METH_VARARGS, nullptr},
    {"_print_options",
     [](PyObject*, PyObject*) {
       const PrintOptions o = print_options();
       return Py_BuildValue("iLLLO", o.precision, static_cast<long long>(o.threshold),
                            static_cast<long long>(o.edge_items), static_cast<long long>(o.line_width),
                            !o.scientific   ? Py_None
                            : *o.scientific ? Py_True
                                            : Py_False);
     },
     METH_NOARGS, nullptr},
    {"_set_print_options",
     [](PyObject*, PyObject* args) {
       return guarded([&]() -> PyObject* {
         PrintOptions o;
         long long threshold = 0, edge_items = 0, line_width = 0;
         PyObject* scientific = nullptr;
         if (!PyArg_ParseTuple(args, "iLLLO", &o.precision, &threshold, &edge_items, &line_width, &scientific))
           throw PythonError();
         SCONCE_CHECK_AS(value, o.precision >= 0 && o.precision <= 300 && edge_items > 0 && line_width > 0,
                         "set_printoptions: precision must be 0 to 300, edgeitems and linewidth positive");
         o.threshold = threshold;
         o.edge_items = edge_items;
         o.line_width = line_width;
         if (scientific != Py_None) o.scientific = is_true(scientific);
         set_print_options(o);
         Py_RETURN_NONE;
       });
     },
     METH_VARARGS, nullptr},
    {"_add_method",
     [](PyObject*, PyObject* args) {
       return guarded([&]() -> PyObject* {
         PyObject *name = nullptr, *method = nullptr;
         if (!PyArg_ParseTuple(args, "UO", &name, &method)) throw PythonError();
         check(PyDict_SetItem(python::tensor_type.tp_dict, name, method));
         PyType_Modified(&python::tensor_type);
         Py_RETURN_NONE;
       });
     },
     METH_VARARGS, nullptr},
    {"_set_parameter_class",
     [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { set_parameter_class(v); }, o); }, METH_O,
     nullptr},
    {"_add_functions", [](PyObject*, PyObject* o) { return none_after([](PyObject* v) { add_functions(v); }, o); },
     METH_O, nullptr},
    {}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_sconce",
                          "The compiled part of sconce.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace sconce::python

PyMODINIT_FUNC PyInit__sconce() {
  using namespace sconce::python;
  return guarded([]() -> PyObject* {
    Owned module = Owned::take(PyModule_Create(&definition));
    check(PyModule_AddStringConstant(module.get(), "__version__", SCONCE_VERSION));
    add_small_objects(module.get());
    add_binder(module.get());
    add_size_type(module.get());
    add_tensor_type(module.get());
    add_torch_function(module.get());
    add_dlpack(module.get());
    add_generator(module.get());
    add_autograd(module.get());
    add_storage(module.get());
    add_programs(module.get());
    add_program_values(module.get());
    add_graphs(module.get());
    add_scripting(module.get());
    add_tracing(module.get());
    add_optimizers(module.get());
    add_graph_builder(module.get());
    add_dispatch_hook(module.get());
    add_torch_bridge(module.get());
    add_library(module.get());
    add_module_type(module.get());
    add_autocast(module.get());
    add_variants(module.get());
    capture::add_bytecode_doors(module.get());
    capture::add_evaluator(module.get());
    capture::add_frame_doors(module.get());
    capture::add_graph_capture(module.get());
    capture::add_guards(module.get());
    capture::add_compiled(module.get());
    capture::add_disabled(module.get());
    return module.give();
  });
}
