// Kernels of the table for device cuda: opgen lists them (opgen/faces/cuda.py).
#pragma once

#include <span>

namespace sconce::cuda {

// Tells libsconce where the kernels are.
void connect_kernels();
// Operators that have one, all forms: "aten::embedding", "aten::cat.out".
std::span<const char* const> operators_with_kernels();

}  // namespace sconce::cuda
