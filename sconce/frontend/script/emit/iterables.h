// Iterables: range(...), zip(...) and enumerate(...), which `for` runs over beside values of the graph.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// range(n), range(start, end), range(start, end, step). Item i is i itself, or aten::__derive_index(i, start, step).
class RangeValue : public SugaredValue {
 public:
  // Throws when the arguments are not one to three ints.
  RangeValue(Emitter& e, const Range& at, const std::vector<ir::Value*>& inputs,
             std::optional<size_t> static_length = {});
  std::string kind() const override { return "range"; }
  SugaredPtr iterate(Emitter&, const Range&) override { return shared_from_this(); }
  std::optional<size_t> static_length() const override { return static_length_; }
  ir::Value* length(Emitter& e, const Range& at) override;
  SugaredPtr item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint) override;

 private:
  ir::Value* start_ = nullptr;  // null: from 0 by 1
  ir::Value* end_;
  ir::Value* step_ = nullptr;
  std::optional<size_t> static_length_;  // of the iterable that it counts (enumerate)
};

// Iterables in step: zip, and enumerate as a zip of a range and its argument. The shortest decides; all have a length
// that is known while compiling, or none.
class ZipValue : public SugaredValue {
 public:
  explicit ZipValue(const Range& at, std::vector<SugaredPtr> parts);  // of iterate()
  std::string kind() const override { return "iterabletree"; }
  ir::Value* as_value(Emitter& e, const Range& at) override;
  SugaredPtr iterate(Emitter&, const Range&) override { return shared_from_this(); }
  std::optional<size_t> static_length() const override { return static_length_; }
  ir::Value* length(Emitter& e, const Range& at) override;
  SugaredPtr item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint) override;  // TupleItems

 private:
  void add_lengths(Emitter& e, const Range& at, std::vector<ir::Value*>& lengths) const;
  std::vector<SugaredPtr> parts_;
  std::optional<size_t> static_length_;
};

// The names `range`, `zip` and `enumerate`.
SugaredPtr range_function();
SugaredPtr zip_function();
SugaredPtr enumerate_function();

}  // namespace sconce::script
