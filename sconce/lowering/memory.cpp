#include "sconce/lowering/memory.h"

#include <algorithm>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/splice.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

// Is there a type variable in it: the operator moves values of any type and does not look into tensors?
bool is_generic(TypePtr type) {
  return type->is(TypeKind::variable) || std::ranges::any_of(type->contained(), is_generic);
}

bool is_unpacking(const ir::Node& node) {
  switch (node.kind().id()) {
    case ir::kind::GetAttr_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::TupleIndex_id:
    case ir::kind::TupleSlice_id:
    case ir::kind::ListUnpack_id:
    case ir::kind::isinstance_id:
      return true;
    default:
      return false;
  }
}

// May the result of an operator be, or contain, this argument?
bool is_given_on(const Schema& schema, const Argument& argument) {
  if (!argument.alias) return false;
  if (!argument.alias->after.empty()) return true;
  return std::ranges::any_of(schema.returns, [](const Argument& r) { return r.alias.has_value(); });
}

// Can `later` run when `node` has run?
bool runs_after(const ir::Node& later, const ir::Node& node) {
  if (later.is_inside(&node)) return true;
  if (node.is_before(&later) && !node.is_inside(&later)) return true;
  for (const ir::Node* loop = node.block()->owner(); loop; loop = loop->block()->owner()) {
    if (loop->is(ir::kind::Loop) && later.is_inside(loop)) return true;
  }
  return false;
}

}  // namespace

Memory::Memory(ir::Graph& graph, const ir::AliasFacts& facts, const Origins& origins, bool apart)
    : graph_(graph), facts_(facts), origins_(origins), apart_(apart) {
  for (const ir::Value* v : graph.inputs()) {
    if (is_tensor(v->type())) tensors_.push_back(v);
  }
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (node.blocks().empty() && facts_.writes(&node)) writers_.push_back(&node);
    for (const ir::Value* v : node.outputs()) {
      if (!is_tensor(v->type())) continue;
      tensors_.push_back(v);
      if (!node.is(ir::kind::Constant)) continue;
      const ir::PlaceSet& places = facts_.reach(v);
      constants_.insert(constants_.end(), places.begin(), places.end());
    }
  });
  std::ranges::sort(constants_);
}

// ---- what is known of values ----

bool Memory::is_foreign(const ir::Value* root) const {
  const ir::PlaceSet& places = facts_.reach(root);
  return std::ranges::any_of(places, [&](ir::Place p) { return facts_.is_outside(p); }) ||
         facts_.overlap(places, constants_);
}

// A tensor that its node made, and not another one under a new name.
bool Memory::is_fresh(const ir::Value* root) const {
  if (const auto known = shared_.find(root); known != shared_.end()) return known->second.empty();
  const ir::Node& node = *root->node();
  if (!node.op() || ir::is_call(node) || root->offset() >= node.op()->schema().returns.size()) return false;
  return !node.op()->schema().returns[root->offset()].alias;
}

bool Memory::is_known_list(const ir::Node& node) const {
  if (!node.is(ir::kind::ListConstruct) && !node.is(ir::kind::TupleConstruct)) return false;
  if (std::ranges::none_of(node.inputs(), [](const ir::Value* v) { return ir::is_mutable(v->type()); })) return false;
  return std::ranges::all_of(node.output()->uses(), [&](const ir::Use& use) {
    if (use.user == graph_.block()->return_node()) return true;
    if (use.user->is(ir::kind::TupleConstruct)) return is_known_list(*use.user);
    return use.user->op() && !ir::is_call(*use.user) && !use.user->op()->schema().is_vararg &&
           access(*use.user, use.offset) == Access::reads;
  });
}

std::vector<ir::Value*> Memory::operands(ir::Value* v) const {
  if (!is_known_list(*v->node())) return {v};
  std::vector<ir::Value*> all;
  for (ir::Value* item : v->node()->inputs()) {
    for (ir::Value* inner : operands(item)) all.push_back(inner);
  }
  return all;
}

Memory::Access Memory::access(const ir::Node& node, size_t input) const {
  if (!ir::is_mutable(node.input(input)->type()) || is_unpacking(node)) return Access::nothing;
  if (ir::is_call(node)) return Access::writes;
  if (node.is(ir::kind::Print) || node.is(ir::kind::tolist)) return Access::reads;
  if (node.is(ir::kind::SetAttr)) return input == 0 ? Access::nothing : Access::keeps;
  if (!node.op()) return Access::keeps;
  const Schema& schema = node.op()->schema();
  if (input >= schema.arguments.size()) return Access::reads;
  const Argument& argument = schema.arguments[input];
  const bool tensor = is_tensor(node.input(input)->type());
  if (is_generic(argument.type)) return tensor ? Access::keeps : Access::nothing;
  if (argument.is_written()) return Access::writes;
  return is_given_on(schema, argument) ? Access::aliases : Access::reads;
}

// Inputs and attributes that the caller has told apart are the roots of all that could be the same.
bool Memory::touches(const ir::Value* v, const ir::Value* root) const {
  if (!facts_.may_contain_alias(v, root)) return false;
  if (const auto known = shared_.find(origins_.of(v).root); known != shared_.end() && is_tensor(v->type())) {
    return std::ranges::any_of(known->second, [&](const ir::Value* r) { return r == root || touches(r, root); });
  }
  return !apart_ || !is_tensor(v->type()) || !is_told_apart(root) || may_be(v, root);
}

bool Memory::is_told_apart(const ir::Value* root) const {
  return root->node() == graph_.block()->param_node() || root->node()->is(ir::kind::GetAttr);
}

// Of a root that shares memory with no other that is told apart: branches and operators lead to one of those, or to
// something new.
bool Memory::may_be(const ir::Value* v, const ir::Value* root) const {
  const ir::Value* own = origins_.of(v).root;
  if (own == root) return true;
  if (is_told_apart(own)) {  // one attribute that was read twice is one tensor
    const bool attributes = own->node()->is(ir::kind::GetAttr) && root->node()->is(ir::kind::GetAttr);
    return attributes && own->node()->string_attribute("name") == root->node()->string_attribute("name");
  }
  const ir::Node& node = *own->node();
  if (node.is(ir::kind::If)) {
    return std::ranges::any_of(node.blocks(),
                               [&](const ir::Block* b) { return may_be(b->outputs()[own->offset()], root); });
  }
  if (is_fresh(own)) return false;
  if (!node.op() || ir::is_call(node) || node.op()->schema().is_vararg) return true;
  return std::ranges::any_of(node.inputs(), [&](const ir::Value* in) {
    return ir::is_mutable(in->type()) && (!is_tensor(in->type()) || may_be(in, root));
  });
}

void Memory::shares_only(const ir::Value* v, const ir::Value* root) {
  std::vector<const ir::Value*>& roots = shared_[v];
  if (root) roots.push_back(root);
}

bool Memory::is_written_later(const ir::Value* v, const ir::Node& at) const {
  return std::ranges::any_of(
      writers_, [&](const ir::Node* w) { return w != &at && facts_.writes_to(w, v) && runs_after(*w, at); });
}

// Does nothing but reads happen to it and to views of it?
bool Memory::stays_inside(const ir::Value* v) const {
  return std::ranges::all_of(v->uses(), [&](const ir::Use& use) {
    if (is_known_list(*use.user)) return stays_inside(use.user->output());
    if (!use.user->op() || ir::is_call(*use.user)) return false;
    const Access how = access(*use.user, use.offset);
    if (how == Access::reads) return true;
    return how == Access::aliases && std::ranges::all_of(use.user->outputs(), [&](const ir::Value* out) {
             return !ir::is_mutable(out->type()) || stays_inside(out);
           });
  });
}

Memory::Dirty* Memory::find(Changes& changes, const ir::Value* root) {
  const auto found = std::ranges::find(changes, root, &Dirty::root);
  return found == changes.end() ? nullptr : &*found;
}

ir::Node* Memory::insert(ir::Node* made, ir::Node& at, const ir::Node& like) const {
  made->set_range(like.range())->set_inlined(like.inlined());
  made->set_scope(like.scope());
  return made->insert_before(&at);
}

// ---- values ----

// The value of a dirty tensor.
ir::Value* Memory::made(Dirty& d, ir::Node& at) {
  if (d.value) return d.value;
  static const Op& copy = *find_op("aten::copy", "");
  ir::Node* node = insert(graph_.create(copy, {d.root, d.source, d.assigned->input(2)}), at, *d.assigned);
  return d.value = node->output()->set_type(d.root->type());
}

// What the first views of a chain show of it.
ir::Value* Memory::shown(Dirty& d, const Origin& origin, size_t steps, ir::Node& at) {
  if (steps == 0) return made(d, at);
  const ViewStep& step = origin.steps[steps - 1];
  if (const auto known = d.shown.find(step.value); known != d.shown.end()) return known->second;
  ir::Block::ValueMap map{{step.node->input(), shown(d, origin, steps - 1, at)}};
  ir::Node* again = graph_.create_copy(*step.node, map)->insert_before(&at);
  if (!step.unpack) return d.shown[step.value] = again->output();
  ir::Node* parts = graph_.create_copy(*step.unpack, map)->insert_before(&at);
  for (size_t i = 0; i < parts->outputs().size(); ++i) d.shown[step.unpack->output(i)] = parts->output(i);
  return d.shown.at(step.value);
}

ir::Value* Memory::current(ir::Value* v, ir::Node& at) {
  if (is_known_list(*v->node())) return current_list(v, at);
  if (!is_tensor(v->type())) return v;
  const Origin& origin = origins_.of(v);
  Dirty* d = find(origin.root);
  if (d && d->written && d->last == origin.real()) return d->written;
  return reference(v, at);
}

// The same as a view of the value of its root, for those to whom it matters whose memory it is.
ir::Value* Memory::reference(ir::Value* v, ir::Node& at) {
  const Origin& origin = origins_.of(v);
  Dirty* d = find(origin.root);
  return d ? shown(*d, origin, origin.steps.size(), at) : origin.real();
}

ir::Value* Memory::current_list(ir::Value* list, ir::Node& at) {
  std::vector<ir::Value*> now;
  for (ir::Value* item : list->node()->inputs()) {
    now.push_back(is_tensor(item->type()) ? reference(item, at) : current(item, at));
  }
  if (now == list->node()->inputs()) return list;
  ir::Node* again = graph_.create(list->node()->kind(), now);
  insert(again, at, *list->node());
  return again->add_output(list->type());
}

ir::Value* Memory::value_of(ir::Value* root, ir::Node& at) {
  Dirty* d = find(root);
  return d ? made(*d, at) : root;
}

void Memory::show_real(ir::Node& node) const {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (is_tensor(node.input(i)->type())) node.set_input(i, origins_.of(node.input(i)).real());
  }
}

// ---- reading ----

// Writes the memory that the node may reach under names that are not those of a view of it.
void Memory::settle(ir::Node& node) {
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    bool hit = ir::is_call(node) && facts_.overlap(facts_.written(&node), facts_.reach(d.root));
    for (size_t i = 0; i < node.inputs().size() && !hit; ++i) {
      const bool end = &node == node.block()->return_node();
      if (!end && access(node, i) == Access::nothing) continue;
      for (const ir::Value* v : operands(node.input(i))) {
        hit |= origins_.of(v).root != d.root && ir::is_mutable(v->type()) && touches(v, d.root);
      }
    }
    // Others have the value, and nobody the tensor that it stands for: there is nothing to be seen in its memory.
    const bool unseen = d.is_given && is_fresh(d.root) && !is_foreign(d.root) && !held_.contains(d.root);
    if (hit && !unseen) flush(d.root, node);
  }
  // A source of an assignment that the node itself may write.
  for (Dirty& d : changes_) {
    if (!d.value && facts_.writes_to(&node, d.assigned->input(1))) made(d, node);
  }
}

// Sizes, strides and dtype are those of the tensor itself, whatever is in its memory.
bool Memory::asks_for_geometry(const ir::Node& node) const {
  static const ir::Symbol stride("aten::stride"), offset("aten::storage_offset"), dense("aten::is_contiguous");
  if (!passes::is_geometry_query(node) && !node.is(stride) && !node.is(offset) && !node.is(dense)) return false;
  return !resized_.contains(origins_.of(node.input()).root);
}

void Memory::read(ir::Node& node) {
  if (node.op() && !ir::is_call(node) && asks_for_geometry(node)) return show_real(node);
  settle(node);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    ir::Value* v = node.input(i);
    const Access how = access(node, i);
    if (how == Access::nothing) continue;
    if (!is_tensor(v->type())) {
      if (how == Access::reads) node.set_input(i, current(v, node));
      continue;
    }
    const ir::Value* root = origins_.of(v).root;
    const auto leaves = [&](const ir::Value* out) { return ir::is_mutable(out->type()) && !stays_inside(out); };
    switch (how) {
      case Access::writes:
        flush(root, node);
        held_.insert(root);
        node.set_input(i, origins_.of(v).real());
        break;
      case Access::aliases:
        node.set_input(i, std::ranges::any_of(node.outputs(), leaves) ? give(v, node) : lend(v, node));
        for (const ir::Value* out : node.outputs()) {
          if (is_tensor(out->type()) && origins_.of(out).root == out) shares_only(out, find(root) ? nullptr : root);
        }
        break;
      case Access::keeps:
        node.set_input(i, give(v, node));
        break;
      default:
        node.set_input(i, current(v, node));
    }
  }
}

// While it is not written again, a value serves as well as the tensor, unless somebody has the tensor already.
ir::Value* Memory::give(ir::Value* v, ir::Node& at) {
  if (!is_tensor(v->type())) return v;
  const ir::Value* root = origins_.of(v).root;
  Dirty* d = find(root);
  if (d && !d->is_given && (!is_fresh(root) || is_foreign(root) || held_.contains(root))) flush(root, at);
  ir::Value* given = lend(v, at);
  if (Dirty* dirty = find(root)) dirty->is_given = true;
  return given;
}

// The same for somebody who only reads, now or later.
ir::Value* Memory::lend(ir::Value* v, ir::Node& at) {
  const ir::Value* root = origins_.of(v).root;
  if (find(root) && is_written_later(v, at)) {
    find(root)->is_given = false;
    flush(root, at);
  }
  if (!find(root)) held_.insert(root);
  return reference(v, at);
}

void Memory::read_results(ir::Node& end) {
  settle(end);
  std::unordered_map<const ir::Value*, ir::Value*> lists;  // one that is returned twice stays one
  for (size_t i = 0; i < end.inputs().size(); ++i) {
    ir::Value*& now = lists[end.input(i)];
    if (!now) now = is_tensor(end.input(i)->type()) ? reference(end.input(i), end) : current(end.input(i), end);
    end.set_input(i, now);
  }
}

// ---- writing ----

void Memory::flush(const ir::Value* root, ir::Node& at) {
  Dirty* found = find(root);
  if (!found || found->is_made) return;
  for (Dirty& other : changes_) {
    if (&other != found && !other.value && touches(other.assigned->input(1), root)) made(other, at);
  }
  static const Op& copy = *find_op("aten::copy_", "");
  const ir::Node& writer = found->writer ? *found->writer : at;
  ir::Value* blocking = nullptr;
  if (found->value) {
    blocking = insert(graph_.create_constant(sconce::Value(false)), at, writer)->output();
  } else {
    blocking = found->assigned->input(2);
  }
  ir::Value* elements = found->value ? found->value : found->source;
  if (is_resized(root)) {
    static const Op &size = *find_op("aten::size", ""), &resize = *find_op("aten::resize_", "");
    ir::Value* none = insert(graph_.create_constant(sconce::Value(), none_type()), at, writer)->output();
    ir::Value* sizes = insert(graph_.create(size, {elements}), at, writer)->output();
    insert(graph_.create(resize, {found->root, sizes, none}), at, writer);
  }
  insert(graph_.create(copy, {found->root, elements, blocking}), at, writer)->output()->set_type(root->type());
  found->is_made = true;
  if (!found->is_given) changes_.erase(changes_.begin() + (found - changes_.data()));
}

void Memory::prepare(ir::Node& node, const ir::Value* root) {
  const Changes dirty = changes_;
  for (const Dirty& d : dirty) {
    if (d.root == root) continue;
    bool hit = false;
    for (ir::Value* input : node.inputs()) {
      for (const ir::Value* v : operands(input)) {
        hit |= origins_.of(v).root != d.root && ir::is_mutable(v->type()) && touches(v, d.root);
      }
    }
    if (hit) flush(d.root, node);
  }
  // What is read may be `root` under another name.
  for (ir::Value* input : node.inputs()) {
    for (const ir::Value* v : operands(input)) {
      const ir::Value* other = origins_.of(v).root;
      if (other != root && ir::is_mutable(v->type()) && touches(v, root)) flush(root, node);
    }
  }
}

// `value`, seen through one view, put into what is viewed.
ir::Value* Memory::scattered(const Origin& to, size_t step, ir::Value* value, ir::Node& at) {
  const ViewStep& view = to.steps[step];
  std::vector<ir::Value*> inputs = view.node->inputs();
  Dirty* d = find(to.root);
  const auto now = [&](size_t steps) {
    if (d) return shown(*d, to, steps, at);
    return steps == 0 ? to.root : to.steps[steps - 1].value;
  };
  inputs[0] = now(step);
  if (view.unpack) {
    now(step + 1);
    std::vector<ir::Value*> parts;
    for (ir::Value* part : view.unpack->outputs()) {
      parts.push_back(part == view.value ? value : d ? d->shown.at(part) : part);
    }
    ir::Node* list = insert(graph_.create(ir::kind::ListConstruct, parts), at, at);
    value = list->add_output(list_type(tensor_type()));
  }
  inputs.push_back(value);
  ir::Value* whole = splice(*view.scatter, inputs, at, at).at(0);
  return whole->set_type(step == 0 ? to.root->type() : to.steps[step - 1].value->type());
}

void Memory::write(const Origin& to, ir::Value* value, ir::Node& at) {
  ir::Value* whole = value;
  for (size_t step = to.steps.size(); step-- > 0;) whole = scattered(to, step, whole, at);
  begin(to.root, whole, &at);
  if (to.steps.empty()) return;
  find(to.root)->last = to.real();
  find(to.root)->written = value;
}

void Memory::begin(ir::Value* root, ir::Value* value, const ir::Node* writer) {
  Dirty* d = find(root);
  if (!d) d = &changes_.emplace_back();
  *d = {.root = root, .value = value, .writer = writer};
}

void Memory::write_later(ir::Value* root, ir::Node& copy) {
  ir::Value* source = current(copy.input(1), copy);
  begin(root, nullptr, &copy);
  find(root)->assigned = &copy;
  find(root)->source = source;
}

}  // namespace sconce::lowering
