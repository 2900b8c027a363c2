#include "sconce/serialization/pickle/pickle_machine.h"

#include <algorithm>
#include <functional>

#include "sconce/serialization/pickle/numpy_pickles.h"
#include "sconce/serialization/pickle/opaque_objects.h"

namespace sconce {
namespace {

bool is_mutable(const Value& v) { return v.is_list() || v.is_dict() || is_opaque(v); }

std::string full_name(const PickleConstructor& c) { return std::string(c.module) + "." + c.name; }

// Constructors in tuples as classes that nothing is known of.
Value without_constructors(const Value& v) {
  if (v.tag() == Tag::capsule) {
    return make_opaque_class(full_name(*static_cast<const PickleConstructor*>(v.to_capsule().object)));
  }
  if (!v.is_tuple() || is_opaque(v)) return v;
  std::vector<Value> items;
  for (const Value& item : v.to_tuple().items) items.push_back(without_constructors(item));
  return make_ref<Tuple>(std::move(items), v.to_tuple().named_type);
}

// The class of what is called: functions that only make an object of their first argument stand for that.
std::string_view class_of_call(std::string_view callee, const Value& args) {
  const bool makes_object =
      callee == "copyreg._reconstructor" || callee == "copyreg.__newobj__" || callee == "copyreg.__newobj_ex__";
  if (!makes_object || !args.is_tuple() || args.to_tuple().items.empty()) return callee;
  const Value& first = args.to_tuple().items[0];
  return is_opaque(first) ? std::string_view(opaque_class_name(first)) : callee;
}

// Saturating addition: a number that is too large stays too large.
uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

}  // namespace

PickleMachine::PickleMachine(const std::string& name, size_t size, const size_t& at, PickleContext& context)
    : name_(name),
      at_(at),
      context_(context),
      most_weight_(context.shares_freely() ? UINT64_MAX : kMaxPickleSharing * size + kMinPickleSharing) {}

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
  if (item.names_global && !in_tuple) {
    if (!context_.keeps_opaque()) wrong("a constructor stands where a value belongs");
    return without_constructors(std::get<Value>(item.what));
  }
  if (auto* v = std::get_if<Value>(&item.what)) return std::move(*v);
  if (const auto* g = std::get_if<const PickleConstructor*>(&item.what)) {
    const PickleConstructor& c = **g;
    if (!in_tuple && context_.keeps_opaque()) return make_opaque_class(full_name(c));
    if (!in_tuple) wrong("'" + full_name(c) + "' is not a value");
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
    // An object inside of itself: its class only, so that values stay trees.
    if (is_opaque(*v) && !now.closed && now.became.is_none()) {
      return push(make_opaque(opaque_class_name(*v),
                              opaque_arguments(*v).is_none() ? Value() : make_ref<Tuple>(std::vector<Value>())));
    }
    item.depth = now.depth;
    item.weight = now.weight;
    if (!now.became.is_none()) item.what = now.became;
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
  const bool opaque = v && is_opaque(*v);
  if (!v || (!opaque && v->tag() != tag)) {
    wrong(tag == Tag::list ? "items are appended to something that is no list"
                           : "items are set in something that is no dict");
  }
  const auto item_type = [&] { return tag == Tag::list ? v->to_list().element_type() : v->to_dict().value_type(); };
  if (!opaque && item_type() != any_type()) wrong("a container is changed after its type was set");
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
  List& list = is_opaque(keep) ? opaque_items(keep) : keep.to_list();
  for (Item& item : items) {
    add_part(target, item);
    Value v = value_of(item);
    if (v.is_same(keep)) wrong("a list contains itself");
    list.append(std::move(v));
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
  Dict& dict = is_opaque(keep) ? opaque_entries(keep) : keep.to_dict();
  for (size_t i = 0; i < items.size(); i += 2) {
    if (items[i].weight > kMaxPickleKeyParts) {
      wrong("a key of a dict has more than " + std::to_string(kMaxPickleKeyParts) + " parts");
    }
    add_part(target, items[i]);
    add_part(target, items[i + 1]);
    Value key = key_of(value_of(items[i]));
    Value v = value_of(items[i + 1]);
    if (v.is_same(keep)) wrong("a dict contains itself");
    dict.set(std::move(key), std::move(v));
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

// Where opaque objects are kept, a key that has no hash here (a member of an enum, a frozenset) is its text.
Value PickleMachine::key_of(Value key) {
  const std::function<bool(const Value&)> has_hash = [&](const Value& v) {
    if (is_mutable(v) || v.is_object() || v.tag() == Tag::capsule) return false;
    return !v.is_tuple() || std::all_of(v.to_tuple().items.begin(), v.to_tuple().items.end(), has_hash);
  };
  if (context_.keeps_opaque() && !has_hash(key)) {
    if (!is_opaque(key)) return key.repr();
    return opaque_class_name(key) + (opaque_arguments(key).is_none() ? "" : opaque_arguments(key).repr());
  }
  check_key(key);
  return key;
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
  if (module == "__builtin__" || module == "exceptions") module = "builtins";  // of Python 2
  if (module == "copy_reg") module = "copyreg";
  const std::string whole = std::string(module) + "." + std::string(name);
  const bool is_program = module == "__torch__" || module.starts_with("__torch__.");
  if (is_program && !context_.keeps_opaque()) {
    push_item({context_.find_class(whole), 0, 1, false});
  } else if (const PickleConstructor* c = find_pickle_constructor(module, name)) {
    push_item({c, 0, 1, false});
  } else if (std::optional<Value> constant = pickle_constant(module, name)) {
    push(std::move(*constant));
  } else if (context_.keeps_opaque()) {
    push(make_opaque_class(whole));
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
  if (const auto* v = std::get_if<Value>(&callee.what); v && is_opaque(*v)) {
    return push_opaque(opaque_class_name(*v), argument);
  }
  const Value args = value_of(argument, true);
  if (const auto* type = std::get_if<TypePtr>(&callee.what)) {
    return push(context_.member(*type, args));
  }
  const auto* constructor = std::get_if<const PickleConstructor*>(&callee.what);
  if (!constructor) wrong("only known constructors can be called");
  const PickleConstructor& c = **constructor;
  if (!args.is_tuple()) wrong(std::string("'") + c.name + "' needs a tuple of arguments");
  if (!c.make && context_.keeps_opaque()) {
    argument.what = args;
    return push_opaque(full_name(c), argument);
  }
  if (!c.make) wrong("'" + full_name(c) + "' cannot be called");
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

// An object of a class, or the value of a function, that nothing is known of.
void PickleMachine::push_opaque(std::string_view class_name, Item& arguments) {
  const Value args = without_constructors(value_of(arguments, true));
  if (!args.is_tuple()) wrong("'" + std::string(class_name) + "' needs a tuple of arguments");
  try {
    if (std::optional<Value> made = numpy_call(class_name, args.to_tuple().items)) return push(std::move(*made));
  } catch (const Error& error) {
    wrong(std::string(class_name) + ": " + error.message());
  }
  Item made{make_opaque(class_of_call(class_name, args), args), 1, 1, false};
  add_part(made, arguments);
  push_item(std::move(made));
}

// The class stays, its arguments are always (); those of an opaque object are kept.
void PickleMachine::new_object() {
  Item argument = pop_item();
  if (context_.keeps_opaque()) {
    stack_.push_back(std::move(argument));
    return reduce();
  }
  const Value args = value_of(argument);
  if (!args.is_tuple() || !args.to_tuple().items.empty()) wrong("a new object takes no arguments");
  const auto* type = std::get_if<TypePtr>(&top().what);
  if (!type || (*type)->is(TypeKind::enum_)) wrong("a new object needs a class");
}

// (class, arguments, keywords)
void PickleMachine::new_object_with_keywords() {
  if (!context_.keeps_opaque()) wrong("objects with keywords are not supported");
  tuple(2);
  reduce();
}

// Gives its state to an opaque object, or makes an array of it. False for other values.
bool PickleMachine::build_opaque(Item& object, Item& state) {
  const auto* v = std::get_if<Value>(&object.what);
  if (!v || !is_opaque(*v)) return false;
  const auto known = shared_.find(v->counted());
  if (known != shared_.end() && known->second.closed) wrong("an object is changed after it was put into a container");
  add_part(object, state);
  check_limits(object);
  const Value given = value_of(state);
  if (given.is_same(*v)) wrong("an object is its own state");
  std::optional<Value> array;
  try {
    array = numpy_array(*v, given);
  } catch (const Error& error) {
    wrong("numpy.ndarray: " + error.message());
  }
  if (array) {
    if (known != shared_.end()) known->second.became = *array;
    push(std::move(*array));
    return true;
  }
  opaque_state(*v) = given;
  update(object);
  push_item(std::move(object));
  return true;
}

void PickleMachine::build() {
  Item state = pop_item();
  Item object = pop_item();
  if (build_opaque(object, state)) return;
  const auto* type = std::get_if<TypePtr>(&object.what);
  if (!type) {
    // Attributes that Python gave to an OrderedDict (_metadata of a state dict) or to a tensor say nothing
    // that we keep.
    const auto* v = std::get_if<Value>(&object.what);
    if (v && (v->is_dict() || v->is_tensor() || context_.keeps_opaque())) return push_item(std::move(object));
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
  // Legacy files have the Python source of a pickled module's class beside it: (module, class, file, source).
  const bool is_module = parts.size() == 4 && parts[0].is_string() && parts[0].to_string_ref() == "module";
  if (is_module && is_opaque(parts[1])) return push(make_opaque_class(opaque_class_name(parts[1])));
#ifndef SCONCE_SMALL
  const bool is_packaged = parts.size() == 4 && parts[0].is_string() && parts[0].to_string_ref() == "reduce_package";
  if (is_packaged && is_opaque(parts[2]) && parts[3].is_tuple()) {
    Item made{context_.packaged(opaque_class_name(parts[2]), parts[3]), 1, 1, false};
    add_part(made, item);
    return push_item(std::move(made));
  }
#endif
  if (parts.size() < 5 || !parts[0].is_string() || parts[0].to_string_ref() != "storage" || !parts[1].is_string() ||
      !(parts[2].is_string() || parts[2].is_int()) || !parts[4].is_int()) {
    wrong("a persistent id must be ('storage', class, key, location, count)");
  }
  const std::string& class_name = parts[1].to_string_ref();
  const std::optional<DType> dtype = storage_dtype(class_name);
  if (!dtype && class_name != "UntypedStorage") wrong("storages of class '" + class_name + "' are not supported");
  if (parts[4].to_int() < 0) wrong("a storage has a negative size");
  const std::string key = parts[2].is_int() ? std::to_string(parts[2].to_int()) : parts[2].to_string_ref();
  Tensor flat = context_.storage(key, dtype, parts[4].to_int());
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
