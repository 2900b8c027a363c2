#include "sconce/serialization/pickle/pickle_machine.h"

#include <algorithm>

namespace sconce {
namespace {

bool is_mutable(const Value& v) { return v.is_list() || v.is_dict(); }

// Saturating addition: a number that is too large stays too large.
uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

}  // namespace

PickleMachine::PickleMachine(const std::string& name, size_t size, const size_t& at, PickleContext& context)
    : name_(name), at_(at), context_(context), most_weight_(kMaxPickleSharing * size + kMinPickleSharing) {}

void PickleMachine::wrong(const std::string& reason) const { fail("{}: pickle, byte {}: {}", name_, at_, reason); }

// ---- the stack ----

void PickleMachine::push_item(Item item) {
  check_limits(item);
  stack_.push_back(std::move(item));
  if (stack_.size() + memo_.size() > kMaxPickleItems) wrong("there are too many items");
}

void PickleMachine::push_list() { push_item({Value(make_ref<List>(any_type())), 1, 1, false}); }
void PickleMachine::push_dict() { push_item({Value(make_ref<Dict>(any_type(), any_type())), 1, 1, false}); }

PickleMachine::Item PickleMachine::pop_item() {
  Item item = std::move(top());
  stack_.pop_back();
  return item;
}

PickleMachine::Item& PickleMachine::top() {
  if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) wrong("the stack is empty");
  return stack_.back();
}

std::vector<PickleMachine::Item> PickleMachine::items_since_mark() {
  if (marks_.empty()) wrong("there is no mark");
  const size_t from = marks_.back();
  marks_.pop_back();
  std::vector<Item> items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(from)),
                          std::make_move_iterator(stack_.end()));
  stack_.resize(from);
  return items;
}

Value PickleMachine::value_of(Item& item, bool in_tuple) {
  if (item.names_global && !in_tuple) wrong("a constructor stands where a value belongs");
  if (auto* v = std::get_if<Value>(&item.what)) return std::move(*v);
  if (const auto* g = std::get_if<const PickleConstructor*>(&item.what)) {
    const PickleConstructor& c = **g;
    if (!in_tuple) wrong(std::string("'") + c.module + "." + c.name + "' is not a value");
    item.names_global = true;
    return make_ref<Capsule>(const_cast<PickleConstructor*>(&c), nullptr);
  }
  wrong("an object has no state");
}

Value PickleMachine::result() {
  if (stack_.size() != 1 || !marks_.empty()) {
    wrong("it ends with " + std::to_string(stack_.size()) + " items on the stack");
  }
  Item item = pop_item();
  return value_of(item);
}

void PickleMachine::check_limits(const Item& item) const {
  if (item.depth > kMaxPickleDepth) {
    wrong("containers are nested more than " + std::to_string(kMaxPickleDepth) + " deep");
  }
  if (item.weight > most_weight_) wrong("values are shared too often: they would be " + std::to_string(item.weight));
}

// ---- the memo ----

void PickleMachine::share(const Item& item) {
  const auto* v = std::get_if<Value>(&item.what);
  if (v && is_mutable(*v)) shared_.try_emplace(v->counted(), Shared{*v, item.depth, item.weight, false});
}

// The item goes into a container: from now on it stays as it is.
void PickleMachine::close(const Item& item) {
  const auto* v = std::get_if<Value>(&item.what);
  if (!v || !is_mutable(*v)) return;
  if (const auto found = shared_.find(v->counted()); found != shared_.end()) found->second.closed = true;
}

// The item has grown.
void PickleMachine::update(const Item& item) {
  const auto found = shared_.find(std::get<Value>(item.what).counted());
  if (found == shared_.end()) return;
  found->second.depth = item.depth;
  found->second.weight = item.weight;
}

void PickleMachine::duplicate() {
  share(top());
  push_item(Item(top()));
}

void PickleMachine::put(uint32_t id) {
  share(top());
  memo_[id] = top();
}

void PickleMachine::get(uint32_t id) {
  const auto found = memo_.find(id);
  if (found == memo_.end()) wrong("memo " + std::to_string(id) + " is empty");
  Item item = found->second;
  if (const auto* v = std::get_if<Value>(&item.what); v && is_mutable(*v)) {
    const Shared& now = shared_.at(v->counted());
    item.depth = now.depth;
    item.weight = now.weight;
  }
  push_item(std::move(item));
}

// ---- containers ----

void PickleMachine::add_part(Item& whole, const Item& part) {
  whole.depth = std::max(whole.depth, part.depth + 1);
  whole.weight = sum(whole.weight, part.weight);
  close(part);
}

void PickleMachine::make_tuple(std::vector<Item> items) {
  Item whole{Value(), 1, 1, false};
  std::vector<Value> values;
  values.reserve(items.size());
  for (Item& item : items) {
    add_part(whole, item);
    values.push_back(value_of(item, true));
    whole.names_global |= item.names_global;
  }
  check_limits(whole);
  whole.what = Value(make_ref<Tuple>(std::move(values)));
  push_item(std::move(whole));
}

void PickleMachine::tuple(size_t n) {
  std::vector<Item> items(n);
  for (size_t i = n; i-- > 0;) items[i] = pop_item();
  make_tuple(std::move(items));
}

void PickleMachine::tuple_since_mark() { make_tuple(items_since_mark()); }

// The list or dict on top of the stack, which is about to grow.
PickleMachine::Item& PickleMachine::open_container(Tag tag) {
  Item& target = top();
  const auto* v = std::get_if<Value>(&target.what);
  if (!v || v->tag() != tag) {
    wrong(tag == Tag::list ? "items are appended to something that is no list"
                           : "items are set in something that is no dict");
  }
  const TypePtr items = tag == Tag::list ? v->to_list().element_type() : v->to_dict().value_type();
  if (items != any_type()) wrong("a container is changed after its type was set");
  if (const auto found = shared_.find(v->counted()); found != shared_.end()) {
    if (found->second.closed) wrong("a container is changed after it was put into another");
    target.depth = found->second.depth;
    target.weight = found->second.weight;
  }
  return target;
}

void PickleMachine::append(std::vector<Item> items) {
  Item& target = open_container(Tag::list);
  // Held, so that the list cannot be among its own items.
  const Value keep = std::get<Value>(target.what);
  for (Item& item : items) {
    add_part(target, item);
    Value v = value_of(item);
    if (v.is_same(keep)) wrong("a list contains itself");
    keep.to_list().append(std::move(v));
  }
  check_limits(target);
  update(target);
}

void PickleMachine::append_one() {
  std::vector<Item> one;
  one.push_back(pop_item());
  append(std::move(one));
}
void PickleMachine::append_since_mark() { append(items_since_mark()); }
void PickleMachine::list_since_mark() {
  std::vector<Item> items = items_since_mark();
  push_list();
  append(std::move(items));
}

void PickleMachine::set_items(std::vector<Item> items) {
  if (items.size() % 2 != 0) wrong("a key has no value");
  Item& target = open_container(Tag::dict);
  const Value keep = std::get<Value>(target.what);
  for (size_t i = 0; i < items.size(); i += 2) {
    if (items[i].weight > kMaxPickleKeyParts) {
      wrong("a key of a dict has more than " + std::to_string(kMaxPickleKeyParts) + " parts");
    }
    add_part(target, items[i]);
    add_part(target, items[i + 1]);
    Value key = value_of(items[i]);
    check_key(key);
    Value v = value_of(items[i + 1]);
    if (v.is_same(keep)) wrong("a dict contains itself");
    keep.to_dict().set(std::move(key), std::move(v));
  }
  check_limits(target);
  update(target);
}

void PickleMachine::set_one() {
  std::vector<Item> two(2);
  two[1] = pop_item();
  two[0] = pop_item();
  set_items(std::move(two));
}
void PickleMachine::set_since_mark() { set_items(items_since_mark()); }
void PickleMachine::dict_since_mark() {
  std::vector<Item> items = items_since_mark();
  push_dict();
  set_items(std::move(items));
}

void PickleMachine::check_key(const Value& key) const {
  if (key.is_tuple()) {
    for (const Value& part : key.to_tuple().items) check_key(part);
  } else if (is_mutable(key) || key.is_object() || key.tag() == Tag::capsule) {
    wrong("a key of a dict cannot be hashed");
  }
}

// ---- constructors ----

void PickleMachine::global(std::string_view module, std::string_view name) {
  const std::string whole = std::string(module) + "." + std::string(name);
  if (module == "__torch__" || module.starts_with("__torch__.")) {
    push_item({context_.find_class(whole), 0, 1, false});
  } else if (const PickleConstructor* c = find_pickle_constructor(module, name)) {
    push_item({c, 0, 1, false});
  } else if (std::optional<Value> constant = pickle_constant(module, name)) {
    push(std::move(*constant));
  } else {
    wrong("'" + whole + "' is not on the list of what a file may name");
  }
}

void PickleMachine::stack_global() {
  Item name = pop_item(), module = pop_item();
  const Value name_text = value_of(name), module_text = value_of(module);
  if (!name_text.is_string() || !module_text.is_string()) wrong("a global needs two texts");
  global(module_text.to_string_ref(), name_text.to_string_ref());
}

void PickleMachine::reduce() {
  Item argument = pop_item();
  const Item callee = pop_item();
  close(argument);
  const Value args = value_of(argument, true);
  if (const auto* type = std::get_if<TypePtr>(&callee.what)) {
    return push(context_.member(*type, args));
  }
  const auto* constructor = std::get_if<const PickleConstructor*>(&callee.what);
  if (!constructor) wrong("only known constructors can be called");
  const PickleConstructor& c = **constructor;
  if (!args.is_tuple()) wrong(std::string("'") + c.name + "' needs a tuple of arguments");
  if (!c.make) wrong(std::string("'") + c.module + "." + c.name + "' cannot be called");
  Value made;
  try {
    made = c.make(args.to_tuple().items, context_);
  } catch (const Error& error) {
    wrong(std::string(c.name) + ": " + error.message());
  }
  // A tensor has no parts. A container may be an argument itself, which is closed then.
  const bool whole = made.is_tensor();
  push_item({std::move(made), whole ? 0 : argument.depth, whole ? 1 : argument.weight, false});
}

// The class stays, its arguments are always ().
void PickleMachine::new_object() {
  Item argument = pop_item();
  const Value args = value_of(argument);
  if (!args.is_tuple() || !args.to_tuple().items.empty()) wrong("a new object takes no arguments");
  const auto* type = std::get_if<TypePtr>(&top().what);
  if (!type || (*type)->is(TypeKind::enum_)) wrong("a new object needs a class");
}

void PickleMachine::build() {
  Item state = pop_item();
  Item object = pop_item();
  const auto* type = std::get_if<TypePtr>(&object.what);
  if (!type) {
    // Attributes that Python gave to an OrderedDict (_metadata of a state dict) or to a tensor say nothing
    // that we keep.
    if (const auto* v = std::get_if<Value>(&object.what); v && (v->is_dict() || v->is_tensor())) {
      return push_item(std::move(object));
    }
    wrong("a state is given to something that is no object");
  }
  if ((*type)->is(TypeKind::enum_)) wrong("enum '" + (*type)->name() + "' has no state");
  Item made{Value(), 1, 1, false};
  add_part(made, state);
  check_limits(made);
  made.what = context_.build(*type, value_of(state));
  push_item(std::move(made));
}

void PickleMachine::persistent() {
  Item item = pop_item();
  const Value id = value_of(item);
  if (!id.is_tuple()) wrong("a persistent id must be a tuple");
  const std::vector<Value>& parts = id.to_tuple().items;
  if (parts.size() < 5 || !parts[0].is_string() || parts[0].to_string_ref() != "storage" || !parts[1].is_string() ||
      !parts[2].is_string() || !parts[4].is_int()) {
    wrong("a persistent id must be ('storage', class, key, location, count)");
  }
  const std::string& class_name = parts[1].to_string_ref();
  const std::optional<DType> dtype = storage_dtype(class_name);
  if (!dtype && class_name != "UntypedStorage") wrong("storages of class '" + class_name + "' are not supported");
  if (parts[4].to_int() < 0) wrong("a storage has a negative size");
  Tensor flat = context_.storage(parts[2].to_string_ref(), dtype, parts[4].to_int());
  if (parts.size() > 5 && !parts[5].is_none()) {  // (key, offset, size): a part of the storage
    const auto* view = parts[5].is_tuple() ? &parts[5].to_tuple().items : nullptr;
    if (!view || view->size() != 3 || !(*view)[1].is_int() || !(*view)[2].is_int()) {
      wrong("a view of a storage must be (key, offset, size)");
    }
    try {
      flat = make_tensor(Ref<Storage>::share(flat.storage()), flat.dtype(), {(*view)[2].to_int()}, {1},
                         (*view)[1].to_int());
    } catch (const Error& error) {
      wrong(error.message());
    }
  }
  push(std::move(flat));
}

}  // namespace sconce
