#include "sconce/ir/graph.h"

#include <algorithm>

namespace sconce::ir {

// ---- values ----

std::string Value::name() const { return name_.empty() ? std::to_string(id_) : name_; }

std::string_view Value::base_name() const {
  const std::string_view name = name_;
  const size_t dot = name.rfind('.');
  if (dot == name.npos || dot + 1 == name.size()) return name;
  const std::string_view suffix = name.substr(dot + 1);
  const bool digits = std::all_of(suffix.begin(), suffix.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? name.substr(0, dot) : name;
}

Value* Value::set_name(std::string_view name) {
  Graph& graph = *node_->graph();
  if (!name_.empty()) graph.names_.erase(name_);
  name_.clear();
  if (name.empty()) return this;
  SCONCE_CHECK(!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }),
               "a value's name needs more than digits, got '{}'", name);
  name_ = name;
  if (graph.names_.contains(name_)) {
    const std::string base(base_name());
    uint32_t& next = graph.next_suffix_.try_emplace(base, 1).first->second;
    do {
      name_ = base + "." + std::to_string(next);
      next += 2;
    } while (graph.names_.contains(name_));
  }
  graph.names_.emplace(name_, this);
  return this;
}

void Value::set_id(uint32_t id) {
  id_ = id;
  uint32_t& next = node_->graph()->next_id_;
  next = std::max(next, id + 1);
}

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  for (const Use& use : uses_) {
    use.user->inputs_[use.offset] = other;
    other->uses_.push_back(use);
  }
  uses_.clear();
}

void Value::replace_uses_after(const Node* node, Value* other) {
  const std::vector<Use> uses = uses_;
  for (const Use& use : uses) {
    if (use.user != node && node->is_before(use.user)) use.user->set_input(use.offset, other);
  }
}

// ---- nodes ----

void Node::drop_use(size_t offset) {
  std::vector<Use>& uses = inputs_[offset]->uses_;
  const Use use{this, offset};
  // From both ends: those that go one after the other are mostly there, and some values have very many uses.
  size_t at = 0;
  while (uses[at] != use) {
    if (uses[uses.size() - 1 - at] == use) {
      at = uses.size() - 1 - at;
      break;
    }
    ++at;
  }
  uses[at] = uses.back();
  uses.pop_back();
}

Value* Node::add_input(Value* v) { return insert_input(inputs_.size(), v); }

Value* Node::insert_input(size_t at, Value* v) {
  for (size_t i = at; i < inputs_.size(); ++i) {
    std::find(inputs_[i]->uses_.begin(), inputs_[i]->uses_.end(), Use{this, i})->offset = i + 1 + (1u << 30);
  }
  for (size_t i = at; i < inputs_.size(); ++i) {
    std::find(inputs_[i]->uses_.begin(), inputs_[i]->uses_.end(), Use{this, i + 1 + (1u << 30)})->offset = i + 1;
  }
  inputs_.insert(inputs_.begin() + static_cast<ptrdiff_t>(at), v);
  v->uses_.push_back({this, at});
  return v;
}

void Node::set_input(size_t at, Value* v) {
  if (inputs_[at] == v) return;
  drop_use(at);
  inputs_[at] = v;
  v->uses_.push_back({this, at});
}

void Node::remove_input(size_t at) {
  drop_use(at);
  for (size_t i = at + 1; i < inputs_.size(); ++i) {
    std::find(inputs_[i]->uses_.begin(), inputs_[i]->uses_.end(), Use{this, i})->offset = i - 1;
  }
  inputs_.erase(inputs_.begin() + static_cast<ptrdiff_t>(at));
}

void Node::clear_inputs() {
  // The last first: where one value is many of the inputs, its last use is this one.
  for (size_t i = inputs_.size(); i-- > 0;) drop_use(i);
  inputs_.clear();
}

Value* Node::add_output(TypePtr type) { return insert_output(outputs_.size(), type); }

Value* Node::insert_output(size_t at, TypePtr type) {
  Value* v = graph_->make_value(this, at, type);
  outputs_.insert(outputs_.begin() + static_cast<ptrdiff_t>(at), v);
  for (size_t i = at + 1; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
  return v;
}

void Node::remove_output(size_t at) {
  SCONCE_ASSERT(outputs_[at]->uses_.empty());
  graph_->free_value(outputs_[at]);
  outputs_.erase(outputs_.begin() + static_cast<ptrdiff_t>(at));
  for (size_t i = at; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
}

Block* Node::add_block() {
  blocks_.push_back(graph_->make_block(this));
  return blocks_.back();
}

void Node::remove_block(size_t at) {
  graph_->free_block(blocks_[at]);
  blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at));
}

const AttributeValue* Node::attribute(std::string_view name) const {
  for (const auto& [key, v] : attributes_) {
    if (key == name) return &v;
  }
  return nullptr;
}

Node* Node::set_attribute(std::string_view name, AttributeValue v) {
  for (auto& [key, old] : attributes_) {
    if (key == name) {
      old = std::move(v);
      return this;
    }
  }
  attributes_.emplace_back(name, std::move(v));
  return this;
}

void Node::remove_attribute(std::string_view name) {
  std::erase_if(attributes_, [&](const auto& a) { return a.first == name; });
}

namespace {
template <class T>
const T& attribute_as(const Node& node, std::string_view name) {
  const AttributeValue* v = node.attribute(name);
  if (!v || !std::holds_alternative<T>(*v)) {
    fail_as(ErrorKind::internal, "{} has no attribute '{}' of that kind", node.kind().text(), name);
  }
  return std::get<T>(*v);
}
}  // namespace

const sconce::Value& Node::value_attribute(std::string_view name) const {
  return attribute_as<sconce::Value>(*this, name);
}
const std::string& Node::string_attribute(std::string_view name) const { return value_attribute(name).to_string_ref(); }
const std::vector<TypePtr>& Node::types_attribute(std::string_view name) const {
  return attribute_as<std::vector<TypePtr>>(*this, name);
}
Graph& Node::graph_attribute(std::string_view name) const { return *attribute_as<std::shared_ptr<Graph>>(*this, name); }

// Note [Positions]
// Nodes of a block have increasing positions, with gaps, so that "which comes first" is one comparison. A node that is
// inserted takes the middle; if there is no room left, its neighbours move apart: as many as needed to find a stretch
// that is not crowded, which in the long run are few.
namespace {
constexpr int64_t kGap = int64_t{1} << 32;
constexpr int64_t kRoom = int64_t{1} << 12;  // for each node, after neighbours moved apart
}  // namespace

void Node::spread() {
  Node *first = prev_, *last = next_;
  int64_t count = 1;  // nodes between them
  for (int64_t more = 8;; more *= 2) {
    for (int64_t i = 0; i < more; ++i) {
      if (first->prev_) first = first->prev_, ++count;
      if (last->next_) last = last->next_, ++count;
    }
    if (!last->next_) last->position_ = std::max(last->position_, first->position_ + (count + 1) * kGap);
    if (last->position_ - first->position_ > count * kRoom) break;
  }
  const int64_t step = (last->position_ - first->position_) / (count + 1);
  for (Node* n = first->next_; n != last; n = n->next_) n->position_ = n->prev_->position_ + step;
}

Node* Node::insert_after(Node* other) {
  SCONCE_ASSERT(!block_ && other->block_ && other != other->block_->return_node());
  block_ = other->block_;
  prev_ = other;
  next_ = other->next_;
  prev_->next_ = this;
  next_->prev_ = this;
  const int64_t low = prev_->position_, high = next_->position_;
  if (next_ == block_->return_) {
    position_ = low + kGap;
    next_->position_ = position_ + kGap;
  } else if (high - low > 1) {
    position_ = low + (high - low) / 2;
  } else {
    spread();
  }
  return this;
}

Node* Node::insert_before(Node* other) { return insert_after(other->prev_); }

void Node::move_before(Node* other) {
  if (other == this || other->prev_ == this) return;
  unlink();
  insert_before(other);
}

void Node::move_after(Node* other) {
  if (other == this || other->next_ == this) return;
  unlink();
  insert_after(other);
}

void Node::unlink() {
  SCONCE_ASSERT(block_);
  if (graph_->insert_before_ == this) graph_->insert_before_ = next_;
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

void Node::destroy() {
  for (const Value* v : outputs_) SCONCE_ASSERT(v->uses_.empty());
  if (block_) unlink();
  graph_->free_node(this);
}

bool Node::is_before(const Node* other) const {
  // Climb to the common block.
  const auto depth = [](const Node* n) {
    int d = 0;
    for (const Block* b = n->block_; b->owner_; b = b->owner_->block_) ++d;
    return d;
  };
  const Node *a = this, *b = other;
  int da = depth(a), db = depth(b);
  for (; da > db; --da) a = a->block_->owner_;
  for (; db > da; --db) b = b->block_->owner_;
  while (a->block_ != b->block_) {
    // Two blocks of one node: the earlier block comes first.
    if (a->block_->owner_ == b->block_->owner_) {
      const std::vector<Block*>& blocks = a->block_->owner_->blocks_;
      return std::find(blocks.begin(), blocks.end(), a->block_) < std::find(blocks.begin(), blocks.end(), b->block_);
    }
    a = a->block_->owner_;
    b = b->block_->owner_;
  }
  if (a == b) return a == this && b != other;  // a node comes before the nodes inside it
  return a->position_ < b->position_;
}

bool Node::is_inside(const Node* other) const {
  for (const Block* b = block_; b && b->owner_; b = b->owner_->block_) {
    if (b->owner_ == other) return true;
  }
  return false;
}

// ---- blocks ----

Value* Block::add_input(TypePtr type, std::string_view name) {
  Value* v = param_->add_output(type);
  if (!name.empty()) v->set_name(name);
  return v;
}
Value* Block::insert_input(size_t at, TypePtr type) { return param_->insert_output(at, type); }
void Block::remove_input(size_t at) { param_->remove_output(at); }

namespace {
void copy_facts(const Value& from, Value& to) {
  to.set_type(from.type());
  if (from.has_name()) to.set_name(from.name());
}
}  // namespace

void Block::copy_from(const Block& other, ValueMap& map) {
  for (const Value* v : other.inputs()) {
    Value* copy = add_input(v->type());
    copy_facts(*v, *copy);
    map[v] = copy;
  }
  for (const Node* n : other.nodes()) append(graph_->create_copy(*n, map));
  for (Value* v : other.outputs()) {
    const auto found = map.find(v);
    add_output(found == map.end() ? v : found->second);
  }
}

// ---- graphs ----

Graph::Graph() {
  try {
    block_ = make_block(nullptr);
  } catch (...) {
    for (Node* n : nodes_) delete n;
    for (Block* b : blocks_) delete b;
    throw;
  }
  insert_before_ = block_->return_node();
}

Graph::~Graph() {
  for (Node* n : nodes_) delete n;
  for (Value* v : values_) delete v;
  for (Block* b : blocks_) delete b;
}

std::shared_ptr<Graph> Graph::copy() const {
  auto other = std::make_shared<Graph>();
  other->nodes_.reserve(nodes_.size());
  other->values_.reserve(values_.size());
  Block::ValueMap map;
  map.reserve(values_.size());
  other->block_->copy_from(*block_, map);
  return other;
}

template <class T>
T* Graph::own(std::vector<T*>& all, T* made) {
  made->place_ = all.size();
  try {
    all.push_back(made);
  } catch (...) {
    delete made;
    throw;
  }
  return made;
}

template <class T>
void Graph::disown(std::vector<T*>& all, T* gone) {
  all[gone->place_] = all.back();
  all[gone->place_]->place_ = gone->place_;
  all.pop_back();
  delete gone;
}

Value* Graph::make_value(Node* node, size_t offset, TypePtr type) {
  return own(values_, new Value(node, offset, type, next_id_++));
}

Block* Graph::make_block(Node* owner) {
  Block* b = own(blocks_, new Block(this, owner));
  b->param_ = own(nodes_, new Node(this, kind::Param));
  b->return_ = own(nodes_, new Node(this, kind::Return));
  b->param_->block_ = b->return_->block_ = b;
  b->param_->next_ = b->return_;
  b->return_->prev_ = b->param_;
  b->return_->position_ = kGap;
  return b;
}

void Graph::free_value(Value* v) {
  if (!v->name_.empty()) names_.erase(v->name_);
  disown(values_, v);
}

void Graph::free_node(Node* n) {
  n->clear_inputs();
  for (Block* b : n->blocks_) free_block(b);
  for (Value* v : n->outputs_) free_value(v);
  disown(nodes_, n);
}

void Graph::free_block(Block* b) {
  b->return_->clear_inputs();
  // From the end, so that uses go before their values.
  while (!b->empty()) {
    Node* n = b->last();
    n->unlink();
    free_node(n);
  }
  free_node(b->return_);
  free_node(b->param_);
  disown(blocks_, b);
}

Node* Graph::create(Symbol kind, ListRef<Value*> inputs, size_t outputs) {
  Node* n = own(nodes_, new Node(this, kind));
  n->inputs_.reserve(inputs.size());
  n->outputs_.reserve(outputs);
  for (Value* v : inputs) n->add_input(v);
  for (size_t i = 0; i < outputs; ++i) n->add_output(tensor_type());
  return n;
}

Node* Graph::create(const Op& op, ListRef<Value*> inputs) {
  Node* n = create(Symbol(op.info.name), inputs);
  n->set_op(&op);
  for (const Argument& r : op.schema().returns) {
    n->add_output(r.type->is(TypeKind::variable) ? any_type() : plain_type(r.type));
  }
  return n;
}

Node* Graph::create_constant(sconce::Value v, TypePtr type) {
  Node* n = create(kind::Constant, {}, 1);
  n->output()->set_type(type ? type : v.type());
  if (!v.is_none()) n->set_attribute("value", std::move(v));
  return n;
}

Node* Graph::create_copy(const Node& node, Block::ValueMap& map) {
  Node* copy = create(node.kind());
  copy->inputs_.reserve(node.inputs_.size());
  copy->outputs_.reserve(node.outputs_.size());
  copy->attributes_.reserve(node.attributes_.size());
  for (Value* v : node.inputs()) {
    const auto found = map.find(v);
    copy->add_input(found == map.end() ? v : found->second);
  }
  copy->op_ = node.op_;
  copy->callee_ = node.callee_;
  copy->range_ = node.range_;
  copy->inlined_ = node.inlined_;
  copy->scope_ = node.scope_;
  for (const auto& [name, v] : node.attributes_) {
    const auto* graph = std::get_if<std::shared_ptr<Graph>>(&v);
    copy->attributes_.emplace_back(name, graph ? AttributeValue((*graph)->copy()) : v);
  }
  for (const Block* b : node.blocks_) copy->add_block()->copy_from(*b, map);
  for (const Value* v : node.outputs_) {
    Value* out = copy->add_output(v->type());
    copy_facts(*v, *out);
    map[v] = out;
  }
  return copy;
}

Value* Graph::insert_constant(sconce::Value v, const Range& range, TypePtr type) {
  return insert(create_constant(std::move(v), type)->set_range(range))->output();
}

std::optional<sconce::Value> constant_value(const Value* v) {
  const Node* n = v->node();
  if (!n->is(kind::Constant)) return std::nullopt;
  const AttributeValue* value = n->attribute("value");
  if (!value) return n->attributes().empty() ? std::optional(sconce::Value()) : std::nullopt;
  const auto* plain = std::get_if<sconce::Value>(value);
  return plain ? std::optional(*plain) : std::nullopt;
}

bool is_none(const Value* v) {
  if (v->type()->is(TypeKind::none)) return true;
  const std::optional<sconce::Value> c = constant_value(v);
  return c && c->is_none();
}

}  // namespace sconce::ir
