// Software prefetching, for loops that convert large operands tile by tile. While a tile is computed in the L1 cache,
// the processor's own prefetching pauses; prefetch_after asks for the data of a later tile.
#pragma once

#include <cstdint>

namespace sconce {

inline constexpr int64_t kPrefetchBytes = int64_t{8} << 20;  // smaller operands may well be in a cache

// `bytes` from `data` on are about to be read, and the bytes behind them later. Any address is allowed.
inline void prefetch_after(const char* data, int64_t bytes) {
  constexpr int64_t kAhead = 8192;
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(data + kAhead + at, 0, 2);
}

}  // namespace sconce
