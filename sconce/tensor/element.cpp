#include "sconce/tensor/element.h"

#include <type_traits>

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
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v.to_double());
  } else if constexpr (std::is_integral_v<T>) {
    if (!v.is_real()) return static_cast<T>(v.to_int());
    const double d = v.to_double();
    // Out of range gives the result of the processor's conversion: the smallest int64.
    return static_cast<T>(d >= -0x1p63 && d < 0x1p63 ? static_cast<int64_t>(d) : INT64_MIN);
  } else {
    return static_cast<T>(v.to_complex());
  }
}

}  // namespace

Scalar load_scalar(const void* element, DType t) {
  return visit_dtype(t, [&]<class T>() -> Scalar {
    const T v = *static_cast<const T*>(element);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return Scalar(to_float(v));
    } else {
      return Scalar(v);
    }
  });
}

void store_scalar(void* element, DType t, const Scalar& value) {
  visit_dtype(t, [&]<class T>() { *static_cast<T*>(element) = convert<T>(value); });
}

}  // namespace sconce
