// TensorFacts: the static knowledge of a tensor, beside that it is one. IR text spells it
//   Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), Float(*, 3), Float(SS(-2), 3), Tensor(requires_grad=1)
// refined_tensor_type(facts) is a type of kind `tensor` and a subtype of Tensor.
#pragma once

#include <optional>
#include <vector>

#include "sconce/tensor/tensor.h"
#include "sconce/types/type.h"

namespace sconce {

struct TensorFacts {
  // Sizes and strides: a number, kUnknown, or a symbol: equal symbols (below kUnknown) are equal sizes.
  static constexpr int64_t kUnknown = -1;
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<std::vector<int64_t>> sizes;  // given: the rank is known
  std::optional<std::vector<int64_t>> strides;
  std::optional<bool> requires_grad;
  bool undefined = false;  // certainly an undefined tensor
  // A parameter without annotation; errors call it "Tensor (inferred)".
  bool inferred = false;
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

// Interned; no facts at all give Tensor itself.
SCONCE_API TypePtr refined_tensor_type(const TensorFacts& facts);
// Of a live tensor, everything known.
SCONCE_API TensorFacts facts_of(const Tensor& t);
// The facts that both have: the join of the two types.
SCONCE_API TensorFacts common_facts(const TensorFacts& a, const TensorFacts& b);

}  // namespace sconce
