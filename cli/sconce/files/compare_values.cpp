#include "files/compare_values.h"

#include <cmath>

#include <fmt/format.h>

#include "sconce/ops.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

std::optional<std::string> differing_form(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return fmt::format("dtype {} and {}", dtype_name(a.dtype()), dtype_name(b.dtype()));
  if (a.dim() != b.dim() || !std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin()))
    return fmt::format("shape {} and {}", shape_text(a.sizes()), shape_text(b.sizes()));
  return {};
}

// As numbers that can be subtracted: float64, with two of them for a complex one.
Tensor widened(const Tensor& t) {
  return is_complex(t.dtype()) ? view_as_real(t.to(DType::complex128).contiguous()) : t.to(DType::float64).contiguous();
}

// Calls f(a, b) for every pair of elements.
template <class F>
void for_pairs(const Tensor& a, const Tensor& b, F&& f) {
  const Tensor wide_a = widened(a), wide_b = widened(b);
  const double *x = wide_a.data<double>(), *y = wide_b.data<double>();
  for (int64_t i = 0; i < wide_a.numel(); ++i) f(x[i], y[i]);
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct Limits {
  double rtol, atol;
};
Limits limits_for(DType dtype, const Tolerance& t) {
  Limits l{0, 0};
  switch (real_dtype(dtype)) {
    case DType::float16:
      l = {1e-3, 1e-5};
      break;
    case DType::bfloat16:
      l = {1.6e-2, 1e-5};
      break;
    case DType::float32:
      l = {1.3e-6, 1e-5};
      break;
    case DType::float64:
      l = {1e-7, 1e-7};
      break;
    default:
      break;
  }
  return {t.rtol.value_or(l.rtol), t.atol.value_or(l.atol)};
}

bool close(double a, double b, const Limits& l) {
  return same_number(a, b) || std::abs(a - b) <= l.atol + l.rtol * std::abs(b);
}

std::string compare(const Value& a, const Value& b, const Tolerance& tolerance, const std::string& place);

std::string compare_items(const std::vector<Value>& a, const std::vector<Value>& b, const Tolerance& tolerance,
                          const std::string& place) {
  if (a.size() != b.size()) return fmt::format("{}: {} and {} items", place, a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::string why = compare(a[i], b[i], tolerance, fmt::format("{}[{}]", place, i)); !why.empty()) return why;
  }
  return "";
}

std::string compare_dicts(const Dict& a, const Dict& b, const Tolerance& tolerance, const std::string& place) {
  if (a.size() != b.size()) return fmt::format("{}: {} and {} items", place, a.size(), b.size());
  for (const auto& [key, value] : a.items()) {
    const Value* other = b.find(key);
    if (!other) return fmt::format("{}: only the first has the key {}", place, key.repr());
    if (std::string why = compare(value, *other, tolerance, fmt::format("{}[{}]", place, key.repr())); !why.empty())
      return why;
  }
  return "";
}

std::string compare_close(const Tensor& a, const Tensor& b, const Tolerance& tolerance, const std::string& place) {
  if (const auto form = differing_form(a, b)) return fmt::format("{}: {}", place, *form);
  const Limits limits = limits_for(a.dtype(), tolerance);
  int64_t wrong = 0;
  for_pairs(a, b, [&](double x, double y) { wrong += !close(x, y, limits); });
  if (wrong == 0) return "";
  const auto difference = compare_tensors(a, b);
  return fmt::format("{}: {} of {} elements are too far apart ({})", place, wrong, a.numel(),
                     difference ? difference_text(*difference) : "");
}

std::string compare(const Value& a, const Value& b, const Tolerance& tolerance, const std::string& place) {
  if (a.is_tensor() && b.is_tensor()) return compare_close(a.to_tensor(), b.to_tensor(), tolerance, place);
  if (a.is_tuple() && b.is_tuple()) return compare_items(a.to_tuple().items, b.to_tuple().items, tolerance, place);
  if (a.is_list() && b.is_list()) return compare_items(a.to_list().values(), b.to_list().values(), tolerance, place);
  if (a.is_dict() && b.is_dict()) return compare_dicts(a.to_dict(), b.to_dict(), tolerance, place);
  if (a.is_double() && b.is_double()) {
    if (close(a.to_double(), b.to_double(), limits_for(DType::float64, tolerance))) return "";
  } else if (a.tag() == b.tag() && a.repr() == b.repr()) {
    return "";
  }
  return fmt::format("{}: {} and {}", place, a.repr(), b.repr());
}

}  // namespace

std::optional<TensorDifference> compare_tensors(const Tensor& a, const Tensor& b) {
  TensorDifference d;
  if (const auto form = differing_form(a, b)) {
    d.what = *form;
    return d;
  }
  for_pairs(a, b, [&](double x, double y) {
    if (same_number(x, y)) return;
    ++d.elements;
    const double distance = std::abs(x - y);
    d.max_abs = std::isnan(distance) ? distance : std::max(d.max_abs, distance);
    d.max_rel = std::isnan(distance) ? distance : std::max(d.max_rel, distance / std::abs(y));
  });
  if (d.elements == 0) return {};
  return d;
}

std::string difference_text(const TensorDifference& d) {
  if (!d.what.empty()) return d.what;
  return fmt::format("largest difference {:.3g}, relative {:.3g}", d.max_abs, d.max_rel);
}

std::string compare_results(const Value& a, const Value& b, const Tolerance& tolerance) {
  return compare(a, b, tolerance, "result");
}

}  // namespace sconce::cli
