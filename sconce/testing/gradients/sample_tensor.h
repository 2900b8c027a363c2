// Sample tensors: deterministic values of a kind that an operator can take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::testing {

// The description of a tensor in a sample. Values without a description lie between -2 and 2, all different, and away
// from the multiples of 1/2, where many functions have kinks; integers are 0 to 4; bools are either.
struct SampleTensor {
  DType dtype = DType::float64;
  std::vector<int64_t> sizes;
  // From..to: floats strictly inside, integers from <= i < to. Of complex numbers both parts.
  std::optional<double> from, to;
  // symmetric (hermitian), spd (and positive definite), lower, upper (triangular), regular (far from singular): of
  // square matrices; unit (columns of length 1), logprobs (logarithms of
  // probabilities along the last dimension), sorted (along the last dimension), permutation (of 0 to n - 1,
  // along the last).
  std::string kind;
  bool transposed = false;  // the last two dimensions, in memory
  uint64_t seed = 0;
};

// Throws Error if the kind is unknown or does not fit the dtype or sizes.
Tensor make_sample_tensor(const SampleTensor& sample);

}  // namespace sconce::testing
