// Comparison of decompositions: those of matrices are unique only up to sign, phase or order, and are compared
// by their products.
#pragma once

#include "sconce/testing/compare/compare_rules.h"

namespace sconce::testing {

// `rule` is one of svd to determinant; outputs have the dtypes and sizes of the expected ones. Batches are compared
// matrix by matrix, with 1e-4 (float64: 1e-7) of the largest value as tolerance.
Difference compare_decomposition(Rule rule, const std::vector<Value>& args, const std::vector<Value>& got,
                                 const std::vector<Value>& expected);

}  // namespace sconce::testing
