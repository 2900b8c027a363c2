#include "sconce/kernels/cpu/fft/transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "sconce/kernels/cpu/fft/plan.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

using Wide = std::complex<long double>;

// Numbers in [-1, 1) that look random.
double noise(int64_t i) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u + 0x7f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 32;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

std::vector<Wide> dft(const std::vector<Wide>& x, int sign) {
  const size_t n = x.size();
  std::vector<Wide> root(n), out(n);
  for (size_t t = 0; t < n; ++t) {
    const long double angle =
        sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(t) / static_cast<long double>(n);
    root[t] = {std::cos(angle), std::sin(angle)};
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) out[k] += x[j] * root[at];
  }
  return out;
}

template <class T>
constexpr DType kComplex = std::is_same_v<T, double> ? DType::complex128 : DType::complex64;
template <class T>
constexpr DType kReal = std::is_same_v<T, double> ? DType::float64 : DType::float32;

// The error of n numbers, relative to their size, in units of T's precision.
template <class T>
double error(const T* got, int64_t got_stride, const std::vector<Wide>& want, bool real) {
  long double difference = 0, size = 0;
  for (size_t k = 0; k < want.size(); ++k) {
    const T* at = got + static_cast<int64_t>(k) * got_stride * (real ? 1 : 2);
    difference += std::norm(Wide(at[0], real ? 0 : at[1]) - (real ? Wide(want[k].real()) : want[k]));
    size += std::norm(want[k]);
  }
  return static_cast<double>(std::sqrt(difference / size)) / std::numeric_limits<T>::epsilon();
}

// Lines side by side (stride `lines`) or one after the other, and as many of them as there are.
template <class T>
void check_length(int64_t n, int64_t lines, bool columns) {
  SCOPED_TRACE(testing::Message() << n << " elements, " << lines << " lines" << (columns ? ", columns" : ""));
  const double bound = 3;  // measured: 1.1 at most, 2.2 for transforms by convolution
  const Dims sizes({lines, n}), strides = columns ? Dims({1, lines}) : Dims({n, 1});
  const int64_t line = strides[0], step = strides[1], m = n / 2 + 1;
  const Tensor in = empty_strided_tensor(sizes, strides, kComplex<T>),
               out = empty_strided_tensor(sizes, strides, kComplex<T>);
  const Tensor real = empty_strided_tensor(sizes, strides, kReal<T>);
  const Dims half_sizes({lines, m}), half_strides = columns ? Dims({1, lines}) : Dims({m, 1});
  const Tensor half = empty_strided_tensor(half_sizes, half_strides, kComplex<T>),
               back = empty_strided_tensor(sizes, strides, kReal<T>);
  T *x = static_cast<T*>(in.data()), *r = static_cast<T*>(real.data());
  for (int64_t i = 0; i < 2 * n * lines; ++i) x[i] = static_cast<T>(noise(i));
  for (int64_t i = 0; i < n * lines; ++i) r[i] = static_cast<T>(noise(~i));
  for (const bool inverse : {false, true}) {
    fft_complex(out, in, 1, inverse, 1);
    {
      const int64_t l = lines - 1;
      std::vector<Wide> values;
      for (int64_t j = 0; j < n; ++j)
        values.emplace_back(x[2 * (l * line + j * step)], x[2 * (l * line + j * step) + 1]);
      EXPECT_LT(error(static_cast<const T*>(out.data()) + 2 * l * line, step, dft(values, inverse ? 1 : -1), false),
                bound);
    }
  }
  fft_from_real(half, real, 1, 1);
  fft_to_real(back, half, 1, 1.0 / static_cast<double>(n));
  {
    const int64_t l = lines - 1;
    std::vector<Wide> values;
    for (int64_t j = 0; j < n; ++j) values.emplace_back(r[l * line + j * step]);
    EXPECT_LT(error(static_cast<const T*>(back.data()) + l * line, step, values, true), 2 * bound);
    values = dft(values, -1);
    values.resize(static_cast<size_t>(m));
    EXPECT_LT(error(static_cast<const T*>(half.data()) + 2 * l * half_strides[0], half_strides[1], values, false),
              bound);
  }
  // In place.
  fft_complex(in, in, 1, false, 1);
  fft_complex(out, out, 1, false, 1.0 / static_cast<double>(n));  // undoes the inverse one above
  T* y = static_cast<T*>(out.data());
  for (int64_t i = 0; i < 2 * n * lines; ++i) ASSERT_NEAR(y[i], noise(i), 64 * std::numeric_limits<T>::epsilon());
}

TEST(Fft, every_short_length_in_rows_and_columns) {
  for (int64_t n = 1; n <= 50; ++n) {
    for (const int64_t lines : {1, 3, 19}) {
      for (const bool columns : {false, true}) {
        check_length<float>(n, lines, columns);
        check_length<double>(n, lines, columns);
      }
    }
  }
}

TEST(Fft, lengths_of_every_method) {
  // Over all lanes; two factors; primes by Rader (p - 1 smooth) and Bluestein (107, 719 have large factors in p - 1);
  // products with a large prime; a radix without a butterfly of its own.
  for (const int64_t n :
       {96, 128, 256, 400, 512, 1000, 1024, 97, 101, 107, 719, 1009, 2 * 107, 9 * 59, 17 * 16, 47 * 3, 1331, 900}) {
    for (const int64_t lines : {1, 33}) {
      check_length<float>(n, lines, false);
      check_length<double>(n, lines, false);
    }
    check_length<float>(n, 18, true);
    check_length<double>(n, 18, true);
  }
}

TEST(Fft, long_transforms_come_back) {
  for (const int64_t n : {int64_t{65536}, int64_t{65536 * 3}, int64_t{1} << 18, int64_t{99991}, int64_t{100000}}) {
    const Tensor in = empty_tensor(Dims({n}), DType::complex64), out = empty_tensor(Dims({n}), DType::complex64);
    float *x = static_cast<float*>(in.data()), *y = static_cast<float*>(out.data());
    for (int64_t i = 0; i < 2 * n; ++i) x[i] = static_cast<float>(noise(i));
    // A pure frequency has one element.
    const int64_t f = n / 3;
    fft_complex(out, in, 0, false, 1);
    fft_complex(out, out, 0, true, 1.0 / static_cast<double>(n));
    for (int64_t i = 0; i < 2 * n; ++i) ASSERT_NEAR(x[i], y[i], 4e-6f) << n;
    for (int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * f % n) / static_cast<double>(n);
      x[2 * i] = static_cast<float>(std::cos(angle));
      x[2 * i + 1] = static_cast<float>(std::sin(angle));
    }
    fft_complex(out, in, 0, false, 1.0 / static_cast<double>(n));
    for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(std::hypot(y[2 * i], y[2 * i + 1]), i == f ? 1 : 0, 1e-6f) << n;
  }
}

TEST(Fft, imaginary_parts_of_the_ends_of_a_hermitian_spectrum_do_not_count) {
  for (const int64_t n : {7, 8, 256}) {
    const int64_t m = n / 2 + 1;
    const Tensor in = empty_tensor(Dims({m}), DType::complex128), out = empty_tensor(Dims({n}), DType::float64),
                 again = empty_tensor(Dims({n}), DType::float64);
    double* x = static_cast<double*>(in.data());
    for (int64_t i = 0; i < 2 * m; ++i) x[i] = noise(i);
    fft_to_real(out, in, 0, 1);
    x[1] = 0;
    if (n % 2 == 0) x[2 * m - 1] = 0;
    fft_to_real(again, in, 0, 1);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(static_cast<double*>(out.data())[i], static_cast<double*>(again.data())[i]);
  }
}

TEST(Fft, plans_are_kept) { EXPECT_EQ(fft_plan(48, false), fft_plan(48, false)); }

}  // namespace
}  // namespace sconce
