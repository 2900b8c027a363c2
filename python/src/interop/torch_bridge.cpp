#include "interop/torch_bridge.h"

#include <structmember.h>

#include <algorithm>
#include <memory>

#include "interop/dlpack.h"
#include "programs/programs.h"
#include "sconce/base/error.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/math_bits.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

const dlpack::ExchangeTable* table = nullptr;
PyTypeObject* torch_type = nullptr;

struct Pair {
  DType dtype;
  dlpack::DataType data_type;
};
constexpr Pair kDTypes[] = {
    {DType::bool_, {dlpack::Code::boolean, 8, 1}},
    {DType::uint8, {dlpack::Code::unsigned_integer, 8, 1}},
    {DType::uint16, {dlpack::Code::unsigned_integer, 16, 1}},
    {DType::uint32, {dlpack::Code::unsigned_integer, 32, 1}},
    {DType::uint64, {dlpack::Code::unsigned_integer, 64, 1}},
    {DType::int8, {dlpack::Code::integer, 8, 1}},
    {DType::int16, {dlpack::Code::integer, 16, 1}},
    {DType::int32, {dlpack::Code::integer, 32, 1}},
    {DType::int64, {dlpack::Code::integer, 64, 1}},
    {DType::float16, {dlpack::Code::floating, 16, 1}},
    {DType::float32, {dlpack::Code::floating, 32, 1}},
    {DType::float64, {dlpack::Code::floating, 64, 1}},
    {DType::bfloat16, {dlpack::Code::bfloat, 16, 1}},
    {DType::complex64, {dlpack::Code::complex, 64, 1}},
    {DType::complex128, {dlpack::Code::complex, 128, 1}},
    {DType::float8_e4m3fn, {dlpack::Code::float8_e4m3fn, 8, 1}},
    {DType::float8_e5m2, {dlpack::Code::float8_e5m2, 8, 1}},
};

DType dtype_of(const dlpack::DataType& t) {
  for (const Pair& pair : kDTypes) {
    if (pair.data_type.code == t.code && pair.data_type.bits == t.bits && t.lanes == 1) return pair.dtype;
  }
  fail_as(ErrorKind::type, "a tensor of PyTorch with DLPack's dtype {} of {} bits is not supported",
          static_cast<int>(t.code), static_cast<int>(t.bits));
}
dlpack::DataType data_type_of(DType t) {
  for (const Pair& pair : kDTypes) {
    if (pair.dtype == t) return pair.data_type;
  }
  fail_as(ErrorKind::type, "a tensor of dtype {} cannot be PyTorch's", dtype_name(t));
}

bool is_torch_tensor(PyObject* object) { return torch_type && PyObject_TypeCheck(object, torch_type); }

PyObject* name_of(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (name == nullptr) throw PythonError();
  return name;
}
Owned call_method(PyObject* object, PyObject* name) {
  PyObject* args[] = {object};
  return Owned::take(PyObject_VectorcallMethod(name, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

using Managed = std::unique_ptr<dlpack::ManagedTensor, void (*)(dlpack::ManagedTensor*)>;
Managed managed(PyObject* object) {
  dlpack::ManagedTensor* made = nullptr;
  if (table->from_object(object, &made) != 0) throw PythonError();
  return {made, [](dlpack::ManagedTensor* m) { m->deleter(m); }};
}
// DLPack knows no conjugates and negatives that are bits of the tensor, and PyTorch's table does not look for them.
Managed resolved(PyObject* object) {
  static PyObject *const is_neg = name_of("is_neg"), *const is_conj = name_of("is_conj"),
                         *const resolve_conj = name_of("resolve_conj"), *const resolve_neg = name_of("resolve_neg");
  Managed made = managed(object);
  const dlpack::Code code = made->tensor.dtype.code;
  const bool complex = code == dlpack::Code::complex;
  if (!complex && code != dlpack::Code::floating && code != dlpack::Code::bfloat) return made;
  const bool conjugate = complex && call_method(object, is_conj).get() == Py_True;
  if (!conjugate && call_method(object, is_neg).get() != Py_True) return made;
  return managed(call_method(call_method(object, resolve_conj).get(), resolve_neg).get());
}

// The bytes from the first element to the end of the last; strides are PyTorch's, which are never negative.
size_t bytes_of(IntList sizes, IntList strides, DType dtype) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return static_cast<size_t>(last + 1) * item_size(dtype);
}
// Our tensor over the memory of PyTorch's, which it keeps alive.
Tensor over(Managed owner) {
  const dlpack::Tensor& t = owner->tensor;
  SCONCE_CHECK_AS(type, t.device.type == dlpack::DeviceType::cpu,
                  "only tensors of PyTorch on the CPU can be shared, this one is on DLPack's device {}",
                  static_cast<int>(t.device.type));
  const DType dtype = dtype_of(t.dtype);
  const auto rank = static_cast<size_t>(t.rank);
  const IntList sizes(t.sizes, rank);
  SmallVector<int64_t, 8> dense;
  if (t.strides == nullptr) {
    dense.resize(rank);
    int64_t step = 1;
    for (size_t i = rank; i-- > 0; step *= std::max<int64_t>(sizes[i], 1)) dense[i] = step;
  }
  const IntList strides(t.strides ? t.strides : dense.data(), rank);
  for (const int64_t n : sizes) {
    if (n == 0) return empty_strided_tensor(sizes, strides, dtype);  // has no memory
  }
  void* data = static_cast<char*>(t.data) + t.byte_offset;
  const auto deleter = [](void* m) noexcept {
    static_cast<dlpack::ManagedTensor*>(m)->deleter(static_cast<dlpack::ManagedTensor*>(m));
  };
  // The storage lets go of PyTorch's tensor from the moment when nothing can fail any more.
  Ref<Storage> storage = wrap_storage(data, bytes_of(sizes, strides, dtype), nullptr, nullptr);
  Tensor made = make_tensor(storage, dtype, sizes, strides, 0);
  storage->context = owner.release();
  storage->deleter = deleter;
  return made;
}
Tensor from_torch(PyObject* object) { return over(resolved(object)); }

// What PyTorch holds of ours.
struct Given {
  dlpack::ManagedTensor managed;
  Tensor tensor;
  SmallVector<int64_t, 16> dims;  // sizes, strides
};

Owned to_torch(Tensor tensor) {
  SCONCE_CHECK_AS(type, tensor.device().type == DeviceType::cpu && tensor.layout() == Layout::strided,
                  "only dense tensors on the CPU can become PyTorch's");
  if (has_math_bits(tensor)) tensor = resolved_math_bits(tensor);
  auto given = std::make_unique<Given>();
  for (const int64_t n : tensor.sizes()) given->dims.push_back(n);
  for (const int64_t n : tensor.strides()) given->dims.push_back(n);
  dlpack::ManagedTensor& m = given->managed;
  m.version = dlpack::kVersion;
  m.context = given.get();
  m.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Given*>(self->context); };
  m.flags = 0;
  m.tensor = {tensor.data(),
              {dlpack::DeviceType::cpu, 0},
              static_cast<int32_t>(tensor.dim()),
              data_type_of(tensor.dtype()),
              given->dims.data(),
              given->dims.data() + tensor.dim(),
              0};
  given->tensor = std::move(tensor);
  void* made = nullptr;
  if (table->to_object(&given->managed, &made) != 0) throw PythonError();
  given.release();  // NOLINT: PyTorch has it
  return Owned::take(static_cast<PyObject*>(made));
}

// ---- calls ----

// A function over tensors of PyTorch, called as backends of torch.compile are: with a list that it empties. (Or with the
// inputs themselves, as wrappers do that do not ask for _boxed_call.)
struct CallObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  // Per result: the input that it is, or -1 for the next part of what the function returns.
  std::vector<Py_ssize_t> results;
  std::vector<bool> may_have_bits;  // per input: is it conjugate or negative by a bit? torch.compile guards that
  char boxed;
};
extern PyTypeObject call_type;

Value argument(PyObject* object, bool may_have_bits) {
  if (!is_torch_tensor(object)) return value_of(object);
  return over(may_have_bits ? resolved(object) : managed(object));
}
Owned result_of(const Value& v) {
  if (v.is_tensor()) return v.to_tensor().defined() ? to_torch(v.to_tensor()) : Owned::share(Py_None);
  return object_of(v);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject*) {
  return guarded([&] {
    const auto* call = reinterpret_cast<CallObject*>(self);
    const auto n = PyVectorcall_NARGS(flags);
    PyObject* list = n == 1 && PyList_CheckExact(args[0]) ? args[0] : nullptr;
    const Owned inputs = Owned::take(PyTuple_New(list ? PyList_GET_SIZE(list) : n));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs.get()); ++i)
      PyTuple_SET_ITEM(inputs.get(), i, Py_NewRef(list ? PyList_GET_ITEM(list, i) : args[i]));
    std::vector<Value> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs.get()); ++i)
      values.push_back(argument(PyTuple_GET_ITEM(inputs.get(), i), call->may_have_bits.at(static_cast<size_t>(i))));
    if (list) check(PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr));
    const std::vector<Value> kept = values;  // so that nothing takes the inputs' memory for its own results
    Value made;
    {
      const Unlocked unlocked;
      made = runtime::run(function_of(call->function).function(), values);
    }
    const std::vector<Value>& parts = made.to_tuple().items;
    Owned results = Owned::take(PyList_New(static_cast<Py_ssize_t>(call->results.size())));
    size_t next = 0;
    for (size_t i = 0; i < call->results.size(); ++i) {
      const Py_ssize_t from = call->results[i];
      Owned item = from >= 0 ? Owned::share(PyTuple_GET_ITEM(inputs.get(), from)) : result_of(parts.at(next++));
      PyList_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), item.give());
    }
    return results.give();
  });
}

// TorchCall(function, results, may_have_bits): see CallObject.
PyObject* make_call(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject *function = nullptr, *results = nullptr, *bits = nullptr;
    if (!PyArg_ParseTuple(args, "OO!O!:TorchCall", &function, &PyList_Type, &results, &PyList_Type, &bits))
      throw PythonError();
    (void)function_of(function);
    Owned made = Owned::take(type->tp_alloc(type, 0));
    auto* object = reinterpret_cast<CallObject*>(made.get());
    new (&object->results) std::vector<Py_ssize_t>;
    new (&object->may_have_bits) std::vector<bool>;
    object->vectorcall = call;
    object->function = Py_NewRef(function);
    object->boxed = 1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results); ++i) {
      const Py_ssize_t from = PyLong_AsSsize_t(PyList_GET_ITEM(results, i));
      if (from == -1 && PyErr_Occurred()) throw PythonError();
      object->results.push_back(from);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(bits); ++i)
      object->may_have_bits.push_back(PyList_GET_ITEM(bits, i) == Py_True);
    return made.give();
  });
}
void free_call(PyObject* self) {
  auto* object = reinterpret_cast<CallObject*>(self);
  Py_XDECREF(object->function);
  object->results.~vector();
  object->may_have_bits.~vector();
  Py_TYPE(self)->tp_free(self);
}
PyMemberDef call_members[] = {{"_boxed_call", T_BOOL, offsetof(CallObject, boxed), READONLY, nullptr},
                              {"function", T_OBJECT_EX, offsetof(CallObject, function), READONLY, nullptr},
                              {}};
// Wrappers of torch._dynamo copy the attributes of what they wrap.
PyObject* call_attributes(PyObject*, void*) { return Py_BuildValue("{sO}", "_boxed_call", Py_True); }
PyGetSetDef call_properties[] = {{"__dict__", call_attributes, nullptr, nullptr, nullptr}, {}};
PyTypeObject call_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._TorchCall";
  type.tp_doc = "A function over a list of PyTorch's tensors and numbers.";
  type.tp_basicsize = sizeof(CallObject);
  type.tp_vectorcall_offset = offsetof(CallObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_new = make_call;
  type.tp_dealloc = free_call;
  type.tp_members = call_members;
  type.tp_getset = call_properties;
  return type;
}();

// ---- functions ----

// open(torch.Tensor): from now on its tensors are known.
PyObject* open(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    SCONCE_CHECK_AS(type, PyType_Check(type), "a type was expected");
    const Owned capsule = Owned::take(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
    const auto* found =
        static_cast<const dlpack::ExchangeTable*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
    if (found == nullptr) throw PythonError();
    SCONCE_CHECK(found->version.major == dlpack::kVersion.major, "PyTorch has DLPack {}.{}, {}.{} is needed",
                 found->version.major, found->version.minor, dlpack::kVersion.major, dlpack::kVersion.minor);
    table = found;
    torch_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    Py_RETURN_NONE;
  });
}
void need_torch() { SCONCE_CHECK(table, "import sconce.interop first: it finds PyTorch"); }
PyObject* from(PyObject*, PyObject* object) {
  return guarded([&] {
    need_torch();
    SCONCE_CHECK_AS(type, is_torch_tensor(object), "a torch.Tensor was expected, got {}", class_name(object));
    return wrap(from_torch(object)).give();
  });
}
PyObject* to(PyObject*, PyObject* object) {
  return guarded([&] {
    need_torch();
    SCONCE_CHECK_AS(type, is_tensor(object), "a sconce.Tensor was expected, got {}", class_name(object));
    return to_torch(tensor_of(object)).give();
  });
}

PyMethodDef functions[] = {{"_torch_open", open, METH_O, nullptr},
                           {"_from_torch", from, METH_O, "The tensor of PyTorch as ours, over the same memory."},
                           {"_to_torch", to, METH_O, "Our tensor as PyTorch's, over the same memory."},
                           {}};

}  // namespace

void add_torch_bridge(PyObject* module) {
  check(PyModule_AddType(module, &call_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
