// Generator: a pseudo-random number generator that repeats PyTorch's CPU stream for the same seed (Mersenne twister
// 19937). A handle: copies share the state. Not safe for concurrent use without a lock; operators lock `mutex`.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/ref.h"

namespace sconce {

class GeneratorImpl final : public Counted {
 public:
  explicit GeneratorImpl(uint64_t seed);

  void seed(uint64_t seed);  // restarts the stream and drops the cached normal
  uint64_t initial_seed() const { return seed_; }
  // The next word of the twister.
  uint32_t random() {
    if (--left_ == 0) twist();
    uint32_t y = words_[next_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
  }
  // Two words, the first one high.
  uint64_t random64() {
    const uint64_t high = random();
    return high << 32 | random();
  }

  // The second value of a pair of normals, kept for the next call.
  std::optional<double> next_normal;

  // PyTorch's 5,056-byte state (torch.get_rng_state).
  std::vector<uint8_t> state() const;
  // Also takes the 5,048 bytes that releases before 1.5 wrote. Throws Error when it is neither, or not a valid state.
  void set_state(std::span<const uint8_t> state);

  std::mutex mutex;

 private:
  void twist();
  uint64_t seed_ = 0;
  uint32_t words_[624];
  int left_ = 1;                            // draws until the next twist, plus one
  uint32_t next_ = 0;                       // the word that the next draw takes
  std::optional<float> next_normal_float_;  // no operator uses it; kept because the state has a place for it
};

class Generator {
 public:
  Generator() = default;  // undefined: operators then use the default generator
  explicit Generator(Ref<GeneratorImpl> impl) : impl_(std::move(impl)) {}
  bool defined() const { return static_cast<bool>(impl_); }
  GeneratorImpl* impl() const { return impl_.get(); }
  Ref<GeneratorImpl> ref() const { return impl_; }

 private:
  Ref<GeneratorImpl> impl_;
};

// One for the process; seeded with PyTorch's default seed until manual_seed is called.
SCONCE_API Generator default_generator();
SCONCE_API Generator make_generator(uint64_t seed);
// Seeds the default generator.
SCONCE_API void manual_seed(uint64_t seed);

}  // namespace sconce
