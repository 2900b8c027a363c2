#include "sconce/api/rng_state.h"

namespace sconce {

void seed_generator(const Generator& generator, uint64_t seed) {
  // The default generator stands for those of all devices.
  if (generator.impl() == default_generator().impl()) return manual_seed(seed);
  const std::lock_guard lock(generator.impl()->mutex);
  generator.impl()->seed(seed);
}

std::vector<uint8_t> generator_state(const Generator& generator) {
  const std::lock_guard lock(generator.impl()->mutex);
  return generator.impl()->state();
}

void set_generator_state(const Generator& generator, std::span<const uint8_t> state) {
  const std::lock_guard lock(generator.impl()->mutex);
  generator.impl()->set_state(state);
}

}  // namespace sconce
