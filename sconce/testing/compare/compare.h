// Result comparison: compares results with recorded ones, in dtype, sizes, strides and values.
//
// A comparison returns nothing when all is well, else one sentence about what differs: where first, what was got and
// expected, how many elements are off and by how much.
//
// Tolerances are those of PyTorch's own tests; an element is right when |got - expected| is at most
//   absolute + relative * |expected| + of_largest * (largest finite |expected| of the tensor)
//
//   dtype                  relative  absolute     accumulated results, in addition: of_largest
//   float64, complex128    1e-7      1e-7         1e-7
//   float32, complex64     1.3e-6    1e-5         1e-4
//   bfloat16               1.6e-2    1e-5         1.6e-2
//   float16                1e-3      1e-5         1e-3
//   integers, bool         exact
//
// Equal infinities are right, NaN is right where NaN is expected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::testing {

struct Tolerance {
  double relative = 0, absolute = 0, of_largest = 0;
};

enum class Closeness : uint8_t {
  exact,        // the same values
  close,        // the tolerances above
  accumulated,  // the same, looser: long sums, products of matrices, linear algebra
};

Tolerance tolerance_for(DType dtype, Closeness closeness);

using Difference = std::optional<std::string>;

// dtype and sizes; strides too when asked (where a dimension has one element or the tensor none, any stride is right).
Difference compare_geometry(const Tensor& got, const Tensor& expected, bool strides);
// Elements of two tensors of the same dtype and sizes.
Difference compare_elements(const Tensor& got, const Tensor& expected, Closeness closeness);
// Whether both can be samples of one distribution. For draws whose values cannot be repeated: the largest distance
// between the two empirical distribution functions (Kolmogorov-Smirnov) must be likelier than about 1 in 10,000; if all
// expected elements are 0 or 1, all must be.
// Results computed from draws (a product of random matrices) have elements that depend on each other: n of them count
// as sqrt(n) samples.
enum class Draws : uint8_t { independent, dependent };
Difference compare_distribution(const Tensor& got, const Tensor& expected, Draws draws = Draws::independent);
// Anything but tensors: floats with float64's tolerance, the rest exactly.
Difference compare_plain(const Value& got, const Value& expected);

}  // namespace sconce::testing
