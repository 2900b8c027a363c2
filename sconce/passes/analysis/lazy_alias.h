// Lazy alias analysis, for passes that seldom need it: made when first asked for.
#pragma once

#include <optional>
#include <unordered_set>

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

  // As AliasFacts::may_leave, and also when the value took the place of one that may.
  bool may_leave(const ir::Value* v) { return leaving_.contains(v) || (**this).may_leave(v); }
  // To be called before `gone` is replaced by `other`.
  void note_replaced(const ir::Value* gone, const ir::Value* other) {
    if (may_leave(gone)) leaving_.insert(other);
  }

 private:
  const ir::Graph& graph_;
  std::optional<ir::AliasFacts> facts_;
  std::unordered_set<const ir::Value*> leaving_;
};

}  // namespace sconce::passes
