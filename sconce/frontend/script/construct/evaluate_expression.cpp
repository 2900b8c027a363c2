// Expressions while modules are built.
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/names/constant_expressions.h"

namespace sconce::script {

using namespace syntax;

namespace {

bool is_generic(const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  return last == "List" || last == "Dict" || last == "Tuple" || last == "Optional" || last == "Union" ||
         last == "Future" || last == "Final" || path == "list" || path == "dict" || path == "tuple";
}

}  // namespace

Dynamic Evaluator::definition(Definition& d) {
  switch (d.kind) {
    case Definition::Kind::class_:
      return &d;
    case Definition::Kind::function:
      return DynamicFunction{d.functions.back(), d.scope, nullptr, nullptr};
    case Definition::Kind::import_:
      if (auto found = path_value(d.path, {})) return std::move(*found);
      return DynamicName{d.path};
    case Definition::Kind::constant:
      if (d.value) return *d.value;
      if (d.evaluating) refuse(d.assign->range, "'{}' is defined by itself", d.name);
      d.evaluating = true;
      try {
        d.value = std::make_shared<Dynamic>(evaluate(*d.scope, d.assign->value));
      } catch (...) {
        d.evaluating = false;
        throw;
      }
      d.evaluating = false;
      return *d.value;
    case Definition::Kind::namespace_:
      return &d;
  }
  return {};
}

Dynamic Evaluator::name(Frame& f, const Name& n) {
  const auto variable = f.variables.find(n.id);
  if (variable != f.variables.end()) return variable->second;
  if (Definition* d = f.scope->find(n.id)) return definition(*d);
  if (n.id == "super" || n.id == "__class__") return DynamicName{n.id};
  if (auto found = path_value(f.scope->path_of(&n), n.range)) return std::move(*found);
  refuse(n.range, "undefined value {}", n.id);
}

DynamicArguments Evaluator::arguments(Frame& f, const Call& c) {
  DynamicArguments args;
  for (ExprPtr a : c.args) {
    if (const auto* starred = as<Starred>(a)) {
      for (Dynamic& item : iterate(expr(f, starred->value), a->range)) args.positional.push_back(std::move(item));
    } else {
      args.positional.push_back(expr(f, a));
    }
  }
  for (const Keyword& k : c.keywords) args.keywords.emplace_back(k.name, expr(f, k.value));
  return args;
}

std::vector<Dynamic> Evaluator::index(Frame& f, const Subscript& s) {
  std::vector<Dynamic> at;
  for (ExprPtr i : s.indices) {
    if (const auto* slice = as<Slice>(i)) {
      // A slice is a tuple of three under a name that no program can write.
      const auto part = [&](ExprPtr e) { return e ? expr(f, e) : Dynamic(); };
      at.push_back(DynamicMethod{
          std::make_shared<Dynamic>(make_tuple({part(slice->start), part(slice->stop), part(slice->step)})),
          "<slice>"});
    } else {
      at.push_back(expr(f, i));
    }
  }
  return at;
}

Dynamic Evaluator::subscript(Frame& f, const Subscript& s) {
  const std::string path = f.scope->path_of(s.value);
  if (is_generic(path) && !f.variables.contains(path)) return resolve_annotation(&s, *f.scope);
  const Dynamic v = expr(f, s.value);
  std::vector<Dynamic> at = index(f, s);
  return get_item(v, at.size() == 1 ? at.front() : make_tuple(std::move(at)), s.range);
}

Dynamic Evaluator::expr(Frame& f, ExprPtr e) {
  const Step step(*this, e->range);
  switch (e->kind) {
    case ExprKind::constant: {
      if (static_cast<const Constant*>(e)->literal == Constant::Literal::ellipsis) return DynamicName{"..."};
      return *literal_value(e);
    }
    case ExprKind::name:
      return name(f, *static_cast<const Name*>(e));
    case ExprKind::binary: {
      const auto* b = static_cast<const Binary*>(e);
      const Dynamic left = expr(f, b->left);
      return binary(b->op, left, expr(f, b->right), e->range);
    }
    case ExprKind::unary: {
      const auto* u = static_cast<const Unary*>(e);
      const Dynamic operand = expr(f, u->operand);
      if (u->op == Operator::not_) return sconce::Value(!truth(operand, e->range));
      return unary(u->op, operand, e->range);
    }
    case ExprKind::bool_op: {
      const auto* b = static_cast<const BoolOp*>(e);
      Dynamic left = expr(f, b->left);
      return truth(left, b->left->range) == b->is_and ? expr(f, b->right) : left;
    }
    case ExprKind::compare: {
      const auto* c = static_cast<const Compare*>(e);
      const Dynamic left = expr(f, c->left), right = expr(f, c->right);
      const bool identity =
          c->op == Operator::is || c->op == Operator::is_not || c->op == Operator::in || c->op == Operator::not_in;
      if (!identity && (left.is_tensor() || right.is_tensor())) return binary(c->op, left, right, e->range);
      return sconce::Value(compare(c->op, left, right, e->range));
    }
    case ExprKind::if_exp: {
      const auto* i = static_cast<const IfExp*>(e);
      return expr(f, truth(expr(f, i->test), i->test->range) ? i->body : i->orelse);
    }
    case ExprKind::call: {
      const auto* c = static_cast<const Call*>(e);
      if (const auto* n = as<Name>(c->callee); n && n->id == "super" && !f.variables.contains("super")) {
        if (!f.self) refuse(e->range, "super() stands outside of a method");
        return DynamicSuper{f.self, f.owner};
      }
      const Dynamic callee = expr(f, c->callee);
      return call(callee, arguments(f, *c), e->range);
    }
    case ExprKind::attribute: {
      const auto* a = static_cast<const Attribute*>(e);
      return attribute(expr(f, a->value), a->attr, e->range);
    }
    case ExprKind::subscript:
      return subscript(f, *static_cast<const Subscript*>(e));
    case ExprKind::list:
    case ExprKind::tuple: {
      const auto& items =
          e->kind == ExprKind::list ? static_cast<const ListExpr*>(e)->items : static_cast<const TupleExpr*>(e)->items;
      std::vector<Dynamic> values;
      for (ExprPtr item : items) {
        if (const auto* starred = as<Starred>(item)) {
          for (Dynamic& v : iterate(expr(f, starred->value), item->range)) values.push_back(std::move(v));
        } else {
          values.push_back(expr(f, item));
        }
      }
      return e->kind == ExprKind::list ? make_list(std::move(values)) : make_tuple(std::move(values));
    }
    case ExprKind::dict: {
      const auto* d = static_cast<const DictExpr*>(e);
      auto dict = std::make_shared<DynamicDict>();
      for (size_t i = 0; i < d->keys.size(); ++i) dict->set(expr(f, d->keys[i]), expr(f, d->values[i]));
      return dict;
    }
    case ExprKind::list_comp: {
      const auto* c = static_cast<const ListComp*>(e);
      Frame inner = f;  // its variables do not leak
      std::vector<Dynamic> values;
      for (const Dynamic& item : iterate(expr(f, c->iter), c->iter->range)) {
        assign(inner, c->target, item);
        if (c->condition && !truth(expr(inner, c->condition), c->condition->range)) continue;
        values.push_back(expr(inner, c->item));
      }
      return make_list(std::move(values));
    }
    case ExprKind::dict_comp: {
      const auto* c = static_cast<const DictComp*>(e);
      Frame inner = f;
      auto dict = std::make_shared<DynamicDict>();
      for (const Dynamic& item : iterate(expr(f, c->iter), c->iter->range)) {
        assign(inner, c->target, item);
        if (c->condition && !truth(expr(inner, c->condition), c->condition->range)) continue;
        dict->set(expr(inner, c->key), expr(inner, c->value));
      }
      return dict;
    }
    case ExprKind::format: {
      const auto* s = static_cast<const Format*>(e);
      std::vector<Dynamic> values;
      for (ExprPtr v : s->values) values.push_back(expr(f, v));
      return sconce::Value(filled(s->text, values, e->range));
    }
    case ExprKind::slice:
    case ExprKind::starred:
      break;
  }
  refuse(e->range, "this expression is not supported while modules are built");
}

bool Evaluator::truth(const Dynamic& v, const Range& at) {
  if (const sconce::Value* x = v.value()) {
    switch (x->tag()) {
      case Tag::none:
        return false;
      case Tag::boolean:
        return x->to_bool();
      case Tag::integer:
        return x->to_int() != 0;
      case Tag::real:
        return x->to_double() != 0;
      case Tag::string:
        return !x->to_string_ref().empty();
      case Tag::tensor:
        return call_operator("aten::Bool", {{v}, {}}, at).value()->to_bool();
      default:
        return true;
    }
  }
  if (v.items()) return !v.items()->empty();
  if (const auto* d = v.get<Dynamic::Dict>()) return !(*d)->items.empty();
  return true;
}

}  // namespace sconce::script
