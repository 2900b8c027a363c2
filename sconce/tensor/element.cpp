#include "sconce/tensor/element.h"

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
  return visit_every_dtype(t, [&]<class T>() -> Scalar {
    if constexpr (std::is_same_v<T, bool>) return Scalar(*static_cast<const uint8_t*>(element) != 0);  // any byte
    const T v = *static_cast<const T*>(element);
    if constexpr (std::is_same_v<T, uint64_t>) {
      SCONCE_CHECK(v <= static_cast<uint64_t>(INT64_MAX), "value cannot be converted to type int64_t without overflow");
      return Scalar(v);
    } else if constexpr (std::is_class_v<T> && requires { to_float(v); }) {
      return Scalar(to_float(v));
    } else {
      return Scalar(v);
    }
  });
}

void store_scalar(void* element, DType t, const Scalar& value) {
  visit_every_dtype(t, [&]<class T>() { *static_cast<T*>(element) = convert<T>(value); });
}

}  // namespace sconce
