// Special forms: calls whose arguments the emitter must see as they are written, or that need the type which the
// context expects: isinstance, annotate, fork, x.tolist(), ...
#include "sconce/frontend/script/closure_value.h"
#include "sconce/frontend/script/emitter_impl.h"
#include "sconce/frontend/script/language_values.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

void Emitter::Impl::expect_arguments(const Call& c, const char* who, size_t least, size_t most) {
  if (!c.keywords.empty()) refuse(c.range, "{} takes no keyword arguments", who);
  if (c.args.size() >= least && c.args.size() <= most) return;
  if (least == most) {
    refuse(c.range, "{} expected exactly {} arguments but found {}", who, least, c.args.size());
  }
  refuse(c.range, "{} expected {} to {} arguments but found {}", who, least, most, c.args.size());
}

SugaredPtr Emitter::Impl::special_form(const std::string& form, const Call& c, TypePtr hint) {
  const Range& at = c.range;
  if (form == "isinstance" || form == "hasattr") return simple(condition(&c).value);
  if (form == "annotate") {  // annotate(T, x)
    ExprPtr type_argument = nullptr;
    ExprPtr value_argument = nullptr;
    if (c.args.size() + c.keywords.size() != 2) {
      refuse(at, "annotate expected exactly 2 arguments but found {}", c.args.size() + c.keywords.size());
    }
    if (!c.args.empty()) type_argument = c.args[0];
    if (c.args.size() > 1) value_argument = c.args[1];
    for (const Keyword& k : c.keywords) {
      (k.name == "the_type" ? type_argument : k.name == "the_value" ? value_argument : type_argument) = k.value;
    }
    if (!type_argument || !value_argument) refuse(at, "annotate expects a type and a value");
    const TypePtr type = e.annotation(type_argument);
    ir::Value* v = convert(e, at, e.value(value_argument, type), type, true);
    if (!fits(v->type(), type)) {
      refuse(at, "expected an expression of type {} but found {}", type->annotation(), v->type()->annotation());
    }
    // None becomes a value of the Optional type; other values keep what is known of them.
    if (v->type()->is(TypeKind::none) && !type->is(TypeKind::none))
      return simple(e.constant(at, sconce::Value(), type));
    return simple(v);
  }
  if (form == "unchecked_cast") {  // unchecked_cast(T, x)
    expect_arguments(c, "unchecked_cast", 2, 2);
    const TypePtr type = e.annotation(c.args[0]);
    ir::Value* v = e.value(c.args[1]);
    return simple(unchecked_cast(at, v, type));
  }
  if (form == "uninitialized") {  // uninitialized(T)
    expect_arguments(c, "uninitialized", 1, 1);
    return simple(node(at, ir::kind::Uninitialized, {}, {e.annotation(c.args[0])})->output());
  }
  if (form == "getattr") {
    expect_arguments(c, "getattr", 2, 3);
    const SugaredPtr object = sugared(c.args[0], nullptr);
    const auto* name = as<Constant>(c.args[1]);
    if (!name || name->literal != Constant::Literal::string) {
      refuse(at, "getattr's second argument must be a string literal");
    }
    if (c.args.size() == 3 && !object->has_attr(e, at, name->string)) return sugared(c.args[2], hint);
    return object->attr(e, at, name->string);
  }
  if (form == "fork") return fork(c);
  if (form == "create_object") {  // C.__new__(C), as archives write it
    expect_arguments(c, "__new__", 1, 1);
    const TypePtr type = e.annotation(c.args[0]);
    if (!type->is(TypeKind::class_)) refuse(at, "Argument to create_object() must be a class");
    return simple(node(at, ir::kind::CreateObject, {}, {type})->output());
  }
  if (form == "super") return std::make_shared<SpecialForm>("super()");
  refuse(at, "'{}' cannot be called here", form);
}

//   fork(f, args...)   =>   prim::fork, with a block that calls f; see lift_closures.cpp
SugaredPtr Emitter::Impl::fork(const Call& c) {
  const Range& at = c.range;
  if (c.args.empty()) refuse(at, "Expected at least one argument to fork()");
  const SugaredPtr callee = sugared(c.args[0], nullptr);
  if (const auto* closure = dynamic_cast<ClosureValue*>(callee.get())) {
    if (c.args.size() > 1 || !c.keywords.empty()) refuse(at, "a function defined here is forked without arguments");
    const TypePtr result = closure->closure->node()->block_at(0)->outputs().at(0)->type();
    static const ir::Symbol fork_closure("prim::forkClosure");
    return simple(node(at, fork_closure, {closure->closure}, {future_type(result)})->output());
  }
  Call rest;  // the call without the function
  rest.kind = ExprKind::call;
  rest.range = at;
  rest.callee = c.args[0];
  rest.args.assign(c.args.begin() + 1, c.args.end());
  rest.keywords = c.keywords;
  CallArguments args = e.arguments(rest);
  ir::Node* n = node(at, ir::kind::fork, {}, {});
  ir::Block* block = n->add_block();
  push(block, Environment::Kind::scope);
  ir::Value* result = nullptr;
  {
    const ir::InsertPoint point(graph, block);
    result = callee->call(e, at, args, nullptr)->as_value(e, at);
    block->add_output(result);
  }
  pop();
  return simple(n->add_output(future_type(result->type())));
}

// x.tolist(): the context says how deep the lists go and what they hold.
SugaredPtr Emitter::Impl::tolist(const Call& c, const Attribute& callee, TypePtr hint) {
  const SugaredPtr object = sugared(callee.value, nullptr);
  const TypePtr type = object->type();
  if (!type || !is_subtype(type, tensor_type())) {
    return object->attr(e, callee.range, callee.attr)->call(e, callee.range, {}, hint);
  }
  if (!hint) refuse(c.range, "Expected type hint for result of tolist()");
  int64_t depth_of_list = 0;
  TypePtr element = hint;
  for (; element->is(TypeKind::list); element = element->element()) ++depth_of_list;
  int64_t code = 0;
  switch (element->kind()) {
    case TypeKind::int_:
      code = 0;
      break;
    case TypeKind::float_:
      code = 1;
      break;
    case TypeKind::bool_:
      code = 2;
      break;
    case TypeKind::complex:
      code = 3;
      break;
    default:
      refuse(c.range, "{} is not one of the supported element types for tolist: int, float, complex, bool",
             element->annotation());
  }
  ir::Value* v = object->as_value(e, callee.value->range);
  ir::Value* dims = e.constant(c.range, sconce::Value(depth_of_list));
  ir::Value* kind = e.constant(c.range, sconce::Value(code));
  return simple(node(c.range, ir::kind::tolist, {v, dims, kind}, {hint})->output());
}

}  // namespace sconce::script
