// Sort keys: elements as unsigned integers in the same order. NaN is the largest key; -0 and 0 have one key.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sconce/base/error.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cpu {

// Key<T>::Bits is the key's type, of the element's width. of(x) makes a key, back(k) the element; back(of(x)) is
// x if exact(x).
template <class T>
struct Key {
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  static constexpr bool floating = !std::is_integral_v<T>;
  static constexpr Bits top = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  static constexpr Bits infinity = [] {
    if constexpr (std::is_same_v<T, Half>) return Bits{0x7c00};
    if constexpr (std::is_same_v<T, BFloat16>) return Bits{0x7f80};
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<Bits>(std::numeric_limits<float>::infinity());
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<Bits>(std::numeric_limits<double>::infinity());
    return Bits{0};
  }();
  static Bits bits(T x) { return std::bit_cast<Bits>(x); }
  static bool is_nan(T x) { return floating && static_cast<Bits>(bits(x) & ~top) > infinity; }
  static bool exact(T x) { return !floating || (bits(x) != top && static_cast<Bits>(bits(x) & ~top) <= infinity); }
  static Bits of(T x) {
    const Bits b = bits(x);
    if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
      return b;
    } else if constexpr (!floating) {
      return static_cast<Bits>(b ^ top);
    } else {
      const auto magnitude = static_cast<Bits>(b & ~top);
      const auto ordered = static_cast<Bits>(b & top ? ~b : b | top);
      return magnitude > infinity ? static_cast<Bits>(~Bits{0}) : magnitude == 0 ? top : ordered;
    }
  }
  static T back(Bits k) {
    if constexpr (std::is_same_v<T, bool>)
      return k != 0;
    else if constexpr (std::is_unsigned_v<T>)
      return k;
    else if constexpr (!floating)
      return std::bit_cast<T>(static_cast<Bits>(k ^ top));
    else
      return std::bit_cast<T>(static_cast<Bits>(k & top ? k ^ top : ~k));
  }
};

// visit_dtype without complex numbers.
template <class F>
void visit_ordered(DType t, F&& f) {
  switch (t) {
    case DType::bool_:
      return f.template operator()<bool>();
    case DType::uint8:
      return f.template operator()<uint8_t>();
    case DType::int8:
      return f.template operator()<int8_t>();
    case DType::int16:
      return f.template operator()<int16_t>();
    case DType::int32:
      return f.template operator()<int32_t>();
    case DType::int64:
      return f.template operator()<int64_t>();
    case DType::float16:
      return f.template operator()<Half>();
    case DType::bfloat16:
      return f.template operator()<BFloat16>();
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    default:
      fail_as(ErrorKind::not_implemented, "not implemented for '{}'", dtype_legacy_name(t));
  }
}

}  // namespace sconce::cpu
