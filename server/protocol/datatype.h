// Datatype: element types by the protocol's names (BOOL, UINT8 ... FP64, BF16, BYTES), and the dtypes that they are
// here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sconce/tensor/dtype.h"

namespace sconce::server {

inline constexpr std::string_view kBytes = "BYTES";  // strings, which no tensor holds

// Empty for BYTES and for names that the protocol does not have.
std::optional<DType> dtype_of(std::string_view datatype);
// Empty for dtypes that the protocol does not have: complex numbers, float8, quantised ones.
std::string_view datatype_of(DType dtype);

}  // namespace sconce::server
