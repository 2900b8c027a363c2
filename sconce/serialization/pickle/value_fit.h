// Type conformance: makes a value of a file have the type that the program expects, or refuses it. Compiled code relies
// on types: it never checks the kind of a slot of an object or of an item of a list.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

class ValueFitter {
 public:
  // `v`, when it is of the type; otherwise a copy that is. Old archives do not say the types of containers, and none
  // says those of named tuples: the type does. Throws Error with both types.
  Value fit(const Value& v, TypePtr type);

 private:
  Value fit_list(const Value& v, TypePtr type);
  Value fit_dict(const Value& v, TypePtr type);
  Value fit_tuple(const Value& v, TypePtr type);

  // Values that fit as they are, so that shared ones are checked once. They are kept alive, so that no other value
  // gets their address.
  std::set<std::pair<const Counted*, TypePtr>> known_;
  std::vector<Value> held_;
};

}  // namespace sconce
