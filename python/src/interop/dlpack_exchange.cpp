#include "interop/dlpack_exchange.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "sconce/api/from_blob.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/base/small_vector.h"
#include "sconce/generated/copy.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/math_bits.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

constexpr struct {
  DType dtype;
  dlpack::Code code;
  uint8_t bits;
} kDTypes[] = {
    {DType::bool_, dlpack::Code::boolean, 8},
    {DType::uint8, dlpack::Code::unsigned_integer, 8},
    {DType::uint16, dlpack::Code::unsigned_integer, 16},
    {DType::uint32, dlpack::Code::unsigned_integer, 32},
    {DType::uint64, dlpack::Code::unsigned_integer, 64},
    {DType::int8, dlpack::Code::integer, 8},
    {DType::int16, dlpack::Code::integer, 16},
    {DType::int32, dlpack::Code::integer, 32},
    {DType::int64, dlpack::Code::integer, 64},
    {DType::float16, dlpack::Code::floating, 16},
    {DType::float32, dlpack::Code::floating, 32},
    {DType::float64, dlpack::Code::floating, 64},
    {DType::bfloat16, dlpack::Code::bfloat, 16},
    {DType::complex64, dlpack::Code::complex, 64},
    {DType::complex128, dlpack::Code::complex, 128},
    {DType::float8_e4m3fn, dlpack::Code::float8_e4m3fn, 8},
    {DType::float8_e5m2, dlpack::Code::float8_e5m2, 8},
};

// Before DLPack 1.0 there was no version and no flag.
struct OldManagedTensor {
  dlpack::Tensor tensor;
  void* context;
  void (*deleter)(OldManagedTensor* self);
};

constexpr const char *kNew = "dltensor_versioned", *kNewUsed = "used_dltensor_versioned";
constexpr const char *kOld = "dltensor", *kOldUsed = "used_dltensor";

[[noreturn]] void refuse(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  throw PythonError();
}

// What another library holds of ours.
struct Exported {
  dlpack::ManagedTensor managed;
  OldManagedTensor old;
  Tensor tensor;
  SmallVector<int64_t, 16> dims;  // sizes, strides
};

// How DLPack names the device of a tensor.
dlpack::Device device_of(const Tensor& t) {
  const Device device = t.device();
  if (device.type == sconce::DeviceType::cpu) return {dlpack::DeviceType::cpu, 0};
  if (device.type == sconce::DeviceType::cuda) return {dlpack::DeviceType::cuda, device.index};
  refuse("only tensors on the CPU and on CUDA devices can be exported");
}
// Memory of the host that a GPU can read, too, is the CPU's.
Device device_of(const dlpack::Device& device) {
  if (device.type == dlpack::DeviceType::cpu || device.type == dlpack::DeviceType::cuda_host) return Device();
  SCONCE_CHECK_AS(type, device.type == dlpack::DeviceType::cuda,
                  "from_dlpack: only memory of the CPU and of CUDA devices can be used, this is on DLPack's device {}",
                  static_cast<int>(device.type));
  return Device(sconce::DeviceType::cuda, static_cast<int8_t>(device.index));
}

void check_exportable(const Tensor& t) {
  if (t.requires_grad()) refuse("Can't export tensors that require gradient, use tensor.detach()");
  if (t.layout() != Layout::strided) refuse("Can't export tensors with layout other than torch.strided");
  if (has_conj_bit(t)) refuse("Can't export tensors with the conjugate bit set");
  if (has_neg_bit(t)) refuse("Can't export tensors with the negative bit set");
  device_of(t);
  if (is_quantized(t.dtype())) refuse("quantised tensors cannot be exported");
}

Exported* make_exported(const Tensor& t) {
  check_exportable(t);
  auto made = std::make_unique<Exported>();
  for (const int64_t n : t.sizes()) made->dims.push_back(n);
  for (const int64_t n : t.strides()) made->dims.push_back(n);
  const dlpack::Tensor view = {t.data(),
                               device_of(t),
                               static_cast<int32_t>(t.dim()),
                               data_type_of(t.dtype()),
                               made->dims.data(),
                               made->dims.data() + t.dim(),
                               0};
  made->managed = {dlpack::kVersion, made.get(),
                   [](dlpack::ManagedTensor* self) { delete static_cast<Exported*>(self->context); }, 0, view};
  made->old = {view, made.get(), [](OldManagedTensor* self) { delete static_cast<Exported*>(self->context); }};
  made->tensor = t;
  return made.release();
}

// A tensor over memory; `deleter` runs when it is gone, or when this throws.
Tensor tensor_over(const dlpack::Tensor& t, bool read_only, std::shared_ptr<void> owner) {
  const Device device = device_of(t.device);
  const DType dtype = dtype_of(t.dtype);
  const auto rank = static_cast<size_t>(t.rank);
  const IntList sizes(t.sizes, rank);
  bool is_empty = false;
  for (const int64_t n : sizes) is_empty |= n == 0;
  if (t.strides != nullptr) {
    for (const int64_t n : IntList(t.strides, rank)) {
      SCONCE_CHECK_AS(value, n >= 0,
                      "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                      "not currently supported. (You can probably work around this by making a copy of your array "
                      "with array.copy().)");
    }
  }
  if (read_only) {
    check(
        PyErr_WarnEx(PyExc_UserWarning,
                     "The given array is not writable, and tensors do not know that: writing to the tensor changes it "
                     "all the same. Copy the array first, or make it writable.",
                     1));
  }
  if (is_empty)
    return t.strides ? empty_strided_tensor(sizes, IntList(t.strides, rank), dtype, device)
                     : empty_tensor(sizes, dtype, device);
  void* data = static_cast<char*>(t.data) + t.byte_offset;
  const BlobDeleter keep_alive = [owner](void*) {};
  if (t.strides != nullptr) return from_blob(data, sizes, IntList(t.strides, rank), keep_alive, dtype, device);
  std::vector<int64_t> dense(rank, 1);
  for (size_t i = rank; i-- > 1;) dense[i - 1] = dense[i] * std::max<int64_t>(sizes[i], 1);
  return from_blob(data, sizes, IntList(dense), keep_alive, dtype, device);
}

// Deleters of other libraries may need Python's lock, and tensors die on any thread.
template <class Managed>
std::shared_ptr<void> owner_of(Managed* managed) {
  return {managed, [](void* p) {
            auto* m = static_cast<Managed*>(p);
            if (m->deleter == nullptr || !Py_IsInitialized()) return;
            const Locked locked;
            m->deleter(m);
          }};
}

Tensor import_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kNew)) {
    auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kNew));
    SCONCE_CHECK_AS(type, managed->version.major <= dlpack::kVersion.major,
                    "from_dlpack: version {}.{} of DLPack is not supported", managed->version.major,
                    managed->version.minor);
    check(PyCapsule_SetName(capsule, kNewUsed));
    return import_tensor(managed);
  }
  SCONCE_CHECK(PyCapsule_IsValid(capsule, kOld),
               "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
               "might have already constructed a tensor from it once.");
  auto* managed = static_cast<OldManagedTensor*>(PyCapsule_GetPointer(capsule, kOld));
  check(PyCapsule_SetName(capsule, kOldUsed));
  const std::shared_ptr<void> owner = owner_of(managed);
  return tensor_over(managed->tensor, false, owner);
}

// The table on the object's type; null when there is none.
const dlpack::ExchangeTable* table_of(PyObject* object) {
  static PyObject* name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  PyObject* capsule = _PyType_Lookup(Py_TYPE(object), name);
  if (capsule == nullptr || !PyCapsule_IsValid(capsule, "dlpack_exchange_api")) return nullptr;
  auto* table = static_cast<const dlpack::ExchangeTable*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  return table->version.major == dlpack::kVersion.major ? table : nullptr;
}
bool has_plain_elements(PyObject* object) {
  for (const char* asked : {"is_conj", "is_neg"}) {
    if (!PyObject_HasAttrString(object, asked)) continue;
    const Owned answer = Owned::take(PyObject_CallMethod(object, asked, nullptr));
    if (answer.get() != Py_False) return false;
  }
  const Owned grad = PyObject_HasAttrString(object, "requires_grad")
                         ? Owned::take(PyObject_GetAttrString(object, "requires_grad"))
                         : Owned::share(Py_False);
  return grad.get() == Py_False;
}

// from_dlpack(ext_tensor, *, device=None, copy=None)
PyObject* from_dlpack(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* keywords[] = {"ext_tensor", "device", "copy", nullptr};
    PyObject *from = nullptr, *device = Py_None, *copy = Py_None;
    std::optional<Device> wanted;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", const_cast<char**>(keywords), &from, &device,
                                     &copy))
      throw PythonError();
    if (device != Py_None) {
      Value place;
      SCONCE_CHECK_AS(type, convert(device, device_type(), std::nullopt, place),
                      "from_dlpack(): argument 'device' must be torch.device, not {}", class_name(device));
      SCONCE_CHECK_AS(not_implemented,
                      place.to_device().type == DeviceType::cpu || place.to_device().type == sconce::DeviceType::cuda,
                      "from_dlpack: device {} is not supported", to_string(place.to_device()));
      wanted = place.to_device();
    }
    Tensor made;
    if (PyCapsule_CheckExact(from) || !PyObject_HasAttrString(from, "__dlpack__")) {
      made = import_capsule(from);
    } else if (const dlpack::ExchangeTable* table = table_of(from); table && has_plain_elements(from)) {
      dlpack::ManagedTensor* managed = nullptr;
      if (table->from_object(from, &managed) != 0) throw PythonError();
      made = import_tensor(managed);
    } else {
      const Owned method = Owned::take(PyObject_GetAttrString(from, "__dlpack__"));
      const Owned options = Owned::take(Py_BuildValue("{s(ii)}", "max_version", 1, 0));
      PyObject* capsule = PyObject_Call(method.get(), Owned::take(PyTuple_New(0)).get(), options.get());
      if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) {  // from before versions
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method.get());
      }
      made = import_capsule(Owned::take(capsule).get());
    }
    if (copy == Py_True) made = made.clone();
    if (wanted && made.device() != resolve_device(*wanted)) made = to(made, resolve_device(*wanted), made.dtype());
    return wrap(std::move(made)).give();
  });
}

// ---- the table that Sconce offers ----

// Python's exception for the C++ one; -1.
template <class F>
int answered(F&& f) noexcept {
  return guarded_int([&] {
    f();
    return 0;
  });
}

int table_allocate(dlpack::Tensor* like, dlpack::ManagedTensor** out, void* error_context,
                   void (*set_error)(void*, const char*, const char*)) {
  try {
    SCONCE_CHECK(like->device.type == dlpack::DeviceType::cpu, "only memory of the CPU can be allocated");
    const auto rank = static_cast<size_t>(like->rank);
    *out = &make_exported(empty_tensor(IntList(like->sizes, rank), dtype_of(like->dtype)))->managed;
    return 0;
  } catch (const std::exception& error) {
    set_error(error_context, "RuntimeError", error.what());
    return -1;
  }
}
const Tensor& exchanged(void* object) {
  SCONCE_CHECK_AS(type, is_tensor(static_cast<PyObject*>(object)), "a tensor was expected, got {}",
                  class_name(static_cast<PyObject*>(object)));
  return tensor_of(static_cast<PyObject*>(object));
}
int table_from_object(void* object, dlpack::ManagedTensor** out) {
  return answered([&] { *out = export_tensor(exchanged(object)); });
}
int table_to_object(dlpack::ManagedTensor* managed, void** out) {
  return answered([&] { *out = wrap(import_tensor(managed)).give(); });
}
int table_view(void* object, dlpack::Tensor* out) {
  return answered([&] {
    const Tensor& t = exchanged(object);
    check_exportable(t);
    *out = {t.data(),
            device_of(t),
            static_cast<int32_t>(t.dim()),
            data_type_of(t.dtype()),
            const_cast<int64_t*>(t.sizes().data()),
            const_cast<int64_t*>(t.strides().data()),
            0};
  });
}
int table_stream(dlpack::DeviceType, int32_t, void** out) {
  *out = nullptr;
  return 0;
}
const dlpack::ExchangeTable own_table = {dlpack::kVersion, nullptr,    table_allocate, table_from_object,
                                         table_to_object,  table_view, table_stream};

PyMethodDef functions[] = {
    {"from_dlpack", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(from_dlpack)),
     METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(ext_tensor, *, device=None, copy=None): a tensor over the memory of another library's."},
    {}};

void destroy_new(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kNew)) return;  // somebody has it
  auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kNew));
  managed->deleter(managed);
}
void destroy_old(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kOld)) return;
  auto* managed = static_cast<OldManagedTensor*>(PyCapsule_GetPointer(capsule, kOld));
  managed->deleter(managed);
}

}  // namespace

DType dtype_of(const dlpack::DataType& type) {
  for (const auto& known : kDTypes) {
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return known.dtype;
  }
  fail_as(ErrorKind::type, "DLPack's dtype {} of {} bits and {} lanes is not supported", static_cast<int>(type.code),
          static_cast<int>(type.bits), static_cast<int>(type.lanes));
}
dlpack::DataType data_type_of(DType dtype) {
  for (const auto& known : kDTypes) {
    if (known.dtype == dtype) return {known.code, known.bits, 1};
  }
  fail_as(ErrorKind::type, "{} is not supported by dlpack", dtype_name(dtype));
}

dlpack::ManagedTensor* export_tensor(const Tensor& tensor) { return &make_exported(tensor)->managed; }
Tensor import_tensor(dlpack::ManagedTensor* managed) {
  const std::shared_ptr<void> owner = owner_of(managed);
  return tensor_over(managed->tensor, managed->flags & dlpack::kReadOnly, owner);
}

PyObject* dlpack_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* keywords[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(keywords), &stream, &version,
                                     &device, &copy))
      throw PythonError();
    if (stream != Py_None) {
      SCONCE_CHECK_AS(type, PyLong_Check(stream), "stream must be ``int`` or ``none``");
      if (PyLong_AsLong(stream) != -1 && tensor_of(self).device().type == DeviceType::cpu) {
        PyErr_SetString(PyExc_AssertionError, "stream should be None on cpu.");
        throw PythonError();
      }
    }
    // Who takes the tensor may use it on any stream of its own: what was asked for so far is waited for.
    if (const Device here = tensor_of(self).device();
        here.type == sconce::DeviceType::cuda && !(stream != Py_None && PyLong_AsLong(stream) == -1))
      backend_of(here).synchronize(here);
    if (device != Py_None) {
      const Owned type = Owned::take(PySequence_GetItem(device, 0));
      if (PyLong_AsLong(type.get()) != static_cast<long>(device_of(tensor_of(self)).type))
        refuse("tensors are exported on the device that they are on");
    }
    Tensor t = tensor_of(self);
    check_exportable(t);
    if (copy == Py_True) t = t.clone();
    long major = 0;
    if (version != Py_None) {
      const Owned first = Owned::take(PySequence_GetItem(version, 0));
      major = PyLong_AsLong(first.get());
      if (major == -1 && PyErr_Occurred()) throw PythonError();
    }
    Exported* made = make_exported(t);
    if (copy == Py_True) made->managed.flags |= dlpack::kIsCopied;
    PyObject* capsule =
        major >= 1 ? PyCapsule_New(&made->managed, kNew, destroy_new) : PyCapsule_New(&made->old, kOld, destroy_old);
    if (capsule == nullptr) delete made;
    return Owned::take(capsule).give();
  });
}
PyObject* dlpack_device_method(PyObject* self, PyObject*) {
  return guarded([&] {
    const dlpack::Device device = device_of(tensor_of(self));
    return Py_BuildValue("ii", static_cast<int>(device.type), static_cast<int>(device.index));
  });
}

void add_dlpack(PyObject* module) {
  check(PyModule_AddFunctions(module, functions));
  const Owned capsule =
      Owned::take(PyCapsule_New(const_cast<dlpack::ExchangeTable*>(&own_table), "dlpack_exchange_api", nullptr));
  check(PyDict_SetItemString(tensor_type.tp_dict, "__dlpack_c_exchange_api__", capsule.get()));
  PyType_Modified(&tensor_type);
}

}  // namespace sconce::python
