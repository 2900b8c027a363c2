// How far two tensors, or two results of a program, are from each other.
#pragma once

#include <optional>
#include <string>

#include "sconce/types/value.h"

namespace sconce::cli {

struct TensorDifference {
  std::string what;                 // "dtype float32 and float16", "shape [2] and [3]"; empty when only values differ
  bool has_numbers = false;         // the rest is known: the shapes are the same
  int64_t elements = 0;             // that differ
  double max_abs = 0, max_rel = 0;  // the largest |a - b|, and |a - b| / |b|
};
// NaN equals NaN. Nothing when the tensors are equal, bit for bit but for the sign of zero. Tensors of two dtypes differ,
// and their elements are compared as numbers.
std::optional<TensorDifference> compare_tensors(const Tensor& a, const Tensor& b);
std::string difference_text(const TensorDifference& d);

struct Tolerance {
  std::optional<double> rtol, atol;  // else by dtype, as torch.testing.assert_close
  bool any_dtype = false;            // tensors of two dtypes may be close: by the tolerance of the coarser one
};
struct ResultComparison {
  std::string difference;  // why they differ, with the place ("result[0].boxes"); empty when they are the same
  int64_t elements = 0;    // numbers that were compared
  double max_abs = 0, max_rel = 0;
  std::string numbers_text() const;  // "largest difference 1.2e-07, relative 3e-07, of 1,000 numbers"
};
// The same: tensors and numbers within the tolerance (|a - b| <= atol + rtol * |b|), everything else equal.
ResultComparison compare_results(const Value& a, const Value& b, const Tolerance& tolerance);

}  // namespace sconce::cli
