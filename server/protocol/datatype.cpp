#include "server/protocol/datatype.h"

namespace sconce::server {
namespace {

constexpr struct {
  std::string_view name;
  DType dtype;
} kNames[] = {
    {"BOOL", DType::bool_},    {"UINT8", DType::uint8},  {"UINT16", DType::uint16}, {"UINT32", DType::uint32},
    {"UINT64", DType::uint64}, {"INT8", DType::int8},    {"INT16", DType::int16},   {"INT32", DType::int32},
    {"INT64", DType::int64},   {"FP16", DType::float16}, {"BF16", DType::bfloat16}, {"FP32", DType::float32},
    {"FP64", DType::float64},
};

}  // namespace

std::optional<DType> dtype_of(std::string_view datatype) {
  for (const auto& n : kNames) {
    if (n.name == datatype) return n.dtype;
  }
  return {};
}

std::string_view datatype_of(DType dtype) {
  for (const auto& n : kNames) {
    if (n.dtype == dtype) return n.name;
  }
  return {};
}

}  // namespace sconce::server
