#include "sconce/serialization/code/code_tables.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/serialization/code/print_literals.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

constexpr std::string_view kMangle = ".___torch_mangle_";

// "m.f" of "m.___torch_mangle_2.f"
std::string without_mangle(const std::string& name) {
  const size_t mangle = name.rfind(kMangle), dot = name.rfind('.');
  if (mangle == name.npos || name.find('.', mangle + 1) != dot) return name;
  return name.substr(0, mangle) + name.substr(dot);
}

std::string mangled(const std::string& name, size_t number) {
  std::string plain = without_mangle(name);
  return plain.insert(plain.rfind('.'), std::string(kMangle) + std::to_string(number));
}

bool has_hook(const ClassInfo& info, std::string_view name) {
  const auto is_it = [&](const ir::Function* f) { return f->short_name() == name; };
  return std::any_of(info.forward_pre_hooks.begin(), info.forward_pre_hooks.end(), is_it) ||
         std::any_of(info.forward_hooks.begin(), info.forward_hooks.end(), is_it);
}

// Behind the name of a class its hooks can be called, and no other function: static ones go without the class.
std::string function_name(const ir::Function& function) {
  const std::string plain = without_mangle(function.name());
  const std::string qualifier = plain.substr(0, plain.rfind('.'));
  const TypePtr type = function.unit().find_type(qualifier);
  if (!type || !type->is(TypeKind::class_)) return function.name();
  if (has_hook(*type->class_info(), function.short_name())) return plain;
  return qualifier.substr(0, qualifier.rfind('.') + 1) + std::string(function.short_name());
}

bool is_plain_memory(const Tensor& t) {
  return t.device().type == DeviceType::cpu && t.is_contiguous() && !t.requires_grad();
}

bool is_equal_tensor(const Tensor& a, const Tensor& b) {
  if (a.impl() == b.impl()) return true;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || !is_plain_memory(a) || !is_plain_memory(b)) return false;
  const size_t bytes = static_cast<size_t>(a.numel()) * a.item_size();
  return bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0;
}

bool is_equal_constant(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is_tensor()) return is_equal_tensor(a.to_tensor(), b.to_tensor());
  if (a.is_string()) return a.to_string_ref() == b.to_string_ref();
  return a.is_same(b);
}

std::string seen_at_once(const Value& v) {
  if (v.is_string()) return v.to_string_ref();
  if (v.is_tensor())
    return fmt::format("{} {}", dtype_name(v.to_tensor().dtype()), fmt::join(v.to_tensor().sizes(), " "));
  return std::string(tag_name(v.tag()));
}

}  // namespace

void CodeTables::note(TypePtr type) {
  for (TypePtr part : type->contained()) note(part);
  const bool is_named = type->is(TypeKind::class_) || type->is(TypeKind::interface) || type->is(TypeKind::enum_) ||
                        type->is(TypeKind::tuple);
  if (!is_named || type->name().empty() || is_custom_class(type)) return;
  const auto [found, added] = by_name_.try_emplace(type->name(), definitions_.size());
  if (added) {
    definitions_.push_back({type, type->name()});
    return;
  }
  const auto* known = std::get_if<TypePtr>(&definitions_[found->second].what);
  SCONCE_CHECK(known && *known == type, "two different definitions are called '{}': an archive can hold one of them",
               type->name());
}

std::string CodeTables::type(TypePtr type) {
  note(type);
  return type->annotation();
}

std::string CodeTables::function(ir::Function& function) {
  if (!function.has_graph()) return function.name();  // of a class of C++, which the reader of the file knows
  std::string& name = functions_[&function];
  if (!name.empty()) return name;
  name = function_name(function);
  for (size_t number = 0; by_name_.contains(name); ++number) name = mangled(function_name(function), number);
  by_name_[name] = definitions_.size();
  definitions_.push_back({&function, name});
  return name;
}

std::string CodeTables::value(const Value& v) {
  if (const auto literal = print_literal(v, [this](TypePtr t) { return type(t); })) return *literal;
  return constant(v);
}

std::string CodeTables::default_value(const Value& v) {
  if (v.is_tuple() && !v.to_tuple().items.empty()) {
    const TypePtr named = v.to_tuple().named_type;
    std::string text = (named && !named->name().empty() ? type(named) : "") + "(";
    for (const Value& item : v.to_tuple().items) text += (text.back() == '(' ? "" : ", ") + default_value(item);
    return text + (v.to_tuple().items.size() == 1 && text.front() == '(' ? ",)" : ")");
  }
  if (v.is_list() && v.to_list().is_tensors() && !v.to_list().empty()) {
    std::string text = "[";
    for (const Value& item : v.to_list().values()) text += (text.size() == 1 ? "" : ", ") + default_value(item);
    return text + "]";
  }
  return value(v);
}

std::string CodeTables::constant(const Value& v) {
  const bool is_storable = v.tag() != Tag::future && v.tag() != Tag::capsule && v.tag() != Tag::generator;
  SCONCE_CHECK(is_storable, "a constant of type {} cannot be saved", v.type()->annotation());
  note(v.type());
  std::vector<size_t>& candidates = alike_[seen_at_once(v)];
  for (const size_t i : candidates) {
    if (is_equal_constant(constants_[i], v)) return fmt::format("CONSTANTS.c{}", i);
  }
  candidates.push_back(constants_.size());
  constants_.push_back(v);
  return fmt::format("CONSTANTS.c{}", constants_.size() - 1);
}

const CodeTables::OperatorText& CodeTables::operator_text(const Op& op) {
  if (const auto known = operators_.find(&op); known != operators_.end()) return known->second;
  SCONCE_CHECK(script::chosen_by_name(op), "an archive cannot say {}: its name means another overload",
               op.qualified_name());
  const ir::Symbol symbol(op.info.name);
  const std::string space(symbol.space()), name(symbol.name());
  OperatorText text;
  text.head = space == "aten" ? "torch." + name : space == "python" ? "^" + name : "ops." + space + "." + name;
  text.cast = script::cast_name(symbol.text());
  version_ = std::max(version_, script::first_version_of(op));
  return operators_.emplace(&op, std::move(text)).first->second;
}

}  // namespace sconce
