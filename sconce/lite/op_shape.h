// OpShape: what the schema of an operator says beside types, read from its text. Lite libraries need no more of most
// operators: kernels check the kinds of their arguments themselves.
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce::lite {

struct OpShape {
  explicit OpShape(const Op& op);
  uint16_t arguments = 0, out = 0,
           returns = 0;  // `out`: of the arguments, those that results go to, which are the last
  bool is_vararg = false, is_varret = false, makes_tensor = false;
};

// The argument at a place below OpShape::arguments.
struct OpArgument {
  OpArgument(const Op& op, size_t index);
  // Throws Error for an argument that has none.
  Value default_value() const;
  bool has_default() const { return !default_text.empty(); }
  std::string_view type, name, default_text;
};

}  // namespace sconce::lite
