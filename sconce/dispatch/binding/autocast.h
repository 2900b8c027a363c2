// Mixed precision: what autocast does to the arguments of an operator on the CPU, as ops/autocast.txt says.
#pragma once

#include <cstdint>
#include <string_view>

#include "sconce/base/export.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

enum class AutocastPolicy : uint8_t {
  none,    // nothing
  lower,   // floats become those of the region: bfloat16 or float16
  full,    // they become float32
  widest,  // they become float32 if one of them is, those of the region otherwise
};

// `operator_name` is "aten::conv1d.padding". float64 and what is no float are left alone by all of them.
SCONCE_API AutocastPolicy autocast_policy(std::string_view operator_name);

// What `lower` means for the current thread: bfloat16 unless set otherwise.
SCONCE_API DType autocast_dtype();
SCONCE_API void set_autocast_dtype(DType dtype);

}  // namespace sconce
