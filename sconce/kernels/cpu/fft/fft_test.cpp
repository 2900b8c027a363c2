// Transforms as operators: what they refuse, gradients as adjoints, short-time transforms there and back.
#include <gtest/gtest.h>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor real_noise(IntList sizes) { return randn(sizes, DType::float64); }
Tensor complex_noise(IntList sizes) { return randn(sizes, DType::complex128); }

// The real part of the sum of conj(a) b.
double inner_product(const Tensor& a, const Tensor& b) { return item(real(sum(mul(conj(a), b)))).to_double(); }
double largest_difference(const Tensor& a, const Tensor& b) { return item(max(abs(sub(a, b)))).to_double(); }

TEST(FftOps, refuse_what_has_no_transform) {
  const Tensor x = real_noise(Dims({4, 5}));
  EXPECT_ERROR(fft_fft(to(x, DType::float16)), "Unsupported dtype");
  EXPECT_ERROR(fft_fft(zeros(IntList())), "tensor has no dimensions");
  EXPECT_ERROR(fft_fft(x, 0), "Invalid number of data points (0) specified");
  EXPECT_ERROR(fft_fft(x, {}, 2), "Dimension out of range");
  EXPECT_ERROR(fft_fft(x, {}, -1, "orth"), "Invalid normalization mode: \"orth\"");
  EXPECT_ERROR(fft_rfft(complex_noise(Dims({4}))), "rfft expects a real input tensor");
  EXPECT_ERROR(fft_irfft(slice(x, 1, 0, 1)), "Invalid number of data points (0) specified");
  EXPECT_ERROR(fft_fftn(x, Dims({1, 2, 3})), "Got shape with 3 values but input tensor only has 2 dimensions");
  EXPECT_ERROR(fft_fftn(x, Dims({1, 2}), Dims({0})), "dim and shape arguments must have the same length");
  EXPECT_ERROR(fft_fftn(x, {}, Dims({0, -2})), "FFT dims must be unique");
  EXPECT_ERROR(fft_rfftn(x, {}, IntList()), "rfftn must transform at least one axis");
  EXPECT_ERROR(_fft_c2c(x, Dims({0}), 0, true), "Only supports complex dtypes");
  EXPECT_ERROR(_fft_c2r(complex_noise(Dims({3})), Dims({0}), 0, 9), "expected at least 5 elements");
  EXPECT_ERROR(hann_window(-1), "requires non-negative window_length");
  EXPECT_ERROR(hann_window(3, DType::int64), "expects floating point dtypes");
  EXPECT_ERROR(fft_fftfreq(3, 1, DType::int64), "requires a floating point or complex dtype");
}

TEST(FftOps, empty_batches_have_empty_results) {
  EXPECT_EQ(fft_fft(real_noise(Dims({0, 5}))).sizes().vec(), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(fft_rfft(real_noise(Dims({0, 5}))).sizes().vec(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(fft_irfft(complex_noise(Dims({0, 5}))).sizes().vec(), (std::vector<int64_t>{0, 8}));
}

TEST(FftOps, gradients_are_adjoints) {
  for (const int64_t n : {1, 2, 7, 8}) {
    for (const bool onesided : {false, true}) {
      const Tensor x = real_noise(Dims({3, 4, n}));
      const Tensor y = _fft_r2c(x, Dims({1, 2}), 1, onesided), g = complex_noise(y.sizes());
      EXPECT_NEAR(inner_product(g, y), inner_product(fft_r2c_backward(g, Dims({1, 2}), 1, onesided, n), x), 1e-11);
    }
    const Tensor x = complex_noise(Dims({3, 4, n / 2 + 1}));
    const Tensor y = _fft_c2r(x, Dims({1, 2}), 2, n), g = real_noise(y.sizes());
    const Tensor back = fft_halves_scaled(_fft_r2c(g, Dims({1, 2}), 2, true), 2, n, 2.0);
    EXPECT_NEAR(inner_product(g, y), inner_product(back, x), 1e-11);
  }
}

TEST(FftOps, results_do_not_depend_on_threads) {
  const Tensor x = complex_noise(Dims({37, 24, 60})), r = real_noise(Dims({41, 50}));
  const Tensor all = fft_fftn(x), half = fft_rfft2(r);
  const Tensor line = complex_noise(Dims({1 << 17})), long_one = fft_fft(line);
  set_num_threads(3);
  EXPECT_EQ(largest_difference(long_one, fft_fft(line)), 0);
  EXPECT_EQ(largest_difference(all, fft_fftn(x)), 0);
  EXPECT_EQ(largest_difference(half, fft_rfft2(r)), 0);
  set_num_threads(1);
}

TEST(FftOps, short_time_transforms_come_back) {
  const Tensor x = real_noise(Dims({2, 100}));
  for (const bool onesided : {false, true}) {
    for (const int64_t width : {16, 13}) {
      const Tensor window = hamming_window(width, DType::float64);
      const Tensor s = stft(x, 16, 4, width, window, true, "reflect", true, onesided, true);
      EXPECT_LT(largest_difference(istft(s, 16, 4, width, window, true, true, onesided, 100), x), 1e-12);
    }
  }
  EXPECT_ERROR(stft(x, 16), "stft requires the return_complex parameter");
  EXPECT_ERROR(stft(x, 16, 0, {}, {}, true, "reflect", false, {}, true), "expected hop_length > 0");
  const Tensor s = stft(x, 16, 4, 16, hann_window(16, DType::float64), true, "reflect", false, {}, true);
  EXPECT_ERROR(istft(s, 16, 4, 16, hann_window(16, DType::float64), false), "window overlap add min");
  EXPECT_ERROR(istft(s, 20), "to match n_fft / 2 + 1");
}

}  // namespace
}  // namespace sconce
