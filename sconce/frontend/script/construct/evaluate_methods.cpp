// Attributes and methods of values while modules are built: tensors, strings, lists, dicts.
#include <algorithm>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/construct/module_methods.h"

namespace sconce::script {

using namespace syntax;

namespace {

using V = sconce::Value;

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::string& between, const std::vector<Dynamic>& items, const Range& at) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].string()) refuse(at, "join() needs strings, got {}", type_name(items[i]));
    out += (i ? between : "") + *items[i].string();
  }
  return out;
}

}  // namespace

std::optional<Dynamic> Evaluator::value_attribute(const Dynamic& v, const std::string& name, const Range& at) {
  const auto method = [&] { return Dynamic(DynamicMethod{std::make_shared<Dynamic>(v), name}); };
  if (v.is_tensor()) {
    const Tensor& t = v.value()->to_tensor();
    if (name == "shape") {
      std::vector<Dynamic> sizes;
      for (const int64_t s : t.sizes()) sizes.emplace_back(V(s));
      return make_tuple(std::move(sizes));
    }
    if (name == "dtype") return Dynamic(V(t.dtype()));
    if (name == "device") return Dynamic(V(t.device()));
    if (name == "ndim") return Dynamic(V(t.dim()));
    if (name == "data") return call_operator("aten::detach", {{v}, {}}, at);
    if (name == "T") return call_operator("aten::numpy_T", {{v}, {}}, at);
    if (find_overloads("aten::" + name).empty() &&
        !is_one_of(name, {"tolist", "cpu", "size", "float", "double", "half", "long", "int", "bool"})) {
      return std::nullopt;
    }
    return method();
  }
  if (const V* x = v.value()) {
    if (x->tag() == Tag::enum_) {
      if (name == "value") return from_value(x->to_enum().value);
      if (name == "name") return Dynamic(V(x->to_enum().name));
      return std::nullopt;
    }
    if (x->is_device()) {
      if (name == "type") {
        const std::string text = to_string(x->to_device());
        return Dynamic(V(text.substr(0, text.find(':'))));
      }
      if (name == "index") return x->to_device().index < 0 ? Dynamic() : Dynamic(V(int64_t{x->to_device().index}));
      return std::nullopt;
    }
    if (x->is_string() && !find_overloads("aten::" + name).empty()) return method();
    return std::nullopt;
  }
  if (const auto* t = v.get<Dynamic::Tuple>()) {
    if ((*t)->named) {
      const auto& fields = (*t)->named->fields();
      const auto found = std::find(fields.begin(), fields.end(), name);
      if (found != fields.end()) return (*t)->items[static_cast<size_t>(found - fields.begin())];
    }
    return is_one_of(name, {"index", "count", "numel"}) ? std::optional(method()) : std::nullopt;
  }
  if (v.get<Dynamic::List>()) {
    const bool known = is_one_of(
        name, {"append", "extend", "insert", "pop", "remove", "reverse", "sort", "index", "count", "copy", "clear"});
    return known ? std::optional(method()) : std::nullopt;
  }
  if (v.get<Dynamic::Dict>()) {
    const bool known =
        is_one_of(name, {"keys", "values", "items", "get", "pop", "update", "copy", "setdefault", "clear"});
    return known ? std::optional(method()) : std::nullopt;
  }
  if (const auto* f = v.get<DynamicFunction>(); f && name == "__name__") return Dynamic(V(f->def->name));
  return std::nullopt;
}

Dynamic Evaluator::call_method(const Dynamic& self, const std::string& name, DynamicArguments args, const Range& at) {
  auto& a = args.positional;
  const auto need = [&](size_t low, size_t high) {
    if (a.size() < low || a.size() > high)
      refuse(at, "{}() takes {} to {} arguments but {} were given", name, low, high, a.size());
  };
  if (self.instance())
    return call_module_method(*this, *self.get<std::shared_ptr<Instance>>(), name, std::move(args), at);
  if (self.is_tensor()) {
    const Tensor& t = self.value()->to_tensor();
    if (name == "size" && a.empty()) return attribute(self, "shape", at);
    if (name == "size") return V(t.size(to_integer(a[0], at)));
    if (name == "cpu") return self;
    DType dtype;
    if (a.empty() && is_one_of(name, {"float", "double", "half", "long", "int", "bool", "bfloat16"}) &&
        dtype_from_name(name, &dtype)) {
      return call_operator("aten::to", {{self, V(dtype)}, {}}, at);
    }
    a.insert(a.begin(), self);
    return call_operator("aten::" + name, args, at);
  }
  if (const std::string* text = self.string()) {
    if (name == "format") return V(filled(*text, a, at));
    if (name == "join") {
      need(1, 1);
      return V(joined(*text, iterate(a[0], at), at));
    }
    a.insert(a.begin(), self);
    return call_operator("aten::" + name, args, at);
  }
  if (!args.keywords.empty() && name != "update" && name != "sort") {
    refuse(at, "{}() takes no keyword arguments while modules are built", name);
  }
  for (const Dynamic& argument : a) remember_change(self, argument);
  for (const auto& [key, argument] : args.keywords) remember_change(self, argument);
  if (const auto* d = self.get<Dynamic::Dict>()) {
    DynamicDict& dict = **d;
    if (name == "keys" || name == "values" || name == "items") {
      std::vector<Dynamic> items;
      for (const auto& [key, value] : dict.items) {
        items.push_back(name == "keys" ? key : name == "values" ? value : make_tuple({key, value}));
      }
      return make_list(std::move(items));
    }
    if (name == "copy") return std::make_shared<DynamicDict>(dict);
    if (name == "clear") {
      dict.items.clear();
      return {};
    }
    if (name == "update") {
      if (!a.empty()) {
        const Dynamic other = call_name("dict", {{a[0]}, {}}, at);
        for (const auto& [key, value] : (*other.get<Dynamic::Dict>())->items) dict.set(key, value);
      }
      for (const auto& [key, value] : args.keywords) dict.set(V(key), value);
      return {};
    }
    need(1, 2);
    const Dynamic* found = dict.find(a[0]);
    if (name == "get") return found ? *found : a.size() > 1 ? a[1] : Dynamic();
    if (name == "setdefault") {
      if (!found) dict.set(a[0], a.size() > 1 ? a[1] : Dynamic());
      return *dict.find(a[0]);
    }
    if (name == "pop") {
      if (!found && a.size() < 2) refuse(at, "KeyError: {}", to_repr(a[0]));
      const Dynamic result = found ? *found : a[1];
      std::erase_if(dict.items, [&](const auto& item) { return equals(item.first, a[0]); });
      return result;
    }
  }
  if (name == "index" || name == "count") {
    need(1, 1);
    const std::vector<Dynamic> items = iterate(self, at);
    const auto matches = [&](const Dynamic& item) { return equals(item, a[0]); };
    if (name == "count") return V(static_cast<int64_t>(std::count_if(items.begin(), items.end(), matches)));
    const auto found = std::find_if(items.begin(), items.end(), matches);
    if (found == items.end()) refuse(at, "{} is not in list", to_repr(a[0]));
    return V(static_cast<int64_t>(found - items.begin()));
  }
  if (name == "numel" && self.items()) {
    Dynamic total = V(int64_t{1});
    for (const Dynamic& item : *self.items()) total = binary(Operator::mul, total, item, at);
    return total;
  }
  if (const auto* l = self.get<Dynamic::List>()) {
    std::vector<Dynamic>& items = (*l)->items;
    if (name == "append") {
      need(1, 1);
      items.push_back(a[0]);
    } else if (name == "extend") {
      need(1, 1);
      for (Dynamic& item : iterate(a[0], at)) items.push_back(std::move(item));
    } else if (name == "insert") {
      need(2, 2);
      int64_t i = to_integer(a[0], at);
      const auto size = static_cast<int64_t>(items.size());
      i = std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
      items.insert(items.begin() + i, a[1]);
    } else if (name == "pop") {
      need(0, 1);
      const Dynamic at_index = a.empty() ? Dynamic(V(int64_t{-1})) : a[0];
      const Dynamic result = get_item(self, at_index, at);
      const int64_t i = to_integer(at_index, at);
      items.erase(items.begin() + (i < 0 ? i + static_cast<int64_t>(items.size()) : i));
      return result;
    } else if (name == "remove") {
      need(1, 1);
      const Dynamic where = call_method(self, "index", {{a[0]}, {}}, at);
      items.erase(items.begin() + to_integer(where, at));
    } else if (name == "reverse") {
      std::reverse(items.begin(), items.end());
    } else if (name == "sort") {
      items = *call_name("sorted", {{self}, args.keywords}, at).items();
    } else if (name == "clear") {
      items.clear();
    } else if (name == "copy") {
      return make_list(items);
    } else {
      refuse(at, "'list' object has no attribute '{}'", name);
    }
    return {};
  }
  refuse(at, "'{}' object has no attribute '{}'", type_name(self), name);
}

}  // namespace sconce::script
