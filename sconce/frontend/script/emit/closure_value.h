// ClosureValue: a closure, that is a function defined inside a function. It sees the variables around it, and
// can be forked.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

class ClosureValue : public SugaredValue {
 public:
  explicit ClosureValue(ir::Value* closure) : closure(closure) {}
  std::string kind() const override { return "closure"; }
  ir::Value* const closure;  // of a prim::Closure node, whose block is the body
};

}  // namespace sconce::script
