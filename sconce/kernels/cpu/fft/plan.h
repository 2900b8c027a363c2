// FFT plans: how a length is factored, and the tables of twiddle factors for it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sconce/kernels/cpu/fft/kernels.h"

namespace sconce {

// The kernels of this machine, for float or double.
const FftKernels& fft_kernels_for(bool is_double);

// A table of numbers, float or double, that a plan owns; aligned for vectors.
class FftTable {
 public:
  FftTable() = default;
  FftTable(bool is_double, int64_t count);
  void set(int64_t i, double x);
  const void* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> data_;
  bool is_double_ = false;
  int64_t bytes_ = 0;
};

// Forward and inverse transforms of n complex numbers. Immutable once made: threads share one.
class FftPlan {
 public:
  FftPlan(int64_t n, bool is_double);

  int64_t size() const { return n_; }
  bool is_double() const { return is_double_; }
  // Whether transforms can run in lanes: n has no prime factor above kFftLargestRadix, and as many of them as there are
  // lanes fit into the caches.
  bool runs_in_lanes() const { return runs_in_lanes_; }
  // Whether one transform uses all lanes, so that grouping several gains little.
  bool row_fills_lanes() const { return method_ == Method::across; }
  // The passes for lanes; runs_in_lanes() only.
  const FftPasses& passes() const { return passes_; }
  // One transform of dense numbers, times scale; out may be in. Inverse (not divided by n) with `inverse`.
  void row(void* out, const void* in, bool inverse, double scale) const;
  // Memory of the tables.
  int64_t bytes() const { return bytes_; }

 private:
  // How one transform is done: n = lanes * m with passes of m; two factors, in lanes over columns, then rows (with
  // blocks of columns at a time); as a convolution (Rader's for primes, Bluestein's for any n); alone in one lane.
  enum class Method { across, split, rader, bluestein, lane };

  FftPasses make_passes(int64_t n, std::vector<FftPass>& list);
  const void* keep(FftTable table);
  void plan_across();
  void plan_split(int64_t first);
  void plan_rader();
  void plan_bluestein();
  void row_across(void* out, const void* in, bool inverse, double scale) const;
  void row_split(void* out, const void* in, bool inverse, double scale) const;
  void row_rader(void* out, const void* in, bool inverse, double scale) const;
  void row_bluestein(void* out, const void* in, bool inverse, double scale) const;
  void row_lane(void* out, const void* in, bool inverse, double scale) const;

  const int64_t n_;
  const bool is_double_;
  const FftKernels& kernels_;
  bool runs_in_lanes_ = false;
  Method method_ = Method::lane;
  std::vector<FftPass> all_passes_, row_passes_, second_passes_;
  FftPasses passes_{}, row_{}, second_{};
  const void* lane_twiddles_ = nullptr;    // across: [m][2][lanes]; split: [n1][2][lanes]
  const void* block_twiddles_ = nullptr;   // split: [n2 / lanes][n1]
  std::unique_ptr<FftPlan> convolution_;   // rader, bluestein: of its length
  const void* chirp_ = nullptr;            // bluestein: e^(-pi i j^2 / n)
  const void* spectrum_ = nullptr;         // of the convolution's kernel, divided by its length
  std::vector<int32_t> gather_, scatter_;  // rader: where inputs come from and outputs go to
  std::vector<FftTable> tables_;
  int64_t bytes_ = 0;
};

// A transform of n real numbers: by one of n / 2 complex numbers when n is even, else by one of n.
struct RealFftPlan {
  RealFftPlan(int64_t n, bool is_double);
  int64_t n;
  std::shared_ptr<const FftPlan> complex;
  FftTable twiddles;  // for untangle and tangle; empty when n is odd
};

// Kept for later calls: the plans last used.
std::shared_ptr<const FftPlan> fft_plan(int64_t n, bool is_double);
std::shared_ptr<const RealFftPlan> real_fft_plan(int64_t n, bool is_double);

}  // namespace sconce
