// Expressions: names, attributes, operators, calls.
#include <array>
#include <complex>

#include "sconce/base/numbers.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/names/tuple_items.h"

namespace sconce::script {

using namespace syntax;

SugaredPtr Emitter::Impl::sugared(ExprPtr x, TypePtr hint) {
  const DepthGuard guard(depth, x->range);
  switch (x->kind) {
    case ExprKind::name:
      return name(*as<Name>(x));
    case ExprKind::attribute:
      return attribute(*as<Attribute>(x));
    case ExprKind::call:
      return call(*as<Call>(x), hint);
    case ExprKind::subscript:
      return subscript(*as<Subscript>(x), hint);
    case ExprKind::constant:
      return simple(constant(*as<Constant>(x)));
    case ExprKind::binary:
      return simple(binary_chain(*as<Binary>(x)));
    case ExprKind::unary:
      return simple(unary(*as<Unary>(x)));
    case ExprKind::compare:
      return simple(compare(*as<Compare>(x)));
    case ExprKind::bool_op:
      return simple(short_circuit(*as<BoolOp>(x)).value);
    case ExprKind::if_exp: {
      const auto* i = as<IfExp>(x);
      const Condition c = condition(i->test);
      if (c.known) {
        refine(x->range, *c.known ? c.refinements.when_true : c.refinements.when_false);
        return sugared(*c.known ? i->body : i->orelse, hint);
      }
      return simple(if_expression(
          x->range, c, [&] { return e.value(i->body, hint); }, [&] { return e.value(i->orelse, hint); }, hint));
    }
    case ExprKind::list:
      return simple(list(*as<ListExpr>(x), hint));
    case ExprKind::tuple:
      return simple(tuple(*as<TupleExpr>(x), hint));
    case ExprKind::dict:
      return simple(dict(*as<DictExpr>(x), hint));
    case ExprKind::list_comp:
      return simple(list_comprehension(*as<ListComp>(x), hint));
    case ExprKind::dict_comp:
      return simple(dict_comprehension(*as<DictComp>(x), hint));
    case ExprKind::format:
      return simple(format(*as<Format>(x)));
    case ExprKind::starred:
      refuse(x->range, "Unexpected starred expansion. File a bug report");
    case ExprKind::slice:
      refuse(x->range, "a slice stands inside of [] only");
  }
  refuse(x->range, "unknown kind of expression");
}

SugaredPtr Emitter::Impl::name(const Name& n) {
  if (SugaredPtr v = load(n.range, n.id)) return v;
  if (const Environment::Problem* problem = environment->find_problem(n.id)) {
    throw CompileError(CompileError(problem->reason, problem->at).message() + "and was used here", n.range);
  }
  if (SugaredPtr v = e.resolver().find_value(e, n.range, n.id)) return v;
  if (SugaredPtr v = find_builtin_name(e, n.range, n.id)) return v;
  std::vector<std::string> known = environment->visible();
  for (std::string& other : e.resolver().known_names()) known.push_back(std::move(other));
  // Nearly everything is near to a name of one or two letters.
  refuse(n.range, "undefined value {}{}", n.id, n.id.size() < 3 ? std::string() : did_you_mean(n.id, known));
}

SugaredPtr Emitter::Impl::attribute(const Attribute& a) { return sugared(a.value, nullptr)->attr(e, a.range, a.attr); }

ir::Value* Emitter::Impl::constant(const Constant& c) {
  switch (c.literal) {
    case Constant::Literal::none:
      return e.none(c.range);
    case Constant::Literal::true_:
      return e.constant(c.range, sconce::Value(true));
    case Constant::Literal::false_:
      return e.constant(c.range, sconce::Value(false));
    case Constant::Literal::integer:
      return e.constant(c.range, sconce::Value(c.integer));
    case Constant::Literal::real:
      return e.constant(c.range, sconce::Value(c.real));
    case Constant::Literal::imaginary:
      return e.constant(c.range, sconce::Value(std::complex<double>(0, c.real)));
    case Constant::Literal::string:
      return e.constant(c.range, sconce::Value(c.string));
    case Constant::Literal::ellipsis:
      break;
  }
  refuse(c.range, "'...' stands inside of [] only");
}

// ---- operators ----

ir::Value* Emitter::Impl::binary(const Range& at, Operator op, ir::Value* left, ir::Value* right) {
  const std::string magic = magic_method(op);
  if (left->type()->is(TypeKind::class_) && !magic.empty()) {
    if (SugaredPtr v = call_magic_method(e, at, magic, {left, right})) return v->as_value(e, at);
  }
  // "%d of %s" % (1, x)
  if (op == Operator::mod && left->type()->is(TypeKind::string)) {
    return call_op(e, at, "aten::percentFormat", {left, right});
  }
  // (a, b) + (c,)
  if (op == Operator::add && left->type()->is(TypeKind::tuple) && right->type()->is(TypeKind::tuple)) {
    std::vector<ir::Value*> items;
    for (ir::Value* tuple : {left, right}) {
      for (const SugaredPtr& item : simple(tuple)->unpack(e, at, {})) items.push_back(item->as_value(e, at));
    }
    return e.tuple(at, items);
  }
  return call_op(e, at, names_of(op).op, {left, right});
}

// a + b + c + ... nests to the left; a loop instead of recursion takes any number of terms.
ir::Value* Emitter::Impl::binary_chain(const Binary& b) {
  std::vector<const Binary*> chain{&b};
  while (const auto* left = as<Binary>(chain.back()->left)) chain.push_back(left);
  ir::Value* v = e.value(chain.back()->left);
  for (; !chain.empty(); chain.pop_back()) {
    v = binary(chain.back()->range, chain.back()->op, v, e.value(chain.back()->right));
  }
  return v;
}

ir::Value* Emitter::Impl::compare(const Compare& c) {
  if (c.op == Operator::is || c.op == Operator::is_not) return is_comparison(c).value;
  ir::Value* left = e.value(c.left);
  if (c.op != Operator::in && c.op != Operator::not_in) return binary(c.range, c.op, left, e.value(c.right));
  const SugaredPtr container = sugared(c.right, nullptr);
  ir::Value* found = nullptr;
  ir::Value* v = container->as_value(e, c.right->range);
  if (SugaredPtr magic = call_magic_method(e, c.range, "__contains__", {v, left})) {
    found = magic->as_value(e, c.range);
  } else {
    found = call_op(e, c.range, "aten::__contains__", {v, left});
  }
  return c.op == Operator::in ? found : call_op(e, c.range, "aten::__not__", {found});
}

ir::Value* Emitter::Impl::unary(const Unary& u) {
  if (u.op == Operator::not_) return condition(&u).value;
  ir::Value* v = e.value(u.operand);
  if (u.op == Operator::plus) {
    if (!v->type()->is(TypeKind::int_) && !v->type()->is(TypeKind::float_) && !v->type()->is(TypeKind::complex)) {
      refuse(u.range, "unsupported unary operator +");
    }
    return v;
  }
  if (u.op == Operator::neg) {  // -1 is a literal
    if (const std::optional<sconce::Value> c = ir::constant_value(v)) {
      if (c->is_int()) return e.constant(u.range, sconce::Value(numbers::wrap_neg(c->to_int())));
      if (c->is_double()) return e.constant(u.range, sconce::Value(-c->to_double()));
      if (c->is_complex()) return e.constant(u.range, sconce::Value(-c->to_complex()));
    }
  }
  if (v->type()->is(TypeKind::class_)) {
    if (SugaredPtr magic = call_magic_method(e, u.range, magic_method(u.op), v)) return magic->as_value(e, u.range);
  }
  return call_op(e, u.range, names_of(u.op).op, {v});
}

// f"{a}..." is "{}...".format(a)
ir::Value* Emitter::Impl::format(const Format& f) {
  std::vector<ir::Value*> args{e.constant(f.range, sconce::Value(f.text))};
  for (ExprPtr v : f.values) args.push_back(e.value(v));
  return call_op(e, f.range, "aten::format", args);
}

std::vector<ir::Value*> Emitter::Impl::values(const std::vector<ExprPtr>& items, const std::vector<TypePtr>& hints) {
  std::vector<ir::Value*> out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (const auto* starred = as<Starred>(items[i])) {
      for (const SugaredPtr& v : sugared(starred->value, nullptr)->unpack(e, starred->range, std::nullopt)) {
        out.push_back(v->as_value(e, starred->range));
      }
    } else {
      out.push_back(e.value(items[i], hints.empty() ? nullptr : hints[hints.size() == 1 ? 0 : i]));
    }
  }
  return out;
}

// ---- calls ----

SugaredPtr Emitter::Impl::call(const Call& c, TypePtr hint) {
  if (const auto* a = as<Attribute>(c.callee); a && a->attr == "tolist" && c.args.empty() && c.keywords.empty()) {
    return tolist(c, *a, hint);
  }
  const SugaredPtr callee = sugared(c.callee, nullptr);
  if (const auto* form = dynamic_cast<SpecialForm*>(callee.get())) return special_form(form->form, c, hint);
  auto* function = dynamic_cast<LanguageFunction*>(callee.get());
  if (function && function->kind() == "dict" && !c.keywords.empty()) return dict_call(c, callee, hint);
  const CallArguments args = e.arguments(c);
  // Calls that build containers are shown with their arguments, every other call by its callee.
  return callee->call(e, function && hint ? c.range : c.callee->range, args, hint);
}

}  // namespace sconce::script
