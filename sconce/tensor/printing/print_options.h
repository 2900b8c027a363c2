// Print options: how Tensor::to_string writes numbers, for the whole process (torch.set_printoptions).
#pragma once

#include <cstdint>
#include <optional>

#include "sconce/base/export.h"

namespace sconce {

struct PrintOptions {
  int precision = 4;         // digits behind the point
  int64_t threshold = 1000;  // tensors of more elements are cut
  int64_t edge_items = 3;    // to this many at both ends of a dimension
  int64_t line_width = 80;
  std::optional<bool> scientific = std::nullopt;  // exponents always, or never; by the numbers if it has no value
};

SCONCE_API PrintOptions print_options();
SCONCE_API void set_print_options(const PrintOptions& options);

}  // namespace sconce
