// Tensor facts: what guards remember of a tensor: class, dispatch keys, dtype, device, requires_grad, sizes and strides.
// Dimensions whose size is free must have at least two elements (0 and 1 behave otherwise in broadcasting); strides of a
// contiguous tensor with free dimensions follow from its sizes, so that only the format is compared.
#pragma once

#include <string>
#include <vector>

#include "object.h"
#include "tensor_object.h"

namespace sconce::python::capture {

class TensorFact {
 public:
  // `free`: bits of dimensions. A tensor of PyTorch is compared by its attributes. Throws PythonError for another object.
  TensorFact(PyObject* tensor, uint64_t free);

  bool holds(PyObject* object) const {
    if (Py_TYPE(object) != type_) return false;
    if (foreign_) return foreign_holds(object);
    const TensorImpl& t = *reinterpret_cast<TensorObject*>(object)->impl;
    if (((t.meta ^ meta_) & mask_) != 0) return false;
    const int64_t* dims = rank_ <= TensorImpl::kInlineRank ? t.dims : t.extra->dims.data();
    if (free_ == 0) {
      for (size_t i = 0; i < 2 * static_cast<size_t>(rank_); ++i)
        if (dims[i] != dims_[i]) return false;
    } else if (!free_holds(dims)) {
      return false;
    }
    if (unusual_ || reinterpret_cast<TensorObject*>(object)->dict || (t.meta & TensorImpl::is_view))
      return unusual_holds(object);
    return true;
  }
  // "check_tensor(L['x'], Tensor, DispatchKeySet(...), torch.float32, device=None, requires_grad=False, size=[2, None],
  // stride=[None, 1])"
  std::string text(const std::string& source) const;
  // "tensor 'L['x']' size mismatch at index 0. expected 2, actual 3"
  std::string failure(const std::string& source, PyObject* object) const;

  int traverse(visitproc visit, void* arg) const;
  bool is_dead() const;
  bool is_foreign() const { return static_cast<bool>(foreign_); }

 private:
  bool free_holds(const int64_t* dims) const;
  bool unusual_holds(PyObject* object) const;
  bool foreign_holds(PyObject* object) const;

  PyTypeObject* type_ = nullptr;
  Owned type_weak_;  // of a class made by a program
  uint64_t meta_ = 0, mask_ = 0, free_ = 0;
  int rank_ = 0;
  bool requires_grad_ = false;
  bool follows_ = false;       // strides follow from sizes
  bool unusual_ = false;       // dimensions were marked (mark_dynamic)
  uint64_t marked_ = 0;        // as _marks() says
  std::vector<int64_t> dims_;  // sizes, then strides
  Owned foreign_;              // (dtype, device, layout, requires_grad, shape, stride)
};

// What mark_dynamic and its kin have written on the tensor: bits of dynamic dimensions in the low half, of those that may
// be dynamic above, of static ones in the top quarter.
struct TensorMarks {
  uint64_t dynamic = 0, weak = 0, fixed = 0;
  uint64_t all() const { return dynamic * 31 + weak * 37 + fixed * 41; }
};
TensorMarks tensor_marks(PyObject* tensor);

// Is it a tensor of PyTorch (where PyTorch is loaded)?
bool is_torch_tensor(PyObject* object);

}  // namespace sconce::python::capture
