#include "programs/program_values.h"

#include "programs/programs.h"
#include "programs/scripting.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/sconce.hpp"
#include "sconce/types/class_info.h"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

thread_local jit::UnitPtr current_unit;

// ---- instances of script classes ----

struct InstanceObject {
  PyObject_HEAD jit::Object held;
};
extern PyTypeObject instance_type;

const jit::Object& instance_of(PyObject* self) { return reinterpret_cast<InstanceObject*>(self)->held; }

void instance_dealloc(PyObject* self) {
  reinterpret_cast<InstanceObject*>(self)->held.~Object();
  PyObject_Free(self);
}
PyObject* instance_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    const jit::Object& object = instance_of(self);
    const std::string_view wanted = text_of(name);
    const ClassInfo& info = *object.value().to_object().type()->class_info();
    if (const ClassInfo::Property* p = info.find_property(wanted)) {
      PyErr_Clear();
      const CurrentUnit unit(object.unit());
      return object_of(jit::Function(object.unit(), p->getter, object.value()).call({})).give();
    }
    if (object.has_method(wanted)) {
      PyErr_Clear();
      return wrap_function(object.method(wanted)).give();
    }
    if (!object.has_attr(wanted)) throw PythonError();
    PyErr_Clear();
    const CurrentUnit unit(object.unit());
    return object_of(object.attr(wanted)).give();
  });
}
int instance_set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return guarded_int([&] {
    const jit::Object& object = instance_of(self);
    const std::string_view wanted = text_of(name);
    const ClassInfo& info = *object.value().to_object().type()->class_info();
    SCONCE_CHECK(value, "attributes of script objects cannot be deleted");
    const int slot = info.find(wanted);
    if (slot < 0) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", object.type_name().c_str(), name);
      throw PythonError();
    }
    const TypePtr type = info.attributes[static_cast<size_t>(slot)].type;
    auto v = value_as(value, type);
    SCONCE_CHECK_AS(type, v, "attribute '{}' has the type {}, got {}", wanted, type->annotation(), class_name(value));
    object.set_attr(wanted, std::move(*v));
    return 0;
  });
}
PyObject* instance_repr(PyObject* self) {
  return guarded([&] {
    const jit::Object& object = instance_of(self);
    if (object.has_method("__repr__")) return object_of(object.method("__repr__").call({})).give();
    return text("<ScriptObject " + object.type_name() + ">").give();
  });
}
// Python looks special methods up in the class of an object: these lead to those of the program.
PyObject* call_special(PyObject* self, const char* name, std::vector<Value> args) {
  return guarded([&] {
    const jit::Object& object = instance_of(self);
    SCONCE_CHECK_AS(type, object.has_method(name), "'{}' object has no method {}", object.type_name(), name);
    const CurrentUnit unit(object.unit());
    return object_of(object.method(name).call(std::move(args))).give();
  });
}
PyObject* instance_item(PyObject* self, PyObject* key) {
  return guarded([&] { return call_special(self, "__getitem__", {value_of(key)}); });
}
Py_ssize_t instance_length(PyObject* self) {
  const PyObject* result = call_special(self, "__len__", {});
  if (!result) return -1;
  const Owned owned = Owned::take(const_cast<PyObject*>(result));
  return PyLong_AsSsize_t(owned.get());
}
PyObject* instance_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const jit::Object& object = instance_of(self);
    SCONCE_CHECK_AS(type, object.has_method("__call__"), "'{}' object is not callable", object.type_name());
    const Owned method = wrap_function(object.method("__call__"));
    return PyObject_Call(method.get(), args, kwargs);
  });
}
template <const char* kName>
PyObject* instance_binary(PyObject* a, PyObject* b) {
  if (!Py_IS_TYPE(a, &instance_type)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] { return call_special(a, kName, {value_of(b)}); });
}
constexpr char kAdd[] = "__add__", kSub[] = "__sub__", kMul[] = "__mul__";
PyNumberMethods instance_numbers = [] {
  PyNumberMethods numbers = {};
  numbers.nb_add = instance_binary<kAdd>;
  numbers.nb_subtract = instance_binary<kSub>;
  numbers.nb_multiply = instance_binary<kMul>;
  return numbers;
}();
PyMappingMethods instance_mapping = {instance_length, instance_item, nullptr};
PyObject* instance_compare(PyObject* a, PyObject* b, int how) {
  static constexpr const char* kNames[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  if (!Py_IS_TYPE(a, &instance_type) || !instance_of(a).has_method(kNames[how])) {
    const bool both = Py_IS_TYPE(a, &instance_type) && Py_IS_TYPE(b, &instance_type);
    if (!both || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((instance_of(a).value().is_same(instance_of(b).value())) == (how == Py_EQ));
  }
  return guarded([&] { return call_special(a, kNames[how], {value_of(b)}); });
}

PyTypeObject instance_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.ScriptObject";
  type.tp_doc = "An instance of a class of a TorchScript program.";
  type.tp_basicsize = sizeof(InstanceObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = instance_dealloc;
  type.tp_getattro = instance_attribute;
  type.tp_setattro = instance_set_attribute;
  type.tp_repr = instance_repr;
  type.tp_call = instance_call;
  type.tp_as_number = &instance_numbers;
  type.tp_as_mapping = &instance_mapping;
  type.tp_richcompare = instance_compare;
  type.tp_hash = [](PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4); };
  return type;
}();

// ---- futures ----

struct FutureObject {
  PyObject_HEAD Value held;
  jit::UnitPtr unit;
};
void future_dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<FutureObject*>(self);
  object.held.~Value();
  object.unit.~shared_ptr();
  PyObject_Free(self);
}
PyObject* future_wait(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto& object = *reinterpret_cast<FutureObject*>(self);
    Value result;
    {
      const Unlocked unlocked;
      result = call_op("aten::wait", {object.held}).at(0);
    }
    const CurrentUnit unit(object.unit);
    return object_of(result).give();
  });
}
PyMethodDef future_methods[] = {{"wait", future_wait, METH_NOARGS, "The result, once it is there."}, {}};
PyTypeObject future_type_object = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.Future";
  type.tp_doc = "The result of a call that runs beside its caller.";
  type.tp_basicsize = sizeof(FutureObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = future_dealloc;
  type.tp_methods = future_methods;
  return type;
}();

// ---- named tuples and enums ----

// The class of a named tuple that no class of Python was made for: made once.
PyObject* tuple_class(TypePtr type) {
  if (PyObject* known = class_of_type(type)) return known;
  static auto& made = *new std::unordered_map<std::string, PyObject*>;
  std::string key = type->name();
  const Owned fields = Owned::take(PyList_New(0));
  for (const std::string& field : type->fields()) {
    key += "," + field;
    check(PyList_Append(fields.get(), text(field).get()));
  }
  PyObject*& slot = made[key];
  if (!slot) {
    const std::string& name = type->name();
    const Owned collections = Owned::take(PyImport_ImportModule("collections"));
    slot = Owned::take(PyObject_CallMethod(collections.get(), "namedtuple", "sO",
                                           name.substr(name.rfind('.') + 1).c_str(), fields.get()))
               .give();
  }
  return slot;
}

bool is_enum_member(PyObject* o) {
  static PyObject* base = [] {
    const Owned module = Owned::take(PyImport_ImportModule("enum"));
    return Owned::take(PyObject_GetAttrString(module.get(), "Enum")).give();
  }();
  return PyObject_IsInstance(o, base) == 1;
}

// ---- instances of classes of Python ----

std::optional<Value> object_as(PyObject* o, TypePtr type) {
  auto object = make_ref<Object>(type);
  const auto& attributes = type->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const Owned value = Owned::take(PyObject_GetAttrString(o, attributes[i].name.c_str()));
    auto v = value_as(value.get(), attributes[i].type);
    if (!v) return std::nullopt;
    object->set_slot(i, std::move(*v));
  }
  return Value(std::move(object));
}

}  // namespace

CurrentUnit::CurrentUnit(jit::UnitPtr unit) : before_(std::exchange(current_unit, std::move(unit))) {}
CurrentUnit::~CurrentUnit() { current_unit = std::move(before_); }

constexpr const char* kValue = "sconce.jit.value";

Owned value_capsule(Value v) {
  return Owned::take(PyCapsule_New(new Value(std::move(v)), kValue, [](PyObject* capsule) {
    delete static_cast<Value*>(PyCapsule_GetPointer(capsule, kValue));
  }));
}

std::optional<Value> special_value(PyObject* o) {
  if (PyCapsule_IsValid(o, kValue)) return *static_cast<Value*>(PyCapsule_GetPointer(o, kValue));
  if (Py_IS_TYPE(o, &instance_type)) return instance_of(o).value();
  if (Py_IS_TYPE(o, &future_type_object)) return reinterpret_cast<FutureObject*>(o)->held;
  if (const jit::Module* module = find_module(o)) return module->value();
  PyObject* cls = reinterpret_cast<PyObject*>(Py_TYPE(o));
  if (!(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return std::nullopt;
  const TypePtr type = type_of_class(cls);
  if (!type) return std::nullopt;
  if (type->is(TypeKind::enum_)) {
    const Owned name = Owned::take(PyObject_GetAttrString(o, "name"));
    const Value* member = type->enum_info()->find(text_of(name.get()));
    return member ? std::optional(*member) : std::nullopt;
  }
  return type->is(TypeKind::class_) ? object_as(o, type) : std::nullopt;
}

std::optional<Value> plain_value(PyObject* o) {
  if (is_enum_member(o)) return special_value(o);
  const bool number = PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o);
  if (o == Py_None || is_tensor(o) || number || PyUnicode_Check(o) || is_device(o) || is_dtype(o) || is_layout(o) ||
      is_memory_format(o) || PyIndex_Check(o))
    return value_of(o);
  return special_value(o);
}

std::optional<Value> value_as(PyObject* o, TypePtr type) {
  switch (type->kind()) {
    case TypeKind::optional:
      return o == Py_None ? std::optional(Value()) : value_as(o, type->element());
    case TypeKind::list: {
      if (!PyList_Check(o) && !PyTuple_Check(o)) return std::nullopt;
      auto list = make_ref<List>(type->element());
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        const Owned item = Owned::share(PySequence_Fast_GET_ITEM(o, i));
        auto v = value_as(item.get(), type->element());
        if (!v) return std::nullopt;
        list->append(std::move(*v));
      }
      return Value(std::move(list));
    }
    case TypeKind::tuple: {
      if (!PyTuple_Check(o) || static_cast<size_t>(PyTuple_GET_SIZE(o)) != type->contained().size())
        return std::nullopt;
      std::vector<Value> items;
      for (size_t i = 0; i < type->contained().size(); ++i) {
        auto v = value_as(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)), type->contained()[i]);
        if (!v) return std::nullopt;
        items.push_back(std::move(*v));
      }
      return Value(make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type));
    }
    case TypeKind::dict: {
      if (!PyDict_Check(o)) return std::nullopt;
      auto dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) {
        auto k = value_as(key, type->contained()[0]);
        auto v = k ? value_as(value, type->contained()[1]) : std::nullopt;
        if (!v) return std::nullopt;
        dict->set(std::move(*k), std::move(*v));
      }
      return Value(std::move(dict));
    }
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        if (auto v = value_as(o, member)) return v;
      }
      return std::nullopt;
    case TypeKind::class_:
    case TypeKind::interface:
    case TypeKind::enum_:
    case TypeKind::future: {
      auto v = special_value(o);
      if (v || !type->is(TypeKind::class_) || type->class_info()->is_module) return v;
      return class_of_type(type) == reinterpret_cast<PyObject*>(Py_TYPE(o)) ? object_as(o, type) : std::nullopt;
    }
    default: {
      Value v;
      if (type->is(TypeKind::number) || type->is(TypeKind::complex) || type->is(TypeKind::float_)) {
        if (is_tensor(o) || !convert(o, type, std::nullopt, v)) return std::nullopt;
        return v;
      }
      auto plain = type->is(TypeKind::any) ? std::optional(value_of(o)) : plain_value(o);
      if (type->is(TypeKind::device) && plain && plain->is_string()) return Value(parse_device(plain->to_string_ref()));
      if (!plain || type->is(TypeKind::any)) return plain;
      const TypePtr own = plain->is_tensor() ? ::sconce::tensor_type() : plain->type();
      return is_subtype(own, type) ? plain : std::nullopt;
    }
  }
}

Owned special_object(const Value& v) {
  switch (v.tag()) {
    case Tag::object: {
      const jit::UnitPtr unit = current_unit ? current_unit : scripted_unit();
      if (v.to_object().type()->class_info()->is_module) return wrap_module(jit::Module(unit, v));
      auto* made = PyObject_New(InstanceObject, &instance_type);
      Owned object = Owned::take(reinterpret_cast<PyObject*>(made));
      new (&made->held) jit::Object(unit, v);
      return object;
    }
    case Tag::enum_: {
      PyObject* cls = class_of_type(v.to_enum().type);
      if (cls) return Owned::take(PyObject_GetAttrString(cls, v.to_enum().name.c_str()));
      return object_of(v.to_enum().value);  // of a file: the class is not known to Python
    }
    case Tag::tuple: {
      const Tuple& tuple = v.to_tuple();
      const Owned items = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(tuple.items.size())));
      for (size_t i = 0; i < tuple.items.size(); ++i)
        PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), object_of(tuple.items[i]).give());
      return Owned::take(PyObject_CallObject(tuple_class(tuple.named_type), items.get()));
    }
    case Tag::future: {
      auto* made = PyObject_New(FutureObject, &future_type_object);
      Owned object = Owned::take(reinterpret_cast<PyObject*>(made));
      new (&made->held) Value(v);
      new (&made->unit) jit::UnitPtr(current_unit);
      return object;
    }
    default:
      fail_as(ErrorKind::not_implemented, "a value of type {} has no object in Python", v.type()->annotation());
  }
}

void add_program_values(PyObject* module) {
  check(PyModule_AddType(module, &instance_type));
  check(PyModule_AddType(module, &future_type_object));
}

}  // namespace sconce::python
