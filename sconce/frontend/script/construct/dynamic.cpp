#include "sconce/frontend/script/construct/dynamic.h"

#include <algorithm>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

constexpr int kMaxNesting = 500;  // far below what a stack has room for, and above what people write
thread_local constinit int nesting = 0;

// Values whose owner has ended. While somebody empties it, what ends adds to it, so that nobody is called deeper.
thread_local constinit std::vector<Dynamic>* ending = nullptr;

void end(Dynamic& v) noexcept {
  if (!v.owns_others()) return;
  if (ending) {
    try {
      ending->push_back(std::move(v));
    } catch (const std::bad_alloc&) {  // then it ends where it is
    }
    return;
  }
  std::vector<Dynamic> all;
  ending = &all;
  {
    const Dynamic first = std::move(v);
  }
  while (!all.empty()) {
    const Dynamic next = std::move(all.back());
    all.pop_back();
  }
  ending = nullptr;
}

}  // namespace

Nesting::Nesting() {
  if (nesting == kMaxNesting) fail("a value is nested deeper than {} levels, or is an item of itself", kMaxNesting);
  ++nesting;
}
Nesting::~Nesting() { --nesting; }

DynamicList::~DynamicList() {
  for (Dynamic& item : items) end(item);
}
DynamicTuple::~DynamicTuple() {
  for (Dynamic& item : items) end(item);
}
DynamicDict::~DynamicDict() {
  for (auto& [key, value] : items) {
    end(key);
    end(value);
  }
}
DynamicVariables::DynamicVariables(std::unordered_map<std::string, Dynamic> variables)
    : by_name(std::move(variables)) {}
DynamicVariables::~DynamicVariables() {
  for (auto& [name, value] : by_name) end(value);
}
Instance::~Instance() {
  for (Attribute& attribute : attributes) end(attribute.value);
}

const sconce::Value* Dynamic::value() const {
  if (const auto* v = get<sconce::Value>()) return v;
  if (const auto* p = get<DynamicParameter>()) return &p->tensor;
  return nullptr;
}

const std::string* Dynamic::string() const {
  const sconce::Value* v = value();
  return v && v->is_string() ? &v->to_string_ref() : nullptr;
}

Instance* Dynamic::instance() const {
  const auto* i = get<std::shared_ptr<Instance>>();
  return i ? i->get() : nullptr;
}

bool Dynamic::owns_others() const {
  return items() || get<Dict>() || instance() || get<DynamicFunction>() || get<DynamicMethod>() || get<DynamicSuper>();
}

const std::vector<Dynamic>* Dynamic::items() const {
  if (const auto* l = get<List>()) return &(*l)->items;
  if (const auto* t = get<Tuple>()) return &(*t)->items;
  return nullptr;
}

namespace {

// Keys that are equal have the same: 1, 1.0 and True.
size_t hash_of(const Dynamic& key) {
  const sconce::Value* v = key.value();
  if (!v) return 0;
  const std::hash<double> number;
  switch (v->tag()) {
    case Tag::string:
      return std::hash<std::string>()(v->to_string_ref());
    case Tag::boolean:
      return number(v->to_bool());
    case Tag::integer:
      return number(static_cast<double>(v->to_int()));
    case Tag::real:
      return number(v->to_double());
    case Tag::complex:
      return number(v->to_complex().real());
    default:
      return 0;
  }
}

}  // namespace

Dynamic* DynamicDict::find(const Dynamic& key) {
  constexpr size_t kMany = 16;  // fewer are compared one by one
  if (placed_ > items.size() || items.size() < kMany) {
    places_.clear();
    placed_ = 0;
  }
  if (items.size() < kMany) {
    for (auto& [k, v] : items) {
      if (equals(k, key)) return &v;
    }
    return nullptr;
  }
  for (; placed_ < items.size(); ++placed_) places_.emplace(hash_of(items[placed_].first), placed_);
  const auto [begin, end] = places_.equal_range(hash_of(key));
  for (auto at = begin; at != end; ++at) {
    if (equals(items[at->second].first, key)) return &items[at->second].second;
  }
  return nullptr;
}

void DynamicDict::set(Dynamic key, Dynamic value) {
  if (Dynamic* old = find(key)) {
    *old = std::move(value);
  } else {
    items.emplace_back(std::move(key), std::move(value));
  }
}

Instance::Attribute* Instance::find(std::string_view name) {
  for (Attribute& a : attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

void Instance::set(const std::string& name, Dynamic value, Kind kind) {
  if (Attribute* a = find(name); a && a->kind == kind) {
    a->value = std::move(value);
    return;
  }
  erase(name);
  attributes.push_back({name, std::move(value), kind});
}

void Instance::set(const std::string& name, Dynamic value) {
  Kind kind = Kind::plain;
  const Attribute* old = find(name);
  if (is_module) {
    if (value.get<DynamicParameter>()) {
      kind = Kind::parameter;
    } else if (value.instance() && value.instance()->is_module) {
      kind = Kind::module;
    } else if (old && old->kind != Kind::plain &&
               (value.is_none() || (old->kind == Kind::buffer && value.is_tensor()))) {
      kind = old->kind;
    }
  }
  set(name, std::move(value), kind);
}

bool Instance::erase(std::string_view name) {
  return std::erase_if(attributes, [&](const Attribute& a) { return a.name == name; }) > 0;
}

Dynamic make_list(std::vector<Dynamic> items) {
  auto list = std::make_shared<DynamicList>();
  list->items = std::move(items);
  return list;
}

Dynamic make_tuple(std::vector<Dynamic> items) {
  auto tuple = std::make_shared<DynamicTuple>();
  tuple->items = std::move(items);
  return tuple;
}

std::string type_name(const Dynamic& v) {
  if (v.get<DynamicParameter>()) return "Parameter";
  if (const sconce::Value* x = v.value()) {
    return x->is_tensor() ? "Tensor" : x->is_none() ? "NoneType" : x->type()->annotation();
  }
  if (v.get<Dynamic::List>()) return "list";
  if (v.get<Dynamic::Tuple>()) return "tuple";
  if (v.get<Dynamic::Dict>()) return "dict";
  if (const Instance* i = v.instance()) return i->cls ? i->cls->name : "Module";
  if (v.get<Definition*>() || v.get<TypePtr>()) return "type";
  if (v.get<DynamicName>()) return "builtin";
  if (const auto* foreign = v.get<DynamicForeign>()) return foreign->type;
  return "function";
}

namespace {

constexpr int kMaxDepth = 100;

std::string joined(const std::vector<Dynamic>& items) {
  std::string text;
  for (const Dynamic& item : items) text += (text.empty() ? "" : ", ") + to_repr(item);
  return text;
}

}  // namespace

std::string to_text(const Dynamic& v) {
  const std::string* text = v.string();
  return text ? *text : to_repr(v);
}

std::string to_repr(const Dynamic& v) {
  const Nesting level;
  if (const sconce::Value* x = v.value()) return x->is_string() ? string_repr(x->to_string_ref()) : x->repr();
  if (const auto* l = v.get<Dynamic::List>()) return "[" + joined((*l)->items) + "]";
  if (const auto* t = v.get<Dynamic::Tuple>())
    return "(" + joined((*t)->items) + ((*t)->items.size() == 1 ? ",)" : ")");
  if (const auto* d = v.get<Dynamic::Dict>()) {
    std::string text;
    for (const auto& [key, value] : (*d)->items)
      text += (text.empty() ? "" : ", ") + to_repr(key) + ": " + to_repr(value);
    return "{" + text + "}";
  }
  if (const auto* c = v.get<Definition*>()) return fmt::format("<class '{}'>", (*c)->name);
  if (const auto* n = v.get<DynamicName>()) return n->path;
  return fmt::format("<{}>", type_name(v));
}

bool same(const Dynamic& a, const Dynamic& b) {
  if (a.value() && b.value()) return a.value()->is_same(*b.value());
  if (a.data.index() != b.data.index()) return false;
  if (const auto* x = a.get<Dynamic::List>()) return *x == *b.get<Dynamic::List>();
  if (const auto* x = a.get<Dynamic::Tuple>()) return *x == *b.get<Dynamic::Tuple>();
  if (const auto* x = a.get<Dynamic::Dict>()) return *x == *b.get<Dynamic::Dict>();
  if (a.instance()) return a.instance() == b.instance();
  if (const auto* x = a.get<Definition*>()) return *x == *b.get<Definition*>();
  if (const auto* x = a.get<DynamicFunction>())
    return x->def == b.get<DynamicFunction>()->def && x->self == b.get<DynamicFunction>()->self;
  if (const auto* x = a.get<DynamicName>()) return x->path == b.get<DynamicName>()->path;
  if (const auto* x = a.get<TypePtr>()) return *x == *b.get<TypePtr>();
  return false;
}

bool equals(const Dynamic& a, const Dynamic& b) {
  const Nesting level;
  if (a.value() && b.value()) {
    const sconce::Value &x = *a.value(), &y = *b.value();
    if (x.is_tensor() || y.is_tensor()) return x.is_same(y);
    return x.equals(y);
  }
  if (a.items() && b.items() && a.data.index() == b.data.index()) {
    return std::equal(a.items()->begin(), a.items()->end(), b.items()->begin(), b.items()->end(), equals);
  }
  const auto* x = a.get<Dynamic::Dict>();
  const auto* y = b.get<Dynamic::Dict>();
  if (x && y) {
    if ((*x)->items.size() != (*y)->items.size()) return false;
    for (const auto& [key, value] : (*x)->items) {
      const Dynamic* other = (*y)->find(key);
      if (!other || !equals(value, *other)) return false;
    }
    return true;
  }
  return same(a, b);
}

namespace {

std::vector<Definition*> lookup_order(Definition& cls, int depth) {
  std::vector<Definition*> order{&cls};
  if (cls.known_order) {
    order.insert(order.end(), cls.known_order->begin(), cls.known_order->end());
    return order;
  }
  if (!cls.class_def) return order;
  // Each base before its own bases, and no class before one that derives from it.
  for (syntax::ExprPtr base : cls.class_def->bases) {
    Definition* d = cls.scope->class_of(base);
    if (!d) continue;
    if (depth > kMaxDepth) refuse(base->range, "class '{}' derives from itself", cls.name);
    for (Definition* inherited : lookup_order(*d, depth + 1)) {
      std::erase(order, inherited);
      order.push_back(inherited);
    }
  }
  return order;
}

}  // namespace

std::vector<Definition*> lookup_order(Definition& cls) { return lookup_order(cls, 0); }

Dynamic from_value(const sconce::Value& v) {
  const Nesting level;
  std::vector<Dynamic> items;
  switch (v.tag()) {
    case Tag::list:
      for (const sconce::Value& item : v.to_list().values()) items.push_back(from_value(item));
      return make_list(std::move(items));
    case Tag::tuple: {
      for (const sconce::Value& item : v.to_tuple().items) items.push_back(from_value(item));
      Dynamic tuple = make_tuple(std::move(items));
      (*tuple.get<Dynamic::Tuple>())->named = v.to_tuple().named_type;
      return tuple;
    }
    case Tag::dict: {
      auto dict = std::make_shared<DynamicDict>();
      v.to_dict().for_each([&](const sconce::Value& key, const sconce::Value& value) {
        dict->items.emplace_back(from_value(key), from_value(value));
      });
      return dict;
    }
    default:
      return v;
  }
}

std::string filled(const std::string& text, const std::vector<Dynamic>& values, const Range& at) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "{}") != 0) {
      out += text[i];
      continue;
    }
    if (next == values.size()) refuse(at, "Too few arguments for format string: {}", text);
    out += to_text(values[next++]);
    ++i;
  }
  return out;
}

}  // namespace sconce::script
