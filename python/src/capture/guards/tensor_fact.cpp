#include "capture/guards/tensor_fact.h"

#include <cstring>
#include <functional>

#include "sconce/tensor/key_set.h"
#include "small_objects.h"

namespace sconce::python::capture {
namespace {

// Where memory ends, and whether it is a view: guards do not ask. Both format flags of an exact fact follow from sizes.
constexpr uint64_t kIgnored = TensorImpl::whole_block | TensorImpl::is_view;
constexpr uint64_t kFormats =
    TensorImpl::contiguous | TensorImpl::channels_last | TensorImpl::channels_last_3d | TensorImpl::dense;

struct Names {
  PyObject *dynamic, *weak, *fixed;
};
const Names& names() {
  static const Names made{PyUnicode_InternFromString("_dynamo_dynamic_indices"),
                          PyUnicode_InternFromString("_dynamo_weak_dynamic_indices"),
                          PyUnicode_InternFromString("_dynamo_static_indices")};
  return made;
}

uint64_t bits_in(PyObject* dict, PyObject* name) {
  PyObject* set = PyDict_GetItemWithError(dict, name);
  if (set == nullptr || !PyAnySet_Check(set)) return PyErr_Clear(), 0;
  uint64_t bits = 0;
  PyObject* iterator = PyObject_GetIter(set);
  while (PyObject* item = iterator ? PyIter_Next(iterator) : nullptr) {
    const long at = PyLong_AsLong(item);
    if (at >= 0 && at < 64) bits |= uint64_t{1} << at;
    Py_DECREF(item);
  }
  Py_XDECREF(iterator);
  PyErr_Clear();
  return bits;
}

// As PyTorch prints the keys of a tensor on this device with these properties.
std::string key_set_text(uint64_t meta) {
  const KeySet keys(static_cast<uint16_t>(meta));
  std::string backend = keys.has(Key::cuda) ? "CUDA" : keys.has(Key::meta) ? "Meta" : "CPU";
  if (keys.has(Key::privateuse1)) backend = "PrivateUse1";
  std::string text = "DispatchKeySet(";
  if (keys.has(Key::sparse)) text += "Sparse";
  if (keys.has(Key::quantized)) text += "Quantized";
  text += backend + ", BackendSelect";
  if (keys.has(Key::python)) text += ", Python, PythonTLSSnapshot";
  if (meta & TensorImpl::conjugate) text += ", Conjugate";
  if (meta & TensorImpl::negative) text += ", Negative";
  if (!(meta & TensorImpl::inference)) text += ", ADInplaceOrView, Autograd" + backend;
  return text + ")";
}

std::string list_text(size_t n, const std::function<std::string(size_t)>& item) {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + item(i);
  return text + "]";
}

DType dtype_in(uint64_t meta) { return static_cast<DType>(meta >> TensorImpl::kDTypeAt & 0xff); }
int rank_in(uint64_t meta) { return static_cast<int>(meta >> TensorImpl::kRankAt & 0xff); }

std::string repr_text(PyObject* object) {
  PyObject* text = object ? PyObject_Repr(object) : nullptr;
  if (text == nullptr) return PyErr_Clear(), "?";
  const Owned owned = Owned::take(text);
  return std::string(text_of(text));
}

constexpr const char* kAttributes[] = {"dtype", "device", "layout", "requires_grad", "shape"};

// (dtype, device, layout, requires_grad, shape, stride) of a tensor of PyTorch.
Owned foreign_facts(PyObject* tensor) {
  Owned facts = Owned::take(PyTuple_New(6));
  for (Py_ssize_t i = 0; i < 5; ++i)
    PyTuple_SET_ITEM(facts.get(), i, Owned::take(PyObject_GetAttrString(tensor, kAttributes[i])).give());
  Owned layout = Owned::take(PyObject_Str(PyTuple_GET_ITEM(facts.get(), 2)));
  PyObject* strides =
      text_of(layout.get()) == "torch.strided" ? PyObject_CallMethod(tensor, "stride", nullptr) : Py_NewRef(Py_None);
  PyTuple_SET_ITEM(facts.get(), 5, Owned::take(strides).give());
  return facts;
}

int64_t number_at(PyObject* sizes, Py_ssize_t at) {
  const long long v = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, at));
  if (v == -1) PyErr_Clear();
  return v;
}

}  // namespace

bool is_torch_tensor(PyObject* object) {
  static PyObject* type = nullptr;
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;  // its class is a class of Python
  if (type == nullptr) {
    if (is_tensor(object)) return false;
    static PyObject* const name = PyUnicode_InternFromString("torch");
    PyObject* torch = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
    if (torch == nullptr) return PyErr_Clear(), false;
    type = PyObject_GetAttrString(torch, "Tensor");
    if (type == nullptr) return PyErr_Clear(), false;
    if (!PyType_Check(type)) {
      Py_CLEAR(type);
      return false;
    }
  }
  return type != reinterpret_cast<PyObject*>(&tensor_type) &&
         PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type));
}

TensorMarks tensor_marks(PyObject* tensor) {
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (dict == nullptr || *dict == nullptr) return {};
  return {bits_in(*dict, names().dynamic), bits_in(*dict, names().weak), bits_in(*dict, names().fixed)};
}

TensorFact::TensorFact(PyObject* tensor, uint64_t free) : type_(Py_TYPE(tensor)), free_(free) {
  if (type_->tp_flags & Py_TPFLAGS_HEAPTYPE)
    type_weak_ = Owned::take(PyWeakref_NewRef(reinterpret_cast<PyObject*>(type_), nullptr));
  if (!is_tensor(tensor)) {
    if (!is_torch_tensor(tensor)) {
      PyErr_Format(PyExc_TypeError, "a guard of a tensor was asked for an object of class %s", type_->tp_name);
      throw PythonError();
    }
    foreign_ = foreign_facts(tensor);
    marked_ = tensor_marks(tensor).all();
    return;
  }
  const Tensor& t = tensor_of(tensor);
  meta_ = t.impl()->meta;
  rank_ = static_cast<int>(t.dim());
  requires_grad_ = t.requires_grad();
  marked_ = tensor_marks(tensor).all();
  unusual_ = marked_ != 0;
  mask_ = ~kIgnored;
  // A view learns from its base that it requires grad: unusual_holds asks.
  if (t.is_view()) mask_ &= ~TensorImpl::requires_grad, unusual_ = true;
  if (free_) {
    follows_ = t.is_contiguous() || t.is_contiguous(MemoryFormat::channels_last) ||
               t.is_contiguous(MemoryFormat::channels_last_3d);
    if (!follows_) mask_ &= ~kFormats;
  }
  dims_.assign(t.sizes().begin(), t.sizes().end());
  dims_.insert(dims_.end(), t.strides().begin(), t.strides().end());
}

bool TensorFact::free_holds(const int64_t* dims) const {
  for (int i = 0; i < rank_; ++i) {
    const bool is_free = free_ >> i & 1;
    if (is_free ? dims[i] < 2 : dims[i] != dims_[static_cast<size_t>(i)]) return false;
    const auto stride = static_cast<size_t>(rank_ + i);
    if (!follows_ && !is_free && dims[stride] != dims_[stride]) return false;
  }
  return true;
}

bool TensorFact::unusual_holds(PyObject* object) const {
  if (tensor_of(object).requires_grad() != requires_grad_) return false;
  if (!unusual_ && reinterpret_cast<TensorObject*>(object)->dict == nullptr) return true;
  return tensor_marks(object).all() == marked_;
}

bool TensorFact::foreign_holds(PyObject* object) const {
  Owned now;
  try {
    now = foreign_facts(object);
  } catch (const PythonError&) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < (free_ ? 4 : 6); ++i) {
    const int equal =
        PyObject_RichCompareBool(PyTuple_GET_ITEM(now.get(), i), PyTuple_GET_ITEM(foreign_.get(), i), Py_EQ);
    if (equal <= 0) return PyErr_Clear(), false;
  }
  if (free_ == 0) return true;
  PyObject *sizes = PyTuple_GET_ITEM(foreign_.get(), 4), *given = PyTuple_GET_ITEM(now.get(), 4);
  if (PyTuple_GET_SIZE(sizes) != PyTuple_GET_SIZE(given)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) {
    const int64_t size = number_at(given, i);
    if (free_ >> i & 1 ? size < 2 : size != number_at(sizes, i)) return false;
  }
  return true;
}

bool TensorFact::is_dead() const { return type_weak_ && PyWeakref_GET_OBJECT(type_weak_.get()) == Py_None; }

int TensorFact::traverse(visitproc visit, void* arg) const {
  Py_VISIT(type_weak_.get());
  Py_VISIT(foreign_.get());
  return 0;
}

std::string TensorFact::text(const std::string& source) const {
  const char* name = strrchr(type_->tp_name, '.') ? strrchr(type_->tp_name, '.') + 1 : type_->tp_name;
  std::string text = "check_tensor(" + source + ", " + name + ", ";
  if (foreign_) {
    const auto part = [&](Py_ssize_t i) { return repr_text(PyTuple_GET_ITEM(foreign_.get(), i)); };
    return text + part(0) + ", device=" + part(1) + ", requires_grad=" + part(3) + ", size=" + part(4) +
           ", stride=" + part(5) + ")";
  }
  const auto index = static_cast<int8_t>(meta_ >> TensorImpl::kIndexAt & 0xff);
  text += key_set_text(meta_) + ", " + repr_text(dtype_object(dtype_in(meta_)));
  text += ", device=" + (KeySet(static_cast<uint16_t>(meta_)).has(Key::cpu) ? "None" : std::to_string(index));
  text += std::string(", requires_grad=") + (requires_grad_ ? "True" : "False");
  const auto rank = static_cast<size_t>(rank_);
  text += ", size=" + list_text(rank, [&](size_t i) { return free_ >> i & 1 ? "None" : std::to_string(dims_[i]); });
  // With strides that follow, those left of a free size are free with it.
  text += ", stride=" + list_text(rank, [&](size_t i) {
            bool is_free = !follows_ && (free_ >> i & 1);
            if (follows_)
              for (size_t j = 0; j < rank; ++j) is_free |= (free_ >> j & 1) && dims_[rank + j] < dims_[rank + i];
            return is_free ? "None" : std::to_string(dims_[rank + i]);
          });
  return text + ")";
}

std::string TensorFact::failure(const std::string& source, PyObject* object) const {
  const std::string who = "tensor '" + source + "' ";
  if (Py_TYPE(object) != type_)
    return "expected type of '" + source + "' to be a tensor type, " + type_->tp_name + ", but found " +
           Py_TYPE(object)->tp_name;
  if (foreign_) {
    Owned now;
    try {
      now = foreign_facts(object);
    } catch (const PythonError&) {
      PyErr_Clear();
      return who + "cannot be asked for its properties";
    }
    constexpr const char* kNames[] = {"dtype", "device", "layout", "requires_grad", "size", "stride"};
    for (Py_ssize_t i = 0; i < 6; ++i) {
      const std::string was = repr_text(PyTuple_GET_ITEM(foreign_.get(), i)),
                        is = repr_text(PyTuple_GET_ITEM(now.get(), i));
      if (was != is) return who + kNames[i] + " mismatch. expected " + was + ", actual " + is;
    }
    return who + "mismatch";
  }
  const Tensor& t = tensor_of(object);
  const auto expected = [](auto was, auto is) {
    return ". expected " + std::string(was) + ", actual " + std::string(is);
  };
  const std::string keys = key_set_text(meta_), other_keys = key_set_text(t.impl()->meta);
  if (keys != other_keys) return who + "dispatch key set mismatch" + expected(keys, other_keys);
  if (t.dtype() != dtype_in(meta_))
    return who + "dtype mismatch" + expected(dtype_legacy_name(dtype_in(meta_)), dtype_legacy_name(t.dtype()));
  if (t.requires_grad() != requires_grad_)
    return who + "requires_grad mismatch. expected requires_grad=" + (requires_grad_ ? "1" : "0");
  if (t.dim() != rank_in(meta_))
    return who + "rank mismatch" + expected(std::to_string(rank_), std::to_string(t.dim()));
  const auto rank = static_cast<size_t>(rank_);
  for (size_t i = 0; i < rank; ++i) {
    const std::string at = " mismatch at index " + std::to_string(i);
    const bool is_free = free_ >> i & 1;
    if (is_free && t.sizes()[i] < 2) return who + "size" + at + expected("2 or more", std::to_string(t.sizes()[i]));
    if (!is_free && t.sizes()[i] != dims_[i])
      return who + "size" + at + expected(std::to_string(dims_[i]), std::to_string(t.sizes()[i]));
  }
  for (size_t i = 0; i < rank; ++i) {
    if (!follows_ && !(free_ >> i & 1) && t.strides()[i] != dims_[rank + i])
      return who + "stride mismatch at index " + std::to_string(i) +
             expected(std::to_string(dims_[rank + i]), std::to_string(t.strides()[i]));
  }
  if (tensor_marks(object).all() != marked_) return who + "dynamic dimensions were marked otherwise (mark_dynamic)";
  if (((t.impl()->meta ^ meta_) & mask_ & kFormats) != 0) return who + "memory format mismatch";
  return who + "mismatch of properties";
}

}  // namespace sconce::python::capture
