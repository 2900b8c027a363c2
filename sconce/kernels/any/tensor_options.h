// Tensor options: the dtype, layout, device and pin_memory arguments that factory operators share.
#pragma once

#include <optional>

#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

using OptDType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;

inline void check_options(std::optional<Layout> layout, std::optional<bool> pin_memory) {
  SCONCE_CHECK_AS(not_implemented, layout.value_or(Layout::strided) == Layout::strided,
                  "only the strided layout is supported");
  SCONCE_CHECK_AS(not_implemented, !pin_memory.value_or(false),
                  "pinned memory is not supported: there is no accelerator");
}

}  // namespace sconce
