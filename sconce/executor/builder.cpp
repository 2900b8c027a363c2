// From a tape to a plan: roles of nodes, fusion, steps, memory.
#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/base/variants/variants.h"
#include "sconce/codegen/device_maker.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/arena.h"
#include "sconce/executor/backends/backend_step.h"
#include "sconce/executor/channel_norms.h"
#include "sconce/executor/device/device_attention.h"
#include "sconce/executor/device/device_calls.h"
#include "sconce/executor/device/device_copies.h"
#include "sconce/executor/device/device_products.h"
#include "sconce/executor/device/plan_graph.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/functional_tape.h"
#include "sconce/executor/layouts.h"
#include "sconce/executor/probe.h"
#include "sconce/executor/steps.h"
#include "sconce/executor/tails.h"
#include "sconce/executor/write_back.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"
#include "sconce/loops/fuse.h"
#include "sconce/tensor/memory/poison.h"
#include "sconce/tensor/memory/write_count.h"

namespace sconce::executor {

namespace {
SCONCE_VARIANT(with_tail, "plan.tail", "pointwise operators behind a product or convolution, done with its results");
SCONCE_VARIANT(folded_scale, "plan.tail.scale", "a norm's scale and shift, done by the product");
SCONCE_VARIANT(folded_sum, "plan.tail.residual", "a sum with a tensor of the result's geometry, done by the product");
SCONCE_VARIANT(folded_relu, "plan.tail.relu", "relu, done by the product");
SCONCE_VARIANT(tail_kernel, "plan.tail.kernel", "a tail that the product does not know: a nest over its blocks");
SCONCE_VARIANT(written_residual, "plan.tail.in_place", "a residual that the result is written over");
SCONCE_VARIANT(shared_memory, "plan.overwrites", "results over operands that nobody reads later");
SCONCE_VARIANT(part_of_large, "plan.large_write", "a write to a part of a large tensor that was given: no plan");
}  // namespace

class Builder {
 public:
  // `read`: blocks of constants whose elements were read while the tape was prepared.
  Builder(Plan& plan, std::vector<BlockId> read, bool gives_back)
      : plan_(plan), tape_(plan.tape_), read_constants_(std::move(read)), gives_back_(gives_back) {}

  // False: it cannot be planned, and `why` says why.
  bool build(std::string& why) {
    const std::vector<bool> written = written_blocks(tape_);
    for (BlockId b = 0; b < tape_.blocks.size(); ++b) {
      if (written[b] && tape_.blocks[b].kind != TapeBlock::Kind::made) {
        why = "writes to a tensor that it was given";
        return false;
      }
    }
    written_ = written;
    if (tape_.device.type != DeviceType::cpu) {
      device_ = codegen::find_device_maker(tape_.device.type);
      if (!device_) {
        why = "there are no plans for device " + to_string(tape_.device);
        return false;
      }
    }
    find_users();
    choose_roles();
    attach_tails();
    schedule();
    lay_out_memory();
    keep_constants();
    if (device_) {
      plan_.is_ready_.store(false);
      plan_.graph_ = PlanGraph::make(plan_);
    }
    return true;
  }

 private:
  // backend: a part that a backend compiled; inside: of another node's tail
  enum class Role : uint8_t { call, view, pointwise, prepared, rearrange, backend, inside };

  // A step with what it does to values.
  struct Emitted {
    std::unique_ptr<Step> step;
    std::vector<ValueId> reads, writes;                // as memory
    std::vector<ValueId> tensor_reads, tensor_writes;  // as tensors
    // What it may write over what it reads: element by element, each one behind its last read.
    struct Overwrite {
      ValueId read, written;
    };
    std::vector<Overwrite> overwrites;
    double work = 0;
    std::vector<NodeId> nodes;
    std::unique_ptr<ProductChain> chain;   // of a device; its step is made when no more can join
    ValueId weight = kNone;                // of its last product
    std::vector<PieceCopy> copies;         // of a device, likewise
    std::optional<loops::BuiltNest> rows;  // of a device: a product may make them itself
  };

  void find_users() {
    users_.resize(tape_.values.size());
    leaves_.resize(tape_.values.size());
    leaving_blocks_.resize(tape_.blocks.size());
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      for (const TensorUse& use : tape_.nodes[n].uses) {
        if (users_[use.value].empty() || users_[use.value].back() != n) users_[use.value].push_back(n);
      }
    }
    for (const ValueId v : tape_.outputs()) {
      leaves_[v] = true;
      leaving_blocks_[tape_.block_of(v)] = true;
    }
  }

  bool touches_written(const TapeNode& node) const {
    const auto is_written = [&](ValueId v) { return v != kNone && written_[tape_.block_of(v)]; };
    return std::any_of(node.results.begin(), node.results.end(), is_written) ||
           std::any_of(node.uses.begin(), node.uses.end(), [&](const TensorUse& use) { return is_written(use.value); });
  }

  // Whether all results lie in memory that was there before.
  bool is_view(NodeId n) const {
    const TapeNode& node = tape_.nodes[n];
    if (!node.writes.empty() || node.uses.empty()) return false;
    return std::all_of(node.results.begin(), node.results.end(), [&](ValueId r) {
      return r != kNone && std::any_of(node.uses.begin(), node.uses.end(), [&](const TensorUse& use) {
               return tape_.block_of(use.value) == tape_.block_of(r);
             });
    });
  }

  void choose_roles() {
    roles_.resize(tape_.nodes.size(), Role::call);
    loop_calls_.resize(tape_.nodes.size());
    prepared_.resize(tape_.nodes.size());
    packed_.resize(tape_.blocks.size());
    std::vector<bool> wanted(tape_.values.size());  // views that leave are made by their operator, and so on up
    for (const ValueId v : tape_.outputs()) wanted[v] = true;
    for (size_t i = tape_.nodes.size(); i-- > 0;) {
      const auto n = static_cast<NodeId>(i);
      TapeNode& node = tape_.nodes[n];
      if (node.taken) {
        roles_[n] = Role::backend;
        continue;
      }
      if (is_view(n)) {
        const bool leaves = std::any_of(node.results.begin(), node.results.end(), [&](ValueId r) { return wanted[r]; });
        if (leaves) {
          for (const TensorUse& use : node.uses) wanted[use.value] = true;
        } else {
          roles_[n] = Role::view;
        }
        continue;
      }
      if (touches_written(node) || !node.writes.empty()) continue;
      if (device_) {
        loop_calls_[n] = device_loop_call(tape_, node, *device_, users_, leaves_);
        if (loop_calls_[n]) {
          roles_[n] = Role::pointwise;
        } else if (auto product = DeviceProduct::make(tape_, node, *device_)) {
          roles_[n] = Role::prepared;
          prepared_[n] = std::move(product);
        } else if (!pieces_of(tape_, node).empty()) {
          roles_[n] = Role::rearrange;
        }
        continue;
      }
      if (node.rearranges) {
        roles_[n] = Role::rearrange;
        continue;
      }
      if (node.pointwise) {
        auto call = std::make_unique<loops::LoopCall>(
            loops::make_call(*node.op, *node.pointwise->loops, node.pointwise->common, node.pointwise->result));
        for (const Param& p : node.pointwise->params) call->params.push_back(p);
        if (!loops::fusible(*call)) continue;
        roles_[n] = Role::pointwise;
        loop_calls_[n] = std::move(call);
        continue;
      }
      prepare(n);
    }
  }

  void prepare(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    const OpEntry* entry = node.op->info.entry;
    if (!entry || !entry->prepare || node.results.size() != 1 || node.results[0] == kNone) return;
    const std::vector<Value> args = arguments_with(node, [&](ValueId v) { return tape_.twin(v); });
    std::vector<Tensor> constants(args.size());
    for (const TensorUse& use : node.uses) {
      if (use.item < 0 && tape_.is_constant(use.value)) constants[use.arg] = tape_.constant(use.value);
    }
    prepared_[n].reset(entry->prepare({*node.op, args, constants, tape_.twin(node.results[0])}));
    if (!prepared_[n]) return;
    roles_[n] = Role::prepared;
    for (const uint32_t arg : prepared_[n]->constants_read()) {
      for (const TensorUse& use : node.uses) {
        if (use.arg != arg) continue;
        const BlockId b = tape_.block_of(use.value);
        read_constants_.push_back(b);
        packed_[b] = true;
        // One by one, so that not all of them are there twice at any time.
        if (gives_back_) plan_.given_back_ += give_back_original(tape_.blocks[b].constant);
      }
    }
  }

  void attach_tails() {
    tails_.resize(tape_.nodes.size());
    taken_.resize(tape_.nodes.size());
    views_.resize(tape_.nodes.size());
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) views_[n] = roles_[n] == Role::view;
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      if (roles_[n] != Role::prepared) continue;
      const TailQuery query{tape_, n, *prepared_[n], users_, leaves_, loop_calls_, taken_, views_};
      tails_[n] = find_tail(query);
      for (const std::vector<NodeId>* part : {&tails_[n].nodes, &tails_[n].views}) {
        for (const NodeId inside : *part) {
          roles_[inside] = Role::inside;
          taken_[inside] = true;
        }
      }
    }
  }

  Place place_of(ValueId v) const { return {tape_.block_of(v), tape_.values[v].offset}; }

  // ---- steps ----

  // By node: which one runs there; kNone: none. A prepared call runs where the last node of its tail stands: what the
  // tail reads is there then.
  std::vector<NodeId> running_nodes() const {
    std::vector<NodeId> runs_as(tape_.nodes.size(), kNone);
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      if (roles_[n] == Role::inside) continue;
      runs_as[tails_[n].nodes.empty() ? n : tails_[n].nodes.back()] = n;
    }
    return runs_as;
  }

  loops::FuseGraph graph_of(std::vector<NodeId>& nodes) {
    loops::FuseGraph graph;
    for (const TapeValue& v : tape_.values)
      graph.values.push_back({v.twin.dtype(), Dims(v.twin.sizes()), Dims(v.twin.strides())});
    for (const NodeId n : running_nodes()) {
      if (n == kNone) continue;
      const TapeNode& node = tape_.nodes[n];
      loops::GraphNode made;
      const auto reads = [&](ValueId v) {
        if (std::find(made.inputs.begin(), made.inputs.end(), static_cast<int32_t>(v)) == made.inputs.end())
          made.inputs.push_back(static_cast<int32_t>(v));
      };
      if (roles_[n] == Role::pointwise) {
        made.call = loop_calls_[n].get();
        for (const ValueId v : node.pointwise->inputs) made.inputs.push_back(static_cast<int32_t>(v));
        made.outputs.push_back(static_cast<int32_t>(node.results[0]));
        made.visible = leaves_[node.results[0]];
      } else {
        for (const TensorUse& use : node.uses) reads(use.value);
        for (const NodeId inside : tails_[n].nodes) {
          for (const ValueId v : tape_.nodes[inside].pointwise->inputs) {
            if (!is_made_inside(n, v)) reads(v);
          }
        }
        if (tails_[n].nodes.empty()) {
          for (const ValueId r : node.results) {
            if (r != kNone) made.outputs.push_back(static_cast<int32_t>(r));
          }
        } else {
          made.outputs.push_back(static_cast<int32_t>(tails_[n].result));
        }
      }
      graph.nodes.push_back(std::move(made));
      nodes.push_back(n);
    }
    return graph;
  }

  bool is_made_inside(NodeId n, ValueId given) const {
    const ValueId v = tails_[n].root(given);
    if (v == tape_.nodes[n].results[0]) return true;
    return std::any_of(tails_[n].nodes.begin(), tails_[n].nodes.end(),
                       [&](NodeId m) { return tape_.nodes[m].results[0] == v; });
  }

  void schedule() {
    emitted_.reserve(tape_.nodes.size());
    // Without loops of their own there is nothing to fuse, and steps keep their order.
    if (std::none_of(roles_.begin(), roles_.end(), [](Role r) { return r == Role::pointwise; })) {
      for (const NodeId n : running_nodes()) {
        if (n != kNone) emit(n);
      }
      return finish_device_steps();
    }
    std::vector<NodeId> nodes;
    const loops::FuseGraph graph = graph_of(nodes);
    const std::vector<loops::Group> groups = device_ ? loops::fuse(graph, *device_->machine) : loops::fuse(graph);
    if (is_logged(LogTag::fusion)) {
      for (const loops::Group& g : groups) {
        if (!g.why.empty()) fmt::print(stderr, "[fusion] {} nodes: {}\n", g.nodes.size(), g.why);
      }
    }
    const loops::NestBuilder nests(graph, groups);
    for (size_t g = 0; g < groups.size(); ++g) {
      const auto first = nodes[static_cast<size_t>(groups[g].nodes.front())];
      if (roles_[first] != Role::pointwise)
        emit(first);
      else if (device_ && groups[g].nodes.size() == 1)
        emit_alone(nests, g, groups[g], nodes);
      else
        emit_nest(nests.build(g), groups[g], nodes);
    }
    finish_device_steps();
  }

  // On a device a pointwise operator that is alone runs by eager's kernel, which is there already, and so does a row
  // operator whose rows are not one behind the other.
  void emit_alone(const loops::NestBuilder& nests, size_t number, const loops::Group& group,
                  const std::vector<NodeId>& nodes) {
    const NodeId n = nodes[static_cast<size_t>(group.nodes.front())];
    if (!loop_calls_[n]->is_row()) return emit_call(n);
    std::optional<loops::BuiltNest> built;
    try {
      built = nests.build(number);
      loops::check(built->nest);
    } catch (const Error&) {
      return emit_call(n);
    }
    emit_nest(*built, group, nodes);
  }

  // Copies of the step before, if none of them is read here, are made at once with these.
  void emit_copies(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    std::vector<PieceCopy> pieces = pieces_of(tape_, node);
    Emitted e;
    const auto reads = [&](ValueId written) {
      return std::any_of(node.uses.begin(), node.uses.end(),
                         [&](const TensorUse& use) { return tape_.block_of(use.value) == tape_.block_of(written); });
    };
    if (!emitted_.empty() && !emitted_.back().copies.empty() &&
        emitted_.back().copies.size() + pieces.size() <= kMostPieces &&
        std::none_of(emitted_.back().writes.begin(), emitted_.back().writes.end(), reads)) {
      e = std::move(emitted_.back());
      emitted_.pop_back();
    }
    for (const TensorUse& use : node.uses) e.reads.push_back(use.value);
    e.writes.push_back(node.results[0]);
    e.nodes.push_back(n);
    e.copies.insert(e.copies.end(), pieces.begin(), pieces.end());
    emitted_.push_back(std::move(e));
  }

  void emit(NodeId n) {
    switch (roles_[n]) {
      case Role::prepared:
        return device_ ? emit_product(n) : emit_prepared(n);
      case Role::call:
        return emit_call(n);
      case Role::rearrange:
        return device_ ? emit_copies(n) : emit_rearrange(n);
      case Role::backend:
        return emit_backend(n);
      case Role::pointwise:
      case Role::view:
      case Role::inside:
        return;
    }
  }

  // ---- products of devices ----

  // Whether the only thing that reads the memory of `v` is node n.
  bool is_only_read_by(NodeId n, ValueId v) const {
    const BlockId block = tape_.block_of(v);
    if (leaving_blocks_[block]) return false;
    for (NodeId m = 0; m < tape_.nodes.size(); ++m) {
      if (m == n || roles_[m] == Role::view || roles_[m] == Role::inside) continue;
      for (const TensorUse& use : tape_.nodes[m].uses) {
        if (tape_.block_of(use.value) == block) return false;
      }
      for (const NodeId inside : tails_[m].nodes) {
        for (const ValueId read : tape_.nodes[inside].pointwise->inputs) {
          if (tape_.block_of(read) == block && !is_made_inside(m, read)) return false;
        }
      }
    }
    return true;
  }

  // A small product of what the step before it made, and nobody else reads, becomes part of that step.
  void emit_product(NodeId n) {
    const auto& product = static_cast<const DeviceProduct&>(*prepared_[n]);
    ProductChain chain =
        chain_of(product, {tape_, n, *prepared_[n], users_, leaves_, loop_calls_, taken_, views_}, tails_[n]);
    std::vector<NodeId> nodes = {n};
    nodes.insert(nodes.end(), tails_[n].nodes.begin(), tails_[n].nodes.end());
    if (!emitted_.empty() && emitted_.back().chain) {
      const Emitted& before = emitted_.back();
      const TapeValue &made = tape_.values[before.chain->result], &x = tape_.values[product.x];
      ProductChain both = joined(*before.chain, chain);
      const bool is_same_memory = made.block == x.block && made.offset == x.offset &&
                                  made.twin.numel() == x.twin.numel() && x.twin.is_contiguous();
      const bool is_read_later =
          std::find(chain.values.begin() + 1, chain.values.end(), before.chain->result) != chain.values.end();
      // Kernels of chains read weights by packs.
      const auto is_packed = [&](ValueId weight) {
        return tape_.is_constant(weight) && reinterpret_cast<uintptr_t>(tape_.constant(weight).data()) % 16 == 0;
      };
      if (is_same_memory && !is_read_later && is_packed(before.weight) && is_packed(product.weight) &&
          is_only_read_by(n, before.chain->result) && device_->is_chain(both.products)) {
        chain = std::move(both);
        nodes.insert(nodes.begin(), before.nodes.begin(), before.nodes.end());
        emitted_.pop_back();
      }
    }
    if (chain.products.size() == 1) take_head(n, product, chain, nodes);
    Emitted e;
    e.reads.assign(chain.values.begin(), chain.values.end() - 1);
    e.writes.push_back(chain.result);
    e.nodes = std::move(nodes);
    for (const codegen::ProductNest& p : chain.products) e.work += static_cast<double>(p.rows * p.columns * p.depth);
    e.chain = std::make_unique<ProductChain>(std::move(chain));
    e.weight = product.weight;
    emitted_.push_back(std::move(e));
  }

  // Rows that nobody else reads are made by the product itself.
  void take_head(NodeId n, const DeviceProduct& product, ProductChain& chain, std::vector<NodeId>& nodes) {
    const TapeValue& x = tape_.values[product.x];
    const auto makes = [&](const Emitted& e) {
      if (!e.rows || e.writes.size() != 1) return false;
      const TapeValue& made = tape_.values[e.writes[0]];
      return made.block == x.block && made.offset == x.offset && made.twin.numel() == x.twin.numel() &&
             x.twin.is_contiguous() && made.twin.is_contiguous();
    };
    const auto found = std::find_if(emitted_.begin(), emitted_.end(), makes);
    const auto reads_x = [&](ValueId v) { return tape_.block_of(v) == x.block; };
    if (found == emitted_.end() || std::any_of(chain.values.begin() + 1, chain.values.end(), reads_x) ||
        !is_only_read_by(n, product.x) || !device_->is_head(found->rows->nest, chain.products[0]))
      return;
    chain = with_head(chain, *found->rows);
    nodes.insert(nodes.begin(), found->nodes.begin(), found->nodes.end());
    emitted_.erase(found);
  }

  // Whether only these nodes read the memory of `v`.
  bool is_only_read_within(const std::vector<NodeId>& nodes, ValueId v) const {
    const BlockId block = tape_.block_of(v);
    if (leaving_blocks_[block]) return false;
    for (NodeId m = 0; m < tape_.nodes.size(); ++m) {
      if (roles_[m] == Role::view || std::find(nodes.begin(), nodes.end(), m) != nodes.end()) continue;
      for (const TensorUse& use : tape_.nodes[m].uses) {
        if (tape_.block_of(use.value) == block) return false;
      }
    }
    return true;
  }

  // Attention over one query: two products and the rows between them, which only they read, become one step.
  void join_attention() {
    static const Op* const bmm = find_op("aten::bmm");
    const auto product_at = [&](const Emitted& e) -> const TapeNode* {
      const bool is_call = e.step && e.nodes.size() == 1 && roles_[e.nodes[0]] == Role::call;
      return is_call && tape_.nodes[e.nodes[0]].op == bmm ? &tape_.nodes[e.nodes[0]] : nullptr;
    };
    for (size_t r = 0; r < emitted_.size(); ++r) {
      const Emitted& rows = emitted_[r];
      if (!rows.rows || rows.writes.size() != 1) continue;
      size_t before = kNone, behind = kNone;
      for (size_t i = 0; i < emitted_.size(); ++i) {
        const TapeNode* product = product_at(emitted_[i]);
        if (!product) continue;
        const BlockId made = tape_.block_of(product->results[0]);
        const auto reads = [&](ValueId v) { return tape_.block_of(v) == made; };
        if (i < r && std::any_of(rows.reads.begin(), rows.reads.end(), reads)) before = i;
        if (i > r && tape_.block_of(product->uses[0].value) == tape_.block_of(rows.writes[0])) behind = i;
      }
      if (before == kNone || behind == kNone) continue;
      const TapeNode &scores = *product_at(emitted_[before]), &product = *product_at(emitted_[behind]);
      if (!is_only_read_within(rows.nodes, scores.results[0]) ||
          !is_only_read_within(emitted_[behind].nodes, rows.writes[0]))
        continue;
      std::optional<DeviceAttention> found = attention_of(tape_, scores, *rows.rows, product, *device_);
      if (!found) continue;
      const size_t cache = find_cache(*found, before, r, behind);
      Emitted e;
      e.writes.push_back(product.results[0]);
      if (cache != kNone) e.writes.insert(e.writes.end(), emitted_[cache].writes.begin(), emitted_[cache].writes.end());
      for (const ValueId v : found->values) {
        if (std::find(e.writes.begin(), e.writes.end(), v) == e.writes.end()) e.reads.push_back(v);
      }
      for (const size_t part : {cache, before, r, behind}) {
        if (part != kNone) e.nodes.insert(e.nodes.end(), emitted_[part].nodes.begin(), emitted_[part].nodes.end());
      }
      std::vector<Place> places;
      for (const ValueId v : found->values) places.push_back(place_of(v));
      e.step =
          std::make_unique<ProductStep>(device_->make_attention(found->nest, tape_.device), std::move(places),
                                        fmt::format("attention {} x {} of {}{}", found->nest.batches, found->nest.depth,
                                                    found->nest.keys, cache == kNone ? "" : ", whose cache grows"));
      emitted_[behind] = std::move(e);
      std::vector<size_t> gone = {before, r};
      if (cache != kNone) gone.push_back(cache);
      std::sort(gone.begin(), gone.end(), std::greater<>());
      for (const size_t at : gone) emitted_.erase(emitted_.begin() + static_cast<ptrdiff_t>(at));
      r = gone.back() - 1;  // wraps around at the first, and back with the next step
    }
  }

  // The step of copies that makes keys and values of a cache and what is new, and nothing else, which only attention
  // reads before it is done; kNone: there is none. `found` is the attention with it.
  size_t find_cache(DeviceAttention& found, size_t before, size_t rows, size_t behind) const {
    const BlockId of_key = tape_.block_of(found.values[1]), of_value = tape_.block_of(found.values.end()[-2]);
    for (size_t i = 0; i < behind; ++i) {
      const Emitted& copies = emitted_[i];
      if (copies.copies.empty() || copies.nodes.size() != 2) continue;
      const TapeNode *key = &tape_.nodes[copies.nodes[0]], *value = &tape_.nodes[copies.nodes[1]];
      if (tape_.block_of(key->results[0]) == of_value) std::swap(key, value);
      if (tape_.block_of(key->results[0]) != of_key || tape_.block_of(value->results[0]) != of_value) continue;
      const auto is_cache = [&](ValueId v) { return tape_.block_of(v) == of_key || tape_.block_of(v) == of_value; };
      bool is_read = false;
      for (size_t k = i + 1; k < behind; ++k) {
        if (k == before || k == rows) continue;
        const Emitted& e = emitted_[k];
        is_read |= std::any_of(e.reads.begin(), e.reads.end(), is_cache) ||
                   std::any_of(e.tensor_reads.begin(), e.tensor_reads.end(), is_cache);
      }
      std::optional<DeviceAttention> grown = with_cache(tape_, found, *key, *value, *device_);
      if (is_read || !grown) return kNone;
      found = *grown;
      return i;
    }
    return kNone;
  }

  void finish_device_steps() {
    if (device_) join_attention();
    for (Emitted& e : emitted_) {
      if (e.rows) {
        std::vector<Place> places;
        for (const int32_t v : e.rows->values) places.push_back(place_of(static_cast<ValueId>(v)));
        e.step = std::make_unique<NestStep>(device_->make(e.rows->nest, tape_.device), e.rows->nest, std::move(places));
      }
      if (!e.copies.empty()) e.step = std::make_unique<CopiesStep>(*device_, tape_.device, std::move(e.copies));
      if (!e.chain) continue;
      std::vector<Place> places;
      for (const ValueId v : e.chain->values) places.push_back(place_of(v));
      e.step = std::make_unique<ProductStep>(device_->make_products(e.chain->products, tape_.device), std::move(places),
                                             e.chain->text());
    }
  }

  void emit_call(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    Emitted e;
    for (const TensorUse& use : node.uses) e.tensor_reads.push_back(use.value);
    for (const ValueId r : node.results) {
      if (r != kNone) e.tensor_writes.push_back(r);
    }
    e.step = std::make_unique<CallStep>(node, tape_, plan_.frame_args_.size());
    e.nodes.push_back(n);
    plan_.frame_args_.push_back(n);
    emitted_.push_back(std::move(e));
  }

  // It is given tensors, also over the memory that it writes.
  void emit_backend(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    Emitted e;
    for (const TensorUse& use : node.uses) e.tensor_reads.push_back(use.value);
    e.writes.assign(node.results.begin(), node.results.end());
    e.tensor_reads.insert(e.tensor_reads.end(), node.results.begin(), node.results.end());
    e.step = std::make_unique<BackendStep>(node, tape_);
    emitted_.push_back(std::move(e));
  }

  void emit_rearrange(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    const ValueId from = node.uses[0].value, to = node.results[0];
    Emitted e;
    e.reads.push_back(from);
    e.writes.push_back(to);
    e.step = std::make_unique<RearrangeStep>(tape_.twin(from), tape_.twin(to), place_of(from), place_of(to));
    emitted_.push_back(std::move(e));
  }

  void emit_nest(const loops::BuiltNest& built, const loops::Group& group, const std::vector<NodeId>& nodes) {
    Emitted e;
    std::vector<Place> places;
    for (size_t i = 0; i < built.values.size(); ++i) {
      const auto v = static_cast<ValueId>(built.values[i]);
      (built.nest.buffers[i].written ? e.writes : e.reads).push_back(v);
      places.push_back(place_of(v));
    }
    find_overwrites(built, e);
    for (const int32_t member : group.nodes) e.nodes.push_back(nodes[static_cast<size_t>(member)]);
    const auto is_row = [](const loops::LoopCall& call) { return call.is_row(); };
    if (device_ && std::any_of(built.nest.calls.begin(), built.nest.calls.end(), is_row)) {
      e.rows = built;
      emitted_.push_back(std::move(e));
      return;
    }
    e.step = std::make_unique<NestStep>(device_ ? device_->make(built.nest, tape_.device) : codegen::make(built.nest),
                                        built.nest, std::move(places));
    emitted_.push_back(std::move(e));
  }

  // Pairs of buffers that the nest walks in the same way. Memory that it also reads in another way is not overwritten.
  void find_overwrites(const loops::BuiltNest& built, Emitted& e) const {
    const auto& buffers = built.nest.buffers;
    const auto block = [&](size_t i) { return tape_.block_of(static_cast<ValueId>(built.values[i])); };
    for (size_t w = 0; w < buffers.size(); ++w) {
      for (size_t r = 0; buffers[w].written && r < buffers.size(); ++r) {
        const auto is_alike = [&](size_t i) {
          return !buffers[i].written && buffers[i].dtype == buffers[w].dtype &&
                 buffers[i].strides == buffers[w].strides && built.values[i] == built.values[r];
        };
        bool alone = true;
        for (size_t i = 0; i < buffers.size(); ++i) alone = alone && (block(i) != block(r) || is_alike(i));
        if (alone)
          e.overwrites.push_back({static_cast<ValueId>(built.values[r]), static_cast<ValueId>(built.values[w])});
      }
    }
  }

  void emit_prepared(NodeId n) {
    const TapeNode& node = tape_.nodes[n];
    const TailNodes& tail = tails_[n];
    Emitted e;
    std::vector<Place> args(node.args.size());
    for (const TensorUse& use : node.uses) {
      if (use.item >= 0) continue;
      args[use.arg] = place_of(use.value);
      e.reads.push_back(use.value);
    }
    Tail folded;
    const ValueId result = tail.nodes.empty() ? node.results[0] : tail.result;
    if (with_tail(!tail.nodes.empty())) {
      const TailQuery query{tape_, n, *prepared_[n], users_, leaves_, loop_calls_, taken_, views_};
      fold(query, tails_[n], folded, e);
      if (tail_kernel(tail.folded != tail.nodes.size())) {
        const TailNest built = build_tail(query, tail);
        folded.kernel = codegen::make(built.nest);
        folded.nest = built.nest;
        for (size_t i = 0; i < built.values.size(); ++i) {
          // What the call gives is written where the tail's result will be.
          const ValueId v = i == 0 ? tail.result : built.values[i];
          folded.buffers.push_back(place_of(v));
          if (!built.nest.buffers[i].written && i != 0) e.reads.push_back(v);
        }
      }
    }
    if (folded.residual.exists() && written_residual(prepared_[n]->may_overwrite_residual())) {
      const auto is_residual = [&](ValueId v) { return tape_.block_of(v) == folded.residual.block; };
      const auto residual = std::find_if(e.reads.begin(), e.reads.end(), is_residual);
      if (std::count_if(e.reads.begin(), e.reads.end(), is_residual) == 1) e.overwrites.push_back({*residual, result});
    }
    e.writes.push_back(result);
    e.work = multiplications(n);
    e.nodes.push_back(n);
    e.nodes.insert(e.nodes.end(), tail.nodes.begin(), tail.nodes.end());
    e.step = std::make_unique<PreparedStep>(prepared_[n], args, place_of(result), std::move(folded));
    emitted_.push_back(std::move(e));
  }

  // Of a prepared call: each element of its weight, the constant with most of them, is used once a row.
  double multiplications(NodeId n) const {
    double most = 0;
    for (const TensorUse& use : tape_.nodes[n].uses) {
      if (tape_.is_constant(use.value)) most = std::max(most, static_cast<double>(tape_.twin(use.value).numel()));
    }
    return most * static_cast<double>(prepared_[n]->rows());
  }

  // The beginning of a tail that the kernels of products know themselves: a batch norm, a sum with a tensor of the same
  // geometry, relu.
  void fold(const TailQuery& query, TailNodes& tail, Tail& folded, Emitted& e) const {
    static const Op* const addcmul = find_op("aten::addcmul");
    static const Op* const add = find_op("aten::add.Tensor");
    static const Op* const relu = find_op("aten::relu");
    ValueId at = tape_.nodes[query.node].results[0];
    const DType dtype = tape_.twin(at).dtype();
    size_t next = 0;
    const auto node_at = [&](const Op* op) -> const TapeNode* {
      if (next == tail.nodes.size() || tape_.nodes[tail.nodes[next]].op != op) return nullptr;
      return &tape_.nodes[tail.nodes[next]];
    };
    const auto take = [&](const TapeNode& node) {
      at = node.results[0];
      ++next;
    };
    Tail found;
    std::vector<ValueId> reads;
    if (const TapeNode* node = node_at(addcmul)) {
      const std::vector<ValueId>& in = node->pointwise->inputs;  // shift, what is scaled, scale
      const auto is_row = [&](ValueId v) {
        return tape_.twin(v).dtype() == dtype && is_row_operand(query, tail.nodes[next], v);
      };
      if (tail.root(in[1]) == at && is_row(in[0]) && is_row(in[2]) && is_one(node->args[3])) {
        found.shift = place_of(in[0]);
        found.scale = place_of(in[2]);
        reads.insert(reads.end(), {in[0], in[2]});
        take(*node);
      }
    }
    if (const TapeNode* node = node_at(add)) {
      const std::vector<ValueId>& in = node->pointwise->inputs;
      const ValueId other = tail.root(in[0]) == at ? in[1] : in[0];
      if (tail.root(other) != at && !is_made_inside(query.node, other) && is_one(node->args[2]) &&
          same_geometry(tape_.twin(other), tape_.twin(node->results[0]))) {
        found.residual = place_of(other);
        found.residual_stride = query.call.row_stride();
        reads.push_back(other);
        take(*node);
      }
    }
    if (const TapeNode* node = node_at(relu)) {
      found.lo = 0;
      take(*node);
    }
    // What follows may read what is folded by its last value alone.
    for (size_t i = next; i < tail.nodes.size(); ++i) {
      for (const ValueId v : tape_.nodes[tail.nodes[i]].pointwise->inputs) {
        const ValueId root = tail.root(v);
        const bool is_later = std::any_of(tail.nodes.begin() + static_cast<ptrdiff_t>(next), tail.nodes.end(),
                                          [&](NodeId m) { return tape_.nodes[m].results[0] == root; });
        if (is_made_inside(query.node, v) && root != at && !is_later) return;
      }
    }
    tail.folded = next;
    folded_scale(found.scale.exists());
    folded_sum(found.residual.exists());
    folded_relu(found.lo == 0);
    tail.folded_result = at;
    folded = std::move(found);
    e.reads.insert(e.reads.end(), reads.begin(), reads.end());
  }
  static bool is_one(const Value& v) { return v.is_number() && !v.is_complex() && v.to_scalar().equals(1); }

  // ---- memory ----

  static constexpr uint32_t kForEver = ~0u;

  void lay_out_memory() {
    const size_t blocks = tape_.blocks.size();
    std::vector<uint32_t> first_write(blocks, kForEver), last_use(blocks, 0);
    std::vector<bool> raw(blocks), used(blocks);
    const auto use = [&](ValueId v, uint32_t step) {
      const BlockId b = tape_.block_of(v);
      used[b] = true;
      last_use[b] = std::max(last_use[b], step);
    };
    for (uint32_t s = 0; s < emitted_.size(); ++s) {
      const Emitted& e = emitted_[s];
      for (const ValueId v : e.reads) use(v, s);
      for (const ValueId v : e.tensor_reads) use(v, s);
      for (const ValueId v : e.tensor_writes) use(v, s);
      for (const ValueId v : e.writes) {
        use(v, s);
        raw[tape_.block_of(v)] = true;
        first_write[tape_.block_of(v)] = std::min(first_write[tape_.block_of(v)], s);
      }
    }
    for (const ValueId v : tape_.outputs()) last_use[tape_.block_of(v)] = kForEver;

    std::vector<bool> in_arena(blocks);
    for (BlockId b = 0; b < blocks; ++b) in_arena[b] = raw[b] && !leaving_blocks_[b];
    std::vector<BlockId> alone(blocks);
    for (BlockId b = 0; b < blocks; ++b) alone[b] = b;
    std::vector<int64_t> together_offsets;
    const size_t bytes = place_blocks(in_arena, first_write, last_use, alone, plan_.arena_offsets_);
    const size_t together = place_blocks(in_arena, first_write, last_use,
                                         overwritten_blocks(in_arena, first_write, last_use), together_offsets);
    plan_.arena_bytes_ = std::min(bytes, together);
    if (shared_memory(together < bytes)) plan_.arena_offsets_ = std::move(together_offsets);
    for (BlockId b = 0; poisons() && b < blocks; ++b) {
      if (!in_arena[b]) continue;
      const size_t used_bytes = bytes_of(tape_.twin(tape_.blocks[b].first));
      const size_t end = static_cast<size_t>(plan_.arena_offsets_[b]) + to_lines(std::max<size_t>(used_bytes, 1));
      plan_.arena_gaps_.push_back({end, kGap, used_bytes});
    }

    // Tensors: who makes them, who takes them away.
    std::vector<bool> there(tape_.values.size()), standing(tape_.values.size());
    for (const ValueId v : tape_.inputs) there[v] = true;
    std::vector<std::vector<ValueId>> of_block(blocks);  // tensors that go with the block
    plan_.steps_.resize(emitted_.size());
    for (uint32_t s = 0; s < emitted_.size(); ++s) {
      Emitted& e = emitted_[s];
      Scheduled& out = plan_.steps_[s];
      for (const ValueId v : e.writes) {
        if (!leaving_blocks_[tape_.block_of(v)]) continue;
        out.allocates.push_back(v);
        there[v] = true;
        of_block[tape_.block_of(v)].push_back(v);
      }
      for (const ValueId v : e.tensor_reads) {
        if (there[v] || standing[v]) continue;
        const BlockId b = tape_.block_of(v);
        const TapeBlock& block = tape_.blocks[b];
        if (block.kind == TapeBlock::Kind::constant || plan_.arena_offsets_[b] >= 0) {
          standing[v] = true;
          if (block.kind != TapeBlock::Kind::constant || block.first != v) plan_.standing_.push_back(v);
        } else {
          SCONCE_ASSERT(v != block.first);
          out.views.push_back(v);
          there[v] = true;
          of_block[b].push_back(v);
        }
      }
      for (const ValueId v : e.tensor_writes) {
        if (!there[v]) of_block[tape_.block_of(v)].push_back(v);
        there[v] = true;
      }
      out.step = std::move(e.step);
      out.work = e.work;
      out.nodes = std::move(e.nodes);
    }
    for (BlockId b = 0; b < blocks; ++b) {
      const TapeBlock& block = tape_.blocks[b];
      if (last_use[b] != kForEver && !of_block[b].empty()) {
        auto& releases = plan_.steps_[last_use[b]].releases;
        releases.insert(releases.end(), of_block[b].begin(), of_block[b].end());
      } else {
        plan_.leaving_.insert(plan_.leaving_.end(), of_block[b].begin(), of_block[b].end());
      }
      static_cast<void>(block);
    }
    for (Scheduled& s : plan_.steps_) s.is_plain = s.allocates.empty() && s.views.empty() && s.releases.empty();
    if (!plan_.is_on_device()) plan_.step_threads_ = std::make_unique<StepThreads>(plan_.steps_.size());
  }

  // By block: the first of those that have one memory, one behind the other. A block that dies in a step hands its
  // memory on to one that the step writes in its place.
  std::vector<BlockId> overwritten_blocks(const std::vector<bool>& in_arena, const std::vector<uint32_t>& first_write,
                                          const std::vector<uint32_t>& last_use) const {
    std::vector<BlockId> roots(in_arena.size());
    for (BlockId b = 0; b < roots.size(); ++b) roots[b] = b;
    std::vector<bool> handed_on(roots.size());
    for (uint32_t s = 0; s < emitted_.size(); ++s) {
      for (const auto& [read, written] : emitted_[s].overwrites) {
        const BlockId from = tape_.block_of(read), to = tape_.block_of(written);
        if (!in_arena[from] || !in_arena[to] || handed_on[from] || roots[to] != to || last_use[from] != s ||
            first_write[to] != s || tape_.blocks[from].first != read || tape_.blocks[to].first != written ||
            !same_geometry(tape_.twin(read), tape_.twin(written)))
          continue;
        handed_on[from] = true;
        roots[to] = roots[from];
      }
    }
    return roots;
  }

  // Offsets of the blocks, those with the same root at the same place; gives the bytes of the arena.
  size_t place_blocks(const std::vector<bool>& in_arena, const std::vector<uint32_t>& first_write,
                      const std::vector<uint32_t>& last_use, const std::vector<BlockId>& roots,
                      std::vector<int64_t>& offsets) const {
    std::vector<Lifetime> lifetimes;
    std::vector<size_t> number(in_arena.size());  // of a root's lifetime
    for (BlockId b = 0; b < in_arena.size(); ++b) {
      if (!in_arena[b] || roots[b] != b) continue;
      number[b] = lifetimes.size();
      const size_t bytes = bytes_of(tape_.twin(tape_.blocks[b].first));
      lifetimes.push_back({std::max<size_t>(bytes, 1), first_write[b], last_use[b], 0});
    }
    for (BlockId b = 0; b < in_arena.size(); ++b) {
      if (!in_arena[b]) continue;
      uint32_t& last = lifetimes[number[roots[b]]].last;
      last = std::max(last, last_use[b]);
    }
    const size_t bytes = poisons() ? lay_out_apart(lifetimes) : lay_out(lifetimes);
    offsets.assign(in_arena.size(), -1);
    for (BlockId b = 0; b < in_arena.size(); ++b) {
      if (in_arena[b]) offsets[b] = lifetimes[number[roots[b]]].offset;
    }
    return bytes;
  }

  bool poisons() const { return memory_poison() && !plan_.is_on_device(); }

  // Of poisoned memory: no two buffers share memory, whenever they live, and a gap is behind each.
  static constexpr size_t kGap = 128;
  static size_t to_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static size_t lay_out_apart(std::span<Lifetime> buffers) {
    size_t total = 0;
    for (Lifetime& b : buffers) {
      b.offset = static_cast<int64_t>(total);
      total += to_lines(b.bytes) + kGap;
    }
    return total;
  }

  static size_t bytes_of(const Tensor& twin) {
    int64_t last = 0;
    if (twin.numel() == 0) return 0;
    for (int64_t d = 0; d < twin.dim(); ++d) last += (twin.sizes()[d] - 1) * twin.strides()[d];
    return static_cast<size_t>(last + 1) * twin.item_size();
  }

  void keep_constants() {
    for (BlockId b = 0; b < tape_.blocks.size(); ++b) {
      const TapeBlock& block = tape_.blocks[b];
      if (block.kind != TapeBlock::Kind::constant) continue;
      const bool is_read = std::find(read_constants_.begin(), read_constants_.end(), b) != read_constants_.end();
      plan_.constants_.push_back({block.constant, tape_.twin(block.first), block.constant.data(),
                                  write_count(block.constant), is_read, packed_[b]});
    }
  }

  Plan& plan_;
  Tape& tape_;
  std::vector<BlockId> read_constants_;
  bool gives_back_;
  const codegen::DeviceMaker* device_ = nullptr;  // null: the CPU
  std::vector<bool> packed_;                      // by block: a constant that a prepared call has in its own form
  std::vector<bool> written_;                     // by block: a node writes to it
  std::vector<Numbers> users_;
  std::vector<bool> leaves_, leaving_blocks_;
  std::vector<Role> roles_;
  std::vector<std::unique_ptr<loops::LoopCall>> loop_calls_;
  std::vector<std::shared_ptr<const PreparedCall>> prepared_;
  std::vector<TailNodes> tails_;
  std::vector<bool> taken_, views_;  // nodes of tails; those that only show memory
  std::vector<Emitted> emitted_;
};

std::unique_ptr<Plan> make_plan(Tape tape, Guards guards, std::string& why, const PlanSettings& settings) {
  std::vector<BlockId> read = tape.read;
  shadow_writes(tape);
  functionalize(tape);
  read_unwritten_originals(tape);
  eliminate_dead_nodes(tape);
  if (part_of_large(has_large_shadow(tape))) {
    why = "writes to a part of a large tensor that it was given";
    return nullptr;
  }
  std::optional<PackLater> later;
  if (settings.packs_later && !settings.gives_back) later.emplace();
  if (tape.device.type == DeviceType::cpu) {
    if (settings.backend) take_parts(tape, *settings.backend, read);
    expand_channel_norms(tape, read);
    assign_layouts(tape);
  } else if (codegen::find_device_maker(tape.device.type)) {
    expand_channel_norms(tape, read);
  }
  auto plan = std::make_unique<Plan>(std::move(tape), std::move(guards));
  if (!Builder(*plan, std::move(read), settings.gives_back).build(why)) return nullptr;
  if (plan->device().type == DeviceType::cpu) plan->find_dense();
  return plan;
}

}  // namespace sconce::executor
