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

// The arguments, one after the other.
struct OpArguments {
  explicit OpArguments(const Op& op);
  // Goes to the next; false behind the last.
  bool next();
  // Of one that has a default.
  Value default_value() const;

  std::string_view type, name, default_text;     // empty: there is none
  bool keyword_only = false, is_vararg = false;  // seen so far: "*", "..."
  const char* rest;                              // of the schema
};

}  // namespace sconce::lite
