// Loop fusion: decides which pointwise operators of a straight list of nodes become one nest, by a cost model, and in
// which order the nests and the other nodes run.
//
// Members of a group have one iteration space (or are broadcast into the largest of them), and no path leads from one
// to another through a node outside. The cost of a nest is the time to move its bytes, from the cache that they fit,
// plus the time of its steps; groups are merged while that is cheaper than the two apart, the largest gain first. A
// row operator (softmax, a norm) is a member like others where all of a group's tensors can be walked by its rows. A
// cheap value that several groups read is computed in each of them instead of being written, where that is cheaper.
// Note [Costs] in cost.h has the table of constants.
#pragma once

#include <string>
#include <vector>

#include "sconce/loops/cost.h"
#include "sconce/loops/nest.h"

namespace sconce::loops {

// A tensor, by number. Values that no node makes are inputs.
struct GraphValue {
  DType dtype = DType::float32;
  Dims sizes, strides;  // strides in elements
};

struct GraphNode {
  const LoopCall* call = nullptr;   // null: not a pointwise operator; its inputs and outputs stay tensors. Else: its
                                    // inputs are ignored, those of the node count
  SmallVector<int32_t, 6> inputs;   // values; for a call, one for each input of its loops
  SmallVector<int32_t, 2> outputs;  // values; for a call, one
  SmallVector<int32_t, 2> after;    // nodes that must run before, though no value says so (they write memory)
  bool visible = false;             // a result of the whole, or looked at by somebody who is not in the list
};

struct FuseGraph {
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;  // in an order in which they could run
};

// Nodes that become one nest (in the order of its calls), or one node that is not a call.
struct Group {
  std::vector<int32_t> nodes;
  std::string why;  // for SCONCE_LOGS=fusion: the costs that decided
};

// Groups in an order in which they can run; nodes that are not calls keep theirs. Every node is in at least one of
// them; one that is computed twice is in several.
SCONCE_API std::vector<Group> fuse(const FuseGraph& graph, const Machine& machine = this_machine());

// The nest of a group of calls, and which value each of its buffers is. Buffers that are read come first. Values that
// are visible, or read outside of the groups of `schedule` that compute them, are written. Throws Error for a row
// operator, alone in its group, whose tensors cannot be walked by rows: run that one as eager does.
struct BuiltNest {
  Nest nest;
  std::vector<int32_t> values;
};
SCONCE_API BuiltNest build_nest(const FuseGraph& graph, const std::vector<Group>& schedule, size_t group);

// The same for many groups of one schedule, whose nodes and readers are looked up once. Keeps references to both.
class SCONCE_API NestBuilder {
 public:
  NestBuilder(const FuseGraph& graph, const std::vector<Group>& schedule);
  BuiltNest build(size_t group) const;

 private:
  bool is_read_elsewhere(int32_t node) const;

  const FuseGraph& graph_;
  const std::vector<Group>& schedule_;
  std::vector<std::vector<int32_t>> groups_of_, readers_;  // by node; by value
};

SCONCE_API std::string to_string(const FuseGraph& graph, const std::vector<Group>& schedule);

}  // namespace sconce::loops
