// TupleItems: several sugared values side by side, known while compiling, such as the items that a loop over a tuple
// visits or that zip() gives for one step.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

class TupleItems : public SugaredValue {
 public:
  explicit TupleItems(std::vector<SugaredPtr> items) : items(std::move(items)) {}
  std::string kind() const override { return "Tuple"; }
  ir::Value* as_value(Emitter& e, const Range& at) override;  // a tuple
  std::vector<SugaredPtr> unpack(Emitter& e, const Range& at, std::optional<size_t> count) override;
  SugaredPtr subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) override;  // a constant
  SugaredPtr iterate(Emitter&, const Range&) override { return shared_from_this(); }
  std::optional<size_t> static_length() const override { return items.size(); }
  ir::Value* length(Emitter& e, const Range& at) override;
  SugaredPtr item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint) override;  // a constant

  const std::vector<SugaredPtr> items;
};

// The place that a constant index names, counted from the end when negative. Throws "Tuple index out of range. ...".
size_t tuple_index(const Range& at, int64_t index, size_t size);

}  // namespace sconce::script
