#include "sconce/kernels/cpu/engine/conversion.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/base/weak.h"
#include "sconce/tensor/float8.h"

namespace sconce {
namespace {

// --- single steps, between a limited dtype and one of the tables -----------------------------------------------------

template <class F>
constexpr auto all_values = [] {
  std::array<float, 256> values{};
  for (int i = 0; i < 256; ++i) values[i] = to_float(F{static_cast<uint8_t>(i)});
  return values;
}();

template <class To, class From>
To step(From v) {
  if constexpr (std::is_same_v<To, Float8E4M3FN>) {
    return to_float8_e4m3fn(v);
  } else if constexpr (std::is_same_v<To, Float8E5M2>) {
    return to_float8_e5m2(v);
  } else if constexpr (std::is_class_v<From>) {
    return all_values<From>[v.bits];
  } else if constexpr (std::is_floating_point_v<From>) {  // to uint64
    constexpr uint64_t kHalf = uint64_t{1} << 63;
    return v >= From(0x1p63) ? static_cast<uint64_t>(numbers::to_integer<int64_t>(v - From(0x1p63))) ^ kHalf
                             : static_cast<uint64_t>(numbers::to_integer<int64_t>(v));
  } else {
    return static_cast<To>(v);
  }
}

template <class To, class From>
void each(void* out, const void* in, int64_t n) {
  To* d = static_cast<To*>(out);
  const From* s = static_cast<const From*>(in);
  for (int64_t i = 0; i < n; ++i) d[i] = step<To>(s[i]);
}

void copy_words(void* out, const void* in, int64_t n) { std::memcpy(out, in, static_cast<size_t>(n) * 8); }

TileKernels::Convert single_step(DType from, DType to) {
  if (from == DType::uint16 && to == DType::int32) return each<int32_t, uint16_t>;
  if (from == DType::uint32 && to == DType::int64) return each<int64_t, uint32_t>;
  if (from == DType::uint64 && to == DType::int64) return copy_words;
  if (from == DType::uint64 && to == DType::float32) return each<float, uint64_t>;
  if (from == DType::uint64 && to == DType::float64) return each<double, uint64_t>;
  if (from == DType::float8_e4m3fn && to == DType::float32) return each<float, Float8E4M3FN>;
  if (from == DType::float8_e5m2 && to == DType::float32) return each<float, Float8E5M2>;
  if (to == DType::uint16 && from == DType::int32) return each<uint16_t, int32_t>;
  if (to == DType::uint32 && from == DType::int64) return each<uint32_t, int64_t>;
  if (to == DType::uint64 && from == DType::int64) return copy_words;
  if (to == DType::uint64 && from == DType::float32) return each<uint64_t, float>;
  if (to == DType::uint64 && from == DType::float64) return each<uint64_t, double>;
  if (to == DType::float8_e4m3fn && from == DType::float32) return each<Float8E4M3FN, float>;
  if (to == DType::float8_e5m2 && from == DType::float32) return each<Float8E5M2, float>;
  return nullptr;
}

// --- ways of several steps -------------------------------------------------------------------------------------------

constexpr bool is_wide(DType t) { return t == DType::float64 || t == DType::complex128; }

// The dtype of the tables that a limited one is left for, on the way to or from `other`.
constexpr DType between(DType limited, DType other) {
  if (is_float8(limited)) return DType::float32;
  if (limited == DType::uint16) return DType::int32;
  if (limited == DType::uint32 || category(other) <= Category::integral) return DType::int64;
  return is_wide(other) ? DType::float64 : DType::float32;
}

template <DType from, DType to>
void by_way(void* out, const void* in, int64_t n);

// The dtypes by number, as the table of functions below lists them.
constexpr int kCount = static_cast<int>(std::size(kAllDTypes));
template <DType from, DType to>
constexpr TileKernels::Convert entry() {
  return from == to || (!is_limited(from) && !is_limited(to)) ? nullptr : by_way<from, to>;
}

// Not copied for each pair of dtypes: there are 145 of them.
[[gnu::noinline]] void run(DType from, DType by, DType to, void* out, const void* in, int64_t n) {
  constexpr int64_t kBlock = 512;
  alignas(64) char buffer[kBlock * 8];
  const TileKernels& tiles = tile_kernels();
  const TileKernels::Convert first = conversion(tiles, from, by), second = conversion(tiles, by, to);
  char* d = static_cast<char*>(out);
  const char* s = static_cast<const char*>(in);
  const auto to_item = static_cast<int64_t>(item_size(to)), from_item = static_cast<int64_t>(item_size(from));
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t m = std::min(kBlock, n - done);
    first(buffer, s + done * from_item, m);
    second(d + done * to_item, buffer, m);
  }
}

template <DType from, DType to>
void by_way(void* out, const void* in, int64_t n) {
  run(from, is_limited(from) ? between(from, to) : between(to, from), to, out, in, n);
}

template <DType from>
constexpr std::array<TileKernels::Convert, kCount> row() {
  return []<size_t... i>(std::index_sequence<i...>) {
    return std::array<TileKernels::Convert, kCount>{entry<from, kAllDTypes[i]>()...};
  }(std::make_index_sequence<kCount>());
}
constexpr auto kWays = []<size_t... i>(std::index_sequence<i...>) {
  return std::array<std::array<TileKernels::Convert, kCount>, kCount>{row<kAllDTypes[i]>()...};
}(std::make_index_sequence<kCount>());

int place_of(DType t) {
  return static_cast<int>(std::find(std::begin(kAllDTypes), std::end(kAllDTypes), t) - std::begin(kAllDTypes));
}

template <class T>
void copy(void* out, const void* in, int64_t n) {
  std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
}

}  // namespace

void fail_without_conversion(DType missing) {
  fail_as(ErrorKind::not_implemented, "conversions are not implemented for '{}'", dtype_legacy_name(missing));
}

SCONCE_WEAK TileKernels::Convert limited_conversion(DType from, DType to) {
  if (from == to) {
    const size_t size = item_size(from);
    return size == 1 ? copy<uint8_t> : size == 2 ? copy<uint16_t> : size == 4 ? copy<uint32_t> : copy<uint64_t>;
  }
  const TileKernels::Convert step = single_step(from, to);
  return step ? step : kWays[static_cast<size_t>(place_of(from))][static_cast<size_t>(place_of(to))];
}

}  // namespace sconce
