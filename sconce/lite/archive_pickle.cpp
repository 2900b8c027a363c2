#include "sconce/lite/archive_pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sconce/serialization/pickle/pickle_globals.h"

namespace sconce::lite {
namespace {

// What lies on the stack: a value; a constructor; a class whose object waits for its state.
struct Item {
  Value value = {};
  const PickleConstructor* constructor = nullptr;
  TypePtr type = nullptr;
  int depth = 0;        // containers inside of each other
  uint64_t weight = 1;  // values inside, the shared ones as often as they are used
};

class ArchivePickle {
 public:
  ArchivePickle(std::string_view bytes, const std::string& name, PickleContext& context)
      : bytes_(bytes),
        name_(name),
        context_(context),
        most_weight_(kMaxPickleSharing * bytes.size() + kMinPickleSharing) {}

  Value read() {
    if (take(1)[0] != '\x80' || number(1) > 5) wrong("it does not begin as pickles of protocol 2 do");
    for (char op = take(1)[0]; op != '.'; op = take(1)[0]) step(op);
    if (at_ != bytes_.size() || stack_.size() != 1 || !marks_.empty()) wrong("it does not end with one value");
    return value(stack_[0]);
  }

 private:
  [[noreturn]] void wrong(std::string_view what, std::initializer_list<ErrorArg> args = {}) const {
    fail("{}: pickle, byte {}: {}", name_, at_, format_message(what, args));
  }

  // ---- bytes ----
  std::string_view take(uint64_t n) {
    if (bytes_.size() - at_ < n) wrong("unexpected end");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  uint64_t number(size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, take(n).data(), n);
    return v;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) wrong("unexpected end");
    const std::string_view found = take(end - at_);
    ++at_;
    return found;
  }
  // Two's complement.
  int64_t integer(size_t n) {
    if (n > 8) wrong("an integer has {} bytes", {n});
    if (n == 0) return 0;
    const auto unused = static_cast<int>(8 * (8 - n));
    return static_cast<int64_t>(number(n) << unused) >> unused;
  }

  // ---- the stack ----
  void push(Item item) {
    if (item.depth > kMaxPickleDepth) wrong("containers are nested more than {} deep", {kMaxPickleDepth});
    if (item.weight > most_weight_) wrong("values are shared too often: they would be {}", {item.weight});
    stack_.push_back(std::move(item));
    if (stack_.size() + memo_.size() > kMaxPickleItems) wrong("there are too many items");
  }
  void push_value(Value v, int depth = 0) { push({.value = std::move(v), .depth = depth}); }
  // The last `count` items; none of those before a mark.
  Item* last(size_t count) {
    if (stack_.size() - (marks_.empty() ? 0 : marks_.back()) < count) wrong("the stack is empty");
    return stack_.data() + stack_.size() - count;
  }
  void drop(size_t count) { stack_.resize(stack_.size() - count); }
  size_t since_mark() {
    if (marks_.empty()) wrong("there is no mark");
    const size_t from = marks_.back();
    marks_.pop_back();
    return stack_.size() - from;
  }
  Value value(Item& item) const {
    if (item.constructor) wrong("'{}' is not a value", {item.constructor->name});
    if (item.type) wrong("an object of class '{}' has no state", {item.type->name()});
    return std::move(item.value);
  }
  // Makes `part` a part of `whole`.
  Value part(Item& whole, Item& part) const {
    whole.depth = std::max(whole.depth, part.depth + 1);
    whole.weight = __builtin_add_overflow(whole.weight, part.weight, &whole.weight) ? UINT64_MAX : whole.weight;
    return value(part);
  }

  // ---- containers ----
  void make_tuple(size_t count) {
    Item whole{.depth = 1};
    std::vector<Value> items;
    items.reserve(count);
    Item* const parts = last(count);
    for (size_t i = 0; i < count; ++i) items.push_back(part(whole, parts[i]));
    whole.value = Value(make_ref<Tuple>(std::move(items)));
    drop(count);
    push(std::move(whole));
  }
  // The container below the last `count` items, which nothing else refers to, gets them.
  void fill(Tag tag, size_t count) {
    Item* const parts = last(count + 1) + 1;
    Item whole = std::move(parts[-1]);
    if (whole.value.tag() != tag || !whole.value.counted()->count.unique())
      wrong("items are given to something that is no new {}", {tag_name(tag)});
    if (tag == Tag::list) {
      for (size_t i = 0; i < count; ++i) whole.value.to_list().append(part(whole, parts[i]));
    } else {
      if (count % 2 != 0) wrong("a key has no value");
      for (size_t i = 0; i < count; i += 2) {
        check_key(parts[i].value, parts[i].weight);
        Value key = part(whole, parts[i]);
        whole.value.to_dict().set(std::move(key), part(whole, parts[i + 1]));
      }
    }
    drop(count + 1);
    push(std::move(whole));
  }
  void check_key(const Value& key, uint64_t parts) const {
    if (parts > kMaxPickleKeyParts) wrong("a key of a dict has more than {} parts", {kMaxPickleKeyParts});
    if (key.is_tuple()) {
      for (const Value& item : key.to_tuple().items) check_key(item, 1);
    } else if (key.is_list() || key.is_dict() || key.is_object()) {
      wrong("a key of a dict cannot be hashed");
    }
  }

  // ---- the memo ----
  // Numbers are counted, from 0.
  void memoize(uint64_t id) {
    if (id > memo_.size()) wrong("memo {} comes before memo {}", {id, memo_.size()});
    if (id == memo_.size()) memo_.emplace_back();
    memo_[id] = *last(1);
  }
  void recall(uint64_t id) {
    if (id >= memo_.size()) wrong("memo {} is empty", {id});
    push(memo_[id]);
  }

  // ---- constructors ----
  void global() {
    const std::string_view module = line(), name = line();
    if (module == "__torch__" || module.starts_with("__torch__."))
      return push({.type = context_.find_class(format_message("{}.{}", {module, name}))});
    if (const PickleConstructor* c = find_pickle_constructor(module, name); c && c->make)
      return push({.constructor = c});
    std::optional<Value> constant = pickle_constant(module, name);
    if (!constant) wrong("'{}.{}' is not on the list of what a file may name", {module, name});
    push_value(std::move(*constant));
  }
  void reduce() {
    Item* const items = last(2);
    const PickleConstructor* constructor = items[0].constructor;
    Item made = std::move(items[1]);
    if (!constructor || !made.value.is_tuple()) wrong("only known constructors can be called, with a tuple");
    try {
      made.value = constructor->make(made.value.to_tuple().items, context_);
    } catch (const Error& error) {
      wrong("{}: {}", {constructor->name, error.message()});
    }
    if (made.value.is_tensor()) made.depth = 0, made.weight = 1;  // has no parts
    drop(2);
    push(std::move(made));
  }
  void new_object() {
    const Item* items = last(2);
    if (!items[0].type || !items[1].value.is_tuple() || !items[1].value.to_tuple().items.empty())
      wrong("a new object needs a class and no arguments");
    drop(1);
  }
  void build() {
    Item* const items = last(2);
    if (!items[0].type) wrong("a state is given to something that is no object");
    Item made{.depth = 1};
    Value state = part(made, items[1]);
    made.value = context_.build(items[0].type, std::move(state));
    drop(2);
    push(std::move(made));
  }
  void persistent() {
    const Value id = value(*last(1));
    const std::vector<Value>* parts = id.is_tuple() ? &id.to_tuple().items : nullptr;
    if (!parts || parts->size() != 5 || !(*parts)[1].is_string() || !(*parts)[2].is_string() || !(*parts)[4].is_int())
      wrong("a persistent id must be ('storage', class, key, location, count)");
    const std::string& class_name = (*parts)[1].to_string_ref();
    const std::optional<DType> dtype = storage_dtype(class_name);
    if (!dtype) wrong("storages of class '{}' are not supported", {class_name});
    Tensor flat = context_.storage((*parts)[2].to_string_ref(), dtype, (*parts)[4].to_int());
    drop(1);
    push_value(std::move(flat));
  }

  void step(char op) {
    switch (op) {
      case '(':
        return marks_.push_back(stack_.size());
      case 'N':
        return push_value({});
      case '\x88':
      case '\x89':
        return push_value(op == '\x88');
      case 'K':
        return push_value(static_cast<int64_t>(number(1)));
      case 'M':
        return push_value(static_cast<int64_t>(number(2)));
      case 'J':
        return push_value(integer(4));
      case '\x8a':  // LONG1
        return push_value(integer(number(1)));
      case 'G':
        return push_value(std::bit_cast<double>(__builtin_bswap64(number(8))));
      case 'X':  // BINUNICODE
        return push_value(Value(take(number(4))));
      case ')':
      case '\x85':
      case '\x86':
      case '\x87':
        return make_tuple(op == ')' ? 0 : static_cast<size_t>(op - '\x84'));
      case 't':
        return make_tuple(since_mark());
      case ']':
        return push_value(Value(make_ref<List>(any_type())), 1);
      case 'a':
        return fill(Tag::list, 1);
      case 'e':
        return fill(Tag::list, since_mark());
      case '}':
        return push_value(Value(make_ref<Dict>(any_type(), any_type())), 1);
      case 's':
        return fill(Tag::dict, 2);
      case 'u':
        return fill(Tag::dict, since_mark());
      case 'q':
        return memoize(number(1));
      case 'r':
        return memoize(number(4));
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      case 'c':
        return global();
      case '\x81':
        return new_object();
      case 'R':
        return reduce();
      case 'b':
        return build();
      case 'Q':
        return persistent();
      default:
        wrong("unknown opcode {}", {static_cast<int>(static_cast<uint8_t>(op))});
    }
  }

  const std::string_view bytes_;
  const std::string& name_;
  PickleContext& context_;
  const uint64_t most_weight_;
  size_t at_ = 0;
  std::vector<Item> stack_, memo_;
  std::vector<size_t> marks_;
};

}  // namespace

Value read_archive_pickle(std::string_view bytes, const std::string& name, PickleContext& context) {
  return ArchivePickle(bytes, name, context).read();
}

}  // namespace sconce::lite
