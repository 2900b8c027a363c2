// Draw: one distribution with its parameters, the request to Backend::random.
#pragma once

#include <cstdint>
#include <optional>

#include "sconce/tensor/tensor.h"

namespace sconce {

struct Draw {
  enum class Kind : uint8_t {
    uniform,           // evenly over [a, b)
    normal,            // mean a, standard deviation b
    bernoulli,         // 1 with probability a, else 0
    bernoulli_each,    // the same with a probability for each element: `each`
    exponential,       // rate a
    geometric,         // probability a
    cauchy,            // median a, width b
    log_normal,        // mean a and standard deviation b of the logarithm
    integers,          // all that the dtype holds
    integers_between,  // from `from` to `to` - 1; without `to` to the largest of the dtype
    permutation,       // of 0 .. numel-1
  };

  Kind kind;
  double a = 0, b = 0;
  int64_t from = 0;
  std::optional<int64_t> to = std::nullopt;
  const Tensor* each = nullptr;
};

// What Draw::Kind::integers and integers_between ask of a word of the generator: base + word % range.
struct IntegerDraw {
  int64_t base;
  uint64_t range;  // 0: 2^64
  bool wide;       // words of 64 bits: for ranges from 2^28 on, so that no value is favoured by more than 5 percent
};
// Bounds of a floating dtype move inwards when rounding would carry a draw across them. Throws Error for bounds that do
// not fit the dtype.
SCONCE_API IntegerDraw integer_draw(const Draw& draw, DType dtype);

// Random numbers into every element of `out`, by the backend of its device; an undefined generator means the default
// one. Meta tensors are checked and left alone. Throws Error for parameters out of range, for dtypes that do not fit
// and for tensors with several elements in one place. Bumps no version.
void draw_into(const Tensor& out, const Draw& draw, const Generator& generator);

}  // namespace sconce
