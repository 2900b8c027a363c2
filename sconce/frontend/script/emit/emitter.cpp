#include "sconce/frontend/script/emit/emitter.h"

#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/ssa/log_stage.h"
#include "sconce/frontend/script/ssa/to_ssa.h"
#include "sconce/syntax/dump.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::script {

using namespace syntax;

Emitter::Emitter(ir::Function& function, const FunctionSource& source)
    : function_(function),
      source_(source),
      graph_(std::make_shared<ir::Graph>()),
      impl_(std::make_unique<Impl>(*this)) {}
Emitter::~Emitter() = default;

void compile_function(ir::Function& function, const FunctionSource& source) {
  Emitter emitter(function, source);
  emitter.run();
}

namespace {

// The type of a parameter without annotation. It is a Tensor to everyone but messages, and in the end to these, too.
TypePtr inferred_tensor() {
  TensorFacts facts;
  facts.inferred = true;
  return refined_tensor_type(facts);
}

void forget_inferred(ir::Block* block) {
  for (ir::Value* v : block->inputs()) v->set_type(unshaped(v->type()));
  for (ir::Node* n : block->nodes()) {
    for (ir::Value* v : n->outputs()) v->set_type(unshaped(v->type()));
    if (n->is(ir::kind::Store)) n->set_attribute("type", unshaped(std::get<TypePtr>(*n->attribute("type"))));
    for (ir::Block* b : n->blocks()) forget_inferred(b);
  }
}

}  // namespace

void Emitter::run() {
  if (is_logged(LogTag::frontend)) log_stage("tree of " + function_.name(), to_string(Body{source_.def}));
  bool returns_declared = false;
  Schema schema = declared_schema(source_, &returns_declared);
  schema.name = function_.name();
  // Annotated functions have their signature before the body is compiled.
  if (returns_declared) function_.set_schema(schema);
  impl_->function(*source_.def, schema, graph_->block());
  Argument result;
  result.type = impl_->functions.back().merged_return;
  schema.returns = {result};
  forget_inferred(graph_->block());
  log_stage("emitted", *graph_);
  to_ssa(*graph_, source_.from_archive);
  log_stage("in SSA form", *graph_);
  clean_up(*graph_);
  log_stage("cleaned up", *graph_);
  function_.set_schema(std::move(schema));
  function_.set_graph(graph_);
}

// ---- nodes ----

ir::Value* Emitter::constant(const Range& at, sconce::Value v, TypePtr type) {
  return graph_->insert_constant(std::move(v), at, type);
}

ir::Node* Emitter::node(const Range& at, ir::Symbol kind, ListRef<ir::Value*> inputs, ListRef<TypePtr> outputs) {
  ir::Node* n = graph_->insert(graph_->create(kind, inputs, outputs.size()));
  n->set_range(at);
  for (size_t i = 0; i < outputs.size(); ++i) {
    n->output(i)->set_type(outputs[i]);
    if (impl_->type_size(outputs[i]) > kMaxTypeSize) {
      refuse(at, "the type of this value is made of more than {} others", kMaxTypeSize);
    }
  }
  return n;
}

ir::Value* Emitter::tuple(const Range& at, ListRef<ir::Value*> items, TypePtr type) {
  if (!type) {
    std::vector<TypePtr> types;
    for (ir::Value* v : items) types.push_back(v->type());
    type = tuple_type(types);
  }
  return node(at, ir::kind::TupleConstruct, items, {type})->output();
}

ir::Value* Emitter::list(const Range& at, TypePtr element, ListRef<ir::Value*> items) {
  return node(at, ir::kind::ListConstruct, items, {list_type(element)})->output();
}

ir::Value* Emitter::Impl::unchecked_cast(const Range& at, ir::Value* v, TypePtr type) {
  return node(at, ir::kind::unchecked_cast, {v}, {type})->output();
}

size_t Emitter::Impl::type_size(TypePtr type) {
  if (type->contained().empty()) return 1;
  if (const auto it = type_sizes.find(type); it != type_sizes.end()) return it->second;
  size_t size = 1;
  for (TypePtr part : type->contained()) size += type_size(part);
  return type_sizes[type] = std::min(size, kMaxTypeSize + 1);
}

// ---- functions ----

void Emitter::Impl::function(const FunctionDef& def, const Schema& schema, ir::Block* block) {
  push(block, Environment::Kind::scope);
  functions.emplace_back();
  if (!schema.returns.empty()) functions.back().declared_return = schema.returns[0].type;
  const auto saved_loop = loop;
  loop = Loop::none;
  {
    const ir::InsertPoint at(graph, block);
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument& a = schema.arguments[i];
      const bool annotated = def.parameters[i].annotation || !a.type->is(TypeKind::tensor);
      ir::Value* input = block->add_input(annotated ? a.type : inferred_tensor(), a.name);
      const bool is_self = i == 0 && e.source_.self_type && functions.size() == 1;
      if (is_self && e.source_.make_self) {
        set(def.name_range, a.name, e.source_.make_self(input));
      } else {
        set(def.name_range, a.name, value_of(e, input));
      }
    }
    body(def.body);
    FunctionState& state = functions.back();
    if (!has_exited()) {
      if (state.declared_return && !state.declared_return->is(TypeKind::none)) {
        refuse(def.range, "Function was not annotated as having type None, but does not return along all paths");
      }
      return_(def.range, e.none(def.range));
    } else if (!state.merged_return) {
      state.merged_return = state.declared_return ? state.declared_return : none_type();
    }
    // Uninitialised: the returns take its place (see transform_exits.cpp).
    block->add_output(node(def.range, ir::kind::Uninitialized, {}, {functions.back().merged_return})->output());
  }
  loop = saved_loop;
  pop();
}

void Emitter::Impl::push(ir::Block* block, Environment::Kind kind) {
  environment = std::make_shared<Environment>(block, environment, kind);
}

std::shared_ptr<Environment> Emitter::Impl::pop() {
  std::shared_ptr<Environment> top = environment;
  environment = top->parent();
  return top;
}

// ---- variables ----

void Emitter::Impl::store(const Range& at, const std::string& storage, ir::Value* v, TypePtr type) {
  ir::Node* n = node(at, ir::kind::Store, {v}, {});
  n->set_attribute("name", sconce::Value(storage));
  n->set_attribute("type", type);
}

SugaredPtr Emitter::Impl::load_from(Environment& env, const Range& at, const std::string& name) {
  const Environment::Variable* v = env.find(name);
  if (!v) return nullptr;
  if (v->sugared) return v->sugared;
  ir::Node* n = node(at, ir::kind::Load, {}, {v->type});
  n->set_attribute("name", sconce::Value(v->storage));
  return value_of(e, n->output());
}

SugaredPtr Emitter::Impl::load(const Range& at, const std::string& name) { return load_from(*environment, at, name); }

void Emitter::Impl::set(const Range& at, const std::string& name, ir::Value* value, TypePtr annotation) {
  set(at, name, simple(value), annotation);
}

void Emitter::Impl::set(const Range& at, const std::string& name, SugaredPtr value, TypePtr annotation) {
  auto* as_simple = dynamic_cast<SimpleValue*>(value.get());
  ir::Value* v = as_simple ? as_simple->value : nullptr;
  if (v && !v->has_name() && v->node()->block() == current()) v->set_name(name);
  if (const Environment::Variable* outer = environment->find_outer(name)) {
    if (annotation) {
      refuse(at,
             "Attempting to declare and annotate the type of variable '{}' but it is already defined in an outer block",
             name);
    }
    if (!v) {
      refuse(at,
             "Cannot re-assign '{}' to a value of type {} because {} is not a first-class value.  Only reassignments "
             "to first-class values are allowed",
             name, value->kind(), name);
    }
    if (!outer->type) {
      refuse(at,
             "Cannot re-assign '{}' because it has type {} and {} is not a first-class value.  Only reassignments to "
             "first-class values are allowed",
             name, outer->sugared->kind(), name);
    }
    const TypePtr outer_type = unshaped(outer->type);
    v = convert(e, at, v, outer_type, true);
    std::string why;
    if (!fits(v->type(), outer_type, &why)) {
      std::string text = "Variable '" + name + "' previously had type " + outer_type->annotation() +
                         " but is now being assigned to a value of type " + v->type()->annotation() + "\n";
      if (outer_type->is(TypeKind::list) && v->type()->is(TypeKind::list)) {
        text +=
            "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list "
            "of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python "
            "2)\n";
      }
      throw CompileError(text + why, at);
    }
  }
  if (!v) {
    environment->define(name, nullptr, std::move(value));
    return;
  }
  if (annotation && !fits(v->type(), annotation)) {
    refuse(at, "Variable '{}' is annotated with type {} but is being assigned to a value of type {}", name,
           annotation->annotation(), v->type()->annotation());
  }
  const TypePtr type = annotation ? annotation : v->type();
  store(at, environment->define(name, type, nullptr).storage, v, type);
}

// ---- the public face ----

SugaredPtr Emitter::sugared(ExprPtr x, TypePtr hint) { return impl_->sugared(x, hint); }
ir::Value* Emitter::value(ExprPtr x, TypePtr hint) { return impl_->sugared(x, hint)->as_value(*this, x->range); }

CallArguments Emitter::arguments(const Call& call) {
  CallArguments args;
  for (ExprPtr a : call.args) {
    if (const auto* starred = as<Starred>(a)) {
      for (SugaredPtr& item : sugared(starred->value)->unpack(*this, starred->range, std::nullopt)) {
        args.positional.push_back({starred->range, {}, std::move(item)});
      }
    } else {
      args.positional.push_back({a->range, {}, sugared(a)});
    }
  }
  for (const Keyword& k : call.keywords) args.keywords.push_back({k.range, k.name, sugared(k.value)});
  return args;
}

ir::Value* Emitter::to_bool(const Range& at, ir::Value* v) {
  switch (v->type()->kind()) {
    case TypeKind::bool_:
      return v;
    case TypeKind::int_:
    case TypeKind::float_:
    case TypeKind::tensor:
      return call_op(*this, at, "aten::Bool", {v});
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::string:
      return call_op(*this, at, "aten::gt", {call_op(*this, at, "aten::len", {v}), constant(at, int64_t{0})});
    case TypeKind::class_:
      if (SugaredPtr result = call_magic_method(*this, at, "__bool__", v)) return result->as_value(*this, at);
      if (SugaredPtr result = call_magic_method(*this, at, "__len__", v)) {
        return call_op(*this, at, "aten::gt", {result->as_value(*this, at), constant(at, int64_t{0})});
      }
      [[fallthrough]];
    default:
      refuse(at, "Could not cast value of type {} to bool", v->type()->annotation());
  }
}

}  // namespace sconce::script
