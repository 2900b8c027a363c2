#include "sconce/frontend/script/names/value_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/program/script_library.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

struct NamedOp {
  TypeKind kind;
  std::string_view name, op;
};
constexpr NamedOp kProperties[] = {
#define SCONCE_PROPERTY(kind, name, op) {TypeKind::kind, name, op},
#define SCONCE_CAST(name, dtype)
#define SCONCE_METHOD(kind, name, op)
#include "sconce/frontend/script/names/value_attributes.def"
#undef SCONCE_PROPERTY
#undef SCONCE_CAST
#undef SCONCE_METHOD
};
constexpr NamedOp kMethods[] = {
#define SCONCE_PROPERTY(kind, name, op)
#define SCONCE_CAST(name, dtype)
#define SCONCE_METHOD(kind, name, op) {TypeKind::kind, name, op},
#include "sconce/frontend/script/names/value_attributes.def"
#undef SCONCE_PROPERTY
#undef SCONCE_CAST
#undef SCONCE_METHOD
};
struct Cast {
  std::string_view name;
  DType dtype;
};
constexpr Cast kCasts[] = {
#define SCONCE_PROPERTY(kind, name, op)
#define SCONCE_CAST(name, dtype) {name, DType::dtype},
#define SCONCE_METHOD(kind, name, op)
#include "sconce/frontend/script/names/value_attributes.def"
#undef SCONCE_PROPERTY
#undef SCONCE_CAST
#undef SCONCE_METHOD
};

std::string_view find_named(std::span<const NamedOp> table, TypeKind kind, std::string_view name) {
  for (const NamedOp& entry : table) {
    if (entry.kind == kind && entry.name == name) return entry.op;
  }
  return {};
}

const Cast* find_cast(TypePtr type, std::string_view name) {
  if (!type->is(TypeKind::tensor)) return nullptr;
  const auto* found = std::find_if(std::begin(kCasts), std::end(kCasts), [&](const Cast& c) { return c.name == name; });
  return found == std::end(kCasts) ? nullptr : found;
}

bool takes_as_self(const Schema& schema, TypePtr type) {
  const std::optional<size_t> self = schema.find_argument("self");
  if (!self) return false;
  const TypePtr formal = plain_type(schema.arguments[*self].type);
  TypeVariables variables;
  std::string why;
  if (!variables.match(formal, type, why)) return false;
  const TypePtr wanted = variables.replace(formal);
  return wanted && fits(type, wanted);
}

// Is there an operator aten::name that has `self`, of this type?
bool is_method(TypePtr type, const std::string& name) {
  for (const Op* op : find_overloads("aten::" + name)) {
    if (takes_as_self(op->schema(), type)) return true;
  }
  for (ir::Function* f : library_functions("builtins/aten.py", name)) {
    if (takes_as_self(f->schema(), type)) return true;
  }
  return false;
}

// x.float(): aten::to with the dtype filled in.
class CastMethod : public SugaredValue {
 public:
  CastMethod(ir::Value* self, DType dtype) : self_(self), dtype_(dtype) {}
  std::string kind() const override { return "method"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    CallArguments all;
    all.positional.push_back({at, {}, simple(self_)});
    all.positional.push_back({at, {}, simple(e.constant(at, sconce::Value(dtype_)))});
    if (!args.positional.empty())
      refuse(at, "Expected at most 0 positional arguments but found {}", args.positional.size());
    all.keywords = args.keywords;
    return call_builtin(e, at, ir::Symbol("aten::to"), all);
  }

 private:
  ir::Value* const self_;
  const DType dtype_;
};

// x.tolist(), whose type only the context knows.
class ToListMethod : public SugaredValue {
 public:
  explicit ToListMethod(ir::Value* self) : self_(self) {}
  std::string kind() const override { return "method"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override {
    if (!args.positional.empty() || !args.keywords.empty()) refuse(at, "tolist takes no arguments");
    if (!hint) refuse(at, "Expected type hint for result of tolist()");
    int64_t dims = 0;
    TypePtr element = hint;
    for (; element->is(TypeKind::list); ++dims) element = element->element();
    // Numbered as the operator reads them.
    const TypePtr elements[] = {int_type(), float_type(), bool_type(), complex_type()};
    const auto* found = std::find(std::begin(elements), std::end(elements), element);
    if (found == std::end(elements)) {
      refuse(at, "{} is not one of the supported element types for tolist: int, float, complex, bool",
             element->annotation());
    }
    ir::Value* depth = e.constant(at, sconce::Value(dims));
    ir::Value* kind = e.constant(at, sconce::Value(static_cast<int64_t>(found - std::begin(elements))));
    return simple(e.node(at, ir::kind::tolist, {self_, depth, kind}, {hint})->output());
  }

 private:
  ir::Value* const self_;
};

SugaredPtr class_attribute(Emitter& e, const Range& at, ir::Value* v, const std::string& name) {
  const ClassInfo& info = *v->type()->class_info();
  if (const int slot = info.find(name); slot >= 0) {
    ir::Node* node = e.node(at, ir::kind::GetAttr, {v}, {info.attributes[static_cast<size_t>(slot)].type});
    node->set_attribute("name", sconce::Value(name));
    return value_of(e, node->output());
  }
  if (const sconce::Value* constant = info.find_constant(name)) return simple(e.constant(at, *constant));
  for (const auto& [overloaded, names] : info.overloads) {
    if (overloaded == name) return std::make_shared<MethodValue>(v, names);
  }
  if (const ClassInfo::Property* property = info.find_property(name)) {
    const std::string getter(property->getter->short_name());
    return call_method(e, at, v, {getter}, {});
  }
  if (info.find_method(name)) return std::make_shared<MethodValue>(v, std::vector<std::string>{name});
  for (const auto& [unusable, reason] : info.unusable) {
    if (unusable == name) refuse(at, "{}", reason);
  }
  return nullptr;
}

SugaredPtr field(Emitter& e, const Range& at, ir::Value* v, const std::string& name) {
  const std::vector<std::string>& fields = v->type()->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != name) continue;
    ir::Value* index = e.constant(at, sconce::Value(static_cast<int64_t>(i)));
    return simple(e.node(at, ir::kind::TupleIndex, {v, index}, {v->type()->contained()[i]})->output());
  }
  return nullptr;
}

// prim::EnumValue has an overload for each type that the values of an enum may have.
SugaredPtr enum_value(Emitter& e, const Range& at, ir::Value* v) {
  const TypePtr type = v->type()->element();
  ir::Node* node = e.node(at, ir::Symbol("prim::EnumValue"), {v}, {type});
  node->set_op(find_op("prim::EnumValue", type->to_string()));
  return simple(node->output());
}

std::vector<std::string> attribute_names(TypePtr type) {
  std::vector<std::string> names = type->fields();
  if (type->is(TypeKind::class_)) {
    const ClassInfo& info = *type->class_info();
    for (const auto& a : info.attributes) names.push_back(a.name);
    for (const auto& m : info.methods) names.push_back(m.first);
    for (const auto& c : info.constants) names.push_back(c.first);
    for (const auto& p : info.properties) names.push_back(p.name);
    return names;
  }
  for (const NamedOp& p : kProperties) {
    if (p.kind == type->kind()) names.emplace_back(p.name);
  }
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info.name;
    if (name.starts_with("aten::") && takes_as_self(op->schema(), type)) names.emplace_back(name.substr(6));
  }
  return names;
}

}  // namespace

SugaredPtr find_attribute(Emitter& e, const Range& at, ir::Value* v, const std::string& name) {
  const TypePtr type = v->type();
  if (type->is(TypeKind::class_) && type->class_info()) return class_attribute(e, at, v, name);
  if (type->is(TypeKind::interface)) {
    if (!type->interface_info()->find(name)) return nullptr;
    return std::make_shared<MethodValue>(v, std::vector<std::string>{name});
  }
  if (SugaredPtr found = field(e, at, v, name)) return found;
  if (type->is(TypeKind::enum_) && name == "value") return enum_value(e, at, v);
  if (const std::string_view op = find_named(kProperties, type->kind(), name); !op.empty()) {
    return simple(call_op(e, at, op, {v}));
  }
  if (const Cast* cast = find_cast(type, name)) return std::make_shared<CastMethod>(v, cast->dtype);
  if (type->is(TypeKind::tensor) && name == "tolist") return std::make_shared<ToListMethod>(v);
  const CallArgument self{at, "self", simple(v)};
  if (const std::string_view op = find_named(kMethods, type->kind(), name); !op.empty()) {
    return std::make_shared<BuiltinFunction>(ir::Symbol(op), self);
  }
  if (is_method(type, name)) return std::make_shared<BuiltinFunction>(ir::Symbol("aten::" + name), self);
  return nullptr;
}

bool has_value_attribute(TypePtr type, const std::string& name) {
  return !find_named(kProperties, type->kind(), name).empty() || find_cast(type, name) ||
         (type->is(TypeKind::tensor) && name == "tolist") || (type->is(TypeKind::enum_) && name == "value") ||
         !find_named(kMethods, type->kind(), name).empty() || is_method(type, name);
}

void refuse_attribute(const Range& at, TypePtr type, const std::string& name) {
  std::string text = fmt::format("'{}' object has no attribute or method '{}'.", type->annotation(), name);
  if (type->is(TypeKind::class_)) text += " Did you forget to initialize an attribute in __init__()?";
  text += did_you_mean(name, attribute_names(type));
  refuse(at, "{}", text);
}

}  // namespace sconce::script
