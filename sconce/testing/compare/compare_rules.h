// Comparison rules: how the outputs of an operator are compared if the tolerances of compare.h are not enough: random
// numbers, uninitialised memory, decompositions that are unique only up to sign or order. One table, with the reason
// of every line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sconce/testing/compare/compare.h"

namespace sconce::testing {

enum class Rule : uint8_t {
  close,         // every output within the tolerance of its dtype
  accumulated,   // the same, plus a share of the largest value
  exact,         // bit-equal draws
  geometry,      // dtype, sizes and strides only
  distribution,  // dtype and sizes, and values that may come from the same distribution
  svd,           // (U, S, V^H): S, and U S V^H
  svd_v,         // (U, S, V)
  eigh,          // (L, Q): L, and Q L Q^H
  eig,           // (L, V) in any order: L, and A V = V L
  any_order,     // the same values in any order (eigenvalues)
  qr,            // (Q, R): Q R, R^H R
  determinant,   // (..., LU, pivots): the outputs before, and P L U, which is A or its transpose
};

// The rule of a call. `name` is the operator's ("aten::svd", no overload), `args` its bound arguments.
Rule rule_for(std::string_view name, const std::vector<Value>& args);

// Whether its indices may name any of several equal elements: PyTorch leaves that open, and its CPU and GPU differ.
bool names_any_of_equals(std::string_view name);

// Compares flattened outputs with recorded ones by a rule. `args` are the arguments as they were before the call.
Difference compare_outputs(Rule rule, const std::vector<Value>& args, const std::vector<Value>& got,
                           const std::vector<Value>& expected, bool strides);

}  // namespace sconce::testing
