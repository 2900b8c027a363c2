// Fourier transforms of lines on CUDA devices: cuFFT where it is installed, else products with matrices of roots.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// Of a dense tensor [rows, n], complex64 or complex128; not scaled.
Tensor transform_lines(const Tensor& lines, bool inverse);

// The same by cuFFT; undefined where it is not there, which is said once in the log.
Tensor transform_by_cufft(const Tensor& lines, bool inverse);

}  // namespace sconce::cuda
