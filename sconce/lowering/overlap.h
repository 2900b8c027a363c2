// Overlap of views: whether two views of one tensor certainly have no element in common.
#pragma once

#include "sconce/lowering/origins.h"

namespace sconce::lowering {

// x[0] and x[1], x[:, 0:2] and x[:, 2:4]: the first views in which they differ take other indices of one dimension.
// False where that is not known.
bool are_disjoint(const Origin& a, const Origin& b);

}  // namespace sconce::lowering
