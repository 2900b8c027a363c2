#include "sconce/tensor/element.h"

#include <cstring>
#include <type_traits>

#include "sconce/base/numbers.h"

namespace sconce {
namespace {

template <class T>
T convert(const Scalar& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v.to_bool();
  } else if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(v.to_double()));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(v.to_double()));
  } else if constexpr (std::is_same_v<T, Float8E4M3FN>) {
    return to_float8_e4m3fn(static_cast<float>(v.to_double()));
  } else if constexpr (std::is_same_v<T, Float8E5M2>) {
    return to_float8_e5m2(static_cast<float>(v.to_double()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v.to_double());
  } else if constexpr (std::is_integral_v<T>) {
    if (!v.is_real()) return static_cast<T>(v.to_int());
    const double d = v.to_double();
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (d >= 0x1p63 && d < 0x1p64) return static_cast<uint64_t>(d);
    }
    return static_cast<T>(numbers::to_integer<int64_t>(d));
  } else {
    return static_cast<T>(v.to_complex());
  }
}

}  // namespace

void fail_not_implemented(DType t) {
  fail_as(ErrorKind::not_implemented, "not implemented for '{}'", dtype_legacy_name(t));
}

Scalar load_scalar(const void* element, DType t) {
  const auto load = [&]<class T>() { return *static_cast<const T*>(element); };
  switch (t) {
    case DType::bool_:
      return Scalar(load.operator()<uint8_t>() != 0);  // any byte
    case DType::float16:
      return Scalar(to_float(load.operator()<Half>()));
    case DType::bfloat16:
      return Scalar(to_float(load.operator()<BFloat16>()));
    case DType::float8_e4m3fn:
      return Scalar(to_float(load.operator()<Float8E4M3FN>()));
    case DType::float8_e5m2:  // the upper byte of a half
      return Scalar(to_float(Half{static_cast<uint16_t>(load.operator()<uint8_t>() << 8)}));
    case DType::float32:
      return Scalar(load.operator()<float>());
    case DType::float64:
      return Scalar(load.operator()<double>());
    case DType::complex64:
      return Scalar(load.operator()<std::complex<float>>());
    case DType::complex128:
      return Scalar(load.operator()<std::complex<double>>());
    default:
      break;
  }
  if (!is_integral(t) || is_quantized(t)) fail_not_implemented(t);
  uint64_t bits = 0;
  std::memcpy(&bits, element, item_size(t));
  const auto unused = static_cast<int>(64 - 8 * item_size(t));
  auto value = static_cast<int64_t>(bits << unused) >> unused;
  if (is_unsigned(t)) value = static_cast<int64_t>(bits);
  SCONCE_CHECK(t != DType::uint64 || value >= 0, "value cannot be converted to type int64_t without overflow");
  return Scalar(value);
}

void store_scalar(void* element, DType t, const Scalar& value) {
  visit_every_dtype(t, [&]<class T>() { *static_cast<T*>(element) = convert<T>(value); });
}

}  // namespace sconce
