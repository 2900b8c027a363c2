// LatencyHistogram: a log-linear (HDR) histogram of durations in nanoseconds: 2^Bits counts for each power of two, so
// that a quantile is exact to one part in 2^Bits, from 1 ns to centuries, at a fixed size.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace sconce::server {

template <int Bits, class Count = uint64_t>
class LatencyHistogram {
 public:
  static constexpr uint64_t kSub = 1ull << Bits;
  static constexpr size_t kSize = (64 - Bits + 1) * kSub;

  LatencyHistogram() : counts_(kSize) {}

  void add(uint64_t ns) {
    counts_[index(ns)] += 1;
    sum_ += ns;
  }
  uint64_t count() const {
    uint64_t n = 0;
    for (const Count& c : counts_) n += c;
    return n;
  }
  uint64_t sum() const { return sum_; }
  // The least duration that this share (0 to 1) of all did not exceed, up to the width of its count; 0 when there are
  // none.
  uint64_t quantile(double share) const {
    const uint64_t all = count();
    if (all == 0) return 0;
    const double wanted = share * static_cast<double>(all);
    uint64_t seen = 0;
    for (size_t i = 0; i < kSize; ++i) {
      seen += counts_[i];
      if (seen && static_cast<double>(seen) >= wanted) return upper(i);
    }
    return upper(kSize - 1);
  }
  uint64_t max() const { return quantile(1); }
  // How many lasted less than 2^exponent ns.
  uint64_t below_power(int exponent) const {
    uint64_t n = 0;
    for (size_t i = 0; i < kSize && upper(i) < 1ull << exponent; ++i) n += counts_[i];
    return n;
  }
  void merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < kSize; ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }
  // Calls f(lower, upper, count) for each count above 0, ascending; bounds in ns, both inclusive.
  template <class F>
  void for_each(F&& f) const {
    for (size_t i = 0; i < kSize; ++i) {
      if (const uint64_t n = counts_[i]) f(lower(i), upper(i), n);
    }
  }

 private:
  static size_t index(uint64_t v) {
    if (v < kSub) return v;
    const int e = 63 - std::countl_zero(v);
    return static_cast<size_t>((static_cast<uint64_t>(e - Bits) << Bits) + (v >> (e - Bits)));
  }
  static uint64_t lower(size_t i) {
    if (i < kSub) return i;
    const int shift = static_cast<int>(i >> Bits) - 1;
    return (i - (static_cast<uint64_t>(shift) << Bits)) << shift;
  }
  static uint64_t upper(size_t i) { return i + 1 < kSize ? lower(i + 1) - 1 : UINT64_MAX; }

  std::vector<Count> counts_;
  Count sum_{0};
};

}  // namespace sconce::server
