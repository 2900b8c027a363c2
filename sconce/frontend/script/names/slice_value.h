// SliceValue: the bounds of a slice, a:b:c in a subscript or slice(a, b, c).
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

struct SliceBounds {
  ir::Value* start = nullptr;  // null if nothing was written
  ir::Value* stop = nullptr;
  ir::Value* step = nullptr;
};

class SliceValue : public SugaredValue {
 public:
  explicit SliceValue(SliceBounds bounds) : bounds(bounds) {}
  std::string kind() const override { return "slice"; }
  const SliceBounds bounds;
};

}  // namespace sconce::script
