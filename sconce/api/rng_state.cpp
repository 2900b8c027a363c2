#include "sconce/api/rng_state.h"

namespace sconce {

void seed_generator(const Generator& generator, uint64_t seed) {
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
