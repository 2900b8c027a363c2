// The IR: an SSA graph of nodes over typed values, with nested blocks (regions) for control flow.
//
//   graph(%x : Tensor, %n : int):
//     %one : int = prim::Constant[value=1]()
//     %go : bool = prim::Constant[value=1]()
//     %y : Tensor = prim::Loop(%n, %go, %x)
//       block0(%i : int, %v : Tensor):
//         %w : Tensor = aten::add(%v, %one, %one)
//         -> (%go, %w)
//     return (%y)
//
// Note [SSA and scope]
// A value is defined once: by a node, or as an input of a block. It may be used by later nodes of the same block, and
// in all blocks nested there. prim::If has two blocks without inputs; prim::Loop (max trips, first condition,
// carried...) has one, with inputs (trip number, carried...) and outputs (next condition, carried...).
//
// Ownership: a Graph owns its blocks, nodes and values; pointers stay valid until the node is destroyed. A graph is
// built and changed by one thread; a finished graph may be read by many.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "sconce/base/list_ref.h"
#include "sconce/base/source.h"
#include "sconce/dispatch/op.h"
#include "sconce/ir/symbol.h"
#include "sconce/types/value.h"

namespace sconce::ir {

class Graph;
class Block;
class Node;
class Value;
class Function;

struct Use {
  Node* user;
  size_t offset;  // input `offset` of `user`
  friend bool operator==(const Use&, const Use&) = default;
};

class SCONCE_API Value {
 public:
  TypePtr type() const { return type_; }
  Value* set_type(TypePtr type) {
    type_ = type;
    return this;
  }
  // The node that makes it; for an input of a block, that block's Param node.
  Node* node() const { return node_; }
  size_t offset() const { return offset_; }  // output `offset` of node()
  const std::vector<Use>& uses() const { return uses_; }
  bool has_uses() const { return !uses_.empty(); }

  // "x.1", or its number when it has no name of its own.
  std::string name() const;
  bool has_name() const { return !name_.empty(); }
  // The name without the suffix that keeps it apart: "x" of "x.1".
  std::string_view base_name() const;
  // Takes the name, or name.1, name.3, ... when it is taken in the graph. Digits alone are refused; empty
  // takes it away.
  Value* set_name(std::string_view name);
  uint32_t id() const { return id_; }
  // For readers of text: another number, which no other value of the graph may have.
  void set_id(uint32_t id);

  // Every use becomes a use of `other`.
  void replace_all_uses_with(Value* other);
  // The same, for users after `node` in program order only (in its block or blocks nested in later nodes).
  void replace_uses_after(const Node* node, Value* other);

 private:
  friend class Graph;
  friend class Node;
  friend class Block;
  Value(Node* node, size_t offset, TypePtr type, uint32_t id) : node_(node), offset_(offset), type_(type), id_(id) {}
  Node* node_;
  size_t offset_;
  TypePtr type_;
  uint32_t id_;
  std::string name_;
  std::vector<Use> uses_;
  size_t place_ = 0;  // in the graph's list
};

// An attribute: a constant ("value", "name"), types (isinstance, casts) or a graph (fork, closures).
using AttributeValue = std::variant<sconce::Value, TypePtr, std::vector<TypePtr>, std::shared_ptr<Graph>>;

// Where an inlined node comes from: the call that was replaced, innermost first, as a chain.
struct InlinedCall {
  std::string function;  // the function that was called
  Range call;            // in the caller
  std::shared_ptr<const InlinedCall> outer;
  std::string object;  // whose method it is, as a path from the graph's own self: "layer1.0"; empty when not known
};

class SCONCE_API Node {
 public:
  Symbol kind() const { return kind_; }
  bool is(Symbol kind) const { return kind_ == kind; }
  Graph* graph() const { return graph_; }
  Block* block() const { return block_; }  // null when not inserted
  Node* next() const { return next_; }     // the block's return node after the last
  Node* prev() const { return prev_; }

  // The operator that it calls; null for control flow and other kinds without one. Set when the node is made, and kept
  // true by the code that changes inputs (see resolve_op).
  const Op* op() const { return op_; }
  void set_op(const Op* op) { op_ = op; }
  // The function that a CallFunction or a CallMethod of a class calls, if known; null for interfaces.
  Function* callee() const { return callee_; }
  void set_callee(Function* f) { callee_ = f; }

  const std::vector<Value*>& inputs() const { return inputs_; }
  Value* input(size_t i = 0) const { return inputs_.at(i); }
  const std::vector<Value*>& outputs() const { return outputs_; }
  Value* output(size_t i = 0) const { return outputs_.at(i); }
  const std::vector<Block*>& blocks() const { return blocks_; }
  Block* block_at(size_t i) const { return blocks_.at(i); }

  Value* add_input(Value* v);
  Value* insert_input(size_t at, Value* v);
  void set_input(size_t at, Value* v);
  void remove_input(size_t at);
  void clear_inputs();
  Value* add_output(TypePtr type);
  Value* insert_output(size_t at, TypePtr type);
  void remove_output(size_t at);  // it must have no uses
  Block* add_block();
  void remove_block(size_t at);

  const Range& range() const { return range_; }
  Node* set_range(Range range) {
    range_ = std::move(range);
    return this;
  }
  const std::shared_ptr<const InlinedCall>& inlined() const { return inlined_; }
  void set_inlined(std::shared_ptr<const InlinedCall> call) { inlined_ = std::move(call); }
  const std::string& scope() const { return scope_; }  // of traced graphs
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // Attributes, in the order in which they were set.
  const std::vector<std::pair<std::string, AttributeValue>>& attributes() const { return attributes_; }
  const AttributeValue* attribute(std::string_view name) const;  // null when missing
  Node* set_attribute(std::string_view name, AttributeValue v);
  void remove_attribute(std::string_view name);
  // Shorthand that throws Error (internal) when missing or of another kind.
  const sconce::Value& value_attribute(std::string_view name) const;
  const std::string& string_attribute(std::string_view name) const;
  const std::vector<TypePtr>& types_attribute(std::string_view name) const;
  Graph& graph_attribute(std::string_view name) const;

  // Places a new node. insert_before/after also move one that is placed already (move_*).
  Node* insert_before(Node* other);
  Node* insert_after(Node* other);
  void move_before(Node* other);
  void move_after(Node* other);
  void unlink();  // out of its block, still owned by the graph
  // Removes and frees it and its blocks. Outputs must have no uses.
  void destroy();
  bool is_before(const Node* other) const;  // in program order; both placed in the same graph
  // True when this node is in one of `other`'s blocks, at any depth.
  bool is_inside(const Node* other) const;

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  Node(Graph* graph, Symbol kind) : graph_(graph), kind_(kind) {}
  void drop_use(size_t offset);
  void spread();
  Graph* graph_;
  Block* block_ = nullptr;
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
  Symbol kind_;
  const Op* op_ = nullptr;
  Function* callee_ = nullptr;
  int64_t position_ = 0;  // increasing within a block
  std::vector<Value*> inputs_, outputs_;
  std::vector<Block*> blocks_;
  std::vector<std::pair<std::string, AttributeValue>> attributes_;
  Range range_;
  std::shared_ptr<const InlinedCall> inlined_;
  std::string scope_;
  size_t place_ = 0;  // in the graph's list
};

// A range of nodes, safe against destroying the current one.
class NodeList {
 public:
  class Iterator {
   public:
    explicit Iterator(Node* n) : node_(n), next_(n->next()) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_->next();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.node_ == b.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  NodeList(Node* first, Node* end) : first_(first), end_(end) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  bool empty() const { return first_ == end_; }

 private:
  Node* first_;
  Node* end_;
};

class SCONCE_API Block {
 public:
  Graph* graph() const { return graph_; }
  Node* owner() const { return owner_; }  // the If, Loop, ...; null for the graph's own block
  // Two nodes of its own at the ends: outputs of the first are the inputs, inputs of the last the outputs.
  Node* param_node() const { return param_; }
  Node* return_node() const { return return_; }
  const std::vector<Value*>& inputs() const { return param_->outputs(); }
  const std::vector<Value*>& outputs() const { return return_->inputs(); }
  Value* add_input(TypePtr type, std::string_view name = {});
  Value* insert_input(size_t at, TypePtr type);
  void remove_input(size_t at);
  void add_output(Value* v) { return_->add_input(v); }
  void insert_output(size_t at, Value* v) { return_->insert_input(at, v); }
  void remove_output(size_t at) { return_->remove_input(at); }
  NodeList nodes() const { return NodeList(param_->next(), return_); }
  bool empty() const { return param_->next() == return_; }
  Node* first() const { return param_->next(); }  // the return node when empty
  Node* last() const { return return_->prev(); }  // the param node when empty
  void append(Node* n) { n->insert_before(return_); }
  void prepend(Node* n) { n->insert_after(param_); }
  // Copies nodes, inputs and outputs of `other` (of any graph); values from outside it go through `map`.
  using ValueMap = std::unordered_map<const Value*, Value*>;
  void copy_from(const Block& other, ValueMap& map);

 private:
  friend class Graph;
  friend class Node;
  Block(Graph* graph, Node* owner) : graph_(graph), owner_(owner) {}
  Graph* graph_;
  Node* owner_;
  Node* param_ = nullptr;
  Node* return_ = nullptr;
  size_t place_ = 0;  // in the graph's list
};

class SCONCE_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  // A deep copy.
  std::shared_ptr<Graph> copy() const;

  Block* block() const { return block_; }
  const std::vector<Value*>& inputs() const { return block_->inputs(); }
  const std::vector<Value*>& outputs() const { return block_->outputs(); }
  Value* add_input(TypePtr type, std::string_view name = {}) { return block_->add_input(type, name); }
  void add_output(Value* v) { block_->add_output(v); }
  NodeList nodes() const { return block_->nodes(); }

  // A new node, not yet placed.
  Node* create(Symbol kind, ListRef<Value*> inputs = {}, size_t outputs = 0);
  Node* create(const Op& op, ListRef<Value*> inputs);  // outputs and their types from the schema (type variables: Any)
  Node* create_constant(sconce::Value v, TypePtr type = nullptr);  // type: the value's own when null
  // A copy of `node`, its inputs through `map` (identity where it says nothing), its blocks copied.
  Node* create_copy(const Node& node, Block::ValueMap& map);

  // Where insert() puts nodes: before this node. At first the end of the graph's block.
  Node* insert_point() const { return insert_before_; }
  void set_insert_point(Node* before) { insert_before_ = before; }
  void set_insert_point(Block* end_of) { insert_before_ = end_of->return_node(); }
  Node* insert(Node* n) { return n->insert_before(insert_before_); }
  Value* insert_constant(sconce::Value v, const Range& range = {}, TypePtr type = nullptr);

  std::string to_string(bool with_ranges = true) const;

 private:
  friend class Node;
  friend class Block;
  friend class Value;
  template <class T>
  static T* own(std::vector<T*>& all, T* made);
  template <class T>
  static void disown(std::vector<T*>& all, T* gone);
  Value* make_value(Node* node, size_t offset, TypePtr type);
  Block* make_block(Node* owner);
  void free_value(Value* v);
  void free_node(Node* n);
  void free_block(Block* b);
  Block* block_;
  Node* insert_before_;
  uint32_t next_id_ = 0;
  std::unordered_map<std::string, Value*> names_;
  std::unordered_map<std::string, uint32_t> next_suffix_;
  // All that it owns; each knows its place here.
  std::vector<Node*> nodes_;
  std::vector<Value*> values_;
  std::vector<Block*> blocks_;
};

// Sets the insert point for a scope.
class InsertPoint {
 public:
  InsertPoint(Graph& g, Node* before) : graph_(g), saved_(g.insert_point()) { g.set_insert_point(before); }
  InsertPoint(Graph& g, Block* end_of) : InsertPoint(g, end_of->return_node()) {}
  ~InsertPoint() { graph_.set_insert_point(saved_); }
  InsertPoint(const InsertPoint&) = delete;

 private:
  Graph& graph_;
  Node* saved_;
};

// The constant that a value is, when a prim::Constant node makes it (None has no attribute and is None here).
SCONCE_API std::optional<sconce::Value> constant_value(const Value* v);
// True for a prim::Constant of type None, and for values of type NoneType.
SCONCE_API bool is_none(const Value* v);

// The overload of `kind` whose schema takes values of these types, one per argument, as printed graphs give them: exact
// first, then with subtypes. Null when there is none.
SCONCE_API const Op* resolve_op(Symbol kind, ListRef<TypePtr> inputs);
SCONCE_API const Op* resolve_op(const Node& node);

}  // namespace sconce::ir
