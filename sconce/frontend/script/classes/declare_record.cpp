// Named tuples and enums, as classes or as calls: Point = namedtuple("Point", ["x", "y"]).
#include <fmt/format.h>

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/names/constant_expressions.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {
namespace {

using namespace syntax;

struct Field {
  std::string name;
  TypePtr type;
  std::optional<Value> default_value;
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != ',' && c != '\n' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      found.push_back(std::move(word));
      word.clear();
    }
  }
  return found;
}

const std::vector<ExprPtr>* items_of(ExprPtr e) {
  if (const auto* l = as<ListExpr>(e)) return &l->items;
  if (const auto* t = as<TupleExpr>(e)) return &t->items;
  return nullptr;
}

const Constant* string_literal(ExprPtr e) {
  const auto* c = as<Constant>(e);
  return c && c->literal == Constant::Literal::string ? c : nullptr;
}

// ["x", "y"], "x y", [("x", int), ("y", Tensor)]. Fields without a type hold tensors.
std::vector<Field> fields_of_call(Scope& scope, const Call& call) {
  if (call.args.size() < 2) refuse(call.range, "a named tuple needs a name and its fields");
  std::vector<Field> fields;
  if (const auto names = literal_strings(call.args[1])) {
    for (const std::string& name : *names) fields.push_back({name, tensor_type(), {}});
  } else if (const Constant* text = string_literal(call.args[1])) {
    for (const std::string& name : words(text->string)) fields.push_back({name, tensor_type(), {}});
  } else if (const auto* items = items_of(call.args[1])) {
    for (ExprPtr item : *items) {
      const auto* pair = as<TupleExpr>(item);
      const Constant* name = pair && pair->items.size() == 2 ? string_literal(pair->items[0]) : nullptr;
      if (!name) refuse(item->range, "a field of a named tuple is a pair of its name and its type");
      fields.push_back({name->string, resolve_annotation(pair->items[1], scope), {}});
    }
  } else {
    refuse(call.args[1]->range, "the fields of a named tuple must be written out");
  }
  for (const Keyword& k : call.keywords) {
    const auto* defaults = k.name == "defaults" ? items_of(k.value) : nullptr;
    if (!defaults || defaults->size() > fields.size())
      refuse(k.range, "'{}' is not supported for named tuples", k.name);
    for (size_t i = 0; i < defaults->size(); ++i) {
      Field& field = fields[fields.size() - defaults->size() + i];
      field.default_value = evaluate_constant(scope, (*defaults)[i], field.type);
    }
  }
  return fields;
}

std::vector<Field> fields_of_class(Scope& scope, const ClassDef& def) {
  std::vector<Field> fields;
  for (StmtPtr s : def.body) {
    const auto* a = as<Assign>(s);
    if (!a || !a->annotation || a->targets.size() != 1) continue;
    const auto* name = as<Name>(a->targets.front());
    if (!name) continue;
    Field field{name->id, resolve_annotation(a->annotation, scope), {}};
    if (a->value) field.default_value = evaluate_constant(scope, a->value, field.type);
    fields.push_back(std::move(field));
  }
  return fields;
}

struct Member {
  std::string name;
  Value value;
  Range range;
};

bool is_auto(ExprPtr e) {
  const auto* call = as<Call>(e);
  return call && decorator_name(call->callee) == "auto";
}

Value member_value(Scope& scope, ExprPtr e, const std::vector<Member>& before) {
  if (is_auto(e)) {
    int64_t next = 1;
    if (!before.empty() && __builtin_add_overflow(before.back().value.to_int(), 1, &next)) {
      refuse(e->range, "there is no integer after the value before");
    }
    return Value(next);
  }
  return evaluate_constant(scope, e, nullptr);
}

std::vector<Member> members_of_class(Scope& scope, const ClassDef& def) {
  std::vector<Member> members;
  for (StmtPtr s : def.body) {
    const auto* a = as<Assign>(s);
    if (!a || !a->value || a->targets.size() != 1) continue;
    const auto* name = as<Name>(a->targets.front());
    if (!name || name->id.starts_with("__")) continue;
    members.push_back({name->id, member_value(scope, a->value, members), a->range});
  }
  return members;
}

// Enum("Color", ["RED", "GREEN"]), Enum("Color", "RED GREEN"), Enum("Color", {"RED": 1})
std::vector<Member> members_of_call(Scope& scope, const Call& call) {
  if (call.args.size() < 2) refuse(call.range, "an enum needs a name and its members");
  std::vector<Member> members;
  const auto add = [&](const std::string& name) {
    members.push_back({name, Value(static_cast<int64_t>(members.size()) + 1), call.range});
  };
  if (const auto names = literal_strings(call.args[1])) {
    for (const std::string& name : *names) add(name);
  } else if (const Constant* text = string_literal(call.args[1])) {
    for (const std::string& name : words(text->string)) add(name);
  } else if (const auto* dict = as<DictExpr>(call.args[1])) {
    for (size_t i = 0; i < dict->keys.size(); ++i) {
      const Constant* name = string_literal(dict->keys[i]);
      if (!name) refuse(dict->keys[i]->range, "the name of an enum's member must be a string");
      members.push_back({name->string, member_value(scope, dict->values[i], members), dict->values[i]->range});
    }
  } else {
    refuse(call.args[1]->range, "the members of an enum must be written out");
  }
  return members;
}

}  // namespace

void declare_named_tuple(Definition& d) {
  Scope& scope = *d.scope;
  const std::vector<Field> fields =
      d.class_def ? fields_of_class(scope, *d.class_def) : fields_of_call(scope, *as<Call>(d.assign->value));
  std::vector<TypePtr> types;
  std::vector<std::string> names;
  for (const Field& f : fields) {
    types.push_back(f.type);
    names.push_back(f.name);
    d.defaults.emplace_back(f.name, f.default_value);
  }
  d.type = named_tuple_type(scope.prefix + "." + d.name, types, names);
  if (!scope.state.unit.find_type(d.type->name())) scope.state.unit.add_type(d.type);
}

void declare_enum(Definition& d) {
  Scope& scope = *d.scope;
  const std::vector<Member> members =
      d.class_def ? members_of_class(scope, *d.class_def) : members_of_call(scope, *as<Call>(d.assign->value));
  const Range at = d.class_def ? d.class_def->range : d.assign->range;
  if (members.empty()) refuse(at, "enum '{}' has no members", d.name);
  const TypePtr value = members.front().value.type();
  for (const Member& m : members) {
    if (m.value.type() != value) {
      refuse(m.range, "the values of enum '{}' must have one type: '{}' is {}, '{}' is {}", d.name,
             members.front().name, value->annotation(), m.name, m.value.type()->annotation());
    }
  }
  if (value != int_type() && value != float_type() && value != string_type()) {
    refuse(members.front().range, "Cannot create Enum with value type '{}', only int, float and string are supported",
           value->annotation());
  }
  ir::CompilationUnit& unit = scope.state.unit;
  const TypePtr type = make_enum_type(unit.unique_name(scope.prefix + "." + d.name), value);
  unit.add_type(type);
  d.type = type;
  for (const Member& m : members) {
    d.type->enum_info()->members.emplace_back(m.name, Value(make_ref<EnumValue>(d.type, m.name, m.value)));
  }
}

}  // namespace sconce::script
