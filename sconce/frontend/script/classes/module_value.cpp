#include "sconce/frontend/script/classes/module_value.h"

#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/constant_expressions.h"
#include "sconce/frontend/script/names/tuple_items.h"
#include "sconce/frontend/script/names/value_attributes.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {

using Container = ClassInfo::Container;

namespace {

ModuleType& module_type(TypePtr type, ModuleTypes*& types) {
  ModuleType* found = find_module_type(type, &types);
  SCONCE_ASSERT(found);
  return *found;
}

bool is_keyed(Container c) { return c == Container::module_dict || c == Container::parameter_dict; }

// items(), keys(), values(), children(), ...: their results are known while compiling.
class StaticMethod : public SugaredValue {
 public:
  StaticMethod(std::string name, SugaredPtr result) : name_(std::move(name)), result_(std::move(result)) {}
  std::string kind() const override { return "method"; }
  SugaredPtr call(Emitter&, const Range& at, const CallArguments& args, TypePtr) override {
    if (!args.positional.empty() || !args.keywords.empty())
      refuse(at, "{} method does not accept any arguments", name_);
    return result_;
  }

 private:
  std::string name_;
  SugaredPtr result_;
};

// All modules below, itself included, with their paths.
void collect(Emitter& e, const Range& at, const SugaredPtr& module, const std::string& path,
             std::vector<std::pair<std::string, SugaredPtr>>& found) {
  found.emplace_back(path, module);
  for (const ClassInfo::Attribute& a : module->type()->class_info()->attributes) {
    if (!find_module_type(a.type)) continue;
    collect(e, at, module->attr(e, at, a.name), path.empty() ? a.name : path + "." + a.name, found);
  }
}

}  // namespace

ModuleValue::ModuleValue(ir::Value* self)
    : self(self), module_(module_type(self->type(), types_)), info_(*self->type()->class_info()) {}

SugaredPtr value_of(Emitter&, ir::Value* v) {
  if (find_module_type(v->type())) return std::make_shared<ModuleValue>(v);
  return simple(v);
}

std::optional<bool> is_module_instance(Emitter& e, TypePtr type, syntax::ExprPtr cls) {
  const auto* scope = dynamic_cast<const Scope*>(&e.resolver());
  const std::string path = scope ? scope->path_of(cls) : std::string();
  if (path.empty()) return std::nullopt;
  if (path == "torch.nn.Module") return type->is(TypeKind::class_) && type->class_info()->is_module;
  Definition* wanted = scope->class_of(cls);
  if (!wanted || wanted->scope->kind_of(*wanted) != ClassKind::module || wanted->type) return std::nullopt;
  const ModuleType* module = find_module_type(type);
  if (!module) return false;
  const std::vector<Definition*> order = lookup_order(*module->cls);
  return std::find(order.begin(), order.end(), wanted) != order.end();
}

SugaredPtr index_modules(Emitter& e, const Range& at, ir::Value* container, ir::Value* index, TypePtr interface) {
  for (const ClassInfo::Attribute& a : container->type()->class_info()->attributes) {
    std::string why;
    const bool is_module =
        a.type->is(TypeKind::interface) || (a.type->is(TypeKind::class_) && a.type->class_info()->is_module);
    if (is_module && !fits(a.type, interface, &why)) {
      refuse(at, "Attribute {} is not of annotated type {}: {}", a.name, interface->annotation(), why);
    }
  }
  ir::Value* item = call_op(e, at, "prim::ModuleContainerIndex", {container, index});
  item->set_type(interface);
  return simple(item);
}

std::vector<std::string> ModuleValue::held_names() const {
  const bool parameters = info_.container == Container::parameter_list || info_.container == Container::parameter_dict;
  std::vector<std::string> names;
  for (const ClassInfo::Attribute& a : info_.attributes) {
    const bool held = parameters ? a.kind == ClassInfo::AttributeKind::parameter
                                 : a.type->is(TypeKind::interface) ||
                                       (a.type->is(TypeKind::class_) && a.type->class_info()->is_module);
    if (held) names.push_back(a.name);
  }
  return names;
}

SugaredPtr ModuleValue::find_attr(Emitter& e, const Range& at, const std::string& name) {
  const auto as_simple = [&] { return find_attribute(e, at, self, name); };
  if (info_.find(name) >= 0) return as_simple();
  if (const sconce::Value* constant = info_.find_constant(name)) return simple(e.constant(at, *constant));
  for (const auto& [attribute, f] : module_.functions) {
    if (attribute == name) return sugared_constant(*module_.cls->scope, f, e, at);
  }
  if (is_keyed(info_.container) && (name == "items" || name == "keys" || name == "values")) {
    std::vector<SugaredPtr> items;
    for (const std::string& key : held_names()) {
      SugaredPtr k = simple(e.constant(at, sconce::Value(key)));
      if (name == "keys") {
        items.push_back(k);
      } else if (name == "values") {
        items.push_back(attr(e, at, key));
      } else {
        items.push_back(std::make_shared<TupleItems>(std::vector<SugaredPtr>{k, attr(e, at, key)}));
      }
    }
    return std::make_shared<StaticMethod>(name, std::make_shared<TupleItems>(std::move(items)));
  }
  if (types_->find_property(module_, name)) return as_simple();
  if (std::vector<std::string> names = types_->find_method(module_, name); !names.empty()) {
    return std::make_shared<MethodValue>(self, std::move(names));
  }
  if (ir::Function* f = types_->find_static(module_, name)) return std::make_shared<FunctionValue>(std::vector{f});
  if (name == "children" || name == "named_children" || name == "modules" || name == "named_modules") {
    std::vector<std::pair<std::string, SugaredPtr>> found;
    if (name.ends_with("children")) {
      for (const ClassInfo::Attribute& a : info_.attributes) {
        if (find_module_type(a.type)) found.emplace_back(a.name, attr(e, at, a.name));
      }
    } else {
      collect(e, at, shared_from_this(), "", found);
    }
    std::vector<SugaredPtr> items;
    for (auto& [path, module] : found) {
      if (!name.starts_with("named")) {
        items.push_back(module);
      } else {
        items.push_back(
            std::make_shared<TupleItems>(std::vector<SugaredPtr>{simple(e.constant(at, sconce::Value(path))), module}));
      }
    }
    return std::make_shared<StaticMethod>(name, std::make_shared<TupleItems>(std::move(items)));
  }
  const bool parameters = name == "parameters" || name == "named_parameters";
  if (parameters || name == "buffers" || name == "named_buffers") {
    std::vector<std::pair<std::string, SugaredPtr>> modules;
    collect(e, at, shared_from_this(), "", modules);
    const auto kind = parameters ? ClassInfo::AttributeKind::parameter : ClassInfo::AttributeKind::buffer;
    std::vector<SugaredPtr> items;
    for (auto& [path, module] : modules) {
      for (const ClassInfo::Attribute& a : module->type()->class_info()->attributes) {
        if (a.kind != kind || a.type->is(TypeKind::none)) continue;
        SugaredPtr tensor = module->attr(e, at, a.name);
        const std::string whole = path.empty() ? a.name : path + "." + a.name;
        items.push_back(name.starts_with("named") ? std::make_shared<TupleItems>(std::vector<SugaredPtr>{
                                                        simple(e.constant(at, sconce::Value(whole))), tensor})
                                                  : tensor);
      }
    }
    return std::make_shared<StaticMethod>(name, std::make_shared<TupleItems>(std::move(items)));
  }
  return nullptr;
}

SugaredPtr ModuleValue::attr(Emitter& e, const Range& at, const std::string& name) {
  if (SugaredPtr found = find_attr(e, at, name)) return found;
  std::string hint;
  for (const auto& [attribute, why] : info_.unusable) {
    if (attribute == name) hint = why;
  }
  refuse(at, "Module '{}' has no attribute '{}' {}", module_.cls->name, name, hint);
}

bool ModuleValue::has_attr(Emitter&, const Range&, const std::string& name) {
  if (info_.find(name) >= 0 || info_.find_constant(name) || info_.find_property(name)) return true;
  for (const auto& [attribute, f] : module_.functions) {
    if (attribute == name) return true;
  }
  return types_->find_property(module_, name) || !types_->find_method(module_, name).empty() ||
         types_->find_static(module_, name);
}

void ModuleValue::set_attr(Emitter& e, const Range& at, const std::string& name, ir::Value* v) {
  types_->find_property(module_, name);
  const int slot = info_.find(name);
  if (slot >= 0) {
    const ClassInfo::Attribute& a = info_.attributes[static_cast<size_t>(slot)];
    if (find_module_type(a.type)) {
      refuse(
          at,
          "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module '{}'",
          name);
    }
  }
  SimpleValue(self).set_attr(e, at, name, v);
}

// hook(self, (x,)), forward(x), hook(self, (x,), result)
SugaredPtr ModuleValue::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) {
  if (info_.forward_pre_hooks.empty() && info_.forward_hooks.empty())
    return attr(e, at, "forward")->call(e, at, args, hint);
  if (!args.keywords.empty()) refuse(at, "keyword arguments are not supported for modules with hooks");
  std::vector<ir::Value*> values;
  for (const CallArgument& a : args.positional) values.push_back(a.value->as_value(e, a.at));
  ir::Value* input = e.tuple(at, values);
  const auto call_hook = [&](ir::Function* hook, const std::vector<ir::Value*>& inputs) {
    CallArguments given;
    for (ir::Value* v : inputs) given.positional.push_back({at, {}, simple(v)});
    return call_function(e, at, {hook}, given)->as_value(e, at);
  };
  for (ir::Function* hook : info_.forward_pre_hooks) {
    ir::Value* result = call_hook(hook, {self, input});
    if (result->type()->is(TypeKind::none)) continue;
    input = result->type()->is(TypeKind::tuple) ? result : e.tuple(at, {result});
  }
  CallArguments forwarded;
  if (info_.forward_pre_hooks.empty()) {
    forwarded = args;
  } else {
    for (const SugaredPtr& v : simple(input)->unpack(e, at, {})) forwarded.positional.push_back({at, {}, v});
  }
  ir::Value* output = attr(e, at, "forward")->call(e, at, forwarded, hint)->as_value(e, at);
  for (ir::Function* hook : info_.forward_hooks) {
    ir::Value* result = call_hook(hook, {self, input, output});
    if (!result->type()->is(TypeKind::none)) output = result;
  }
  return value_of(e, output);
}

std::vector<SugaredPtr> ModuleValue::unpack(Emitter& e, const Range& at, std::optional<size_t>) {
  if (!is_container())
    refuse(at, "module '{}' cannot be unpacked: it is not a container of modules", module_.cls->name);
  std::vector<SugaredPtr> items;
  for (const std::string& name : held_names()) {
    items.push_back(is_keyed(info_.container) ? simple(e.constant(at, sconce::Value(name))) : attr(e, at, name));
  }
  return items;
}

SugaredPtr ModuleValue::iterate(Emitter& e, const Range& at) {
  if (!is_container()) {
    if (SugaredPtr method = find_attr(e, at, "__iter__")) return method->call(e, at, {}, nullptr)->iterate(e, at);
    refuse(at, "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable");
  }
  return std::make_shared<TupleItems>(unpack(e, at, {}));
}

SugaredPtr ModuleValue::subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) {
  if (!is_container()) return attr(e, at, "__getitem__")->call(e, at, {{{at, {}, index}}, {}}, hint);
  ir::Value* which = index->as_value(e, at);
  const std::optional<sconce::Value> constant = ir::constant_value(which);
  const std::vector<std::string> names = held_names();
  const bool keyed = is_keyed(info_.container);
  if (!constant && hint && hint->is(TypeKind::interface)) return index_modules(e, at, self, which, hint);
  if (keyed) {
    if (!constant || !constant->is_string()) {
      refuse(at,
             "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For "
             "example, "
             "'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. Enumeration of ModuleDict is "
             "supported, "
             "e.g. 'for k, v in self.items(): ...'");
    }
    if (std::find(names.begin(), names.end(), constant->to_string_ref()) == names.end()) {
      refuse(at, "Key Error, {}", constant->to_string_ref());
    }
    return attr(e, at, constant->to_string_ref());
  }
  if (!constant || !constant->is_int()) {
    refuse(
        at,
        "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is only "
        "supported with integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a "
        "literal. "
        "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'");
  }
  const auto size = static_cast<int64_t>(names.size());
  int64_t i = constant->to_int();
  if (i < -size || i >= size) refuse(at, "Index {} out of range for module container of length {}", i, size);
  if (i < 0) i += size;
  return attr(e, at, names[static_cast<size_t>(i)]);
}

ir::Value* ModuleValue::len(Emitter& e, const Range& at) {
  if (info_.container == Container::parameter_list || info_.container == Container::parameter_dict) {
    return e.constant(at, sconce::Value(static_cast<int64_t>(held_names().size())));
  }
  return attr(e, at, "__len__")->call(e, at, {}, nullptr)->as_value(e, at);
}

}  // namespace sconce::script
