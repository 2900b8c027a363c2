#include "sconce/tensor/dtype.h"

#include <atomic>

#include "sconce/base/error.h"

namespace sconce {
namespace {

// For each slot its name and its legacy name, which end with 0 and are empty where there is no dtype: in an array they
// would be as long as the longest.
constexpr char kNames[] =
    "uint8\0Byte\0int8\0Char\0int16\0Short\0int32\0Int\0int64\0Long\0float16\0Half\0float32\0Float\0float64\0Double\0"
    "complex32\0ComplexHalf\0complex64\0ComplexFloat\0complex128\0ComplexDouble\0bool\0Bool\0qint8\0QInt8\0"
    "quint8\0QUInt8\0qint32\0QInt32\0bfloat16\0BFloat16\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0float8_e5m2\0Float8_e5m2\0"
    "float8_e4m3fn\0Float8_e4m3fn\0\0\0\0\0uint16\0UInt16\0uint32\0UInt32\0uint64\0UInt64";

std::string_view nth_name(int n) {
  std::string_view name = kNames;
  while (n-- > 0) name = name.data() + name.size() + 1;
  return name;
}

std::atomic<DType> default_float{DType::float32};

}  // namespace

std::string_view dtype_name(DType t) { return nth_name(2 * static_cast<int>(t)); }
std::string_view dtype_legacy_name(DType t) { return nth_name(2 * static_cast<int>(t) + 1); }

bool dtype_from_name(std::string_view name, DType* out) {
  for (int i = 0; i < kDTypeSlots; ++i) {
    if (item_size(DType(i)) == 0 || DType(i) == kComplex32 || dtype_name(DType(i)) != name) continue;
    *out = DType(i);
    return true;
  }
  return false;
}

DType dtype_from_number(int64_t number) {
  if (number >= 0 && number < kDTypeSlots && DType(number) != kComplex32 && item_size(DType(number)) != 0)
    return DType(number);
  fail("dtype number {} is not supported", number);
}

DType default_dtype() { return default_float.load(std::memory_order_relaxed); }

void set_default_dtype(DType t) {
  SCONCE_CHECK_AS(type, !is_float8(t), "couldn't find storage object {}Storage", dtype_legacy_name(t));
  SCONCE_CHECK_AS(type, is_floating(t), "the default dtype must be a floating point type, got {}", dtype_name(t));
  default_float.store(t, std::memory_order_relaxed);
}

}  // namespace sconce
