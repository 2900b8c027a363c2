// Pickle traversal: visits the parts of a value in the order in which they are pickled, and finds the shared ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

class PickleParts {
 public:
  using StateOf = std::function<std::optional<Value>(const Value& object)>;
  // `name` is the pickle's name in errors. Both must outlive it.
  PickleParts(const StateOf& state_of, const std::string& name) : state_of_(state_of), name_(name) {}

  // Calls f for everything directly inside of a container or an object; not for numbers in a list of them.
  void for_each(const Value& v, const std::function<void(const Value& part)>& f);
  // The result of __getstate__, called once for an object, since it may make new ones. Nothing: the attributes
  // are the state.
  const std::optional<Value>& state_of(const Value& object);
  // Throws Error with the place of the part that for_each is at: "model.pt: data.pkl: layers[0].rng: reason".
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  void at(std::string place, const Value& part, const std::function<void(const Value& part)>& f);

  const StateOf& state_of_;
  const std::string& name_;
  std::vector<std::string> places_;
  std::unordered_map<const void*, std::optional<Value>> states_;
};

// The identity of a tensor, container or object.
const void* pickle_identity(const Value& v);
// The identities of parts that occur more than once. Throws Error for a value that contains itself, and for one nested
// so deeply that the reader would refuse it.
std::unordered_set<const void*> shared_parts(const Value& v, PickleParts& parts);

}  // namespace sconce
