// Windows and frequencies for Fourier transforms: computed in double on the host, and rounded once to where they go.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/fft_kernels.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {
namespace {

// out[i] = f(i)
template <class F>
void fill_by_place(const Tensor& out, const F& f) {
  if (out.is_meta() || out.numel() == 0) return;
  const DType dtype = out.dtype();
  if (dtype != DType::float16 && dtype != DType::bfloat16 && dtype != DType::float32 && dtype != DType::float64)
    fail_not_implemented(dtype);
  copy_tensor(out, tensor_by_place(out.size(0), f));
}

void check_window(const char* name, int64_t n, DType dtype) {
  SCONCE_CHECK(is_floating(dtype), "{} expects floating point dtypes, got: {}", name, dtype_name(dtype));
  SCONCE_CHECK(n >= 0, "{} requires non-negative window_length, got window_length={}", name, n);
}

Tensor new_vector(int64_t n, DType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  return empty_tensor(Dims({n}), dtype, device.value_or(Device()));
}

// Writes through `fill` to out, which gets n elements.
template <class F>
void write_out(const Tensor& out, int64_t n, const F& fill) {
  if (!(out.sizes() == IntList(Dims({n})))) resize_tensor(out, Dims({n}));
  fill(out);
  out.bump_version();
}

// The shapes of windows as functions of i and n - 1, n being one more for periodic windows.
struct Cosines {  // a - b cos(2 pi x) + c cos(4 pi x)
  double a, b, c;
  double operator()(double i, double last) const {
    const double angle = 2 * std::numbers::pi * i / last;
    return a - b * std::cos(angle) + (c == 0 ? 0 : c * std::cos(2 * angle));
  }
};
struct Triangle {
  double operator()(double i, double last) const { return 1 - std::abs(2 * i / last - 1); }
};

// The modified Bessel function of the first kind, order 0, by its series: all terms are positive.
double bessel_i0(double x) {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; k < 2000 && term > sum * 1e-18; ++k) {
    term *= q / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}
struct Kaiser {
  double beta;
  double operator()(double i, double last) const {
    const double x = 2 * i / last - 1, root = std::sqrt(std::max(0.0, 1 - x * x));
    return bessel_i0(beta * root) / bessel_i0(beta);
  }
};

template <class Shape>
void fill_window(const Tensor& out, bool periodic, const Shape& shape) {
  const int64_t n = out.size(0);
  const auto last = static_cast<double>(periodic ? n : n - 1);
  fill_by_place(out, [&](double i) { return n == 1 ? 1.0 : shape(i, last); });
}

template <class Shape>
Tensor make_window(const char* name, int64_t n, bool periodic, const Shape& shape, OptDType dtype, OptLayout layout,
                   OptDevice device, OptBool pin_memory) {
  check_window(name, n, dtype.value_or(default_dtype()));
  const Tensor out = new_vector(n, dtype.value_or(default_dtype()), layout, device, pin_memory);
  fill_window(out, periodic, shape);
  return out;
}

template <class Shape>
void window_out(const char* name, int64_t n, bool periodic, const Shape& shape, const Tensor& out) {
  check_window(name, n, out.dtype());
  write_out(out, n, [&](const Tensor& t) { fill_window(t, periodic, shape); });
}

constexpr Cosines kHann{0.5, 0.5, 0}, kBlackman{0.42, 0.5, 0.08};
constexpr double kAlpha = 0.54, kBeta = 0.46, kKaiserBeta = 12;

}  // namespace

// Each window as a factory and as its out= form. `arguments` and `shape` are of the overload.
#define SCONCE_WINDOW(function, out_function, title, periodic, shape, ...)                                  \
  Tensor function(int64_t n __VA_OPT__(, ) __VA_ARGS__, OptDType dtype, OptLayout layout, OptDevice device, \
                  OptBool pin_memory) {                                                                     \
    return make_window(title, n, periodic, shape, dtype, layout, device, pin_memory);                       \
  }                                                                                                         \
  void out_function(int64_t n __VA_OPT__(, ) __VA_ARGS__, const Tensor& out) {                              \
    window_out(title, n, periodic, shape, out);                                                             \
  }

SCONCE_WINDOW(hann_window, hann_window_out, "hann_window", true, kHann)
SCONCE_WINDOW(hann_window_periodic, hann_window_periodic_out, "hann_window", periodic, kHann, bool periodic)
SCONCE_WINDOW(hamming_window, hamming_window_out, "hamming_window", true, (Cosines{kAlpha, kBeta, 0}))
SCONCE_WINDOW(hamming_window_periodic, hamming_window_periodic_out, "hamming_window", periodic,
              (Cosines{kAlpha, kBeta, 0}), bool periodic)
SCONCE_WINDOW(hamming_window_periodic_alpha, hamming_window_periodic_alpha_out, "hamming_window", periodic,
              (Cosines{alpha, kBeta, 0}), bool periodic, double alpha)
SCONCE_WINDOW(hamming_window_periodic_alpha_beta, hamming_window_periodic_alpha_beta_out, "hamming_window", periodic,
              (Cosines{alpha, beta, 0}), bool periodic, double alpha, double beta)
SCONCE_WINDOW(blackman_window, blackman_window_out, "blackman_window", true, kBlackman)
SCONCE_WINDOW(blackman_window_periodic, blackman_window_periodic_out, "blackman_window", periodic, kBlackman,
              bool periodic)
SCONCE_WINDOW(bartlett_window, bartlett_window_out, "bartlett_window", true, Triangle{})
SCONCE_WINDOW(bartlett_window_periodic, bartlett_window_periodic_out, "bartlett_window", periodic, Triangle{},
              bool periodic)
SCONCE_WINDOW(kaiser_window, kaiser_window_out, "kaiser_window", true, Kaiser{kKaiserBeta})
SCONCE_WINDOW(kaiser_window_periodic, kaiser_window_periodic_out, "kaiser_window", periodic, Kaiser{kKaiserBeta},
              bool periodic)
SCONCE_WINDOW(kaiser_window_beta, kaiser_window_beta_out, "kaiser_window", periodic, Kaiser{beta}, bool periodic,
              double beta)
#undef SCONCE_WINDOW

namespace {

void fill_frequencies(const Tensor& out, int64_t n, double d, bool with_negative) {
  const auto count = static_cast<double>(n);
  const int64_t positive = n / 2 + n % 2;
  const double factor = 1 / (count * d), half = static_cast<double>(positive);
  fill_by_place(out, [&](double i) { return (with_negative && i >= half ? i - count : i) * factor; });
}

void check_frequencies(const char* name, int64_t size, DType dtype) {
  SCONCE_CHECK(is_floating(dtype) || is_complex(dtype), "{} requires a floating point or complex dtype", name);
  SCONCE_CHECK_AS(not_implemented, is_floating(dtype), "\"arange_cpu\" not implemented for '{}'",
                  dtype_legacy_name(dtype));
  SCONCE_CHECK(size >= 0, "Trying to create tensor with negative dimension {}: [{}]", size, size);
}

}  // namespace

Tensor fft_fftfreq(int64_t n, double d, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  check_frequencies("fftfreq", n, dtype.value_or(default_dtype()));
  const Tensor out = new_vector(n, dtype.value_or(default_dtype()), layout, device, pin_memory);
  fill_frequencies(out, n, d, true);
  return out;
}

void fft_fftfreq_out(int64_t n, double d, const Tensor& out) {
  check_frequencies("fftfreq", n, out.dtype());
  write_out(out, n, [&](const Tensor& t) { fill_frequencies(t, n, d, true); });
}

Tensor fft_rfftfreq(int64_t n, double d, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  check_frequencies("rfftfreq", n / 2 + 1, dtype.value_or(default_dtype()));
  const Tensor out = new_vector(n / 2 + 1, dtype.value_or(default_dtype()), layout, device, pin_memory);
  fill_frequencies(out, n, d, false);
  return out;
}

void fft_rfftfreq_out(int64_t n, double d, const Tensor& out) {
  check_frequencies("rfftfreq", n / 2 + 1, out.dtype());
  write_out(out, n / 2 + 1, [&](const Tensor& t) { fill_frequencies(t, n, d, false); });
}

bool sconce_istft_covered(const Tensor& envelope) {
  if (envelope.is_meta()) return true;
  return !item_of(sconce::any(sconce::lt(sconce::abs(envelope), Scalar(1e-11)))).to_bool();
}

}  // namespace sconce::any_device
