// Sorting of rows on CUDA devices (text/sort.cuh).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// Each of `rows` lines of `count` adjacent elements, stable; indices (int64) say where elements stood. All dense.
void sort_rows(const char* name, const Tensor& in, const Tensor& values, const Tensor& indices, int64_t rows,
               int64_t count, bool descending);

}  // namespace sconce::cuda
