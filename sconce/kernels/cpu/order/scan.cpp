// Cumulative operators: each element from those before it along a dim. Floats add up in double, integers in int64.
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/kernels/cpu/engine/along_dim.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace cpu {
namespace {

struct Sum {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  static T step(T a, T x) {
    return a + x;
  }
  static int64_t step(int64_t a, int64_t x) { return numbers::wrap_add(a, x); }
};
struct Product {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T step(T a, T x) {
    return a * x;
  }
  static int64_t step(int64_t a, int64_t x) { return numbers::wrap_mul(a, x); }
};
// log(exp(a) + exp(x))
struct LogSum {
  using Complex = std::complex<double>;
  template <class T>
  static T start() {
    if constexpr (std::is_same_v<T, Complex>)
      return -std::numeric_limits<double>::infinity();
    else
      return -std::numeric_limits<T>::infinity();
  }
  static Complex step(Complex a, Complex x) {
    const Complex low = x.real() < a.real() ? x : a, high = x.real() < a.real() ? a : x;
    if (std::isinf(low.real()) && low.real() < 0) return high;
    return std::log(std::exp(low - high) + 1.0) + high;
  }
  template <class T>
  static T step(T a, T x) {
    const T low = std::isnan(x) || x < a ? x : a, high = std::isnan(x) || x > a ? x : a;
    if (low == high && !std::isfinite(low)) return high;  // inf - inf
    return std::log1p(std::exp(low - high)) + high;
  }
};

template <class Op, class T, class Wide>
void scan_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    Wide a = Op::template start<Wide>();
    for (int64_t i = 0; i < n; ++i) {
      a = Op::step(a, static_cast<Wide>(*x++));
      *y++ = static_cast<T>(a);
    }
  }
}
template <class Op, class T, class Wide>
void scan_columns(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch, int64_t in_pitch) {
  constexpr int64_t kColumns = 64;
  for (int64_t c = 0; c < width; c += kColumns) {
    const int64_t m = std::min(kColumns, width - c);
    Wide a[kColumns];
    for (Wide& x : a) x = Op::template start<Wide>();
    const T* x = static_cast<const T*>(in[0]) + c;
    T* y = static_cast<T*>(out) + c;
    for (int64_t k = 0; k < n; ++k, x += in_pitch, y += out_pitch) {
      for (int64_t i = 0; i < m; ++i) {
        a[i] = Op::step(a[i], static_cast<Wide>(x[i]));
        y[i] = static_cast<T>(a[i]);
      }
    }
  }
}

template <class Op, class T, class Wide>
void scan_in(DType compute, const Tensor& self, int64_t dim, const Tensor& out) {
  const Tensor* in[] = {&self};
  along_dim({scan_rows<Op, T, Wide>, scan_columns<Op, T, Wide>}, compute, in, dim, out);
}

// Through the dtype of the result, which the elements are converted to first.
template <class Op>
void scan(const Tensor& given, int64_t dim, const Tensor& out) {
  if (is_limited(out.dtype())) fail_not_implemented(out.dtype());
  const Tensor self = to_dtype(given, out.dtype());
  switch (category(out.dtype())) {
    case Category::complex:
      return scan_in<Op, std::complex<double>, std::complex<double>>(DType::complex128, self, dim, out);
    case Category::floating:
      if (out.dtype() == DType::float64) return scan_in<Op, double, double>(DType::float64, self, dim, out);
      return scan_in<Op, float, double>(DType::float32, self, dim, out);
    default:
      return scan_in<Op, int64_t, int64_t>(DType::int64, self, dim, out);
  }
}

// Of cumprod, from gradient, input and result. Up to the first 0 of a line, an input is in every product from its own
// on; the first 0 is alone in making the products behind it 0; elements behind it have no influence.
template <class T>
void cumprod_backward_line(T* out, const T* grad, const T* x, const T* y, int64_t n, int64_t pitch, int64_t out_pitch) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
  int64_t zero = 0;
  while (zero < n && x[zero * pitch] != T(0)) ++zero;
  const auto conjugate = [](Wide v) {
    if constexpr (std::is_arithmetic_v<Wide>)
      return v;
    else
      return std::conj(v);
  };
  Wide behind = 0;
  if (zero < n) {
    Wide product = 1;
    for (int64_t k = 0; k < zero; ++k) product *= Wide(x[k * pitch]);
    for (int64_t k = zero; k < n; ++k) {
      if (k > zero) product *= Wide(x[k * pitch]);
      behind += Wide(grad[k * pitch]) * conjugate(product);
    }
  }
  for (int64_t k = n - 1; k > zero; --k) out[k * out_pitch] = T(0);
  if (zero < n) out[zero * out_pitch] = static_cast<T>(behind);
  Wide sum = 0;
  for (int64_t k = zero - 1; k >= 0; --k) {
    sum += Wide(grad[k * pitch]) * conjugate(Wide(y[k * pitch]));
    out[k * out_pitch] = static_cast<T>(sum / conjugate(Wide(x[k * pitch])));
  }
}
template <class T>
void cumprod_backward_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    cumprod_backward_line(static_cast<T*>(out) + r * n, static_cast<const T*>(in[0]) + r * n,
                          static_cast<const T*>(in[1]) + r * n, static_cast<const T*>(in[2]) + r * n, n, 1, 1);
  }
}
template <class T>
void cumprod_backward_columns(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch,
                              int64_t in_pitch) {
  std::vector<T> line(static_cast<size_t>(n));  // out may be in[0]
  for (int64_t c = 0; c < width; ++c) {
    cumprod_backward_line(line.data(), static_cast<const T*>(in[0]) + c, static_cast<const T*>(in[1]) + c,
                          static_cast<const T*>(in[2]) + c, n, in_pitch, 1);
    for (int64_t k = 0; k < n; ++k) static_cast<T*>(out)[c + k * out_pitch] = line[static_cast<size_t>(k)];
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

// A later equal element replaces an earlier one, and so does a later NaN.
template <class T, bool largest>
void extremes(const T* x, T* y, int64_t* index, int64_t n, int64_t pitch) {
  T best = x[0];
  int64_t at = 0;
  for (int64_t k = 0; k < n; ++k) {
    const T v = x[k * pitch];
    if (is_nan(v) || (!is_nan(best) && (largest ? v >= best : v <= best))) {
      best = v;
      at = k;
    }
    y[k * pitch] = best;
    index[k * pitch] = at;
  }
}

template <bool largest>
void scan_extreme(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  if (self.numel() == 0) return;
  const DType compute = category(self.dtype()) < Category::floating ? DType::int64
                        : self.dtype() == DType::float64            ? DType::float64
                                                                    : DType::float32;
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()), "\"{}\" not implemented for '{}'",
                  largest ? "cummax" : "cummin", dtype_legacy_name(self.dtype()));
  const Tensor x = contiguous_tensor(to_dtype(self, compute));
  const Tensor y = values.dtype() == compute ? values : empty_tensor(self.sizes(), compute);
  dim = wrap_dim(dim, self.dim());
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t d = 0; d < self.dim(); ++d) (d < dim ? outer : d == dim ? n : inner) *= self.sizes()[d];
  const auto run = [&]<class T>() {
    parallel_for(outer * inner, grain_for(2 * n), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t at = t / inner * n * inner + t % inner;
        extremes<T, largest>(x.data<T>() + at, y.data<T>() + at, indices.data<int64_t>() + at, n, inner);
      }
    });
  };
  if (compute == DType::int64) {
    run.template operator()<int64_t>();
  } else if (compute == DType::float64) {
    run.template operator()<double>();
  } else {
    run.template operator()<float>();
  }
  if (!y.is_same(values)) copy_tensor(values, y);
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) { scan<Sum>(self, dim, out); }
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  scan<Product>(self, dim, out);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  SCONCE_CHECK_AS(not_implemented, category(self.dtype()) >= Category::floating,
                  "\"logcumsumexp\" not implemented for '{}'", dtype_legacy_name(self.dtype()));
  if (is_complex(self.dtype()))
    return scan_in<LogSum, std::complex<double>, std::complex<double>>(DType::complex128, self, dim, out);
  if (self.dtype() == DType::float64) return scan_in<LogSum, double, double>(DType::float64, self, dim, out);
  scan_in<LogSum, float, double>(DType::float32, self, dim, out);
}
void cumprod_backward(const Tensor& grad, const Tensor& input, int64_t dim, const Tensor& output, const Tensor& out) {
  const Tensor* in[] = {&grad, &input, &output};
  const auto run = [&]<class T>(DType compute) {
    along_dim({cumprod_backward_rows<T>, cumprod_backward_columns<T>}, compute, in, dim, out);
  };
  switch (category(out.dtype())) {
    case Category::complex:
      return run.template operator()<std::complex<double>>(DType::complex128);
    case Category::floating:
      if (out.dtype() == DType::float64) return run.template operator()<double>(DType::float64);
      return run.template operator()<float>(DType::float32);
    default:
      fail("cumprod_backward: integers have no gradient, got {}", dtype_legacy_name(out.dtype()));
  }
}
void cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  scan_extreme<true>(self, dim, values, indices);
}
void cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  scan_extreme<false>(self, dim, values, indices);
}

}  // namespace cpu

namespace any_device {

OutSpec cumsum_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  wrap_dim(dim, self.dim());
  return {Dims(self.sizes()),
          dtype.value_or(category(self.dtype()) < Category::floating ? DType::int64 : self.dtype())};
}
OutSpec logcumsumexp_spec(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return {Dims(self.sizes()), self.dtype()};
}
OutSpec cumprod_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return cumsum_spec(self, dim, dtype);
}
std::array<OutSpec, 2> cummax_spec(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return {OutSpec{Dims(self.sizes()), self.dtype()}, OutSpec{Dims(self.sizes()), DType::int64}};
}
std::array<OutSpec, 2> cummin_spec(const Tensor& self, int64_t dim) { return cummax_spec(self, dim); }

}  // namespace any_device

namespace cpu {
namespace {

template <class Scan>
void helper(Scan scan, const Tensor& self, const Tensor& values, const Tensor& indices, int64_t dim) {
  const auto specs = any_device::cummax_spec(self, dim);
  const Tensor v = prepare_output(specs[0], values, {&self}, false),
               i = prepare_output(specs[1], indices, {&self}, false);
  if (!v.is_meta()) scan(self, dim, v, i);
  finish_output(v, values);
  finish_output(i, indices);
}

}  // namespace

void _cummax_helper(const Tensor& self, const Tensor& values, const Tensor& indices, int64_t dim) {
  helper(cummax, self, values, indices, dim);
}
void _cummin_helper(const Tensor& self, const Tensor& values, const Tensor& indices, int64_t dim) {
  helper(cummin, self, values, indices, dim);
}

}  // namespace cpu
}  // namespace sconce
