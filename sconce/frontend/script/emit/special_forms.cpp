// Special forms: calls whose arguments the emitter must see as they are written, or that need the type which the
// context expects: isinstance, annotate, fork, x.tolist(), ...
#include "sconce/frontend/script/emit/closure_value.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/names/slice_value.h"
#include "sconce/frontend/script/ssa/to_ssa_steps.h"
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
      Range arguments = at;
      arguments.begin = c.callee->range.end;
      refuse(arguments, "expected an expression of type {} but found {}\n", type->annotation(),
             v->type()->annotation());
    }
    // None becomes a value of the Optional type; other values keep their facts.
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
  if (form == "fork") return fork(c, ir::kind::fork);
  if (form == "awaitable") return fork(c, ir::kind::awaitable);
  if (form == "awaitable_wait" || form == "awaitable_nowait") {
    expect_arguments(c, form.c_str(), 1, 1);
    ir::Value* v = e.value(c.args[0]);
    if (form == "awaitable_nowait")
      return simple(node(at, ir::kind::awaitable_nowait, {v}, {await_type(v->type())})->output());
    if (!v->type()->is(TypeKind::await)) refuse(at, "Expected an Await, found {}", v->type()->annotation());
    return simple(node(at, ir::kind::awaitable_wait, {v}, {v->type()->element()})->output());
  }
  if (form == "slice") {  // slice(stop), slice(start, stop), slice(start, stop, step)
    expect_arguments(c, "slice", 1, 3);
    SliceBounds bounds;
    const bool only_stop = c.args.size() == 1;
    if (!only_stop) bounds.start = e.value(c.args[0]);
    bounds.stop = e.value(c.args[only_stop ? 0 : 1]);
    if (c.args.size() == 3) bounds.step = e.value(c.args[2]);
    return std::make_shared<SliceValue>(bounds);
  }
  refuse(at, "'{}' cannot be called here", form);
}

//   fork(f, args...)   =>   prim::fork, with a block that calls f; see lift_closures.cpp
SugaredPtr Emitter::Impl::fork(const Call& c, ir::Symbol kind) {
  const Range& at = c.range;
  const bool is_fork = kind == ir::kind::fork;
  if (c.args.empty()) refuse(at, "Expected at least one argument to {}()", is_fork ? "fork" : "awaitable");
  const SugaredPtr callee = sugared(c.args[0], nullptr);
  if (const auto* closure = dynamic_cast<ClosureValue*>(callee.get())) {
    if (c.args.size() > 1 || !c.keywords.empty()) refuse(at, "a function defined here is forked without arguments");
    const TypePtr result = closure->closure->node()->block_at(0)->outputs().at(0)->type();
    const TypePtr type = is_fork ? future_type(result) : await_type(result);
    return simple(node(at, is_fork ? fork_closure() : awaitable_closure(), {closure->closure}, {type})->output());
  }
  Call rest;  // the call without the function
  rest.kind = ExprKind::call;
  rest.range = at;
  rest.callee = c.args[0];
  rest.args.assign(c.args.begin() + 1, c.args.end());
  rest.keywords = c.keywords;
  CallArguments args = e.arguments(rest);
  ir::Node* n = node(at, kind, {}, {});
  ir::Block* block = n->add_block();
  push(block, Environment::Kind::scope);
  ir::Value* result = nullptr;
  {
    const ir::InsertPoint point(graph, block);
    result = callee->call(e, at, args, nullptr)->as_value(e, at);
    block->add_output(result);
  }
  pop();
  return simple(n->add_output(is_fork ? future_type(result->type()) : await_type(result->type())));
}

//   dict(a=x, b=y)       =>   dict([("a", x), ("b", y)])
//   dict(mapping, a=x)   =>   d = dict(mapping); d["a"] = x
SugaredPtr Emitter::Impl::dict_call(const Call& c, SugaredPtr function, TypePtr hint) {
  const auto key_of = [&](const Keyword& k) {
    auto* key = made.make<Constant>();
    key->range = k.range;
    key->literal = Constant::Literal::string;
    key->string = k.name;
    return key;
  };
  CallArguments args;
  if (!c.args.empty()) {
    Call mapping = c;
    mapping.keywords.clear();
    ir::Value* d = function->call(e, c.range, e.arguments(mapping), hint)->as_value(e, c.range);
    for (const Keyword& k : c.keywords) {
      ir::Value* key = constant(*key_of(k));
      call_op(e, c.range, "aten::_set_item", {d, key, e.value(k.value)});
    }
    return simple(d);
  }
  auto* pairs = made.make<ListExpr>();
  pairs->range = c.range;
  for (const Keyword& k : c.keywords) {
    auto* pair = made.make<TupleExpr>();
    pair->range = k.range;
    pair->items = {key_of(k), k.value};
    pairs->items.push_back(pair);
  }
  args.positional.push_back({c.range, {}, simple(list(*pairs, nullptr))});
  return function->call(e, c.range, args, hint);
}

// x.tolist(): the context says how deep the lists go and the type of their items.
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
