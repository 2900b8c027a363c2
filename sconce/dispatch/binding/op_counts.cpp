#include "sconce/dispatch/binding/op_counts.h"

#include <algorithm>

#include "sconce/dispatch/op.h"

namespace sconce {
namespace {

bool holds_tensor(TypePtr type) {
  if (type->is(TypeKind::tensor)) return true;
  for (TypePtr part : type->contained()) {
    if (holds_tensor(part)) return true;
  }
  return false;
}

}  // namespace

OpCounts counts_of(const Op& op) {
  const Schema& schema = op.schema();
  const bool makes_tensor =
      std::any_of(schema.returns.begin(), schema.returns.end(), [](const Argument& a) { return holds_tensor(a.type); });
  return {schema.arguments.size(), schema.returns.size(), makes_tensor};
}

}  // namespace sconce
