#include "sconce/executor/write_back.h"

#include <algorithm>

#include "sconce/dispatch/registry.h"
#include "sconce/executor/functional_tape.h"
#include "sconce/executor/probe.h"

namespace sconce::executor {
namespace {

// Calls f for each value that the node names.
template <class F>
void each_value(TapeNode& node, F&& f) {
  for (TensorUse& use : node.uses) f(use.value);
  for (ValueId& w : node.writes) f(w);
  for (ValueId& r : node.results) {
    if (r != kNone) f(r);
  }
  if (node.pointwise) {
    for (ValueId& v : node.pointwise->inputs) f(v);
  }
}

class Shadows {
 public:
  explicit Shadows(Tape& tape) : tape_(tape) {}

  void run() {
    const std::vector<bool> written = written_blocks(tape_);
    for (BlockId b = 0; b < written.size(); ++b) {
      if (written[b] && tape_.blocks[b].kind != TapeBlock::Kind::made && can_be_copied(b)) copy(b);
    }
    if (copies_.empty()) return;
    for (TapeBlock& block : tape_.blocks) {
      if (block.maker != kNone && block.maker != kHere) block.maker += static_cast<NodeId>(copies_.size());
    }
    for (NodeId n = 0; n < copies_.size(); ++n) tape_.blocks[tape_.block_of(copies_[n].results[0])].maker = n;
    tape_.nodes.insert(tape_.nodes.begin(), std::make_move_iterator(copies_.begin()),
                       std::make_move_iterator(copies_.end()));
  }

 private:
  static constexpr NodeId kHere = kNone - 1;  // the maker is a copy, whose number is not known yet

  bool can_be_copied(BlockId b) const {
    const ValueId root = tape_.blocks[b].first;
    const Tensor& twin = tape_.twin(root);
    if (!twin.is_dense() || std::find(tape_.read.begin(), tape_.read.end(), b) != tape_.read.end()) return false;
    for (const TapeValue& v : tape_.values) {
      if (v.block == b && (v.offset < 0 || v.offset + extent_of(v.twin) > extent_of(twin))) return false;
    }
    const std::vector<ValueId> outputs = tape_.outputs();
    return std::all_of(outputs.begin(), outputs.end(), [&](ValueId v) { return v == root || tape_.block_of(v) != b; });
  }

  void copy(BlockId b) {
    static const Op* const clone = find_op("aten::clone");
    const ValueId root = tape_.blocks[b].first;
    TapeNode node;
    node.op = clone;
    node.args = {Value(), Value()};
    node.uses = {{0, -1, root}};
    node.result_sizes = {kNone};
    std::vector<Value> results;
    if (!probe(tape_, node, results) || !same_geometry(results[0].to_tensor(), tape_.twin(root))) return;
    const auto block = static_cast<BlockId>(tape_.blocks.size());
    std::vector<ValueId> inside(tape_.values.size(), kNone);  // by value
    const auto copy_of = [&](ValueId v) {
      if (inside[v] == kNone) {
        inside[v] = static_cast<ValueId>(tape_.values.size());
        TapeValue made = tape_.values[v];
        made.block = block;
        tape_.values.push_back(std::move(made));
      }
      return inside[v];
    };
    const ValueId first = copy_of(root);
    tape_.blocks.push_back({TapeBlock::Kind::made, first, kHere, {}});
    for (TapeNode& n : tape_.nodes) {
      each_value(n, [&](ValueId& v) {
        if (v < inside.size() && tape_.block_of(v) == b) v = copy_of(v);
      });
    }
    node.results = {first};
    WriteBack back{root, first, block, {}};
    for (ValueId v = 0; v < inside.size(); ++v) {
      if (inside[v] != kNone) back.copies.emplace_back(v, inside[v]);
    }
    tape_.write_backs.push_back(std::move(back));
    copies_.push_back(std::move(node));
  }

  Tape& tape_;
  std::vector<TapeNode> copies_;
};

// What may be read where it lies: a constant would be taken for one that stays as it is, and packed.
bool may_read_original(const Tape& tape, const WriteBack& back, const TapeNode& node) {
  return tape.blocks[tape.block_of(back.outside)].kind == TapeBlock::Kind::input || node.pointwise;
}

}  // namespace

int64_t extent_of(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return (last + 1) * static_cast<int64_t>(t.item_size());
}

void shadow_writes(Tape& tape) {
  if (tape.device.type == DeviceType::cpu) Shadows(tape).run();
}

void read_unwritten_originals(Tape& tape) {
  if (tape.write_backs.empty()) return;
  const std::vector<bool> written = written_blocks(tape);
  for (const WriteBack& back : tape.write_backs) {
    if (written[back.shadow]) continue;
    const auto is_copy = [&](ValueId v) { return v != kNone && tape.block_of(v) == back.shadow; };
    const NodeId maker = tape.blocks[back.shadow].maker;
    bool fits = true;
    for (NodeId n = 0; n < tape.nodes.size(); ++n) {
      const TapeNode& node = tape.nodes[n];
      const bool reads =
          std::any_of(node.uses.begin(), node.uses.end(), [&](const TensorUse& u) { return is_copy(u.value); });
      fits = fits && (!reads || n == maker || may_read_original(tape, back, node));
    }
    for (const ValueId v : tape.outputs()) fits = fits && !is_copy(v);
    for (NodeId n = 0; fits && n < tape.nodes.size(); ++n) {
      if (n == maker) continue;
      each_value(tape.nodes[n], [&](ValueId& v) {
        for (const auto& [outside, inside] : back.copies) {
          if (v == inside && is_copy(v)) {
            v = outside;
            return;
          }
        }
      });
    }
  }
}

bool has_large_shadow(const Tape& tape) {
  constexpr int64_t kLarge = int64_t{1} << 18;
  const std::vector<bool> written = written_blocks(tape);
  return std::any_of(tape.write_backs.begin(), tape.write_backs.end(), [&](const WriteBack& back) {
    return written[back.shadow] && extent_of(tape.twin(back.outside)) > kLarge;
  });
}

bool are_apart(const Tape& tape, const std::vector<Tensor>& tensors) {
  for (const WriteBack& back : tape.write_backs) {
    const Tensor& written = tensors[back.outside];
    const auto* begin = static_cast<const char*>(written.data());
    for (const TapeBlock& block : tape.blocks) {
      if (block.kind == TapeBlock::Kind::made || block.first == back.outside) continue;
      const Tensor& other = tensors[block.first];
      const auto* at = static_cast<const char*>(other.data());
      const bool overlaps = at < begin + extent_of(written) && begin < at + extent_of(other);
      if (overlaps || other.storage() == written.storage()) return false;
    }
  }
  return true;
}

}  // namespace sconce::executor
