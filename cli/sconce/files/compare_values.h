// How far two tensors, or two results of a program, are from each other.
#pragma once

#include <optional>
#include <string>

#include "sconce/types/value.h"

namespace sconce::cli {

struct TensorDifference {
  std::string what;                 // "dtype float32 and float16", "shape [2] and [3]"; empty when values differ
  int64_t elements = 0;             // that differ
  double max_abs = 0, max_rel = 0;  // the largest |a - b|, and |a - b| / |b|
};
// NaN equals NaN. Nothing when the tensors are equal, bit for bit but for the sign of zero.
std::optional<TensorDifference> compare_tensors(const Tensor& a, const Tensor& b);
std::string difference_text(const TensorDifference& d);

struct Tolerance {
  std::optional<double> rtol, atol;  // else by dtype, as torch.testing.assert_close
};
// Why results differ, with the place ("[0].boxes"); empty when they are the same: tensors and numbers within the
// tolerance (|a - b| <= atol + rtol * |b|), everything else equal.
std::string compare_results(const Value& a, const Value& b, const Tolerance& tolerance);

}  // namespace sconce::cli
