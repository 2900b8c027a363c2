// The inputs of the rows: numbers from a multiplicative hash of the element's number, bit for bit those of
// peer_worker.py.
#pragma once

#include <cstdint>

#include "sconce/tensor/tensor.h"

namespace sconce::bench {

Tensor uniform(IntList sizes, uint32_t seed, float low = -1, float high = 1);  // float32 in [low, high)
Tensor index(IntList sizes, uint32_t seed, int64_t below);                     // int64 in [0, below)
Tensor mask(IntList sizes, uint32_t seed);                                     // bool
Tensor ramp(int64_t n);                                                        // n floats that rise from -1 to 1
// Symmetric positive definite matrices: sizes [b, n] give b matrices of n by n.
Tensor gram(IntList sizes, uint32_t seed);

}  // namespace sconce::bench
