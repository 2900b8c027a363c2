#include "files/compare_values.h"

#include <cmath>

#include <fmt/format.h>

#include "sconce/ops.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

std::string differing_shape(const Tensor& a, const Tensor& b) {
  if (a.dim() == b.dim() && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin())) return "";
  return fmt::format("shape {} and {}", shape_text(a.sizes()), shape_text(b.sizes()));
}
std::string differing_dtype(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return "";
  return fmt::format("dtype {} and {}", dtype_name(a.dtype()), dtype_name(b.dtype()));
}

// As numbers that can be subtracted: float64, with two of them for a complex one.
Tensor widened(const Tensor& t, bool as_complex) {
  return as_complex ? view_as_real(t.to(DType::complex128).contiguous()) : t.to(DType::float64).contiguous();
}

// Calls f(a, b) for every pair of elements.
template <class F>
void for_pairs(const Tensor& a, const Tensor& b, F&& f) {
  const bool as_complex = is_complex(a.dtype()) || is_complex(b.dtype());
  const Tensor wide_a = widened(a, as_complex), wide_b = widened(b, as_complex);
  const double *x = wide_a.data<double>(), *y = wide_b.data<double>();
  for (int64_t i = 0; i < wide_a.numel(); ++i) f(x[i], y[i]);
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct Limits {
  double rtol, atol;
};
Limits limits_of(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::float16:
      return {1e-3, 1e-5};
    case DType::bfloat16:
      return {1.6e-2, 1e-5};
    case DType::float32:
      return {1.3e-6, 1e-5};
    case DType::float64:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}
Limits limits_for(DType a, DType b, const Tolerance& t) {
  const Limits of_a = limits_of(a), of_b = limits_of(b);
  return {t.rtol.value_or(std::max(of_a.rtol, of_b.rtol)), t.atol.value_or(std::max(of_a.atol, of_b.atol))};
}

bool close(double a, double b, const Limits& l) {
  return same_number(a, b) || std::abs(a - b) <= l.atol + l.rtol * std::abs(b);
}

// The farthest that two numbers are from each other.
struct Farthest {
  double abs = 0, rel = 0;
  void add(double a, double b) {
    if (same_number(a, b)) return;
    const double distance = std::abs(a - b);
    abs = std::isnan(distance) ? distance : std::max(abs, distance);
    rel = std::isnan(distance) ? distance : std::max(rel, distance / std::abs(b));
  }
};

// Each function returns why two values differ, and stops at the first reason; empty when they do not.
class Comparer {
 public:
  explicit Comparer(const Tolerance& tolerance) : tolerance_(tolerance) {}

  std::string compare(const Value& a, const Value& b, const std::string& place) {
    if (a.is_tensor() && b.is_tensor()) return compare_tensor(a.to_tensor(), b.to_tensor(), place);
    if (a.is_tuple() && b.is_tuple()) return compare_items(a.to_tuple().items, b.to_tuple().items, place);
    if (a.is_list() && b.is_list()) return compare_items(a.to_list().values(), b.to_list().values(), place);
    if (a.is_dict() && b.is_dict()) return compare_dicts(a.to_dict(), b.to_dict(), place);
    if (a.is_double() && b.is_double()) {
      ++elements;
      farthest.add(a.to_double(), b.to_double());
      if (close(a.to_double(), b.to_double(), limits_for(DType::float64, DType::float64, tolerance_))) return "";
    } else if (a.tag() == b.tag() && a.repr() == b.repr()) {
      return "";
    }
    return fmt::format("{}: {} and {}", place, a.repr(), b.repr());
  }

  int64_t elements = 0;
  Farthest farthest;

 private:
  std::string compare_items(const std::vector<Value>& a, const std::vector<Value>& b, const std::string& place) {
    if (a.size() != b.size()) return fmt::format("{}: {} and {} items", place, a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string why = compare(a[i], b[i], fmt::format("{}[{}]", place, i)); !why.empty()) return why;
    }
    return "";
  }

  std::string compare_dicts(const Dict& a, const Dict& b, const std::string& place) {
    if (a.size() != b.size()) return fmt::format("{}: {} and {} items", place, a.size(), b.size());
    for (const auto& [key, value] : a.items()) {
      const Value* other = b.find(key);
      if (!other) return fmt::format("{}: only the first has the key {}", place, key.repr());
      if (std::string why = compare(value, *other, fmt::format("{}[{}]", place, key.repr())); !why.empty()) return why;
    }
    return "";
  }

  std::string compare_tensor(const Tensor& a, const Tensor& b, const std::string& place) {
    const std::string shape = differing_shape(a, b), dtype = differing_dtype(a, b);
    if (!shape.empty()) return fmt::format("{}: {}", place, shape);
    const Limits limits = limits_for(a.dtype(), b.dtype(), tolerance_);
    int64_t wrong = 0;
    Farthest here;
    for_pairs(a, b, [&](double x, double y) {
      wrong += !close(x, y, limits);
      here.add(x, y);
      farthest.add(x, y);
    });
    elements += a.numel();
    const std::string numbers = fmt::format("largest difference {:.3g}, relative {:.3g}", here.abs, here.rel);
    if (wrong > 0) {
      return fmt::format("{}: {}{} of {} elements are too far apart ({})", place, dtype.empty() ? "" : dtype + ", ",
                         wrong, a.numel(), numbers);
    }
    if (dtype.empty() || tolerance_.any_dtype) return "";
    return fmt::format("{}: {}, with values that are close ({})", place, dtype, numbers);
  }

  const Tolerance& tolerance_;
};

}  // namespace

std::optional<TensorDifference> compare_tensors(const Tensor& a, const Tensor& b) {
  TensorDifference d;
  d.what = differing_dtype(a, b);
  if (const std::string shape = differing_shape(a, b); !shape.empty()) {
    d.what += (d.what.empty() ? "" : ", ") + shape;
    return d;
  }
  d.has_numbers = true;
  Farthest farthest;
  for_pairs(a, b, [&](double x, double y) {
    d.elements += !same_number(x, y);
    farthest.add(x, y);
  });
  d.max_abs = farthest.abs;
  d.max_rel = farthest.rel;
  if (d.elements == 0 && d.what.empty()) return {};
  return d;
}

std::string difference_text(const TensorDifference& d) {
  if (!d.has_numbers) return d.what;
  return fmt::format("{}{}largest difference {:.3g}, relative {:.3g}", d.what, d.what.empty() ? "" : ", ", d.max_abs,
                     d.max_rel);
}

std::string ResultComparison::numbers_text() const {
  return fmt::format("largest difference {:.3g}, relative {:.3g}, of {} number{}", max_abs, max_rel,
                     count_text(static_cast<uint64_t>(elements)), elements == 1 ? "" : "s");
}

ResultComparison compare_results(const Value& a, const Value& b, const Tolerance& tolerance) {
  Comparer comparer(tolerance);
  ResultComparison out;
  out.difference = comparer.compare(a, b, "result");
  out.elements = comparer.elements;
  out.max_abs = comparer.farthest.abs;
  out.max_rel = comparer.farthest.rel;
  return out;
}

}  // namespace sconce::cli
