// The signature that a `def` declares.
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/ir/literal.h"
#include "sconce/types/script_text.h"

namespace sconce::script {

using namespace syntax;

namespace {

// From behind the name to the colon.
Range signature_range(const FunctionDef& def) {
  Range at = def.name_range;
  at.begin = at.end;
  uint32_t from = at.end;
  if (!def.parameters.empty()) from = std::max(from, def.parameters.back().range.end);
  if (def.returns) from = std::max(from, def.returns->range.end);
  const std::string& text = at.source->text();
  const size_t colon = text.find(':', from);
  at.end = static_cast<uint32_t>(colon == text.npos ? from : colon + 1);
  return at;
}

// A default as a value of the parameter's type: 1 for a float is 1.0, 2 for BroadcastingList2[int] is [2, 2].
sconce::Value as_default(sconce::Value v, const Argument& a) {
  const TypePtr type = a.type->is(TypeKind::optional) ? a.type->element() : a.type;
  if (v.is_int() && type->is(TypeKind::float_)) return static_cast<double>(v.to_int());
  const bool list = type->is(TypeKind::list);
  if (list && a.fixed_size && v.is_number()) {
    auto items = make_ref<List>(type->element());
    for (int32_t i = 0; i < *a.fixed_size; ++i) items->append(v);
    return sconce::Value(std::move(items));
  }
  if (list && v.is_tuple()) {
    auto items = make_ref<List>(type->element());
    for (const sconce::Value& item : v.to_tuple().items) items->append(item);
    return sconce::Value(std::move(items));
  }
  if (list && v.is_list() && v.to_list().empty()) return sconce::Value(make_ref<List>(type->element()));
  return v;
}

// As PyTorch shows it: the value, not what was written.
std::string shown_default(const sconce::Value& v, TypePtr type) {
  if (type->is(TypeKind::optional)) type = type->element();
  if (type->is(TypeKind::string) && v.is_string()) return ir::quoted(v.to_string_ref());
  if (v.tag() == Tag::enum_) {
    const std::string& name = v.to_enum().type->name();
    return "Enum<" + name.substr(name.rfind('.') + 1) + "." + v.to_enum().name + ">";
  }
  if (!v.is_tuple()) return script_text(v);
  std::string text;
  for (const sconce::Value& item : v.to_tuple().items)
    text += (text.empty() ? "" : ", ") + shown_default(item, item.is_string() ? any_type() : item.type());
  return "(" + text + (v.to_tuple().items.size() == 1 ? ",)" : ")");
}

// An overload's declaration takes the defaults of the function's body, where they are of its types.
bool is_borrowed(const FunctionDef& def, size_t i) {
  const ExprPtr value = def.parameters[i].default_value;
  if (!value) return false;
  if (i + 1 < def.parameters.size()) return value->range.begin > def.parameters[i + 1].range.begin;
  return def.returns && value->range.begin > def.returns->range.begin;
}

std::string join_types(const std::vector<TypePtr>& types) { return tuple_type(types)->annotation(); }

}  // namespace

Schema declared_schema(const FunctionSource& source, bool* returns_declared) {
  const FunctionDef& def = *source.def;
  Schema schema;
  schema.name = def.name;
  std::vector<TypePtr> wanted, found;
  bool mismatch = false, has_default = false;
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    const Parameter& p = def.parameters[i];
    if (p.takes != Parameter::Takes::one) {
      refuse(p.range,
             "Compiled functions can't take variable number of arguments or use keyword-only arguments with "
             "defaults");
    }
    Argument a;
    a.name = p.name;
    a.keyword_only = p.keyword_only;
    if (i == 0 && source.self_type) {
      a.type = source.self_type;
    } else if (p.annotation) {
      a.type = resolve_annotation(p.annotation, *source.resolver);
      a.fixed_size = broadcasting_size(p.annotation);
    } else {
      a.type = tensor_type();
      if (p.default_value && source.from_archive) {
        refuse(p.range, "Keyword arguments with defaults need to be type-hinted (TorchScript C++ frontend)");
      }
    }
    std::optional<sconce::Value> value;
    for (const auto& [name, v] : source.defaults) {
      if (name == p.name) value = v;
    }
    if (!value && p.default_value) {
      const bool is_mutable = as<ListExpr>(p.default_value) || as<DictExpr>(p.default_value);
      if (is_mutable && !source.from_archive) {
        refuse(
            p.default_value->range,
            "Mutable default parameters are not supported because Python binds them to the function and they persist "
            "across function calls.\n As a workaround, make the default None and instantiate the default parameter "
            "within "
            "the body of the function. Found {} on parameter {}",
            as<ListExpr>(p.default_value) ? "<class 'list'>" : "<class 'dict'>", p.name);
      }
      value = literal_value(p.default_value);
      if (!value) refuse(p.default_value->range, "the default of parameter '{}' must be a constant", p.name);
    }
    if (!value && has_default && !p.keyword_only) {
      refuse(p.range, "Non-default positional argument follows default argument. Parameter {}", p.name);
    }
    if (value) {
      has_default = true;
      a.default_value = as_default(std::move(*value), a);
      a.default_text = shown_default(*a.default_value, a.type);
      const TypePtr type = a.default_value->type();
      if (is_borrowed(def, i) && !fits(type, a.type)) {
        a.default_value.reset();
        schema.arguments.push_back(std::move(a));
        continue;
      }
      if (!source.from_archive && !fits(type, a.type)) {
        std::string text =
            "Expected a default value of type " + a.type->annotation() + " on parameter \"" + p.name + "\".";
        if (!p.annotation) {
          text +=
              "Because \"" + p.name + "\" was not annotated with an explicit type it is assumed to be type 'Tensor'.";
        }
        throw CompileError(text, def.range);
      }
      wanted.push_back(a.type);
      found.push_back(type);
      mismatch |= !fits(type, a.type);
    }
    schema.arguments.push_back(std::move(a));
  }
  if (mismatch) {
    throw CompileError("Return value was annotated as having type " + join_types(wanted) + " but is actually of type " +
                           join_types(found),
                       signature_range(def))
        .called_from("defaults", def.name, def.range);
  }
  *returns_declared = def.returns != nullptr;
  if (def.returns) {
    Argument result;
    result.type = resolve_annotation(def.returns, *source.resolver);
    schema.returns.push_back(std::move(result));
  }
  return schema;
}

}  // namespace sconce::script
