#include "sconce/serialization/pickle/numpy_dtypes.h"

#include <algorithm>

namespace sconce {
namespace {

struct NamedDType {
  std::string_view name;  // without its byte order
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"b1", DType::bool_},   {"u1", DType::uint8},     {"i1", DType::int8},        {"i2", DType::int16},
    {"i4", DType::int32},   {"i8", DType::int64},     {"f2", DType::float16},     {"f4", DType::float32},
    {"f8", DType::float64}, {"c8", DType::complex64}, {"c16", DType::complex128}, {"u2", DType::uint16},
    {"u4", DType::uint32},  {"u8", DType::uint64},
};

}  // namespace

std::optional<NumpyElement> numpy_element(std::string_view kind, char order) {
  for (const NamedDType& d : kDTypes) {
    const bool one_byte = item_size(d.dtype) == 1;
    if (d.name == kind && (order == '<' || order == '>' || order == '=' || (order == '|' && one_byte))) {
      return NumpyElement{d.dtype, order == '>' && !one_byte};
    }
  }
  return std::nullopt;
}

std::string_view numpy_kind(DType dtype) {
  for (const NamedDType& d : kDTypes) {
    if (d.dtype == dtype) return d.name;
  }
  return {};
}

void swap_bytes(const Tensor& t) {
  const size_t size = item_size(real_dtype(t.dtype()));
  auto* bytes = t.data<std::byte>();
  const size_t total = static_cast<size_t>(t.numel()) * t.item_size();
  for (size_t i = 0; i < total; i += size) std::reverse(bytes + i, bytes + i + size);
}

}  // namespace sconce
