// FFT kernels: the functions that discrete Fourier transforms need of each instruction set. [0] is float,
// [1] is double; complex numbers in memory are pairs (re, im) of that type, and counts of complex numbers
// unless said otherwise.
//
// Note [Lanes]. The passes run on as many transforms at once as a vector has lanes, one in each lane. Their working
// memory holds for every element of the transforms a vector of real and a vector of imaginary parts. Transforms are
// always forward here: loading and storing with `swap` exchanges real and imaginary parts, which makes an inverse one.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// One pass of a mixed-radix transform (Stockham's form: the order comes out right without bit reversal):
//   y[q + s (radix p + k)] = w^(p k) sum_j e^(-2 pi i j k / radix) x[q + s (p + m j)]
// for q < s, p < m, with w = e^(-2 pi i / (radix m)).
struct FftPass {
  int64_t radix, m, s;
  const void* twiddles;  // [m][radix - 1] complex: w^(p k) for k = 1 ...; null when m is 1
  const void* roots;     // cos and sin of 2 pi j / radix for j < radix, as two arrays; null for radices 2, 4, 8
};

struct FftPasses {
  int64_t n;
  int count;
  const FftPass* pass;
};

// The largest prime factor that a pass takes: radix r costs r^2, larger primes become convolutions (plan.h).
constexpr int64_t kFftLargestRadix = 47;

struct FftKernels {
  int64_t lanes;
  // work[j] = element j of `count` <= lanes transforms; lane[i] points at element 0 of transform i, and elements are
  // `stride` complex numbers apart. Lanes without a transform hold anything finite or a copy of another.
  void (*load)(void* work, const void* const* lane, int count, int64_t n, int64_t stride, bool swap);
  // The same for real numbers (strides and lanes count real numbers), into real (part 0) or imaginary parts (1) only.
  void (*load_part)(void* work, int part, const void* const* lane, int count, int64_t n, int64_t stride);
  // The reverse of load, times scale.
  void (*store)(void* const* lane, int count, const void* work, int64_t n, int64_t stride, bool swap, double scale);
  // The reverse of load_part, times scale.
  void (*store_part)(void* const* lane, int count, const void* work, int part, int64_t n, int64_t stride, double scale);
  // All passes, between two working memories of n elements. Returns the one that holds the result.
  void* (*run)(const FftPasses& passes, void* work, void* other);
  // work[k] *= lane_twiddle[k] * block_twiddle[k]: a vector pair and one complex number for each element.
  void (*twiddle)(void* work, int64_t n, const void* lane_twiddle, const void* block_twiddle);
  // Transforms of 2 h real numbers, taken as h complex ones, in lanes. From the transform of the h complex ones, h + 1
  // elements of the spectrum; twiddles[k] = -i e^(-2 pi i k / (2 h)) / 2 for k <= h / 2.
  void (*untangle)(void* out, const void* work, int64_t h, const void* twiddles);
  // From h + 1 elements of a Hermitian spectrum, loaded without swap, the h complex numbers whose transform is pairs of
  // reals, to be stored with swap.
  void (*tangle)(void* out, const void* work, int64_t h, const void* twiddles);

  // One transform of lanes * m dense elements: after load(work, ..., m, lanes) and run, the transforms of length
  // `lanes` across the lanes, twiddled by table[m][2][lanes]. work and table have at least `lanes` elements.
  void (*finish)(void* out, const void* work, int64_t m, const void* table, bool swap, double scale);
  // untangle and tangle for one dense transform; neither is in place.
  void (*untangle_row)(void* out, const void* in, int64_t h, const void* twiddles, double scale);
  void (*tangle_row)(void* out, const void* in, int64_t h, const void* twiddles);

  // out = a * b, element by element; with swap, real and imaginary parts of a are exchanged before, with swap_out those
  // of the product after. out may be a.
  void (*multiply)(void* out, const void* a, const void* b, int64_t n, bool swap, bool swap_out, double scale);
  // out[i] = conj(in[n - 1 - i]); the two do not overlap.
  void (*reverse_conjugate)(void* out, const void* in, int64_t n);
};

SCONCE_AT_EACH_LEVEL(extern const FftKernels fft_kernels[2];)

}  // namespace sconce
