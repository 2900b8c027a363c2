// Samples: arguments for operators, as the table's `samples` write them. docs/operators.md describes the notation:
//   f64[2,3], f64[3] 0..1, [1, 2], reduction='sum', i64{0, 2}, None -> 0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce::testing {

// The projection from a tensor that is varied to the argument, if an operator takes only some tensors: an element moved
// alone would leave them.
enum class Projection : uint8_t {
  none,
  symmetric,  // (x + x^H) / 2
  lower,
  upper,              // a triangle
  log_probabilities,  // log_softmax over the last dimension
};

struct Sample {
  // Bound to the schema. Tensors of float64 and complex128 require grad, unless the sample says `const`.
  std::vector<Value> args;
  std::vector<Projection> projections;  // one per tensor that requires grad
  // The results that count: others are not functions of the arguments for autograd, or only up to a factor of length 1,
  // which `absolute` takes away. All if it is empty.
  struct Result {
    size_t index;
    bool absolute;
  };
  std::vector<Result> results;
  bool changed = false;  // some tensor is complex because of Numbers::complex
};

// complex: tensors of float64 are of complex128 instead, except those that the sample calls `real`.
enum class Numbers : uint8_t { stated, complex };

// Fresh tensors with the same values at every call. Throws Error naming operator, text and place.
Sample read_sample(const Op& op, std::string_view text, Numbers numbers = Numbers::stated);

// The samples of an entry of the table, from the generator.
struct OpSamples {
  const char* op;                      // "aten::add.Tensor"
  std::span<const char* const> texts;  // those of the entry, or one made from the schema; none if neither is there
  bool stated;                         // the entry has samples of its own
  const char* second_order;            // why it cannot be differentiated twice; null if it can
};

// One per entry with a tensor among its arguments and results, in the order of the table (generated).
std::span<const OpSamples> op_samples();

}  // namespace sconce::testing
