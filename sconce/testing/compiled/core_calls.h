// Calls of Core ATen operators that have neither samples nor recorded calls, as samples are written.
#pragma once

#include <utility>

namespace sconce::testing {

inline constexpr std::pair<const char*, const char*> kMoreCoreCalls[] = {
    {"aten::_local_scalar_dense", "f32[1]"},
    {"aten::bitwise_and.Scalar", "i64[3,4], 5"},
    {"aten::bitwise_or.Scalar", "i64[3,4], 5"},
    {"aten::bitwise_xor.Scalar", "i64[3,4], 5"},
    {"aten::empty.memory_format", "[2, 3]"},
    {"aten::empty_strided", "[2, 3], [1, 2]"},
    {"aten::eq.Scalar", "f32[3,4], 1"},
    {"aten::ge.Scalar", "f32[3,4], 0.5"},
    {"aten::gt.Scalar", "i64[3,4], 1"},
    {"aten::le.Scalar", "f32[3,4], 0.5"},
    {"aten::lt.Scalar", "bf16[3,4], 0.5"},
    {"aten::ne.Scalar", "f32[3,4], 1"},
    {"aten::nonzero", "i64[3,4]"},
    {"aten::rand", "[2, 3]"},
    {"aten::randn", "[2, 3]"},
    {"aten::randperm", "5"},
    {"aten::scalar_tensor", "2.5"},
    {"aten::sym_is_contiguous", "f32[3,4]"},
    {"aten::sym_numel", "f32[3,4]"},
    {"aten::sym_size.int", "f32[3,4], 1"},
    {"aten::sym_storage_offset", "f32[3,4]"},
    {"aten::sym_stride.int", "f32[3,4], 0"},
};

}  // namespace sconce::testing
