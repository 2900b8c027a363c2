// Row kernels: what works on whole rows of dense tensors (text/rows.cuh).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class RowKernel : uint8_t {
  softmax,
  log_softmax,
  softmax_backward,
  log_softmax_backward,
  norm,
  rms_norm,
  norm_backward,
  rms_norm_backward
};

// All tensors are dense, on one device; those that are undefined are not there.
struct RowCall {
  RowKernel kernel;
  const char* name;  // of the operator
  const Tensor* in[3] = {};
  const Tensor* out = nullptr;
  const Tensor* saved[2] = {};  // norms: mean, 1 / deviation; written by the norm, read by its gradient
  int64_t rows = 0, columns = 0;
  int64_t groups = 1, spread = 1;
  double eps = 0;
};
void launch_rows(const RowCall& call);

// A dense copy, itself where it is dense.
Tensor dense(const Tensor& t);

}  // namespace sconce::cuda
