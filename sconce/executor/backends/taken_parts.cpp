// Note [Views of parts]
// A view that a backend takes is part of its graph. Where the view is also seen outside, the tape makes it again there,
// of the tensor that the part was given or gave: so memory is shared as in the program, and results of parts are never
// views.
#include "sconce/executor/backends/taken_parts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "sconce/base/logs.h"
#include "sconce/executor/backends/partition.h"
#include "sconce/executor/backends/straight_graph.h"
#include "sconce/executor/backends/tape_graph.h"
#include "sconce/executor/functional_tape.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/splice.h"
#include "sconce/passes/passes.h"

namespace sconce::executor {
namespace {

// Stands for all subgraphs: a node must have an operator.
const Op& part_operator() {
  static const Op& op = *[] {
    auto* made = new Op();
    made->info.name = "sconce::backend_part";
    made->info.overload = "";
    made->info.schema = "sconce::backend_part(...) -> ...";
    made->info.dtypes = kLimitedAll;
    return made;
  }();
  return op;
}

class Offer {
 public:
  Offer(Tape& tape, GraphBackend& backend, std::vector<BlockId>& read)
      : tape_(tape),
        backend_(backend),
        read_(read),
        written_(written_blocks(tape)),
        lowering_(*lowering::find_dialect(backend.wants())) {}

  void run() {
    find_makers();
    lowered_.resize(tape_.nodes.size());
    taken_.resize(tape_.nodes.size());
    bool any = false;
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) any |= taken_[n] = is_offered(n) && is_taken(n);
    if (!any) return;
    const Successors after = dependencies();
    group_of_ = join_taken(after, taken_);
    rewrite(order_of_groups(after, group_of_));
  }

 private:
  void log(const std::string& text) const {
    if (is_logged(LogTag::plans)) fmt::print(stderr, "[plans] backend '{}': {}\n", backend_.name(), text);
  }

  // ---- what is offered ----

  void find_makers() {
    makers_.assign(tape_.values.size(), kNone);
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      const TapeNode& node = tape_.nodes[n];
      for (const ValueId r : node.results) {
        const bool is_argument = std::ranges::any_of(node.uses, [&](const TensorUse& use) { return use.value == r; });
        if (r != kNone && makers_[r] == kNone && !is_argument) makers_[r] = n;
      }
    }
  }

  bool lies_in_argument(const TapeNode& node, ValueId r) const {
    return std::ranges::any_of(node.uses,
                               [&](const TensorUse& use) { return tape_.block_of(use.value) == tape_.block_of(r); });
  }
  bool is_view(const TapeNode& node) const {
    return std::ranges::all_of(node.results, [&](ValueId r) { return lies_in_argument(node, r); });
  }

  // Functional and nothing else: no writes, no draws, results that are new tensors, or views, but not both.
  bool is_offered(NodeId n) const {
    const TapeNode& node = tape_.nodes[n];
    if (!node.writes.empty() || node.results.empty() || node.uses.empty() || node.op->has(Trait::random)) return false;
    for (const TensorUse& use : node.uses) {
      if (written_[tape_.block_of(use.value)]) return false;
    }
    size_t views = 0;
    for (const ValueId r : node.results) {
      if (r == kNone || makers_[r] != n || written_[tape_.block_of(r)]) return false;
      if (lies_in_argument(node, r)) {
        ++views;
      } else if (tape_.blocks[tape_.block_of(r)].first != r || overlaps(tape_.twin(r))) {
        return false;
      }
    }
    return views == 0 || views == node.results.size();
  }

  // Elements that share memory: nothing can be written there.
  static bool overlaps(const Tensor& twin) {
    for (int64_t d = 0; d < twin.dim(); ++d) {
      if (twin.sizes()[d] > 1 && twin.strides()[d] == 0) return true;
    }
    return false;
  }

  bool is_taken(NodeId n) {
    lowered_[n] = lowering_.lower(tape_, n);
    if (!lowered_[n].is_whole) return false;
    bool any = false;
    try {
      for (const ir::Node* node : lowered_[n].graph->nodes()) {
        if (!node->op()) continue;
        if (!backend_.takes(*node)) return false;
        any = true;
      }
    } catch (const std::exception& e) {
      log(fmt::format("threw when it was asked for {}, which stays with Sconce: {}", tape_.node_text(n), e.what()));
      return false;
    }
    return any;
  }

  // ---- groups ----

  // Besides values: nodes that touch memory which is written keep their order, and so do those that draw numbers.
  Successors dependencies() const {
    Successors after(tape_.nodes.size());
    std::unordered_map<BlockId, NodeId> touched;
    NodeId drawn = kNone;
    const auto edge = [&](NodeId from, NodeId to) {
      if (from != kNone && from != to && std::ranges::find(after[from], to) == after[from].end())
        after[from].push_back(to);
    };
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      const TapeNode& node = tape_.nodes[n];
      for (const TensorUse& use : node.uses) edge(makers_[use.value], n);
      const auto touch = [&](ValueId v) {
        if (v == kNone || !written_[tape_.block_of(v)]) return;
        const auto [at, is_first] = touched.try_emplace(tape_.block_of(v), n);
        if (!is_first) edge(at->second, n);
        at->second = n;
      };
      for (const TensorUse& use : node.uses) touch(use.value);
      for (const ValueId r : node.results) touch(r);
      if (node.op->has(Trait::random)) {
        edge(drawn, n);
        drawn = n;
      }
    }
    return after;
  }

  void rewrite(const std::vector<uint32_t>& order) {
    std::vector<std::vector<NodeId>> members(tape_.nodes.size());
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) members[group_of_[n]].push_back(n);
    find_users();
    std::vector<TapeNode> nodes;
    for (const NodeId g : order) {
      if (taken_[g] && take_group(members[g], nodes)) continue;
      // Nodes of a group that was declined stand together: it is convex.
      for (const NodeId n : members[g]) nodes.push_back(std::move(tape_.nodes[n]));
    }
    tape_.nodes = std::move(nodes);
    for (TapeBlock& block : tape_.blocks) block.maker = kNone;
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      for (const ValueId r : tape_.nodes[n].results) {
        if (r == kNone) continue;
        TapeBlock& block = tape_.blocks[tape_.block_of(r)];
        if (block.first == r && block.kind == TapeBlock::Kind::made && block.maker == kNone) block.maker = n;
      }
    }
  }

  void find_users() {
    users_.resize(tape_.values.size());
    leaves_.resize(tape_.values.size());
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      for (const TensorUse& use : tape_.nodes[n].uses) users_[use.value].push_back(n);
    }
    for (const ValueId v : tape_.outputs()) leaves_[v] = true;
  }

  // Appends the part and the views of it that others see; false: the backend declines.
  bool take_group(const std::vector<NodeId>& members, std::vector<TapeNode>& nodes) {
    const std::unordered_set<NodeId> inside(members.begin(), members.end());
    std::unordered_set<ValueId> seen;  // values of the part that are needed outside
    std::vector<NodeId> again;         // views, last first
    for (size_t i = members.size(); i-- > 0;) {
      const TapeNode& node = tape_.nodes[members[i]];
      bool is_seen = false;
      for (const ValueId r : node.results) {
        is_seen |= seen.contains(r) || leaves_[r] ||
                   std::ranges::any_of(users_[r], [&](NodeId user) { return !inside.contains(user); });
        if (is_seen && !is_view(node)) seen.insert(r);
      }
      if (!is_seen || !is_view(node)) continue;
      again.push_back(members[i]);
      for (const TensorUse& use : node.uses) seen.insert(use.value);
    }
    TapeNode part;
    if (!make_part(members, seen, part)) return false;
    nodes.push_back(std::move(part));
    for (size_t i = again.size(); i-- > 0;) nodes.push_back(std::move(tape_.nodes[again[i]]));
    return true;
  }

  bool make_part(const std::vector<NodeId>& members, const std::unordered_set<ValueId>& seen, TapeNode& part) {
    auto graph = std::make_shared<ir::Graph>();
    std::unordered_map<ValueId, ir::Value*> values;
    std::vector<ValueId> inputs;
    BackendCall call;
    ir::Node* const end = graph->block()->return_node();
    for (const NodeId n : members) {
      const LoweredNode& lowered = lowered_[n];
      std::vector<ir::Value*> given;
      for (const ValueId v : lowered.inputs) {
        const auto [at, is_new] = values.try_emplace(v);
        if (is_new) {
          at->second = graph->add_input(type_of_twin(tape_.twin(v)));
          inputs.push_back(v);
        }
        given.push_back(at->second);
      }
      const std::vector<ir::Value*> made = lowering::splice(*lowered.graph, given, *end, *end);
      for (size_t i = 0; i < made.size(); ++i) {
        const ValueId r = tape_.nodes[n].results[i];
        values[r] = made[i];
        if (!seen.contains(r) || is_view(tape_.nodes[n])) continue;
        graph->add_output(made[i]);
        part.results.push_back(r);
        call.results.push_back(tape_.node_text(n));
      }
      call.text += "\n    " + tape_.node_text(n);
    }
    if (part.results.empty()) return false;  // views alone
    passes::dead_code(*graph);
    passes::constant_pooling(*graph);
    Subgraph subgraph;
    for (size_t i = inputs.size(); i-- > 0;) {
      if (graph->inputs()[i]->has_uses()) continue;
      graph->block()->remove_input(i);
      inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(i));
    }
    for (const ValueId v : inputs) subgraph.constants.push_back(tape_.is_constant(v) ? tape_.constant(v) : Tensor());
    ir::verify(*graph);
    subgraph.graph = std::move(graph);
    if (!compile(subgraph, call)) return false;
    part.op = &part_operator();
    part.args.resize(inputs.size());
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      part.uses.push_back({i, -1, inputs[i]});
      if (tape_.is_constant(inputs[i])) read_.push_back(tape_.block_of(inputs[i]));
    }
    part.result_sizes.resize(part.results.size(), kNone);
    part.taken = std::make_shared<const BackendCall>(std::move(call));
    return true;
  }

  bool compile(const Subgraph& subgraph, BackendCall& call) const {
    call.backend = backend_.name();
    try {
      call.callable = backend_.compile(subgraph);
      if (!call.callable) log(fmt::format("declines a part of the program:{}", call.text));
    } catch (const std::exception& e) {
      log(fmt::format("threw while it compiled a part of the program, which stays with Sconce: {}{}", e.what(),
                      call.text));
    } catch (...) {
      log(fmt::format("threw while it compiled a part of the program, which stays with Sconce{}", call.text));
    }
    return call.callable != nullptr;
  }

  Tape& tape_;
  GraphBackend& backend_;
  std::vector<BlockId>& read_;
  const std::vector<bool> written_;  // by block
  NodeLowering lowering_;
  std::vector<NodeId> makers_;  // by value; kNone: an input or a constant
  std::vector<LoweredNode> lowered_;
  std::vector<bool> taken_;  // by node
  std::vector<uint32_t> group_of_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> leaves_;  // by value: part of the result
};

}  // namespace

void take_parts(Tape& tape, GraphBackend& backend, std::vector<BlockId>& read) { Offer(tape, backend, read).run(); }

}  // namespace sconce::executor
