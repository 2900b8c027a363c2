// Generator: a source of random numbers that repeats PyTorch's CPU stream for the same seed (Mersenne twister 19937).
// A handle: copies share the state. Not safe for concurrent use without a lock; operators lock `mutex()`.
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
  uint32_t random();    // the next word of the twister
  uint64_t random64();  // two words, the first one high

  // The second value of a pair of normals, kept for the next call.
  std::optional<double> next_normal;

  // PyTorch's 5,056-byte state (torch.get_rng_state).
  std::vector<uint8_t> state() const;
  void set_state(std::span<const uint8_t> state);  // throws Error when it is not one

  std::mutex mutex;

 private:
  void twist();
  uint64_t seed_ = 0;
  uint32_t words_[624];
  int left_ = 1;
  uint32_t next_ = 0;
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

SCONCE_API Generator default_generator();
SCONCE_API Generator make_generator(uint64_t seed);
// Seeds the default generator.
SCONCE_API void manual_seed(uint64_t seed);

}  // namespace sconce
