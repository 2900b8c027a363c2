#include "sconce/lowering/autodiff_backward.h"

#include <algorithm>
#include <functional>

#include "sconce/dispatch/registry.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/passes/peephole/peephole.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {
namespace {

TypePtr optional_tensor() { return optional_type(tensor_type()); }

bool is_written(const ir::Value* v) {
  return std::any_of(v->uses().begin(), v->uses().end(), [](const ir::Use& use) {
    if (!use.user->op()) return false;
    const std::vector<Argument>& arguments = use.user->op()->schema().arguments;
    return use.offset < arguments.size() && arguments[use.offset].is_written();
  });
}

}  // namespace

TypePtr captured_type(const ir::Block* block, TypePtr type, size_t levels) {
  for (; levels > 0; --levels) {
    const ir::Node* owner = block->owner();
    if (type->is(TypeKind::tensor)) type = tensor_type();
    type = owner->is(ir::kind::Loop) ? list_type(type) : optional_type(type);
    block = owner->block();
  }
  return type;
}

size_t depth_of(const ir::Value* v) {
  size_t depth = 0;
  for (const ir::Block* b = v->node()->block(); b->owner(); b = b->owner()->block()) ++depth;
  return depth;
}

Backward::Backward(Differentiation& of, const std::vector<bool>& wanted,
                   const std::vector<const ir::Value*>& temporaries)
    : of_(of), wanted_(wanted), active_(*of.graph_, wanted), df_(std::make_shared<ir::Graph>()) {
  for (const ir::Value* v : temporaries) {
    temporaries_.insert(v);
    own_gradients_.emplace_back(v, nullptr);
  }
}

std::shared_ptr<ir::Graph> Backward::run() {
  const ir::Graph& graph = *of_.graph_;
  const bool maybe = !temporaries_.empty() ||
                     std::count(of_.differentiable_outputs_.begin(), of_.differentiable_outputs_.end(), true) > 1;
  Level top(graph.block(), df_->block());
  none_ = df_->insert_constant(sconce::Value());
  top.last_capture = none_->node();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (!of_.differentiable_outputs_[i]) continue;
    ir::Value* g = df_->add_input(maybe ? optional_tensor() : graph.outputs()[i]->type());
    if (active_(graph.outputs()[i])) add_grad(top, graph.outputs()[i], {g, maybe});
  }
  for (auto& [v, input] : own_gradients_) {
    input = df_->add_input(captured_type(v->node()->block(), optional_tensor(), depth_of(v)));
  }
  first_capture_ = df_->inputs().size();
  go_back(top);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!wanted_[i]) continue;
    const auto found = top.grads.find(graph.inputs()[i]);
    df_->add_output(found == top.grads.end() ? none() : or_none(found->second));
  }
  return df_;
}

void Backward::go_back(Level& level) {
  for (const ir::Node* node = level.block->last(); node != level.block->param_node(); node = node->prev()) {
    if (!active_.any_output(*node)) continue;
    range_ = node->range();
    inlined_ = node->inlined();
    visit(level, *node);
  }
}

void Backward::visit(Level& level, const ir::Node& node) {
  switch (node.kind().id()) {
    case ir::kind::If_id:
      return visit_if(level, node);
    case ir::kind::Loop_id:
      return visit_loop(level, node);
    case ir::kind::ListConstruct_id:
      return;  // the user of the list gives gradients to its elements
    case ir::kind::ListUnpack_id:
      return visit_list_unpack(level, node);
    case ir::kind::unchecked_cast_id:
      return add_grad(level, node.input(), take_grad(level, node.output()));
    default:
      return visit_op(level, node);
  }
}

bool Backward::has_temporaries(const ir::Node& node) const {
  return std::any_of(temporaries_.begin(), temporaries_.end(),
                     [&](const ir::Value* v) { return v->node()->is_inside(&node); });
}

// Values from outside of the block that it has gradients for.
Backward::ValueSet Backward::outer_values(const Level& level) const {
  ValueSet out;
  for (const auto& [v, grad] : level.grads) {
    if (grad && v->node()->block() != level.block) out.insert(v);
  }
  return out;
}

void Backward::visit_if(Level& level, const ir::Node& node) {
  std::vector<Grad> grads;
  bool any = has_temporaries(node);
  for (const ir::Value* v : node.outputs()) {
    grads.push_back(active_(v) ? take_grad(level, v) : Grad());
    any |= static_cast<bool>(grads.back());
  }
  if (!any) return;
  ir::Node* made = df_->create(ir::kind::If, {need(level, node.input())});
  df_->insert(made)->set_range(range_)->set_inlined(inlined_);
  std::vector<Level> branches;
  for (const ir::Block* block : node.blocks()) {
    Level branch(block, made->add_block(), &level);
    const ir::InsertPoint inside(*df_, branch.back);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i] && active_(block->outputs()[i])) add_grad(branch, block->outputs()[i], grads[i]);
    }
    go_back(branch);
    for (const ir::Value* v : outer_values(branch)) branch.grads[v] = fitted(branch, v, branch.grads[v]);
    branches.push_back(std::move(branch));
  }
  range_ = node.range();
  inlined_ = node.inlined();
  ValueSet outer = outer_values(branches[0]);
  outer.merge(outer_values(branches[1]));
  for (const ir::Value* v : outer) {
    bool maybe = false;
    for (Level& branch : branches) {
      const Grad g = branch.grads[v];
      maybe |= !g || g.maybe;
      branch.back->add_output(or_none(g));
    }
    add_grad(level, v, {made->add_output(maybe ? optional_tensor() : v->type()), maybe});
  }
  if (outer.empty()) made->destroy();
}

void Backward::visit_loop(Level& level, const ir::Node& node) {
  const ir::Block& body = *node.block_at(0);
  struct Carried {
    size_t index;
    Grad grad;
  };
  std::vector<Carried> carried;
  bool any = has_temporaries(node);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (!active_(body.inputs()[i + 1]) && !active_(body.outputs()[i + 1])) continue;
    carried.push_back({i, active_(node.output(i)) ? take_grad(level, node.output(i)) : Grad()});
    any |= static_cast<bool>(carried.back().grad);
  }
  if (!any) return;
  ValueSet outer;
  const std::function<void(const ir::Block&)> find_outer = [&](const ir::Block& block) {
    const auto note = [&](const ir::Value* v) {
      if (active_(v) && !v->node()->is_inside(&node)) outer.insert(v);
    };
    for (const ir::Node* inner : block.nodes()) {
      for (const ir::Value* v : inner->inputs()) note(v);
      for (const ir::Block* b : inner->blocks()) find_outer(*b);
    }
    for (const ir::Value* v : block.outputs()) note(v);
  };
  find_outer(body);
  ir::Value* trips = need(level, trips_of(node));
  ir::Value* yes = df_->insert_constant(true);
  std::vector<ir::Value*> inputs{trips, yes};
  for (const Carried& c : carried) inputs.push_back(or_none(c.grad));
  for (size_t i = 0; i < outer.size(); ++i) inputs.push_back(none());
  ir::Node* made = df_->insert(df_->create(ir::kind::Loop, inputs));
  made->set_range(range_)->set_inlined(inlined_);
  Level inside(&body, made->add_block(), &level);
  ir::Value* turn = inside.back->add_input(int_type());
  std::vector<ir::Value*> sums;
  {
    const ir::InsertPoint at(*df_, inside.back);
    ir::Value* last = emit("aten::sub.int", {trips, df_->insert_constant(int64_t{1})});
    inside.iteration = emit("aten::sub.int", {last, turn});
    inside.last_capture = inside.iteration->node();
    for (const Carried& c : carried) {
      ir::Value* g = inside.back->add_input(optional_tensor());
      if (active_(body.outputs()[c.index + 1])) add_grad(inside, body.outputs()[c.index + 1], {g, true});
    }
    for (size_t i = 0; i < outer.size(); ++i) sums.push_back(inside.back->add_input(optional_tensor()));
    go_back(inside);
    range_ = node.range();
    inlined_ = node.inlined();
    inside.back->add_output(yes);
    for (const Carried& c : carried) {
      const ir::Value* v = body.inputs()[c.index + 1];
      inside.back->add_output(active_(v) ? or_none(take_grad(inside, v)) : none());
    }
    size_t i = 0;
    for (const ir::Value* v : outer) {
      const Grad g = fitted(inside, v, inside.grads[v]);
      ir::Value* sum = sums[i++];
      inside.back->add_output(g ? emit("prim::AutogradAdd", {sum, g.value}) : sum);
    }
  }
  for (const Carried& c : carried) {
    ir::Value* out = made->add_output(optional_tensor());
    if (active_(node.input(c.index + 2))) add_grad(level, node.input(c.index + 2), {out, true});
  }
  for (const ir::Value* v : outer) add_grad(level, v, {made->add_output(optional_tensor()), true});
}

void Backward::visit_list_unpack(Level& level, const ir::Node& node) {
  std::vector<Grad> grads;
  for (const ir::Value* v : node.outputs()) grads.push_back(active_(v) ? take_grad(level, v) : Grad());
  if (std::none_of(grads.begin(), grads.end(), [](const Grad& g) { return static_cast<bool>(g); })) return;
  std::vector<ir::Value*> items;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].maybe) {
      ir::Node* choice = df_->insert(df_->create(ir::kind::If, {is_there(grads[i].value)}));
      ir::Block *there = choice->add_block(), *missing = choice->add_block();
      {
        const ir::InsertPoint at(*df_, there);
        there->add_output(cast(grads[i].value, node.output(i)->type()));
      }
      {
        const ir::InsertPoint at(*df_, missing);
        missing->add_output(zeros(level, node.output(i)).value);
      }
      items.push_back(choice->add_output(tensor_type()));
    } else {
      items.push_back((grads[i] ? grads[i] : zeros(level, node.output(i))).value);
    }
  }
  ir::Node* list = df_->insert(df_->create(ir::kind::ListConstruct, items));
  add_grad(level, node.input(), {list->add_output(list_type(tensor_type()))});
}

// ---- gradients ----

Backward::Grad Backward::take_grad(Level& level, const ir::Value* v) {
  const auto found = level.grads.find(v);
  Grad g = found == level.grads.end() ? Grad() : fitted(level, v, found->second);
  if (found != level.grads.end()) level.grads.erase(found);
  if (!temporaries_.contains(v)) return g;
  ir::Value* own = materialise(level, {v, 0, true});
  if (!g) return {own, true};
  ir::Value* sum = emit("prim::AutogradAdd", {g.value, own});
  return {g.maybe ? sum : cast(sum, v->type()), g.maybe};
}

void Backward::add_grad(Level& level, const ir::Value* v, Grad g) {
  if (!g) return;
  Grad& sum = level.grads[v];
  if (!sum) {
    sum = g;
    return;
  }
  const Grad a = fitted(level, v, sum), b = fitted(level, v, g);
  if (!a.maybe && !b.maybe) {
    sum = {emit("aten::add.Tensor", {a.value, b.value, df_->insert_constant(int64_t{1})})};
  } else {
    ir::Value* added = emit("prim::AutogradAdd", {a.value, b.value});
    const bool maybe = a.maybe && b.maybe;
    sum = {maybe ? added : cast(added, v->type()), maybe};
  }
}

Backward::Grad Backward::fitted(Level& level, const ir::Value* v, Grad g) {
  if (!g || !g.unfitted) return g;
  ir::Value* size = need(level, ask("aten::size", v));
  ir::Value* dtype = need(level, ask("prim::dtype", v));
  return {emit("sconce::grad_like", {g.value, size, dtype})->set_type(v->type())};
}

Backward::Grad Backward::zeros(Level& level, const ir::Value* like) {
  ir::Value* size = need(level, ask("aten::size", like));
  ir::Value* dtype = need(level, ask("prim::dtype", like));
  ir::Value* device = need(level, ask("prim::device", like));
  return {emit("aten::zeros", {size, dtype, none(), device, none()})};
}

ir::Value* Backward::none() { return none_; }

ir::Value* Backward::is_there(ir::Value* v) { return emit("aten::__isnot__", {v, none()}); }

ir::Value* Backward::cast(ir::Value* v, TypePtr type) {
  ir::Node* node = df_->create(ir::kind::unchecked_cast, {v});
  df_->insert(node)->set_range(range_)->set_inlined(inlined_);
  return node->add_output(type);
}

ir::Value* Backward::emit(const Op& op, const std::vector<ir::Value*>& inputs) {
  ir::Node* node = df_->insert(df_->create(op, inputs));
  node->set_range(range_)->set_inlined(inlined_);
  return node->output();
}

ir::Value* Backward::emit(std::string_view name, const std::vector<ir::Value*>& inputs) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  return emit(*op, inputs);
}

// ---- captures ----

// The forward value, in df, for use in the level's block.
ir::Value* Backward::need(Level& level, const ir::Value* v) {
  Level* home = &level;
  const ir::Block* block = v->node()->block();
  while (home->block != block) home = home->outer;
  return rebuild(*home, v);
}

ir::Value* Backward::rebuild(Level& level, const ir::Value* v) {
  const Key key{v, 0, false};
  if (const auto known = level.known.find(key); known != level.known.end()) return known->second;
  const ir::Node& node = *v->node();
  if (node.is(ir::kind::Constant)) {
    ir::Block::ValueMap map;
    return level.known[key] = place(level, df_->create_copy(node, map));
  }
  if (node.is(ir::kind::ListConstruct) && !is_written(v)) {
    std::vector<ir::Value*> items;
    for (const ir::Value* item : node.inputs()) items.push_back(need(level, item));
    ir::Node* list = df_->create(ir::kind::ListConstruct, items);
    list->add_output(v->type());
    return level.known[key] = place(level, list);
  }
  if (node.is(ir::kind::unchecked_cast)) {
    ir::Node* made = df_->create(ir::kind::unchecked_cast, {need(level, node.input())});
    made->add_output(v->type());
    return level.known[key] = place(level, made);
  }
  return materialise(level, key);
}

ir::Value* Backward::materialise(Level& level, const Key& key) {
  if (const auto known = level.known.find(key); known != level.known.end()) return known->second;
  const ir::Value* v = key.value;
  const TypePtr base = key.own_gradient ? optional_tensor() : v->type();
  const TypePtr type = captured_type(v->node()->block(), base, key.levels);
  ir::Value* made = nullptr;
  if (!level.outer) {
    if (key.own_gradient) {
      made = std::find_if(own_gradients_.begin(), own_gradients_.end(), [&](const auto& g) {
               return g.first == v;
             })->second;
    } else {
      made = df_->add_input(type, v->has_name() ? v->base_name() : std::string_view());
      captured_.push_back(v);
    }
  } else {
    ir::Value* outside = materialise(*level.outer, {v, key.levels + 1, key.own_gradient});
    if (level.iteration) {
      const Op* get = find_op("aten::__getitem__.t");
      ir::Node* node = df_->create(*get, {outside, level.iteration});
      node->output()->set_type(type);
      made = place(level, node);
    } else {
      ir::Node* node = df_->create(ir::kind::unchecked_cast, {outside});
      node->add_output(type);
      made = place(level, node);
    }
  }
  return level.known[key] = made;
}

// At the start of the level's block, behind earlier captures.
ir::Value* Backward::place(Level& level, ir::Node* node) {
  // Its inputs may stand in a block further out, or here: it goes behind all of them.
  node->insert_after(level.last_capture);
  level.last_capture = node;
  return node->output();
}

const ir::Value* Backward::trips_of(const ir::Node& loop) {
  ir::Value*& known = of_.trips_[&loop];
  if (known) return known;
  ir::Graph& graph = *of_.graph_;
  ir::Node* node = const_cast<ir::Node*>(&loop);
  ir::Block* body = node->block_at(0);
  {
    const ir::InsertPoint before(graph, node);
    node->add_input(graph.insert_constant(int64_t{0}));
  }
  body->add_input(int_type());
  const ir::InsertPoint inside(graph, body);
  ir::Node* next = graph.create(*find_op("aten::add.int"), {body->inputs()[0], graph.insert_constant(int64_t{1})});
  graph.insert(next);
  body->add_output(next->output());
  return known = node->add_output(int_type());
}

namespace {

// Is the block `outer` or inside of it?
bool is_within(const ir::Block* block, const ir::Block* outer) {
  while (block != outer && block->owner()) block = block->owner()->block();
  return block == outer;
}

// The node of the values that is reached last, behind which all of them are known.
ir::Node* latest_definition(const std::vector<ir::Value*>& values) {
  ir::Node* last = values[0]->node();
  for (const ir::Value* v : values) {
    ir::Node* node = v->node();
    if (node->block() == last->block() ? last->is_before(node) : is_within(node->block(), last->block())) last = node;
  }
  return last;
}

}  // namespace

// A query of forward values, answered in the forward graph, where they are known.
const ir::Value* Backward::ask(const ir::Node& question, const std::vector<ir::Value*>& inputs) {
  ir::Graph& graph = *of_.graph_;
  std::vector<uint64_t> key{reinterpret_cast<uint64_t>(question.op())};
  for (const ir::Value* v : inputs) {
    const std::optional<int64_t> number = constant_int(v);
    key.push_back(number ? ~static_cast<uint64_t>(*number) : v->id());
  }
  ir::Value*& known = of_.questions_[key];
  if (known) return known;
  ir::Node* node = graph.create(*question.op(), inputs);
  for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->set_type(question.output(i)->type());
  node->insert_after(latest_definition(inputs));
  known = node->output();
  // An answer that types know is a constant.
  ir::Node* next = node->next();
  if (simplify_query(*node)) known = next->prev()->outputs().at(0);
  return known;
}

const ir::Value* Backward::ask(std::string_view name, const ir::Value* of) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  ir::Graph scratch;
  ir::Node* question = scratch.insert(scratch.create(*op, {scratch.add_input(of->type())}));
  return ask(*question, {const_cast<ir::Value*>(of)});
}

}  // namespace sconce::passes
