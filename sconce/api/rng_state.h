// The state of generators, for programs: seeding, saving and restoring one. They lock it, as operators do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sconce/tensor/generator.h"

namespace sconce {

SCONCE_API void seed_generator(const Generator& generator, uint64_t seed);
// PyTorch's 5,056 bytes (torch.get_rng_state). Setting also takes the 5,048 that releases before 1.5 wrote, and throws
// Error when the bytes are no state.
SCONCE_API std::vector<uint8_t> generator_state(const Generator& generator);
SCONCE_API void set_generator_state(const Generator& generator, std::span<const uint8_t> state);

}  // namespace sconce
