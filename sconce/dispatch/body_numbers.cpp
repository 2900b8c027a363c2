#include "sconce/dispatch/body_numbers.h"

#include <cmath>

#include "sconce/base/numbers.h"

namespace sconce::body {
namespace {

using Complex = std::complex<double>;

int64_t as_int(const Value& v) { return v.is_bool() ? int64_t{v.to_bool()} : v.to_int(); }
double as_double(const Value& v) { return v.is_double() ? v.to_double() : static_cast<double>(as_int(v)); }
bool is_whole(const Value& v) { return v.is_int() || v.is_bool(); }

[[noreturn]] void unsupported(Operator op, const Value& a, const Value& b) {
  fail_as(ErrorKind::type, "unsupported operand types for {}: {} and {}", operator_text(op), a.type()->to_string(),
          b.type()->to_string());
}

void check_divisor(bool zero) { SCONCE_CHECK_AS(zero_division, !zero, "division by zero"); }

int64_t floordiv(int64_t a, int64_t b) {
  check_divisor(b == 0);
  return numbers::floor_div(a, b);
}

int64_t mod(int64_t a, int64_t b) {
  check_divisor(b == 0);
  return numbers::floor_mod(a, b);
}

Value int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    check_divisor(base == 0);
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  return numbers::int_pow(base, exponent);
}

int64_t shift(Operator op, int64_t a, int64_t b) {
  SCONCE_CHECK_AS(value, b >= 0, "negative shift count");
  if (op == Operator::shift_right) return a >> std::min<int64_t>(b, 63);
  return b > 63 ? 0 : numbers::shift_left(a, b);
}

Value int_binary(Operator op, const Value& x, const Value& y) {
  const int64_t a = as_int(x), b = as_int(y);
  const bool logic = x.is_bool() && y.is_bool();
  switch (op) {
    case Operator::add:
      return numbers::wrap_add(a, b);
    case Operator::sub:
      return numbers::wrap_sub(a, b);
    case Operator::mul:
      return numbers::wrap_mul(a, b);
    case Operator::div:
      return static_cast<double>(a) / static_cast<double>(b);
    case Operator::floordiv:
      return floordiv(a, b);
    case Operator::mod:
      return mod(a, b);
    case Operator::pow:
      return int_power(a, b);
    case Operator::bit_and:
      return logic ? Value((a & b) != 0) : Value(a & b);
    case Operator::bit_or:
      return logic ? Value((a | b) != 0) : Value(a | b);
    case Operator::bit_xor:
      return logic ? Value((a ^ b) != 0) : Value(a ^ b);
    case Operator::shift_left:
    case Operator::shift_right:
      return shift(op, a, b);
    default:
      unsupported(op, x, y);
  }
}

Value real_binary(Operator op, const Value& x, const Value& y) {
  const double a = as_double(x), b = as_double(y);
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::sub:
      return a - b;
    case Operator::mul:
      return a * b;
    case Operator::div:
      return a / b;
    case Operator::floordiv:
      return numbers::floor_div(a, b);
    case Operator::mod:
      return numbers::floor_mod(a, b);
    case Operator::pow:
      check_divisor(a == 0 && b < 0);
      if (a < 0 && std::isfinite(b) && b != std::floor(b)) return std::pow(Complex(a), Complex(b));
      return std::pow(a, b);
    default:
      unsupported(op, x, y);
  }
}

Value complex_binary(Operator op, const Value& x, const Value& y) {
  const Complex a = x.to_complex(), b = y.to_complex();
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::sub:
      return a - b;
    case Operator::mul:
      return a * b;
    case Operator::div:
      check_divisor(b == Complex());
      return a / b;
    case Operator::pow:
      return b == Complex() ? Complex(1) : a == Complex() ? Complex() : std::pow(a, b);
    default:
      unsupported(op, x, y);
  }
}

Value repeated(const Value& list, int64_t times) {
  std::vector<Value> out;
  const std::vector<Value> items = items_of(list);
  for (int64_t i = 0; i < times; ++i) out.insert(out.end(), items.begin(), items.end());
  if (list.is_tuple()) return make_ref<Tuple>(std::move(out));
  Ref<List> made = make_ref<List>(list.to_list().element_type());
  for (Value& item : out) made->append(std::move(item));
  return made;
}

Value joined(const Value& a, const Value& b) {
  std::vector<Value> items = items_of(a);
  for (Value& item : items_of(b)) items.push_back(std::move(item));
  return a.is_tuple() ? Value(make_ref<Tuple>(std::move(items))) : list_of(std::move(items));
}

// -1, 0 or 1; nothing where a NaN is compared.
std::optional<int> order(Operator op, const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (is_whole(a) && is_whole(b)) return sign(as_int(a), as_int(b));
  if (a.is_number() && b.is_number() && !a.is_complex() && !b.is_complex()) {
    if (std::isnan(as_double(a)) || std::isnan(as_double(b))) return std::nullopt;
    return sign(as_double(a), as_double(b));
  }
  if (a.is_string() && b.is_string()) return sign(a.to_string_ref(), b.to_string_ref());
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    const std::vector<Value> x = items_of(a), y = items_of(b);
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!x[i].equals(y[i])) return order(op, x[i], y[i]);
    }
    return sign(x.size(), y.size());
  }
  unsupported(op, a, b);
}

bool contains(const Value& container, const Value& item) {
  if (container.is_string() && item.is_string()) {
    return container.to_string_ref().find(item.to_string_ref()) != std::string::npos;
  }
  if (container.is_dict()) return container.to_dict().find(item) != nullptr;
  if (!container.is_list() && !container.is_tuple()) unsupported(Operator::in, item, container);
  for (const Value& v : items_of(container)) {
    if (v.is_same(item) || v.equals(item)) return true;
  }
  return false;
}

}  // namespace

Value plain_binary(Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_complex() || b.is_complex()) return complex_binary(op, a, b);
    if (a.is_double() || b.is_double()) return real_binary(op, a, b);
    return int_binary(op, a, b);
  }
  const auto is_run = [](const Value& v) { return v.is_list() || v.is_tuple(); };
  if (op == Operator::add) {
    if (a.is_string() && b.is_string()) return a.to_string_ref() + b.to_string_ref();
    if (is_run(a) && a.tag() == b.tag()) return joined(a, b);
  }
  if (op == Operator::mul && is_run(a) && is_whole(b)) return repeated(a, as_int(b));
  if (op == Operator::mul && is_whole(a) && is_run(b)) return repeated(b, as_int(a));
  unsupported(op, a, b);
}

Value plain_unary(Operator op, const Value& a) {
  if (is_whole(a)) {
    if (op == Operator::plus) return as_int(a);
    if (op == Operator::invert) return ~as_int(a);
    return numbers::wrap_neg(as_int(a));
  }
  if (op != Operator::invert && a.is_double()) return op == Operator::neg ? -a.to_double() : a.to_double();
  if (op != Operator::invert && a.is_complex()) return op == Operator::neg ? -a.to_complex() : a.to_complex();
  fail_as(ErrorKind::type, "unsupported operand type for {}: {}", operator_text(op), a.type()->to_string());
}

bool plain_compare(Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::eq:
      return a.equals(b);
    case Operator::ne:
      return !a.equals(b);
    case Operator::in:
      return contains(b, a);
    case Operator::not_in:
      return !contains(b, a);
    default:
      break;
  }
  const std::optional<int> o = order(op, a, b);
  if (!o) return false;
  switch (op) {
    case Operator::lt:
      return *o < 0;
    case Operator::le:
      return *o <= 0;
    case Operator::gt:
      return *o > 0;
    default:
      return *o >= 0;
  }
}

bool truth(const Value& v) {
  switch (v.tag()) {
    case Tag::none:
      return false;
    case Tag::boolean:
      return v.to_bool();
    case Tag::integer:
      return v.to_int() != 0;
    case Tag::real:
      return v.to_double() != 0;
    case Tag::complex:
      return v.to_complex() != Complex();
    case Tag::string:
      return !v.to_string_ref().empty();
    case Tag::list:
      return !v.to_list().empty();
    case Tag::tuple:
      return !v.to_tuple().items.empty();
    case Tag::dict:
      return v.to_dict().size() != 0;
    case Tag::tensor:
      SCONCE_CHECK(v.to_tensor().numel() == 1, "Boolean value of Tensor with {} is ambiguous",
                   v.to_tensor().numel() == 0 ? "no values" : "more than one value");
      return item_of(v.to_tensor()).to_bool();
    default:
      return true;
  }
}

size_t item_index(const Value& index, size_t size) {
  SCONCE_CHECK_AS(type, is_whole(index), "an index must be an int, got {}", index.type()->to_string());
  const int64_t n = static_cast<int64_t>(size), i = as_int(index);
  SCONCE_CHECK_AS(index, i >= -n && i < n, "index {} is out of range for {} items", i, n);
  return static_cast<size_t>(i < 0 ? i + n : i);
}

std::vector<Value> items_of(const Value& v) {
  if (v.is_tuple()) return v.to_tuple().items;
  return v.to_list().values();
}

Value list_of(std::vector<Value> items) {
  TypePtr element = items.empty() ? tensor_type() : items[0].type();
  for (const Value& item : items) {
    const TypePtr type = item.type();
    if (is_subtype(type, element)) continue;
    if (is_subtype(element, type)) {
      element = type;
    } else if (type->is(TypeKind::none) || element->is(TypeKind::none)) {
      element = optional_type(type->is(TypeKind::none) ? element : type);
    } else {
      element = any_type();
    }
  }
  Ref<List> list = make_ref<List>(element);
  list->reserve(items.size());
  for (Value& item : items) list->append(std::move(item));
  return list;
}

}  // namespace sconce::body
