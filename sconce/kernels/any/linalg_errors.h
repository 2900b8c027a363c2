// Errors of linear algebra: LAPACK's `info` of each matrix in words.
#pragma once

#include <string_view>

#include "sconce/tensor/tensor.h"

namespace sconce::linalg {

// Throws Error, as operator `op`, for the first matrix whose info (int32, one for each) is not 0. Meta tensors pass.
void check_info(const Tensor& info, std::string_view op, bool is_matrix);

}  // namespace sconce::linalg
