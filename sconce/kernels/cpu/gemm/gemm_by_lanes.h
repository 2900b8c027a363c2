// Products with few rows or columns, whose sums are formed by lanes (Note [Order of sums] in gemm.h).
#pragma once

#include "sconce/kernels/cpu/gemm/gemm_plan.h"

namespace sconce::gemm_parts {

// A share of a product with such a path: whole tiles of rows, whole units of columns. For float and double.
template <class T>
void run_by_lanes(const Plan<T>& plan, const Operands& operands, Range rows, Range columns);
// The same where b lies along k.
template <class T>
void run_dots(const Plan<T>& plan, const Operands& operands, Range rows, Range columns);

}  // namespace sconce::gemm_parts
