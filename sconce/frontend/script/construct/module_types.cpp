#include "sconce/frontend/script/construct/module_types.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/classes/module_value.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/construct/module_methods.h"
#include "sconce/frontend/script/emit/emit_literal.h"

namespace sconce::script {

using namespace syntax;

namespace {

constexpr int kMaxModuleDepth = 100;  // of modules in modules

struct Registry {
  std::mutex mutex;
  std::unordered_map<TypePtr, std::pair<ModuleType*, ModuleTypes*>> types;
};
Registry& registry() {
  static Registry& made = *new Registry;
  return made;
}

// A class-level annotation of an attribute, the nearest class first.
struct Annotated {
  ExprPtr type = nullptr;
  Scope* scope = nullptr;
};
// Annotations inside of __init__ are never evaluated by Python: they may name something that is not a type here.
bool means_a_type(ExprPtr annotation, Scope& scope) {
  try {
    resolve_annotation(annotation, scope);
    return true;
  } catch (const CompileError&) {
    return false;
  }
}
Annotated annotation_of(Instance& instance, std::string_view name) {
  for (auto a = instance.annotations.rbegin(); a != instance.annotations.rend(); ++a) {
    if (a->name != name) continue;
    if (means_a_type(a->type, *a->scope)) return {a->type, a->scope};
    break;
  }
  for (Definition* d : lookup_order(*instance.cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* a = as<Assign>(s);
      if (a && a->annotation && dotted_name(a->targets.front()) == name) return {a->annotation, d->scope};
    }
  }
  return {};
}

// The list of names that a class attribute holds: __constants__, __jit_unused_properties__.
std::vector<std::string> listed_names(Definition& cls, std::string_view list) {
  for (Definition* d : lookup_order(cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* a = as<Assign>(s);
      if (!a || !a->value || dotted_name(a->targets.front()) != list) continue;
      if (const auto names = literal_strings(a->value)) return *names;
      const Dynamic v = d->scope->state.evaluator->evaluate(*d->scope, a->value);
      std::vector<std::string> names;
      if (!v.items()) refuse(a->range, "{} must be a list of names", list);
      for (const Dynamic& item : *v.items()) {
        if (!item.string()) refuse(a->range, "{} must be a list of names", list);
        names.push_back(*item.string());
      }
      return names;
    }
  }
  return {};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Lists of constants are tuples.
Dynamic frozen(const Dynamic& v) {
  if (!v.items()) return v;
  std::vector<Dynamic> items;
  for (const Dynamic& item : *v.items()) items.push_back(frozen(item));
  return make_tuple(std::move(items));
}

// What makes a function that is an attribute this one and no other.
std::string function_identity(const Dynamic& f) {
  if (const auto* function = f.get<DynamicFunction>()) return fmt::format("{}", fmt::ptr(function->def));
  const auto* definition = f.get<Definition*>();
  if (!definition) return to_repr(f);
  const Definition& d = **definition;
  if (d.kind == Definition::Kind::import_) return d.path;
  return d.functions.empty() && !d.compiled.empty() ? fmt::format("{}", fmt::ptr(d.compiled.front()))
                                                    : fmt::format("{}", fmt::ptr(&d));
}

std::string no_type(const Dynamic& v, const std::string& why) {
  const bool empty_list = v.get<Dynamic::List>() && v.items()->empty();
  const auto* dict = v.get<Dynamic::Dict>();
  const std::string reason = empty_list                       ? "List trace inputs must have elements"
                             : dict && (*dict)->items.empty() ? "Dictionary inputs must have entries"
                                                              : why;
  return fmt::format(
      "(This attribute exists on the Python module, but we failed to convert Python type: '{}' to a "
      "TorchScript type. {}. Its type was inferred; try adding a type annotation for the attribute.)",
      type_name(v), reason);
}

}  // namespace

struct ModuleTypes::Draft {
  std::vector<ClassInfo::Attribute> attributes;
  std::vector<sconce::Value> values;
  std::vector<std::pair<std::string, sconce::Value>> constants;
  std::vector<std::pair<std::string, Dynamic>> functions;
  std::vector<std::pair<std::string, std::string>> unusable;
  std::vector<std::string> taken;  // names that are done

  void add(const std::string& name, TypePtr type, ClassInfo::AttributeKind kind, sconce::Value value) {
    attributes.push_back({name, type, kind});
    values.push_back(std::move(value));
    taken.push_back(name);
  }
};

ModuleTypes::ModuleTypes(ProgramState& state) : state_(state) {
  registry();  // made here: the destructor must not need memory
}

ModuleTypes::~ModuleTypes() {
  const std::lock_guard lock(registry().mutex);
  for (const auto& t : types_) registry().types.erase(t->type);
}

ModuleType* find_module_type(TypePtr type, ModuleTypes** types) {
  if (!type->is(TypeKind::class_) || !type->class_info()->is_module) return nullptr;
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().types.find(type);
  if (found == registry().types.end()) return nullptr;
  if (types) *types = found->second.second;
  return found->second.first;
}

sconce::Value ModuleTypes::build(const std::shared_ptr<Instance>& instance, const Range& at) {
  const size_t first = types_.size(), first_function = state_.unit.functions().size();
  try {
    const sconce::Value object = build(instance, at, 0);
    for (size_t i = first; i < types_.size(); ++i) declare_methods(*types_[i]);
    // Compiling declares more: methods that are called, also of types that existed before.
    for (size_t done = first_function;;) {
      const std::vector<ir::Function*> all = state_.unit.functions();
      if (done == all.size()) break;
      for (; done < all.size(); ++done) all[done]->ensure_defined();
    }
    return object;
  } catch (...) {
    // A type whose methods are not all compiled must not be found again.
    std::erase_if(by_signature_, [&](const auto& entry) {
      return std::any_of(types_.begin() + static_cast<ptrdiff_t>(first), types_.end(),
                         [&](const auto& made) { return made.get() == entry.second; });
    });
    throw;
  }
}

sconce::Value ModuleTypes::build(const std::shared_ptr<Instance>& instance, const Range& at, int depth) {
  if (!instance->object.is_none()) return instance->object;
  if (depth > kMaxModuleDepth) refuse(at, "modules are nested deeper than {}", kMaxModuleDepth);
  Draft d;
  add_tensors(d, *instance, Instance::Kind::parameter);
  add_tensors(d, *instance, Instance::Kind::buffer);
  // Types of submodules are made first, their attributes stand last.
  Draft submodules;
  add_submodules(submodules, *instance, at, depth);
  d.taken.insert(d.taken.end(), submodules.taken.begin(), submodules.taken.end());
  add_constants(d, *instance);
  add_others(d, *instance);
  d.attributes.insert(d.attributes.end(), submodules.attributes.begin(), submodules.attributes.end());
  d.values.insert(d.values.end(), submodules.values.begin(), submodules.values.end());
  ModuleType& module = type_for(d, *instance);
  auto object = make_ref<Object>(module.type);
  for (size_t i = 0; i < d.values.size(); ++i) object->set_slot(i, d.values[i]);
  instance->type = module.type;
  instance->object = sconce::Value(std::move(object));
  return instance->object;
}

void ModuleTypes::add_tensors(Draft& d, Instance& instance, Instance::Kind kind) {
  for (Instance::Attribute& a : instance.attributes) {
    if (a.kind != kind) continue;
    const Annotated annotation = annotation_of(instance, a.name);
    const TypePtr inferred = a.value.is_none() ? none_type() : tensor_type();
    TypePtr type = inferred;
    if (annotation.type && !is_final(annotation.type)) {
      type = resolve_annotation(annotation.type, *annotation.scope);
      if (!is_subtype(inferred, type)) {
        refuse(annotation.type->range, "'{}' is annotated as {} but is {}", a.name, type->annotation(),
               inferred->annotation());
      }
    }
    d.add(a.name, type,
          kind == Instance::Kind::parameter ? ClassInfo::AttributeKind::parameter : ClassInfo::AttributeKind::buffer,
          *a.value.value());
  }
}

void ModuleTypes::add_submodules(Draft& d, Instance& instance, const Range& at, int depth) {
  for (Instance::Attribute& a : instance.attributes) {
    if (a.kind != Instance::Kind::module) continue;
    const Annotated annotation = annotation_of(instance, a.name);
    TypePtr wanted = nullptr;
    if (annotation.type && !is_final(annotation.type)) wanted = resolve_annotation(annotation.type, *annotation.scope);
    if (a.value.is_none()) {
      d.add(a.name, wanted ? wanted : none_type(), ClassInfo::AttributeKind::plain, {});
      continue;
    }
    const sconce::Value object = build(*a.value.get<std::shared_ptr<Instance>>(), at, depth + 1);
    TypePtr type = object.to_object().type();
    if (wanted && wanted->is(TypeKind::interface)) {
      if (ModuleType* module = find_module_type(type)) {
        for (const auto& [name, schema] : wanted->interface_info()->methods) find_method(*module, name);
      }
      std::string why;
      if (!fits(type, wanted, &why)) {
        if (why.ends_with('\n')) why.pop_back();
        refuse(annotation.type->range, "the submodule '{}' does not implement {}: {}", a.name, wanted->annotation(),
               why);
      }
      type = wanted;
    }
    d.add(a.name, type, ClassInfo::AttributeKind::plain, object);
  }
}

void ModuleTypes::add_constants(Draft& d, Instance& instance) {
  std::vector<std::string> names = listed_names(*instance.cls, "__constants__");
  for (Definition* c : lookup_order(*instance.cls)) {
    if (!c->class_def) continue;
    for (StmtPtr s : c->class_def->body) {
      const auto* a = as<Assign>(s);
      if (!a || !a->annotation || !is_final(a->annotation)) continue;
      const std::string name = dotted_name(a->targets.front());
      if (!has(names, name)) names.push_back(name);
    }
  }
  for (const Instance::Annotation& a : instance.annotations) {
    if (is_final(a.type) && !has(names, a.name)) names.push_back(a.name);
  }
  const Range at = instance.cls->class_def->range;
  for (const std::string& name : names) {
    if (has(d.taken, name)) continue;
    const auto found = state_.evaluator->find_attribute(std::make_shared<Instance>(instance), name, at);
    if (!found) continue;  // listed, but never set
    const Dynamic v = frozen(*found);
    std::string why;
    const Annotated annotation = annotation_of(instance, name);
    TypePtr type = nullptr;
    if (annotation.type && is_final(annotation.type)) {
      if (const auto* s = as<Subscript>(annotation.type))
        type = resolve_annotation(s->indices.front(), *annotation.scope);
      if (type && type->is(TypeKind::list)) type = nullptr;
    }
    if (!type) type = infer_type(v, &why);
    auto value = type && !v.is_tensor() ? to_value(v, type, &why) : std::nullopt;
    if (!value) {
      refuse(
          at,
          "'{}' object in attribute '{}.{}' is not a valid constant. Valid constants are: numbers, strings, devices, "
          "dtypes, None, and tuples of them",
          type_name(*found), instance.cls->name, name);
    }
    d.constants.emplace_back(name, std::move(*value));
    d.taken.push_back(name);
  }
}

void ModuleTypes::add_others(Draft& d, Instance& instance) {
  const std::vector<std::string> ignored = listed_names(*instance.cls, "__jit_ignored_attributes__");
  for (Instance::Attribute& a : instance.attributes) {
    if (a.kind != Instance::Kind::plain || a.name.starts_with("__") || has(d.taken, a.name) || has(ignored, a.name))
      continue;
    if (a.value.get<DynamicFunction>() || a.value.get<DynamicName>() || a.value.get<Definition*>()) {
      d.functions.emplace_back(a.name, a.value);
      continue;
    }
    const Annotated annotation = annotation_of(instance, a.name);
    std::string why;
    TypePtr type = annotation.type && !is_final(annotation.type)
                       ? resolve_annotation(annotation.type, *annotation.scope)
                       : infer_type(a.value, &why);
    auto value = type ? to_value(a.value, type, &why) : std::nullopt;
    if (value) {
      d.add(a.name, type, ClassInfo::AttributeKind::plain, std::move(*value));
    } else if (annotation.type) {
      refuse(annotation.type->range, "Could not convert the value of attribute '{}' to {}: {}", a.name,
             type->annotation(), why);
    } else {
      d.unusable.emplace_back(a.name, no_type(a.value, why));
    }
  }
}

ModuleType& ModuleTypes::type_for(Draft& d, Instance& instance) {
  // The parts that must be equal for two instances to share a type, as text.
  std::string signature = fmt::format("{}", fmt::ptr(instance.cls));
  for (const ClassInfo::Attribute& a : d.attributes) {
    signature += fmt::format("|{}:{}:{}", a.name, fmt::ptr(a.type), static_cast<int>(a.kind));
  }
  for (const auto& [name, value] : d.constants)
    signature += fmt::format("|{}={}", name, to_repr(from_value(value)) + value.type()->annotation());
  for (const auto& [name, f] : d.functions) {
    signature += fmt::format("|{}->{}", name, function_identity(f));
  }
  for (const auto& [name, why] : d.unusable) signature += fmt::format("|!{}{}", name, why);
  for (const auto* hooks : {&instance.forward_pre_hooks, &instance.forward_hooks}) {
    signature += "|hooks";
    for (const Dynamic& h : *hooks) {
      const auto* function = h.get<DynamicFunction>();
      signature += function ? fmt::format(" {}", fmt::ptr(function->def)) : " ?";
    }
  }
  ModuleType*& slot = by_signature_[signature];
  if (slot) return *slot;

  auto made = std::make_unique<ModuleType>();
  ir::CompilationUnit& unit = state_.unit;
  made->cls = instance.cls;
  made->type = make_class_type(unit.unique_name(instance.cls->scope->prefix + "." + instance.cls->name));
  unit.add_type(made->type);
  types_.push_back(std::move(made));
  slot = types_.back().get();
  ClassInfo& info = *slot->type->class_info();
  info.is_module = true;
  info.attributes = d.attributes;
  info.constants = d.constants;
  info.unusable = d.unusable;
  info.container = container_kind(*instance.cls);
  slot->functions = d.functions;
  {
    const std::lock_guard lock(registry().mutex);
    registry().types.try_emplace(slot->type, slot, this);
  }
  declare_container_methods(*slot, instance);
  declare_hooks(*slot, instance);
  return *slot;
}

void ModuleTypes::declare_container_methods(ModuleType& module, const Instance& instance) {
  const ClassInfo::Container kind = module.type->class_info()->container;
  const bool modules = kind == ClassInfo::Container::sequential || kind == ClassInfo::Container::module_list ||
                       kind == ClassInfo::Container::module_dict;
  if (!modules) return;
  std::string keys;
  size_t count = 0;
  for (const Instance::Attribute& a : instance.attributes) {
    if (a.kind != Instance::Kind::module) continue;
    keys += (count++ ? ", " : "") + string_repr(a.name);
  }
  std::string text = fmt::format("def __len__(self) -> int:\n    return {}\n", count);
  if (kind == ClassInfo::Container::module_dict) {
    text += "def __contains__(self, key: str) -> bool:\n";
    text += count ? fmt::format("    return key in [{}]\n", keys) : std::string("    return False\n");
  }
  const TreePtr tree = parse(std::make_shared<Source>("<container>", text));
  for (StmtPtr s : tree->body) {
    const auto* def = as<FunctionDef>(s);
    FunctionSource source{};
    source.self_type = module.type;
    ir::Function& f = add_method(*module.cls->scope, tree, module.type, *def, def->name, std::move(source));
    module.type->class_info()->methods.emplace_back(def->name, &f);
  }
}

void ModuleTypes::declare_hooks(ModuleType& module, Instance& instance) {
  ClassInfo& info = *module.type->class_info();
  const auto declare = [&](const std::vector<Dynamic>& hooks, std::vector<ir::Function*>& out) {
    for (const Dynamic& h : hooks) {
      const auto* f = h.get<DynamicFunction>();
      if (!f) refuse(instance.cls->class_def->range, "a hook must be a function of the program");
      FunctionSource source{};
      source.tree = f->scope->find(f->def->name) ? f->scope->find(f->def->name)->tree : nullptr;
      source.self_type = module.type;
      source.make_self = [](ir::Value* self) { return std::make_shared<ModuleValue>(self); };
      source.def = f->def;
      source.resolver = {std::shared_ptr<void>(), f->scope};
      auto shared = std::make_shared<FunctionSource>(std::move(source));
      ir::Function& made = state_.unit.add_function(state_.unit.unique_name(module.type->name() + "." + f->def->name),
                                                    [shared](ir::Function& g) { compile_function(g, *shared); });
      out.push_back(&made);
    }
  };
  declare(instance.forward_pre_hooks, info.forward_pre_hooks);
  declare(instance.forward_hooks, info.forward_hooks);
}

// forward, and the methods marked @torch.jit.export, of the class and those it derives from.
void ModuleTypes::declare_methods(ModuleType& module) {
  if (module.methods_declared) return;
  module.methods_declared = true;
  find_method(module, "forward");
  for (Definition* d : lookup_order(*module.cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (def && has_decorator(def->decorators, "export")) find_method(module, def->name);
      // Of a class of Python, properties can be asked for from there.
      if (def && d->known_kind && has_decorator(def->decorators, "property")) find_property(module, def->name);
    }
  }
}

std::vector<std::string> ModuleTypes::find_method(ModuleType& module, const std::string& name) {
  const ClassInfo& info = *module.type->class_info();
  for (const auto& [method, overloads] : info.overloads) {
    if (method == name) return overloads;
  }
  if (info.find_method(name)) return {name};
  for (Definition* d : lookup_order(*module.cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (!def || def->name != name) continue;
      if (has_decorator(def->decorators, "property") || has_decorator(def->decorators, "staticmethod")) return {};
      return declare_method(module, *d, name);
    }
  }
  return {};
}

std::vector<std::string> ModuleTypes::declare_method(ModuleType& module, Definition& owner, const std::string& name) {
  ClassInfo& info = *module.type->class_info();
  std::vector<const FunctionDef*> declarations;
  const FunctionDef* implementation = nullptr;
  for (StmtPtr s : owner.class_def->body) {
    const auto* def = as<FunctionDef>(s);
    if (!def || def->name != name) continue;
    (has_decorator(def->decorators, "_overload_method") ? declarations.emplace_back(def) : implementation = def);
  }
  if (!implementation) refuse(declarations.front()->range, "the overloaded method '{}' has no implementation", name);
  const auto add = [&](const TreePtr& tree, const FunctionDef& def, const std::string& as_name) {
    FunctionSource source{};
    source.self_type = module.type;
    source.make_self = [](ir::Value* self) { return std::make_shared<ModuleValue>(self); };
    ir::Function& f = add_method(*owner.scope, tree, module.type, def, as_name, std::move(source));
    info.methods.emplace_back(as_name, &f);
  };
  if (declarations.empty()) {
    add(owner.tree, *implementation, name);
    return {name};
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < declarations.size(); ++i) {
    const ReplacedFunction form = overloaded_form(owner.tree, *declarations[i], *implementation);
    names.push_back(name + "__" + std::to_string(i));
    add(form.tree, *form.def, names.back());
  }
  info.overloads.emplace_back(name, names);
  return names;
}

bool ModuleTypes::find_property(ModuleType& module, const std::string& name) {
  ClassInfo& info = *module.type->class_info();
  if (info.find_property(name)) return true;
  if (has(listed_names(*module.cls, "__jit_unused_properties__"), name)) return false;
  for (Definition* d : lookup_order(*module.cls)) {
    if (!d->class_def) continue;
    bool found = false;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (!def || def->name != name) continue;
      const bool getter = has_decorator(def->decorators, "property"), setter = has_decorator(def->decorators, "setter");
      if (!getter && !setter) return false;
      FunctionSource source{};
      source.self_type = module.type;
      source.make_self = [](ir::Value* self) { return std::make_shared<ModuleValue>(self); };
      const std::string method = "__" + name + (getter ? "_getter" : "_setter");
      ir::Function& f = add_method(*d->scope, d->tree, module.type, *def, method, std::move(source));
      info.methods.emplace_back(method, &f);
      if (getter) {
        info.properties.push_back({name, &f, nullptr});
      } else {
        info.properties.back().setter = &f;
      }
      found = true;
    }
    if (found) return true;
  }
  return false;
}

ir::Function* ModuleTypes::find_static(ModuleType& module, const std::string& name) {
  ClassInfo& info = *module.type->class_info();
  for (const auto& [method, f] : info.statics) {
    if (method == name) return f;
  }
  for (Definition* d : lookup_order(*module.cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (!def || def->name != name || !has_decorator(def->decorators, "staticmethod")) continue;
      ir::Function& f = add_method(*d->scope, d->tree, module.type, *def, name);
      info.statics.emplace_back(name, &f);
      return &f;
    }
  }
  return nullptr;
}

}  // namespace sconce::script
