// Assignments: to variables, tuples, attributes and subscripts, plain and augmented.
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

void Emitter::Impl::assign(const Assign& s) {
  if (!s.value) refuse(s.range, "annotated assignments without assigned value aren't supported");
  if (s.targets.size() == 1) return assign_one(s.range, s.targets[0], s.annotation, s.value);
  // a = b = value: evaluated once, then assigned from left to right
  const SugaredPtr value = sugared(s.value, nullptr);
  for (ExprPtr target : s.targets) assign_value(s.value->range, target, value);
}

void Emitter::Impl::assign_one(const Range& at, ExprPtr target, ExprPtr annotation, ExprPtr value) {
  const TypePtr type = annotation ? e.annotation(annotation) : nullptr;
  if (const auto* n = as<Name>(target)) {
    set(n->range, n->id, sugared(value, type), type);
  } else if (const auto* t = as<TupleExpr>(target)) {
    check_targets(t->items, t->range);
    assign_tuple(value->range, t->items, t->range, sugared(value, type));
  } else if (const auto* l = as<ListExpr>(target)) {
    check_targets(l->items, l->range);
    assign_tuple(value->range, l->items, l->range, sugared(value, type));
  } else if (const auto* a = as<Attribute>(target)) {
    assign_attribute(at, *a, type, [&](TypePtr hint) { return e.value(value, hint); });
  } else if (const auto* sub = as<Subscript>(target)) {
    ir::Value* v = e.value(value, type);
    assign_subscript(at, *sub, value->range, v);
  } else {
    refuse(target->range, "unexpected expression on left-hand side of assignment");
  }
}

void Emitter::Impl::assign_value(const Range& at, ExprPtr target, SugaredPtr value) {
  if (const auto* n = as<Name>(target)) {
    set(n->range, n->id, std::move(value));
  } else if (const auto* t = as<TupleExpr>(target)) {
    assign_tuple(at, t->items, t->range, std::move(value));
  } else if (const auto* l = as<ListExpr>(target)) {
    assign_tuple(at, l->items, l->range, std::move(value));
  } else if (const auto* a = as<Attribute>(target)) {
    assign_attribute(at, *a, nullptr, [&](TypePtr) { return value->as_value(e, at); });
  } else if (const auto* sub = as<Subscript>(target)) {
    assign_subscript(at, *sub, at, value->as_value(e, at));
  } else {
    refuse(target->range, "unexpected expression on left-hand side of assignment");
  }
}

bool Emitter::Impl::check_targets(const std::vector<ExprPtr>& targets, const Range& at) {
  size_t starred = 0;
  for (ExprPtr t : targets) {
    switch (t->kind) {
      case ExprKind::starred:
        ++starred;
        break;
      case ExprKind::name:
      case ExprKind::subscript:
      case ExprKind::tuple:
      case ExprKind::list:
      case ExprKind::attribute:
        break;
      default:
        refuse(t->range, "lhs of assignment must be a variable, subscript, or starred expression");
    }
  }
  if (starred > 1) refuse(at, "Only one starred expression is allowed on the lhs");
  if (starred == targets.size() && starred > 0) {
    refuse(at, "A Starred expression may only appear on the lhs within the presence of another non-starred expression");
  }
  return starred > 0;
}

void Emitter::Impl::assign_tuple(const Range& at, const std::vector<ExprPtr>& targets, const Range& targets_at,
                                 SugaredPtr value) {
  const DepthGuard guard(depth, targets_at);
  const bool starred = check_targets(targets, targets_at);
  const size_t wanted = targets.size() - (starred ? 1 : 0);
  const std::vector<SugaredPtr> items = value->unpack(e, at, starred ? std::nullopt : std::optional<size_t>(wanted));
  if (items.size() < wanted) {
    refuse(targets_at, "need {}{} values to unpack but found only {}", starred ? "at least " : "", wanted,
           items.size());
  }
  if (items.size() > wanted && !starred) {
    refuse(targets_at, "too many values to unpack: need {} but found {}", wanted, items.size());
  }
  size_t next = 0;
  for (ExprPtr t : targets) {
    const auto* star = as<Starred>(t);
    if (!star) {
      assign_value(at, t, items[next++]);
      continue;
    }
    const auto* n = as<Name>(star->value);
    if (!n) refuse(star->value->range, "Cannot pack a tuple into a non-variable");
    std::vector<ir::Value*> rest;
    for (const size_t end = next + items.size() - wanted; next < end; ++next)
      rest.push_back(items[next]->as_value(e, at));
    set(n->range, n->id, e.tuple(at, rest));
  }
}

void Emitter::Impl::assign_attribute(const Range& at, const Attribute& target, TypePtr annotation,
                                     const std::function<ir::Value*(TypePtr)>& value) {
  const SugaredPtr object = sugared(target.value, nullptr);
  TypePtr hint = annotation;
  auto* as_simple = dynamic_cast<SimpleValue*>(object.get());
  const TypePtr type = object->type();
  if (type && type->is(TypeKind::class_)) {
    ClassInfo& info = *type->class_info();
    const int slot = info.find(target.attr);
    if (slot >= 0 && !hint) hint = info.attributes[static_cast<size_t>(slot)].type;
  }
  ir::Value* v = value(hint);
  // In __init__ of a class, the first assignment to self.x makes the attribute.
  if (e.source_.makes_attributes && as_simple && type == e.source_.self_type && type->is(TypeKind::class_)) {
    ClassInfo& info = *type->class_info();
    if (info.find(target.attr) < 0 && !info.find_property(target.attr)) {
      if (current() != graph.block()) {
        refuse(at, "First assignment cannot be in a control-flow block. Initialize the field at the top level first");
      }
      if (v->type() == type) {
        refuse(at, "Assignment to attribute '{}' cannot be of a type that contains class '{}'", target.attr,
               type->annotation());
      }
      info.attributes.push_back({target.attr, hint ? hint : v->type()});
    }
  }
  object->set_attr(e, at, target.attr, v);
}

void Emitter::Impl::assign_subscript(const Range& at, const Subscript& target, const Range& value_at,
                                     ir::Value* value) {
  ir::Value* container = e.value(target.value);
  if (is_subtype(container->type(), tensor_type())) {
    const Indexed part = index_tensor(target.range, container, target.indices);
    ir::Value* v = to_tensor_like(value_at, value, part.tensor);
    if (part.indices.empty()) {
      call_op(e, at, "aten::copy_", {part.tensor, v});
    } else {
      call_op(e, at, "aten::index_put_", {part.tensor, index_list(target.range, part.indices), v});
    }
    return;
  }
  if (container->type()->is(TypeKind::tuple)) {
    refuse(target.range, "{} does not support subscripted assignment", container->type()->annotation());
  }
  if (target.indices.size() != 1 || as<Slice>(target.indices[0])) {
    Range brackets = target.range;
    brackets.begin = target.value->range.end;
    refuse(brackets, "Sliced expression not yet supported for subscripted assignment. File a bug if you want this");
  }
  const TypePtr type = container->type();
  if (type->is(TypeKind::tuple)) refuse(target.range, "{} does not support subscripted assignment", type->annotation());
  ir::Value* index = e.value(target.indices[0]);
  if (call_magic_method(e, at, "__setitem__", {container, index, value})) return;
  // An empty list literal takes the type of the items.
  if (type->is(TypeKind::list) || type->is(TypeKind::dict)) {
    value = convert(e, value_at, value, type->contained().back(), true);
  }
  call_op(e, at, "aten::_set_item", {container, index, value});
}

// ---- augmented ----

ir::Value* Emitter::Impl::augmented(const AugAssign& s, ir::Value* old, ir::Value* by) {
  // `x += y` on a tensor or list changes it in place where the language says so.
  const bool in_place = is_subtype(old->type(), tensor_type()) || old->type()->is(TypeKind::list);
  const OperatorNames& names = names_of(s.op);
  const std::string_view name = in_place ? names.in_place : names.augmented;
  if (name.empty()) refuse(s.range, "unsupported kind of augmented assignment: {}=", operator_text(s.op));
  if (old->type()->is(TypeKind::class_)) {
    const std::string stem(names.stem);
    if (SugaredPtr v = call_magic_method(e, s.range, "__i" + stem + "__", {old, by})) return v->as_value(e, s.range);
    if (SugaredPtr v = call_magic_method(e, s.range, "__" + stem + "__", {old, by})) return v->as_value(e, s.range);
  }
  return call_op(e, s.range, name, {old, by});
}

void Emitter::Impl::augment(const AugAssign& s) {
  if (const auto* n = as<Name>(s.target)) {
    ir::Value* old = e.value(s.target);
    set(n->range, n->id, augmented(s, old, e.value(s.value)));
  } else if (const auto* a = as<Attribute>(s.target)) {
    const SugaredPtr object = sugared(a->value, nullptr);
    ir::Value* old = object->attr(e, a->range, a->attr)->as_value(e, a->range);
    object->set_attr(e, s.range, a->attr, augmented(s, old, e.value(s.value)));
  } else if (const auto* sub = as<Subscript>(s.target)) {
    ir::Value* container = e.value(sub->value);
    if (is_subtype(container->type(), tensor_type())) {
      const Indexed part = index_tensor(sub->range, container, sub->indices);
      if (part.indices.empty()) {  // the view is changed in place
        ir::Value* by = e.value(s.value);
        augmented(s, part.tensor, by);
        return;
      }
      ir::Value* by = e.value(s.value);
      ir::Value* list = index_list(sub->range, part.indices);
      ir::Value* old = call_op(e, sub->range, "aten::index", {part.tensor, list});
      call_op(e, s.range, "aten::index_put_", {part.tensor, list, augmented(s, old, by)});
      return;
    }
    if (sub->indices.size() != 1 || as<Slice>(sub->indices[0])) {
      refuse(sub->range, "Sliced expression not yet supported for augmented assignment");
    }
    ir::Value* index = e.value(sub->indices[0]);
    ir::Value* old = simple(container)->subscript(e, sub->range, simple(index), nullptr)->as_value(e, sub->range);
    ir::Value* v = augmented(s, old, e.value(s.value));
    if (call_magic_method(e, s.range, "__setitem__", {container, index, v})) return;
    call_op(e, s.range, "aten::_set_item", {container, index, v});
  } else {
    refuse(s.target->range, "unexpected expression on left-hand side of augmented assignment");
  }
}

}  // namespace sconce::script
