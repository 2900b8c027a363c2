#include "sconce/serialization/code/class_printer.h"

#include <unordered_set>

#include "sconce/serialization/code/function_printer.h"
#include "sconce/serialization/code/print_literals.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

class ClassPrinter {
 public:
  ClassPrinter(CodeTables& tables, NameTable& names) : tables_(tables), names_(names) {}

  TaggedText print(TypePtr type, std::string_view name) {
    line("class " + std::string(name) + base(type) + ":");
    const size_t body = out_.text().size();
    switch (type->kind()) {
      case TypeKind::class_:
        members(type, *type->class_info());
        break;
      case TypeKind::interface:
        for (const auto& [method, schema] : type->interface_info()->methods) declaration(method, *schema);
        break;
      case TypeKind::enum_:
        for (const auto& [member, value] : type->enum_info()->members) {
          line("  " + member + " = " + constant_text(value.to_enum().value));
        }
        break;
      default:
        for (size_t i = 0; i < type->fields().size(); ++i) attribute(type->fields()[i], type->contained()[i]);
    }
    if (out_.text().size() == body) line("  pass");
    return std::move(out_);
  }

 private:
  static std::string base(TypePtr type) {
    switch (type->kind()) {
      case TypeKind::class_:
        return type->class_info()->is_module ? "(Module)" : "";
      case TypeKind::interface:
        return type->interface_info()->is_module ? "(ModuleInterface)" : "(Interface)";
      case TypeKind::enum_:
        return "(Enum)";
      default:
        return "(NamedTuple)";
    }
  }

  void line(std::string_view text) {
    out_.add(text);
    out_.add("\n");
  }

  void strings(std::string_view name, const std::vector<std::string>& items) {
    std::string text = "  " + std::string(name) + " = [";
    for (const std::string& item : items) text += print_string(item) + ", ";
    line(text + "]");
  }

  void attribute(const std::string& name, TypePtr type) {
    if (is_identifier(name)) {
      line("  " + name + " : " + tables_.type(type));
    } else {
      line("  __annotations__[" + print_string(name) + "] = " + tables_.type(type));
    }
  }

  // A value of the class itself: text of any kind is written out, and lists are tuples, since nothing may change them.
  std::string constant_text(const Value& v) {
    if (v.is_string()) return print_string(v.to_string_ref());
    if (v.is_list() || (v.is_tuple() && !v.to_tuple().named_type)) {
      const std::vector<Value> items = v.is_list() ? v.to_list().values() : v.to_tuple().items;
      std::string text;
      for (const Value& item : items) text += (text.empty() ? "" : ", ") + constant_text(item);
      return "(" + text + (items.size() == 1 ? ",)" : ")");
    }
    const auto literal = print_literal(v, [this](TypePtr t) { return tables_.type(t); });
    SCONCE_CHECK(literal, "an archive cannot hold a constant of a class that is a {}", v.type()->annotation());
    return *literal;
  }
  static TypePtr constant_type(const Value& v) {
    if (!v.is_list() && !(v.is_tuple() && !v.to_tuple().named_type)) return v.type();
    std::vector<TypePtr> types;
    for (const Value& item : v.is_list() ? v.to_list().values() : v.to_tuple().items)
      types.push_back(constant_type(item));
    return tuple_type(types);
  }

  void members(TypePtr type, const ClassInfo& info) {
    if (info.is_module) {
      const auto names_of = [&](ClassInfo::AttributeKind kind) {
        std::vector<std::string> names;
        for (const ClassInfo::Attribute& a : info.attributes) {
          if (a.kind == kind) names.push_back(a.name);
        }
        return names;
      };
      strings("__parameters__", names_of(ClassInfo::AttributeKind::parameter));
      strings("__buffers__", names_of(ClassInfo::AttributeKind::buffer));
    }
    hooks("__forward_pre_hooks__", info.forward_pre_hooks);
    hooks("__forward_hooks__", info.forward_hooks);
    if (!info.attributes.empty() && !is_identifier(info.attributes[0].name)) line("  __annotations__ = []");
    for (const ClassInfo::Attribute& a : info.attributes) attribute(a.name, a.type);
    for (const auto& [name, value] : info.constants) {
      line("  " + name + " : Final[" + tables_.type(constant_type(value)) + "] = " + constant_text(value));
    }
    std::unordered_set<const ir::Function*> printed;
    const auto method = [&](const std::string& name, ir::Function* f) {
      if (!printed.insert(f).second) return;
      SCONCE_CHECK(is_identifier(name), "class {}: an archive cannot say method '{}'", type->name(), name);
      out_.add(FunctionPrinter(tables_, names_, 1).print(*f, name));
    };
    for (const auto& [name, f] : info.methods) method(name, f);
    for (const auto* list : {&info.forward_pre_hooks, &info.forward_hooks}) {
      for (ir::Function* hook : *list) method(std::string(hook->short_name()), hook);
    }
  }

  void hooks(std::string_view name, const std::vector<ir::Function*>& functions) {
    if (functions.empty()) return;
    std::vector<std::string> names;
    for (const ir::Function* f : functions) names.emplace_back(f->short_name());
    strings(name, names);
  }

  void declaration(const std::string& name, const Schema& schema) {
    std::string text = "  def " + name + "(self";
    for (size_t i = 1; i < schema.arguments.size(); ++i) {
      const Argument& a = schema.arguments[i];
      text += ", " + a.name + ": " + tables_.type(a.type);
      if (a.default_value) text += "=" + tables_.default_value(*a.default_value);
    }
    line(text + ") -> " + tables_.type(schema.returns.empty() ? none_type() : schema.returns[0].type) + ":");
    line("    pass");
  }

  CodeTables& tables_;
  NameTable& names_;
  TaggedText out_;
};

}  // namespace

TaggedText print_class(TypePtr type, std::string_view name, CodeTables& tables, NameTable& names) {
  return ClassPrinter(tables, names).print(type, name);
}

}  // namespace sconce
