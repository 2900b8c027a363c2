// Samples: arguments for operators, as the table's `samples` write them. docs/operators.md describes the notation:
//   f64[2,3], f64[3] 0..1, [1, 2], reduction='sum', i64{0, 2}, None
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce::testing {

// The arguments of a call of op, bound to its schema. Tensors of float64 and complex128 require grad, unless the sample
// says `const`. Fresh tensors with the same values at every call. Throws Error naming operator, text and place.
std::vector<Value> read_sample(const Op& op, std::string_view text);

// What the generator knows of an entry of the table.
struct OpSamples {
  const char* op;                      // "aten::add.Tensor"
  std::span<const char* const> texts;  // those of the entry, or one made from the schema; none where neither is there
  bool stated;                         // the entry has samples of its own
  const char* second_order;            // why it cannot be differentiated twice; null where it can
};

// One per entry with a tensor among its arguments and results, in the order of the table (generated).
std::span<const OpSamples> op_samples();

}  // namespace sconce::testing
