// Conditions: if, assert, ternaries, and/or/not, and the types that they narrow.
#include <set>

#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/language_values.h"

namespace sconce::script {

using namespace syntax;

Condition Emitter::Impl::known_condition(const Range& at, bool value, Refinements refinements) {
  return {e.constant(at, sconce::Value(value)), std::move(refinements), value};
}

Condition Emitter::Impl::condition(ExprPtr x) {
  const DepthGuard guard(depth, x->range);
  if (const auto* u = as<Unary>(x); u && u->op == Operator::not_) {
    const Condition c = condition(u->operand);
    if (c.known) return known_condition(x->range, !*c.known, c.refinements.inverted());
    return {call_op(e, x->range, "aten::__not__", {c.value}), c.refinements.inverted(), std::nullopt};
  }
  if (const auto* b = as<BoolOp>(x)) return short_circuit(*b);
  if (const auto* c = as<Compare>(x); c && (c->op == Operator::is || c->op == Operator::is_not)) {
    return is_comparison(*c);
  }
  if (const auto* c = as<Call>(x)) {
    const SugaredPtr callee = c->callee->kind == ExprKind::name || c->callee->kind == ExprKind::attribute
                                  ? sugared(c->callee, nullptr)
                                  : nullptr;
    if (const auto* form = dynamic_cast<SpecialForm*>(callee.get())) {
      if (form->form == "isinstance") {
        expect_arguments(*c, "isinstance", 2, 2);
        return isinstance(c->args[0], c->args[1]);
      }
      if (form->form == "hasattr") {
        expect_arguments(*c, "hasattr", 2, 2);
        return hasattr(x->range, c->args[0], c->args[1]);
      }
    }
  }
  ir::Value* v = e.to_bool(x->range, e.value(x));
  Condition c{v, {}, std::nullopt};
  static const ir::Symbol scripting("aten::is_scripting"), not_scripting("aten::is_notscripting");
  if (v->node()->is(scripting)) c.known = true;
  if (v->node()->is(not_scripting)) c.known = false;
  if (v->node()->is(ir::kind::Constant)) c.known = v->node()->value_attribute("value").to_bool();
  return c;
}

// a and b  =>  b if a else False;   a or b  =>  True if a else b
Condition Emitter::Impl::short_circuit(const BoolOp& b) {
  Condition left = condition(b.left);
  if (left.known) {
    if (*left.known != b.is_and) return left;  // False and ..., True or ...
    refine(b.range, b.is_and ? left.refinements.when_true : left.refinements.when_false);
    const Condition right = condition(b.right);
    return {right.value,
            b.is_and ? Refinements::both(left.refinements, right.refinements)
                     : Refinements::either(left.refinements, right.refinements),
            right.known};
  }
  std::optional<Condition> right;
  const auto other = [&] { return e.constant(b.range, sconce::Value(!b.is_and)); };
  const auto rest = [&] {
    right = condition(b.right);
    return right->value;
  };
  ir::Value* v = b.is_and ? if_expression(b.range, left, rest, other) : if_expression(b.range, left, other, rest);
  if (right->known == !b.is_and) {  // ... and False, ... or True
    return {v, {}, right->known};
  }
  return {v,
          b.is_and ? Refinements::both(left.refinements, right->refinements)
                   : Refinements::either(left.refinements, right->refinements),
          std::nullopt};
}

Condition Emitter::Impl::is_comparison(const Compare& c) {
  ir::Value* left = e.value(c.left);
  ir::Value* right = e.value(c.right);
  const Noneness l = noneness(left->type()), r = noneness(right->type());
  const bool is = c.op == Operator::is;
  if (l == Noneness::always && r == Noneness::always) return known_condition(c.range, is);
  if ((l == Noneness::always && r == Noneness::never) || (l == Noneness::never && r == Noneness::always)) {
    return known_condition(c.range, !is);
  }
  Refinements refinements;
  const auto about = [&](ExprPtr x, ir::Value* v) {
    const auto* n = as<Name>(x);
    if (!n) return;
    if (v->type()->is(TypeKind::any)) return;
    refinements.when_false = {{n->id, not_none(v->type())}};
  };
  if (r == Noneness::always) {
    about(c.left, left);
  } else if (l == Noneness::always) {
    about(c.right, right);
  }
  ir::Value* v = call_op(e, c.range, is ? "aten::__is__" : "aten::__isnot__", {left, right});
  return {v, is ? refinements : refinements.inverted(), std::nullopt};
}

Condition Emitter::Impl::isinstance(ExprPtr object, ExprPtr types) {
  ir::Value* v = e.value(object);
  std::vector<TypePtr> wanted;
  bool is_module = false;
  const std::function<void(ExprPtr)> gather = [&](ExprPtr t) {
    if (const std::optional<bool> module = is_module_instance(e, v->type(), t)) {
      is_module |= *module;
    } else if (const auto* tuple = as<TupleExpr>(t)) {
      const DepthGuard guard(depth, t->range);
      for (ExprPtr item : tuple->items) gather(item);
    } else {
      wanted.push_back(e.annotation(t));
    }
  };
  gather(types);
  if (is_module || wanted.empty()) return known_condition(object->range, is_module);
  const InstanceCheck check = check_instance(v->type(), wanted);
  Refinements refinements;
  if (const auto* n = as<Name>(object)) {
    if (check.if_true) refinements.when_true = {{n->id, check.if_true}};
    if (check.if_false) refinements.when_false = {{n->id, check.if_false}};
  }
  // In archives only those checks are left that the compiler could not decide from the type of the variable.
  if (check.known && !e.source_.from_archive) {
    return known_condition(object->range, *check.known, std::move(refinements));
  }
  ir::Node* n = node(object->range, ir::kind::isinstance, {v}, {bool_type()});
  n->set_attribute("types", flat_types(wanted));
  return {n->output(), std::move(refinements), std::nullopt};
}

Condition Emitter::Impl::hasattr(const Range& at, ExprPtr object, ExprPtr name) {
  const auto* text = as<Constant>(name);
  if (!text || text->literal != Constant::Literal::string) {
    refuse(at, "hasattr's second argument must be a string literal");
  }
  const SugaredPtr x = sugared(object, nullptr);
  if (const auto* v = dynamic_cast<SimpleValue*>(x.get())) {
    const TypePtr type = v->type();
    const bool named = type->is(TypeKind::tuple) && !type->fields().empty();
    if (!named && !type->is(TypeKind::class_) && !type->is(TypeKind::interface)) {
      refuse(object->range, "hasattr's first argument must be an object or NamedTuple, got {} instead",
             type->annotation());
    }
  }
  return known_condition(at, x->has_attr(e, at, text->string));
}

void Emitter::Impl::refine(const Range& at, const std::vector<Refinement>& refinements) {
  for (const Refinement& r : refinements) {
    const SugaredPtr old = load(at, r.variable);
    const auto* as_simple = dynamic_cast<SimpleValue*>(old.get());
    if (!as_simple) continue;
    set(at, r.variable, unchecked_cast(at, as_simple->value, r.type));
  }
}

ir::Value* Emitter::Impl::if_expression(const Range& at, const Condition& c, const std::function<ir::Value*()>& if_true,
                                        const std::function<ir::Value*()>& if_false, TypePtr hint) {
  ir::Node* n = node(at, ir::kind::If, {c.value}, {});
  const auto branch = [&](const std::vector<Refinement>& refinements, const std::function<ir::Value*()>& emit) {
    ir::Block* block = n->add_block();
    push(block);
    const ir::InsertPoint point(graph, block);
    refine(at, refinements);
    block->add_output(emit());
    pop();
    return block;
  };
  ir::Block* t = branch(c.refinements.when_true, if_true);
  ir::Block* f = branch(c.refinements.when_false, if_false);
  const TypePtr true_type = t->outputs()[0]->type(), false_type = f->outputs()[0]->type();
  TypePtr type = hint && fits(true_type, hint) && fits(false_type, hint) ? hint : unify(true_type, false_type);
  if (!type) {
    refuse(at, "if-expression's true branch has type {} but false branch has type {}", true_type->annotation(),
           false_type->annotation());
  }
  return n->add_output(type);
}

void Emitter::Impl::if_statement(const Range& at, const Condition& c, const std::function<void()>& if_true,
                                 const std::function<void()>& if_false) {
  // A condition known now: the branch belongs to the block around it, the other is not even looked at.
  if (c.known) {
    refine(at, *c.known ? c.refinements.when_true : c.refinements.when_false);
    (*c.known ? if_true : if_false)();
    return;
  }
  ir::Node* n = node(at, ir::kind::If, {c.value}, {});
  const auto branch = [&](const std::vector<Refinement>& refinements, const std::function<void()>& emit) {
    push(n->add_block());
    const ir::InsertPoint point(graph, current());
    refine(at, refinements);
    emit();
    return pop();
  };
  const std::shared_ptr<Environment> t = branch(c.refinements.when_true, if_true);
  const std::shared_ptr<Environment> f = branch(c.refinements.when_false, if_false);
  const bool true_exits = exited.contains(t->block()), false_exits = exited.contains(f->block());
  if (true_exits && false_exits) {
    exit_block();
    return;
  }
  // Variables that are set on every path that comes out of here live on; the others are remembered for the message.
  std::set<std::string> survivors;
  const auto collect = [&](Environment& from, Environment& other, bool other_exits, const char* other_name) {
    for (const std::string& name : from.defined()) {
      if (other_exits || other.find(name)) {
        survivors.insert(name);
      } else {
        environment->set_problem(name, name + " is not defined in the " + other_name + " branch", at);
      }
    }
  };
  if (!true_exits) collect(*t, *f, false_exits, "false");
  if (!false_exits) collect(*f, *t, true_exits, "true");
  for (const std::string& name : survivors) {
    const Environment::Variable* in_true = true_exits ? nullptr : t->find(name);
    const Environment::Variable* in_false = false_exits ? nullptr : f->find(name);
    const Environment::Variable* any = in_true ? in_true : in_false;
    if (!any) continue;
    // A value that exists while compiling only must be the same on both sides.
    if ((in_true && in_true->sugared) || (in_false && in_false->sugared)) {
      if (in_true && in_false && in_true->sugared != in_false->sugared) {
        environment->set_problem(name, "Type mismatch: " + name + " is set to different things in the two branches",
                                 at);
        continue;
      }
      environment->define(name, nullptr, any->sugared);
      continue;
    }
    if (!in_true || !in_false) {
      // The branch that leaves gives nothing; an uninitialised value stands for it.
      Environment& leaving = in_true ? *f : *t;
      const TypePtr type = any->type;
      const std::string storage = environment->define(name, type, nullptr).storage;
      const ir::InsertPoint point(graph, leaving.block());
      store(at, storage, node(at, ir::kind::Uninitialized, {}, {type})->output(), type);
      continue;
    }
    const Environment::Variable* outer = environment->find(name);
    TypePtr type = unify(in_true->type, in_false->type);
    if (!type && outer && outer->type && fits(in_true->type, outer->type) && fits(in_false->type, outer->type)) {
      type = outer->type;
    }
    if (!type) {
      const std::string reason = "Type mismatch: " + name + " is set to type " + in_true->type->annotation() +
                                 " in the true branch and type " + in_false->type->annotation() +
                                 " in the false branch";
      if (outer) throw CompileError(reason, at);
      environment->set_problem(name, reason, at);
      environment->remove(name);
      continue;
    }
    environment->define(name, type, nullptr);
  }
}

}  // namespace sconce::script
