// Dialects: levels of the compiler, as sets of operators that a graph is made of.
//
//   functional   operators of all kinds, none of which writes to a tensor; what belongs to others is written
//                back at the end
//   core         the same, and all operators on tensors are of Core ATen; inputs that it writes must share no memory
//                where the graph says so (effects/guarded.h)
//   prims        promotion and broadcasting are nodes of their own, where sizes are known
//
// Control flow, constants, lists, tuples and dicts, arithmetic of numbers, questions about sizes and dtypes, and checks
// that only throw are in every dialect.
//
// A graph that is lowered need not arrive: an operator that has neither body nor decomposition stays a call of it. The
// verifier of a dialect names those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::lowering {

struct Dialect {
  const char* name;
  const char* summary;
  // Brings a graph to this level as far as it goes. Calls are inlined, and the passes of the pipeline run. `self` is
  // the module whose method the graph is, where it is known: packed weights that it holds are constants of the result
  // then.
  void lower(ir::Graph& graph, const sconce::Value* self = nullptr) const { bring(graph, self); }
  void (*bring)(ir::Graph& graph, const sconce::Value* self);
  // Whether a node (without the nodes inside it) belongs to it.
  bool (*has)(const ir::Node& node);
};
SCONCE_API const std::vector<Dialect>& all_dialects();
// Null when there is none of that name.
SCONCE_API const Dialect* find_dialect(std::string_view name);
// "functional, core, prims"
SCONCE_API std::string dialect_names();

// An operator that is outside a dialect: how often, and where in the program's text.
struct Outside {
  std::string name;  // "aten::linalg_svd", "prim::CallMethod"
  size_t count = 0;
  std::vector<Range> places;  // each line once
};
// The verifier: what of the graph is outside, by name.
SCONCE_API std::vector<Outside> find_outside(const ir::Graph& graph, const Dialect& dialect);
// "aten::linalg_svd (2: model.py:3, model.py:9)"
SCONCE_API std::string to_string(const Outside& outside);

// aten::copy_ to an input or attribute, or to an item of one, behind which nothing runs in its block but others like
// it: the end of a functional graph, or of a branch that alone writes to the tensor.
SCONCE_API bool is_write_back(const ir::Node& node);

}  // namespace sconce::lowering
