// bfloat16 GEMM, on processors that multiply such numbers in pairs (AVX512_BF16, FEAT_BF16).
#pragma once

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

// As gemm_batched, or gemm_packed if `packed` is not null. kernels.bf16 must not be null. The order is not automatic.
void gemm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
               const void* packed, const BatchStrides& strides, const Epilogue& epilogue, SumOrder order,
               const MatrixKernels& kernels);

// c (float32, any row stride) = a b, or c + a b. One product, nothing packed.
void gemm_bf16_to_f32(int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, float* c, int64_t c_row,
                      bool accumulate, const MatrixKernels& kernels);

size_t bf16_packed_bytes(int64_t k, int64_t n);
void bf16_pack_b(int64_t k, int64_t n, ConstMatrix b, void* packed, const MatrixKernels& kernels);

}  // namespace sconce
