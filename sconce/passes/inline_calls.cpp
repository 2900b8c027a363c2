// Inlining: calls become the bodies of their callees.
//   %y : Tensor = prim::CallMethod[name="forward"](%linear, %x)
//   =>
//   %w : Tensor = prim::GetAttr[name="weight"](%linear)
//   %b : Tensor = prim::GetAttr[name="bias"](%linear)
//   %y : Tensor = aten::linear(%x, %w, %b)
// for functions and methods that are known, and in their callees. Each node remembers the calls that led to it
// (Node::inlined), so that errors show the same frames as without inlining. Of an If that an argument decides (relu
// with inplace=False) only the branch that is taken comes along.
#include "sconce/base/budget.h"
#include "sconce/ir/function.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// Deeper calls, and what would make the graph larger, stay calls.
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 100'000;
// Where steps are counted, as while a file is loaded: functions that call each other twice grow by powers of two, and
// the passes over their nodes would take longer than the steps that are left.
constexpr size_t kMaxCountedNodes = 10'000;

using Chain = std::shared_ptr<const ir::InlinedCall>;

ir::Function* callee_of(const ir::Node& node) {
  if (node.is(ir::kind::CallFunction)) return node.callee();
  if (!node.is(ir::kind::CallMethod)) return nullptr;
  if (node.callee()) return node.callee();
  return ir::find_method(node.input()->type(), node.string_attribute("name"));  // an interface that became a class
}

// The attributes that lead from the graph's first input to an object: "layer1.0". Empty when it comes another way.
std::string path_of(const ir::Value* object) {
  std::string path;
  for (; object->node()->is(ir::kind::GetAttr); object = object->node()->input()) {
    const std::string& name = object->node()->string_attribute("name");
    path = path.empty() ? name : name + "." + path;
  }
  const bool is_self = object->node()->is(ir::kind::Param) && object->offset() == 0;
  return is_self ? path : std::string();
}

std::string join_paths(const std::string& outer, const std::string& inner) {
  return outer.empty() || inner.empty() ? outer + inner : outer + "." + inner;
}

// The chains of one body (it may have been inlined into before), continued by the call that it is inlined for. Nodes
// that share a chain go on sharing it: a chain is a call.
class Chains {
 public:
  explicit Chains(Chain call) : call_(std::move(call)) {}

  void add_to(ir::Node& node) {
    node.set_inlined(joined(node.inlined()));
    for (const ir::Block* block : node.blocks()) {
      for (ir::Node* inner : block->nodes()) add_to(*inner);
    }
  }

 private:
  Chain joined(const Chain& inner) {
    if (!inner) return call_;
    const auto known = joined_.find(inner.get());
    if (known != joined_.end()) return known->second;
    ir::InlinedCall made{inner->function, inner->call, joined(inner->outer), join_paths(call_->object, inner->object)};
    return joined_[inner.get()] = std::make_shared<ir::InlinedCall>(std::move(made));
  }

  Chain call_;
  std::unordered_map<const ir::InlinedCall*, Chain> joined_;
};

class Inliner {
 public:
  bool changed = false;

  // Nodes from `first` up to, not including, `end`.
  void run(ir::Node* first, const ir::Node* end, size_t depth) {
    for (ir::Node *node = first, *next; node != end; node = next) {
      next = node->next();
      for (const ir::Block* block : node->blocks()) run(block->first(), block->return_node(), depth);
      ir::Function* callee = callee_of(*node);
      if (!callee || depth >= kMaxDepth || !fits(*node, *callee)) continue;
      ir::Node* before = node->prev();
      splice(*node, *callee);
      run(before->next(), next, depth + 1);
    }
  }

 private:
  static size_t first_argument(const ir::Node& call) { return call.is(ir::kind::CallFunction) ? 1 : 0; }

  bool fits(const ir::Node& call, ir::Function& callee) {
    if (!callee.has_graph()) return false;  // a method of C++
    const std::shared_ptr<ir::Graph>& body = callee.graph();
    if (!body || body->inputs().size() != call.inputs().size() - first_argument(call)) return false;
    if (body->outputs().size() != call.outputs().size()) return false;
    nodes_ += count_nodes(*body->block());
    return nodes_ <= max_nodes_;
  }

  void splice(ir::Node& call, ir::Function& callee) {
    const ir::Graph& body = *callee.graph();
    std::string object = call.is(ir::kind::CallMethod) ? path_of(call.input()) : std::string();
    Chains chains(std::make_shared<ir::InlinedCall>(
        ir::InlinedCall{callee.name(), call.range(), call.inlined(), std::move(object)}));
    ir::Block::ValueMap map;
    for (size_t i = 0; i < body.inputs().size(); ++i) map[body.inputs()[i]] = call.input(i + first_argument(call));
    copy_nodes(*body.block(), call, map, chains);
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      ir::Value *out = call.output(i), *result = map.at(body.outputs()[i]);
      out->replace_all_uses_with(result);
      // The caller's name says more.
      if (!out->has_name() || body.outputs()[i]->node()->is(ir::kind::Param)) continue;
      const std::string name = out->name();
      out->set_name("");
      result->set_name(name);
    }
    call.destroy();
    changed = true;
  }

  void copy_nodes(const ir::Block& from, ir::Node& call, ir::Block::ValueMap& map, Chains& chains) {
    for (const ir::Node* node : from.nodes()) {
      if (node->is(ir::kind::If)) {
        const auto condition = map.find(node->input());
        if (const std::optional<bool> known = constant_bool(condition->second)) {
          const ir::Block& taken = *node->block_at(*known ? 0 : 1);
          copy_nodes(taken, call, map, chains);
          for (size_t i = 0; i < node->outputs().size(); ++i) map[node->output(i)] = map.at(taken.outputs()[i]);
          continue;
        }
      }
      ir::Node* copy = call.graph()->create_copy(*node, map)->insert_before(&call);
      chains.add_to(*copy);
    }
  }

  size_t nodes_ = 0;
  const size_t max_nodes_ = Budget::active() && Budget::active()->counts_steps() ? kMaxCountedNodes : kMaxNodes;
};

}  // namespace

bool inline_calls(ir::Graph& graph) {
  Inliner inliner;
  inliner.run(graph.block()->first(), graph.block()->return_node(), 0);
  return inliner.changed;
}

}  // namespace sconce::passes
