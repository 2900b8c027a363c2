#include "sconce/ir/alias.h"

#include <algorithm>

#include "sconce/ir/effects.h"

namespace sconce::ir {

// Goes through the graph once and writes down what each node does to places.
class AliasFacts::Builder {
 public:
  Builder(AliasFacts& facts, const AttributeKey& key) : facts_(facts), places_(*facts.places_), key_(key) {}

  void run(const Graph& graph) {
    for (const Value* v : graph.inputs()) {
      if (const auto to = variable(v)) places_.add_outside(*to);
    }
    add_block(*graph.block());
    places_.solve();
    for (const Write& w : writes_) {
      const PlaceSet& places = w.deep ? places_.reach(w.variable) : places_.points_to(w.variable);
      // Seen from outside, a node writes what nodes inside it write.
      for (const Node* n = w.node; n; n = n->block()->owner()) merge(facts_.written_[n], places);
    }
    for (const Node* n : write_anything_) {
      for (; n; n = n->block()->owner()) merge(facts_.written_[n], {Places::kAnything});
    }
    PlaceSet& all = facts_.all_written_;
    for (const auto& [node, places] : facts_.written_) all.insert(all.end(), places.begin(), places.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const Value* v : graph.outputs()) {
      if (const auto from = variable(v)) merge(facts_.returned_, places_.reach(*from));
    }
  }

 private:
  using Variable = Places::Variable;
  struct Write {
    const Node* node;
    Variable variable;
    bool deep;  // also what can be reached
  };

  static void merge(PlaceSet& set, const PlaceSet& others) {
    PlaceSet all;
    std::set_union(set.begin(), set.end(), others.begin(), others.end(), std::back_inserter(all));
    set = std::move(all);
  }

  std::optional<Variable> variable(const Value* v) {
    if (!is_mutable(v->type())) return std::nullopt;
    const auto [at, is_new] = facts_.variables_.try_emplace(v, 0);
    if (is_new) at->second = places_.add_variable(v->type());
    return at->second;
  }
  void copy(const Value* to, const Value* from) {
    const auto a = variable(to), b = variable(from);
    if (a && b) places_.add_copy(*a, *b);
  }
  void add_write(const Node& node, const Value* v, bool deep) {
    if (const auto w = variable(v)) writes_.push_back({&node, *w, deep});
  }
  template <class F>
  void for_outputs(const Node& node, F&& f) {
    for (const Value* v : node.outputs()) {
      if (const auto to = variable(v)) f(*to);
    }
  }
  template <class F>
  void for_inputs(const Node& node, F&& f) {
    for (const Value* v : node.inputs()) {
      if (const auto from = variable(v)) f(*from);
    }
  }

  void add_block(const Block& block) {
    for (const Node* n : block.nodes()) add_node(*n);
  }

  void add_node(const Node& node) {
    switch (node.kind().id()) {
      case kind::Constant_id:
        for_outputs(node, [&](Variable to) {
          const bool is_object = node.output()->type()->is(TypeKind::class_);
          is_object ? places_.add_outside(to) : places_.add_new(to);
        });
        return;
      case kind::If_id:
        for (const Block* block : node.blocks()) {
          add_block(*block);
          for (size_t i = 0; i < node.outputs().size(); ++i) copy(node.output(i), block->outputs().at(i));
        }
        return;
      case kind::Loop_id:
        return add_loop(node);
      case kind::ListConstruct_id:
      case kind::DictConstruct_id:
      case kind::TupleConstruct_id:
      case kind::TupleSlice_id:
        for_outputs(node, [&](Variable to) {
          places_.add_new_container(to);
          for_inputs(node, [&](Variable from) {
            node.is(kind::TupleSlice) ? places_.add_store_reach(to, from) : places_.add_store(to, from);
          });
        });
        return;
      case kind::ListUnpack_id:
      case kind::TupleUnpack_id:
      case kind::TupleIndex_id:
        for_outputs(node, [&](Variable to) { for_inputs(node, [&](Variable from) { places_.add_load(to, from); }); });
        return;
      case kind::GetAttr_id:
        if (key_ && add_keyed(node)) return;
        for_outputs(node, [&](Variable to) { for_inputs(node, [&](Variable from) { places_.add_load(to, from); }); });
        return;
      case kind::SetAttr_id: {
        const auto object = variable(node.input(0)), v = variable(node.input(1));
        if (object && v) places_.add_store(*object, *v);
        add_write(node, node.input(0), false);
        return;
      }
      case kind::unchecked_cast_id:
        return copy(node.output(), node.input());
      case kind::CreateObject_id:
      case kind::Uninitialized_id:
      case kind::EmptyListLiteral_id:
      case kind::tolist_id:
        for_outputs(node, [&](Variable to) { places_.add_new(to); });
        return;
      case kind::isinstance_id:
      case kind::Print_id:
      case kind::RaiseException_id:
        return;
      case kind::ModuleContainerIndex_id:
        for_outputs(node, [&](Variable to) { places_.add_outside(to); });
        return;
      default:
        if (node.op() && !is_call(node)) return add_op(node, node.op()->schema());
        add_call(node);
    }
  }

  // An attribute that is told apart: one place for all nodes with its key.
  bool add_keyed(const Node& node) {
    const auto to = variable(node.output());
    const void* key = to ? key_(node) : nullptr;
    if (!key) return false;
    const auto [at, is_new] = keyed_.try_emplace(key, *to);
    is_new ? places_.add_new(*to) : places_.add_copy(*to, at->second);
    return true;
  }

  void add_loop(const Node& node) {
    const Block& body = *node.block_at(0);
    add_block(body);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* inside = body.inputs().at(i + 1);
      copy(inside, node.input(i + 2));
      copy(inside, body.outputs().at(i + 1));
      copy(node.output(i), inside);
    }
  }

  // A callee may keep, change and return all of its arguments. The task behind a future may write at the time
  // of the wait.
  void add_call(const Node& node) {
    for_inputs(node, [&](Variable from) { places_.add_escape(from); });
    for_outputs(node, [&](Variable to) { places_.add_outside(to); });
    for (const Value* v : node.inputs()) add_write(node, v, true);
    if (is_call(node)) write_anything_.push_back(&node);
  }

  // ---- operators ----

  static bool has(const std::vector<std::string>& sets, std::string_view name) {
    return std::find(sets.begin(), sets.end(), name) != sets.end();
  }
  static bool is_container(TypePtr type) {
    if (type->is(TypeKind::optional)) return is_container(type->element());
    return type->is(TypeKind::list) || type->is(TypeKind::dict) || type->is(TypeKind::tuple);
  }

  void add_op(const Node& node, const Schema& schema) {
    for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i) {
      const std::optional<AliasInfo>& alias = schema.arguments[i].alias;
      if (!alias) continue;
      if (alias->write) add_write(node, node.input(i), false);
      for (const AliasInfo& inner : alias->contained) {
        if (inner.write) add_write(node, node.input(i), true);
      }
      add_keeping(node, schema, i);
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const auto to = variable(node.output(i));
      if (!to) continue;
      if (i < schema.returns.size()) {
        add_return(node, schema, schema.returns[i], *to);
      } else {
        places_.add_outside(*to);
      }
    }
  }

  // A container that is written may contain all that the other arguments reach; an argument that is kept ("a -> *")
  // though no container is written is kept somewhere else.
  void add_keeping(const Node& node, const Schema& schema, size_t i) {
    const AliasInfo& alias = *schema.arguments[i].alias;
    const auto v = variable(node.input(i));
    if (!v) return;
    if (alias.write && is_container(node.input(i)->type())) {
      for (const Value* other : node.inputs()) {
        const auto from = variable(other);
        if (from && from != v) places_.add_store_reach(*v, *from);
      }
    }
    if (!has(alias.after, "*")) return;
    // Kept in a list that is returned: chunk(Tensor(a -> *) self, ...) -> Tensor(a)[].
    for (const Argument& result : schema.returns) {
      if (!result.alias) continue;
      for (const AliasInfo& inner : result.alias->contained) {
        if (inner.before == alias.before) return;
      }
    }
    for (size_t j = 0; j < schema.arguments.size() && j < node.inputs().size(); ++j) {
      const std::optional<AliasInfo>& other = schema.arguments[j].alias;
      if (other && other->write && is_container(node.input(j)->type())) return;
    }
    places_.add_escape(*v);
  }

  void add_return(const Node& node, const Schema& schema, const Argument& result, Variable to) {
    if (result.alias && !result.alias->before.empty()) {
      for (const std::string& set : result.alias->before) add_alias(node, schema, set, to);
      return;
    }
    places_.add_new_container(to);
    if (result.alias && !result.alias->contained.empty()) {
      for (const AliasInfo& inner : result.alias->contained) {
        for (const std::string& set : inner.before) add_contained(node, schema, set, to);
      }
      return;
    }
    if (!is_container(result.type)) return;
    // A list of new tuples, whose items are the argument's: d.items().
    const TypePtr element = result.type->is(TypeKind::list) ? result.type->element() : nullptr;
    if (element != nullptr && element->is(TypeKind::tuple)) {
      for_inputs(node, [&](Variable from) { places_.add_escape(from); });
      places_.add_outside(to);
      return;
    }
    // A new container. Its elements may be those of the arguments.
    bool from_arguments = false;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const auto from = variable(node.input(i));
      if (!from || !is_container(node.input(i)->type())) continue;
      from_arguments = true;
      places_.add_store_reach(to, *from);
      // Some in-place operators of lists return their argument and do not say so.
      const bool written = i < schema.arguments.size() && schema.arguments[i].is_written();
      if (written && schema.arguments[i].type == result.type) places_.add_copy(to, *from);
    }
    if (!from_arguments) places_.add_new(to);
  }

  void add_alias(const Node& node, const Schema& schema, const std::string& set, Variable to) {
    bool found = false;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const auto from = variable(node.input(i));
      if (!from) continue;
      if (set == "*") {
        places_.add_reach(to, *from);
        found = true;
      } else if (i < schema.arguments.size() && schema.arguments[i].alias) {
        const AliasInfo& alias = *schema.arguments[i].alias;
        if (has(alias.before, set)) places_.add_copy(to, *from), found = true;
        for (const AliasInfo& inner : alias.contained) {
          if (has(inner.before, set)) places_.add_load(to, *from), found = true;
        }
      }
    }
    if (!found) places_.add_outside(to);
  }

  void add_contained(const Node& node, const Schema& schema, const std::string& set, Variable to) {
    bool found = false;
    for (size_t i = 0; i < node.inputs().size() && i < schema.arguments.size(); ++i) {
      const auto from = variable(node.input(i));
      if (!from || !schema.arguments[i].alias) continue;
      const AliasInfo& alias = *schema.arguments[i].alias;
      const bool inside = std::any_of(alias.contained.begin(), alias.contained.end(),
                                      [&](const AliasInfo& inner) { return has(inner.before, set); });
      if (!has(alias.before, set) && !inside && set != "*") continue;
      places_.add_store_reach(to, *from);
      found = true;
    }
    if (!found) places_.add_outside(to);
  }

  AliasFacts& facts_;
  Places& places_;
  const AttributeKey& key_;
  std::unordered_map<const void*, Variable> keyed_;
  std::vector<Write> writes_;
  std::vector<const Node*> write_anything_;
};

namespace {
const PlaceSet kNothing;
const PlaceSet kUnknown{Places::kAnything};
}  // namespace

AliasFacts::AliasFacts(const Graph& graph) : AliasFacts(graph, {}) {}
AliasFacts::AliasFacts(const Graph& graph, const AttributeKey& key) : places_(std::make_unique<Places>()) {
  Builder(*this, key).run(graph);
}
AliasFacts::~AliasFacts() = default;

// Null for immutable values, "anything" for values that came later.
const PlaceSet* AliasFacts::find(const Value* v) const {
  const auto found = variables_.find(v);
  if (found != variables_.end()) return &places_->points_to(found->second);
  return is_mutable(v->type()) ? &kUnknown : nullptr;
}

const PlaceSet& AliasFacts::reach(const Value* v) const {
  const auto found = variables_.find(v);
  if (found != variables_.end()) return places_->reach(found->second);
  return is_mutable(v->type()) ? kUnknown : kNothing;
}

const PlaceSet& AliasFacts::written(const Node* n) const {
  const auto found = written_.find(n);
  return found == written_.end() ? kNothing : found->second;
}

bool AliasFacts::is_outside(Place p) const { return places_->is_outside(p); }
bool AliasFacts::overlap(const PlaceSet& a, const PlaceSet& b) const { return places_->overlap(a, b); }

bool AliasFacts::may_alias(const Value* a, const Value* b) const {
  const PlaceSet *x = find(a), *y = find(b);
  if (!x || !y) return false;
  if (x == &kUnknown || y == &kUnknown) return true;
  return overlap(*x, *y);
}

bool AliasFacts::may_contain_alias(const Value* a, const Value* b) const {
  const PlaceSet &x = reach(a), &y = reach(b);
  if (x.empty() || y.empty()) return false;
  return &x == &kUnknown || &y == &kUnknown || overlap(x, y);
}

bool AliasFacts::may_leave(const Value* v) const {
  const PlaceSet* places = find(v);
  return places && (overlap(*places, returned_) ||
                    std::any_of(places->begin(), places->end(), [&](Place p) { return places_->is_outside(p); }));
}

bool AliasFacts::has_writers(const Value* v) const {
  const PlaceSet& places = reach(v);
  if (places.empty() || all_written_.empty()) return false;
  return &places == &kUnknown || overlap(places, all_written_);
}

bool AliasFacts::has_writers(const Node* n) const {
  const auto written = [&](const Value* v) { return has_writers(v); };
  return std::any_of(n->inputs().begin(), n->inputs().end(), written) ||
         std::any_of(n->outputs().begin(), n->outputs().end(), written);
}

bool AliasFacts::writes(const Node* n) const { return written_.contains(n); }

bool AliasFacts::writes_to(const Node* n, const Value* v) const {
  const PlaceSet &places = reach(v), &to = written(n);
  if (places.empty() || to.empty()) return false;
  return &places == &kUnknown || overlap(places, to);
}

bool AliasFacts::has_side_effects(const Node* n) const { return ir::has_side_effects(*n); }

bool AliasFacts::is_pure(const Node* n) const {
  return !writes(n) && !ir::has_side_effects(*n) && !is_nondeterministic(*n);
}

// The places that the node and those inside it may read.
PlaceSet AliasFacts::read(const Node* n) const {
  PlaceSet all;
  const auto add = [&](const Value* v) {
    const PlaceSet& places = reach(v);
    PlaceSet both;
    std::set_union(all.begin(), all.end(), places.begin(), places.end(), std::back_inserter(both));
    all = std::move(both);
  };
  for (const Value* v : n->inputs()) add(v);
  for (const Block* block : n->blocks()) {
    for (const Node* inner : block->nodes()) {
      for (const Place p : read(inner)) {
        if (!std::binary_search(all.begin(), all.end(), p)) all.insert(std::lower_bound(all.begin(), all.end(), p), p);
      }
    }
  }
  return all;
}

// Does `later` use an output of `earlier`, itself or inside its blocks?
bool AliasFacts::depends(const Node* later, const Node* earlier) const {
  for (const Value* v : earlier->outputs()) {
    for (const Use& use : v->uses()) {
      if (use.user == later || use.user->is_inside(later)) return true;
    }
  }
  return false;
}

// Does it matter which of the two runs first, for reasons of memory or effects?
bool AliasFacts::conflict(const Node* a, const Node* b) const {
  const auto ordered = [&](const Node* n) { return ir::has_side_effects(*n) || is_nondeterministic(*n); };
  if (ordered(a) && ordered(b)) return true;
  const bool a_writes = writes(a), b_writes = writes(b);
  if (!a_writes && !b_writes) return false;
  return overlap(written(a), written(b)) || (a_writes && overlap(written(a), read(b))) ||
         (b_writes && overlap(written(b), read(a)));
}

bool AliasFacts::can_move_before(const Node* n, const Node* point) const {
  if (n == point || n->block() != point->block()) return n == point;
  if (n->is_before(point)) {
    for (const Node* m = n->next(); m != point; m = m->next()) {
      if (depends(m, n) || conflict(n, m)) return false;
    }
    return true;
  }
  for (const Node* m = point; m != n; m = m->next()) {
    if (depends(n, m) || conflict(m, n)) return false;
  }
  return true;
}

bool AliasFacts::can_move_after(const Node* n, const Node* point) const {
  if (n == point || n->block() != point->block()) return n == point;
  if (n->is_before(point)) return !depends(point, n) && !conflict(n, point) && can_move_before(n, point);
  return can_move_before(n, point->next());
}

}  // namespace sconce::ir
