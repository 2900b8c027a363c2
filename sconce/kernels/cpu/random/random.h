// Random sampling: fills tensors with random numbers. For the same seed the values that PyTorch's CPU operators of
// these names give (bernoulli_ with a number and exponential_ as its builds without a vendor library do it).
//
// Elements are drawn in memory order: row-major for a contiguous tensor, storage order for one that is dense in another
// order of dimensions. An undefined generator means the default one; it is locked for the whole call. Meta tensors are
// checked and left alone, and do not advance the generator. All throw Error for parameters out of range, for dtypes
// that do not fit and for tensors with several elements in one place. Versions are not raised: the operator does that.
// They have a namespace of their own because the operators of the same names are functions of `sconce`.
#pragma once

#include <cstdint>
#include <optional>

#include "sconce/tensor/generator.h"
#include "sconce/tensor/tensor.h"

namespace sconce {
struct Draw;  // kernels/draw.h
}

namespace sconce::rng {

// Evenly over [from, to). Floating and complex dtypes (both parts).
void uniform_(const Tensor& t, double from, double to, const Generator& generator = {});
// Floating and complex dtypes; for complex ones the standard deviation is that of the complex number.
void normal_(const Tensor& t, double mean, double std, const Generator& generator = {});
// Integers from all that the dtype holds, floats from [0, 2^digits], bools.
void random_(const Tensor& t, const Generator& generator = {});
// Integers from [from, to), without `to` up to the dtype's largest.
void random_(const Tensor& t, int64_t from, std::optional<int64_t> to, const Generator& generator = {});

// 1 with probability p, else 0. Any dtype but complex.
void bernoulli_(const Tensor& t, double p, const Generator& generator = {});
// The same with a probability per element: `p` is a floating tensor that broadcasts to t.
void bernoulli_(const Tensor& t, const Tensor& p, const Generator& generator = {});

void exponential_(const Tensor& t, double lambda, const Generator& generator = {});
void geometric_(const Tensor& t, double p, const Generator& generator = {});
void cauchy_(const Tensor& t, double median, double sigma, const Generator& generator = {});
void log_normal_(const Tensor& t, double mean, double std, const Generator& generator = {});

// A permutation of 0 .. numel-1 in a 1-d tensor of an integral or floating dtype that can hold numel-1.
void randperm_(const Tensor& t, const Generator& generator = {});

// Indices (int64) drawn by weight from each row of a floating tensor of 1 or 2 dimensions: [samples] or [rows,
// samples]. Weights need not sum to 1. Without replacement no index comes twice in a row.
Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, const Generator& generator = {});

// All of the above by kind: Backend::random of the CPU.
void draw(const Tensor& t, const Draw& draw, const Generator& generator);

}  // namespace sconce::rng
