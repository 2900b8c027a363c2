#include "sconce/frontend/script/names/archive_defaults.h"

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/program/program_state.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;
using sconce::Value;

namespace {

class Reader {
 public:
  explicit Reader(Scope& scope) : scope_(scope) {}

  Value read(ExprPtr e) {
    if (std::optional<Value> literal = literal_value(e)) return std::move(*literal);
    if (const auto* a = as<Attribute>(e)) return attribute(*a);
    if (const auto* t = as<TupleExpr>(e)) return Value(make_ref<Tuple>(items(t->items)));
    if (const auto* l = as<ListExpr>(e)) return list(items(l->items), nullptr);
    if (const auto* d = as<DictExpr>(e)) return dict(*d);
    if (const auto* c = as<Call>(e)) return call(*c);
    wrong(e);
  }

 private:
  [[noreturn]] static void wrong(ExprPtr e) { refuse(e->range, "a default argument of an archive must be a constant"); }

  std::vector<Value> items(const std::vector<ExprPtr>& from) {
    std::vector<Value> values;
    for (ExprPtr e : from) values.push_back(read(e));
    return values;
  }

  // Without an element type: that of the items, if they have one.
  static Value list(const std::vector<Value>& values, TypePtr element) {
    if (!element) {
      element = values.empty() ? tensor_type() : values[0].type();
      for (const Value& v : values) {
        if (v.type() != element) element = any_type();
      }
    }
    auto made = make_ref<List>(element);
    for (const Value& v : values) made->append(v);
    return made;
  }

  Value dict(const DictExpr& d) {
    const std::vector<Value> keys = items(d.keys), values = items(d.values);
    if (keys.empty()) return make_ref<Dict>(string_type(), tensor_type());
    auto made = make_ref<Dict>(keys[0].type(), values[0].type());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].type() != made->key_type() || values[i].type() != made->value_type()) wrong(d.values[i]);
      made->set(keys[i], values[i]);
    }
    return made;
  }

  // CONSTANTS.c0 or __torch__.m.Color.RED
  Value attribute(const Attribute& a) {
    if (const auto* table = as<Name>(a.value); table && table->id == "CONSTANTS") {
      return scope_.state.archive_constant(a.range, a.attr);
    }
    Definition* d = scope_.class_of(a.value);
    if (!d || d->scope->kind_of(*d) != ClassKind::enum_) wrong(&a);
    const Value* member = d->scope->type_of(*d)->enum_info()->find(a.attr);
    if (!member) wrong(&a);
    return *member;
  }

  // torch.device("cpu"), annotate(List[int], []) or __torch__.m.Pair(1, 2.)
  Value call(const Call& c) {
    const std::string callee = dotted_name(c.callee);
    if (!c.keywords.empty()) wrong(&c);
    if (callee == "torch.device" && c.args.size() == 1) {
      const Value name = read(c.args[0]);
      if (!name.is_string()) wrong(&c);
      return parse_device(name.to_string_ref());
    }
    if (callee == "annotate" && c.args.size() == 2) return annotated(resolve_annotation(c.args[0], scope_), c.args[1]);
    Definition* d = scope_.class_of(c.callee);
    if (!d || d->scope->kind_of(*d) != ClassKind::named_tuple) wrong(&c);
    const TypePtr type = d->scope->type_of(*d);
    if (type->fields().size() != c.args.size()) wrong(&c);
    return Value(make_ref<Tuple>(items(c.args), type));
  }

  Value annotated(TypePtr type, ExprPtr e) {
    Value v = read(e);
    if (type->is(TypeKind::list) && v.is_list()) return list(v.to_list().values(), type->element());
    if (type->is(TypeKind::dict) && v.is_dict()) {
      auto made = make_ref<Dict>(type->contained()[0], type->contained()[1]);
      v.to_dict().for_each([&](const Value& key, const Value& value) { made->set(key, value); });
      return made;
    }
    return v;
  }

  Scope& scope_;
};

}  // namespace

Value archived_default(Scope& scope, ExprPtr e) { return Reader(scope).read(e); }

}  // namespace sconce::script
