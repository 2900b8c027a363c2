// Fast Fourier transform along one dimension of a tensor on the CPU.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Each transforms all lines along `dim` (not negative) and multiplies by scale. The tensors have the same sizes but for
// what is said about dim, any strides, and share no memory unless said so. No dimension is empty.

// Complex to complex; inverse ones are not divided by the length. out may be in itself.
void fft_complex(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale);
// n real numbers to the first n / 2 + 1 complex ones of their spectrum.
void fft_from_real(const Tensor& out, const Tensor& in, int64_t dim, double scale);
// The first n / 2 + 1 elements of a Hermitian spectrum to n real numbers, n being out's size. Elements of `in` beyond
// them are not read, and imaginary parts of the first and (n even) the last one count as 0.
void fft_to_real(const Tensor& out, const Tensor& in, int64_t dim, double scale);
// Elements n / 2 + 1 ... n - 1 along the last of `dim`, n being the size, from the symmetry X[-k] = conj X[k] over all
// of `dim` that spectra of real numbers have. In place.
void fft_mirror(const Tensor& spectrum, IntList dim);

}  // namespace sconce
