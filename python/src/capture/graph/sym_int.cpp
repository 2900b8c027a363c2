#include "capture/graph/sym_int.h"

#include "sconce/base/error.h"

namespace sconce::python::capture {
namespace {

struct Contents {
  SymOwnerPtr owner;
  SymNumber number;
};
struct SymObject {
  PyObject_HEAD Contents* contents;
};
extern PyTypeObject sym_int_type, sym_float_type;

bool is_sym(PyObject* o) { return Py_IS_TYPE(o, &sym_int_type) || Py_IS_TYPE(o, &sym_float_type); }
Contents& contents(PyObject* o) { return *reinterpret_cast<SymObject*>(o)->contents; }

// Null when the recorder is gone: the number is then as it was.
SymOwner* owner_of(PyObject* a, PyObject* b = nullptr) {
  if (is_sym(a)) return *contents(a).owner;
  return b && is_sym(b) ? *contents(b).owner : nullptr;
}

bool is_number(PyObject* o) { return is_sym(o) || number_of(o); }

PyObject* arithmetic(const char* op, PyObject* a, PyObject* b, PyObject* (*otherwise)(PyObject*, PyObject*)) {
  return guarded([&]() -> PyObject* {
    SymOwner* owner = owner_of(a, b);
    if (owner && is_number(a) && is_number(b)) {
      if (Owned made = owner->arithmetic(op, a, b)) return made.give();
    }
    if (!PyNumber_Check(a) || !PyNumber_Check(b)) return Py_NewRef(Py_NotImplemented);
    const Owned x = fixed_number(a), y = fixed_number(b);
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
PyObject* true_divide(PyObject* a, PyObject* b) { return arithmetic("/", a, b, PyNumber_TrueDivide); }
PyObject* plain_power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
PyObject* power(PyObject* a, PyObject* b, PyObject* c) {
  if (c == Py_None) return arithmetic("**", a, b, plain_power);
  return guarded([&] { return PyNumber_Power(fixed_number(a).get(), fixed_number(b).get(), fixed_number(c).get()); });
}
template <PyObject* (*f)(PyObject*, PyObject*)>
PyObject* by_value(PyObject* a, PyObject* b) {
  return guarded([&] { return f(fixed_number(a).get(), fixed_number(b).get()); });
}
template <PyObject* (*f)(PyObject*)>
PyObject* of_value(PyObject* a) {
  return guarded([&] { return f(fixed_number(a).get()); });
}
PyObject* negative(PyObject* a) {
  return guarded([&]() -> PyObject* {
    if (SymOwner* owner = owner_of(a)) {
      if (Owned made = owner->arithmetic("neg", a, nullptr)) return made.give();
    }
    return PyNumber_Negative(fixed_number(a).get());
  });
}
PyObject* positive(PyObject* a) { return Py_NewRef(a); }
// The number itself or its opposite: the sign is a fact from now on.
PyObject* absolute(PyObject* a) {
  const Owned zero = Owned::take(PyLong_FromLong(0));
  SymOwner* owner = owner_of(a);
  if (owner == nullptr || contents(a).number.hint.is_float) return of_value<PyNumber_Absolute>(a);  // -0.0
  const int is_less = guarded_int([&] { return owner->compare("<", a, zero.get()) ? 1 : 0; });
  if (is_less < 0) return nullptr;
  return is_less ? negative(a) : Py_NewRef(a);
}
PyObject* index(PyObject* a) {
  return guarded([&] { return fixed_number(a).give(); });
}
int truth(PyObject* a) {
  return guarded_int([&] {
    const Owned zero = Owned::take(PyLong_FromLong(0));
    if (SymOwner* owner = owner_of(a)) return owner->compare("!=", a, zero.get()) ? 1 : 0;
    return contents(a).number.hint.real() != 0 ? 1 : 0;
  });
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  return guarded([&]() -> PyObject* {
    static constexpr const char* kNames[] = {"<", "<=", "==", "!=", ">", ">="};  // by Py_LT ... Py_GE
    SymOwner* owner = owner_of(a, b);
    if (owner && is_number(a) && is_number(b)) return PyBool_FromLong(owner->compare(kNames[how], a, b));
    if (!PyNumber_Check(b)) return Py_NewRef(Py_NotImplemented);
    return PyObject_RichCompare(fixed_number(a).get(), fixed_number(b).get(), how);
  });
}

Py_hash_t hash(PyObject* a) {
  return guarded([&] { return PyObject_Hash(fixed_number(a).get()); }, Py_hash_t{-1});
}
PyObject* repr(PyObject* a) {
  return guarded([&] { return PyObject_Repr(fixed_number(a).get()); });
}
// Methods of int and float, which are called on the number.
template <const char* const& name>
PyObject* method(PyObject* a, PyObject* args) {
  return guarded([&] {
    const Owned function = Owned::take(PyObject_GetAttrString(fixed_number(a).get(), name));
    return PyObject_Call(function.get(), args, nullptr);
  });
}
constexpr const char *kFormat = "__format__", *kRound = "__round__", *kFloor = "__floor__", *kCeil = "__ceil__",
                     *kTrunc = "__trunc__";
// isinstance(n, int) is true, as for the number that it stands for.
PyObject* class_of(PyObject* a, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(contents(a).number.hint.is_float ? &PyFloat_Type : &PyLong_Type));
}

void dealloc(PyObject* self) {
  delete &contents(self);
  PyObject_Free(self);
}

PyNumberMethods make_numbers(bool of_ints) {
  PyNumberMethods n = {};
  n.nb_add = add;
  n.nb_subtract = subtract;
  n.nb_multiply = multiply;
  n.nb_floor_divide = floor_divide;
  n.nb_remainder = remainder;
  n.nb_true_divide = true_divide;
  n.nb_divmod = by_value<PyNumber_Divmod>;
  n.nb_power = power;
  n.nb_negative = negative;
  n.nb_positive = positive;
  n.nb_absolute = absolute;
  n.nb_bool = truth;
  n.nb_int = of_value<PyNumber_Long>;
  n.nb_float = of_value<PyNumber_Float>;
  if (!of_ints) return n;
  n.nb_invert = of_value<PyNumber_Invert>;
  n.nb_lshift = by_value<PyNumber_Lshift>;
  n.nb_rshift = by_value<PyNumber_Rshift>;
  n.nb_and = by_value<PyNumber_And>;
  n.nb_or = by_value<PyNumber_Or>;
  n.nb_xor = by_value<PyNumber_Xor>;
  n.nb_index = index;
  return n;
}
PyNumberMethods int_numbers = make_numbers(true), float_numbers = make_numbers(false);
PyGetSetDef properties[] = {{"__class__", class_of, nullptr, nullptr, nullptr}, {}};
PyMethodDef methods[] = {
    {"__format__", method<kFormat>, METH_VARARGS, nullptr}, {"__round__", method<kRound>, METH_VARARGS, nullptr},
    {"__floor__", method<kFloor>, METH_VARARGS, nullptr},   {"__ceil__", method<kCeil>, METH_VARARGS, nullptr},
    {"__trunc__", method<kTrunc>, METH_VARARGS, nullptr},   {}};

PyTypeObject make_type(const char* name, const char* text, PyNumberMethods* numbers) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(SymObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_doc = text;
  type.tp_dealloc = dealloc;
  type.tp_as_number = numbers;
  type.tp_richcompare = compare;
  type.tp_hash = hash;
  type.tp_repr = repr;
  type.tp_getset = properties;
  type.tp_methods = methods;
  return type;
}
PyTypeObject sym_int_type =
    make_type("sconce.SymInt", "An int that is not fixed while a function is compiled.", &int_numbers);
PyTypeObject sym_float_type =
    make_type("sconce.SymFloat", "A float that is not fixed while a function is compiled.", &float_numbers);

}  // namespace

void (*number_is_wanted)() = nullptr;

Owned fixed_number(PyObject* o) {
  if (!is_sym(o)) return Owned::share(o);
  if (SymOwner* owner = *contents(o).owner) owner->fix(o);
  return object_of_number(contents(o).number.hint);
}

Owned make_sym_number(SymOwnerPtr owner, SymNumber number) {
  auto* object = PyObject_New(SymObject, number.hint.is_float ? &sym_float_type : &sym_int_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->contents = new Contents{std::move(owner), std::move(number)};
  return made;
}
const SymNumber* sym_number(PyObject* object) { return is_sym(object) ? &contents(object).number : nullptr; }

void add_sym_numbers(PyObject* module) {
  for (PyTypeObject* type : {&sym_int_type, &sym_float_type}) check(PyType_Ready(type));
  check(PyModule_AddObjectRef(module, "SymInt", reinterpret_cast<PyObject*>(&sym_int_type)));
  check(PyModule_AddObjectRef(module, "SymFloat", reinterpret_cast<PyObject*>(&sym_float_type)));
}

}  // namespace sconce::python::capture
