#include "small_objects.h"

#include <array>

#include "sconce/base/error.h"
#include "sconce/sconce.hpp"

namespace sconce::python {
namespace {

struct Enumerator {
  PyObject_HEAD int64_t number;
  const char* name;  // "float32"
};

PyObject* enumerator_repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", reinterpret_cast<Enumerator*>(self)->name);
}
// By name, so that a pickle means the same in another process.
PyObject* enumerator_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<Enumerator*>(self)->name);
}
PyMethodDef enumerator_methods[] = {{"__reduce__", enumerator_reduce, METH_NOARGS, nullptr}, {}};

DType dtype_of(PyObject* self) { return static_cast<DType>(number_of(self)); }
PyGetSetDef dtype_properties[] = {
    {"is_floating_point", [](PyObject* s, void*) { return PyBool_FromLong(is_floating(dtype_of(s))); }, nullptr,
     "True for float16, bfloat16, float32, float64 and the float8 types.", nullptr},
    {"is_complex", [](PyObject* s, void*) { return PyBool_FromLong(is_complex(dtype_of(s))); }, nullptr,
     "True for complex64 and complex128.", nullptr},
    {"is_signed",
     [](PyObject* s, void*) {
       const DType t = dtype_of(s);
       return PyBool_FromLong(!is_unsigned(t) && t != DType::bool_ && t != DType::quint8);
     },
     nullptr, "False for bool and unsigned integers.", nullptr},
    {"_legacy_name", [](PyObject* s, void*) { return text(dtype_legacy_name(dtype_of(s))).give(); }, nullptr, nullptr,
     nullptr},
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromSize_t(item_size(dtype_of(s))); }, nullptr,
     "Bytes of one element.", nullptr},
    {}};

PyTypeObject enumerator_type(const char* name, PyGetSetDef* properties) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(Enumerator);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_repr = enumerator_repr;
  type.tp_methods = enumerator_methods;
  type.tp_getset = properties;
  return type;
}
PyTypeObject dtype_type = enumerator_type("sconce.dtype", dtype_properties);
PyTypeObject layout_type = enumerator_type("sconce.layout", nullptr);
PyTypeObject memory_format_type = enumerator_type("sconce.memory_format", nullptr);

std::array<PyObject*, kDTypeSlots> dtypes;
std::array<PyObject*, 7> layouts;
std::array<PyObject*, 4> memory_formats;

PyObject* add(PyObject* module, PyTypeObject& type, int64_t number, const char* name) {
  auto* object = PyObject_New(Enumerator, &type);
  if (object == nullptr) throw PythonError();
  object->number = number;
  object->name = name;
  check(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(object)));
  return reinterpret_cast<PyObject*>(object);  // kept for ever
}

// ---- device ----

struct DeviceObject {
  PyObject_HEAD Device device;
};

PyObject* device_repr(PyObject* self) {
  return guarded([&] {
    const Device d = device_of(self);
    const std::string name = to_string(d), type = name.substr(0, name.find(':'));
    if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", type.c_str());
    return PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), d.index);
  });
}
PyObject* device_str(PyObject* self) {
  return guarded([&] { return text(to_string(device_of(self))).give(); });
}
Py_hash_t device_hash(PyObject* self) {
  const Device d = device_of(self);
  return static_cast<Py_hash_t>(d.type) * 256 + d.index + 1;
}
PyObject* device_compare(PyObject* a, PyObject* b, int how) {
  if (!is_device(a) || !is_device(b) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(a) == device_of(b)) == (how == Py_EQ));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* what = nullptr;
    int index = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i", const_cast<char**>(names), &what, &index))
      throw PythonError();
    if (is_device(what)) return Py_NewRef(what);
    Device d = parse_device(text_of(what));
    if (index >= 0) {
      SCONCE_CHECK(d.index < 0, "type (string) must not include an index because index was passed explicitly: {}",
                   text_of(what));
      d.index = static_cast<int8_t>(index);
    }
    return make_device(d).give();
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return guarded([&] { return Py_BuildValue("O(s)", Py_TYPE(self), to_string(device_of(self)).c_str()); });
}
// with torch.device("meta"): sconce._settings knows what that means.
PyObject* device_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    const Owned settings = Owned::take(PyImport_ImportModule("sconce._settings"));
    return PyObject_CallMethod(settings.get(), "enter_device", "O", self);
  });
}
PyObject* device_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    const Owned settings = Owned::take(PyImport_ImportModule("sconce._settings"));
    return PyObject_CallMethod(settings.get(), "exit_device", "O", self);
  });
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};
PyGetSetDef device_properties[] = {{"type",
                                    [](PyObject* s, void*) {
                                      return guarded([&] {
                                        const std::string name = to_string(device_of(s));
                                        return text(name.substr(0, name.find(':'))).give();
                                      });
                                    },
                                    nullptr, "The kind of device, 'cpu'.", nullptr},
                                   {"index",
                                    [](PyObject* s, void*) {
                                      const int8_t index = device_of(s).index;
                                      return index < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(index);
                                    },
                                    nullptr, "Its number among those of the kind, or None.", nullptr},
                                   {}};

PyTypeObject make_device_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.device";
  type.tp_doc = "device(type, index=None): where a tensor lives, 'cpu' or 'meta'.";
  type.tp_basicsize = sizeof(DeviceObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_repr = device_repr;
  type.tp_str = device_str;
  type.tp_hash = device_hash;
  type.tp_richcompare = device_compare;
  type.tp_new = device_new;
  type.tp_methods = device_methods;
  type.tp_getset = device_properties;
  return type;
}
PyTypeObject device_type = make_device_type();

}  // namespace

PyObject* dtype_object(DType t) { return dtypes[static_cast<size_t>(t)]; }
PyObject* layout_object(Layout l) { return layouts[static_cast<size_t>(l)]; }
PyObject* memory_format_object(MemoryFormat f) { return memory_formats[static_cast<size_t>(f)]; }
bool is_dtype(PyObject* object) { return Py_IS_TYPE(object, &dtype_type); }
bool is_layout(PyObject* object) { return Py_IS_TYPE(object, &layout_type); }
bool is_memory_format(PyObject* object) { return Py_IS_TYPE(object, &memory_format_type); }
int64_t number_of(PyObject* enumerator) { return reinterpret_cast<Enumerator*>(enumerator)->number; }

bool is_device(PyObject* object) { return Py_IS_TYPE(object, &device_type); }
Device device_of(PyObject* object) { return reinterpret_cast<DeviceObject*>(object)->device; }
Owned make_device(Device d) {
  auto* object = PyObject_New(DeviceObject, &device_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->device = d;
  return made;
}

void add_small_objects(PyObject* module) {
  for (PyTypeObject* type : {&dtype_type, &layout_type, &memory_format_type, &device_type}) {
    check(PyModule_AddType(module, type));
  }
  const auto add_dtype = [&](DType t, const char* name) {
    dtypes[static_cast<size_t>(t)] = add(module, dtype_type, static_cast<int64_t>(t), name);
  };
  for (const DType t : kAllDTypes) add_dtype(t, dtype_name(t).data());
  for (const DType t : kQuantizedDTypes) add_dtype(t, dtype_name(t).data());
  add_dtype(kComplex32, "complex32");  // promotion gives it; no tensor has it
  // PyTorch's second names.
  constexpr std::pair<const char*, DType> kAliases[] = {
      {"float", DType::float32},    {"double", DType::float64},     {"half", DType::float16},
      {"short", DType::int16},      {"int", DType::int32},          {"long", DType::int64},
      {"cfloat", DType::complex64}, {"cdouble", DType::complex128}, {"chalf", kComplex32}};
  for (const auto& [name, t] : kAliases) check(PyModule_AddObjectRef(module, name, dtype_object(t)));
  constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                      "sparse_csc", "sparse_bsr", "sparse_bsc"};
  for (size_t i = 0; i < layouts.size(); ++i)
    layouts[i] = add(module, layout_type, static_cast<int64_t>(i), kLayouts[i]);
  constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (size_t i = 0; i < memory_formats.size(); ++i)
    memory_formats[i] = add(module, memory_format_type, static_cast<int64_t>(i), kFormats[i]);
}

}  // namespace sconce::python
