#include "sconce/serialization/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <variant>

#include "sconce/serialization/pickle_globals.h"
#include "sconce/types/class_info.h"

namespace sconce {

PickleContext::~PickleContext() = default;

namespace {

// What stands on the stack: a value, the name of a constructor, or a class whose object waits for its state.
struct Item {
  std::variant<Value, PickleGlobal, TypePtr> what;
  int depth = 0;  // containers inside, at most
};

bool is_container(const Value& v) { return v.is_tuple() || v.is_list() || v.is_dict() || v.is_object(); }

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name, PickleContext& context)
      : bytes_(bytes), name_(name), context_(context) {}

  Value read(size_t* used) {
    if (take() != '\x80' || take() != '\x02') wrong("only pickle protocol 2 is supported");
    while (true) {
      const char op = take();
      if (op == '.') break;
      step(op);
      if (stack_.size() + memo_.size() > kMaxPickleItems) wrong("there are too many items");
    }
    if (stack_.size() != 1 || !marks_.empty())
      wrong("it ends with " + std::to_string(stack_.size()) + " items on the stack");
    if (used) {
      *used = at_;
    } else if (at_ != bytes_.size()) {
      wrong("there are bytes after its end");
    }
    return pop_value();
  }

 private:
  [[noreturn]] void wrong(const std::string& reason) const { fail("{}: pickle, byte {}: {}", name_, at_, reason); }

  // ---- bytes ----
  char take() {
    if (at_ == bytes_.size()) wrong("unexpected end");
    return bytes_[at_++];
  }
  template <class T>
  T number() {
    if (bytes_.size() - at_ < sizeof(T)) wrong("unexpected end");
    T v;
    std::memcpy(&v, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  std::string_view text(size_t n) {
    if (bytes_.size() - at_ < n) wrong("unexpected end");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) wrong("unexpected end");
    const std::string_view found = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  // ---- stack ----
  void push(Value v, int depth = 0) {
    if (depth > kMaxPickleDepth) wrong("containers are nested more than " + std::to_string(kMaxPickleDepth) + " deep");
    stack_.push_back({std::move(v), depth});
  }
  Item pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) wrong("the stack is empty");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  Value as_value(Item& item) {
    if (auto* v = std::get_if<Value>(&item.what)) return std::move(*v);
    if (const auto* g = std::get_if<PickleGlobal>(&item.what)) {
      if (const std::optional<Value> constant = global_constant(*g)) return *constant;
      wrong("'" + g->module + "." + g->name + "' is not a value");
    }
    wrong("an object has no state");
  }
  Value pop_value() {
    Item item = pop();
    return as_value(item);
  }
  // The items since the last mark.
  std::vector<Item> pop_mark() {
    if (marks_.empty()) wrong("there is no mark");
    const size_t from = marks_.back();
    marks_.pop_back();
    std::vector<Item> items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(from)),
                            std::make_move_iterator(stack_.end()));
    stack_.resize(from);
    return items;
  }
  Item& top() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) wrong("the stack is empty");
    return stack_.back();
  }
  Value& top_value() {
    auto* v = std::get_if<Value>(&top().what);
    if (!v) wrong("a value was expected");
    return *v;
  }

  // ---- containers ----
  void make_tuple(std::vector<Item> items) {
    int depth = 0;
    std::vector<Value> values;
    values.reserve(items.size());
    for (Item& item : items) {
      depth = std::max(depth, item.depth);
      values.push_back(as_value(item));
    }
    push(make_ref<Tuple>(std::move(values)), depth + 1);
  }
  void append(std::vector<Item> items) {
    Item& target = top();
    if (!top_value().is_list()) wrong("items are appended to something that is no list");
    List& list = top_value().to_list();
    for (Item& item : items) {
      target.depth = std::max(target.depth, item.depth + 1);
      list.append(as_value(item));
    }
    check_depth(target);
  }
  void set_items(std::vector<Item> items) {
    if (items.size() % 2 != 0) wrong("a key has no value");
    Item& target = top();
    if (!top_value().is_dict()) wrong("items are set in something that is no dict");
    Dict& dict = top_value().to_dict();
    for (size_t i = 0; i < items.size(); i += 2) {
      target.depth = std::max(target.depth, items[i + 1].depth + 1);
      Value key = as_value(items[i]);
      if (is_container(key) && !key.is_tuple()) wrong("a key of a dict cannot be hashed");
      dict.set(std::move(key), as_value(items[i + 1]));
    }
    check_depth(target);
  }
  void check_depth(const Item& item) {
    if (item.depth > kMaxPickleDepth)
      wrong("containers are nested more than " + std::to_string(kMaxPickleDepth) + " deep");
  }

  // ---- constructors ----
  void reduce() {
    Item argument = pop();
    Item callee = pop();
    const int depth = argument.depth;
    Value args = as_value(argument);
    if (const auto* type = std::get_if<TypePtr>(&callee.what)) {
      if ((*type)->is(TypeKind::enum_)) return push(member_of(*type, args));
      wrong("'" + (*type)->name() + "' cannot be called");
    }
    const auto* global = std::get_if<PickleGlobal>(&callee.what);
    if (!global) wrong("only known constructors can be called");
    if (!args.is_tuple()) wrong("'" + global->name + "' needs a tuple of arguments");
    try {
      push(call_global(*global, args.to_tuple().items, context_), depth);
    } catch (const Error& error) {
      wrong(global->name + ": " + error.message());
    }
  }
  Value member_of(TypePtr type, const Value& value) {
    for (const auto& [name, member] : type->enum_info()->members) {
      if (member.to_enum().value.equals(value)) return member;
    }
    wrong("enum '" + type->name() + "' has no member with that value");
  }
  void build() {
    Item state = pop();
    Item object = pop();
    const auto* type = std::get_if<TypePtr>(&object.what);
    if (!type) {
      // An OrderedDict's own attributes (_metadata of a state dict) say nothing that we keep.
      if (const auto* v = std::get_if<Value>(&object.what); v && v->is_dict()) {
        stack_.push_back(std::move(object));
        return;
      }
      wrong("a state is given to something that is no object");
    }
    const int depth = state.depth + 1;
    push(context_.build(*type, as_value(state)), depth);
  }
  void global() {
    PickleGlobal g{std::string(line()), std::string(line())};
    if (g.module == "__builtin__") g.module = "builtins";
    if (g.module.starts_with("__torch__")) {
      stack_.push_back({context_.find_class(g.module + "." + g.name), 0});
    } else {
      if (!is_known_global(g)) wrong("'" + g.module + "." + g.name + "' is not on the list of what a file may name");
      stack_.push_back({std::move(g), 0});
    }
  }
  void persistent() {
    Item item = pop();
    Value id = as_value(item);
    if (!id.is_tuple()) wrong("a persistent id must be a tuple");
    const std::vector<Value>& parts = id.to_tuple().items;
    if (parts.size() < 5 || !parts[0].is_string() || parts[0].to_string_ref() != "storage" || !parts[2].is_string() ||
        !parts[4].is_int() || !parts[1].is_string()) {
      wrong("a persistent id must be ('storage', class, key, location, count)");
    }
    if (parts.size() > 5 && !parts[5].is_none()) wrong("views of storages are not supported");
    const std::string& class_name = parts[1].to_string_ref();
    const std::optional<DType> dtype = storage_dtype(class_name);
    if (!dtype && class_name != "UntypedStorage") wrong("storages of class '" + class_name + "' are not supported");
    if (parts[4].to_int() < 0) wrong("a storage has a negative size");
    push(context_.storage(parts[2].to_string_ref(), dtype, parts[4].to_int()));
  }

  void put(uint32_t id) { memo_[id] = top(); }
  void get(uint32_t id) {
    const auto found = memo_.find(id);
    if (found == memo_.end()) wrong("memo " + std::to_string(id) + " is empty");
    stack_.push_back(found->second);
  }
  void tuple_of(size_t n) {
    std::vector<Item> items(n);
    for (size_t i = n; i-- > 0;) items[i] = pop();
    make_tuple(std::move(items));
  }
  // Two's complement of any length that an int can hold.
  void long_of(size_t n) {
    const std::string_view digits = text(n);
    uint64_t v = 0;
    const bool negative = n != 0 && (digits[n - 1] & 0x80) != 0;
    for (size_t i = 0; i < std::max<size_t>(n, 8); ++i) {
      const auto byte = static_cast<uint8_t>(i < n ? digits[i] : negative ? 0xff : 0);
      if (i < 8) {
        v |= uint64_t{byte} << 8 * i;
      } else if (byte != (static_cast<int64_t>(v) < 0 ? 0xff : 0)) {
        // Too large: only the number that opens a legacy file is.
        return push(std::string(digits));
      }
    }
    push(static_cast<int64_t>(v));
  }

  void step(char op) {
    switch (op) {
      case '(':
        return marks_.push_back(stack_.size());
      case ')':
        return make_tuple({});
      case '\x85':
        return tuple_of(1);
      case '\x86':
        return tuple_of(2);
      case '\x87':
        return tuple_of(3);
      case 't':
        return make_tuple(pop_mark());
      case ']':
        return push(make_ref<List>(any_type()), 1);
      case 'a': {
        std::vector<Item> one;
        one.push_back(pop());
        return append(std::move(one));
      }
      case 'e':
        return append(pop_mark());
      case 'l': {
        std::vector<Item> items = pop_mark();
        push(make_ref<List>(any_type()), 1);
        return append(std::move(items));
      }
      case '}':
        return push(make_ref<Dict>(any_type(), any_type()), 1);
      case 's': {
        std::vector<Item> two(2);
        two[1] = pop();
        two[0] = pop();
        return set_items(std::move(two));
      }
      case 'u':
        return set_items(pop_mark());
      case 'd': {
        std::vector<Item> items = pop_mark();
        push(make_ref<Dict>(any_type(), any_type()), 1);
        return set_items(std::move(items));
      }
      case 'N':
        return push({});
      case '\x88':
        return push(true);
      case '\x89':
        return push(false);
      case 'K':
        return push(int64_t{number<uint8_t>()});
      case 'M':
        return push(int64_t{number<uint16_t>()});
      case 'J':
        return push(int64_t{number<int32_t>()});
      case '\x8a':
        return long_of(number<uint8_t>());
      case 'G':
        return push(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));
      case 'X':
        return push(text(number<uint32_t>()));
      case 'U':
        return push(text(number<uint8_t>()));
      case 'T':
        return push(text(number<uint32_t>()));
      case 'q':
        return put(number<uint8_t>());
      case 'r':
        return put(number<uint32_t>());
      case 'h':
        return get(number<uint8_t>());
      case 'j':
        return get(number<uint32_t>());
      case 'c':
        return global();
      case '\x81': {  // NEWOBJ: the class stays, its arguments are always ()
        const Value args = pop_value();
        if (!args.is_tuple() || !args.to_tuple().items.empty()) wrong("a new object takes no arguments");
        if (!std::holds_alternative<TypePtr>(top().what) || std::get<TypePtr>(top().what)->is(TypeKind::enum_)) {
          wrong("a new object needs a class");
        }
        return;
      }
      case 'R':
        return reduce();
      case 'b':
        return build();
      case 'Q':
        return persistent();
      case '0':
        pop();
        return;
      case '2':
        stack_.push_back(top());
        return;
      default:
        wrong("unknown opcode " + std::to_string(static_cast<uint8_t>(op)));
    }
  }

  std::string_view bytes_;
  const std::string& name_;
  PickleContext& context_;
  size_t at_ = 0;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Item> memo_;
};

}  // namespace

Value read_pickle(std::string_view bytes, const std::string& name, PickleContext& context, size_t* used) {
  return Reader(bytes, name, context).read(used);
}

}  // namespace sconce
