// Alias analysis: AliasFacts say which values of a graph may share memory, and which nodes write to it, from the alias
// annotations of schemas and rules for control flow, containers and calls (Note [Places]). "May" is on the safe side:
// two inputs of one type may be the same, a function that is called may write to all that it can reach.
//
// Facts describe the graph as it was when they were made. They stay true when nodes are removed or moved as can_move_*
// allows; of values that are made later nothing is known, and every query answers "may".
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "sconce/ir/graph.h"
#include "sconce/ir/points_to.h"

namespace sconce::ir {

class SCONCE_API AliasFacts {
 public:
  explicit AliasFacts(const Graph& graph);
  // The same for a caller that knows the objects that attributes are read from. `key` of a GetAttr: what its result is,
  // when nothing in the graph leads there but nodes with this key; null when that is not known.
  using AttributeKey = std::function<const void*(const Node& get_attr)>;
  AliasFacts(const Graph& graph, const AttributeKey& key);
  ~AliasFacts();
  AliasFacts(const AliasFacts&) = delete;

  // May a write to one be seen through the other: do they alias?
  bool may_alias(const Value* a, const Value* b) const;
  // The same for all that can be reached from them: elements of lists, attributes.
  bool may_contain_alias(const Value* a, const Value* b) const;
  // Escape analysis: may code outside the graph hold v itself, because it comes from an input, is returned, stored or
  // passed to a function?
  bool may_leave(const Value* v) const;

  // Does some node of the graph write to v, or to something that can be reached from it?
  bool has_writers(const Value* v) const;
  bool has_writers(const Node* n) const;  // of an input or an output
  // Does the node, or one in its blocks, write to anything; to v or what can be reached from it?
  bool writes(const Node* n) const;
  bool writes_to(const Node* n, const Value* v) const;
  // See effects.h; here for the same node.
  bool has_side_effects(const Node* n) const;
  // No writes, no side effects, no random numbers: running it twice, earlier or not at all makes no difference as long
  // as its inputs are not written.
  bool is_pure(const Node* n) const;

  // May `n` alone be placed right before (after) `point`, which is in the same block? Values, writes and the order of
  // side effects are kept.
  bool can_move_before(const Node* n, const Node* point) const;
  bool can_move_after(const Node* n, const Node* point) const;

  // For passes that follow memory themselves: what can be reached from a value, what a node writes (sorted).
  const PlaceSet& reach(const Value* v) const;
  const PlaceSet& written(const Node* n) const;
  bool is_outside(Place p) const;
  bool overlap(const PlaceSet& a, const PlaceSet& b) const;

 private:
  class Builder;
  const PlaceSet* find(const Value* v) const;
  PlaceSet read(const Node* n) const;
  bool conflict(const Node* a, const Node* b) const;
  bool depends(const Node* later, const Node* earlier) const;

  std::unique_ptr<Places> places_;
  std::unordered_map<const Value*, Places::Variable> variables_;  // of mutable types
  std::unordered_map<const Node*, PlaceSet> written_;             // of nodes that write
  PlaceSet all_written_, returned_;
};

}  // namespace sconce::ir
