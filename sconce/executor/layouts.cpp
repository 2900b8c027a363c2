#include "sconce/executor/layouts.h"

#include <functional>
#include <memory>
#include <unordered_map>

#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/prepare.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/functional_tape.h"
#include "sconce/executor/probe.h"
#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/tensor/strides.h"

namespace sconce::executor {
namespace {

SCONCE_VARIANT(program_image, "plan.layouts.image", "a convolution that reads the program's own planar image");
SCONCE_VARIANT(prepared, "plan.layouts.prepared",
               "a convolution that the builder prepares, not one with a spread bias");
SCONCE_VARIANT(followed, "plan.layouts.follow", "an operator that takes over the layout of its argument");
SCONCE_VARIANT(same_place, "plan.layouts.same_memory", "both layouts put every element at one place: no copy");

bool is_image(const Tensor& t) { return t.dim() == 4 || t.dim() == 5; }

Tensor channels_last_twin(const Tensor& t) {
  Tensor twin = empty_tensor(t.sizes(), t.dtype(), Device{DeviceType::meta},
                             t.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
  return twin;
}

// Whether two geometries of one size put every element at the same place.
bool same_memory(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.sizes()[d] != 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

class Assignment {
 public:
  explicit Assignment(Tape& tape) : tape_(tape), written_(written_blocks(tape)), before_(tape.values) {}

  void run() {
    std::vector<TapeNode> before = std::move(tape_.nodes);
    tape_.nodes.clear();
    for (TapeNode& node : before) place(std::move(node));
    tape_.each_output([&](ValueId& v) { v = seen_as(v, false); });
  }

 private:
  bool is_moved(ValueId v) const { return original_.count(v) != 0; }

  // The value as the program has it, or with channels innermost; rearranged if it lies otherwise.
  ValueId seen_as(ValueId v, bool channels_last) {
    const Tensor wanted = channels_last ? channels_last_twin(tape_.twin(v)) : is_moved(v) ? original_.at(v) : Tensor();
    if (!wanted.defined() || same_geometry(tape_.twin(v), wanted)) return v;
    auto& known = channels_last ? as_channels_last_ : as_original_;
    if (const auto found = known.find(v); found != known.end()) return found->second;
    const TapeValue from = tape_.values[v];
    const auto made = static_cast<ValueId>(tape_.values.size());
    if (same_place(same_memory(from.twin, wanted))) {
      tape_.values.push_back({wanted, from.block, from.offset});
    } else {
      const auto block = static_cast<BlockId>(tape_.blocks.size());
      tape_.values.push_back({wanted, block, 0});
      tape_.blocks.push_back({TapeBlock::Kind::made, made, static_cast<NodeId>(tape_.nodes.size()), {}});
    }
    static const Op* const clone = find_op("aten::clone");
    TapeNode node;
    node.op = clone;
    node.args = {Value(), Value(channels_last ? MemoryFormat::channels_last : MemoryFormat::contiguous)};
    node.uses = {{0, -1, v}};
    node.result_sizes = {kNone};
    node.results = {made};
    node.rearranges = true;
    tape_.nodes.push_back(std::move(node));
    known[v] = made;
    return made;
  }

  // Memory that is written in place has tensors that must stay together: nothing of it is moved.
  bool is_written(ValueId v) const { return written_.size() > tape_.block_of(v) && written_[tape_.block_of(v)]; }

  // Results that are views lie where the tensor that they are views of lies now.
  void follow_views(const TapeNode& node, ValueId was, ValueId now) {
    const TapeValue &old = before_[was], &base = tape_.values[now];
    for (const ValueId r : node.results) {
      if (r == kNone || r == was || r >= before_.size() || before_[r].block != old.block) continue;
      tape_.values[r].block = base.block;
      tape_.values[r].offset = before_[r].offset - old.offset + base.offset;
    }
  }

  void set_uses(TapeNode& node, const std::function<ValueId(ValueId)>& f) {
    for (TensorUse& use : node.uses) {
      const ValueId now = f(use.value);
      if (use.value < before_.size()) follow_views(node, use.value, now);
      for (ValueId& w : node.writes) {
        if (w == use.value) w = now;
      }
      for (ValueId& r : node.results) {
        if (r == use.value) r = now;
      }
      if (node.pointwise) {
        for (ValueId& v : node.pointwise->inputs) {
          if (v == use.value) v = now;
        }
      }
      use.value = now;
    }
  }

  void append(TapeNode node) {
    const auto n = static_cast<NodeId>(tape_.nodes.size());
    for (const ValueId r : node.results) {
      if (r == kNone) continue;
      TapeBlock& block = tape_.blocks[tape_.block_of(r)];
      if (block.first == r) block.maker = n;
    }
    tape_.nodes.push_back(std::move(node));
  }

  // The result lies in memory as `twin` says from now on.
  void move(ValueId v, const Tensor& twin) {
    if (same_geometry(tape_.twin(v), twin)) return;
    original_.emplace(v, tape_.twin(v));
    tape_.values[v].twin = twin;
  }

  bool is_convolution(const TapeNode& node) const {
    static const Op* const convolution = find_op("aten::convolution");
    if (node.op != convolution || node.results.size() != 1) return false;
    const Tensor &input = tape_.twin(node.uses[0].value), &result = tape_.twin(node.results[0]);
    return is_image(input) && tape_.is_constant(node.uses[1].value) && result.numel() > 0 &&
           !is_written(node.uses[0].value) && !is_written(node.results[0]) &&
           (input.dtype() == DType::float32 || input.dtype() == DType::float64);
  }

  // The first layer of a network: what it is prepared to reads the program's own image.
  bool reads_where_it_lies(const TapeNode& node) const {
    const ValueId input = node.uses[0].value;
    return !is_moved(input) && (node.uses.size() < 3 || tape_.twin(node.uses[2].value).is_contiguous()) &&
           reads_planes(tape_.twin(input), tape_.twin(node.uses[1].value), node.args);
  }

  // Whether the builder will prepare the convolution: what is called writes the layout that its operator chooses.
  bool is_prepared(const TapeNode& node) const {
    const OpEntry* entry = node.op->info.entry;
    if (!entry || !entry->prepare) return false;
    const ValueId input = node.uses[0].value;
    const bool lies = reads_where_it_lies(node);
    const std::vector<Value> args = arguments_with(
        node, [&](ValueId v) { return v == input && !lies ? channels_last_twin(tape_.twin(v)) : tape_.twin(v); });
    std::vector<Tensor> constants(args.size());
    for (const TensorUse& use : node.uses) {
      if (use.item < 0 && tape_.is_constant(use.value)) constants[use.arg] = tape_.constant(use.value);
    }
    const Tensor result = channels_last_twin(tape_.twin(node.results[0]));
    return std::unique_ptr<PreparedCall>(entry->prepare({*node.op, args, constants, result})) != nullptr;
  }

  void place(TapeNode node) {
    const bool convolves = is_convolution(node);
    if (convolves && prepared(is_prepared(node))) {
      if (!program_image(reads_where_it_lies(node))) node.uses[0].value = seen_as(node.uses[0].value, true);
      move(node.results[0], channels_last_twin(tape_.twin(node.results[0])));
      return append(std::move(node));
    }
    bool moved = false;
    for (const TensorUse& use : node.uses) moved |= is_moved(use.value);
    if ((moved || convolves) && followed(follow(node, convolves))) return append(std::move(node));
    set_uses(node, [&](ValueId v) { return seen_as(v, false); });
    append(std::move(node));
  }

  // Lets the node work on the layout of its arguments, if its bits do not depend on that (`free`: they do not).
  bool follow(TapeNode& node, bool free) {
    if (!node.writes.empty() || !(free || node.pointwise || node.op->has(Trait::layout_free)) || node.results.empty())
      return false;
    for (const TensorUse& use : node.uses) {
      if (is_written(use.value)) return false;
    }
    for (const ValueId r : node.results) {
      if (r != kNone && is_written(r)) return false;
    }
    if (node.results[0] == kNone || !is_image(tape_.twin(node.results[0]))) {
      if (node.pointwise) return false;
    }
    // Operands of full size get the same layout, so that loops run along memory.
    auto uses = node.uses;
    TapeNode tried;
    tried.op = node.op;
    tried.site = node.site;
    tried.args = node.args;
    tried.result_sizes = node.result_sizes;
    for (TensorUse& use : uses) {
      const Tensor& t = tape_.twin(use.value);
      const bool full = is_image(t) && t.numel() > 1 &&
                        (node.results[0] == kNone || t.numel() * 4 > tape_.twin(node.results[0]).numel());
      if (full && !tape_.is_constant(use.value)) use.value = seen_as(use.value, true);
    }
    tried.uses = uses;
    std::vector<Value> results;
    if (!probe(tape_, tried, results)) return false;
    if (node.pointwise && !tried.pointwise) return false;
    std::vector<Tensor> found;
    for (size_t i = 0, at = 0; i < results.size(); ++i) {
      if (!results[i].is_tensor() && !results[i].is_none()) return false;
      if (results[i].is_tensor()) {
        const ValueId r = node.results[at];
        if (r == kNone || tape_.twin(r).sizes() != results[i].to_tensor().sizes() ||
            tape_.blocks[tape_.block_of(r)].first != r)
          return false;
      }
      found.push_back(results[i].to_optional_tensor());
      ++at;
    }
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].defined()) move(node.results[i], found[i]);
    }
    tried.results = node.results;
    node = std::move(tried);
    return true;
  }

  Tape& tape_;
  const std::vector<bool> written_;               // by block
  const std::vector<TapeValue> before_;           // by value
  std::unordered_map<ValueId, Tensor> original_;  // geometry in the program of values that lie otherwise
  std::unordered_map<ValueId, ValueId> as_original_, as_channels_last_;
};

}  // namespace

void assign_layouts(Tape& tape) {
  static const Op* const convolution = find_op("aten::convolution");
  for (const TapeNode& node : tape.nodes) {
    if (node.op == convolution) return Assignment(tape).run();
  }
}

}  // namespace sconce::executor
