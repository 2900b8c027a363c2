// Operators, subscripts, iteration and truth. Fakes go to the recorder, methods of Python are evaluated, the rest is
// CPython's own work on constants, owned objects and shadows.
#include "capture/bytecode/opcodes.h"
#include "capture/evaluator/arrays.h"
#include "capture/evaluator/callbacks.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/evaluator/policy.h"
#include "capture/evaluator/warnings_guard.h"
#include "capture/graph/sym_int.h"
#include "capture/guards/items_ahead.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

struct BinaryRow {
  const char *function, *method, *reflected, *sign;
};
constexpr BinaryRow kBinary[] = {
    {"add", "__add__", "__radd__", "+"},
    {"and_", "__and__", "__rand__", "&"},
    {"floordiv", "__floordiv__", "__rfloordiv__", "//"},
    {"lshift", "__lshift__", "__rlshift__", "<<"},
    {"matmul", "__matmul__", "__rmatmul__", "@"},
    {"mul", "__mul__", "__rmul__", "*"},
    {"mod", "__mod__", "__rmod__", "%"},
    {"or_", "__or__", "__ror__", "|"},
    {"pow", "__pow__", "__rpow__", "** or pow()"},
    {"rshift", "__rshift__", "__rrshift__", ">>"},
    {"sub", "__sub__", "__rsub__", "-"},
    {"truediv", "__truediv__", "__rtruediv__", "/"},
    {"xor", "__xor__", "__rxor__", "^"},
    {"iadd", "__iadd__", nullptr, "+="},
    {"iand", "__iand__", nullptr, "&="},
    {"ifloordiv", "__ifloordiv__", nullptr, "//="},
    {"ilshift", "__ilshift__", nullptr, "<<="},
    {"imatmul", "__imatmul__", nullptr, "@="},
    {"imul", "__imul__", nullptr, "*="},
    {"imod", "__imod__", nullptr, "%="},
    {"ior", "__ior__", nullptr, "|="},
    {"ipow", "__ipow__", nullptr, "**="},
    {"irshift", "__irshift__", nullptr, ">>="},
    {"isub", "__isub__", nullptr, "-="},
    {"itruediv", "__itruediv__", nullptr, "/="},
    {"ixor", "__ixor__", nullptr, "^="},
};
constexpr int kInPlace = 13, kModulo = 6;
constexpr const char* kCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr const char* kCompareMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

// operator.NAME, which stands for the operator in graphs.
PyObject* operator_function(const char* name) {
  static PyObject* module = Owned::take(PyImport_ImportModule("_operator")).give();
  return Owned::take(PyObject_GetAttrString(module, name)).give();
}
PyObject* binary_function(int number) {
  static PyObject* functions[2 * kInPlace] = {};
  PyObject*& f = functions[number];
  if (f == nullptr) f = operator_function(kBinary[number].function);
  return f;
}
PyObject* compare_function(int how) {
  static PyObject* functions[6] = {};
  if (functions[how] == nullptr) functions[how] = operator_function(kCompare[how]);
  return functions[how];
}
PyObject* name_of(const char* text) {
  static std::unordered_map<const char*, PyObject*> known;
  PyObject*& name = known[text];
  if (name == nullptr) name = interned(text);
  return name;
}

Owned native_binary(int number, PyObject* a, PyObject* b) {
  switch (number) {
    case 8:
      return Owned::take(PyNumber_Power(a, b, Py_None));
    case 8 + kInPlace:
      return Owned::take(PyNumber_InPlacePower(a, b, Py_None));
    default: {
      using F = PyObject* (*)(PyObject*, PyObject*);
      static constexpr F functions[] = {PyNumber_Add,
                                        PyNumber_And,
                                        PyNumber_FloorDivide,
                                        PyNumber_Lshift,
                                        PyNumber_MatrixMultiply,
                                        PyNumber_Multiply,
                                        PyNumber_Remainder,
                                        PyNumber_Or,
                                        nullptr,
                                        PyNumber_Rshift,
                                        PyNumber_Subtract,
                                        PyNumber_TrueDivide,
                                        PyNumber_Xor,
                                        PyNumber_InPlaceAdd,
                                        PyNumber_InPlaceAnd,
                                        PyNumber_InPlaceFloorDivide,
                                        PyNumber_InPlaceLshift,
                                        PyNumber_InPlaceMatrixMultiply,
                                        PyNumber_InPlaceMultiply,
                                        PyNumber_InPlaceRemainder,
                                        PyNumber_InPlaceOr,
                                        nullptr,
                                        PyNumber_InPlaceRshift,
                                        PyNumber_InPlaceSubtract,
                                        PyNumber_InPlaceTrueDivide,
                                        PyNumber_InPlaceXor};
      return Owned::take(functions[number](a, b));
    }
  }
}

bool is_number_or_text(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return t == &PyLong_Type || t == &PyFloat_Type || t == &PyUnicode_Type || t == &PyBool_Type;
}

bool goes_with_numbers(PyObject* o) {
  return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || sym_number(o) || is_tensor(o);
}

bool is_decimal(PyObject* o) { return std::string_view(Py_TYPE(o)->tp_name) == "decimal.Decimal"; }

// An instance of a subclass of a number or text, an enum of numbers: what it is worth cannot change.
bool is_scalar(PyObject* o) {
  return is_heap_instance(o) && (PyLong_Check(o) || PyUnicode_Check(o) || PyFloat_Check(o));
}

}  // namespace

Owned Evaluator::unary(Op op, PyObject* a) {
  if (later_of(a)) {
    PyObject* const args[] = {a};
    static PyObject* const negative = operator_function("neg");
    if (Owned made = op == Op::unary_negative ? call_later(*this, negative, args) : Owned()) return made;
    if (Owned made = op == Op::unary_negative ? operate_on_arrays(*this, negative, a, nullptr) : Owned()) return made;
    want_now(a);
  }
  const Owned number = sym_number(a) && op == Op::unary_invert ? fixed_number(a) : Owned();
  if (number) a = number.get();
  const char* method = op == Op::unary_positive ? "__pos__" : op == Op::unary_negative ? "__neg__" : "__invert__";
  if (recorder.is_fake(a)) {
    static PyObject* const functions[] = {operator_function("pos"), operator_function("neg"),
                                          operator_function("invert")};
    PyObject* args[] = {a};
    return record(functions[op == Op::unary_positive ? 0 : op == Op::unary_negative ? 1 : 2], args, nullptr);
  }
  if (is_heap_instance(a)) {
    if (Owned m = python_special(a, name_of(method))) return call(m.get(), {});
    origins.guard_identity(a);
  }
  PyObject* result = nullptr;
  {
    const WarningsGuard guard;  // ~True
    result = op == Op::unary_positive   ? PyNumber_Positive(a)
             : op == Op::unary_negative ? PyNumber_Negative(a)
                                        : PyNumber_Invert(a);
  }
  if (result == nullptr) failed();
  return Owned::take(result);
}

Owned Evaluator::binary(int number, PyObject* a, PyObject* b) {
  if (is_number_or_text(a) && is_number_or_text(b)) return native_binary(number, a, b);
  if (later_of(a) || later_of(b) || (number == kModulo && PyUnicode_CheckExact(a))) {
    PyObject* const args[] = {a, b};
    if (Owned made = call_later(*this, binary_function(number % kInPlace), args)) return made;
    if (number < kInPlace)  // a += b would write to the array
      if (Owned made = operate_on_arrays(*this, binary_function(number), a, b)) return made;
    if (is_tensor(a) || is_tensor(b)) {
      const Owned x = number_for_graph(*this, a), y = number_for_graph(*this, b);
      if (x.get() != a || y.get() != b) return binary(number, x.get(), y.get());
    }
    want_now(a);
    want_now(b);
  }
  // A number that is not fixed stays so among numbers and tensors; anything else gets the number itself.
  if (sym_number(a) && !goes_with_numbers(b)) return binary(number, fixed_number(a).get(), b);
  if (sym_number(b) && !goes_with_numbers(a)) return binary(number, a, fixed_number(b).get());
  if (is_constant(a) && is_constant(b) && (is_decimal(a) || is_decimal(b))) {
    PyObject* const args[] = {a, b};
    return call_exactly(binary_function(number), args);
  }
  const bool heap = is_heap_instance(a) || is_heap_instance(b);
  if (recorder.is_fake(a) || recorder.is_fake(b)) {
    const int base = number % kInPlace;
    const bool own = heap && (python_special(a, name_of(kBinary[number].method)) ||
                              python_special(a, name_of(kBinary[base].method)) ||
                              python_special(b, name_of(kBinary[base].reflected)));
    if (!heap || (recorder.is_fake(a) && !own)) {
      PyObject* args[] = {a, b};
      return record(binary_function(number), args, nullptr);
    }
  }
  if (heap) {
    const int base = number % kInPlace;
    if (number >= kInPlace && is_heap_instance(a)) {
      if (Owned m = python_special(a, name_of(kBinary[number].method))) {
        Owned result = call(m.get(), Arguments::of({b}));
        if (result.get() != Py_NotImplemented) return result;
      }
    }
    Owned left = python_special(a, name_of(kBinary[base].method));
    Owned right = Py_TYPE(a) == Py_TYPE(b) ? Owned() : python_special(b, name_of(kBinary[base].reflected));
    const bool right_first = left && right && PyType_IsSubtype(Py_TYPE(b), Py_TYPE(a)) &&
                             _PyType_Lookup(Py_TYPE(a), name_of(kBinary[base].reflected)) !=
                                 _PyType_Lookup(Py_TYPE(b), name_of(kBinary[base].reflected));
    if (left || right) {
      const auto try_one = [&](Owned& m, PyObject* other) {
        if (!m) return Owned();
        Owned result = call(m.get(), Arguments::of({other}));
        return result.get() == Py_NotImplemented ? Owned() : std::move(result);
      };
      if (right_first) {
        if (Owned r = try_one(right, a)) return r;
        if (Owned r = try_one(left, b)) return r;
      } else {
        if (Owned r = try_one(left, b)) return r;
        if (Owned r = try_one(right, a)) return r;
      }
      // The other side may be of C: int + instance without __radd__.
      if ((left && !right) || (!left && right)) {
        PyObject* other = left ? b : a;
        if (Py_TYPE(other)->tp_as_number != nullptr && is_heap_instance(other))
          break_here(Reason::callback, kBinary[number].sign);
      }
      raise(PyExc_TypeError, "unsupported operand type(s) for %s: '%.100s' and '%.100s'", kBinary[number].sign,
            Py_TYPE(a)->tp_name, Py_TYPE(b)->tp_name);
    }
    origins.guard_identity(a);
    origins.guard_identity(b);
  }
  for (PyObject* o : {a, b}) {
    if (is_opaque(o) && !is_heap_instance(o)) break_here(Reason::unknown_object, Py_TYPE(o)->tp_name);
  }
  Owned x = Owned::share(a), y = Owned::share(b);
  const bool blind = number % kInPlace == 0 || number % kInPlace == 5;  // + and * of lists look at no element
  looks_ = number == 6 && PyUnicode_Check(a) ? Looks::at_texts : Looks::at_all;
  const bool fits = (is_scalar(a) || prepare(x, blind)) && (is_scalar(b) || prepare(y, blind));
  looks_ = Looks::at_all;
  if (!fits) break_here(Reason::callback, kBinary[number].sign);
  for (const Owned* operand : {&x, &y}) {  // what code of C finds inside of an object from outside has no guard
    PyObject* o = operand->get();
    if (!origins.outside(o) || is_immutable(o) || is_scalar(o) || recorder.is_fake(o) || is_heap_instance(o)) continue;
    const std::string_view name = Py_TYPE(o)->tp_name;
    if (!name.starts_with("datetime.") && !name.starts_with("decimal."))
      break_here(Reason::unknown_object, std::string(Py_TYPE(o)->tp_name) + " " + kBinary[number].sign);
    origins.sources().guard(origins.source_of(o), FactKind::equal, o);
  }
  return canonical(native_binary(number, x.get(), y.get()));
}

Owned Evaluator::compare(int how, PyObject* a, PyObject* b) {
  if (is_address(a) && is_address(b) && (how == Py_EQ || how == Py_NE))
    return Owned::share((a == b) == (how == Py_EQ) ? Py_True : Py_False);
  if (is_number_or_text(a) && is_number_or_text(b)) return Owned::take(PyObject_RichCompare(a, b, how));
  if (later_of(a) || later_of(b)) {
    PyObject* const args[] = {a, b};
    if (Owned made = call_later(*this, compare_function(how), args)) return made;
    if (Owned made = operate_on_arrays(*this, compare_function(how), a, b)) return made;
    if (is_tensor(a) || is_tensor(b)) {
      const Owned x = number_for_graph(*this, a), y = number_for_graph(*this, b);
      return compare(how, x.get(), y.get());
    }
    want_now(a);
    want_now(b);
  }
  if (sym_number(a) && !goes_with_numbers(b)) return compare(how, fixed_number(a).get(), b);
  if (sym_number(b) && !goes_with_numbers(a)) return compare(how, a, fixed_number(b).get());
  if (recorder.is_fake(a) || recorder.is_fake(b)) {
    const bool own = (is_heap_instance(a) && python_special(a, name_of(kCompareMethods[how]))) ||
                     (is_heap_instance(b) && python_special(b, name_of(kCompareMethods[kSwapped[how]])));
    if ((recorder.is_fake(a) || !is_heap_instance(a)) && !own) {
      PyObject* args[] = {a, b};
      return record(compare_function(how), args, nullptr);
    }
  }
  if ((is_heap_instance(a) || is_heap_instance(b)) && !PyType_Check(a) && !PyType_Check(b)) {
    const auto method_of = [&](PyObject* o, int which) {
      Owned m = python_special(o, name_of(kCompareMethods[which]));
      return m;
    };
    Owned left = method_of(a, how), right = method_of(b, kSwapped[how]);
    // __ne__ of object inverts __eq__.
    const auto inverted = [&](PyObject* o, PyObject* other) -> Owned {
      if (how != Py_NE || python_special(o, name_of("__ne__"))) return {};
      Owned eq = python_special(o, name_of("__eq__"));
      if (!eq) return {};
      const Owned same = call(eq.get(), Arguments::of({other}));
      if (same.get() == Py_NotImplemented) return {};
      return Owned::share(truth(same.get()) ? Py_False : Py_True);
    };
    const bool any = left || right ||
                     (how == Py_NE && (python_special(a, name_of("__eq__")) || python_special(b, name_of("__eq__"))));
    if (any) {
      const auto try_one = [&](Owned& m, PyObject* self, PyObject* other) -> Owned {
        if (!m) return inverted(self, other);
        Owned result = call(m.get(), Arguments::of({other}));
        return result.get() == Py_NotImplemented ? Owned() : std::move(result);
      };
      const bool right_first = Py_TYPE(a) != Py_TYPE(b) && PyType_IsSubtype(Py_TYPE(b), Py_TYPE(a)) && right;
      if (right_first) {
        if (Owned r = try_one(right, b, a)) return r;
        if (Owned r = try_one(left, a, b)) return r;
      } else {
        if (Owned r = try_one(left, a, b)) return r;
        if (Owned r = try_one(right, b, a)) return r;
      }
      if (how == Py_EQ || how == Py_NE) return Owned::share(is_same(a, b) == (how == Py_EQ) ? Py_True : Py_False);
      raise(PyExc_TypeError, "'%s' not supported between instances of '%.100s' and '%.100s'", kCompareSigns[how],
            Py_TYPE(a)->tp_name, Py_TYPE(b)->tp_name);
    }
    // Both compare as object does: by identity.
    PyObject* const of_object = _PyType_Lookup(&PyBaseObject_Type, name_of("__eq__"));
    if ((how == Py_EQ || how == Py_NE) && _PyType_Lookup(Py_TYPE(a), name_of("__eq__")) == of_object &&
        _PyType_Lookup(Py_TYPE(b), name_of("__eq__")) == of_object)
      return Owned::share(is_same(a, b) == (how == Py_EQ) ? Py_True : Py_False);
    origins.guard_identity(a);
    origins.guard_identity(b);
  }
  Owned x = Owned::share(a), y = Owned::share(b);
  CallbackScope calls_back(*this);
  looks_ = how == Py_EQ || how == Py_NE ? Looks::at_equality : Looks::at_all;
  const bool plain = (is_scalar(a) || prepare(x, false)) && (is_scalar(b) || prepare(y, false));
  looks_ = Looks::at_all;
  if (!plain) break_here(Reason::callback, kCompareSigns[how]);
  calls_back.start();
  return canonical(Owned::take(PyObject_RichCompare(x.get(), y.get(), how)));
}

bool Evaluator::is_same(PyObject* a, PyObject* b) {
  a = origins.canonical(a);
  b = origins.canonical(b);
  if (a != b && (sym_number(a) || sym_number(b))) {  // small ints are one object each
    const bool numbers = (sym_number(a) || is_number_or_text(a)) && (sym_number(b) || is_number_or_text(b));
    return numbers && fixed_number(a).get() == fixed_number(b).get();
  }
  const SourceId x = origins.source_of(a), y = origins.source_of(b);
  if (a == b) {
    return true;  // seen as one object through two sources: guarded where the second was read
  }
  if (x != kNoSource && y != kNoSource) {
    origins.sources().guard(x, FactKind::other_object, nullptr, y);
  } else if ((x != kNoSource) != (y != kNoSource)) {
    PyObject* outside = x != kNoSource ? a : b;
    PyObject* other = x != kNoSource ? b : a;
    // None and other constants were guarded where they were read; an outside object is none of them.
    if (is_immutable(other)) origins.guard_type(outside);
  }
  return false;
}

bool Evaluator::truth(PyObject* o) {
  if (o == Py_True || o == Py_False || o == Py_None) return o == Py_True;
  if (is_number_or_text(o)) return is_true(o);
  if (sym_number(o)) return is_true(o);  // a relation that guards check
  if (recorder.is_fake(o)) break_here(Reason::tensor_truth);
  want_now(o);
  Origins::Entry* e = origins.find(o);
  if (e != nullptr) {
    origins.guard_type(o);
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o) || PyDict_CheckExact(o) || PyAnySet_CheckExact(o))
      return length(o) != 0;
  }
  if (is_heap_instance(o) && !PyType_Check(o)) {
    if (Owned m = python_special(o, name_of("__bool__"))) {
      const Owned result = call(m.get(), {});
      if (!PyBool_Check(result.get()))
        raise(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(result.get())->tp_name);
      return result.get() == Py_True;
    }
    if (_PyType_Lookup(Py_TYPE(o), name_of("__len__")) != nullptr) return length(o) != 0;
    if (Py_TYPE(o)->tp_as_number == nullptr || Py_TYPE(o)->tp_as_number->nb_bool == nullptr) return true;
    origins.guard_identity(o);
  }
  return is_true(origins.absorb(o));
}

Owned Evaluator::negation(PyObject* o) {
  static PyObject* const negate = operator_function("not_");
  PyObject* const args[] = {o};
  if (later_of(o) || recorder.is_fake(o))
    if (Owned made = call_later(*this, negate, args)) return made;
  return Owned::share(truth(o) ? Py_False : Py_True);
}

Py_ssize_t Evaluator::length(PyObject* o) {
  want_now(o);
  const Owned number = sym_number(o) ? fixed_number(o) : Owned();
  if (number) o = number.get();
  if (recorder.is_fake(o)) {
    static PyObject* const shape_name = interned("shape");
    const Owned shape = recorder.attribute(o, shape_name);
    if (shape && PyTuple_Check(shape.get()) && PyTuple_GET_SIZE(shape.get()) > 0 &&
        sym_number(PyTuple_GET_ITEM(shape.get(), 0))) {  // a size that is not fixed is fixed by this
      const Py_ssize_t n = PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape.get(), 0), PyExc_OverflowError);
      if (n == -1 && PyErr_Occurred()) throw PythonError();
      return n;
    }
  }
  if (is_heap_instance(o) && !recorder.is_fake(o)) {
    if (Owned m = python_special(o, name_of("__len__"))) {
      const Owned n = call(m.get(), {});
      const Py_ssize_t count = PyNumber_AsSsize_t(n.get(), PyExc_OverflowError);
      if (count == -1 && PyErr_Occurred()) throw PythonError();
      if (count < 0) raise(PyExc_ValueError, "__len__() should return >= 0");
      return count;
    }
  }
  Origins::Entry* e = origins.find(o);
  if (e != nullptr && !e->shadow && !e->overlay && origins.can_absorb(o)) {
    origins.guard_length(o);
  } else if (e != nullptr && !recorder.is_fake(o)) {
    o = origins.absorb(o);
    if (origins.outside(o) && !is_immutable(o)) break_here(Reason::unknown_object, Py_TYPE(o)->tp_name);
  }
  const Py_ssize_t n = PyObject_Size(o);
  if (n < 0) throw PythonError();
  return n;
}

bool Evaluator::contains(PyObject* container, PyObject* item) {
  want_now(container);
  if (sym_number(container)) return contains(fixed_number(container).get(), item);
  if (is_heap_instance(container) && !PyType_Check(container)) {
    if (Owned m = python_special(container, name_of("__contains__"))) {
      const Owned result = call(m.get(), Arguments::of({item}));
      return truth(result.get());
    }
    if (python_special(container, name_of("__iter__"))) {
      const Owned iterator = iterate(container);
      while (const Owned one = next(iterator.get())) {
        if (is_same(one.get(), item)) return true;
        const Owned equal = compare(Py_EQ, one.get(), item);
        if (truth(equal.get())) return true;
      }
      return false;
    }
  }
  Origins::Entry* e = origins.find(container);
  if (e != nullptr && Py_IS_TYPE(container, &PyDictProxy_Type) && is_constant(item)) {  // __dict__ of a class
    const int there = PySequence_Contains(container, item);
    check(there);
    origins.guard_type(container);
    origins.sources().guard(origins.sources().add(Step::item, e->source, 0, item),
                            there ? FactKind::present : FactKind::absent);
    return there;
  }
  Owned key = Owned::share(item);
  CallbackScope calls_back(*this);
  prepare_lookup(calls_back, container, key, "in");
  if (PyDict_Check(container) && origins.outside(container)) return origins.dict_contains(container, key.get());
  Owned in = Owned::share(container);
  // Keys of a dict are compared, and nothing else of it is asked, whatever methods its class has.
  const bool of_keys = Py_IS_TYPE(container, &PyDictKeys_Type) || Py_IS_TYPE(container, &PyODictKeys_Type);
  looks_ = Looks::at_equality;
  const bool plain = prepare(in, of_keys || PyDict_Check(container) || PyAnySet_Check(container));
  looks_ = Looks::at_all;
  if (!plain) break_here(Reason::callback, "in");
  calls_back.start();
  const int there = PySequence_Contains(in.get(), key.get());
  check(there);
  return there;
}

Owned Evaluator::subscript(PyObject* container, PyObject* key) {
  if (later_of(container) && !later_of(key)) {
    static PyObject* const getitem = operator_function("getitem");
    if (Owned made = operate_on_arrays(*this, getitem, container, key)) return made;
  }
  want_now(container);
  if (!PyDict_Check(container) || !is_address(key)) want_now(key);
  if (sym_number(container)) return subscript(fixed_number(container).get(), key);
  if (sym_number(key) && !recorder.is_fake(container)) return subscript(container, fixed_number(key).get());
  if (recorder.is_fake(container) || recorder.is_fake(key)) {
    if (recorder.is_fake(container)) {
      static PyObject* const getitem = operator_function("getitem");
      Owned k = Owned::share(key);
      if (!prepare(k, false)) break_here(Reason::callback, "[]");
      PyObject* args[] = {container, k.get()};
      return record(getitem, args, nullptr);
    }
  }
  if (is_heap_instance(container) && !PyType_Check(container)) {
    if (Owned m = python_special(container, name_of("__getitem__"))) return call(m.get(), Arguments::of({key}));
  }
  if (PyType_Check(container)) {
    if (Owned m = python_special(container, name_of("__getitem__"))) return call(m.get(), Arguments::of({key}));
    if (Owned m = find_attribute(container, name_of("__class_getitem__"))) return call(m.get(), Arguments::of({key}));
  }
  Origins::Entry* e = origins.find(container);
  if (PyDict_Check(container)) {
    Owned k = Owned::share(key);
    {
      CallbackScope calls_back(*this);
      prepare_lookup(calls_back, container, k, "[]");
      if (PyObject* found = origins.dict_find(container, k.get())) return Owned::share(found);
    }
    if (!PyDict_CheckExact(container)) {
      if (Owned m = python_special(container, name_of("__missing__"))) return call(m.get(), Arguments::of({key}));
      static PyObject* const factory_name = interned("default_factory");
      if (_PyType_Lookup(Py_TYPE(container), factory_name) != nullptr) {
        PyObject* seen = e == nullptr ? container : origins.absorb(container);
        const Owned factory = Owned::take(PyObject_GenericGetAttr(seen, factory_name));
        if (factory.get() != Py_None) {
          Owned made = call(factory.get(), {});
          CallbackScope calls_back(*this);
          prepare_lookup(calls_back, container, k, "[]");
          origins.dict_store(container, k.get(), made.get());
          return made;
        }
      }
    }
    // KeyError of a tuple shows it whole.
    PyErr_SetObject(PyExc_KeyError, PyTuple_Check(k.get()) ? Owned::take(PyTuple_Pack(1, k.get())).get() : k.get());
    throw PythonError();
  }
  if (e != nullptr && !e->shadow && (PyTuple_Check(container) || PyList_CheckExact(container)) &&
      PyLong_CheckExact(key)) {
    Py_ssize_t i = PyLong_AsSsize_t(key);
    if (i == -1 && PyErr_Occurred()) PyErr_Clear();
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(container);
    origins.guard_type(container);
    if (i < 0 || i >= n) origins.guard_length(container);
    if (i < 0) i += n;
    if (i >= 0 && i < n)
      return origins.wrap(PySequence_Fast_GET_ITEM(container, i),
                          origins.sources().add(Step::element, e->source, static_cast<int32_t>(i)));
  }
  if (e != nullptr && Py_IS_TYPE(container, &PyDictProxy_Type) && is_constant(key)) {  // __dict__ of a class
    const SourceId source = origins.sources().add(Step::item, e->source, 0, key);
    if (PyObject* found = PyObject_GetItem(container, key)) return origins.wrap(Owned::take(found).get(), source);
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) throw PythonError();
    origins.guard_type(container);
    origins.sources().guard(source, FactKind::absent);
    throw PythonError();
  }
  if (is_opaque(container)) break_here(Reason::unknown_object, Py_TYPE(container)->tp_name);
  Owned in = Owned::share(container), k = Owned::share(key);
  if (!prepare(in, true) || !prepare(k, false)) break_here(Reason::callback, "[]");
  return canonical(Owned::take(PyObject_GetItem(in.get(), k.get())));
}

void Evaluator::store_subscript(PyObject* container, PyObject* key, PyObject* value) {
  want_now(container);
  if (!PyDict_Check(container) || !is_address(key)) want_now(key);
  if (sym_number(container)) return store_subscript(fixed_number(container).get(), key, value);
  if (sym_number(key) && !recorder.is_fake(container))
    return store_subscript(container, fixed_number(key).get(), value);
  if (recorder.is_fake(container)) {
    static PyObject* const setitem = operator_function("setitem");
    static PyObject* const delitem = operator_function("delitem");
    Owned k = Owned::share(key);
    if (!prepare(k, false)) break_here(Reason::callback, "[] =");
    PyObject* args[] = {container, k.get(), value};
    if (value != nullptr) want_now(value);
    if (value == nullptr)
      (void)record(delitem, std::span<PyObject* const>(args, 2), nullptr);
    else
      (void)record(setitem, args, nullptr);
    return;
  }
  if (is_heap_instance(container)) {
    if (Owned m = python_special(container, name_of(value == nullptr ? "__delitem__" : "__setitem__"))) {
      (void)call(m.get(), value == nullptr ? Arguments::of({key}) : Arguments::of({key, value}));
      return;
    }
  }
  Owned k = Owned::share(key);
  CallbackScope calls_back(*this);
  if (PyDict_Check(container))
    prepare_lookup(calls_back, container, k, "[] =");
  else if (!prepare(k, false))
    break_here(Reason::callback, "[] =");
  if (PyDict_Check(container)) {
    if (!PyDict_CheckExact(container) && origins.outside(container)) (void)origins.absorb(container);
    origins.dict_store(container, k.get(), value);
    return;
  }
  Owned in = Owned::share(container);
  if (!prepare(in, true)) break_here(Reason::callback, "[] =");
  if (origins.outside(in.get())) break_here(Reason::mutation, Py_TYPE(in.get())->tp_name);
  if (value == nullptr) {
    check(PyObject_DelItem(in.get(), k.get()));
    return;
  }
  Owned v = Owned::share(value);
  if (PySlice_Check(k.get()) && !prepare(v, true)) break_here(Reason::callback, "[] =");
  check(PyObject_SetItem(in.get(), k.get(), v.get()));
}

Owned Evaluator::iterate(PyObject* o) {
  want_now(o);
  if (sym_number(o)) return iterate(fixed_number(o).get());
  if (recorder.is_fake(o)) {
    static PyObject* const unbind =
        Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), "unbind")).give();
    if (tensor_of(o).dim() == 0) raise(PyExc_TypeError, "iteration over a 0-d tensor");
    PyObject* args[] = {o};
    const Owned parts = record(unbind, args, nullptr);
    return Owned::take(PyObject_GetIter(parts.get()));
  }
  if (is_heap_instance(o)) {
    if (Owned m = python_special(o, name_of("__iter__"))) {
      Owned iterator = call(m.get(), {});
      if (Py_TYPE(iterator.get())->tp_iternext == nullptr)
        raise(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'", Py_TYPE(iterator.get())->tp_name);
      return iterator;
    }
    if (python_special(o, name_of("__getitem__"))) {
      static PyObject* const by_index = [] {
        const Owned m = Owned::take(PyImport_ImportModule("sconce._polyfills.of_builtins"));
        return Owned::take(PyObject_GetAttrString(m.get(), "SequenceIterator")).give();
      }();
      return call(by_index, Arguments::of({o}));
    }
  }
  if (origins.outside(o) && Py_TYPE(o)->tp_iter == PyObject_SelfIter && has_items_ahead(o)) {
    origins.guard_type(o);
    return Owned::share(o);
  }
  PyObject* in = origins.absorb(o);
  if (origins.outside(in) && !is_immutable(in)) {
    if (PyType_Check(in)) break_here(Reason::callback, "iteration over a class");
    break_here(Reason::unknown_object, std::string("iteration over ") + Py_TYPE(in)->tp_name);
  }
  return Owned::take(PyObject_GetIter(in));
}

Owned Evaluator::next(PyObject* iterator) {
  if (is_heap_instance(iterator)) {
    if (Owned m = python_special(iterator, name_of("__next__"))) {
      try {
        return call(m.get(), {});
      } catch (const PythonError&) {
        if (interrupt || !PyErr_ExceptionMatches(PyExc_StopIteration)) throw;
        PyErr_Clear();
        return {};
      }
    }
  }
  if (origins.outside(iterator)) {
    bool known = false;
    Owned item = origins.take_item(iterator, known);
    if (known) return item;
    break_here(Reason::unknown_object, std::string("the iterator ") + Py_TYPE(iterator)->tp_name);
  }
  iternextfunc f = Py_TYPE(iterator)->tp_iternext;
  if (f == nullptr) raise(PyExc_TypeError, "'%.200s' object is not an iterator", Py_TYPE(iterator)->tp_name);
  PyObject* item = f(iterator);
  if (item != nullptr) return canonical(Owned::take(item));
  if (PyErr_Occurred()) {
    if (interrupt || !PyErr_ExceptionMatches(PyExc_StopIteration)) throw PythonError();
    PyErr_Clear();
  }
  return {};
}

}  // namespace sconce::python::capture
