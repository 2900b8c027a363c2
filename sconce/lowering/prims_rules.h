// Lowering rules to prims: one call of an ATen operator to nodes of prims.
#pragma once

#include "sconce/lowering/prims_builder.h"

namespace sconce::lowering {

// A call whose inputs are all known, and whose results on Meta are known tensors.
struct LoweredCall {
  const ir::Node& node;
  const Op& op;
  std::vector<sconce::Value> args;     // one per argument of the schema, tensors on Meta
  std::vector<sconce::Value> results;  // on Meta

  const sconce::Value& arg(std::string_view name) const;
  ir::Value* input(std::string_view name) const;
  const Tensor& result() const { return results[0].to_tensor(); }
};

// The value for the result of the call; null where it cannot be said in prims: the caller undoes what was made until
// then. Operators of several results stay as they are.
using Lowered = ir::Value*;

// Operators with a scalar expression: see prims_pointwise.cpp.
Lowered lower_pointwise(const LoweredCall& call, PrimsBuilder& b);
// Reductions, normalisations, views, creation, copies: see prims_rules.cpp, by name.
Lowered lower_by_name(const LoweredCall& call, PrimsBuilder& b);

// The dtype that loops compute in: float32 for 16-bit floats.
DType compute_dtype(DType dtype);

}  // namespace sconce::lowering
