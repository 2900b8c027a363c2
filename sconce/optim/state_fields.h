// StateFields: the members of a schedule by name, written to a dict or read from one.
#pragma once

#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::optim {

class StateFields {
 public:
  static StateFields writer() { return StateFields(make_ref<Dict>(any_type(), any_type()), true); }
  static StateFields reader(const Value& dict);

  // Names that a dict to read does not have leave the member as it is.
  void operator()(const char* name, int64_t& member);
  void operator()(const char* name, double& member);
  void operator()(const char* name, bool& member);
  void operator()(const char* name, std::string& member);
  void operator()(const char* name, std::vector<double>& member);
  void operator()(const char* name, std::vector<int64_t>& member);
  void value(const char* name, Value& member);

  bool writes() const { return writes_; }
  Value dict() const { return Value(dict_); }

 private:
  StateFields(Ref<Dict> dict, bool writes) : dict_(std::move(dict)), writes_(writes) {}
  const Value* found(const char* name) const { return dict_->find(name); }
  Ref<Dict> dict_;
  bool writes_;
};

}  // namespace sconce::optim
