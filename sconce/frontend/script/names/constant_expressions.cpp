#include "sconce/frontend/script/names/constant_expressions.h"

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/names/archive_defaults.h"

namespace sconce::script {

using namespace syntax;

namespace {

// In an archive: __torch__.m.Color.RED, which is written with its whole name.
const sconce::Value* archived_member(Scope& scope, ExprPtr e) {
  const auto* a = as<Attribute>(e);
  if (!a || scope.dialect != Dialect::archive) return nullptr;
  Definition* d = scope.class_of(a->value);
  if (!d || d->scope->kind_of(*d) != ClassKind::enum_) return nullptr;
  return d->scope->type_of(*d)->enum_info()->find(a->attr);
}

}  // namespace

sconce::Value evaluate_constant(Scope& scope, ExprPtr e, TypePtr type) {
  if (const sconce::Value* member = archived_member(scope, e)) return *member;
  const auto known = scope.known_defaults.find(e);
  const Dynamic v = known != scope.known_defaults.end() ? *known->second : scope.state.evaluator->evaluate(scope, e);
  std::string why;
  if (!type) type = infer_type(v, &why);
  auto value = type ? to_value(v, type, &why) : std::nullopt;
  if (!value) refuse(e->range, "this is not a constant of the language: {}", why);
  return std::move(*value);
}

SugaredPtr sugared_constant(Scope& scope, const Dynamic& v, Emitter& e, const Range& at) {
  if (const auto* c = v.get<Definition*>()) return (*c)->scope->find_value(e, at, (*c)->name);
  if (const auto* f = v.get<DynamicFunction>(); f && !f->self) {
    if (Definition* d = f->scope->find(f->def->name); d && d->kind == Definition::Kind::function) {
      return std::make_shared<FunctionValue>(d->scope->functions_of(*d));
    }
  }
  if (const auto* n = v.get<DynamicName>()) return scope.state.imported_value(e, at, n->path);
  if (const auto* foreign = v.get<DynamicForeign>(); foreign && !foreign->message.empty()) {
    refuse(at, "{}", foreign->message);
  }
  std::string why;
  const bool immutable = (v.value() && !v.is_tensor()) || v.get<Dynamic::Tuple>();
  const TypePtr type = immutable ? infer_type(v, &why) : nullptr;
  auto value = type ? to_value(v, type, &why) : std::nullopt;
  if (!value) {
    refuse(at,
           "python value of type '{}' cannot be used as a value. Perhaps it is a closed over global variable? If so, "
           "please "
           "consider passing it in as an argument or use a local variable instead.",
           type_name(v));
  }
  return simple(e.constant(at, std::move(*value), type));
}

SugaredPtr constant_value_of(Definition& d, Emitter& e, const Range& at) {
  return sugared_constant(*d.scope, d.scope->state.evaluator->value_of(d), e, at);
}

std::vector<std::pair<std::string, sconce::Value>> evaluated_defaults(Scope& scope, const FunctionDef& def) {
  std::vector<std::pair<std::string, sconce::Value>> defaults;
  for (const Parameter& p : def.parameters) {
    if (!p.default_value || literal_value(p.default_value)) continue;
    if (scope.dialect == Dialect::archive) {
      defaults.emplace_back(p.name, archived_default(scope, p.default_value));
      continue;
    }
    if (as<DictExpr>(p.default_value) || as<ListExpr>(p.default_value))
      continue;  // refused by the reader of the signature
    const auto place = std::make_pair(p.default_value->range.source, p.default_value->range.begin);
    const auto known = scope.state.shared_defaults.find(place);
    if (known != scope.state.shared_defaults.end()) {
      defaults.emplace_back(p.name, known->second);
      continue;
    }
    sconce::Value v = evaluate_constant(scope, p.default_value, nullptr);
    if (v.is_tensor()) scope.state.shared_defaults.emplace(place, v);
    defaults.emplace_back(p.name, std::move(v));
  }
  return defaults;
}

}  // namespace sconce::script
