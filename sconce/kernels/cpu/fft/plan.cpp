#include "sconce/kernels/cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <new>
#include <numeric>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/fft/roots.h"

namespace sconce {

const FftKernels& fft_kernels_for(bool is_double) { return at_cpu_level(SCONCE_OF_EACH_LEVEL(fft_kernels[is_double])); }

FftTable::FftTable(bool is_double, int64_t count)
    : data_(::operator new(static_cast<size_t>(count) * (is_double ? 8 : 4), std::align_val_t(64))),
      is_double_(is_double),
      bytes_(count * (is_double ? 8 : 4)) {}

void FftTable::Free::operator()(void* p) const { ::operator delete(p, std::align_val_t(64)); }

void FftTable::set(int64_t i, double x) {
  if (is_double_) {
    static_cast<double*>(data_.get())[i] = x;
  } else {
    static_cast<float*>(data_.get())[i] = static_cast<float>(x);
  }
}

namespace {

constexpr int64_t kMostLaneBytes = 4 << 20;  // of working memory for transforms in lanes
constexpr int64_t kLargestAcross = 65536;    // complex numbers; beyond, passes over all of them leave the caches

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = p;
      n /= p;
    }
  }
  return std::max(largest, n);
}

bool is_smooth(int64_t n) { return largest_prime_factor(n) <= kFftLargestRadix; }

// Factors in rising order, powers of 2 as eights and fours: the last pass has no twiddles and should be the largest.
std::vector<int64_t> radices(int64_t n) {
  std::vector<int64_t> list;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  if (twos == 1) list.push_back(2);
  if (twos % 3 == 1 && twos > 1) {
    list.insert(list.end(), 2, 4);
    twos -= 4;
  } else if (twos % 3 == 2) {
    list.push_back(4);
    twos -= 2;
  }
  for (; twos >= 3; twos -= 3) list.push_back(8);
  for (int64_t p = 3; n > 1; p += 2) {
    for (; n % p == 0; n /= p) list.push_back(p);
  }
  std::sort(list.begin(), list.end());
  return list;
}

int64_t power(int64_t base, int64_t exponent, int64_t modulus) {
  int64_t result = 1;
  for (; exponent; exponent >>= 1, base = base * base % modulus) {
    if (exponent & 1) result = result * base % modulus;
  }
  return result;
}

int64_t primitive_root(int64_t prime) {
  std::vector<int64_t> factors;
  int64_t rest = prime - 1;
  for (int64_t p = 2; p * p <= rest; ++p) {
    if (rest % p == 0) factors.push_back(p);
    while (rest % p == 0) rest /= p;
  }
  if (rest > 1) factors.push_back(rest);
  for (int64_t g = 2;; ++g) {
    if (std::all_of(factors.begin(), factors.end(), [&](int64_t f) { return power(g, (prime - 1) / f, prime) != 1; }))
      return g;
  }
}

// How many lanes' worth of work two steps of n1 and n / n1 columns take, in elements of full vectors.
int64_t split_cost(int64_t n, int64_t n1, int64_t lanes) {
  const int64_t n2 = n / n1;
  return n1 * ((n2 + lanes - 1) / lanes) + n2 * ((n1 + lanes - 1) / lanes) + 2 * (n1 + n2);
}

int64_t best_split(int64_t n, int64_t lanes) {
  int64_t best = 1;
  for (int64_t a = 1; a * a <= n; ++a) {
    if (n % a == 0) {
      if (split_cost(n, a, lanes) < split_cost(n, best, lanes)) best = a;
    }
  }
  return best;
}

template <class T>
T* complex_scratch(Scratch& scratch, int64_t count) {
  return scratch.take<T>(2 * count);
}

}  // namespace

const void* FftPlan::keep(FftTable table) {
  bytes_ += table.bytes();
  tables_.push_back(std::move(table));
  return tables_.back().data();
}

FftPasses FftPlan::make_passes(int64_t n, std::vector<FftPass>& list) {
  const std::vector<int64_t> factors = radices(n);
  int64_t rest = n, s = 1;
  for (const int64_t r : factors) {
    const int64_t m = rest / r;
    FftPass pass{r, m, s, nullptr, nullptr};
    if (m > 1) {
      const UnitRoots roots(rest, is_double_);
      FftTable table(is_double_, m * (r - 1) * 2);
      for (int64_t p = 0, i = 0; p < m; ++p) {
        for (int64_t k = 1; k < r; ++k, i += 2) {
          const auto w = roots.at(p * k);
          table.set(i, w.real());
          table.set(i + 1, w.imag());
        }
      }
      pass.twiddles = keep(std::move(table));
    }
    if (r % 2 != 0) {
      const UnitRoots roots(r, is_double_);
      FftTable table(is_double_, 2 * r);
      for (int64_t j = 0; j < r; ++j) {
        table.set(j, roots.at(j).real());
        table.set(r + j, -roots.at(j).imag());
      }
      pass.roots = keep(std::move(table));
    }
    list.push_back(pass);
    rest = m;
    s *= r;
  }
  return {n, static_cast<int>(list.size()), list.data()};
}

FftPlan::FftPlan(int64_t n, bool is_double) : n_(n), is_double_(is_double), kernels_(fft_kernels_for(is_double)) {
  const int64_t largest = largest_prime_factor(n);
  if (largest > kFftLargestRadix) {
    if (largest == n && is_smooth(n - 1) && n < (int64_t{1} << 30)) {
      plan_rader();
    } else {
      plan_bluestein();
    }
    return;
  }
  runs_in_lanes_ = n * kernels_.lanes * (is_double ? 16 : 8) <= kMostLaneBytes;
  if (runs_in_lanes_) passes_ = make_passes(n, all_passes_);
  if (n % kernels_.lanes == 0 && n <= kLargestAcross) {
    plan_across();
  } else if (const int64_t first = best_split(n, kernels_.lanes); first > 1 && n > 2 * kernels_.lanes) {
    plan_split(first);
  }
}

void FftPlan::plan_across() {
  method_ = Method::across;
  const int64_t lanes = kernels_.lanes, m = n_ / lanes;
  row_ = make_passes(m, row_passes_);
  const UnitRoots roots(n_, is_double_);
  FftTable table(is_double_, std::max(m, lanes) * 2 * lanes);
  for (int64_t k = 0; k < std::max(m, lanes); ++k) {
    for (int64_t i = 0; i < lanes; ++i) {
      const auto w = roots.at(i * k % n_);
      table.set((2 * k) * lanes + i, w.real());
      table.set((2 * k + 1) * lanes + i, w.imag());
    }
  }
  lane_twiddles_ = keep(std::move(table));
}

void FftPlan::plan_split(int64_t first) {
  method_ = Method::split;
  const int64_t lanes = kernels_.lanes, n1 = first, n2 = n_ / first, blocks = (n2 + lanes - 1) / lanes;
  row_ = make_passes(n1, row_passes_);
  second_ = make_passes(n2, second_passes_);
  const UnitRoots roots(n_, is_double_);
  FftTable by_lane(is_double_, n1 * 2 * lanes), by_block(is_double_, blocks * n1 * 2);
  for (int64_t k = 0; k < n1; ++k) {
    for (int64_t i = 0; i < lanes; ++i) {
      const auto w = roots.at(i * k % n_);
      by_lane.set((2 * k) * lanes + i, w.real());
      by_lane.set((2 * k + 1) * lanes + i, w.imag());
    }
    for (int64_t b = 0; b < blocks; ++b) {
      const auto w = roots.at(b * lanes * k % n_);
      by_block.set(2 * (b * n1 + k), w.real());
      by_block.set(2 * (b * n1 + k) + 1, w.imag());
    }
  }
  lane_twiddles_ = keep(std::move(by_lane));
  block_twiddles_ = keep(std::move(by_block));
}

// X[g^-q] - x[0] is the convolution of x[g^q] with e^(-2 pi i g^-q / n), for a primitive root g of the prime n.
void FftPlan::plan_rader() {
  method_ = Method::rader;
  const int64_t length = n_ - 1, g = primitive_root(n_), inverse = power(g, n_ - 2, n_);
  convolution_ = std::make_unique<FftPlan>(length, is_double_);
  const UnitRoots roots(n_, is_double_);
  gather_.resize(static_cast<size_t>(length));
  scatter_.resize(static_cast<size_t>(length));
  std::vector<std::complex<double>> kernel(static_cast<size_t>(length));
  for (int64_t q = 0, up = 1, down = 1; q < length; ++q, up = up * g % n_, down = down * inverse % n_) {
    gather_[static_cast<size_t>(q)] = static_cast<int32_t>(up);
    scatter_[static_cast<size_t>(q)] = static_cast<int32_t>(down);
    kernel[static_cast<size_t>(q)] = roots.at(down);
  }
  const FftPlan exact(length, true);
  exact.row(kernel.data(), kernel.data(), false, 1.0 / static_cast<double>(length));
  FftTable table(is_double_, 2 * length);
  for (int64_t q = 0; q < length; ++q) {
    table.set(2 * q, kernel[static_cast<size_t>(q)].real());
    table.set(2 * q + 1, kernel[static_cast<size_t>(q)].imag());
  }
  spectrum_ = keep(std::move(table));
  bytes_ += convolution_->bytes() + length * 8;
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: X[k] = c[k] sum_j (x[j] c[j]) conj(c[k - j]) with c[j] = e^(-pi i j^2 / n).
void FftPlan::plan_bluestein() {
  method_ = Method::bluestein;
  int64_t length = (2 * n_ - 1 + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes;
  while (largest_prime_factor(length) > 7) length += kernels_.lanes;
  convolution_ = std::make_unique<FftPlan>(length, is_double_);
  const UnitRoots roots(2 * n_, is_double_);
  FftTable chirp(is_double_, 2 * n_), table(is_double_, 2 * length);
  std::vector<std::complex<double>> kernel(static_cast<size_t>(length));
  for (int64_t j = 0, square = 0; j < n_; ++j) {  // square is j^2 mod 2 n
    const auto c = roots.at(square);
    chirp.set(2 * j, c.real());
    chirp.set(2 * j + 1, c.imag());
    kernel[static_cast<size_t>(j)] = std::conj(c);
    if (j > 0) kernel[static_cast<size_t>(length - j)] = std::conj(c);
    square = (square + 2 * j + 1) % (2 * n_);
  }
  const FftPlan exact(length, true);
  exact.row(kernel.data(), kernel.data(), false, 1.0 / static_cast<double>(length));
  for (int64_t q = 0; q < length; ++q) {
    table.set(2 * q, kernel[static_cast<size_t>(q)].real());
    table.set(2 * q + 1, kernel[static_cast<size_t>(q)].imag());
  }
  chirp_ = keep(std::move(chirp));
  spectrum_ = keep(std::move(table));
  bytes_ += convolution_->bytes();
}

SCONCE_VARIANT(by_across, "fft.plan.across", "a row over all lanes: lengths of whole vectors up to 65,536");
SCONCE_VARIANT(by_split, "fft.plan.split", "a row as a matrix: lengths with a factor that fits");
SCONCE_VARIANT(by_rader, "fft.plan.rader", "Rader's convolution: a large prime n where n - 1 has small factors");
SCONCE_VARIANT(by_bluestein, "fft.plan.bluestein", "Bluestein's convolution: other lengths with a large prime factor");
SCONCE_VARIANT(by_lane, "fft.plan.lane", "a row in one lane: other lengths");

void FftPlan::row(void* out, const void* in, bool inverse, double scale) const {
  Budget::poll_active();  // a long row takes seconds: those that are made of others look in between
  by_across(method_ == Method::across);
  by_split(method_ == Method::split);
  by_rader(method_ == Method::rader);
  by_bluestein(method_ == Method::bluestein);
  by_lane(method_ == Method::lane);
  switch (method_) {
    case Method::across:
      return row_across(out, in, inverse, scale);
    case Method::split:
      return row_split(out, in, inverse, scale);
    case Method::rader:
      return row_rader(out, in, inverse, scale);
    case Method::bluestein:
      return row_bluestein(out, in, inverse, scale);
    case Method::lane:
      return row_lane(out, in, inverse, scale);
  }
}

namespace {

constexpr int64_t kMostLanes = 16;

// Pointers to `count` lanes, `bytes` apart.
struct LanePointers {
  void* at[kMostLanes];
  LanePointers(const void* first, int64_t count, int64_t bytes) {
    for (int64_t i = 0; i < count; ++i) at[i] = const_cast<char*>(static_cast<const char*>(first)) + i * bytes;
  }
};

}  // namespace

void FftPlan::row_across(void* out, const void* in, bool inverse, double scale) const {
  const int64_t lanes = kernels_.lanes, m = n_ / lanes, item = is_double_ ? 16 : 8;
  Scratch scratch;
  const int64_t bytes = std::max(m, lanes) * lanes * item;
  void *work = scratch.take_bytes(static_cast<size_t>(bytes)), *other = scratch.take_bytes(static_cast<size_t>(bytes));
  const LanePointers pointers(in, lanes, item);
  kernels_.load(work, pointers.at, static_cast<int>(lanes), m, lanes, inverse);
  const void* done = kernels_.run(row_, work, other);
  kernels_.finish(out, done, m, lane_twiddles_, inverse, scale);
}

void FftPlan::row_split(void* out, const void* in, bool inverse, double scale) const {
  const int64_t lanes = kernels_.lanes, item = is_double_ ? 16 : 8, n1 = row_.n, n2 = second_.n;
  Scratch outer;
  char* middle = outer.take<char>(n_ * item);
  // body(first column, how many) for blocks of as many columns as there are lanes, over threads.
  const auto for_blocks = [&](int64_t columns, int64_t length, auto body) {
    const int64_t blocks = (columns + lanes - 1) / lanes;
    parallel_for(blocks, grain_for(2 * length * lanes), [&](int64_t begin, int64_t end) {
      Scratch scratch;
      const auto bytes = static_cast<size_t>(length * lanes * item);
      void *work = scratch.take_bytes(bytes), *other = scratch.take_bytes(bytes);
      for (int64_t b = begin; b < end; ++b) body(b * lanes, std::min(lanes, columns - b * lanes), work, other);
    });
  };
  for_blocks(n2, n1, [&](int64_t c, int64_t count, void* work, void* other) {
    const LanePointers from(static_cast<const char*>(in) + c * item, count, item);
    const LanePointers to(middle + c * n1 * item, count, n1 * item);
    kernels_.load(work, from.at, static_cast<int>(count), n1, n2, inverse);
    void* done = kernels_.run(row_, work, other);
    kernels_.twiddle(done, n1, lane_twiddles_, static_cast<const char*>(block_twiddles_) + c / lanes * n1 * item);
    kernels_.store(to.at, static_cast<int>(count), done, n1, 1, false, 1);
  });
  for_blocks(n1, n2, [&](int64_t c, int64_t count, void* work, void* other) {
    const LanePointers from(middle + c * item, count, item), to(static_cast<char*>(out) + c * item, count, item);
    kernels_.load(work, from.at, static_cast<int>(count), n2, n1, false);
    const void* done = kernels_.run(second_, work, other);
    kernels_.store(to.at, static_cast<int>(count), done, n2, n1, inverse, scale);
  });
}

namespace {

// Rader's convolution around the plan of length n - 1.
template <class T>
void rader(T* out, const T* in, bool inverse, double scale_by, int64_t n, const FftPlan& plan,
           const FftKernels& kernels, const int32_t* gather, const int32_t* scatter, const void* spectrum) {
  Scratch scratch;
  T* a = complex_scratch<T>(scratch, n - 1);
  const T scale = static_cast<T>(scale_by);
  const int re = inverse ? 1 : 0, im = 1 - re;
  for (int64_t q = 0; q < n - 1; ++q) {
    a[2 * q] = in[2 * gather[q] + re];
    a[2 * q + 1] = in[2 * gather[q] + im];
  }
  const T first_re = in[re], first_im = in[im];
  plan.row(a, a, false, 1);
  const T sum_re = a[0] + first_re, sum_im = a[1] + first_im;
  kernels.multiply(a, a, spectrum, n - 1, false, false, 1);
  a[0] += first_re;  // reaches every element of the inverse transform
  a[1] += first_im;
  plan.row(a, a, true, scale_by);
  out[re] = sum_re * scale;
  out[im] = sum_im * scale;
  for (int64_t q = 0; q < n - 1; ++q) {
    out[2 * scatter[q] + re] = a[2 * q];
    out[2 * scatter[q] + im] = a[2 * q + 1];
  }
}

}  // namespace

void FftPlan::row_rader(void* out, const void* in, bool inverse, double scale) const {
  if (is_double_) {
    rader(static_cast<double*>(out), static_cast<const double*>(in), inverse, scale, n_, *convolution_, kernels_,
          gather_.data(), scatter_.data(), spectrum_);
  } else {
    rader(static_cast<float*>(out), static_cast<const float*>(in), inverse, scale, n_, *convolution_, kernels_,
          gather_.data(), scatter_.data(), spectrum_);
  }
}

void FftPlan::row_bluestein(void* out, const void* in, bool inverse, double scale) const {
  const int64_t item = is_double_ ? 16 : 8, length = convolution_->size();
  Scratch scratch;
  char* a = scratch.take<char>(length * item);
  kernels_.multiply(a, in, chirp_, n_, inverse, false, 1);
  std::fill(a + n_ * item, a + length * item, char{0});
  convolution_->row(a, a, false, 1);
  kernels_.multiply(a, a, spectrum_, length, false, false, 1);
  convolution_->row(a, a, true, 1);
  kernels_.multiply(out, a, chirp_, n_, false, inverse, scale);
}

void FftPlan::row_lane(void* out, const void* in, bool inverse, double scale) const {
  const int64_t item = is_double_ ? 16 : 8;
  Scratch scratch;
  const auto bytes = static_cast<size_t>(n_ * kernels_.lanes * item);
  void *work = scratch.take_bytes(bytes), *other = scratch.take_bytes(bytes);
  kernels_.load(work, &in, 1, n_, 1, inverse);
  const void* done = kernels_.run(passes_, work, other);
  kernels_.store(&out, 1, done, n_, 1, inverse, scale);
}

RealFftPlan::RealFftPlan(int64_t length, bool is_double)
    : n(length), complex(fft_plan(length % 2 == 0 ? length / 2 : length, is_double)) {
  if (n % 2 != 0) return;
  const UnitRoots roots(n, is_double);
  const int64_t count = n / 4 + 1 + 16;  // vectors may read a few more
  twiddles = FftTable(is_double, 2 * count);
  for (int64_t k = 0; k < count; ++k) {
    const auto w = roots.at(k % n);  // times -i / 2
    twiddles.set(2 * k, w.imag() / 2);
    twiddles.set(2 * k + 1, -w.real() / 2);
  }
}

}  // namespace sconce
