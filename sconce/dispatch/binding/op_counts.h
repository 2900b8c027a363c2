// OpCounts: what calls over Values ask of a schema.
#pragma once

#include <cstddef>

namespace sconce {

struct Op;

struct OpCounts {
  size_t arguments, returns;
  bool makes_tensor;  // among its results are tensors, or may be
};
OpCounts counts_of(const Op& op);

}  // namespace sconce
