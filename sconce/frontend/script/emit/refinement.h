// Type narrowing: what a condition implies for the types of variables. `x is not None` makes an Optional[T] a T if it
// holds and None if not; `not`, `and` and `or` combine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::script {

struct Refinement {
  std::string variable;
  TypePtr type;
  friend bool operator==(const Refinement&, const Refinement&) = default;
};

struct Refinements {
  std::vector<Refinement> when_true, when_false;

  Refinements inverted() const { return {when_false, when_true}; }
  // Both hold if `a and b` is true; if it is false, only the facts that follow from either.
  static Refinements both(const Refinements& a, const Refinements& b);
  static Refinements either(const Refinements& a, const Refinements& b);
};

// A condition: its value, its refinements, and its outcome if that is known while compiling.
struct Condition {
  ir::Value* value;
  Refinements refinements;
  std::optional<bool> known;
};

// Whether a value of this type can be None.
enum class Noneness : uint8_t { always, maybe, never };
Noneness noneness(TypePtr type);
// The type without None: T of Optional[T], the other members of a union.
TypePtr not_none(TypePtr type);

// isinstance(x, (A, B)) by types alone: the types of x if it holds and if it does not (null: never happens).
struct InstanceCheck {
  TypePtr if_true, if_false;
  std::optional<bool> known;
};
InstanceCheck check_instance(TypePtr type, const std::vector<TypePtr>& candidates);
// Unions and Optionals replaced by their members, without duplicates, in a union's order.
std::vector<TypePtr> flat_types(const std::vector<TypePtr>& types);

}  // namespace sconce::script
