// Note [Lite bytecode from graphs]
// Every value of the graph that is not a constant has a register from its definition to its last use, which moves
// it out. The stack is empty between nodes, but for the counters of the loops around them: a node's inputs are
// pushed, the instruction replaces them by its results, these are stored. Values that an If or a Loop uses inside
// live until it ends.
#include "sconce/serialization/lite/lite_compile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/passes/passes.h"
#include "sconce/serialization/archive/portable_checks.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

using ir::Block;
using ir::Node;
namespace kind = ir::kind;

bool is_constant(const ir::Value* v) { return v->node()->is(kind::Constant); }

class Registers {
 public:
  // The first of n neighbours.
  int32_t take(size_t n = 1) {
    size_t start = 0;
    for (size_t run = 0, i = 0; run < n; ++i) {
      if (i == busy_.size()) busy_.push_back(false);
      run = busy_[i] ? 0 : run + 1;
      start = i + 1 - run;
    }
    std::fill_n(busy_.begin() + static_cast<std::ptrdiff_t>(start), n, true);
    return static_cast<int32_t>(start) + 1;
  }
  void free(int32_t r) { busy_[static_cast<size_t>(r) - 1] = false; }
  int64_t count() const { return static_cast<int64_t>(busy_.size()); }

 private:
  std::vector<bool> busy_;
};

// Where values are used for the last time, seen from the block that they belong to.
class LastUses {
 public:
  explicit LastUses(const Block* block) { scan(block); }
  const std::vector<const ir::Value*>& at(const Node* node) const {
    static const std::vector<const ir::Value*> none;
    const auto found = last_.find(node);
    return found == last_.end() ? none : found->second;
  }

 private:
  void scan(const Block* block) {
    for (const ir::Value* v : block->inputs()) find(v, block);
    for (const Node* n : block->nodes()) {
      if (!n->is(kind::Constant)) {
        for (const ir::Value* v : n->outputs()) find(v, block);
      }
      for (const Block* inner : n->blocks()) scan(inner);
    }
  }
  void find(const ir::Value* v, const Block* block) {
    const Node* last = nullptr;
    for (const ir::Use& use : v->uses()) {
      const Node* user = use.user;
      while (user->block() != block) user = user->block()->owner();
      if (!last || last->is_before(user)) last = user;
    }
    if (last) last_[last].push_back(v);
  }
  std::unordered_map<const Node*, std::vector<const ir::Value*>> last_;
};

class Compiler {
 public:
  Compiler(ir::Function& function, Compiled& compiled)
      : function_(function), compiled_(compiled), graph_(inlined(function)), last_uses_(graph_->block()) {}

  Method run() {
    m_.name = function_.name();
    store(graph_->inputs());
    nodes(graph_->block());
    if (graph_->outputs().size() != 1) refuse("it returns " + std::to_string(graph_->outputs().size()) + " values");
    node_ = graph_->block()->return_node();
    push_all(node_);
    emit(Opcode::ret);
    m_.registers = registers_.count();
    arguments();
    return std::move(m_);
  }

 private:
  static std::shared_ptr<ir::Graph> inlined(ir::Function& function) {
    std::shared_ptr<ir::Graph> graph = function.graph()->copy();
    passes::inline_calls(*graph);
    make_checks_portable(*graph);
    passes::dead_code(*graph);
    return graph;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    const std::string at = node_ && node_->range() ? "\n" + node_->range().highlight() : std::string();
    fail_as(ErrorKind::not_implemented, "method '{}' cannot be saved for the lite interpreter: {}{}", function_.name(),
            why, at);
  }

  // ---- instructions ----
  size_t emit(Opcode op, int64_t x = 0, size_t n = 0) {
    if (n > std::numeric_limits<uint16_t>::max()) refuse("an instruction with " + std::to_string(n) + " values");
    m_.instructions.push_back({op, static_cast<int32_t>(x), static_cast<uint16_t>(n)});
    m_.debug_handles.push_back(handle());
    return m_.instructions.size() - 1;
  }
  // Instructions of one node share a handle.
  int64_t handle() {
    if (node_ != handled_ || compiled_.places.empty()) {
      handled_ = node_;
      if (node_) compiled_.places.push_back({node_->kind().text(), node_->range(), node_->inlined()});
      if (!node_) compiled_.places.push_back({"prim::Param", {}, {}});
    }
    return static_cast<int64_t>(compiled_.places.size()) - 1;
  }
  void land(size_t jump) { m_.instructions[jump].x = static_cast<int32_t>(m_.instructions.size() - jump); }
  int64_t constant(const Value& v) {
    if (v.is_string()) return indexed(texts_, v.to_string_ref(), v);
    return indexed(constants_, std::pair(v.tag(), v.bits()), v);
  }
  template <class Map, class Key>
  int64_t indexed(Map& map, const Key& key, const Value& v) {
    const auto [found, fresh] = map.try_emplace(key, static_cast<int64_t>(m_.constants.size()));
    if (fresh) m_.constants.push_back(v);
    return found->second;
  }
  int64_t type(TypePtr t) {
    check_type(t);
    m_.types.push_back(type_text(t));
    return static_cast<int64_t>(m_.types.size()) - 1;
  }
  void check_type(TypePtr t) const {
    if (is_custom_class(t)) return;
    if (t->is(TypeKind::class_) || t->is(TypeKind::interface) || t->is(TypeKind::enum_) || t->is(TypeKind::union_)) {
      refuse("type '" + t->annotation() + "'");
    }
    for (TypePtr inner : t->contained()) check_type(inner);
  }
  int64_t operator_row(const Op& op, std::optional<int64_t> specified) {
    const auto [found, fresh] =
        operators_.try_emplace({op.qualified_name(), specified}, static_cast<int64_t>(m_.operators.size()));
    if (fresh) m_.operators.push_back({op.info.name, op.info.overload, specified});
    return found->second;
  }

  // ---- values ----
  void push(const ir::Value* v, bool moves) {
    if (const std::optional<Value> c = constant_value(v)) {
      if (c->tag() == Tag::enum_) refuse("a constant of type '" + v->type()->annotation() + "'");
      emit(Opcode::loadc, constant(*c));
      return;
    }
    const int32_t r = places_.at(v);
    // A value that was stored just now and is not needed again stays on the stack.
    const Instruction* last = m_.instructions.empty() ? nullptr : &m_.instructions.back();
    if (moves && last && last->op == Opcode::store && last->x == r) {
      m_.instructions.pop_back();
      m_.debug_handles.pop_back();
    } else {
      emit(moves ? Opcode::move : Opcode::load, r);
    }
    if (!moves) return;
    registers_.free(r);
    places_.erase(v);
  }
  // The inputs in [from, to); those that die here are moved by their last push. Pushes of one node come in order.
  void push_inputs(const Node* n, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      const ir::Value* v = n->input(i);
      const bool again = std::find(n->inputs().begin() + static_cast<std::ptrdiff_t>(i) + 1, n->inputs().end(), v) !=
                         n->inputs().end();
      push(v, !again && dies_in_inputs(v, n));
    }
  }
  void push_all(const Node* n) { push_inputs(n, 0, n->inputs().size()); }
  bool dies_in_inputs(const ir::Value* v, const Node* n) const {
    const std::vector<const ir::Value*>& dying = last_uses_.at(n);
    if (std::find(dying.begin(), dying.end(), v) == dying.end()) return false;
    return std::none_of(v->uses().begin(), v->uses().end(),
                        [&](const ir::Use& use) { return use.user != n && use.user->is_inside(n); });
  }
  void store(const std::vector<ir::Value*>& values) {
    if (values.empty()) return;
    if (values.size() == 1 && !values[0]->has_uses()) {
      emit(Opcode::drop);
      return;
    }
    const int32_t first = registers_.take(values.size());
    values.size() == 1 ? emit(Opcode::store, first) : emit(Opcode::storen, first, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t r = first + static_cast<int32_t>(i);
      places_[values[i]] = r;
      if (!values[i]->has_uses()) drop(values[i]);
    }
  }
  void drop(const ir::Value* v) {
    const auto found = places_.find(v);
    if (found == places_.end()) return;  // moved, or a constant
    emit(Opcode::dropr, found->second);
    registers_.free(found->second);
    places_.erase(found);
  }

  // ---- nodes ----
  void nodes(const Block* block) {
    for (const Node* n : block->nodes()) {
      if (n->is(kind::Constant)) continue;
      node_ = n;
      node(n);
      for (const ir::Value* v : last_uses_.at(n)) drop(v);
    }
  }

  void node(const Node* n) {
    switch (n->kind().id()) {
      case kind::If_id:
        return if_node(n);
      case kind::Loop_id:
        return loop_node(n);
      case kind::ListConstruct_id:
        return build(n, Opcode::list_construct, n->output()->type());
      case kind::DictConstruct_id:
        return build(n, Opcode::dict_construct, n->output()->type());
      case kind::TupleConstruct_id:
        if (!n->output()->type()->fields().empty()) {
          return build(n, Opcode::named_tuple_construct, n->output()->type());
        }
        return simple(n, Opcode::tuple_construct, static_cast<int64_t>(n->inputs().size()));
      case kind::TupleUnpack_id:
        return unpack_tuple(n);
      case kind::ListUnpack_id:
        return simple(n, Opcode::list_unpack, static_cast<int64_t>(n->outputs().size()));
      case kind::TupleIndex_id:
        return simple(n, Opcode::tuple_index);
      case kind::TupleSlice_id: {
        const int64_t from = n->value_attribute("beg").to_int(), to = n->value_attribute("end").to_int();
        return simple(n, Opcode::tuple_slice, from, static_cast<size_t>(to - from));
      }
      case kind::GetAttr_id:
        return simple(n, Opcode::get_attr, slot(n));
      case kind::SetAttr_id:
        return simple(n, Opcode::set_attr, slot(n));
      case kind::isinstance_id:
        return isinstance(n);
      case kind::tolist_id:
        return tolist(n);
      case kind::unchecked_cast_id:
        push_all(n);
        return store(n->outputs());
      case kind::Uninitialized_id:
        for (const ir::Value* v : n->outputs()) {
          emit(Opcode::uninitialized);
          store({const_cast<ir::Value*>(v)});
        }
        return;
      case kind::CreateObject_id:
        if (!is_custom_class(n->output()->type())) return operator_node(n);
        return simple(n, Opcode::create_object, type(n->output()->type()));
      case kind::CallMethod_id:
        return call_method(n);
      case kind::RaiseException_id:
        if (n->attribute("missing_operator")) {
          refuse("a call of " + n->string_attribute("missing_operator") + ", which does not exist here");
        }
        return simple(n, Opcode::raise);
      default:
        return operator_node(n);
    }
  }

  void simple(const Node* n, Opcode op, int64_t x = 0, size_t count = 0) {
    push_all(n);
    emit(op, x, count);
    store(n->outputs());
  }

  void build(const Node* n, Opcode op, TypePtr t) {
    push_all(n);
    emit(op, type(t), n->inputs().size());
    store(n->outputs());
  }

  // A reader knows the number of items from the store behind it.
  void unpack_tuple(const Node* n) {
    if (n->outputs().empty()) return;
    static const OperatorRow row{"prim::TupleUnpack", "", 1};
    push_all(n);
    const auto [found, fresh] =
        operators_.try_emplace({row.name, row.specified}, static_cast<int64_t>(m_.operators.size()));
    if (fresh) m_.operators.push_back(row);
    emit(Opcode::op, found->second);
    store(n->outputs());
  }

  int64_t slot(const Node* n) const {
    const TypePtr type = n->input(0)->type();
    if (!type->is(TypeKind::class_)) refuse("an attribute of a value of type '" + type->annotation() + "'");
    const int found = type->class_info()->find(n->string_attribute("name"));
    if (found < 0) refuse("class '" + type->name() + "' has no attribute '" + n->string_attribute("name") + "'");
    return found;
  }

  void isinstance(const Node* n) {
    push_all(n);
    const auto first = static_cast<int64_t>(m_.types.size());
    const std::vector<TypePtr>& types = n->types_attribute("types");
    for (TypePtr t : types) type(t);
    emit(Opcode::isinstance, first, types.size());
    store(n->outputs());
  }

  // The kinds of elements as PyTorch numbers them.
  void tolist(const Node* n) {
    push_inputs(n, 0, 1);
    int64_t dims = 0;
    TypePtr t = plain_type(n->output()->type());
    for (; t->is(TypeKind::list); t = t->element()) ++dims;
    const int64_t element = t->is(TypeKind::int_) ? 0 : t->is(TypeKind::float_) ? 1 : t->is(TypeKind::bool_) ? 2 : 3;
    emit(Opcode::loadc, constant(dims));
    emit(Opcode::loadc, constant(element));
    emit(Opcode::to_list);
    store(n->outputs());
  }

  void call_method(const Node* n) {
    const std::string& name = n->string_attribute("name");
    push_all(n);
    emit(Opcode::interface_call, constant(Value(name)), n->inputs().size());
    store(n->outputs());
    compiled_.called.push_back(name);
  }

  void if_node(const Node* n) {
    push_all(n);
    const size_t to_else = emit(Opcode::jf);
    branch(n->block_at(0));
    const size_t to_end = emit(Opcode::jmp);
    land(to_else);
    branch(n->block_at(1));
    land(to_end);
    node_ = n;
    store(n->outputs());
  }
  void branch(const Block* block) {
    nodes(block);
    push_all(block->return_node());
  }

  // count, limit, condition, carried values: LOOP puts the count in the place of the condition for the body.
  void loop_node(const Node* n) {
    const size_t carried = n->inputs().size() - 2;
    emit(Opcode::loadc, constant(int64_t{0}));
    push_all(n);
    const size_t loop = emit(Opcode::loop, 0, carried + 2);
    const Block* body = n->block_at(0);
    store(body->inputs());
    nodes(body);
    push_all(body->return_node());
    const size_t back = emit(Opcode::jmp);
    m_.instructions[back].x = static_cast<int32_t>(static_cast<int64_t>(loop) - static_cast<int64_t>(back));
    land(loop);
    node_ = n;
    store(n->outputs());
  }

  // ---- operators ----
  void operator_node(const Node* n) {
    const Op* op = n->op() ? n->op() : ir::resolve_op(*n);
    if (!op) refuse(n->kind().text() + " is not supported there");
    const std::string name = op->qualified_name();
    if (const std::optional<Opcode> own = opcode_by_operator(name)) {
      return simple(n, *own, *own == Opcode::format ? static_cast<int64_t>(n->inputs().size()) : 0);
    }
    if (name == "aten::warn") {
      push_all(n);
      if (n->inputs().size() < 2) emit(Opcode::loadc, constant(int64_t{2}));
      emit(Opcode::warn, warnings_++);
      return store(n->outputs());
    }
    const Schema& schema = op->schema();
    if (schema.is_vararg) {
      push_all(n);
      emit(Opcode::opn, operator_row(*op, std::nullopt), n->inputs().size());
      return store(n->outputs());
    }
    const auto [given, out] = specified(n, schema);
    push_inputs(n, 0, given);
    push_inputs(n, n->inputs().size() - out, n->inputs().size());
    emit(Opcode::op, operator_row(*op, static_cast<int64_t>(given + out)));
    store(n->outputs());
  }

  struct Specified {
    size_t given, out;  // inputs that are pushed: the first, and the out= arguments at the end
  };
  // Without those that are the defaults anyway, as far as nothing follows but out= arguments.
  static Specified specified(const Node* n, const Schema& schema) {
    size_t out = 0;
    const size_t inputs = n->inputs().size();
    while (out < inputs && inputs == schema.arguments.size() && is_out(schema.arguments[inputs - 1 - out])) ++out;
    size_t given = inputs - out;
    while (given > 0 && is_default(n->input(given - 1), schema.arguments[given - 1])) --given;
    return {given, out};
  }
  static bool is_out(const Argument& a) { return a.keyword_only && a.alias && a.alias->write; }
  static bool is_default(const ir::Value* v, const Argument& argument) {
    const std::optional<Value> c = is_constant(v) ? constant_value(v) : std::nullopt;
    if (!c || !argument.default_value || c->tag() != argument.default_value->tag()) return false;
    return (c->tag() < Tag::tensor || c->is_string()) && c->equals(*argument.default_value);
  }

  void arguments() {
    const Schema& schema = function_.schema();
    for (const Argument& a : schema.arguments) {
      if (a.keyword_only) refuse("the argument '" + a.name + "' can only be given by its name");
      m_.arguments.push_back({a.name, a.type->annotation(), a.default_value.value_or(Value())});
    }
    m_.returns.push_back({"", schema.returns.empty() ? "NoneType" : schema.returns[0].type->annotation(), Value()});
  }

  ir::Function& function_;
  Compiled& compiled_;
  std::shared_ptr<ir::Graph> graph_;
  LastUses last_uses_;
  Method m_;
  const Node* node_ = nullptr;
  const Node* handled_ = reinterpret_cast<const Node*>(-1);
  Registers registers_;
  std::unordered_map<const ir::Value*, int32_t> places_;
  std::map<std::pair<Tag, uint64_t>, int64_t> constants_;
  std::map<std::string, int64_t> texts_;
  std::map<std::pair<std::string, std::optional<int64_t>>, int64_t> operators_;
  int64_t warnings_ = 0;
};

}  // namespace

Method compile_method(ir::Function& function, Compiled& compiled) { return Compiler(function, compiled).run(); }

}  // namespace sconce::lite
