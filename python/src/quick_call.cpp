#include "quick_call.h"

#include "long_call.h"
#include "sconce/base/error.h"
#include "sconce/base/inline_vector.h"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

constexpr size_t kMostParameters = 12;
constexpr int64_t kLeastWork = 512;  // elements for which no operator takes long

Take take_of(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::tensor:
      return Take::tensor;
    case TypeKind::number:
      return Take::number;
    case TypeKind::int_:
    case TypeKind::sym_int:
      return Take::integer;
    case TypeKind::float_:
    case TypeKind::sym_float:
      return Take::real;
    case TypeKind::bool_:
    case TypeKind::sym_bool:
      return Take::boolean;
    case TypeKind::scalar_type:
      return Take::dtype;
    case TypeKind::list:
      return take_of(type->element()) == Take::integer ? Take::integers : Take::other;
    default:
      return Take::other;
  }
}

PyTypeObject* parameter_class = nullptr;

bool is_small_int(PyObject* o) {
  if (!PyLong_CheckExact(o)) return false;
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Long_IsCompact(reinterpret_cast<PyLongObject*>(o));
#else
  return Py_SIZE(o) >= -1 && Py_SIZE(o) <= 1;
#endif
}
int64_t small_int(PyObject* o) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Long_CompactValue(reinterpret_cast<PyLongObject*>(o));
#else
  return Py_SIZE(o) * static_cast<int64_t>(reinterpret_cast<PyLongObject*>(o)->ob_digit[0]);
#endif
}

using Fits = QuickOverload::Outcome;
constexpr Fits kYes = Fits::done, kNo = Fits::does_not_fit, kUnusual = Fits::unusual;

bool is_list_of_ints(PyObject* o) {
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (!is_small_int(PySequence_Fast_GET_ITEM(o, i))) return false;
  }
  return true;
}

// `numbers`: they may stand for tensors.
Fits fits(PyObject* o, const Parameter& p, bool numbers) {
  if (o == Py_None) return p.optional ? kYes : p.take == Take::other ? kUnusual : kNo;
  const bool number = PyFloat_CheckExact(o) || PyLong_CheckExact(o);
  switch (p.take) {
    case Take::tensor:
      if (is_plain_tensor(o)) return kYes;
      return number && !numbers ? kNo : kUnusual;
    case Take::number:
      return PyFloat_CheckExact(o) || PyBool_Check(o) || is_small_int(o) ? kYes : kUnusual;
    case Take::integer:
      return is_small_int(o) ? kYes : PyFloat_CheckExact(o) || PyBool_Check(o) ? kNo : kUnusual;
    case Take::real:
      return PyFloat_CheckExact(o) || is_small_int(o) ? kYes : kUnusual;
    case Take::boolean:
      return PyBool_Check(o) ? kYes : number ? kNo : kUnusual;
    case Take::dtype:
      return is_dtype(o) ? kYes : number || PyBool_Check(o) ? kNo : kUnusual;
    case Take::integers:
      return is_list_of_ints(o) || (p.argument->fixed_size && is_small_int(o)) ? kYes : kUnusual;
    default:
      return kUnusual;
  }
}

Scalar scalar_of(PyObject* o, const Parameter& p) {
  if (o == nullptr) return p.argument->default_value->to_scalar();
  if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
  if (PyBool_Check(o)) return o == Py_True;
  return small_int(o);
}
int64_t int_of(PyObject* o, const Parameter& p) {
  return o == nullptr ? p.argument->default_value->to_int() : small_int(o);
}
bool bool_of(PyObject* o, const Parameter& p) {
  return o == nullptr ? p.argument->default_value->to_bool() : o == Py_True;
}
std::optional<DType> dtype_of(PyObject* o, const Parameter& p) {
  if (o != nullptr && o != Py_None) return static_cast<DType>(number_of(o));
  if (o == nullptr && !p.argument->default_value->is_none())
    return static_cast<DType>(p.argument->default_value->to_int());
  return std::nullopt;
}
const Tensor& optional_tensor(PyObject* o) {
  static const Tensor none;
  return o == nullptr || o == Py_None ? none : tensor_of(o);
}

// The value of an object that fits.
void fill(PyObject* o, const Parameter& p, Value& out) {
  switch (p.take) {
    case Take::tensor:
      out = Value(tensor_of(o));
      return;
    case Take::integer:
      out = Value(small_int(o));
      return;
    case Take::boolean:
      out = Value(o == Py_True);
      return;
    case Take::number:
      out = Value(scalar_of(o, p));
      return;
    case Take::real:
      out = Value(PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : static_cast<double>(small_int(o)));
      return;
    case Take::dtype:
      out = Value(number_of(o));
      return;
    default:
      SCONCE_CHECK(convert(o, p.argument->type, p.argument->fixed_size, out), "argument '{}' does not fit",
                   p.argument->name);
  }
}

// The integers of an argument, on the stack.
class Ints {
 public:
  Ints(PyObject* o, const Parameter& p, std::span<PyObject* const> rest) {
    if (!rest.empty()) {
      fill(rest.data(), rest.size());
    } else if (o != nullptr && PyLong_CheckExact(o)) {
      ints_.resize(static_cast<size_t>(*p.argument->fixed_size));
      for (int64_t& v : ints_) v = small_int(o);
      list_ = {ints_.data(), ints_.size()};
    } else if (o != nullptr && o != Py_None) {
      fill(PySequence_Fast_ITEMS(o), static_cast<size_t>(PySequence_Fast_GET_SIZE(o)));
    } else if (o == nullptr && !p.argument->default_value->is_none()) {
      list_ = p.argument->default_value->to_list().ints();
    } else {
      is_none_ = true;
    }
  }
  IntList list() const { return list_; }
  std::optional<IntList> optional() const { return is_none_ ? std::nullopt : std::optional(list_); }

 private:
  void fill(PyObject* const* items, size_t n) {
    ints_.resize(n);
    for (size_t i = 0; i < n; ++i) ints_.data()[i] = small_int(items[i]);
    list_ = {ints_.data(), n};
  }
  InlineVector<int64_t, 8> ints_;
  IntList list_;
  bool is_none_ = false;
};

}  // namespace

bool is_plain_tensor(PyObject* o) { return Py_IS_TYPE(o, &python::tensor_type) || Py_IS_TYPE(o, parameter_class); }
void set_parameter_class(PyObject* type) { parameter_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(type)); }

double work_of_call(WorkFunction work, const Value* values, size_t count) {
  try {
    return work(values, count);
  } catch (const Error&) {  // of arguments that the operator will refuse
    return 0;
  }
}

QuickOverload::QuickOverload(const Op& op) : op_(&op), shape_(call_shape(op)) {
  if (const WorkFunction work = terms_of(op).work; work != work_of_elements) work_ = work;
  const std::vector<Argument>& arguments = op.schema().arguments;
  if (arguments.size() > kMostParameters || op.schema().is_vararg) return;
  parameters_ = std::make_unique<Parameter[]>(arguments.size());
  count_ = static_cast<uint8_t>(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = arguments[i];
    Parameter& p = parameters_[i];
    p.optional = a.type->is(TypeKind::optional);
    p.take = take_of(p.optional ? a.type->element() : a.type);
    if (p.take == Take::integers && p.optional && a.type->element()->is(TypeKind::optional)) p.take = Take::other;
    p.keyword_only = a.keyword_only;
    p.has_default = a.default_value.has_value();
    p.argument = &a;
    p.name = PyUnicode_InternFromString(a.name.c_str());
    if (p.name == nullptr) throw PythonError();
    if (!a.keyword_only) positional_ = static_cast<uint8_t>(i + 1);
    const bool last = i + 1 == arguments.size() || arguments[i + 1].keyword_only;
    p.rest = p.take == Take::integers && !p.optional && last && i <= 1;
  }
  takes_pair_ = shape_ == CallShape::tt || (shape_ == CallShape::tts && parameters_[2].has_default);
  if (shape_ == CallShape::tts && takes_pair_) third_ = arguments[2].default_value->to_scalar();
}

Owned QuickOverload::call_pair(PyObject* a, PyObject* b) const {
  const Tensor &x = tensor_of(a), &y = tensor_of(b);
  double work = static_cast<double>(x.numel() + y.numel());
  if (work_ != nullptr && work >= static_cast<double>(kLeastWork)) {
    PyObject* const slots[] = {a, b, nullptr};
    work = work_of(slots);
  }
  return wrap(
      run_long(work, [&] { return shape_ == CallShape::tt ? call_tt(x, y, *op_) : call_tts(x, y, third_, *op_); }));
}

QuickOverload::Outcome QuickOverload::call(const Given& given, Face face, Owned& result) const {
  const bool takes_numbers = face == Face::operator_;
  if (!parameters_) return kUnusual;
  const size_t n = given.positional.size(), keywords = given.keywords();
  PyObject* slots[kMostParameters];
  std::span<PyObject* const> rest;
  if (keywords == 0 && n == 2 && is_plain_tensor(given.positional[0])) {  // what most calls are
    PyObject* second = given.positional[1];
    const bool tensors = is_plain_tensor(second);
    const bool number = !tensors && (PyFloat_CheckExact(second) || is_small_int(second));
    const bool fits_tensor = shape_ == CallShape::tt || (shape_ == CallShape::tts && parameters_[2].has_default);
    const bool fits_number = shape_ == CallShape::ts || (shape_ == CallShape::tss && parameters_[2].has_default);
    if ((tensors && fits_tensor) || (number && fits_number)) {
      slots[0] = given.positional[0];
      slots[1] = second;
      slots[2] = nullptr;
      result = run(slots, rest, face);
      return kYes;
    }
    if (number && fits_tensor && !takes_numbers) return kNo;
  }
  size_t used = 0, position = 0;
  for (size_t i = 0; i < count_; ++i) {
    const Parameter& p = parameters_[i];
    PyObject* o = nullptr;
    if (!p.keyword_only && position < n) {
      o = given.positional[position];
      if (p.rest && PyLong_CheckExact(o)) {
        rest = given.positional.subspan(position);
        if (p.argument->fixed_size && rest.size() == 1) {  // one for all
          rest = {};
        } else {
          for (PyObject* item : rest) {
            if (!is_small_int(item)) return kUnusual;
          }
          position = n;
          slots[i] = nullptr;
          continue;
        }
      }
      ++position;
    } else {
      for (size_t k = 0; k < keywords; ++k) {
        if (given.name(k) != p.name) continue;
        o = given.named[k];
        ++used;
        break;
      }
    }
    slots[i] = o;
    if (o == nullptr) {
      // A keyword that is left may be another spelling of this one.
      if (!p.has_default) return keywords == used ? kNo : kUnusual;
      continue;
    }
    if (const Fits fit = fits(o, p, takes_numbers); fit != kYes) return fit;
  }
  if (position < n) return kNo;
  if (used != keywords) return kUnusual;
  result = run(slots, rest, face);
  return kYes;
}

double QuickOverload::work_of(PyObject* const* slots) const {
  int64_t elements = tensor_of(slots[0]).numel();
  const bool two = count_ > 1 && parameters_[1].take == Take::tensor && slots[1] != nullptr && slots[1] != Py_None;
  if (two) elements += tensor_of(slots[1]).numel();
  if (work_ == nullptr || !two || elements < kLeastWork) [[likely]]
    return static_cast<double>(elements);
  InlineVector<Value, 4> values(count_);
  for (size_t i = 0; i < count_; ++i) {
    if (slots[i] != nullptr && parameters_[i].take == Take::tensor && slots[i] != Py_None)
      values.data()[i] = Value(tensor_of(slots[i]));
    else if (slots[i] == nullptr)
      values.data()[i] = *parameters_[i].argument->default_value;
    else
      return static_cast<double>(elements);
  }
  return work_of_call(work_, values.data(), count_);
}

Owned QuickOverload::run(PyObject* const* slots, std::span<PyObject* const> rest, Face face) const {
  const Parameter* p = parameters_.get();
  const auto tensor = [&](size_t i) -> const Tensor& { return tensor_of(slots[i]); };
  if (shape_ == CallShape::none) {
    InlineVector<Value, 8> values(count_);
    for (size_t i = 0; i < count_; ++i) {
      if (!rest.empty() && p[i].rest) {
        auto list = make_ref<List>(p[i].argument->type->element());
        for (PyObject* item : rest) list->append(Value(small_int(item)));
        values.data()[i] = Value(std::move(list));
      } else if (slots[i] == nullptr) {
        values.data()[i] = *p[i].argument->default_value;
      } else if (slots[i] != Py_None) {
        fill(slots[i], p[i], values.data()[i]);
      }
    }
    return call_with_values(*op_, values.data(), face);
  }
  const double work = work_of(slots);
  const auto made = [&](auto&& f) { return wrap(run_long(work, f)); };
  const auto written = [&](auto&& f) {
    run_long(work, f);
    return Owned::share(slots[0]);
  };
  const auto scalar = [&](size_t i) { return scalar_of(slots[i], p[i]); };
  const auto integer = [&](size_t i) { return int_of(slots[i], p[i]); };
  const auto ints = [&](size_t i) { return Ints(slots[i], p[i], rest); };
  const Op& op = *op_;
  switch (shape_) {
    case CallShape::t:
      return made([&] { return call_t(tensor(0), op); });
    case CallShape::tt:
      return made([&] { return call_tt(tensor(0), tensor(1), op); });
    case CallShape::ttt:
      return made([&] { return call_ttt(tensor(0), tensor(1), tensor(2), op); });
    case CallShape::tto:
      return made([&] { return call_tto(tensor(0), tensor(1), optional_tensor(slots[2]), op); });
    case CallShape::ts: {
      const Scalar b = scalar(1);
      return made([&] { return call_ts(tensor(0), b, op); });
    }
    case CallShape::tss: {
      const Scalar b = scalar(1), c = scalar(2);
      return made([&] { return call_tss(tensor(0), b, c, op); });
    }
    case CallShape::tts: {
      const Scalar c = scalar(2);
      return made([&] { return call_tts(tensor(0), tensor(1), c, op); });
    }
    case CallShape::ti: {
      const int64_t b = integer(1);
      return made([&] { return call_ti(tensor(0), b, op); });
    }
    case CallShape::tii: {
      const int64_t b = integer(1), c = integer(2);
      return made([&] { return call_tii(tensor(0), b, c, op); });
    }
    case CallShape::tb: {
      const bool b = bool_of(slots[1], p[1]);
      return made([&] { return call_tb(tensor(0), b, op); });
    }
    case CallShape::tl: {
      const Ints b = ints(1);
      return made([&] { return call_tl(tensor(0), b.list(), op); });
    }
    case CallShape::td: {
      const std::optional<DType> b = dtype_of(slots[1], p[1]);
      return made([&] { return call_td(tensor(0), b, op); });
    }
    case CallShape::tid: {
      const int64_t b = integer(1);
      const std::optional<DType> c = dtype_of(slots[2], p[2]);
      return made([&] { return call_tid(tensor(0), b, c, op); });
    }
    case CallShape::tlb: {
      const Ints b = ints(1);
      const bool c = bool_of(slots[2], p[2]);
      return made([&] { return call_tlb(tensor(0), b.list(), c, op); });
    }
    case CallShape::tLbd: {
      const Ints b = ints(1);
      const bool c = bool_of(slots[2], p[2]);
      const std::optional<DType> d = dtype_of(slots[3], p[3]);
      return made([&] { return call_tLbd(tensor(0), b.optional(), c, d, op); });
    }
    case CallShape::to_t:
      return written([&] { call_to_t(tensor(0), op); });
    case CallShape::to_tt:
      return written([&] { call_to_tt(tensor(0), tensor(1), op); });
    case CallShape::to_tts: {
      const Scalar c = scalar(2);
      return written([&] { call_to_tts(tensor(0), tensor(1), c, op); });
    }
    case CallShape::to_ts: {
      const Scalar b = scalar(1);
      return written([&] { call_to_ts(tensor(0), b, op); });
    }
    case CallShape::to_tss: {
      const Scalar b = scalar(1), c = scalar(2);
      return written([&] { call_to_tss(tensor(0), b, c, op); });
    }
    case CallShape::none:
      break;
  }
  fail("a call of {} has no known shape", op.qualified_name());
}

}  // namespace sconce::python
