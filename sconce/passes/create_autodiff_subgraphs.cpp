// Differentiable regions: runs of nodes that can be differentiated as a whole become one node.
//   %y : Tensor = aten::mul(%x, %w)
//   %z : Tensor = aten::tanh(%y)        =>    %z : Tensor = prim::DifferentiableGraph_0(%x, %w)
// A region is a run of nodes that compute and do nothing else (see activity.h), control flow included, with at least
// two operators that gradients flow through. Attributes that are read in between are read before it. Results that may
// share memory with something else (views, lists) are computed once more behind the region: in-place operations must
// find them in the history of their base.
#include <algorithm>
#include <set>

#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/activity.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {

ir::Symbol differentiable_graph() {
  static const ir::Symbol kind("prim::DifferentiableGraph");
  return kind;
}

namespace {

constexpr size_t kFewest = 2;  // operators of a region

struct ById {
  bool operator()(const ir::Value* a, const ir::Value* b) const { return a->id() < b->id(); }
};

// One region in the making.
class Region {
 public:
  Region(std::vector<ir::Node*> nodes, Activity& active)
      : nodes_(std::move(nodes)), members_(nodes_.begin(), nodes_.end()), active_(active) {}

  bool make() {
    for (const ir::Node* node : nodes_) {
      for (ir::Value* v : node->outputs()) {
        if (std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) { return !is_member(u.user); })) {
          let_out(v);
        }
      }
    }
    for (const ir::Value* v : outputs_) {
      if (active_(v) && !v->type()->is(TypeKind::tensor)) return false;
    }
    if (outputs_.empty()) return false;
    build();
    return true;
  }

 private:
  // Is the node one of the region, or inside of one?
  bool is_member(const ir::Node* node) const {
    for (; node; node = node->block()->owner()) {
      if (members_.contains(node)) return true;
    }
    return false;
  }
  bool is_own(const ir::Value* v) const { return members_.contains(v->node()); }

  void let_out(ir::Value* v) {
    if (!is_own(v)) return;
    if (!shares_memory(v)) {
      outputs_.insert(v);
      return;
    }
    if (!repeated_.insert(v->node()).second) return;
    for (ir::Value* in : v->node()->inputs()) let_out(in);
  }

  // Values that the region uses from outside become inputs, constants are copied.
  void use(ir::Value* v, ir::Graph& graph, ir::Block::ValueMap& map) {
    if (map.contains(v) || is_member(v->node())) return;
    if (v->node()->is(ir::kind::Constant) || v->node()->is(ir::kind::Uninitialized)) {
      ir::Block::ValueMap none;
      map[v] = graph.insert(graph.create_copy(*v->node(), none))->output();
      return;
    }
    inputs_.push_back(v);
    map[v] = graph.add_input(v->type(), v->has_name() ? v->base_name() : std::string_view());
  }

  void use_all(const ir::Block& block, ir::Graph& graph, ir::Block::ValueMap& map) {
    for (const ir::Node* node : block.nodes()) {
      for (ir::Value* v : node->inputs()) use(v, graph, map);
      for (const ir::Block* inner : node->blocks()) use_all(*inner, graph, map);
    }
    for (ir::Value* v : block.outputs()) use(v, graph, map);
  }

  void build() {
    const auto subgraph = std::make_shared<ir::Graph>();
    ir::Block::ValueMap map;
    for (const ir::Node* node : nodes_) {
      for (ir::Value* v : node->inputs()) use(v, *subgraph, map);
      for (const ir::Block* block : node->blocks()) use_all(*block, *subgraph, map);
      subgraph->insert(subgraph->create_copy(*node, map));
    }
    for (const ir::Value* v : outputs_) subgraph->add_output(map.at(v));
    // Behind the last node: constants that stand in between are known there.
    ir::Graph& graph = *nodes_[0]->graph();
    ir::Node* region = graph.create(differentiable_graph(), inputs_, outputs_.size());
    region->set_range(nodes_[0]->range())->set_inlined(nodes_[0]->inlined());
    region->set_attribute("Subgraph", subgraph);
    region->insert_after(nodes_.back());
    ir::Block::ValueMap outside;
    size_t i = 0;
    for (const ir::Value* v : outputs_) outside[v] = region->output(i++)->set_type(v->type());
    ir::Node* last = region;
    for (const ir::Node* node : nodes_) {
      if (!repeated_.contains(node)) continue;
      last = graph.create_copy(*node, outside)->insert_after(last);
    }
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      for (ir::Value* v : (*node)->outputs()) {
        const auto other = outside.find(v);
        if (other == outside.end()) continue;
        active_.note_replaced(v, other->second);
        replace_value(v, other->second);
      }
      (*node)->destroy();
    }
  }

  const std::vector<ir::Node*> nodes_;
  const std::set<const ir::Node*> members_;
  Activity& active_;
  std::set<ir::Value*, ById> outputs_;
  std::set<const ir::Node*> repeated_;
  std::vector<ir::Value*> inputs_;
};

class Finder {
 public:
  explicit Finder(const ir::Graph& graph) : active_(graph, std::vector<bool>(graph.inputs().size(), true)) {}

  bool visit(const ir::Block& block) {
    std::vector<ir::Node*> run;
    for (ir::Node* node : block.nodes()) {
      if (node->is(ir::kind::Constant) || node->is(ir::kind::Uninitialized)) continue;
      if (node->is(ir::kind::GetAttr) && !run.empty()) {
        node->move_before(run.front());  // objects are not made in regions
        continue;
      }
      if (!node->is(differentiable_graph()) && !ir::may_write(*node) && is_differentiable(*node, active_) &&
          has_its_lists(*node, run)) {
        run.push_back(node);
        continue;
      }
      finish(run);
      for (const ir::Block* inner : node->blocks()) visit(*inner);
    }
    finish(run);
    return changed_;
  }

 private:
  // Gradients of a list go to the tensors in it, which only the node that makes the list knows: both are in one region.
  bool has_its_lists(const ir::Node& node, const std::vector<ir::Node*>& run) const {
    return std::none_of(node.inputs().begin(), node.inputs().end(), [&](const ir::Value* v) {
      return active_(v) && is_tensor_list(v->type()) && std::find(run.rbegin(), run.rend(), v->node()) == run.rend();
    });
  }

  size_t operators(const ir::Node& node) const {
    size_t count = node.op() && active_.any_output(node) && !node.op()->has(Trait::view);
    for (const ir::Block* block : node.blocks()) {
      each_node(*block, [&](ir::Node& inner) {
        count += inner.op() && active_.any_output(inner) && !inner.op()->has(Trait::view);
      });
    }
    return count;
  }

  void finish(std::vector<ir::Node*>& run) {
    std::vector<ir::Node*> nodes;
    nodes.swap(run);
    // Without what gradients do not flow through, at both ends.
    while (!nodes.empty() && !active_.any_output(*nodes.back())) nodes.pop_back();
    const auto first =
        std::find_if(nodes.begin(), nodes.end(), [&](const ir::Node* n) { return active_.any_output(*n); });
    nodes.erase(nodes.begin(), first);
    size_t count = 0;
    for (const ir::Node* node : nodes) count += operators(*node);
    if (count >= kFewest) changed_ |= Region(std::move(nodes), active_).make();
  }

  Activity active_;
  bool changed_ = false;
};

}  // namespace

bool create_autodiff_subgraphs(ir::Graph& graph) { return Finder(graph).visit(*graph.block()); }

}  // namespace sconce::passes
