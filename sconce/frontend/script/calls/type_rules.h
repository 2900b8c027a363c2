// Type unification: how types unify, and the bindings of schemas' type variables. See also calls.h
// (fits, unify, convert).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sconce/types/type.h"

namespace sconce::script {

// The type without the facts of its tensors: List[Tensor] for a list of Float(2, 3), Tensor for a
// parameter without annotation.
TypePtr unshaped(TypePtr type);
// T of Optional[T]; other types as they are.
TypePtr without_none(TypePtr type);
bool has_variables(TypePtr type);

// Type variables of one call, bound from left to right.
class TypeVariables {
 public:
  // Binds the variables of `formal` to the types that `actual` has in their places. False with the reason when that is
  // impossible ("Type variable 't' previously matched to type int is matched to type str").
  bool match(TypePtr formal, TypePtr actual, std::string& why);
  // `type` with its variables replaced; null when one is not bound.
  TypePtr replace(TypePtr type) const;

 private:
  TypePtr find(const std::string& name) const;
  std::vector<std::pair<std::string, TypePtr>> bound_;
};

// Whether a value of this type is a list of the wanted one, or a tuple that becomes one.
bool converts_to_list(TypePtr type, TypePtr list);

}  // namespace sconce::script
