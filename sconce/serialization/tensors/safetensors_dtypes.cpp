#include "sconce/serialization/tensors/safetensors_dtypes.h"

#include "sconce/base/error.h"

namespace sconce {
namespace {

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"BOOL", DType::bool_},
    {"U8", DType::uint8},
    {"I8", DType::int8},
    {"I16", DType::int16},
    {"I32", DType::int32},
    {"I64", DType::int64},
    {"F16", DType::float16},
    {"BF16", DType::bfloat16},
    {"F32", DType::float32},
    {"F64", DType::float64},
    {"C64", DType::complex64},
    {"C128", DType::complex128},
    {"U16", DType::uint16},
    {"U32", DType::uint32},
    {"U64", DType::uint64},
    {"F8_E4M3", DType::float8_e4m3fn},
    {"F8_E5M2", DType::float8_e5m2},
};

}  // namespace

std::optional<DType> safetensors_dtype(std::string_view name) {
  for (const NamedDType& d : kDTypes) {
    if (d.name == name) return d.dtype;
  }
  return std::nullopt;
}

std::string_view safetensors_name(DType dtype) {
  for (const NamedDType& d : kDTypes) {
    if (d.dtype == dtype && dtype != DType::complex128) return d.name;  // C128 is ours; other programs refuse it
  }
  fail("safetensors files have no dtype {}", dtype_name(dtype));
}

}  // namespace sconce
