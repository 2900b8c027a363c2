// Attributes as constants (partial evaluation): what a module that is known holds where a graph reads its attributes.
#pragma once

#include <optional>

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Whether values of this type are packed weights (torch.classes.quantized.*, torch.classes.rnn.*), or lists of them.
bool names_packed(TypePtr type);

class ModuleConstants {
 public:
  // `self` may be null: then nothing is known. Attributes that the graph sets are not known, either.
  ModuleConstants(const ir::Graph& graph, const sconce::Value* self);
  // The object, number or list that the value is when `at` runs; a list also where the graph appends to it before.
  std::optional<sconce::Value> find(const ir::Value* v, const ir::Node& at) const;

 private:
  const ir::Graph& graph_;
  const sconce::Value* self_;
};

// Makes the numbers, flags and texts that the graph reads of `self` and of modules in it constants. Returns whether
// there were any.
bool fold_numbers(ir::Graph& graph, const sconce::Value& self);

}  // namespace sconce::lowering
