// DType: the element types, numbered as PyTorch numbers them in files and schemas (ScalarType).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

enum class DType : int8_t {
  uint8 = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  int64 = 4,
  float16 = 5,
  float32 = 6,
  float64 = 7,
  complex64 = 9,
  complex128 = 10,
  bool_ = 11,
  qint8 = 12,
  quint8 = 13,
  qint32 = 14,
  bfloat16 = 15,
  float8_e5m2 = 23,
  float8_e4m3fn = 24,
  uint16 = 27,
  uint32 = 28,
  uint64 = 29,
};

// Quantised: integers that stand for numbers, by the scale and zero point of their tensor (quantizer.h). Only operators
// with a kernel for Key::quantized take them.
inline constexpr DType kQuantizedDTypes[] = {DType::qint8, DType::quint8, DType::qint32};
constexpr bool is_quantized(DType t) { return t >= DType::qint8 && t <= DType::qint32; }

// A name only: what float16 and a complex number promote to. No tensor has it; making one throws Error.
inline constexpr DType kComplex32{8};

inline constexpr int kDTypeSlots = 30;  // one more than the largest number above
// What elements can be computed in or converted to: all but the quantised ones.
inline constexpr DType kAllDTypes[] = {
    DType::bool_,   DType::uint8,    DType::int8,    DType::int16,         DType::int32,      DType::int64,
    DType::float16, DType::bfloat16, DType::float32, DType::float64,       DType::complex64,  DType::complex128,
    DType::uint16,  DType::uint32,   DType::uint64,  DType::float8_e4m3fn, DType::float8_e5m2};

// Note [Limited dtypes]
// The last five are mostly for storage: they are made, converted, moved, printed and written to files, but only the
// operators that PyTorch's CPU has for them compute in them. Which ones stands in the table (`dtypes`, see
// docs/operators.md) and is asked where it costs the others nothing: pointwise operators and reductions look at the
// common dtype outside of their quick paths; other kernels are guarded by Key::limited, which only tensors of these
// dtypes carry.
constexpr bool is_limited(DType t) { return static_cast<int>(t) > 15; }
// All but the everyday ones: those whose tensors carry a key for their dtype, and complex32.
constexpr bool is_uncommon(DType t) { return is_limited(t) || is_quantized(t) || t == kComplex32; }
constexpr bool is_float8(DType t) { return t == DType::float8_e4m3fn || t == DType::float8_e5m2; }
// Sets of limited dtypes, as the table names them: "uint" are all three, the other two can differ.
inline constexpr uint8_t kLimitedUint = 1, kLimitedE4m3fn = 2, kLimitedE5m2 = 4, kLimitedAll = 7;
// Beside these, in the set of a pointwise operator: no float8 beside a second operand of one element.
inline constexpr uint8_t kLimitedTensors = 8;
constexpr uint8_t limited_set(DType t) {
  return !is_limited(t)              ? 0
         : t == DType::float8_e4m3fn ? kLimitedE4m3fn
         : t == DType::float8_e5m2   ? kLimitedE5m2
                                     : kLimitedUint;
}

// Promotion compares categories first: bool < integral < floating < complex.
enum class Category : uint8_t { boolean, integral, floating, complex };

namespace detail {
struct DTypeInfo {
  uint8_t size;
  Category category;
};
inline constexpr DTypeInfo kDTypeInfo[kDTypeSlots] = {{1, Category::integral},
                                                      {1, Category::integral},
                                                      {2, Category::integral},
                                                      {4, Category::integral},
                                                      {8, Category::integral},
                                                      {2, Category::floating},
                                                      {4, Category::floating},
                                                      {8, Category::floating},
                                                      {4, Category::complex},
                                                      {8, Category::complex},
                                                      {16, Category::complex},
                                                      {1, Category::boolean},
                                                      {1, Category::integral},
                                                      {1, Category::integral},
                                                      {4, Category::integral},
                                                      {2, Category::floating},
                                                      {},
                                                      {},
                                                      {},
                                                      {},
                                                      {},
                                                      {},
                                                      {},
                                                      {1, Category::floating},
                                                      {1, Category::floating},
                                                      {},
                                                      {},
                                                      {2, Category::integral},
                                                      {4, Category::integral},
                                                      {8, Category::integral}};
}  // namespace detail

constexpr size_t item_size(DType t) { return detail::kDTypeInfo[static_cast<int>(t)].size; }
constexpr Category category(DType t) { return detail::kDTypeInfo[static_cast<int>(t)].category; }
constexpr bool is_floating(DType t) { return category(t) == Category::floating; }
constexpr bool is_complex(DType t) { return category(t) == Category::complex; }
constexpr bool is_integral(DType t) { return category(t) == Category::integral; }  // bool is not integral here
constexpr bool is_unsigned(DType t) { return t == DType::uint8 || (is_limited(t) && !is_float8(t)); }
constexpr bool is_reduced_float(DType t) { return t == DType::float16 || t == DType::bfloat16; }

// complex64 -> float32, complex128 -> float64, others unchanged.
constexpr DType real_dtype(DType t) {
  return t == DType::complex64 ? DType::float32 : t == DType::complex128 ? DType::float64 : t;
}
// float64 -> complex128, other floats -> complex64, complex unchanged. (There is no complex32 here.)
constexpr DType complex_dtype(DType t) {
  return is_complex(t) ? t : t == DType::float64 ? DType::complex128 : DType::complex64;
}

SCONCE_API std::string_view dtype_name(DType t);         // "float32", as in torch.float32
SCONCE_API std::string_view dtype_legacy_name(DType t);  // "Float", as in PyTorch's messages and IR
SCONCE_API bool dtype_from_name(std::string_view name, DType* out);
// Validates a ScalarType number from a file or a Value; throws Error for one that Sconce does not have.
SCONCE_API DType dtype_from_number(int64_t number);

SCONCE_API DType default_dtype();
SCONCE_API void set_default_dtype(DType t);  // floating only

// Storage formats without arithmetic; half.h and float8.h have the conversions.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3FN {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};

}  // namespace sconce
