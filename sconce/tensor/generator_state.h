// Generator state: the layout of the 5,056 bytes that PyTorch writes (5,048 before release 1.5).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sconce::generator_state {

inline constexpr int kWords = 624;  // of the twister; 8 bytes each in a state
inline constexpr size_t kSeedAt = 0, kLeftAt = 8, kSeededAt = 12, kNextAt = 16, kWordsAt = 24;
inline constexpr size_t kNormalXAt = kWordsAt + 8 * kWords, kNormalYAt = kNormalXAt + 8, kNormalRhoAt = kNormalXAt + 16;
inline constexpr size_t kNormalValidAt = kNormalXAt + 24;
inline constexpr size_t kOldStateSize = 5048;
inline constexpr size_t kFloatAt = kOldStateSize, kFloatValidAt = kFloatAt + 4;
inline constexpr size_t kStateSize = 5056;

}  // namespace sconce::generator_state
