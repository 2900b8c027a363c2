#include "sconce/kernels/cpu/random/random_bulk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/engine/cpu_features.h"
#include "sconce/tensor/generator_state.h"

// Vectors are results of functions that are always inlined: how they would be returned does not matter. (They are
// passed by reference: of vectors that are passed g++ speaks where no pragma reaches it.)
#pragma GCC diagnostic ignored "-Wpsabi"

namespace sconce::rng {
namespace {

using generator_state::kWords;
constexpr int kShift = 397;  // of MT19937: a new word is made of words i, i + 1 and i + 397

using Words = uint32_t __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Bytes = uint8_t __attribute__((vector_size(8)));

template <class V = Words>
SCONCE_INLINE V load(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
SCONCE_INLINE void store(void* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

// V is a word, or eight of them.
template <class V>
SCONCE_INLINE V mixed(const V& upper, const V& lower) {
  const V y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return y >> 1 ^ (-(lower & 1u) & 0x9908b0dfu);
}
template <class V>
SCONCE_INLINE V tempered(const V& word) {
  V y = word ^ word >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

SCONCE_INLINE void twist_range(uint32_t* w, int begin, int end, int from) {
  int i = begin;
  for (; i + 8 <= end; i += 8) store(w + i, load(w + i + from) ^ mixed(load(w + i), load(w + i + 1)));
  for (; i < end; ++i) w[i] = w[i + from] ^ mixed(w[i], w[i + 1]);
}

// Draws of one generator: see GeneratorImpl::random.
struct Twister {
  uint32_t* words;
  int left;
  uint32_t next;

  SCONCE_INLINE void take(uint32_t* out, int count) {
    while (count > 0) {
      int here = left - 1;
      if (here == 0) {
        twist_range(words, 0, kWords - kShift, kShift);
        twist_range(words, kWords - kShift, kWords - 1, kShift - kWords);
        words[kWords - 1] = words[kShift - 1] ^ mixed(words[kWords - 1], words[0]);
        left = kWords + 1;
        next = 0;
        here = kWords;
      }
      const int n = here < count ? here : count;
      int i = 0;
      for (; i + 8 <= n; i += 8) store(out + i, tempered(load(words + next + i)));
      for (; i < n; ++i) out[i] = tempered(words[next + static_cast<uint32_t>(i)]);
      left -= n;
      next += static_cast<uint32_t>(n);
      out += n;
      count -= n;
    }
  }
};

// Of 53 bits of two words, the first one high, whether they are less than `limit`.
template <class T>
SCONCE_INLINE void compare(const uint32_t* words, int64_t limit, T* out, int n) {
  constexpr uint32_t high_bits = (1u << 21) - 1, sign = 0x80000000u;
  const auto high_limit = static_cast<int32_t>(limit >> 32);
  const auto low_limit = static_cast<int32_t>(static_cast<uint32_t>(limit) ^ sign);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const Words a = load(words + 2 * i), b = load(words + 2 * i + 8);
    const auto high = reinterpret_cast<Ints>(__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) & high_bits);
    const auto low = reinterpret_cast<Ints>(__builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15) ^ sign);
    const Ints less = (high < high_limit) | ((high == high_limit) & (low < low_limit));
    if constexpr (sizeof(T) == 1) {
      store(out + i, __builtin_convertvector(less & 1, Bytes));
    } else {
      store(out + i, less & 0x3f800000);  // 1.0f
    }
  }
  for (; i < n; ++i) {
    const int64_t value = static_cast<int64_t>(words[2 * i] & high_bits) << 32 | words[2 * i + 1];
    out[i] = static_cast<T>(value < limit);
  }
}

template <class T>
SCONCE_INLINE void fill_loop(Twister& twister, int64_t limit, T* out, int64_t n) {
  constexpr int kPairs = kWords / 2;
  uint32_t words[2 * kPairs];
  for (int64_t i = 0; i < n; i += kPairs) {
    const int count = static_cast<int>(std::min<int64_t>(kPairs, n - i));
    twister.take(words, 2 * count);
    compare(words, limit, out + i, count);
  }
}
template <class T>
void fill_plain(Twister& twister, int64_t limit, T* out, int64_t n) {
  fill_loop(twister, limit, out, n);
}
#ifdef __x86_64__
template <class T>
__attribute__((target("avx2"))) void fill_fast(Twister& twister, int64_t limit, T* out, int64_t n) {
  fill_loop(twister, limit, out, n);
}
#endif

template <class T>
auto fill_function() {
#ifdef __x86_64__
  if (cpu_has_avx2()) return fill_fast<T>;
#endif
  return fill_plain<T>;
}

}  // namespace

BulkDraws::BulkDraws(GeneratorImpl& generator) : generator_(generator), state_(generator.state()) {
  using namespace generator_state;
  int32_t left;
  uint64_t next;
  std::memcpy(&left, state_.data() + kLeftAt, sizeof left);
  std::memcpy(&next, state_.data() + kNextAt, sizeof next);
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  for (size_t i = 0; i < kWords; ++i) std::memcpy(words_ + i, state_.data() + kWordsAt + 8 * i, sizeof(uint32_t));
}

BulkDraws::~BulkDraws() {
  using namespace generator_state;
  const int32_t left = left_;
  const uint64_t next = next_;
  std::memcpy(state_.data() + kLeftAt, &left, sizeof left);
  std::memcpy(state_.data() + kNextAt, &next, sizeof next);
  for (size_t i = 0; i < kWords; ++i) std::memcpy(state_.data() + kWordsAt + 8 * i, words_ + i, sizeof(uint32_t));
  generator_.set_state(state_);
}

template <class T>
void BulkDraws::fill(double p, T* out, int64_t n) {
  static const auto run = fill_function<T>();
  Twister twister{words_, left_, next_};
  // A whole number is less than p * 2^53 when it is less than that, rounded up.
  run(twister, static_cast<int64_t>(std::ceil(p * 0x1p53)), out, n);
  left_ = twister.left;
  next_ = twister.next;
}

void BulkDraws::bernoulli(double p, uint8_t* out, int64_t n) { fill(p, out, n); }
void BulkDraws::bernoulli(double p, float* out, int64_t n) { fill(p, out, n); }

}  // namespace sconce::rng
