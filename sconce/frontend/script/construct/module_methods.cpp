#include "sconce/frontend/script/construct/module_methods.h"
#include "sconce/autograd/variable.h"

#include <algorithm>

namespace sconce::script {

using namespace syntax;
using Container = ClassInfo::Container;

namespace {

using V = sconce::Value;
using InstancePtr = std::shared_ptr<Instance>;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The items of a container, in order: its submodules or its parameters.
std::vector<std::pair<std::string, Dynamic>> entries(const Instance& self) {
  std::vector<std::pair<std::string, Dynamic>> found;
  for (const Instance::Attribute& a : self.attributes) {
    if (a.kind == Instance::Kind::module || a.kind == Instance::Kind::parameter) found.emplace_back(a.name, a.value);
  }
  return found;
}

void check_module(const Dynamic& v, const Range& at) {
  if (v.is_none() || (v.instance() && v.instance()->is_module)) return;
  refuse(at, "TypeError: {} is not a Module subclass", type_name(v));
}

Dynamic as_parameter(const Dynamic& v) { return v.is_tensor() ? Dynamic(DynamicParameter{*v.value()}) : v; }

bool holds_parameters(Container kind) { return kind == Container::parameter_list || kind == Container::parameter_dict; }

// Adds an item under its own name or the next number.
void append(Instance& self, Container kind, const Dynamic& item, const Range& at) {
  const std::string name = std::to_string(entries(self).size());
  if (holds_parameters(kind)) {
    self.set(name, as_parameter(item), Instance::Kind::parameter);
  } else {
    check_module(item, at);
    self.set(name, item, Instance::Kind::module);
  }
}

void set_all(Instance& self, Container kind, const std::vector<Dynamic>& items, const Range& at) {
  for (const auto& [name, item] : entries(self)) self.erase(name);
  for (const Dynamic& item : items) append(self, kind, item, at);
}

// name -> item pairs of a dict, another container, or a list of pairs.
std::vector<std::pair<std::string, Dynamic>> named_items(Evaluator& e, const Dynamic& v, const Range& at) {
  std::vector<std::pair<std::string, Dynamic>> found;
  if (const Instance* other = v.instance()) return entries(*other);
  const Dynamic dict = e.call(DynamicName{"dict"}, {{v}, {}}, at);
  for (const auto& [key, item] : (*dict.get<Dynamic::Dict>())->items) {
    if (!key.string()) refuse(at, "the names of modules must be strings");
    found.emplace_back(*key.string(), item);
  }
  return found;
}

void update(Evaluator& e, Instance& self, Container kind, const Dynamic& v, const Range& at) {
  for (const auto& [name, item] : named_items(e, v, at)) {
    if (holds_parameters(kind)) {
      self.set(name, as_parameter(item), Instance::Kind::parameter);
    } else {
      check_module(item, at);
      self.set(name, item, Instance::Kind::module);
    }
  }
}

Dynamic iterated(Evaluator& e, const Dynamic& v, const Range& at) { return e.call(DynamicName{"list"}, {{v}, {}}, at); }

void init_container(Evaluator& e, Instance& self, Container kind, const DynamicArguments& args, const Range& at) {
  if (kind == Container::none) return;
  const auto& a = args.positional;
  if (kind == Container::sequential) {
    const bool named = a.size() == 1 && a[0].get<Dynamic::Dict>();
    if (named) return update(e, self, kind, a[0], at);
    for (const Dynamic& item : a) append(self, kind, item, at);
    return;
  }
  Dynamic given = a.empty() ? Dynamic() : a[0];
  if (!args.keywords.empty()) given = args.keywords.front().second;
  if (given.is_none()) return;
  if (kind == Container::module_dict || kind == Container::parameter_dict) return update(e, self, kind, given, at);
  const Dynamic all = iterated(e, given, at);
  for (const Dynamic& item : *all.items()) append(self, kind, item, at);
}

// Modules of the tree, itself first, each once.
void collect_modules(const InstancePtr& self, const std::string& prefix,
                     std::vector<std::pair<std::string, InstancePtr>>& found) {
  for (const auto& [name, known] : found) {
    if (known == self) return;
  }
  found.emplace_back(prefix, self);
  for (const Instance::Attribute& a : self->attributes) {
    const auto* child = a.value.get<InstancePtr>();
    if (a.kind == Instance::Kind::module && child)
      collect_modules(*child, prefix.empty() ? a.name : prefix + "." + a.name, found);
  }
}

std::vector<std::pair<std::string, Dynamic>> collect_tensors(const InstancePtr& self, Instance::Kind kind) {
  std::vector<std::pair<std::string, InstancePtr>> modules;
  collect_modules(self, "", modules);
  std::vector<std::pair<std::string, Dynamic>> found;
  for (const auto& [prefix, module] : modules) {
    for (const Instance::Attribute& a : module->attributes) {
      if (a.kind != kind || a.value.is_none()) continue;
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const auto& f) { return same(f.second, a.value); });
      if (!known) found.emplace_back(prefix.empty() ? a.name : prefix + "." + a.name, a.value);
    }
  }
  return found;
}

Dynamic as_list(const std::vector<std::pair<std::string, Dynamic>>& named, bool with_names) {
  std::vector<Dynamic> items;
  for (const auto& [name, item] : named) items.push_back(with_names ? make_tuple({V(name), item}) : item);
  return make_list(std::move(items));
}

// Every parameter and buffer through an operator: .double(), .to(dtype).
void convert_tensors(Evaluator& e, const InstancePtr& self, const std::string& method, const DynamicArguments& args,
                     const Range& at) {
  std::vector<std::pair<std::string, InstancePtr>> modules;
  collect_modules(self, "", modules);
  for (const auto& [prefix, module] : modules) {
    for (Instance::Attribute& a : module->attributes) {
      if ((a.kind != Instance::Kind::parameter && a.kind != Instance::Kind::buffer) || !a.value.is_tensor()) continue;
      const DType dtype = a.value.value()->to_tensor().dtype();
      if (!is_floating(dtype) && !is_complex(dtype)) continue;
      const Dynamic converted = e.call(e.attribute(*a.value.value(), method, at), args, at);
      a.value = a.kind == Instance::Kind::parameter ? as_parameter(converted) : converted;
    }
  }
}

}  // namespace

Container container_kind(Definition& cls) {
  for (Definition* d : lookup_order(cls)) {
    if (!d->scope->prefix.ends_with("torch.nn.modules.container")) continue;
    if (d->name == "Sequential") return Container::sequential;
    if (d->name == "ModuleList") return Container::module_list;
    if (d->name == "ModuleDict") return Container::module_dict;
    if (d->name == "ParameterList") return Container::parameter_list;
    if (d->name == "ParameterDict") return Container::parameter_dict;
  }
  return Container::none;
}

void set_requires_grad(const Dynamic& tensor, bool on) {
  const Tensor& t = tensor.value()->to_tensor();
  if (is_floating(t.dtype()) || is_complex(t.dtype())) autograd::set_requires_grad(t, on);
}

bool is_module_method(const std::string& name) {
  return is_one_of(name, {"__init__",
                          "register_buffer",
                          "register_parameter",
                          "add_module",
                          "register_module",
                          "parameters",
                          "named_parameters",
                          "buffers",
                          "named_buffers",
                          "modules",
                          "named_modules",
                          "children",
                          "named_children",
                          "train",
                          "eval",
                          "apply",
                          "requires_grad_",
                          "register_forward_pre_hook",
                          "register_forward_hook",
                          "float",
                          "double",
                          "half",
                          "bfloat16",
                          "to",
                          "cpu",
                          "append",
                          "extend",
                          "insert",
                          "keys",
                          "values",
                          "items",
                          "update",
                          "pop",
                          "clear",
                          "__len__",
                          "__iter__",
                          "__getitem__",
                          "__setitem__",
                          "__contains__",
                          "get_submodule",
                          "_get_name"});
}

Dynamic call_module_method(Evaluator& e, const InstancePtr& ptr, const std::string& name, DynamicArguments args,
                           const Range& at) {
  Instance& self = *ptr;
  auto& a = args.positional;
  const auto argument = [&](size_t place, std::string_view key, Dynamic otherwise = {}) -> Dynamic {
    if (place < a.size()) return a[place];
    for (const auto& [k, v] : args.keywords) {
      if (k == key) return v;
    }
    return otherwise;
  };
  const auto text = [&](size_t place, std::string_view key) {
    const Dynamic v = argument(place, key);
    if (!v.string() || v.string()->empty()) refuse(at, "{}() needs a name", name);
    return *v.string();
  };
  const Container kind = self.is_module ? container_kind(*self.cls) : Container::none;
  if (name == "__init__") {
    if (!self.find("training")) self.set("training", V(true), Instance::Kind::plain);
    init_container(e, self, kind, args, at);
    return {};
  }
  if (name == "register_buffer" || name == "register_parameter") {
    const bool buffer = name == "register_buffer";
    const Dynamic tensor = argument(1, buffer ? "tensor" : "param");
    if (!tensor.is_none() && !tensor.is_tensor())
      refuse(at, "TypeError: cannot assign '{}' object to a tensor of a module", type_name(tensor));
    if (!buffer && !tensor.is_none() && !tensor.get<DynamicParameter>()) {
      refuse(at, "TypeError: cannot assign '{}' object to parameter (torch.nn.Parameter or None required)",
             type_name(tensor));
    }
    const Dynamic plain = buffer && !tensor.is_none() ? Dynamic(*tensor.value()) : tensor;
    self.set(text(0, "name"), plain, buffer ? Instance::Kind::buffer : Instance::Kind::parameter);
    return {};
  }
  if (name == "add_module" || name == "register_module") {
    const Dynamic module = argument(1, "module");
    check_module(module, at);
    self.set(text(0, "name"), module, Instance::Kind::module);
    return {};
  }
  if (name == "parameters" || name == "named_parameters") {
    return as_list(collect_tensors(ptr, Instance::Kind::parameter), name == "named_parameters");
  }
  if (name == "buffers" || name == "named_buffers") {
    return as_list(collect_tensors(ptr, Instance::Kind::buffer), name == "named_buffers");
  }
  if (is_one_of(name, {"modules", "named_modules", "children", "named_children"})) {
    std::vector<std::pair<std::string, InstancePtr>> modules;
    if (name == "modules" || name == "named_modules") {
      collect_modules(ptr, "", modules);
    } else {
      for (const Instance::Attribute& c : self.attributes) {
        const auto* child = c.value.get<InstancePtr>();
        if (c.kind == Instance::Kind::module && child) modules.emplace_back(c.name, *child);
      }
    }
    std::vector<std::pair<std::string, Dynamic>> named;
    for (auto& [path, module] : modules) named.emplace_back(path, module);
    return as_list(named, name.starts_with("named"));
  }
  if (name == "train" || name == "eval" || name == "apply" || name == "requires_grad_") {
    std::vector<std::pair<std::string, InstancePtr>> modules;
    collect_modules(ptr, "", modules);
    const bool on =
        name == "eval"
            ? false
            : name == "apply" || argument(0, name == "train" ? "mode" : "requires_grad", V(true)).value()->to_bool();
    if (name == "requires_grad_") {
      for (const auto& [path, parameter] : collect_tensors(ptr, Instance::Kind::parameter))
        set_requires_grad(parameter, on);
    }
    for (const auto& [path, module] : modules) {
      if (name == "apply") {
        e.call(argument(0, "fn"), {{module}, {}}, at);
      } else if (name != "requires_grad_") {
        module->set("training", V(on), Instance::Kind::plain);
      }
    }
    return ptr;
  }
  if (name == "register_forward_pre_hook" || name == "register_forward_hook") {
    (name == "register_forward_hook" ? self.forward_hooks : self.forward_pre_hooks).push_back(argument(0, "hook"));
    return {};
  }
  if (is_one_of(name, {"float", "double", "half", "bfloat16", "to", "cpu"})) {
    convert_tensors(e, ptr, name, args, at);
    return ptr;
  }
  if (name == "_get_name") return V(self.cls->name);
  if (name == "get_submodule") {
    Dynamic found = ptr;
    std::string path = text(0, "target");
    for (size_t start = 0; start <= path.size();) {
      const size_t dot = std::min(path.find('.', start), path.size());
      found = e.attribute(found, path.substr(start, dot - start), at);
      start = dot + 1;
    }
    return found;
  }
  if (kind == Container::none) refuse(at, "'{}' object has no attribute '{}'", self.cls->name, name);

  // ---- containers ----
  const auto held = entries(self);
  const bool keyed = kind == Container::module_dict || kind == Container::parameter_dict;
  if (name == "__len__") return V(static_cast<int64_t>(held.size()));
  if (name == "append" && !keyed) {
    append(self, kind, argument(0, "module"), at);
    return ptr;
  }
  if (name == "extend" && !keyed) {
    const Dynamic all = iterated(e, argument(0, "modules"), at);
    for (const Dynamic& item : *all.items()) append(self, kind, item, at);
    return ptr;
  }
  if (name == "insert" && !keyed) {
    std::vector<Dynamic> items;
    for (const auto& [key, item] : held) items.push_back(item);
    const auto size = static_cast<int64_t>(items.size());
    const int64_t i = to_integer(argument(0, "index"), at);
    items.insert(items.begin() + std::clamp<int64_t>(i < 0 ? i + size : i, 0, size), argument(1, "module"));
    set_all(self, kind, items, at);
    return {};
  }
  if (is_one_of(name, {"__iter__", "keys", "values", "items"})) {
    std::vector<Dynamic> items;
    for (const auto& [key, item] : held) {
      if (name == "keys" || (name == "__iter__" && keyed)) {
        items.emplace_back(V(key));
      } else {
        items.push_back(name == "items" ? make_tuple({V(key), item}) : item);
      }
    }
    return make_list(std::move(items));
  }
  if (name == "update") {
    update(e, self, kind, argument(0, "modules"), at);
    return {};
  }
  if (name == "__contains__") {
    const Dynamic key = argument(0, "key");
    return V(key.string() &&
             std::any_of(held.begin(), held.end(), [&](const auto& h) { return h.first == *key.string(); }));
  }
  if (name == "__getitem__" || name == "__setitem__" || name == "pop") {
    const Dynamic key = argument(0, "key");
    if (!keyed && !key.value()) {  // a slice
      std::vector<Dynamic> items;
      for (const auto& [k, item] : held) items.push_back(item);
      const Dynamic picked = e.item_of(make_list(std::move(items)), key, at);
      auto part = std::make_shared<Instance>();
      part->cls = self.cls;
      part->is_module = true;
      part->set("training", V(true), Instance::Kind::plain);
      set_all(*part, kind, *picked.items(), at);
      return part;
    }
    std::string which;
    if (key.string()) {
      which = *key.string();
    } else {
      const auto size = static_cast<int64_t>(held.size());
      int64_t i = to_integer(key, at);
      if (i < 0) i += size;
      if (i < 0 || i >= size) refuse(at, "IndexError: index {} is out of range", to_integer(key, at));
      which = held[static_cast<size_t>(i)].first;
    }
    if (name == "__setitem__") {
      if (holds_parameters(kind)) {
        self.set(which, as_parameter(argument(1, "value")), Instance::Kind::parameter);
      } else {
        check_module(argument(1, "module"), at);
        self.set(which, argument(1, "module"), Instance::Kind::module);
      }
      return {};
    }
    Instance::Attribute* found = self.find(which);
    if (!found) refuse(at, "KeyError: '{}'", which);
    const Dynamic item = found->value;
    if (name == "pop") self.erase(which);
    return item;
  }
  refuse(at, "'{}' object has no attribute '{}'", self.cls->name, name);
}

Dynamic deep_copy(Evaluator& e, const Dynamic& v, const Range& at) {
  const Nesting level;
  if (const sconce::Value* x = v.value()) {
    if (!x->is_tensor()) return v;
    const Dynamic clone = e.call(e.attribute(*x, "clone", at), {}, at);
    return v.get<DynamicParameter>() ? as_parameter(clone) : clone;
  }
  if (v.items()) {
    std::vector<Dynamic> items;
    for (const Dynamic& item : *v.items()) items.push_back(deep_copy(e, item, at));
    return v.get<Dynamic::List>() ? make_list(std::move(items)) : make_tuple(std::move(items));
  }
  if (const auto* d = v.get<Dynamic::Dict>()) {
    auto dict = std::make_shared<DynamicDict>();
    for (const auto& [key, item] : (*d)->items) dict->items.emplace_back(key, deep_copy(e, item, at));
    return dict;
  }
  if (const Instance* i = v.instance()) {
    auto copy = std::make_shared<Instance>(*i);
    for (Instance::Attribute& attribute : copy->attributes) attribute.value = deep_copy(e, attribute.value, at);
    return copy;
  }
  return v;
}

}  // namespace sconce::script
