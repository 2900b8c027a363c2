#include "sconce/ir/verifier.h"

#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/ir/resolve.h"

namespace sconce::ir {
namespace {

// The node as one line of text.
std::string node_text(const Node& node) {
  std::string out;
  for (const Value* v : node.outputs()) {
    out += (out.empty() ? "%" : ", %") + v->name() + " : " + v->type()->to_string();
  }
  out += " = " + node.kind().text() + "(";
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    out += (i ? ", %" : "%") + node.input(i)->name() + " : " + node.input(i)->type()->to_string();
  }
  out += ")";
  if (node.range()) out += " # " + node.range().to_string();
  return out;
}

template <class... Args>
[[noreturn]] void wrong(const Node& node, std::string_view format, const Args&... args) {
  fail_as(ErrorKind::internal, "the graph is wrong: {}\n  {}", format_message(format, {ErrorArg(args)...}),
          node_text(node));
}

std::string type_list(const Node& node) {
  std::string out;
  for (const Value* v : node.inputs()) out += (out.empty() ? "" : ", ") + v->type()->to_string();
  return "(" + out + ")";
}

// May a value of type `from` arrive where `to` is declared? An empty optional or a value on a path that is never taken
// is a subtype by itself; refinements of tensors may be forgotten and promised.
bool may_flow(TypePtr from, TypePtr to) {
  return is_subtype(from, to) || (from->is(TypeKind::tensor) && to->is(TypeKind::tensor)) ||
         (from->is(TypeKind::class_) && to->is(TypeKind::interface));
}

// How many inputs and outputs kinds without a schema have, and the attribute that they need.
struct Shape {
  Symbol kind;
  size_t min_inputs, max_inputs, outputs;
  const char* name = nullptr;  // a text
};
constexpr size_t kAny = ~size_t{0};
constexpr Shape kShapes[] = {
    {kind::Uninitialized, 0, 0, 1},   {kind::CreateObject, 0, 0, 1},         {kind::unchecked_cast, 1, 1, 1},
    {kind::isinstance, 1, 1, 1},      {kind::TupleUnpack, 1, 1, kAny},       {kind::ListUnpack, 1, 1, kAny},
    {kind::TupleIndex, 2, 2, 1},      {kind::TupleSlice, 1, 1, 1},           {kind::DictConstruct, 0, kAny, 1},
    {kind::GetAttr, 1, 1, 1, "name"}, {kind::SetAttr, 2, 2, 0, "name"},      {kind::CallMethod, 1, kAny, 1, "name"},
    {kind::CallFunction, 1, kAny, 1}, {kind::ModuleContainerIndex, 2, 2, 1},
};

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() { check_block(*graph_.block()); }

 private:
  void check_block(const Block& block) {
    std::vector<const Value*> here;
    const auto define = [&](const Node& node) {
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        const Value* v = node.output(i);
        if (v->node() != &node || v->offset() != i) wrong(node, "output {} belongs to another node", i);
        if (!v->type()) wrong(node, "output {} has no type", i);
        visible_.insert(v);
        here.push_back(v);
      }
    };
    if (block.graph() != &graph_) wrong(*block.param_node(), "the block belongs to another graph");
    define(*block.param_node());
    for (const Node* node : block.nodes()) {
      if (node->block() != &block || node->next()->prev() != node) wrong(*node, "it is not linked into its block");
      if (node->graph() != &graph_) wrong(*node, "it belongs to another graph");
      check_inputs(*node);
      for (const Block* inner : node->blocks()) check_block(*inner);
      check_kind(*node);
      define(*node);
      for (const Value* v : node->outputs()) check_uses(*v);
    }
    check_inputs(*block.return_node());
    for (const Value* v : block.inputs()) check_uses(*v);
    for (const Value* v : here) visible_.erase(v);
  }

  void check_inputs(const Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* v = node.input(i);
      if (!visible_.contains(v)) wrong(node, "%{} is used where it is not defined", v->name());
      const std::vector<Use>& uses = v->uses();
      if (uses.size() <= 64 && std::find(uses.begin(), uses.end(), Use{const_cast<Node*>(&node), i}) == uses.end()) {
        wrong(node, "%{} does not know that it is used as input {}", v->name(), i);
      }
    }
  }
  void check_uses(const Value& v) {
    for (const Use& use : v.uses()) {
      if (use.offset >= use.user->inputs().size() || use.user->input(use.offset) != &v) {
        wrong(*v.node(), "%{} has a use that is none", v.name());
      }
    }
  }

  void check_kind(const Node& node) {
    const bool has_blocks = node.is(kind::If) || node.is(kind::Loop);
    if (!has_blocks && !node.blocks().empty()) wrong(node, "it has blocks");
    switch (node.kind().id()) {
      case kind::Load_id:
      case kind::Store_id:
      case kind::ReturnStmt_id:
      case kind::BreakStmt_id:
      case kind::ContinueStmt_id:
      case kind::LoopContinuation_id:
      case kind::EmptyListLiteral_id:
      case kind::Closure_id:
        wrong(node, "{} is for the frontend only", node.kind().text());
      case kind::If_id:
        return check_if(node);
      case kind::Loop_id:
        return check_loop(node);
      case kind::Constant_id:
        return check_constant(node);
      case kind::TupleConstruct_id:
        return check_tuple(node);
      case kind::ListConstruct_id:
        return check_list(node);
      case kind::fork_id:
      case kind::awaitable_id:
        return check_fork(node);
      default:
        check_shape(node);
        if (node.op()) {
          check_op(node);
        } else if (node.kind().space() != "prim" && !is_call(node)) {
          wrong(node, "no overload of {} takes {}", node.kind().text(), type_list(node));
        }
    }
  }

  void check_shape(const Node& node) {
    for (const Shape& shape : kShapes) {
      if (!node.is(shape.kind)) continue;
      const size_t inputs = node.inputs().size();
      if (inputs < shape.min_inputs || inputs > shape.max_inputs) {
        wrong(node, "{} inputs, expected {}", inputs, inputs < shape.min_inputs ? shape.min_inputs : shape.max_inputs);
      }
      if (shape.outputs != kAny) check_count(node, "outputs", node.outputs().size(), shape.outputs);
      if (shape.name) check_attribute<sconce::Value>(node, shape.name, &sconce::Value::is_string);
    }
    if (node.is(kind::isinstance)) check_attribute<std::vector<TypePtr>>(node, "types");
    if (node.is(kind::TupleSlice)) {
      check_attribute<sconce::Value>(node, "beg", &sconce::Value::is_int);
      check_attribute<sconce::Value>(node, "end", &sconce::Value::is_int);
    }
    const bool takes_tuple = node.is(kind::TupleUnpack) || node.is(kind::TupleIndex) || node.is(kind::TupleSlice);
    if (takes_tuple && !node.input()->type()->is(TypeKind::tuple)) wrong(node, "%{} is no tuple", node.input()->name());
    if (node.is(kind::TupleUnpack)) {
      check_count(node, "outputs", node.outputs().size(), node.input()->type()->contained().size());
    }
    if (node.is(kind::DictConstruct)) check_dict(node);
  }

  template <class T>
  void check_attribute(const Node& node, const char* name, bool (T::*is_right)() const = nullptr) {
    const AttributeValue* v = node.attribute(name);
    const T* value = v ? std::get_if<T>(v) : nullptr;
    if (!value || (is_right && !(value->*is_right)())) wrong(node, "it needs an attribute '{}'", name);
  }

  void check_dict(const Node& node) {
    const TypePtr type = node.output()->type();
    if (!type->is(TypeKind::dict)) wrong(node, "it makes no {}", type->to_string());
    if (node.inputs().size() % 2 != 0) wrong(node, "a key without a value");
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!may_flow(node.input(i)->type(), type->contained()[i % 2])) {
        wrong(node, "%{} must be of type {}", node.input(i)->name(), type->contained()[i % 2]->to_string());
      }
    }
  }

  void check_fork(const Node& node) {
    check_attribute<std::shared_ptr<Graph>>(node, "Subgraph");
    const Graph& body = node.graph_attribute("Subgraph");
    check_count(node, "inputs", node.inputs().size(), body.inputs().size());
    check_count(node, "outputs", node.outputs().size(), 1);
    check_count(node, "outputs of its graph", body.outputs().size(), 1);
    for (size_t i = 0; i < node.inputs().size(); ++i) check_flow(node, node.input(i), body.inputs()[i]);
    Verifier(body).run();
  }

  void check_count(const Node& node, std::string_view what, size_t got, size_t wanted) {
    if (got != wanted) wrong(node, "{} {}, expected {}", got, what, wanted);
  }
  void check_flow(const Node& node, const Value* from, const Value* to) {
    if (!may_flow(from->type(), to->type())) {
      wrong(node, "%{} of type {} goes to %{} of type {}", from->name(), from->type()->to_string(), to->name(),
            to->type()->to_string());
    }
  }
  void check_type(const Node& node, const Value* v, TypePtr type) {
    if (!is_subtype(v->type(), type)) {
      wrong(node, "%{} must be of type {}, is {}", v->name(), type->to_string(), v->type()->to_string());
    }
  }

  void check_if(const Node& node) {
    check_count(node, "inputs", node.inputs().size(), 1);
    check_type(node, node.input(), bool_type());
    check_count(node, "blocks", node.blocks().size(), 2);
    for (const Block* block : node.blocks()) {
      check_count(node, "inputs of a block", block->inputs().size(), 0);
      check_count(node, "outputs of a block", block->outputs().size(), node.outputs().size());
      for (size_t i = 0; i < node.outputs().size(); ++i) check_flow(node, block->outputs()[i], node.output(i));
    }
  }

  void check_loop(const Node& node) {
    check_count(node, "blocks", node.blocks().size(), 1);
    const Block& body = *node.block_at(0);
    const size_t carried = node.outputs().size();
    check_count(node, "inputs", node.inputs().size(), carried + 2);
    check_count(node, "inputs of its block", body.inputs().size(), carried + 1);
    check_count(node, "outputs of its block", body.outputs().size(), carried + 1);
    check_type(node, node.input(0), int_type());
    check_type(node, node.input(1), bool_type());
    check_type(node, body.outputs()[0], bool_type());
    check_type(node, body.inputs()[0], int_type());
    for (size_t i = 0; i < carried; ++i) {
      check_flow(node, node.input(i + 2), body.inputs()[i + 1]);
      check_flow(node, body.outputs()[i + 1], body.inputs()[i + 1]);
      check_flow(node, body.outputs()[i + 1], node.output(i));
      check_flow(node, node.input(i + 2), node.output(i));
    }
  }

  void check_constant(const Node& node) {
    check_count(node, "inputs", node.inputs().size(), 0);
    check_count(node, "outputs", node.outputs().size(), 1);
    const TypePtr type = node.output()->type();
    if (type->is(TypeKind::function)) return;
    const std::optional<sconce::Value> v = constant_value(node.output());
    if (!v) wrong(node, "a constant without a value");
    if (!may_flow(v->type(), type)) wrong(node, "its value is of type {}", v->type()->to_string());
  }

  void check_tuple(const Node& node) {
    check_count(node, "outputs", node.outputs().size(), 1);
    const TypePtr type = node.output()->type();
    if (!type->is(TypeKind::tuple)) wrong(node, "it makes no {}", type->to_string());
    check_count(node, "inputs", node.inputs().size(), type->contained().size());
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!may_flow(node.input(i)->type(), type->contained()[i])) {
        wrong(node, "element {} must be of type {}", i, type->contained()[i]->to_string());
      }
    }
  }

  void check_list(const Node& node) {
    check_count(node, "outputs", node.outputs().size(), 1);
    const TypePtr type = node.output()->type();
    if (!type->is(TypeKind::list)) wrong(node, "it makes no {}", type->to_string());
    for (const Value* v : node.inputs()) {
      if (!may_flow(v->type(), type->element())) {
        wrong(node, "%{} must be of type {}", v->name(), type->element()->to_string());
      }
    }
  }

  void check_op(const Node& node) {
    const Schema& schema = node.op()->schema();
    std::vector<TypePtr> types;
    for (const Value* v : node.inputs()) types.push_back(v->type());
    if (node.kind().text() != schema.name) wrong(node, "its operator is {}", schema.qualified_name());
    if (!match_types(schema, types)) wrong(node, "its inputs do not fit {}", schema.to_string());
    if (!schema.is_varret) check_count(node, "outputs", node.outputs().size(), schema.returns.size());
  }

  const Graph& graph_;
  std::unordered_set<const Value*> visible_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace sconce::ir
