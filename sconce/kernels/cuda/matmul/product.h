// Products of matrices on a device: by cuBLASLt where it is there and has the dtype, else by our own kernel.
#pragma once

#include <cstdint>
#include <string>

#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/tensor/device.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cuda {

// Matrices of a batch; strides in elements. One of row and column stride is 1.
struct MatrixBatch {
  void* data;
  int64_t row, column, batch;
};

// out = alpha * (a @ b) + beta * out + bias, for every matrix of the batch. m, n and batches are not 0.
struct Product {
  DType dtype;
  int64_t batches, m, n, k;
  MatrixBatch a, b, out;       // m x k, k x n, m x n; out by rows
  const void* bias = nullptr;  // n elements, one for each column
  Number alpha{1, 0, 1}, beta{0, 0, 0};
  bool reads_out() const { return beta.real != 0 || beta.imag != 0 || beta.integer != 0; }
  bool is_scaled() const { return alpha.real != 1 || alpha.imag != 0 || alpha.integer != 1; }
};

// The text of our own kernel, whose entry is `product`: text/product.cuh.
std::string product_text(DType dtype);

void multiply(const Product& product, Device device, const char* operator_name);

}  // namespace sconce::cuda
