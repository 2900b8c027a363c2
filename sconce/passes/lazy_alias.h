// Alias facts for passes that seldom need them: made when first asked for.
#pragma once

#include <optional>

#include "sconce/ir/alias.h"

namespace sconce::passes {

class LazyAlias {
 public:
  explicit LazyAlias(const ir::Graph& graph) : graph_(graph) {}
  const ir::AliasFacts& operator*() {
    if (!facts_) facts_.emplace(graph_);
    return *facts_;
  }
  const ir::AliasFacts* operator->() { return &**this; }

 private:
  const ir::Graph& graph_;
  std::optional<ir::AliasFacts> facts_;
};

}  // namespace sconce::passes
