#include "sconce/tracing/scopes.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/passes/passes.h"
#include "sconce/tracing/tracer.h"
#include "sconce/types/class_info.h"

namespace sconce::tracing {

const ir::Symbol kTracedAttribute("prim::TracedAttr"), kTracedCall("prim::TracedModuleForward");

namespace {

bool is_below(std::string_view path, std::string_view scope) {
  return path.size() > scope.size() && path.starts_with(scope) && path[scope.size()] == '.';
}

// Every use of an attribute becomes a chain of prim::GetAttr from the `self` of the innermost module that holds it. A
// module that uses an attribute of one around it gets it as an argument.
class AttributeReads {
 public:
  explicit AttributeReads(ir::Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<ir::Node*> attributes;
    for (ir::Node* node : graph_.nodes()) {
      if (!node->is(kTracedAttribute)) continue;
      attributes.push_back(node);
      by_path_[node->string_attribute("scope")] = node->output();
    }
    add_selves(*graph_.block());
    read_in(*graph_.block(), "__module", graph_.inputs()[0]);
    for (ir::Node* node : attributes) node->destroy();
  }

 private:
  // A call's module is its first input, and the `self` of its block.
  void add_selves(ir::Block& block) {
    for (ir::Node* node : block.nodes()) {
      if (!node->is(kTracedCall)) continue;
      ir::Value* module = by_path_.at(node->string_attribute("scope"));
      node->add_input(module);
      node->block_at(0)->add_input(module->type(), "self");
      add_selves(*node->block_at(0));
    }
  }

  // Gives the attributes that only a module further out has.
  std::vector<ir::Value*> read_in(ir::Block& block, const std::string& scope, ir::Value* self) {
    std::vector<ir::Value*> from_outside;
    std::unordered_map<ir::Value*, ir::Value*> read;
    const auto replace = [&](ir::Node& node, size_t i) {
      ir::Value* used = node.input(i);
      if (!used->node()->is(kTracedAttribute)) return;
      auto [found, is_new] = read.try_emplace(used);
      if (is_new) {
        const std::string& path = used->node()->string_attribute("scope");
        if (is_below(path, scope)) {
          found->second = chain(block, self, std::string_view(path).substr(scope.size() + 1));
        } else {
          found->second = block.add_input(used->type());
          from_outside.push_back(used);
        }
      }
      node.set_input(i, found->second);
    };
    const auto visit = [&](ir::Node& node) {
      if (node.is(kTracedCall)) {
        ir::Block& inner = *node.block_at(0);
        for (ir::Value* v : read_in(inner, node.string_attribute("scope"), inner.inputs()[0])) node.add_input(v);
      }
      for (size_t i = 0; i < node.inputs().size(); ++i) replace(node, i);
    };
    for (ir::Node* node : block.nodes()) visit(*node);
    visit(*block.return_node());
    return from_outside;
  }

  // Reads stand at the start of the block, the latest first.
  ir::Value* chain(ir::Block& block, ir::Value* self, std::string_view path) {
    ir::Node* before = block.first();
    while (true) {
      const size_t dot = path.find('.');
      const std::string name(path.substr(0, dot));
      ir::Node* read = graph_.create(ir::kind::GetAttr, {self}, 1);
      read->set_attribute("name", Value(name));
      const ClassInfo& info = *self->type()->class_info();
      const int slot = info.find(name);
      SCONCE_ASSERT(slot >= 0);
      read->output()->set_type(info.attributes[static_cast<size_t>(slot)].type);
      read->output()->set_name(name[0] >= '0' && name[0] <= '9' ? "_" + name : name);
      read->insert_before(before);
      self = read->output();
      if (dot == std::string_view::npos) return self;
      path.remove_prefix(dot + 1);
    }
  }

  ir::Graph& graph_;
  std::unordered_map<std::string, ir::Value*> by_path_;
};

// Values that are used outside of the block that makes them become results of the calls around it.
class ResultsOfCalls {
 public:
  void run(ir::Block& block) {
    for (ir::Node* node : block.nodes()) visit(*node, block);
    visit(*block.return_node(), block);
  }

 private:
  static bool holds(const ir::Block* outer, const ir::Block* inner) {
    for (; inner; inner = inner->owner() ? inner->owner()->block() : nullptr) {
      if (inner == outer) return true;
    }
    return false;
  }
  void visit(ir::Node& node, ir::Block& block) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      ir::Value* used = node.input(i);
      if (const auto found = lifted_.find(used); found != lifted_.end()) used = found->second;
      ir::Value* before = used;
      while (!holds(used->node()->block(), &block)) {
        ir::Block& made_in = *used->node()->block();
        made_in.add_output(used);
        used = made_in.owner()->add_output(used->type());
      }
      if (used != before) {
        lifted_[before] = used;
        lifted_[node.input(i)] = used;
      }
      if (used != node.input(i)) node.set_input(i, used);
    }
    if (node.is(kTracedCall)) run(*node.block_at(0));
  }

  std::unordered_map<ir::Value*, ir::Value*> lifted_;
};

// A call has one result: a tuple of several, None of none.
void give_one_result(ir::Graph& graph, ir::Block& block) {
  for (ir::Node* node : block.nodes()) {
    if (!node->is(kTracedCall)) continue;
    ir::Block& inner = *node->block_at(0);
    give_one_result(graph, inner);
    const std::vector<ir::Value*> results = inner.outputs();
    if (results.size() == 1) continue;
    if (results.empty()) {
      ir::Node* none = graph.create_constant({});
      inner.append(none);
      inner.add_output(none->output());
      node->add_output(none_type());
      continue;
    }
    std::vector<TypePtr> types;
    for (const ir::Value* v : results) types.push_back(v->type());
    ir::Node* tuple = graph.create(ir::kind::TupleConstruct, results, 1);
    tuple->output()->set_type(tuple_type(types));
    inner.append(tuple);
    while (!inner.outputs().empty()) inner.remove_output(inner.outputs().size() - 1);
    inner.add_output(tuple->output());
    ir::Value* all = node->add_output(tuple->output()->type());
    ir::Node* unpack = graph.create(ir::kind::TupleUnpack, {all}, results.size());
    unpack->insert_after(node);
    for (size_t i = results.size(); i-- > 0;) {
      unpack->output(i)->set_type(node->output(i)->type());
      node->output(i)->replace_all_uses_with(unpack->output(i));
      node->remove_output(i);
    }
  }
}

void clean_up(ir::Graph& graph) {
  passes::lower_simple_tuples(graph);
  passes::dead_code(graph);
  passes::normalize_ops(graph);
}

// What the block uses of the blocks around it, in the order of use.
std::vector<ir::Value*> used_from_outside(const ir::Block& block) {
  std::vector<ir::Value*> found;
  std::unordered_set<const ir::Value*> seen;
  const auto look = [&](const ir::Node& node) {
    for (ir::Value* v : node.inputs()) {
      if (v->node()->block() != &block && seen.insert(v).second) found.push_back(v);
    }
  };
  for (const ir::Node* node : block.nodes()) look(*node);
  look(*block.return_node());
  return found;
}

ir::Function* define_method(TypePtr type, const std::shared_ptr<ir::Graph>& graph, ir::CompilationUnit& unit) {
  std::string name = "forward";
  for (int i = 1; type->class_info()->find_method(name); ++i) name = "forward" + std::to_string(i);
  clean_up(*graph);
  return &define_traced(unit, type->name() + "." + name, graph, type);
}

// The block of each call becomes a graph of its own, an attribute of the node; what it uses from outside are arguments.
void blocks_to_graphs(ir::Block& block) {
  for (ir::Node* node : block.nodes()) {
    if (!node->is(kTracedCall)) continue;
    ir::Block& inner = *node->block_at(0);
    blocks_to_graphs(inner);
    auto method = std::make_shared<ir::Graph>();
    ir::Block::ValueMap map;
    const auto add_input = [&](const ir::Value* v) {
      map[v] = method->add_input(v->type(), v->has_name() ? v->name() : std::string());
    };
    for (const ir::Value* v : inner.inputs()) add_input(v);
    for (ir::Value* v : used_from_outside(inner)) {
      add_input(v);
      node->add_input(v);
    }
    for (const ir::Node* n : inner.nodes()) method->insert(method->create_copy(*n, map));
    for (const ir::Value* v : inner.outputs()) method->add_output(map.at(v));
    node->set_attribute("Subgraph", method);
    node->remove_block(0);
  }
}

void graphs_to_methods(ir::Graph& graph, ir::CompilationUnit& unit) {
  for (ir::Node* node : graph.nodes()) {
    if (!node->is(kTracedCall)) continue;
    const auto method = std::get<std::shared_ptr<ir::Graph>>(*node->attribute("Subgraph"));
    graphs_to_methods(*method, unit);
    ir::Function* f = define_method(node->input(0)->type(), method, unit);
    ir::Node* call = graph.create(ir::kind::CallMethod, node->inputs(), 1);
    call->set_attribute("name", Value(f->short_name()));
    call->set_callee(f);
    call->output()->set_type(f->schema().returns.at(0).type);
    call->insert_before(node);
    node->output()->replace_all_uses_with(call->output());
    node->destroy();
  }
}

// Without a module to hold methods, what a block has is put in its place.
void open_blocks(ir::Block& block) {
  for (ir::Node* node : block.nodes()) {
    if (!node->is(kTracedCall)) continue;
    ir::Block& inner = *node->block_at(0);
    open_blocks(inner);
    for (ir::Node* n : inner.nodes()) n->move_before(node);
    if (!node->outputs().empty()) node->output()->replace_all_uses_with(inner.outputs()[0]);
    node->destroy();
  }
}

}  // namespace

void scopes_to_methods(const std::shared_ptr<ir::Graph>& graph, ir::CompilationUnit* unit) {
  if (unit) AttributeReads(*graph).run();
  ResultsOfCalls().run(*graph->block());
  give_one_result(*graph, *graph->block());
  if (unit) {
    blocks_to_graphs(*graph->block());
    graphs_to_methods(*graph, *unit);
  } else {
    open_blocks(*graph->block());
  }
  clean_up(*graph);
}

}  // namespace sconce::tracing
