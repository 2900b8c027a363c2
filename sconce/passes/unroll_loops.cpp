// Loop unrolling: a short loop of a constant number of trips becomes its iterations in a row.
//   %y : Tensor = prim::Loop(%two, %true, %x)
//     block0(%i : int, %v : Tensor):
//       %w : Tensor = aten::add(%v, %i, %one)
//       -> (%true, %w)
//   =>
//   %i : int = prim::Constant[value=0]()
//   %w : Tensor = aten::add(%x, %i, %one)
//   %i.1 : int = prim::Constant[value=1]()
//   %y : Tensor = aten::add(%w, %i.1, %one)
// Inner loops go first, and count unrolled when their outer loop is looked at.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

constexpr int64_t kMaxTrips = 32;
constexpr size_t kMaxLoopNodes = 256;  // of all iterations of a loop
constexpr size_t kMaxAdded = 4096;     // to the graph, by all loops

class Unroller {
 public:
  bool changed = false;

  // The number of nodes in the block afterwards.
  size_t run(const ir::Block& block) {
    size_t nodes = 0;
    for (ir::Node* node : block.nodes()) {
      size_t inner = 0;
      for (const ir::Block* b : node->blocks()) inner += run(*b);
      const std::optional<int64_t> trips = trip_count(*node);
      const size_t all = trips ? inner * static_cast<size_t>(*trips) : 0;
      if (trips && all <= kMaxLoopNodes && added_ + all <= kMaxAdded) {
        unroll(*node, *trips);
        added_ += all;
        nodes += all;
        changed = true;
      } else {
        nodes += inner + 1;
      }
    }
    return nodes;
  }

 private:
  // Known, small, and not cut short by a condition.
  static std::optional<int64_t> trip_count(const ir::Node& node) {
    if (!node.is(ir::kind::Loop)) return std::nullopt;
    const std::optional<int64_t> trips = constant_int(node.input(0));
    if (!trips || *trips > kMaxTrips) return std::nullopt;
    if (!constant_bool(node.input(1)).value_or(false)) return std::nullopt;
    if (!constant_bool(node.block_at(0)->outputs()[0]).value_or(false)) return std::nullopt;
    return std::max<int64_t>(*trips, 0);
  }

  static void unroll(ir::Node& loop, int64_t trips) {
    const ir::Block& body = *loop.block_at(0);
    std::vector<ir::Value*> carried(loop.inputs().begin() + 2, loop.inputs().end());
    for (int64_t trip = 0; trip < trips; ++trip) {
      ir::Block::ValueMap map;
      if (body.inputs()[0]->has_uses()) {
        ir::Node* number = loop.graph()->create_constant(trip);
        number->set_range(loop.range())->set_inlined(loop.inlined());
        map[body.inputs()[0]] = number->insert_before(&loop)->output();
      }
      for (size_t i = 0; i < carried.size(); ++i) map[body.inputs()[i + 1]] = carried[i];
      for (const ir::Node* node : body.nodes()) loop.graph()->create_copy(*node, map)->insert_before(&loop);
      for (size_t i = 0; i < carried.size(); ++i) {
        const auto found = map.find(body.outputs()[i + 1]);
        carried[i] = found == map.end() ? body.outputs()[i + 1] : found->second;
      }
    }
    for (size_t i = 0; i < carried.size(); ++i) loop.output(i)->replace_all_uses_with(carried[i]);
    loop.destroy();
  }

  size_t added_ = 0;
};

}  // namespace

bool unroll_loops(ir::Graph& graph) {
  Unroller unroller;
  unroller.run(*graph.block());
  return unroller.changed;
}

}  // namespace sconce::passes
