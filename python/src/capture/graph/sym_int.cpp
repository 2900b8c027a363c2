#include "capture/graph/sym_int.h"

#include "sconce/base/error.h"

namespace sconce::python::capture {
namespace {

struct Contents {
  SymOwnerPtr owner;
  SymNumber number;
};
struct SymIntObject {
  PyObject_HEAD Contents* contents;
};
extern PyTypeObject sym_int_type;

bool is_sym_int(PyObject* o) { return Py_IS_TYPE(o, &sym_int_type); }
Contents& contents(PyObject* o) { return *reinterpret_cast<SymIntObject*>(o)->contents; }

// Null when the recorder is gone: the number is then as it was.
SymOwner* owner_of(PyObject* a, PyObject* b = nullptr) {
  if (is_sym_int(a)) return *contents(a).owner;
  return b && is_sym_int(b) ? *contents(b).owner : nullptr;
}

// The int that it is, which is a fact from now on; other objects as they are.
Owned fixed(PyObject* o) {
  if (!is_sym_int(o)) return Owned::share(o);
  if (SymOwner* owner = *contents(o).owner) owner->fix(o);
  return Owned::take(PyLong_FromLongLong(contents(o).number.hint));
}

bool is_int(PyObject* o) {
  if (is_sym_int(o)) return true;
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

PyObject* arithmetic(const char* op, PyObject* a, PyObject* b, PyObject* (*otherwise)(PyObject*, PyObject*)) {
  return guarded([&]() -> PyObject* {
    SymOwner* owner = owner_of(a, b);
    if (owner && is_int(a) && is_int(b)) return owner->arithmetic(op, a, b).give();
    if (!PyNumber_Check(a) || !PyNumber_Check(b)) return Py_NewRef(Py_NotImplemented);
    const Owned x = fixed(a), y = fixed(b);
    return otherwise(x.get(), y.get());
  });
}

PyObject* add(PyObject* a, PyObject* b) { return arithmetic("+", a, b, PyNumber_Add); }
PyObject* subtract(PyObject* a, PyObject* b) { return arithmetic("-", a, b, PyNumber_Subtract); }
PyObject* multiply(PyObject* a, PyObject* b) {
  // A sequence is repeated so many times: it is asked next, and takes the index.
  if (!PyNumber_Check(a) || !PyNumber_Check(b)) return Py_NewRef(Py_NotImplemented);
  return arithmetic("*", a, b, PyNumber_Multiply);
}
PyObject* floor_divide(PyObject* a, PyObject* b) { return arithmetic("//", a, b, PyNumber_FloorDivide); }
PyObject* remainder(PyObject* a, PyObject* b) { return arithmetic("%", a, b, PyNumber_Remainder); }
PyObject* true_divide(PyObject* a, PyObject* b) {
  return guarded([&] { return PyNumber_TrueDivide(fixed(a).get(), fixed(b).get()); });
}
PyObject* divmod(PyObject* a, PyObject* b) {
  return guarded([&] { return PyNumber_Divmod(fixed(a).get(), fixed(b).get()); });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* c) {
  return guarded([&] { return PyNumber_Power(fixed(a).get(), fixed(b).get(), fixed(c).get()); });
}
template <PyObject* (*f)(PyObject*, PyObject*)>
PyObject* by_value(PyObject* a, PyObject* b) {
  return guarded([&] { return f(fixed(a).get(), fixed(b).get()); });
}
template <PyObject* (*f)(PyObject*)>
PyObject* of_value(PyObject* a) {
  return guarded([&] { return f(fixed(a).get()); });
}
PyObject* negative(PyObject* a) {
  return guarded([&]() -> PyObject* {
    if (SymOwner* owner = owner_of(a)) return owner->arithmetic("neg", a, nullptr).give();
    return PyNumber_Negative(fixed(a).get());
  });
}
PyObject* positive(PyObject* a) { return Py_NewRef(a); }
PyObject* index(PyObject* a) {
  return guarded([&] { return fixed(a).give(); });
}
int truth(PyObject* a) {
  return guarded_int([&] {
    const Owned zero = Owned::take(PyLong_FromLong(0));
    if (SymOwner* owner = owner_of(a)) return owner->compare("!=", a, zero.get()) ? 1 : 0;
    return contents(a).number.hint != 0 ? 1 : 0;
  });
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  return guarded([&]() -> PyObject* {
    static constexpr const char* kNames[] = {"<", "<=", "==", "!=", ">", ">="};  // by Py_LT ... Py_GE
    SymOwner* owner = owner_of(a, b);
    if (owner && is_int(a) && is_int(b)) return PyBool_FromLong(owner->compare(kNames[how], a, b));
    if (!PyNumber_Check(b)) return Py_NewRef(Py_NotImplemented);
    return PyObject_RichCompare(fixed(a).get(), fixed(b).get(), how);
  });
}

Py_hash_t hash(PyObject* a) {
  return guarded([&] { return PyObject_Hash(fixed(a).get()); }, Py_hash_t{-1});
}
PyObject* repr(PyObject* a) {
  return guarded([&] { return PyObject_Repr(fixed(a).get()); });
}
PyObject* format(PyObject* a, PyObject* spec) {
  return guarded([&] { return PyObject_Format(fixed(a).get(), spec); });
}
// isinstance(n, int) is true, as for the number that it stands for.
PyObject* class_of(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyLong_Type)); }

void dealloc(PyObject* self) {
  delete &contents(self);
  PyObject_Free(self);
}

PyNumberMethods make_numbers() {
  PyNumberMethods n = {};
  n.nb_add = add;
  n.nb_subtract = subtract;
  n.nb_multiply = multiply;
  n.nb_floor_divide = floor_divide;
  n.nb_remainder = remainder;
  n.nb_true_divide = true_divide;
  n.nb_divmod = divmod;
  n.nb_power = power;
  n.nb_negative = negative;
  n.nb_positive = positive;
  n.nb_absolute = of_value<PyNumber_Absolute>;
  n.nb_invert = of_value<PyNumber_Invert>;
  n.nb_lshift = by_value<PyNumber_Lshift>;
  n.nb_rshift = by_value<PyNumber_Rshift>;
  n.nb_and = by_value<PyNumber_And>;
  n.nb_or = by_value<PyNumber_Or>;
  n.nb_xor = by_value<PyNumber_Xor>;
  n.nb_bool = truth;
  n.nb_index = n.nb_int = index;
  n.nb_float = of_value<PyNumber_Float>;
  return n;
}
PyNumberMethods numbers = make_numbers();
PyGetSetDef properties[] = {{"__class__", class_of, nullptr, nullptr, nullptr}, {}};
PyMethodDef methods[] = {{"__format__", format, METH_O, nullptr}, {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.SymInt";
  type.tp_basicsize = sizeof(SymIntObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_doc = "A size that is not fixed while a function is compiled.";
  type.tp_dealloc = dealloc;
  type.tp_as_number = &numbers;
  type.tp_richcompare = compare;
  type.tp_hash = hash;
  type.tp_repr = repr;
  type.tp_getset = properties;
  type.tp_methods = methods;
  return type;
}
PyTypeObject sym_int_type = make_type();

}  // namespace

Owned make_sym_int(SymOwnerPtr owner, SymNumber number) {
  auto* object = PyObject_New(SymIntObject, &sym_int_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->contents = new Contents{std::move(owner), std::move(number)};
  return made;
}
const SymNumber* sym_number(PyObject* object) { return is_sym_int(object) ? &contents(object).number : nullptr; }

void add_sym_int(PyObject* module) {
  check(PyType_Ready(&sym_int_type));
  check(PyModule_AddObjectRef(module, "SymInt", reinterpret_cast<PyObject*>(&sym_int_type)));
}

}  // namespace sconce::python::capture
