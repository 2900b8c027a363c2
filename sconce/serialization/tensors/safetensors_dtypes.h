// Safetensors dtypes: their names in files, "F32", "BF16", ...
#pragma once

#include <optional>
#include <string_view>

#include "sconce/tensor/dtype.h"

namespace sconce {

std::optional<DType> safetensors_dtype(std::string_view name);  // nothing for names that Sconce has no dtype for
std::string_view safetensors_name(DType dtype);                 // throws Error for complex128, which the format lacks

}  // namespace sconce
