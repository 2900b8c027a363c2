#include "sconce/tensor/generator.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sconce/base/error.h"
#include "sconce/tensor/generator_state.h"
#include "sconce/tensor/seeding.h"

namespace sconce {
namespace {

using namespace generator_state;

constexpr int kShift = 397;
constexpr uint64_t kDefaultSeed = 67280421310721;

template <class T>
void put(std::vector<uint8_t>& state, size_t at, T value) {
  std::memcpy(state.data() + at, &value, sizeof value);
}

template <class T>
T get(std::span<const uint8_t> state, size_t at) {
  T value;
  std::memcpy(&value, state.data() + at, sizeof value);
  return value;
}

}  // namespace

GeneratorImpl::GeneratorImpl(uint64_t s) { seed(s); }

void GeneratorImpl::seed(uint64_t s) {
  seed_ = s;
  words_[0] = static_cast<uint32_t>(s);
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ words_[i - 1] >> 30) + i;
  left_ = 1;
  next_ = 0;
  next_normal.reset();
  next_normal_float_.reset();
}

void GeneratorImpl::twist() {
  const auto mix = [](uint32_t upper, uint32_t lower) {
    const uint32_t y = (upper & 0x80000000) | (lower & 0x7fffffff);
    return y >> 1 ^ (-(lower & 1) & 0x9908b0df);
  };
  uint32_t* w = words_;
  for (int i = 0; i < kWords - kShift; ++i) w[i] = w[i + kShift] ^ mix(w[i], w[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; ++i) w[i] = w[i + kShift - kWords] ^ mix(w[i], w[i + 1]);
  w[kWords - 1] = w[kShift - 1] ^ mix(w[kWords - 1], w[0]);
  left_ = kWords;
  next_ = 0;
}

std::vector<uint8_t> GeneratorImpl::state() const {
  std::vector<uint8_t> state(kStateSize, 0);
  put(state, kSeedAt, seed_);
  put(state, kLeftAt, static_cast<int32_t>(left_));
  put(state, kSeededAt, int32_t{1});
  put(state, kNextAt, static_cast<uint64_t>(next_));
  for (size_t i = 0; i < kWords; ++i) put(state, kWordsAt + 8 * i, static_cast<uint64_t>(words_[i]));
  if (next_normal) {
    put(state, kNormalYAt, *next_normal);
    put(state, kNormalValidAt, int32_t{1});
  }
  if (next_normal_float_) {
    put(state, kFloatAt, *next_normal_float_);
    put(state, kFloatValidAt, uint8_t{1});
  }
  return state;
}

void GeneratorImpl::set_state(std::span<const uint8_t> state) {
  SCONCE_CHECK(state.size() == kStateSize || state.size() == kOldStateSize,
               "a random number generator's state has {} bytes (or {} in old files), got {}", kStateSize, kOldStateSize,
               state.size());
  const auto left = get<int32_t>(state, kLeftAt);
  const auto next = get<uint64_t>(state, kNextAt);
  // Draws count `left` down and `next` up, so the two go together; any other pair would read past the words.
  const bool fresh = left == 1 && next <= kWords;
  SCONCE_CHECK(
      get<int32_t>(state, kSeededAt) == 1 && (fresh || (left > 1 && next < kWords && left + next <= kWords + 1)),
      "invalid mt19937 state: left is {}, next is {}", left, std::to_string(next));
  seed_ = get<uint64_t>(state, kSeedAt);
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  for (size_t i = 0; i < kWords; ++i) words_[i] = static_cast<uint32_t>(get<uint64_t>(state, kWordsAt + 8 * i));
  next_normal.reset();
  next_normal_float_.reset();
  const bool old = state.size() == kOldStateSize;
  if (get<int32_t>(state, kNormalValidAt) != 0) {
    // Old states keep the pair's radius and angle instead of its second value.
    next_normal =
        old ? get<double>(state, kNormalRhoAt) * std::sin(2 * std::numbers::pi * get<double>(state, kNormalXAt))
            : get<double>(state, kNormalYAt);
  }
  if (!old && state[kFloatValidAt] != 0) next_normal_float_ = get<float>(state, kFloatAt);
}

Generator make_generator(uint64_t seed) { return Generator(make_ref<GeneratorImpl>(seed)); }

Generator default_generator() {
  static Generator* generator = new Generator(make_generator(kDefaultSeed));
  return *generator;
}

static std::atomic<uint64_t> seeded{0};

void manual_seed(uint64_t seed) {
  const Generator generator = default_generator();
  std::lock_guard lock(generator.impl()->mutex);
  generator.impl()->seed(seed);
  seeded.fetch_add(1, std::memory_order_release);
}

uint64_t seedings() { return seeded.load(std::memory_order_acquire); }

}  // namespace sconce
