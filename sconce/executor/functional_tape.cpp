#include "sconce/executor/functional_tape.h"

#include <algorithm>

#include "sconce/dispatch/entry.h"
#include "sconce/executor/probe.h"

namespace sconce::executor {
namespace {

bool same_place(const TapeValue& a, const TapeValue& b) {
  return a.block == b.block && a.offset == b.offset && same_geometry(a.twin, b.twin);
}

class Functionalizer {
 public:
  explicit Functionalizer(Tape& tape) : tape_(tape), makers_(tape.values.size(), kNone) {
    for (NodeId n = 0; n < tape.nodes.size(); ++n) {
      for (const ValueId r : tape.nodes[n].results) {
        if (r != kNone && makers_[r] == kNone) makers_[r] = n;
      }
    }
    for (const ValueId v : tape.inputs) makers_[v] = kNone;
  }

  void run() {
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      if (!tape_.nodes[n].writes.empty()) rewrite(n);
    }
  }

 private:
  bool made_before(ValueId v, NodeId n) const { return makers_[v] == kNone || makers_[v] <= n; }

  // Whether memory of x's block is seen behind node n in another way than as x.
  bool is_seen_otherwise(const TapeValue& x, NodeId n) const {
    const auto other = [&](ValueId v) {
      const TapeValue& value = tape_.values[v];
      return value.block == x.block && made_before(v, n) && !same_place(value, x);
    };
    for (NodeId m = n + 1; m < tape_.nodes.size(); ++m) {
      for (const TensorUse& use : tape_.nodes[m].uses) {
        if (other(use.value)) return true;
      }
    }
    const std::vector<ValueId> outputs = tape_.outputs();
    return std::any_of(outputs.begin(), outputs.end(), other);
  }

  void rewrite(NodeId n) {
    TapeNode& node = tape_.nodes[n];
    const Op* twin = functional_twin(*node.op);
    if (!twin || !node.op->has(Trait::inplace) || node.writes.size() != 1 || node.results.size() != 1 ||
        node.results[0] != node.writes[0] || twin->schema().arguments.size() != node.args.size() ||
        twin->schema().returns.size() != 1 || twin->has(Trait::view))
      return;
    const ValueId x = node.writes[0];
    const TapeValue before = tape_.values[x];
    if (tape_.blocks[before.block].kind != TapeBlock::Kind::made || is_seen_otherwise(before, n)) return;
    TapeNode functional;
    functional.op = twin;
    functional.site = node.site;
    functional.args = node.args;
    functional.uses = node.uses;
    functional.result_sizes = node.result_sizes;
    std::vector<Value> results;
    if (twin->has(Trait::random) || !probe(tape_, functional, results) || !results[0].is_tensor() ||
        !same_geometry(results[0].to_tensor(), before.twin))
      return;
    // The new value, in memory of its own.
    const auto after = static_cast<ValueId>(tape_.values.size());
    const auto block = static_cast<BlockId>(tape_.blocks.size());
    tape_.values.push_back({before.twin, block, 0, before.device});
    tape_.blocks.push_back({TapeBlock::Kind::made, after, n, {}});
    makers_.push_back(n);
    functional.results = {after};
    node = std::move(functional);
    // What was made of x later lies there, and what saw x sees the new one.
    for (ValueId v = 0; v < after; ++v) {
      TapeValue& value = tape_.values[v];
      if (value.block != before.block || made_before(v, n)) continue;
      value.block = block;
      value.offset -= before.offset;
    }
    const auto renamed = [&](ValueId& v) {
      if (made_before(v, n) && v != after && same_place(tape_.values[v], before)) v = after;
    };
    for (NodeId m = n + 1; m < tape_.nodes.size(); ++m) {
      TapeNode& later = tape_.nodes[m];
      for (TensorUse& use : later.uses) renamed(use.value);
      for (ValueId& w : later.writes) renamed(w);
      for (ValueId& r : later.results) {
        if (r != kNone) renamed(r);
      }
      if (later.pointwise) {
        for (ValueId& v : later.pointwise->inputs) renamed(v);
      }
    }
    tape_.each_output(renamed);
  }

  Tape& tape_;
  std::vector<NodeId> makers_;  // by value; kNone: an input or a constant
};

}  // namespace

void functionalize(Tape& tape) { Functionalizer(tape).run(); }

void eliminate_dead_nodes(Tape& tape) {
  std::vector<bool> live(tape.blocks.size());
  for (BlockId b = 0; b < live.size(); ++b) live[b] = tape.blocks[b].kind != TapeBlock::Kind::made;
  std::vector<bool> used(tape.values.size());
  for (const ValueId v : tape.outputs()) live[tape.block_of(v)] = used[v] = true;
  const auto made_here = [&](ValueId v) { return tape.blocks[tape.block_of(v)].kind == TapeBlock::Kind::made; };
  std::vector<bool> stays(tape.nodes.size());
  for (size_t n = tape.nodes.size(); n-- > 0;) {
    const TapeNode& node = tape.nodes[n];
    // Views of what comes from outside are needed where somebody reads them.
    stays[n] =
        node.op->has(Trait::random) ||
        std::any_of(node.results.begin(), node.results.end(),
                    [&](ValueId r) { return r != kNone && (live[tape.block_of(r)] && (used[r] || made_here(r))); }) ||
        std::any_of(node.writes.begin(), node.writes.end(), [&](ValueId w) { return live[tape.block_of(w)]; });
    if (!stays[n]) continue;
    for (const TensorUse& use : node.uses) live[tape.block_of(use.value)] = used[use.value] = true;
  }
  if (std::find(stays.begin(), stays.end(), false) == stays.end()) return;
  std::vector<TapeNode> kept;
  kept.reserve(tape.nodes.size());
  std::vector<NodeId> numbers(tape.nodes.size(), kNone);
  for (size_t n = 0; n < tape.nodes.size(); ++n) {
    if (!stays[n]) continue;
    numbers[n] = static_cast<NodeId>(kept.size());
    kept.push_back(std::move(tape.nodes[n]));
  }
  tape.nodes = std::move(kept);
  for (TapeBlock& block : tape.blocks) {
    if (block.maker != kNone) block.maker = numbers[block.maker];
  }
}

std::vector<bool> written_blocks(const Tape& tape) {
  std::vector<bool> written(tape.blocks.size());
  for (const TapeNode& node : tape.nodes) {
    for (const ValueId w : node.writes) written[tape.block_of(w)] = true;
  }
  return written;
}

}  // namespace sconce::executor
