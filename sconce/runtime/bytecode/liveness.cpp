#include "sconce/runtime/bytecode/liveness.h"

namespace sconce::runtime {
namespace {

constexpr int kDeepest = 500;  // blocks within blocks

bool has(const std::vector<uint64_t>& bits, uint32_t i) { return bits[i / 64] >> (i % 64) & 1; }
void add(std::vector<uint64_t>& bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
void remove(std::vector<uint64_t>& bits, uint32_t i) { bits[i / 64] &= ~(uint64_t{1} << (i % 64)); }

bool is_constant(const ir::Value* v) { return v->node()->is(ir::kind::Constant); }
bool is_alias(const ir::Node* n) { return n->is(ir::kind::unchecked_cast) && root(n->output()) != n->output(); }

}  // namespace

RegisterClass class_of(TypePtr type) {
  switch (plain_type(type)->kind()) {
    case TypeKind::int_:
      return RegisterClass::int_;
    case TypeKind::float_:
      return RegisterClass::float_;
    case TypeKind::bool_:
      return RegisterClass::bool_;
    default:
      return RegisterClass::value;
  }
}

uint8_t tag_of(RegisterClass c) {
  switch (c) {
    case RegisterClass::int_:
      return static_cast<uint8_t>(Tag::integer);
    case RegisterClass::float_:
      return static_cast<uint8_t>(Tag::real);
    case RegisterClass::bool_:
      return static_cast<uint8_t>(Tag::boolean);
    case RegisterClass::value:
    case RegisterClass::borrowed:
      break;
  }
  return 0;
}

const ir::Value* root(const ir::Value* v) {
  while (v->node()->is(ir::kind::unchecked_cast) && class_of(v->type()) == class_of(v->node()->input()->type())) {
    v = v->node()->input();
  }
  return v;
}

Liveness::Liveness(const ir::Graph& graph, const Deferred& deferred) : deferred_(deferred) {
  scan(graph.block(), 0);
  Bits live((by_id_.size() + 63) / 64 + 1);
  walk(graph.block(), live);
}

const Liveness::Values& Liveness::find(const Table& table, const void* key) {
  static const Values none;
  const auto found = table.find(key);
  return found == table.end() ? none : found->second;
}

// Numbers every value, so that sets of them are bits.
void Liveness::scan(const ir::Block* block, int depth) {
  SCONCE_CHECK(depth < kDeepest, "blocks are nested more than {} deep", kDeepest);
  const auto note = [&](const ir::Value* v) {
    if (v->id() >= by_id_.size()) by_id_.resize(v->id() + size_t{1});
    by_id_[v->id()] = v;
  };
  for (const ir::Value* v : block->inputs()) note(v);
  for (const ir::Node* n : block->nodes()) {
    for (const ir::Value* v : n->outputs()) note(v);
    for (const ir::Block* b : n->blocks()) scan(b, depth + 1);
  }
}

void Liveness::use(const ir::Node* node, const ir::Value* v, Bits& live) {
  const ir::Value* r = root(v);
  if (is_constant(r)) return;
  if (deferred_.contains(r->node())) {
    for (const ir::Value* input : r->node()->inputs()) use(node, input, live);
    return;
  }
  if (has(live, r->id())) return;
  add(live, r->id());
  deaths_[node].push_back(r);
}

void Liveness::use_inputs(const ir::Node* node, Bits& live) {
  for (const ir::Value* v : node->inputs()) use(node, v, live);
}

void Liveness::define_outputs(const ir::Node* node, Bits& live, Table& dead) {
  for (const ir::Value* v : node->outputs()) {
    if (has(live, v->id()))
      remove(live, v->id());
    else
      dead[node].push_back(v);
  }
}

// From the values that are live behind the block to those that are live before it.
void Liveness::walk(const ir::Block* block, Bits& live) {
  use_inputs(block->return_node(), live);
  for (const ir::Node* n = block->last(); n != block->param_node(); n = n->prev()) {
    if (n->is(ir::kind::Constant) || deferred_.contains(n) || is_alias(n)) continue;
    if (n->is(ir::kind::If)) {
      walk_if(n, live);
    } else if (n->is(ir::kind::Loop)) {
      walk_loop(n, live);
    } else {
      define_outputs(n, live, deaths_);
      use_inputs(n, live);
    }
  }
  for (const ir::Value* v : block->inputs()) {
    if (has(live, v->id()))
      remove(live, v->id());
    else
      dead_at_entry_[block].push_back(v);
  }
}

void Liveness::walk_if(const ir::Node* node, Bits& live) {
  define_outputs(node, live, ends_);
  const Bits after = live;
  Bits in[2] = {after, after};
  walk(node->block_at(0), in[0]);
  walk(node->block_at(1), in[1]);
  for (size_t w = 0; w < live.size(); ++w) {
    live[w] = in[0][w] | in[1][w];
    for (uint64_t rest = live[w]; rest; rest &= rest - 1) {
      const uint32_t id = static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(rest));
      if (!has(in[0], id)) dead_at_entry_[node->block_at(0)].push_back(by_id_[id]);
      if (!has(in[1], id)) dead_at_entry_[node->block_at(1)].push_back(by_id_[id]);
      if (!has(after, id)) ends_[node].push_back(by_id_[id]);
    }
  }
  use_inputs(node, live);
}

// Values from outside that an iteration uses must outlive all iterations.
void Liveness::walk_loop(const ir::Node* node, Bits& live) {
  define_outputs(node, live, ends_);
  const ir::Block* body = node->block_at(0);
  Bits defined(live.size()), used(live.size());
  outer_uses(body, defined, used);
  for (size_t w = 0; w < live.size(); ++w) {
    for (uint64_t rest = used[w] & ~live[w]; rest; rest &= rest - 1) {
      ends_[node].push_back(by_id_[64 * w + static_cast<size_t>(std::countr_zero(rest))]);
    }
    live[w] |= used[w];
  }
  Bits inside = live;
  walk(body, inside);
  use_inputs(node, live);
}

void Liveness::outer_use(const ir::Value* v, const Bits& defined, Bits& used) const {
  const ir::Value* r = root(v);
  if (is_constant(r)) return;
  if (deferred_.contains(r->node())) {
    for (const ir::Value* input : r->node()->inputs()) outer_use(input, defined, used);
  } else if (!has(defined, r->id())) {
    add(used, r->id());
  }
}

void Liveness::outer_uses(const ir::Block* block, Bits& defined, Bits& used) const {
  for (const ir::Value* v : block->inputs()) add(defined, v->id());
  for (const ir::Node* n : block->nodes()) {
    if (n->is(ir::kind::Constant) || deferred_.contains(n) || is_alias(n)) continue;
    for (const ir::Value* v : n->inputs()) outer_use(v, defined, used);
    for (const ir::Block* b : n->blocks()) outer_uses(b, defined, used);
    for (const ir::Value* v : n->outputs()) add(defined, v->id());
  }
  for (const ir::Value* v : block->outputs()) outer_use(v, defined, used);
}

}  // namespace sconce::runtime
