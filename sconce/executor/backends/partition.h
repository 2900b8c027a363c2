// Convex partitioning: nodes of a DAG that somebody takes are joined into groups that can run as one node each.
//
//   a* -> b* -> c -> d*          groups {a, b} and {d}: with d in the first, c would have to run in its middle
//   a* ------------> d*
#pragma once

#include <cstdint>
#include <vector>

namespace sconce::executor {

// By node, in an order in which they can run: the nodes that must run later, each one behind it.
using Successors = std::vector<std::vector<uint32_t>>;

// The group of each node, named by its first one; nodes that are not taken are alone. Groups are connected, convex (no
// path leaves one and comes back), and no two neighbours can be joined any more.
std::vector<uint32_t> join_taken(const Successors& after, const std::vector<bool>& taken);

// The names of the groups in an order in which they can run, as near to the order of their last nodes as can be.
std::vector<uint32_t> order_of_groups(const Successors& after, const std::vector<uint32_t>& group_of);

}  // namespace sconce::executor
