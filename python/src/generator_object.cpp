#include "generator_object.h"

#include <cstring>
#include <random>

#include "sconce/api/rng_state.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's

struct GeneratorObject {
  PyObject_HEAD Generator generator;
};
extern PyTypeObject generator_type;
Owned& default_object = *new Owned;  // never destroyed: programs end after the interpreter has

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* keywords[] = {"device", nullptr};
    PyObject* device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(keywords), &device))
      throw PythonError();
    Value place = Device();
    SCONCE_CHECK_AS(type, device == Py_None || convert(device, device_type(), std::nullopt, place),
                    "Generator(): argument 'device' must be torch.device, not {}", class_name(device));
    SCONCE_CHECK(place.to_device().type == DeviceType::cpu,
                 "Device type {} is not supported for torch.Generator() api.", to_string(place.to_device()));
    Owned made = Owned::take(type->tp_alloc(type, 0));
    new (&reinterpret_cast<GeneratorObject*>(made.get())->generator) Generator(make_generator(kDefaultSeed));
    return made.give();
  });
}
void dealloc(PyObject* self) {
  reinterpret_cast<GeneratorObject*>(self)->generator.~Generator();
  Py_TYPE(self)->tp_free(self);
}

// Any integer of 64 bits, with a sign or without.
uint64_t seed_of(PyObject* o) {
  SCONCE_CHECK(PyIndex_Check(o), "manual_seed expected a long, but got {}", class_name(o));
  const Owned number = Owned::take(PyNumber_Index(o));
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(v);
  const unsigned long long big = overflow > 0 ? PyLong_AsUnsignedLongLong(number.get()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    fail_as(ErrorKind::value, "Overflow when unpacking long long");
  }
  return big;
}
uint64_t draw_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) & 0x1f'ffff'ffff'ffff;  // what a double can hold
}

PyObject* set_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    seed_generator(generator_of(self), seed_of(seed));
    return Py_NewRef(self);
  });
}
PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] {
    const uint64_t v = draw_seed();
    seed_generator(generator_of(self), v);
    return PyLong_FromUnsignedLongLong(v);
  });
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).impl()->initial_seed());
}
PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<uint8_t> state = generator_state(generator_of(self));
    Tensor t = empty_tensor({static_cast<int64_t>(state.size())}, DType::uint8);
    std::memcpy(t.data(), state.data(), state.size());
    return wrap(std::move(t)).give();
  });
}
PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    SCONCE_CHECK_AS(type, is_tensor(state), "expected a torch.ByteTensor, but got {}", class_name(state));
    const Tensor& t = tensor_of(state);
    SCONCE_CHECK_AS(type, t.dtype() == DType::uint8 && t.device().type == DeviceType::cpu,
                    "RNG state must be a torch.ByteTensor");
    const Tensor whole = t.contiguous();
    set_generator_state(generator_of(self), {whole.data<uint8_t>(), static_cast<size_t>(whole.numel())});
    Py_RETURN_NONE;
  });
}
PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<uint8_t> state = generator_state(generator_of(self));
    const Generator copy = make_generator(0);
    set_generator_state(copy, state);
    return wrap_generator(copy).give();
  });
}
PyObject* device(PyObject*, void*) {
  return guarded([&] { return make_device(Device()).give(); });
}
// Generator(), then the state.
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Owned state = Owned::take(get_state(self, nullptr));
    return Py_BuildValue("O()O", reinterpret_cast<PyObject*>(&generator_type), state.get());
  });
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<torch.Generator object at %p>", static_cast<void*>(self));
}

PyMethodDef methods[] = {{"manual_seed", set_seed, METH_O, "manual_seed(seed): begins the stream of this seed."},
                         {"seed", seed, METH_NOARGS, "Begins a stream that nobody foresees; its seed."},
                         {"initial_seed", initial_seed, METH_NOARGS, "The seed that the stream began with."},
                         {"get_state", get_state, METH_NOARGS, "All of the state, as a tensor of bytes."},
                         {"set_state", set_state, METH_O, "set_state(state): goes on from a state of get_state()."},
                         {"clone_state", clone_state, METH_NOARGS, "Another generator in the same state."},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"__setstate__", set_state, METH_O, nullptr},
                         {}};
PyGetSetDef properties[] = {{"device", device, nullptr, "Where its numbers are made.", nullptr}, {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.Generator";
  type.tp_doc = "Generator(device='cpu'): a stream of random numbers, PyTorch's for the same seed.";
  type.tp_basicsize = sizeof(GeneratorObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type.tp_new = make;
  type.tp_dealloc = dealloc;
  type.tp_repr = repr;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}
PyTypeObject generator_type = make_type();

Owned make_object(const Generator& generator) {
  Owned made = Owned::take(generator_type.tp_alloc(&generator_type, 0));
  new (&reinterpret_cast<GeneratorObject*>(made.get())->generator) Generator(generator);
  return made;
}

}  // namespace

bool is_generator(PyObject* object) { return PyObject_TypeCheck(object, &generator_type); }
Generator generator_of(PyObject* object) { return reinterpret_cast<GeneratorObject*>(object)->generator; }
Owned wrap_generator(const Generator& generator) {
  if (generator.impl() == generator_of(default_object.get()).impl()) return Owned::share(default_object.get());
  return make_object(generator);
}

void add_generator(PyObject* module) {
  check(PyModule_AddType(module, &generator_type));
  default_object = make_object(default_generator());
  check(PyModule_AddObjectRef(module, "default_generator", default_object.get()));
}

}  // namespace sconce::python
