// Graph isomorphism: whether two graphs say the same, to compare the frontend's with the IR that PyTorch recorded.
#pragma once

#include <optional>
#include <string>

#include "sconce/ir/graph.h"

namespace sconce::testing {

struct GraphComparison {
  bool wiring = true;   // inputs are the corresponding values, results too; equal constants correspond
  bool types = true;    // of inputs and outputs; of a class, the last part of its name counts
  bool ranges = false;  // nodes come from the same line and column; file names and a shift of all lines aside
};

// The first difference, with both lines; nothing when there is none. Nodes must be of the same kinds, in the same order
// and nesting, with equal attributes. Names of values do not count, nor where constants stand.
std::optional<std::string> compare_structure(const ir::Graph& ours, const ir::Graph& theirs,
                                             const GraphComparison& what = {});

}  // namespace sconce::testing
