// The functional form of a write: the operator that gives as a new tensor what an in-place or out= operator leaves in
// its argument (functional_twin, dispatch/entry.h), with its arguments.
//
//   %y : Tensor = aten::add_(%x, %z, %a)     =>    %t : Tensor = aten::add(%x, %z, %a)
//                                                  %y : Tensor = sconce::written(%x, %t)
//
// Note [Results that fit]
// A write keeps dtype and sizes of its argument, and is refused where they do not take the result: integers do not take
// floats, no tensor grows by broadcasting. sconce::written(self, result) does the same with a new tensor: it converts,
// or throws what the write would. It is left out where dtype and sizes are the same for certain.
#pragma once

#include <optional>

#include "sconce/ir/graph.h"

namespace sconce::lowering {

struct FunctionalForm {
  const Op* op = nullptr;
  std::vector<size_t> inputs;  // for each of its arguments that is given: the input of the node
  size_t written = 0;          // the input that the node writes to
  bool is_out = false;         // an out= form: what it writes to is not read, and may get other sizes
  bool keeps_sizes = false;    // of an out= form: it must not, FunctionalizeOptions::apart
};
// Nothing for operators that write to several arguments or to a list, that change more than elements (resize_, t_,
// set_), or that have no twin.
std::optional<FunctionalForm> functional_form(const ir::Node& node);

// Whether `made`, a node of the functional form, certainly has the dtype and sizes of what is written (Note [Results
// that fit]): by the rule of the operator (of one that reads what it writes), or because the types know all of it.
bool result_fits(const ir::Node& made, const ir::Value* written, bool is_out);

}  // namespace sconce::lowering
