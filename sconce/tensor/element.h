// Dtype dispatch: the bridge from a run-time dtype to a C++ type, and single elements of any dtype.
//   visit_dtype(t, [&]<class T>() { ... })      the twelve that kernels compute in (bool is `bool`, halves are Half and
//                                               BFloat16); limited dtypes throw Error, see Note [Limited dtypes]
//   visit_every_dtype(t, ...)                   those too: for what stores, shows or compares elements
//   for_float(t, [&]<class T>() { ... })        float and double; others throw Error
#pragma once

#include <complex>

#include "sconce/base/error.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/float8.h"
#include "sconce/tensor/half.h"
#include "sconce/tensor/scalar.h"

namespace sconce {

[[noreturn]] SCONCE_API SCONCE_COLD void fail_not_implemented(DType t);

template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
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
    case DType::complex64:
      return f.template operator()<std::complex<float>>();
    case DType::complex128:
      return f.template operator()<std::complex<double>>();
    default:
      fail_not_implemented(t);
  }
}

template <class F>
decltype(auto) visit_every_dtype(DType t, F&& f) {
  switch (t) {
    case DType::uint16:
      return f.template operator()<uint16_t>();
    case DType::uint32:
      return f.template operator()<uint32_t>();
    case DType::uint64:
      return f.template operator()<uint64_t>();
    case DType::float8_e4m3fn:
      return f.template operator()<Float8E4M3FN>();
    case DType::float8_e5m2:
      return f.template operator()<Float8E5M2>();
    default:
      return visit_dtype(t, f);
  }
}

template <class F>
decltype(auto) for_float(DType t, F&& f) {
  if (t == DType::float32) return f.template operator()<float>();
  if (t == DType::float64) return f.template operator()<double>();
  fail_not_implemented(t);
}

// By item size only: 1, 2, 4, 8 or 16 bytes, for code that moves elements without looking at them.
struct Bytes16 {
  uint64_t words[2];
};
template <class F>
decltype(auto) visit_item_size(DType t, F&& f) {
  switch (item_size(t)) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    case 16:
      return f.template operator()<Bytes16>();
  }
  fail("unknown dtype {}", static_cast<int>(t));
}

// The value as stored: no rounding on load; on store, conversion as a cast of the tensor's dtype does it. Loading
// throws Error for a uint64 that int64 cannot hold.
SCONCE_API Scalar load_scalar(const void* element, DType t);
SCONCE_API void store_scalar(void* element, DType t, const Scalar& value);

}  // namespace sconce
