#include "storage_object.h"

#include <cstring>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

struct StorageObject {
  PyObject_HEAD Ref<Storage> storage;
};
extern PyTypeObject storage_type;

// Objects by storage; an entry goes with its object. Guarded by Python's lock.
std::unordered_map<const Storage*, PyObject*>& storage_objects() {
  static auto& objects = *new std::unordered_map<const Storage*, PyObject*>;
  return objects;
}

Storage& storage_of(PyObject* self) { return *reinterpret_cast<StorageObject*>(self)->storage; }
void check_readable(const Storage& s) {
  SCONCE_CHECK_AS(not_implemented, s.device.type == DeviceType::cpu,
                  "the bytes of a storage on device {} cannot be read", to_string(s.device));
}

void dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<StorageObject*>(self);
  storage_objects().erase(object.storage.get());
  object.storage.~Ref<Storage>();
  Py_TYPE(self)->tp_free(self);
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_of(self).nbytes); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(storage_of(self).data); }
PyObject* device(PyObject* self, void*) {
  return guarded([&] { return make_device(storage_of(self).device).give(); });
}
Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(storage_of(self).nbytes); }
PyObject* item(PyObject* self, Py_ssize_t i) {
  return guarded([&] {
    const Storage& s = storage_of(self);
    check_readable(s);
    SCONCE_CHECK_AS(index, i >= 0 && static_cast<size_t>(i) < s.nbytes, "index {} out of range for storage of size {}",
                    static_cast<int64_t>(i), s.nbytes);
    return PyLong_FromLong(static_cast<const uint8_t*>(s.data)[i]);
  });
}
PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }

Ref<Storage> copy_of(const void* bytes, size_t n) {
  Ref<Storage> made = make_storage(n, Device());
  if (n != 0) std::memcpy(made->data, bytes, n);
  return made;
}
PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage& s = storage_of(self);
    check_readable(s);
    return wrap_storage(copy_of(s.data, s.nbytes)).give();
  });
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded_int([&] {
    check_readable(storage_of(self));
    return PyBuffer_FillInfo(view, self, storage_of(self).data, length(self), storage_of(self).read_only ? 1 : 0,
                             flags);
  });
}

// UntypedStorage(size) or UntypedStorage(bytes), which are copied.
PyObject* make(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0,
                    "UntypedStorage(): keyword arguments are not supported");
    PyObject* from = nullptr;
    if (!PyArg_ParseTuple(args, "|O:UntypedStorage", &from)) throw PythonError();
    if (from == nullptr) return wrap_storage(make_storage(0, Device())).give();
    if (PyLong_Check(from)) {
      const Py_ssize_t n = PyLong_AsSsize_t(from);
      if (n == -1 && PyErr_Occurred()) throw PythonError();
      SCONCE_CHECK(n >= 0, "Trying to create a storage with a negative size: {}", static_cast<int64_t>(n));
      return wrap_storage(make_storage(static_cast<size_t>(n), Device())).give();
    }
    Py_buffer view;
    if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE) != 0) throw PythonError();
    Ref<Storage> made;
    try {
      made = copy_of(view.buf, static_cast<size_t>(view.len));
    } catch (...) {
      PyBuffer_Release(&view);
      throw;
    }
    PyBuffer_Release(&view);
    return wrap_storage(std::move(made)).give();
  });
}

// tensor_over(storage, dtype, offset, sizes, strides): offset and strides in elements.
PyObject* tensor_over(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *storage = nullptr, *dtype = nullptr, *sizes = nullptr, *strides = nullptr;
    long long offset = 0;
    if (!PyArg_ParseTuple(args, "O!OLOO", &storage_type, &storage, &dtype, &offset, &sizes, &strides))
      throw PythonError();
    SCONCE_CHECK_AS(type, is_dtype(dtype), "a dtype was expected, got {}", class_name(dtype));
    const auto integers = [](PyObject* o) {
      Value v;
      SCONCE_CHECK_AS(type, convert(o, list_type(int_type()), std::nullopt, v), "integers were expected, got {}",
                      class_name(o));
      std::vector<int64_t> out;
      for (const Value& item : v.to_list().values()) out.push_back(item.to_int());
      return out;
    };
    return wrap(make_tensor(reinterpret_cast<StorageObject*>(storage)->storage, static_cast<DType>(number_of(dtype)),
                            integers(sizes), integers(strides), offset))
        .give();
  });
}

// In sconce/_tensor.py, with what reads it again.
PyObject* reduce(PyObject* self, PyObject* protocol) {
  return guarded([&] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._tensor"));
    return PyObject_CallMethod(module.get(), "_reduce_storage", "OO", self, protocol);
  });
}

PyMethodDef methods[] = {{"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
                         {"size", nbytes, METH_NOARGS, "The number of bytes."},
                         {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
                         {"tolist", tolist, METH_NOARGS, "The bytes as numbers."},
                         {"clone", clone, METH_NOARGS, "A copy."},
                         {"__reduce_ex__", reduce, METH_O, nullptr},
                         {}};
PyGetSetDef properties[] = {{"device", device, nullptr, "Where the bytes are.", nullptr}, {}};
PySequenceMethods sequence = {length, nullptr, nullptr, item, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
PyBufferProcs buffer = {get_buffer, nullptr};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.UntypedStorage";
  type.tp_doc = "The bytes behind tensors.";
  type.tp_basicsize = sizeof(StorageObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = make;
  type.tp_dealloc = dealloc;
  type.tp_methods = methods;
  type.tp_getset = properties;
  type.tp_as_sequence = &sequence;
  type.tp_as_buffer = &buffer;
  return type;
}
PyTypeObject storage_type = make_type();

PyMethodDef functions[] = {{"_tensor_over", tensor_over, METH_VARARGS, nullptr}, {}};

}  // namespace

Owned wrap_storage(Ref<Storage> storage) {
  if (const auto found = storage_objects().find(storage.get()); found != storage_objects().end())
    return Owned::share(found->second);
  Owned made = Owned::take(storage_type.tp_alloc(&storage_type, 0));
  const Storage* key = storage.get();
  new (&reinterpret_cast<StorageObject*>(made.get())->storage) Ref<Storage>(std::move(storage));
  storage_objects().emplace(key, made.get());
  return made;
}

void add_storage(PyObject* module) {
  check(PyModule_AddType(module, &storage_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
