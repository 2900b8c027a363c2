#include "creation.h"

#include <bit>

#include "programs/tracing.h"
#include "sconce/base/error.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/element.h"
#include "sconce/tensor/promotion.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }
// A sequence of another class (range, bytearray), which is read as a list.
bool is_other_sequence(PyObject* o) {
  return !is_list(o) && !is_tensor(o) && PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) &&
         !PyDict_Check(o) && PySequence_Size(o) >= 0;
}
// The same data with lists for other sequences.
Owned with_lists(PyObject* data, int depth = 0) {
  SCONCE_CHECK_AS(value, depth < 64, "too many dimensions '{}'", class_name(data));
  if (is_other_sequence(data)) {
    const Owned list = Owned::take(PySequence_List(data));
    return with_lists(list.get(), depth + 1);
  }
  PyErr_Clear();  // of a sequence without a length
  if (!is_list(data)) return Owned::share(data);
  bool plain = true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data) && plain; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(data, i);
    plain = PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyBool_Check(item);
  }
  if (plain) return Owned::share(data);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
  Owned made = Owned::take(PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(data, i));
    PyList_SET_ITEM(made.get(), i, with_lists(item.get(), depth + 1).give());
  }
  return made;
}
// An array of numpy: its elements are read through the buffer. (bytes have one too, and are refused.)
bool is_array(PyObject* o) {
  return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) && !is_tensor(o);
}

// Sizes by the first item of each list; all others are compared while they are written.
std::vector<int64_t> sizes_of(PyObject* data) {
  std::vector<int64_t> sizes;
  for (Owned at = Owned::share(data); is_list(at.get());) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(at.get());
    sizes.push_back(n);
    SCONCE_CHECK_AS(value, sizes.size() <= 64, "too many dimensions '{}'", class_name(data));
    if (n == 0) break;
    at = Owned::share(PySequence_Fast_GET_ITEM(at.get(), 0));
  }
  return sizes;
}

Value number_in(PyObject* item) {
  Value v;
  if (!convert(item, number_type(), std::nullopt, v))
    fail_as(ErrorKind::type, "new(): invalid data type '{}'", class_name(item));
  return v;
}

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size);

// The dtype of a number of numpy, or nothing for other objects. numpy.float64 is a float of Python, too.
std::optional<DType> dtype_of_array(PyObject* o) {
  if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || !is_array(o)) return std::nullopt;
  Py_buffer view;
  if (PyObject_GetBuffer(o, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of_format(view.format, view.itemsize);
  PyBuffer_Release(&view);
  return dtype;
}

// The dtype that holds all items: tensors and numbers of numpy have one, numbers of Python those of new tensors.
DType dtype_for(PyObject* data) {
  if (is_tensor(data)) return tensor_of(data).dtype();
  if (const std::optional<DType> dtype = dtype_of_array(data)) return *dtype;
  if (!is_list(data)) return number_in(data).to_scalar().dtype();
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
  if (n == 0) return default_dtype();
  std::optional<DType> found;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(data, i));
    const DType dtype = dtype_for(item.get());
    found = found ? promote_types(*found, dtype) : dtype;
  }
  return *found;
}

// A tensor among numbers is one number, which Python's int() or float() would make of it.
Scalar number_of(PyObject* item, DType into) {
  if (!is_tensor(item)) return as_float(number_in(item).to_scalar(), into);
  const Tensor& t = tensor_of(item);
  const bool whole = category(t.dtype()) <= Category::integral;
  SCONCE_CHECK_AS(type, category(into) != Category::integral || (whole && t.numel() == 1),
                  "only integer tensors of a single element can be converted to an index");
  SCONCE_CHECK_AS(value, t.numel() == 1, "only one element tensors can be converted to Python scalars");
  return as_float(item_of(t), into);
}

void write(PyObject* data, const Tensor& into) {
  if (into.dim() == 0) {
    into.fill_(number_of(data, into.dtype()));
    return;
  }
  const int64_t expected = into.size(0);
  SCONCE_CHECK_AS(value, is_list(data), "expected sequence of length {} at dim {} (got a {})", expected, 0,
                  class_name(data));
  SCONCE_CHECK_AS(value, PySequence_Fast_GET_SIZE(data) == expected,
                  "expected sequence of length {} at dim {} (got {})", expected, 0,
                  static_cast<int64_t>(PySequence_Fast_GET_SIZE(data)));
  if (into.dim() > 1) {
    for (int64_t i = 0; i < expected; ++i) {
      const Owned item = Owned::share(PySequence_Fast_GET_ITEM(data, i));
      write(item.get(), into.select(0, i));
    }
    return;
  }
  // The last dimension, by the element.
  for (int64_t i = 0; i < expected; ++i) {
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(data, i));
    SCONCE_CHECK_AS(value, !is_list(item.get()), "expected a number, got a {}: the lists have different depths",
                    class_name(item.get()));
    into.select(0, i).fill_(number_of(item.get(), into.dtype()));
  }
}

// ---- buffers ----

// Tensors may die in any thread.
void release_buffer(Py_buffer* view) {
  if (!Py_IsInitialized()) return;
  const Locked locked;
  PyBuffer_Release(view);
  delete view;
}

// "numpy.str_": the class of an array's elements, for messages.
std::string element_class(PyObject* array, const char* format) {
  PyObject* dtype = PyObject_GetAttrString(array, "dtype");
  PyObject* type = dtype ? PyObject_GetAttrString(dtype, "type") : nullptr;
  Py_XDECREF(dtype);
  PyErr_Clear();
  if (type == nullptr || !PyType_Check(type)) {
    Py_XDECREF(type);
    return format ? format : "";
  }
  const Owned owned = Owned::take(type);
  return reinterpret_cast<PyTypeObject*>(type)->tp_name;
}

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  std::string_view f = format ? format : "B";
  if (f.starts_with('@') || f.starts_with('=') || (f.starts_with('<') && std::endian::native == std::endian::little))
    f.remove_prefix(1);
  if (f == "?") return DType::bool_;
  if (f == "e") return DType::float16;
  if (f == "f") return DType::float32;
  if (f == "d") return DType::float64;
  if (f == "Zf") return DType::complex64;
  if (f == "Zd") return DType::complex128;
  const bool with_sign = f == "b" || f == "h" || f == "i" || f == "l" || f == "q";
  const bool without = f == "B" || f == "H" || f == "I" || f == "L" || f == "Q" || f == "c";
  if (!with_sign && !without) return std::nullopt;
  switch (size) {
    case 1:
      return with_sign ? DType::int8 : DType::uint8;
    case 2:
      return with_sign ? DType::int16 : DType::uint16;
    case 4:
      return with_sign ? DType::int32 : DType::uint32;
    default:
      return with_sign ? DType::int64 : DType::uint64;
  }
}

}  // namespace

Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype) {
  if (is_array(data)) {
    const tracing::Paused untraced;
    const Tensor t = tensor_of_buffer(data, false);
    return t.to(dtype.value_or(t.dtype()), false, true);
  }
  const NoGrad unrecorded;
  const tracing::Paused untraced;
  if (is_tensor(data)) return tensor_of(data).to(dtype.value_or(tensor_of(data).dtype()), false, true);
  const Owned lists = with_lists(data);
  data = lists.get();
  const Tensor out = empty_tensor(sizes_of(data), dtype ? *dtype : dtype_for(data));
  if (out.numel() != 0 || out.dim() > 0) write(data, out);
  return out;
}

Tensor index_of_data(PyObject* data) {
  const auto of_index = [](DType t) { return t == DType::bool_ || t == DType::uint8 ? t : DType::int64; };
  if (is_array(data)) {
    const tracing::Paused untraced;
    const Tensor t = tensor_of_buffer(data, false);
    return t.to(of_index(t.dtype()), false, true);
  }
  const Owned lists = with_lists(data);
  const bool empty = is_list(lists.get()) && PySequence_Fast_GET_SIZE(lists.get()) == 0;
  return tensor_of_data(lists.get(), empty ? DType::int64 : of_index(dtype_for(lists.get())));
}

Tensor tensor_of_memory(PyObject* object, DType dtype, int64_t count, int64_t offset) {
  SCONCE_CHECK_AS(value, PyObject_CheckBuffer(object), "object does not implement Python buffer protocol.");
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) != 0) {
      delete view;
      throw PythonError();
    }
  }
  const auto let_go = [view](void*) { release_buffer(view); };
  try {
    const int64_t length = view->len;
    const auto item = static_cast<int64_t>(item_size(dtype));
    SCONCE_CHECK_AS(value, length > 0 && count != 0, "both buffer length ({}) and count ({}) must not be 0", length,
                    count);
    SCONCE_CHECK_AS(value, offset >= 0 && offset < length,
                    "offset ({} bytes) must be non-negative and no greater than buffer length ({} bytes) minus 1",
                    offset, length);
    SCONCE_CHECK_AS(value, count > 0 || (length - offset) % item == 0,
                    "buffer length ({} bytes) after offset ({} bytes) must be a multiple of element size ({})",
                    length - offset, offset, item);
    const int64_t n = count < 0 ? (length - offset) / item : count;
    SCONCE_CHECK_AS(value, n <= (length - offset) / item,
                    "requested buffer length ({} * {} bytes) after offset ({} bytes) must not be greater than actual "
                    "buffer length ({} bytes)",
                    n, item, offset, length);
    if (view->readonly) {
      check(
          PyErr_WarnEx(PyExc_UserWarning,
                       "The given buffer is not writable, and tensors do not know that: writing to the tensor changes "
                       "it all the same. Copy the buffer first, or make it writable.",
                       1));
    }
    return from_blob(static_cast<char*>(view->buf) + offset, {n}, let_go, dtype);
  } catch (...) {
    release_buffer(view);
    throw;
  }
}

Tensor tensor_of_buffer(PyObject* object, bool warn_if_readonly) {
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    delete view;
    throw PythonError();
  }
  const auto let_go = [view](void*) { release_buffer(view); };
  try {
    const std::optional<DType> dtype = dtype_of_format(view->format, view->itemsize);
    SCONCE_CHECK_AS(type, dtype,
                    "can't convert np.ndarray of type {}. The only supported types are: float64, float32, float16, "
                    "complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
                    "uint16, uint8, and bool.",
                    element_class(object, view->format));
    std::vector<int64_t> sizes, strides;
    for (int d = 0; d < view->ndim; ++d) {
      sizes.push_back(view->shape[d]);
      SCONCE_CHECK_AS(value, view->strides[d] >= 0,
                      "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                      "not currently supported. (You can probably work around this by making a copy of your array with "
                      "array.copy().)");
      SCONCE_CHECK_AS(value, view->strides[d] % view->itemsize == 0,
                      "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                      "reallocate the memory.");
      strides.push_back(view->strides[d] / view->itemsize);
    }
    if (view->readonly && warn_if_readonly) {
      check(PyErr_WarnEx(PyExc_UserWarning,
                         "The given NumPy array is not writable, and tensors do not know that: writing to the tensor "
                         "changes it all the same. Copy the array first, or make it writable.",
                         1));
    }
    if (view->len == 0) {
      const Tensor empty = empty_tensor(sizes, *dtype);
      let_go(nullptr);
      return empty;
    }
    return from_blob(view->buf, sizes, strides, let_go, *dtype);
  } catch (...) {
    let_go(nullptr);
    throw;
  }
}

}  // namespace sconce::python
