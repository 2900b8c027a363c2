#include "sconce/kernels/cpu/order/ordering.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/order/sort_keys.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(merged, "sort.merge", "lines of 224 elements or fewer");
SCONCE_VARIANT(shared_radix, "sort.radix.threads", "lines of 65,536 elements or more, several threads");
SCONCE_VARIANT(skipped_pass, "sort.radix.skip", "a byte that is equal in all keys");
SCONCE_VARIANT(low_bits, "sort.wide.low_bits", "64-bit keys whose range needs more than 32 bits");
SCONCE_VARIANT(long_run, "sort.wide.long_run", "more than 32 keys with equal high bits");
SCONCE_VARIANT(from_keys, "sort.values.from_keys", "elements of up to 32 bits, all made of their keys again");
SCONCE_VARIANT(wide_line, "sort.wide", "elements of 64 bits");

constexpr int64_t kInsertion = 16;         // blocks sorted by insertion
constexpr int64_t kMerge = 224;            // lines up to here are merged; radix costs 4 tables of 256 counts
constexpr int64_t kParallel = 1 << 16;     // elements of a line that are worth several threads
constexpr int kDigit = 8, kBuckets = 256;  // bits per pass: 256 streams fit the first-level cache and TLB

void insertion_sort(uint64_t* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t x = a[i];
    int64_t k = i;
    for (; k > 0 && a[k - 1] > x; --k) a[k] = a[k - 1];
    a[k] = x;
  }
}

// Whole words are different, for the index is part of them: any sort is stable.
uint64_t* merge_sort(uint64_t* a, uint64_t* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kInsertion) insertion_sort(a + i, std::min(kInsertion, n - i));
  for (int64_t width = kInsertion; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      const uint64_t *x = a + i, *x_end = a + std::min(i + width, n), *y = x_end,
                     *y_end = a + std::min(i + 2 * width, n);
      uint64_t* to = b + i;
      while (x != x_end && y != y_end) {
        const bool second = *y < *x;
        *to++ = second ? *y : *x;
        y += second;
        x += !second;
      }
      to = std::copy(x, x_end, to);
      std::copy(y, y_end, to);
    }
    std::swap(a, b);
  }
  return a;
}

int shift_of(int pass) { return 32 + pass * kDigit; }

uint64_t* radix_sort(uint64_t* a, uint64_t* b, int64_t n) {
  uint32_t count[4][kBuckets] = {};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t w = a[i];
    ++count[0][w >> 32 & 255];
    ++count[1][w >> 40 & 255];
    ++count[2][w >> 48 & 255];
    ++count[3][w >> 56];
  }
  for (int pass = 0; pass < 4; ++pass) {
    Budget::poll_active();  // a pass over a long line takes a good part of a second
    const int shift = shift_of(pass);
    if (skipped_pass(count[pass][a[0] >> shift & 255] == n)) continue;
    uint32_t total = 0;
    for (uint32_t& c : count[pass]) total += std::exchange(c, total);
    uint32_t* at = count[pass];
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t w = a[i];
      b[at[w >> shift & 255]++] = w;
    }
    std::swap(a, b);
  }
  return a;
}

// Each thread counts and moves a part of its own; parts keep their order within a bucket.
uint64_t* parallel_radix_sort(uint64_t* a, uint64_t* b, int64_t n) {
  const int64_t parts = num_threads(), part = (n + parts - 1) / parts;
  std::vector<uint32_t> count(static_cast<size_t>(parts * kBuckets));
  for (int pass = 0; pass < 4; ++pass) {
    Budget::poll_active();
    const int shift = shift_of(pass);
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        uint32_t* at = count.data() + p * kBuckets;
        std::fill(at, at + kBuckets, 0);
        for (int64_t i = p * part; i < std::min(n, (p + 1) * part); ++i) ++at[a[i] >> shift & 255];
      }
    });
    uint32_t total = 0;
    bool sorted = false;
    for (int bucket = 0; bucket < kBuckets; ++bucket) {
      const uint32_t before = total;
      for (int64_t p = 0; p < parts; ++p)
        total += std::exchange(count[static_cast<size_t>(p * kBuckets + bucket)], total);
      sorted = sorted || total - before == n;
    }
    if (skipped_pass(sorted)) continue;
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        uint32_t* at = count.data() + p * kBuckets;
        for (int64_t i = p * part; i < std::min(n, (p + 1) * part); ++i) b[at[a[i] >> shift & 255]++] = a[i];
      }
    });
    std::swap(a, b);
  }
  return a;
}

// Elements of up to 32 bits. `exact`: keys can be turned back into elements.
template <class T>
bool make_words(const T* line, int64_t n, bool descending, uint64_t* words) {
  using K = Key<T>;
  const typename K::Bits flip = descending ? static_cast<typename K::Bits>(~typename K::Bits{0}) : typename K::Bits{0};
  bool exact = true;
  for (int64_t i = 0; i < n; ++i) {
    exact = exact & K::exact(line[i]);
    words[i] =
        static_cast<uint64_t>(static_cast<typename K::Bits>(K::of(line[i]) ^ flip)) << 32 | static_cast<uint64_t>(i);
  }
  return exact;
}

// Sorts the words of a run, whose keys agree but for their lowest `bits` bits.
void sort_run(uint64_t* words, int64_t n, const uint64_t* keys, int bits) {
  if (!long_run(n > 2 * kInsertion)) {
    for (int64_t i = 1; i < n; ++i) {
      const uint64_t w = words[i], key = keys[w & 0xffffffff];
      int64_t k = i;
      for (; k > 0 && keys[words[k - 1] & 0xffffffff] > key; --k) words[k] = words[k - 1];
      words[k] = w;
    }
    return;
  }
  Scratch scratch;
  auto* spare = scratch.take<uint64_t>(n);
  auto* low = scratch.take<uint64_t>(n);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  for (int64_t i = 0; i < n; ++i) low[i] = (keys[words[i] & 0xffffffff] & mask) << 32 | (words[i] & 0xffffffff);
  const uint64_t* sorted = sort_words(low, spare, n);
  std::copy(sorted, sorted + n, words);
}

template <class T>
const uint64_t* order_wide(const T* line, int64_t n, bool descending, Scratch& scratch) {
  auto* words = scratch.take<uint64_t>(n);
  auto* spare = scratch.take<uint64_t>(n);
  auto* keys = scratch.take<uint64_t>(n);
  const uint64_t flip = descending ? ~uint64_t{0} : 0;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (int64_t i = 0; i < n; ++i) {
    keys[i] = Key<T>::of(line[i]) ^ flip;
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  const int bits = std::max(0, static_cast<int>(std::bit_width(high - low)) - 32);  // that the words leave out
  for (int64_t i = 0; i < n; ++i) {
    keys[i] -= low;
    words[i] = keys[i] >> bits << 32 | static_cast<uint64_t>(i);
  }
  words = sort_words(words, spare, n);
  if (!low_bits(bits > 0)) return words;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && words[end] >> 32 == words[i] >> 32) ++end;
    if (end - i > 1) sort_run(words + i, end - i, keys, bits);
    i = end;
  }
  return words;
}

template <class T>
const uint64_t* order(const T* line, int64_t n, bool descending, Scratch& scratch, bool* exact) {
  wide_line(sizeof(T) == 8);
  if constexpr (sizeof(T) == 8) {
    *exact = false;
    return order_wide(line, n, descending, scratch);
  } else {
    auto* words = scratch.take<uint64_t>(n);
    auto* spare = scratch.take<uint64_t>(n);
    *exact = make_words(line, n, descending, words);
    return sort_words(words, spare, n);
  }
}

void check_length(int64_t n) {
  SCONCE_CHECK(n <= kMaxLine, "lines of more than 2^32 elements cannot be sorted, got {}", n);
}

}  // namespace

uint64_t* sort_words(uint64_t* a, uint64_t* b, int64_t n) {
  if (merged(n <= kMerge)) return merge_sort(a, b, n);
  if (shared_radix(n >= kParallel && num_threads() > 1 && !in_parallel_region())) return parallel_radix_sort(a, b, n);
  return radix_sort(a, b, n);
}

const uint64_t* order_line(const void* line, DType dtype, int64_t n, bool descending, Scratch& scratch) {
  check_length(n);
  const uint64_t* result = nullptr;
  bool exact;
  visit_ordered(dtype, [&]<class T>() { result = order(static_cast<const T*>(line), n, descending, scratch, &exact); });
  return result;
}

void sort_line(const void* line, DType dtype, int64_t n, bool descending, void* values, int64_t* indices) {
  check_length(n);
  Scratch scratch;
  visit_ordered(dtype, [&]<class T>() {
    bool exact;
    const T* x = static_cast<const T*>(line);
    const uint64_t* words = order(x, n, descending, scratch, &exact);
    if (indices) {
      for (int64_t i = 0; i < n; ++i) indices[i] = static_cast<int64_t>(words[i] & 0xffffffff);
    }
    if (!values) return;
    T* y = static_cast<T*>(values);
    if (!from_keys(sizeof(T) < 8 && exact)) {
      for (int64_t i = 0; i < n; ++i) y[i] = x[words[i] & 0xffffffff];
      return;
    }
    using Bits = typename Key<T>::Bits;
    const Bits flip = descending ? static_cast<Bits>(~Bits{0}) : Bits{0};
    for (int64_t i = 0; i < n; ++i) y[i] = Key<T>::back(static_cast<Bits>(static_cast<Bits>(words[i] >> 32) ^ flip));
  });
}

}  // namespace sconce::cpu
