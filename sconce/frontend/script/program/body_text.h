// Body parser: the statements of an operator's body or derivative (dispatch/custom/body.h) as a tree that the emitter
// can compile. They stand without a `def`, and only statements that compute are allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/syntax/tree.h"

namespace sconce::script {

struct BodyText {
  syntax::TreePtr tree;
  std::vector<std::string> free_names;  // used, but not assigned in it, in order of appearance
  passes::TextPlace place;
};

// Throws Error ("line 2, column 8: expected ...") for text that is not part of the language, or not of bodies. `line`
// and `column` are where the text stands in another.
BodyText parse_body(std::string_view text, int line = 1, int column = 1);

// `def body(a: T0, b: T1): ...`, the only statement of the tree; with `typed_result`, `def body(a: T0, b: T1) -> T2:
// ...`. `x += y` has become `x = x + y`.
syntax::TreePtr body_function(const BodyText& text, const std::vector<std::string>& parameters,
                              bool typed_result = false);

}  // namespace sconce::script
