// Dtype dispatch: the bridge from a run-time dtype to a C++ type, and single elements of any dtype.
//   visit_dtype(t, [&]<class T>() { ... })      all twelve (bool is `bool`, halves are Half and BFloat16)
//   for_float(t, [&]<class T>() { ... })        float and double; others throw Error
#pragma once

#include <complex>

#include "sconce/base/error.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/half.h"
#include "sconce/tensor/scalar.h"

namespace sconce {

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
  }
  fail("unknown dtype {}", static_cast<int>(t));
}

template <class F>
decltype(auto) for_float(DType t, F&& f) {
  if (t == DType::float32) return f.template operator()<float>();
  if (t == DType::float64) return f.template operator()<double>();
  fail_as(ErrorKind::not_implemented, "not implemented for '{}'", dtype_legacy_name(t));
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

// The value as stored: no rounding on load; on store, conversion as a cast of the tensor's dtype does it.
SCONCE_API Scalar load_scalar(const void* element, DType t);
SCONCE_API void store_scalar(void* element, DType t, const Scalar& value);

}  // namespace sconce
