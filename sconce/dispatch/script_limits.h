// Limits of dtypes, for what the table says of absent numbers (`absent`). Only families that need it include it.
#pragma once

#include "sconce/tensor/dtype.h"

namespace sconce::script {

// The largest finite number of a floating or complex dtype (of its parts); 0 for the others, which have no infinities.
double largest(DType dtype);

}  // namespace sconce::script
