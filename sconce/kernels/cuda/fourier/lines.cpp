// Cooley and Tukey's algorithm over products: a line of n1 * n2 elements is a matrix, whose columns are multiplied with
// the roots of n1, then each element with a root of n, then the rows are transformed. Lines of large primes go through
// a convolution (Bluestein).
#include "sconce/kernels/cuda/fourier/lines.h"

#include <bit>
#include <map>
#include <mutex>
#include <numbers>
#include <tuple>

#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

constexpr int64_t kLargestFactor = 64;
constexpr int64_t kLargestMatrix = 1024;  // of a line that has no factors
constexpr size_t kMostKept = 256;

// What depends on sizes alone is kept.
using Key = std::tuple<int, int64_t, int64_t, int64_t, int, bool>;
template <class Make>
Tensor kept(const Key& key, const Make& make) {
  static std::mutex mutex;
  static auto& all = *new std::map<Key, Tensor>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = all.find(key); found != all.end()) return found->second;
  }
  const Tensor made = make();
  const std::lock_guard lock(mutex);
  if (all.size() >= kMostKept) all.clear();
  all[key] = made;
  return made;
}

// exp(-+ 2 pi i places / n), of places below n.
Tensor roots_at(const Tensor& places, int64_t n, DType dtype, bool inverse) {
  const double step = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  const Tensor angle = sconce::mul(sconce::to(places, DType::float64), Scalar(step));
  return sconce::to(sconce::complex(sconce::cos(angle), sconce::sin(angle)), dtype);
}
// [rows, columns]: the root of n to the power row * column.
Tensor roots(int64_t rows, int64_t columns, int64_t n, DType dtype, Device device, bool inverse) {
  return kept({device.index, rows, columns, n, static_cast<int>(dtype), inverse}, [&] {
    const Tensor r = sconce::unsqueeze(sconce::arange(Scalar(rows), DType::int64, {}, device), 1);
    const Tensor c = sconce::arange(Scalar(columns), DType::int64, {}, device);
    return roots_at(sconce::remainder(sconce::mul(r, c), Scalar(n)), n, dtype, inverse);
  });
}

int64_t factor_of(int64_t n) {
  for (int64_t f = std::min(kLargestFactor, n / 2); f > 1; --f) {
    if (n % f == 0) return f;
  }
  return 1;
}

Tensor by_products(const Tensor& lines, bool inverse);

// Of a line without factors: the product of the places is half the difference of squares.
Tensor by_convolution(const Tensor& lines, bool inverse) {
  const int64_t rows = lines.size(0), n = lines.size(1);
  const auto m = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
  const Device device = lines.device();
  const DType dtype = lines.dtype();
  const Tensor chirp = kept({device.index, -1, n, 0, static_cast<int>(dtype), inverse}, [&] {
    const Tensor k = sconce::arange(Scalar(n), DType::int64, {}, device);
    return roots_at(sconce::remainder(sconce::mul(k, k), Scalar(2 * n)), 2 * n, dtype, inverse);
  });
  const Tensor filter = kept({device.index, -2, n, m, static_cast<int>(dtype), inverse}, [&] {
    const Tensor f = sconce::zeros({1, m}, dtype, {}, device);
    const Tensor turned = sconce::conj_physical(chirp);
    sconce::copy_(sconce::narrow(f, 1, 0, n), sconce::unsqueeze(turned, 0));
    sconce::copy_(sconce::narrow(f, 1, m - n + 1, n - 1),
                  sconce::flip(sconce::unsqueeze(sconce::narrow(turned, 0, 1, n - 1), 0), {1}));
    return by_products(f, false);
  });
  const Tensor padded = sconce::zeros({rows, m}, dtype, {}, device);
  sconce::copy_(sconce::narrow(padded, 1, 0, n), sconce::mul(lines, chirp));
  const Tensor product = by_products(sconce::mul(by_products(padded, false), filter), true);
  return sconce::contiguous(
      sconce::mul(sconce::mul(sconce::narrow(product, 1, 0, n), chirp), Scalar(1 / static_cast<double>(m))));
}

Tensor by_products(const Tensor& lines, bool inverse) {
  const int64_t rows = lines.size(0), n = lines.size(1);
  const Device device = lines.device();
  const DType dtype = lines.dtype();
  if (n <= kLargestFactor) return sconce::matmul(lines, roots(n, n, n, dtype, device, inverse));
  const int64_t first = factor_of(n), rest = n / first;
  if (first == 1)
    return n <= kLargestMatrix ? sconce::matmul(lines, roots(n, n, n, dtype, device, inverse))
                               : by_convolution(lines, inverse);
  const Tensor columns =
      sconce::matmul(roots(first, first, first, dtype, device, inverse), sconce::view(lines, {rows, first, rest}));
  const Tensor turned = sconce::mul(columns, roots(first, rest, n, dtype, device, inverse));
  const Tensor done = by_products(sconce::view(sconce::contiguous(turned), {rows * first, rest}), inverse);
  return sconce::view(sconce::contiguous(sconce::transpose(sconce::view(done, {rows, first, rest}), 1, 2)), {rows, n});
}

}  // namespace

Tensor transform_lines(const Tensor& lines, bool inverse) {
  if (lines.size(1) <= 1) return lines;
  if (const Tensor done = transform_by_cufft(lines, inverse); done.defined()) return done;
  return by_products(lines, inverse);
}

}  // namespace sconce::cuda
