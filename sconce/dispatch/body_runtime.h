// Body runtime: the operators and functions of the script language as C++, which the generator's translations of
// bodies, formulas, shape rules and checks of the operator table call. The same name is overloaded for numbers, lists
// and tensors, so that opgen/script.py needs no type inference. Programs in the script language do not come here: the
// front end (sconce/frontend/script/) compiles those to graphs.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::body {

using Complex = std::complex<double>;
template <class T>
concept Real = std::is_arithmetic_v<T>;
template <class T>
concept Number = Real<T> || std::is_same_v<T, Complex>;
template <class A, class B>
concept EitherComplex = Number<A> && Number<B> && (std::is_same_v<A, Complex> || std::is_same_v<B, Complex>);

template <Number A>
Complex to_complex(A a) {
  if constexpr (Real<A>)
    return static_cast<double>(a);
  else
    return a;
}

// Arithmetic of numbers (base/numbers.h).
inline int64_t add(int64_t a, int64_t b) { return numbers::wrap_add(a, b); }
inline int64_t sub(int64_t a, int64_t b) { return numbers::wrap_sub(a, b); }
inline int64_t mul(int64_t a, int64_t b) { return numbers::wrap_mul(a, b); }
template <Real A, Real B>
  requires(std::is_floating_point_v<A> || std::is_floating_point_v<B>)
double add(A a, B b) {
  return static_cast<double>(a) + static_cast<double>(b);
}
template <Real A, Real B>
  requires(std::is_floating_point_v<A> || std::is_floating_point_v<B>)
double sub(A a, B b) {
  return static_cast<double>(a) - static_cast<double>(b);
}
template <Real A, Real B>
  requires(std::is_floating_point_v<A> || std::is_floating_point_v<B>)
double mul(A a, B b) {
  return static_cast<double>(a) * static_cast<double>(b);
}
template <Real A, Real B>
double div(A a, B b) {
  return static_cast<double>(a) / static_cast<double>(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
Complex add(A a, B b) {
  return to_complex(a) + to_complex(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
Complex sub(A a, B b) {
  return to_complex(a) - to_complex(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
Complex mul(A a, B b) {
  return to_complex(a) * to_complex(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
Complex div(A a, B b) {
  return to_complex(a) / to_complex(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
Complex pow(A a, B b) {
  return std::pow(to_complex(a), to_complex(b));
}
inline int64_t floordiv(int64_t a, int64_t b) { return numbers::checked_floor_div(a, b); }
inline int64_t mod(int64_t a, int64_t b) { return numbers::checked_floor_mod(a, b); }
inline double floordiv(double a, double b) { return numbers::floor_div(a, b); }
inline double mod(double a, double b) { return numbers::floor_mod(a, b); }
inline double floordiv(double a, int64_t b) { return floordiv(a, static_cast<double>(b)); }
inline double floordiv(int64_t a, double b) { return floordiv(static_cast<double>(a), b); }
inline double mod(double a, int64_t b) { return mod(a, static_cast<double>(b)); }
inline double mod(int64_t a, double b) { return mod(static_cast<double>(a), b); }
template <Real A, Real B>
double pow(A a, B b) {
  return numbers::float_pow(static_cast<double>(a), static_cast<double>(b));
}
using numbers::int_pow;
template <Number A>
A neg(A a) {
  if constexpr (std::is_integral_v<A>)
    return numbers::wrap_neg(static_cast<int64_t>(a));
  else
    return -a;
}
inline int64_t bit_and(int64_t a, int64_t b) { return a & b; }
inline int64_t bit_or(int64_t a, int64_t b) { return a | b; }
inline int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }
inline bool bit_and(bool a, bool b) { return a && b; }
inline bool bit_or(bool a, bool b) { return a || b; }
inline bool bit_xor(bool a, bool b) { return a != b; }
inline int64_t invert(int64_t a) { return ~a; }

// Functions of numbers; ceil and floor of a float are ints, as Python's math.ceil and math.floor.
#define SCONCE_BODY_FUNCTION(name)                        \
  template <Real A>                                       \
  double name(A a) {                                      \
    return std::name(static_cast<double>(a));             \
  }                                                       \
  inline Complex name(Complex a) { return std::name(a); } \
  inline Scalar name(const Scalar& a) {                   \
    if (a.is_complex()) return std::name(a.to_complex()); \
    return std::name(a.to_double());                      \
  }
SCONCE_BODY_FUNCTION(exp)
SCONCE_BODY_FUNCTION(log)
SCONCE_BODY_FUNCTION(sqrt)
SCONCE_BODY_FUNCTION(sin)
SCONCE_BODY_FUNCTION(cos)
SCONCE_BODY_FUNCTION(tan)
SCONCE_BODY_FUNCTION(tanh)
#undef SCONCE_BODY_FUNCTION
int64_t ceil(double a);
int64_t floor(double a);
inline int64_t ceil(int64_t a) { return a; }
inline int64_t floor(int64_t a) { return a; }
inline Scalar ceil(const Scalar& a) { return a.is_real() ? Scalar(ceil(a.to_double())) : a; }
inline Scalar floor(const Scalar& a) { return a.is_real() ? Scalar(floor(a.to_double())) : a; }
template <Real A, Real B>
double fmod(A a, B b) {
  return std::fmod(static_cast<double>(a), static_cast<double>(b));
}
inline double fmod(const Scalar& a, const Scalar& b) { return std::fmod(a.to_double(), b.to_double()); }
using numbers::range_length;

// Arithmetic of Scalars: the type of the result is the wider of the two.
Scalar add(const Scalar& a, const Scalar& b);
Scalar sub(const Scalar& a, const Scalar& b);
Scalar mul(const Scalar& a, const Scalar& b);
double div(const Scalar& a, const Scalar& b);
Scalar floordiv(const Scalar& a, const Scalar& b);
Scalar mod(const Scalar& a, const Scalar& b);
double pow(const Scalar& a, const Scalar& b);

// Scalars that an operator was given keep their type.
inline bool lt(const Scalar& a, const Scalar& b) { return a.to_double() < b.to_double(); }
inline bool gt(const Scalar& a, const Scalar& b) { return a.to_double() > b.to_double(); }
inline bool le(const Scalar& a, const Scalar& b) { return a.to_double() <= b.to_double(); }
inline bool ge(const Scalar& a, const Scalar& b) { return a.to_double() >= b.to_double(); }
inline bool eq(const Scalar& a, const Scalar& b) { return a.to_complex() == b.to_complex(); }
inline bool ne(const Scalar& a, const Scalar& b) { return !eq(a, b); }
inline Scalar neg(const Scalar& a) { return -a; }

template <Real A, Real B>
bool eq(A a, B b) {
  return a == b;
}
template <Real A, Real B>
bool ne(A a, B b) {
  return a != b;
}
template <class A, class B>
  requires EitherComplex<A, B>
bool eq(A a, B b) {
  return to_complex(a) == to_complex(b);
}
template <class A, class B>
  requires EitherComplex<A, B>
bool ne(A a, B b) {
  return to_complex(a) != to_complex(b);
}
template <Real A, Real B>
bool lt(A a, B b) {
  return a < b;
}
template <Real A, Real B>
bool le(A a, B b) {
  return a <= b;
}
template <Real A, Real B>
bool gt(A a, B b) {
  return a > b;
}
template <Real A, Real B>
bool ge(A a, B b) {
  return a >= b;
}
inline bool eq(std::string_view a, std::string_view b) { return a == b; }
inline bool ne(std::string_view a, std::string_view b) { return a != b; }
inline bool lt(std::string_view a, std::string_view b) { return a < b; }
inline bool le(std::string_view a, std::string_view b) { return a <= b; }
inline bool gt(std::string_view a, std::string_view b) { return a > b; }
inline bool ge(std::string_view a, std::string_view b) { return a >= b; }
inline bool eq(const std::optional<std::string_view>& a, std::string_view b) { return a == b; }
inline bool eq(DType a, DType b) { return a == b; }
inline bool ne(DType a, DType b) { return a != b; }
inline bool eq(Device a, Device b) { return a == b; }
inline bool ne(Device a, Device b) { return !(a == b); }
inline bool eq(IntList a, IntList b) { return a == b; }
inline bool ne(IntList a, IntList b) { return !(a == b); }

// Between tensors, and tensors and numbers: aten::add, aten::mul, ...
#define SCONCE_TENSOR_BINARY(name, text, stem, op, eager, augmented, in_place, reversed) \
  Tensor name(const Tensor& a, const Tensor& b);                                         \
  Tensor name(const Tensor& a, const Scalar& b);                                         \
  Tensor name(const Scalar& a, const Tensor& b);
#define SCONCE_TENSOR_UNARY(name, text, stem, op, eager) Tensor name(const Tensor& a);
#include "sconce/base/operators.def"

// None
inline bool is_none(const Tensor& t) { return !t.defined(); }
inline bool is_none(const Generator& g) { return !g.defined(); }
template <class T>
bool is_none(const std::optional<T>& v) {
  return !v.has_value();
}
template <class T>
bool is_set(const T& v) {
  return !is_none(v);
}
inline std::optional<Dims> copied(const std::optional<IntList>& v) {
  if (!v) return std::nullopt;
  return Dims(*v);
}

// Lists
template <class... T>
  requires(std::is_integral_v<std::remove_cvref_t<T>> && ...)
Dims list_of(T... items) {
  return Dims({static_cast<int64_t>(items)...});
}
template <class... T>
  requires(sizeof...(T) > 0 && (std::is_same_v<std::remove_cvref_t<T>, Tensor> && ...))
std::vector<Tensor> list_of(const T&... items) {
  return {items...};
}
inline int64_t len(IntList list) { return static_cast<int64_t>(list.size()); }
inline int64_t len(TensorList list) { return static_cast<int64_t>(list.size()); }
template <class List>
decltype(auto) item_of(const List& list, int64_t i) {
  const auto n = static_cast<int64_t>(list.size());
  SCONCE_CHECK_AS(index, -n <= i && i < n, "list index out of range: {} of {}", i, n);
  return list[static_cast<size_t>(i < 0 ? i + n : i)];
}
inline Dims slice_of(IntList list, int64_t from, int64_t to) {
  const auto n = static_cast<int64_t>(list.size());
  if (from < 0) from = std::max<int64_t>(from + n, 0);
  if (to < 0) to += n;
  from = std::min(from, n);
  to = std::clamp(to, from, n);
  return Dims(list.slice(static_cast<size_t>(from), static_cast<size_t>(to - from)));
}
inline std::vector<Tensor> slice_of(TensorList list, int64_t from, int64_t to) {
  const auto n = static_cast<int64_t>(list.size());
  if (from < 0) from = std::max<int64_t>(from + n, 0);
  if (to < 0) to += n;
  from = std::min(from, n);
  to = std::clamp(to, from, n);
  return list.slice(static_cast<size_t>(from), static_cast<size_t>(to - from)).vec();
}
inline Dims add(IntList a, IntList b) {
  Dims out(a);
  out.append(b);
  return out;
}
inline Dims mul(IntList a, int64_t times) {
  Dims out;
  for (int64_t i = 0; i < times; ++i) out.append(a);
  return out;
}
inline void append(Dims& list, int64_t v) { list.push_back(v); }
inline void append(std::vector<Tensor>& list, Tensor v) { list.push_back(std::move(v)); }
inline bool contains(IntList list, int64_t v) {
  for (int64_t item : list) {
    if (item == v) return true;
  }
  return false;
}

// Functions
template <Number A>
int64_t int_(A a) {
  if constexpr (std::is_floating_point_v<A>)
    return numbers::to_integer<int64_t>(a);
  else
    return static_cast<int64_t>(a);
}
inline int64_t int_(const Scalar& a) { return a.to_int(); }
template <Number A>
double float_(A a) {
  return static_cast<double>(a);
}
inline double float_(const Scalar& a) { return a.to_double(); }
inline bool bool_(const Scalar& a) { return a.to_bool(); }
template <Real A>
bool bool_(A a) {
  return a != 0;
}
template <Real A, Real B>
auto min(A a, B b) {
  return b < a ? b : a;
}
template <Real A, Real B>
auto max(A a, B b) {
  return a < b ? b : a;
}
template <Real A>
A abs(A a) {
  return a < 0 ? static_cast<A>(neg(a)) : a;
}
inline int64_t prod(IntList list) {
  return std::accumulate(list.begin(), list.end(), int64_t{1}, [](int64_t a, int64_t b) { return mul(a, b); });
}
inline int64_t sum(IntList list) {
  return std::accumulate(list.begin(), list.end(), int64_t{0}, [](int64_t a, int64_t b) { return add(a, b); });
}
inline Dims broadcast_shapes(IntList a, IntList b) { return broadcast_sizes(a, b); }
inline int64_t wrap_dim(int64_t dim, int64_t rank) { return sconce::wrap_dim(dim, rank); }
inline Dims all_dims(int64_t rank) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}
// The permutation that undoes `dims`.
inline Dims inverse_permutation(IntList dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  Dims out(dims.size());
  for (int64_t i = 0; i < rank; ++i) out[static_cast<size_t>(sconce::wrap_dim(dims[i], rank))] = i;
  return out;
}
inline DType result_type(const Tensor& a, const Tensor& b) { return sconce::result_type(a, b); }
inline DType result_type(const Tensor& a, const Scalar& b) { return sconce::result_type(a, b); }
inline DType default_dtype() { return sconce::default_dtype(); }
inline bool is_floating_point(const Tensor& t) { return is_floating(t.dtype()); }
inline bool is_floating_point(DType t) { return is_floating(t); }
inline bool is_complex(const Tensor& t) { return sconce::is_complex(t.dtype()); }
inline bool is_complex(DType t) { return sconce::is_complex(t); }
// bool counts as an integral type here, as in PyTorch's checks.
inline bool is_integral(const Tensor& t) { return category(t.dtype()) <= Category::integral; }
inline bool is_integral(DType t) { return category(t) <= Category::integral; }
// The largest finite number of a floating or complex dtype (of its parts); 0 for the others, which have no infinities.
double largest(DType dtype);

// Values in messages
inline ErrorArg shown(IntList v) { return v; }
inline ErrorArg shown(int64_t v) { return v; }
inline ErrorArg shown(double v) { return v; }
inline ErrorArg shown(bool v) { return v; }
inline ErrorArg shown(std::string_view v) { return v; }
inline ErrorArg shown(DType v) { return dtype_name(v); }
inline ErrorArg shown(const std::optional<std::string_view>& v) { return v ? *v : std::string_view("None"); }
inline std::string shown(const Scalar& v) { return v.to_string(); }
inline std::string shown(Device v) { return to_string(v); }

}  // namespace sconce::body
