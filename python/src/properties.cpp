// Properties and methods of sconce.Tensor that are no operators: geometry, gradients, memory, pickling, copies.
#include "autograd_objects.h"
#include "binder.h"
#include "creation.h"
#include "interop/dlpack_exchange.h"
#include "long_call.h"
#include "programs/tracing.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "size_object.h"
#include "small_objects.h"
#include "storage_object.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

template <Owned (*f)(const Tensor&)>
PyObject* property(PyObject* self, void*) {
  return guarded([&] { return f(tensor_of(self)).give(); });
}
Owned truth_of(bool v) { return Owned::share(v ? Py_True : Py_False); }
Owned number(int64_t v) { return Owned::take(PyLong_FromLongLong(v)); }

Owned ints(IntList list) {
  Owned made = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), number(list[i]).give());
  return made;
}
Owned shape(const Tensor& t) {
  if (!is_tracing()) return make_size(t.sizes());
  const Owned sizes = Owned::take(PyTuple_New(t.dim()));
  for (int64_t i = 0; i < t.dim(); ++i) PyTuple_SET_ITEM(sizes.get(), i, size_object(t, i).give());
  return make_size_of(sizes.get());
}
Owned dtype(const Tensor& t) { return Owned::share(dtype_object(t.dtype())); }
Owned device(const Tensor& t) { return make_device(t.device()); }
Owned layout(const Tensor& t) { return Owned::share(layout_object(t.layout())); }
Owned ndim(const Tensor& t) { return number(t.dim()); }
Owned itemsize(const Tensor& t) { return number(static_cast<int64_t>(t.item_size())); }
Owned nbytes(const Tensor& t) { return number(t.numel() * static_cast<int64_t>(t.item_size())); }
Owned requires_grad(const Tensor& t) { return truth_of(t.requires_grad()); }
Owned is_leaf(const Tensor& t) { return truth_of(autograd::is_leaf(t)); }
Owned is_sparse(const Tensor& t) { return truth_of(t.layout() == Layout::sparse); }
Owned is_quantised(const Tensor& t) { return truth_of(is_quantized(t.dtype())); }
Owned is_meta(const Tensor& t) { return truth_of(t.is_meta()); }
Owned is_cuda(const Tensor& t) { return truth_of(t.device().type == DeviceType::cuda); }
Owned grad(const Tensor& t) { return wrap(autograd::grad(t)); }
Owned data(const Tensor& t) { return wrap(shallow_copy(t)); }
Owned version(const Tensor& t) { return number(t.version()); }
Owned grad_fn(const Tensor& t) { return wrap_node(autograd::grad_fn(t)); }
Owned retains_grad(const Tensor& t) { return truth_of(autograd::retains_grad(t)); }
Owned output_nr(const Tensor& t) { return number(autograd::output_number(t)); }
Owned transposed(const Tensor& t) { return wrap(t.numpy_T()); }
Owned matrix_transposed(const Tensor& t) { return wrap(t.mT()); }
Owned matrix_adjoint(const Tensor& t) { return wrap(t.mH()); }
Owned adjoint(const Tensor& t) { return wrap(t.matrix_H()); }
Owned real(const Tensor& t) { return wrap(sconce::real(t)); }
Owned imag(const Tensor& t) { return wrap(sconce::imag(t)); }

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    SCONCE_CHECK_AS(type, value && PyBool_Check(value), "requires_grad must be a bool");
    autograd::set_requires_grad(tensor_of(self), value == Py_True);
    return 0;
  });
}
// x.data = y: other elements, and perhaps another shape and dtype, for the same tensor.
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    SCONCE_CHECK_AS(type, value != nullptr && is_tensor(value), "Variable data has to be a tensor, but got {}",
                    value == nullptr ? "nothing" : class_name(value));
    Owned::take(PyObject_CallMethod(self, "set_data", "O", value));
    return 0;
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const bool none = value == nullptr || value == Py_None;
    SCONCE_CHECK_AS(type, none || is_tensor(value),
                    "assigned grad expected to be a Tensor or None but got grad of type {}", class_name(value));
    autograd::set_grad(tensor_of(self), none ? Tensor() : tensor_of(value));
    return 0;
  });
}

// The keyword arguments of a method, by name; those that are not among `names` are refused.
struct Arguments {
  template <size_t n>
  Arguments(const char* method, PyObject* args, PyObject* kwargs, const char* const (&names)[n], PyObject* (&out)[n]) {
    const Py_ssize_t given = PyTuple_GET_SIZE(args);
    SCONCE_CHECK_AS(type, given <= static_cast<Py_ssize_t>(n), "{}() takes at most {} arguments, got {}", method, n,
                    static_cast<int64_t>(given));
    for (Py_ssize_t i = 0; i < given; ++i) out[i] = PyTuple_GET_ITEM(args, i);
    if (kwargs == nullptr) return;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value);) {
      size_t i = 0;
      while (i < n && text_of(key) != names[i]) ++i;
      SCONCE_CHECK_AS(type, i < n && !out[i], "{}() got an unexpected keyword argument '{}'", method, text_of(key));
      out[i] = value;
    }
  }
};
bool is_given(PyObject* o) { return o != nullptr && o != Py_None; }

PyObject* backward(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given[4] = {};
    Arguments("backward", args, kwargs, {"gradient", "retain_graph", "create_graph", "inputs"}, given);
    autograd::BackwardOptions options;
    if (is_given(given[1])) options.retain_graph = is_true(given[1]);
    options.create_graph = is_given(given[2]) && is_true(given[2]);
    const std::vector<Tensor> grads = tensors_in(given[0]), inputs = tensors_in(given[3]);
    SCONCE_CHECK(!is_given(given[3]) || !inputs.empty(), "`inputs` argument to `backward()` cannot be empty.");
    const Tensor t = tensor_of(self);
    run_interruptible([&] { autograd::backward({t}, grads, options, inputs); });
    Py_RETURN_NONE;
  });
}
PyObject* requires_grad_in_place(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given[1] = {};
    Arguments("requires_grad_", args, kwargs, {"requires_grad"}, given);
    autograd::set_requires_grad(tensor_of(self), given[0] == nullptr || is_true(given[0]));
    return Py_NewRef(self);
  });
}
PyObject* retain_grad(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    autograd::retain_grad(tensor_of(self));
    Py_RETURN_NONE;
  });
}

PyObject* size(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given[1] = {};
    Arguments("size", args, kwargs, {"dim"}, given);
    if (!is_given(given[0])) return shape(tensor_of(self)).give();
    Value dim;
    SCONCE_CHECK_AS(type, convert(given[0], int_type(), std::nullopt, dim),
                    "size(): argument 'dim' must be int, not {}", class_name(given[0]));
    return size_object(tensor_of(self), dim.to_int()).give();
  });
}
PyObject* stride(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given[1] = {};
    Arguments("stride", args, kwargs, {"dim"}, given);
    if (!is_given(given[0])) return ints(tensor_of(self).strides()).give();
    Value dim;
    SCONCE_CHECK_AS(type, convert(given[0], int_type(), std::nullopt, dim),
                    "stride(): argument 'dim' must be int, not {}", class_name(given[0]));
    return number(tensor_of(self).stride(dim.to_int())).give();
  });
}
PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] { return numel_object(tensor_of(self)).give(); });
}
PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).dim()); }
PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] {
    SCONCE_CHECK_AS(not_implemented, tensor_of(self).storage(), "Cannot access storage of a tensor with this layout");
    return wrap_storage(Ref<Storage>::share(tensor_of(self).storage())).give();
  });
}
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    SCONCE_CHECK_AS(type,
                    PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &python::tensor_type),
                    "cls must be a type (got {})", class_name(cls));
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), sconce::alias(tensor_of(self))).give();
  });
}
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(tensor_of(self).data()); }
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).storage_offset()); }
PyObject* element_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(tensor_of(self).item_size()); }
PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    SCONCE_CHECK(t.numel() == 1, "a Tensor with {} elements cannot be converted to Scalar", t.numel());
    warn_of_value("Converting a tensor to a Python number");
    return object_of(Value(item_of(t))).give();
  });
}

Owned nested_list(const Tensor& t) {
  if (t.dim() == 0) return object_of(Value(item_of(t)));
  Owned list = Owned::take(PyList_New(t.size(0)));
  for (int64_t i = 0; i < t.size(0); ++i) PyList_SET_ITEM(list.get(), i, nested_list(t.select(0, i)).give());
  return list;
}
PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    warn_of_value("Converting a tensor to a Python list");
    const NoGrad unrecorded;
    const tracing::Paused untraced;
    return nested_list(tensor_of(self).detach()).give();
  });
}

PyObject* new_tensor(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given[2] = {};
    Arguments("new_tensor", args, kwargs, {"data", "dtype"}, given);
    SCONCE_CHECK_AS(type, given[0], "new_tensor() missing 1 required positional argument: 'data'");
    const bool chosen = is_given(given[1]) && is_dtype(given[1]);
    return wrap(tensor_of_data(given[0], chosen ? static_cast<DType>(number_of(given[1])) : tensor_of(self).dtype()))
        .give();
  });
}

// Through numpy's view of the buffer, without a copy.
PyObject* array_over(PyObject* self) {
  return guarded([&]() -> PyObject* {
    SCONCE_CHECK(!(tensor_of(self).requires_grad() && grad_enabled()),
                 "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    warn_of_value("Converting a tensor to a NumPy array");
    const Owned module = Owned::take(PyImport_ImportModule("numpy"));
    const Owned view = Owned::take(PyMemoryView_FromObject(self));
    return PyObject_CallMethod(module.get(), "asarray", "O", view.get());
  });
}
// numpy(*, force=False): force makes the copy that the array needs.
PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* keywords[] = {"force", nullptr};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(keywords), &force))
      throw PythonError();
    if (!force) return array_over(self);
    const Tensor t = tensor_of(self).detach().resolve_conj().resolve_neg();
    const Owned plain = wrap(t.device().type == DeviceType::cpu ? t : to(t, Device(), t.dtype()));
    return array_over(plain.get());
  });
}
PyObject* array(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Owned made = Owned::take(array_over(self));
    if (PyTuple_GET_SIZE(args) == 0 || PyTuple_GET_ITEM(args, 0) == Py_None) return Py_NewRef(made.get());
    return PyObject_CallMethod(made.get(), "astype", "O", PyTuple_GET_ITEM(args, 0));
  });
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", property<shape>, nullptr, "The size of each dimension.", nullptr},
    {"dtype", property<dtype>, nullptr, "The type of the elements.", nullptr},
    {"device", property<device>, nullptr, "Where the elements are.", nullptr},
    {"layout", property<layout>, nullptr, "How the elements are kept.", nullptr},
    {"ndim", property<ndim>, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", property<itemsize>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", property<nbytes>, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", property<requires_grad>, set_requires_grad, "Are gradients computed for it?", nullptr},
    {"is_leaf", property<is_leaf>, nullptr, "Was it made by the user, and not by a recorded operation?", nullptr},
    {"is_sparse", property<is_sparse>, nullptr, "Is its layout COO?", nullptr},
    {"is_quantized", property<is_quantised>, nullptr, "Is its dtype a quantised one?", nullptr},
    {"is_meta", property<is_meta>, nullptr, "Has it sizes and no elements?", nullptr},
    {"is_cuda", property<is_cuda>, nullptr, "Is it on a GPU?", nullptr},
    {"grad", property<grad>, set_grad, "The gradient that backward() accumulated, or None.", nullptr},
    {"grad_fn", property<grad_fn>, nullptr, "The operation that made it, or None.", nullptr},
    {"retains_grad", property<retains_grad>, nullptr, "Was retain_grad() called?", nullptr},
    {"output_nr", property<output_nr>, nullptr, "Which of the results of grad_fn it is.", nullptr},
    {"data", property<data>, set_data, "The same memory without history; setting it replaces the elements.", nullptr},
    {"_version", property<version>, nullptr, "How often it was written in place.", nullptr},
    {"T", property<transposed>, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", property<matrix_transposed>, nullptr, "The last two dimensions exchanged.", nullptr},
    {"mH", property<matrix_adjoint>, nullptr, "The last two dimensions exchanged, conjugated.", nullptr},
    {"H", property<adjoint>, nullptr, "A matrix transposed and conjugated.", nullptr},
    {"real", property<real>, nullptr, "The real parts.", nullptr},
    {"imag", property<imag>, nullptr, "The imaginary parts.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

#define SCONCE_WITH_KEYWORDS(f) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS
PyMethodDef tensor_methods[] = {
    {"backward", SCONCE_WITH_KEYWORDS(backward),
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None): adds gradients to the leaves."},
    {"requires_grad_", SCONCE_WITH_KEYWORDS(requires_grad_in_place), "requires_grad_(requires_grad=True)"},
    {"register_hook", register_tensor_hook, METH_O,
     "register_hook(fn): fn(grad) is called with the gradient, and may return another one."},
    {"register_post_accumulate_grad_hook", register_post_accumulate_hook, METH_O,
     "register_post_accumulate_grad_hook(fn): fn(tensor) is called when grad of a leaf has been added to."},
    {"retain_grad", retain_grad, METH_NOARGS, "Keeps the gradient of a tensor that is no leaf."},
    {"size", SCONCE_WITH_KEYWORDS(size), "size(dim=None): all sizes, or one."},
    {"stride", SCONCE_WITH_KEYWORDS(stride), "stride(dim=None): all strides, or one, in elements."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {"nelement", numel, METH_NOARGS, "The number of elements."},
    {"dim", dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "The number of dimensions."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first element."},
    {"storage_offset", storage_offset, METH_NOARGS, "Where the first element is in its memory, in elements."},
    {"element_size", element_size, METH_NOARGS, "Bytes of one element."},
    {"item", item, METH_NOARGS, "The only element, as a number."},
    {"tolist", tolist, METH_NOARGS, "Nested lists of numbers."},
    {"new_tensor", SCONCE_WITH_KEYWORDS(new_tensor), "new_tensor(data, dtype=None): a tensor of this dtype from data."},
    {"numpy", SCONCE_WITH_KEYWORDS(numpy),
     "numpy(*, force=False): an array of numpy over the same memory; of a copy if force asks for one that is needed."},
    {"__array__", SCONCE_WITH_KEYWORDS(array), nullptr},
    {"__dlpack__", SCONCE_WITH_KEYWORDS(dlpack_method), nullptr},
    {"__dlpack_device__", dlpack_device_method, METH_NOARGS, nullptr},
    {"untyped_storage", untyped_storage, METH_NOARGS, "The memory that holds the elements."},
    {"as_subclass", as_subclass, METH_O, "as_subclass(cls): the same memory and history under a subclass of Tensor."},
    {}};

}  // namespace sconce::python
