#include "sconce/tensor/dtype.h"

#include <atomic>

#include "sconce/base/error.h"

namespace sconce {
namespace {

struct Names {
  char name[14], legacy[14];
};
constexpr Names kNames[kDTypeSlots] = {{"uint8", "Byte"},
                                       {"int8", "Char"},
                                       {"int16", "Short"},
                                       {"int32", "Int"},
                                       {"int64", "Long"},
                                       {"float16", "Half"},
                                       {"float32", "Float"},
                                       {"float64", "Double"},
                                       {"complex32", "ComplexHalf"},
                                       {"complex64", "ComplexFloat"},
                                       {"complex128", "ComplexDouble"},
                                       {"bool", "Bool"},
                                       {"qint8", "QInt8"},
                                       {"quint8", "QUInt8"},
                                       {"qint32", "QInt32"},
                                       {"bfloat16", "BFloat16"},
                                       {},
                                       {},
                                       {},
                                       {},
                                       {},
                                       {},
                                       {},
                                       {"float8_e5m2", "Float8_e5m2"},
                                       {"float8_e4m3fn", "Float8_e4m3fn"},
                                       {},
                                       {},
                                       {"uint16", "UInt16"},
                                       {"uint32", "UInt32"},
                                       {"uint64", "UInt64"}};

std::atomic<DType> default_float{DType::float32};

}  // namespace

std::string_view dtype_name(DType t) { return kNames[static_cast<int>(t)].name; }
std::string_view dtype_legacy_name(DType t) { return kNames[static_cast<int>(t)].legacy; }

bool dtype_from_name(std::string_view name, DType* out) {
  for (int i = 0; i < kDTypeSlots; ++i) {
    if (item_size(DType(i)) == 0 || DType(i) == kComplex32 || kNames[i].name != name) continue;
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
