#include "sconce/frontend/script/classes/declare_class.h"

#include <algorithm>

#include <fmt/format.h>

#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/frontend/script/emit/emit_literal.h"
#include "sconce/frontend/script/names/constant_expressions.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {
namespace {

using namespace syntax;

std::shared_ptr<Resolver> borrowed(Scope& scope) { return {std::shared_ptr<void>(), &scope}; }

TypePtr new_class(Definition& d) {
  ir::CompilationUnit& unit = d.scope->state.unit;
  const TypePtr type = make_class_type(unit.unique_name(d.scope->prefix + "." + d.name));
  unit.add_type(type);
  return d.type = type;
}

// T of Final[T]; null for a bare Final.
ExprPtr final_type(ExprPtr annotation) {
  const auto* s = as<Subscript>(annotation);
  return s ? s->indices.front() : nullptr;
}

void refuse_inheritance(const ClassDef& def) {
  for (ExprPtr base : def.bases) {
    if (dotted_name(base) == "object") continue;
    refuse(base->range, "TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.");
  }
}

// The name of an attribute: x, or "0" in __annotations__["0"] = T.
std::string annotated_name(const Assign& a) {
  if (a.targets.size() != 1) return {};
  if (const auto* n = as<Name>(a.targets.front())) return n->id;
  const auto* s = as<Subscript>(a.targets.front());
  if (!s || dotted_name(s->value) != "__annotations__" || s->indices.size() != 1) return {};
  const auto* key = as<Constant>(s->indices.front());
  return key && key->literal == Constant::Literal::string ? key->string : std::string();
}

// The attributes that an archive's class body declares, and its constants.
void declare_attributes(Definition& d) {
  Scope& scope = *d.scope;
  ClassInfo& info = *d.type->class_info();
  std::vector<std::string> parameters, buffers;
  for (StmtPtr s : d.class_def->body) {
    const auto* a = as<Assign>(s);
    if (!a) continue;
    const std::string name = annotated_name(*a);
    const bool in_table = as<Subscript>(a->targets.front()) != nullptr;
    if (name == "__parameters__" || name == "__buffers__") {
      const auto names = literal_strings(a->value);
      if (!names) refuse(a->range, "{} must be a list of strings", name);
      (name == "__parameters__" ? parameters : buffers) = *names;
    } else if (name.starts_with("__") && !in_table && !a->annotation) {
      continue;  // __annotations__ = [], hooks
    } else if (a->annotation && is_final(a->annotation)) {
      ExprPtr written = final_type(a->annotation);
      const TypePtr type = written ? resolve_annotation(written, scope) : nullptr;
      if (!a->value) refuse(a->range, "the constant '{}' has no value", name);
      info.constants.emplace_back(name, evaluate_constant(scope, a->value, type));
    } else if (ExprPtr written = in_table ? a->value : a->annotation) {
      info.attributes.push_back({name, resolve_annotation(written, scope), ClassInfo::AttributeKind::plain});
    } else {
      refuse(a->range, "this statement cannot stand in a class body");
    }
  }
  const auto mark = [&](const std::vector<std::string>& names, ClassInfo::AttributeKind kind) {
    for (const std::string& name : names) {
      const int slot = info.find(name);
      if (slot >= 0) info.attributes[slot].kind = kind;
    }
  };
  mark(parameters, ClassInfo::AttributeKind::parameter);
  mark(buffers, ClassInfo::AttributeKind::buffer);
}

// Class-level names of a script class that are not attributes of its instances.
void note_class_attributes(Definition& d) {
  for (StmtPtr s : d.class_def->body) {
    const auto* a = as<Assign>(s);
    if (!a || !a->value) continue;
    for (ExprPtr target : a->targets) {
      const std::string name = dotted_name(target);
      if (name.empty() || name.starts_with("__")) continue;
      d.type->class_info()->unusable.emplace_back(
          name,
          fmt::format("'{}' is defined as a class attribute which currently is not supported. Consider converting "
                      "this to an instance attribute.",
                      name));
    }
  }
}

std::vector<ir::Function*> hooks(const ClassDef& def, TypePtr type, std::string_view list) {
  std::vector<ir::Function*> found;
  for (StmtPtr s : def.body) {
    const auto* a = as<Assign>(s);
    if (!a || annotated_name(*a) != list) continue;
    const auto names = literal_strings(a->value);
    if (!names) refuse(a->range, "{} must be a list of strings", list);
    for (const std::string& name : *names) {
      ir::Function* hook = ir::find_method(type, name);
      if (!hook) refuse(a->range, "the hook '{}' is no method of the class", name);
      found.push_back(hook);
    }
  }
  return found;
}

}  // namespace

static ir::Function& add_function(Scope& scope, const TreePtr& tree, const std::string& qualified,
                                  const FunctionDef& def, FunctionSource given) {
  if (const auto error = scope.broken.find(&def); error != scope.broken.end()) throw error->second;
  const ReplacedFunction form = callable_form(tree, def);
  auto source = std::make_shared<FunctionSource>(std::move(given));
  source->tree = form.tree;
  source->def = form.def;
  source->resolver = borrowed(scope);
  if (source->defaults.empty()) source->defaults = evaluated_defaults(scope, *form.def);
  source->from_archive = scope.dialect == Dialect::archive;
  ir::Function& f =
      scope.state.unit.add_function(qualified, [source, tree](ir::Function& f) { compile_function(f, *source); });
  if (source->self_type) f.set_self_type(source->self_type);
  return f;
}

bool is_final(ExprPtr annotation) {
  if (const auto* s = as<Subscript>(annotation)) annotation = s->value;
  const std::string name = dotted_name(annotation);
  return name == "Final" || name.ends_with(".Final");
}

ir::Function& add_method(Scope& scope, const TreePtr& tree, TypePtr type, const FunctionDef& def,
                         const std::string& name, FunctionSource given) {
  return add_function(scope, tree, type->name() + "." + name, def, std::move(given));
}

ir::Function* static_function(Definition& module_class, const std::string& name) {
  for (Definition* d : lookup_order(module_class)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (!def || def->name != name || !has_decorator(def->decorators, "staticmethod")) continue;
      const std::string qualified = d->scope->prefix + "." + d->name + ".__static__." + name;
      if (ir::Function* known = d->scope->state.unit.find_function(qualified)) return known;
      return &add_function(*d->scope, d->tree, qualified, *def, {});
    }
  }
  return nullptr;
}

void add_methods(Scope& scope, const TreePtr& tree, TypePtr type, const Body& body) {
  ClassInfo& info = *type->class_info();
  for (StmtPtr s : body) {
    const auto* def = as<FunctionDef>(s);
    if (!def) continue;
    FunctionSource source{};
    if (has_decorator(def->decorators, "staticmethod")) {
      info.statics.emplace_back(def->name, &add_method(scope, tree, type, *def, def->name, source));
      continue;
    }
    if (has_decorator(def->decorators, "classmethod")) {
      refuse(def->range, "class methods aren't supported: '{}'", def->name);
    }
    source.self_type = type;
    source.makes_attributes = def->name == "__init__";
    std::string name = def->name;
    const bool getter = has_decorator(def->decorators, "property");
    const bool setter = has_decorator(def->decorators, "setter");
    if (getter) name = "__" + def->name + "_getter";
    if (setter) name = "__" + def->name + "_setter";
    if (info.find_method(name)) refuse(def->range, "method '{}' already defined.", name);
    ir::Function& f = add_method(scope, tree, type, *def, name, std::move(source));
    info.methods.emplace_back(name, &f);
    if (getter) info.properties.push_back({def->name, &f, nullptr});
    if (setter) {
      for (ClassInfo::Property& p : info.properties) {
        if (p.name == def->name) p.setter = &f;
      }
    }
  }
}

void declare_script_class(Definition& d) {
  refuse_inheritance(*d.class_def);
  const TypePtr type = new_class(d);
  if (d.scope->dialect == Dialect::archive) {
    declare_attributes(d);
  } else {
    note_class_attributes(d);
  }
  add_methods(*d.scope, d.tree, type, d.class_def->body);
  const std::string written = dataclass_methods(*d.class_def, d.name);
  if (written.empty()) return;
  const auto source = std::make_shared<Source>("<dataclass " + d.name + ">", written);
  const TreePtr tree = parse(source, Dialect::python);
  // The methods that the class defines itself stay.
  Body missing;
  for (StmtPtr s : tree->body) {
    const auto* def = as<FunctionDef>(s);
    if (!def || type->class_info()->find_method(def->name)) continue;
    missing.push_back(s);
    d.written_methods.emplace_back(tree, def);
  }
  add_methods(*d.scope, tree, type, missing);
}

void declare_archive_module(Definition& d) {
  const TypePtr type = new_class(d);
  ClassInfo& info = *type->class_info();
  info.is_module = true;
  declare_attributes(d);
  add_methods(*d.scope, d.tree, type, d.class_def->body);
  // Properties are written as their methods.
  for (const auto& [name, f] : info.methods) {
    if (!name.starts_with("__") || !name.ends_with("_getter")) continue;
    const std::string property = name.substr(2, name.size() - 2 - 7);
    info.properties.push_back({property, f, info.find_method("__" + property + "_setter")});
  }
  info.forward_pre_hooks = hooks(*d.class_def, type, "__forward_pre_hooks__");
  info.forward_hooks = hooks(*d.class_def, type, "__forward_hooks__");
}

void declare_interface(Definition& d) {
  const ClassDef& def = *d.class_def;
  ir::CompilationUnit& unit = d.scope->state.unit;
  const TypePtr type = make_interface_type(unit.unique_name(d.scope->prefix + "." + d.name));
  unit.add_type(type);
  d.type = type;
  InterfaceInfo& info = *d.type->interface_info();
  for (ExprPtr base : def.bases)
    info.is_module |= d.scope->path_of(base).ends_with("Module") || dotted_name(base) == "ModuleInterface";
  for (StmtPtr s : def.body) {
    const auto* method = as<FunctionDef>(s);
    if (!method) {
      if (s->kind == StmtKind::pass || s->kind == StmtKind::expr) continue;
      refuse(s->range, "interfaces can only contain methods");
    }
    const bool empty = std::all_of(method->body.begin(), method->body.end(), [](StmtPtr b) {
      return b->kind == StmtKind::pass || b->kind == StmtKind::expr;  // pass, ..., a docstring
    });
    if (!empty)
      refuse(method->body.front()->range, "interfaces declarations should only contain a single 'pass' statement.");
    FunctionSource source{};
    source.tree = d.tree;
    source.def = method;
    source.resolver = borrowed(*d.scope);
    source.self_type = d.type;
    bool returns = false;
    Schema schema = declared_schema(source, &returns);
    if (!returns) refuse(method->range, "interface declarations must have a return type annotated.");
    schema.name = method->name;
    info.methods.emplace_back(method->name, std::make_shared<const Schema>(std::move(schema)));
  }
}

}  // namespace sconce::script
