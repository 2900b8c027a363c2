// Indexing: t[i], t[1:, None, ..., mask] and assignment, as views first and one gather or scatter for index tensors.
#include <array>
#include <optional>

#include "creation.h"
#include "interop/torch_function.h"
#include "programs/tracing.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

// What is left of an index after its views: the view, and one tensor (or nothing) a dimension.
struct Indexed {
  Tensor view;
  std::vector<Tensor> indices;  // undefined for a dimension that stays; empty: the view is all
};

bool is_mask_number(PyObject* o) { return PyBool_Check(o); }
bool is_mask(const Tensor& t) { return t.dtype() == DType::bool_ || t.dtype() == DType::uint8; }
bool is_int(PyObject* o) { return PyLong_Check(o) || (!is_tensor(o) && PyIndex_Check(o) && !PySequence_Check(o)); }
int64_t int_of(PyObject* o) {
  const Py_ssize_t v = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

// t.select(dim, index), with PyTorch's words for indexing: `named` is the dimension of the tensor that was indexed.
Tensor selected(const Tensor& t, int64_t dim, int64_t index, int64_t named) {
  const int64_t size = t.size(dim);
  if (index < -size || index >= size) [[unlikely]]
    fail_as(ErrorKind::index, "index {} is out of bounds for dimension {} with size {}", index, named, size);
  return t.select(dim, index);
}

TorchFunction overriding_in(PyObject* self, PyObject* index) {
  const std::array<PyObject*, 2> args = {self, index};
  return TorchFunction({args, nullptr, nullptr});
}

class Indexer {
 public:
  explicit Indexer(const Tensor& t) { result_.view = t; }

  Indexed run(PyObject* given) {
    const Owned parts = is_tuple_of_parts(given) ? Owned::take(PySequence_Tuple(given)) : Owned::share(given);
    PyObject* index = parts.get();
    if (PyTuple_Check(index)) {
      count(index);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); ++i) add(PyTuple_GET_ITEM(index, i));
    } else {
      add(index);
    }
    return std::move(result_);
  }

 private:
  // A short list with another part than numbers in it means the tuple of its items, as in numpy of old.
  static bool is_tuple_of_parts(PyObject* index) {
    if (!PyList_Check(index) || PyList_GET_SIZE(index) >= 32) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index); ++i) {
      PyObject* part = PyList_GET_ITEM(index, i);
      if (part == Py_None || part == Py_Ellipsis || PySlice_Check(part) || is_tensor(part) || PySequence_Check(part))
        return true;
    }
    return false;
  }

  // How many dimensions the parts of a tuple stand for, so that an Ellipsis knows the rest.
  void count(PyObject* tuple) {
    int64_t used = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* part = PyTuple_GET_ITEM(tuple, i);
      if (part == Py_None || part == Py_Ellipsis || is_mask_number(part)) continue;
      used += is_tensor(part) && is_mask(tensor_of(part)) ? tensor_of(part).dim() : 1;
    }
    SCONCE_CHECK_AS(index, used <= result_.view.dim(), "too many indices for tensor of dimension {}",
                    result_.view.dim());
    rest_ = result_.view.dim() - used;
  }

  void add(PyObject* part) {
    if (part == Py_None) {
      result_.view = result_.view.unsqueeze(dim_++);
      --gone_;
    } else if (part == Py_Ellipsis) {
      dim_ += rest_.value_or(result_.view.dim());
    } else if (PySlice_Check(part)) {
      slice(part);
    } else if (is_mask_number(part)) {
      result_.view = result_.view.unsqueeze(dim_);
      --gone_;
      gather(scalar_tensor_of(Scalar(part == Py_True), DType::bool_).unsqueeze(0));
    } else if (is_int(part)) {
      check_has_dimension();
      select(int_of(part));
    } else if (is_tensor(part)) {
      tensor(tensor_of(part));
    } else if (PySequence_Check(part)) {
      const Tensor t = index_of_data(part);
      tensor(is_tracing() ? t.to(t.device(), t.dtype(), false, false, std::nullopt) : t);
    } else {
      fail_as(
          ErrorKind::index,
          "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
          class_name(part));
    }
  }

  void check_has_dimension() const {
    SCONCE_CHECK_AS(index, result_.view.dim() > 0,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                    "convert a 0-dim tensor to a number");
    SCONCE_CHECK_AS(index, dim_ < result_.view.dim(), "too many indices for tensor of dimension {}",
                    result_.view.dim());
  }

  void slice(PyObject* part) {
    check_has_dimension();
    Py_ssize_t start = 0, stop = 0, step = 1;
    if (is_tracing()) {
      unpack_traced(part, start, stop, step);
    } else {
      check(PySlice_Unpack(part, &start, &stop, &step));
    }
    SCONCE_CHECK_AS(value, step > 0, "step must be greater than zero");
    result_.view = result_.view.slice(dim_, start, stop, step);
    ++dim_;
  }

  // Bounds that are tensors are values of the graph.
  static void unpack_traced(PyObject* part, Py_ssize_t& start, Py_ssize_t& stop, Py_ssize_t& step) {
    const auto* slice = reinterpret_cast<PySliceObject*>(part);
    const auto bound = [](PyObject* o, const char* name) {
      if (!is_tensor(o)) return Owned::share(o);
      tracing::Tracer::current()->stash(name, tensor_of(o), int_type());
      const tracing::Paused unrecorded;
      return Owned::take(PyLong_FromLongLong(item_of(tensor_of(o)).to_int()));
    };
    const Owned a = bound(slice->start, "start"), b = bound(slice->stop, "end"), c = bound(slice->step, "step");
    const Owned plain = Owned::take(PySlice_New(a.get(), b.get(), c.get()));
    check(PySlice_Unpack(plain.get(), &start, &stop, &step));
  }

  void tensor(const Tensor& t) {
    // A number in a tensor selects, like the number: the result is a view.
    if (t.dim() == 0 && !is_mask(t) && is_integral(t.dtype())) {
      check_has_dimension();
      if (is_tracing()) tracing::Tracer::current()->stash("index", t, int_type());
      select(item_of(t).to_int());
      return;
    }
    if (t.dim() == 0 && is_mask(t)) {
      result_.view = result_.view.unsqueeze(dim_);
      gather(t.unsqueeze(0));
    } else {
      gather(t);
    }
  }
  void gather(Tensor t) {
    result_.indices.resize(static_cast<size_t>(dim_ - more_));
    const int64_t dims = is_mask(t) ? std::max<int64_t>(t.dim(), 1) : 1;
    dim_ += dims;
    more_ += dims - 1;
    result_.indices.emplace_back(std::move(t));
  }

  void select(int64_t index) {
    result_.view = selected(result_.view, dim_, index, dim_ + gone_);
    ++gone_;
  }

  Indexed result_;
  int64_t dim_ = 0;
  int64_t more_ = 0;  // dimensions of masks before dim_ beyond the first of each: a mask is one index
  int64_t gone_ = 0;  // dimensions of the tensor that the view lacks, less those that it has in addition
  std::optional<int64_t> rest_;
};

PyObject* get(PyObject* self, PyObject* index) {
  return guarded([&] {
    if (PyLong_CheckExact(index) && is_plain_tensor(self) && tensor_of(self).dim() > 0 && !FunctionModes::any())
        [[likely]]
      return wrap(selected(tensor_of(self), 0, int_of(index), 0)).give();
    if (const TorchFunction overriding = overriding_in(self, index); overriding) {
      const Owned method =
          Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), "__getitem__"));
      const std::array<PyObject*, 2> args = {self, index};
      return overriding.call(method.get(), {args, nullptr, nullptr}).give();
    }
    const Indexed found = Indexer(tensor_of(self)).run(index);
    if (!found.indices.empty()) return wrap(sconce::index(found.view, found.indices)).give();
    // t[...] is a new tensor over the same memory.
    return wrap(found.view.is_same(tensor_of(self)) ? sconce::alias(found.view) : found.view).give();
  });
}

// A number becomes a tensor of the dtype that it is written to.
Tensor source_for(PyObject* value, const Tensor& target) {
  if (is_tensor(value)) return tensor_of(value);
  Value number;
  SCONCE_CHECK_AS(type, convert(value, number_type(), std::nullopt, number), "can't assign a {} to a {}",
                  class_name(value), dtype_name(target.dtype()));
  if (!tracing::HookScope::is_active()) return scalar_tensor_of(number.to_scalar(), target.dtype(), target.device());
  // A graph takes the number as a constant, which a tensor on the target's device (meta) would not hold.
  Tensor constant = scalar_tensor_of(number.to_scalar(), target.dtype());
  constant.set_wrapped_number();
  return constant;
}

int set(PyObject* self, PyObject* index, PyObject* value) {
  return guarded_int([&] {
    SCONCE_CHECK_AS(type, value != nullptr, "Tensor does not support deleting items");
    if (index == Py_False) return 0;  // no element, whatever the sizes of the value are
    const Tensor& t = tensor_of(self);
    const Indexed found = Indexer(t).run(index);
    Tensor source = source_for(value, t);
    if (!found.indices.empty()) {
      while (source.dim() > 0 && source.size(0) == 1) source = source.squeeze(0);
      found.view.index_put_(found.indices, source.dtype() == t.dtype() ? source : source.to(t.dtype()));
    } else {
      // Leading dimensions of one element too many are dropped, as in PyTorch.
      while (source.dim() > found.view.dim() && source.size(0) == 1) source = source.squeeze(0);
      if (!is_tensor(value) && is_tracing()) {
        found.view.fill_(source);
      } else {
        found.view.copy_(source);
      }
    }
    return 0;
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        SCONCE_CHECK_AS(type, tensor_of(self).dim() > 0, "len() of a 0-d tensor");
        warn_when_tracing(
            "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
            "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give incorrect "
            "results.");
        return tensor_of(self).size(0);
      },
      Py_ssize_t{-1});
}

// x in t: is any element equal?
int contains(PyObject* self, PyObject* value) {
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    SCONCE_CHECK(is_tensor(value) || (PyNumber_Check(value) && !PyUnicode_Check(value)),
                 "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '{}'>.",
                 class_name(value));
    Value number;
    if (is_tensor(value)) return item_of((t.eq(tensor_of(value))).any()).to_bool() ? 1 : 0;
    if (!convert(value, number_type(), std::nullopt, number)) return 0;
    return item_of(t.eq(number.to_scalar()).any()).to_bool() ? 1 : 0;
  });
}

PySequenceMethods make_sequence() {
  PySequenceMethods methods = {};
  methods.sq_contains = contains;
  return methods;
}

}  // namespace

PySequenceMethods tensor_sequence = make_sequence();
PyMappingMethods tensor_mapping = {length, get, set};

}  // namespace sconce::python
