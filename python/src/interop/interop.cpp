// The buffer protocol: numpy, memoryview and struct see the elements of a tensor without a copy.
#include <memory>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/math_bits.h"
#include "tensor_object.h"

namespace sconce::python {
namespace {

const char* format_of(DType t) {
  switch (t) {
    case DType::bool_:
      return "?";
    case DType::uint8:
      return "B";
    case DType::int8:
      return "b";
    case DType::int16:
      return "h";
    case DType::uint16:
      return "H";
    case DType::int32:
      return "i";
    case DType::uint32:
      return "I";
    case DType::int64:  // numpy.int64 is the C type long where that has 64 bits
      return sizeof(long) == 8 ? "l" : "q";
    case DType::uint64:
      return sizeof(long) == 8 ? "L" : "Q";
    case DType::float16:
      return "e";
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
    case DType::complex64:
      return "Zf";
    case DType::complex128:
      return "Zd";
    default:
      return nullptr;
  }
}

struct Geometry {
  Tensor tensor;  // keeps the memory, even when the tensor gets another one
  std::vector<Py_ssize_t> sizes, strides;
};

int get(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    const char* format = format_of(t.dtype());
    SCONCE_CHECK_AS(type, format, "Got unsupported ScalarType {}", dtype_legacy_name(t.dtype()));
    SCONCE_CHECK_AS(type, t.layout() == Layout::strided,
                    "can't convert a tensor of another layout than strided; use "
                    "Tensor.to_dense() first");
    SCONCE_CHECK_AS(type, t.device().type == DeviceType::cpu,
                    "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                    "first.",
                    to_string(t.device()));
    SCONCE_CHECK(!has_conj_bit(t),
                 "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.");
    SCONCE_CHECK(!has_neg_bit(t),
                 "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !t.is_contiguous()) {
      PyErr_SetString(PyExc_BufferError, "the elements do not lie one after the other, and strides were not asked for");
      throw PythonError();
    }
    auto geometry = std::make_unique<Geometry>();
    geometry->tensor = t;
    for (int64_t d = 0; d < t.dim(); ++d) {
      geometry->sizes.push_back(t.sizes()[static_cast<size_t>(d)]);
      geometry->strides.push_back(t.strides()[static_cast<size_t>(d)] * static_cast<Py_ssize_t>(t.item_size()));
    }
    *view = {};
    view->buf = t.data();
    view->obj = Py_NewRef(self);
    view->len = t.numel() * static_cast<Py_ssize_t>(t.item_size());
    view->itemsize = static_cast<Py_ssize_t>(t.item_size());
    view->ndim = static_cast<int>(t.dim());
    view->format = const_cast<char*>(format);
    view->shape = geometry->sizes.data();
    view->strides = geometry->strides.data();
    view->internal = geometry.release();
    return 0;
  });
}
void release(PyObject*, Py_buffer* view) { delete static_cast<Geometry*>(view->internal); }

}  // namespace

PyBufferProcs tensor_buffer = {get, release};

}  // namespace sconce::python
