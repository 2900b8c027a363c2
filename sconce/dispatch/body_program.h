// A body that was parsed and checked: its tree, and a slot for each name in it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sconce/syntax/tree.h"

namespace sconce::body {

struct Program {
  syntax::TreePtr tree;
  std::unordered_map<syntax::ExprPtr, size_t> slots;  // of every Name
  std::vector<std::string> names;                     // by slot
  std::vector<bool> assigned;                         // by slot: is there an assignment to it?
  std::vector<bool> used;  // by slot: does it stand for a value, not for a function or module?
  std::string space;
  int first_column = 1;

  size_t slot(syntax::ExprPtr name) const { return slots.at(name); }
};

// Throws Error ("line 2, column 8: expected ...") for what is not part of the language, or not of bodies.
Program parse(std::string_view text, std::string_view space, int first_line, int first_column);

// What an expression names when it is not a value: the parts of `torch.f`, `torch.ops.ns.f`, `math.f`.
bool module_path(syntax::ExprPtr e, const Program& program, std::vector<std::string_view>& parts);
// Names in the places of values that are never assigned: not those of functions and modules.
std::vector<std::string> free_names(const Program& program);

// "line 2, column 8: message" for a place in the body.
std::string message_at(const Program& program, const Range& at, std::string_view message);

}  // namespace sconce::body
