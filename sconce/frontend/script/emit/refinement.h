// Refinement: what a condition says about the types of variables. `x is not None` makes an Optional[T] a T where it
// holds and None where it does not; `not`, `and` and `or` combine.
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
  // Both hold where `a and b` is true; where it is false, only what follows from either.
  static Refinements both(const Refinements& a, const Refinements& b);
  static Refinements either(const Refinements& a, const Refinements& b);
};

// A condition: its value, what follows from it, and its outcome where that is known while compiling.
struct Condition {
  ir::Value* value;
  Refinements refinements;
  std::optional<bool> known;
};

// Could a value of this type be None?
enum class Noneness : uint8_t { always, maybe, never };
Noneness noneness(TypePtr type);
// The type without None: T of Optional[T], the other members of a union.
TypePtr not_none(TypePtr type);

// isinstance(x, (A, B)) by types alone: what x is where it holds and where it does not (null: never happens).
struct InstanceCheck {
  TypePtr if_true, if_false;
  std::optional<bool> known;
};
InstanceCheck check_instance(TypePtr type, const std::vector<TypePtr>& candidates);
// Unions and Optionals replaced by their members, without duplicates, in a union's order.
std::vector<TypePtr> flat_types(const std::vector<TypePtr>& types);

}  // namespace sconce::script
