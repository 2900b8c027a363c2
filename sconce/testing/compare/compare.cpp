#include "sconce/testing/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/tensor/element.h"
#include "sconce/testing/compare/seen_bits.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

std::string shape_text(IntList list) { return format_message("{}", {ErrorArg(list)}); }

// Elements in the type that they are compared in: integers as they are, floats as double.
template <class T>
auto comparable(T v) {
  if constexpr (std::is_class_v<T> && requires { to_float(v); })
    return static_cast<double>(to_float(v));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(v);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return std::complex<double>(v);
  else if constexpr (std::is_same_v<T, bool>)
    return static_cast<int64_t>(v);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int64_t>(v);
  else
    return v;
}

bool is_nan(int64_t) { return false; }
bool is_nan(double v) { return std::isnan(v); }
bool is_nan(std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); }
double magnitude(int64_t v) { return std::abs(static_cast<double>(v)); }
double magnitude(double v) { return std::abs(v); }
double magnitude(std::complex<double> v) { return std::abs(v); }
double distance(int64_t a, int64_t b) { return std::abs(static_cast<double>(a) - static_cast<double>(b)); }
double distance(double a, double b) { return std::abs(a - b); }
double distance(std::complex<double> a, std::complex<double> b) { return std::abs(a - b); }
std::string text(int64_t v) { return std::to_string(v); }
std::string text(double v) { return fmt::format("{:.9g}", v); }
std::string text(std::complex<double> v) { return fmt::format("{:.9g}{:+.9g}j", v.real(), v.imag()); }

std::string index_text(size_t at, IntList sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = static_cast<int64_t>(at) % sizes[d];
    at /= static_cast<size_t>(sizes[d]);
  }
  return shape_text(index);
}

template <class T>
Difference compare_values(const std::vector<T>& got, const std::vector<T>& expected, IntList sizes,
                          const Tolerance& tolerance) {
  using C = decltype(comparable(T{}));
  double largest = 0;
  for (const T& e : expected) {
    const double m = magnitude(comparable(e));
    if (std::isfinite(m)) largest = std::max(largest, m);
  }
  size_t wrong = 0, first = 0, worst = 0;
  double worst_error = -1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const C g = comparable(got[i]), e = comparable(expected[i]);
    if (g == e || (is_nan(g) && is_nan(e))) continue;
    const double error = distance(g, e);
    const double allowed = tolerance.absolute + tolerance.relative * magnitude(e) + tolerance.of_largest * largest;
    if (!std::is_same_v<C, int64_t> && std::isfinite(error) && std::isfinite(magnitude(e)) && error <= allowed)
      continue;
    if (wrong++ == 0) first = i;
    if (std::isfinite(error) && error > worst_error) worst_error = error, worst = i;
  }
  if (wrong == 0) return {};
  std::string message =
      fmt::format("at {} got {}, expected {}; {} of {} elements differ", index_text(first, sizes),
                  text(comparable(T(got[first]))), text(comparable(T(expected[first]))), wrong, expected.size());
  if (worst_error >= 0) message += fmt::format(", by {:.3g} at most, at {}", worst_error, index_text(worst, sizes));
  return message;
}

std::vector<double> sorted_reals(const Tensor& tensor) {
  std::vector<double> values;
  visit_every_dtype(tensor.dtype(), [&]<class T>() {
    for (const T v : elements<T>(tensor)) values.push_back(magnitude(comparable(v)));
  });
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

Tolerance tolerance_for(DType dtype, Closeness closeness) {
  if (closeness == Closeness::exact) return {};
  const double looser = closeness == Closeness::accumulated;
  switch (real_dtype(dtype)) {
    case DType::float64:
      return {1e-7, 1e-7, 1e-7 * looser};
    case DType::float32:
      return {1.3e-6, 1e-5, 1e-4 * looser};
    case DType::bfloat16:
      return {1.6e-2, 1e-5, 1.6e-2 * looser};
    case DType::float16:
      return {1e-3, 1e-5, 1e-3 * looser};
    default:
      return {};
  }
}

Difference compare_geometry(const Tensor& got, const Tensor& expected, bool strides) {
  if (got.dtype() != expected.dtype()) {
    return fmt::format("dtype is {}, expected {}", dtype_name(got.dtype()), dtype_name(expected.dtype()));
  }
  if (!(got.sizes() == expected.sizes())) {
    return fmt::format("shape is {}, expected {}", shape_text(got.sizes()), shape_text(expected.sizes()));
  }
  if (!strides || expected.numel() == 0) return {};
  for (size_t d = 0; d < expected.sizes().size(); ++d) {
    if (expected.sizes()[d] == 1 || got.strides()[d] == expected.strides()[d]) continue;
    return fmt::format("strides are {}, expected {} (shape {})", shape_text(got.strides()),
                       shape_text(expected.strides()), shape_text(expected.sizes()));
  }
  return {};
}

Difference compare_elements(const Tensor& got, const Tensor& expected, Closeness closeness) {
  note_bits(got);
  const Tolerance tolerance = tolerance_for(expected.dtype(), closeness);
  return visit_every_dtype(expected.dtype(), [&]<class T>() {
    return compare_values(elements<T>(got), elements<T>(expected), expected.sizes(), tolerance);
  });
}

Difference compare_distribution(const Tensor& got, const Tensor& expected, Draws draws) {
  note_bits(got);
  const std::vector<double> a = sorted_reals(got), b = sorted_reals(expected);
  const auto n = static_cast<double>(a.size());
  if (a.empty()) return {};
  const auto is_bit = [](double v) { return v == 0 || v == 1; };
  if (std::all_of(b.begin(), b.end(), is_bit) && !std::all_of(a.begin(), a.end(), is_bit)) {
    return "has elements other than 0 and 1";
  }
  double farthest = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double v = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= v) ++i;
    while (j < b.size() && b[j] <= v) ++j;
    farthest = std::max(farthest, std::abs(static_cast<double>(i) - static_cast<double>(j)) / n);
  }
  const double samples = draws == Draws::independent ? n : std::sqrt(n);
  const double limit =
      2.3 * std::sqrt(2 / samples);  // of two samples of n: larger with probability 2 exp(-2 * 2.3^2) = 5e-5
  if (farthest <= limit) return {};
  return fmt::format("is distributed otherwise: the distribution functions are {:.3g} apart, at most {:.3g} is likely",
                     farthest, limit);
}

Difference compare_plain(const Value& got, const Value& expected) {
  note_bits(got);
  bool same = got.tag() == expected.tag();
  if (same && (got.is_double() || got.is_complex())) {
    const std::complex<double> g = got.to_complex(), e = expected.to_complex();
    const Tolerance t = tolerance_for(DType::float64, Closeness::close);
    same = g == e || (is_nan(g) && is_nan(e)) || std::abs(g - e) <= t.absolute + t.relative * std::abs(e);
  } else if (same) {
    same = got.equals(expected);
  }
  if (same) return {};
  return fmt::format("got {}, expected {}", got.repr(), expected.repr());
}

}  // namespace sconce::testing
