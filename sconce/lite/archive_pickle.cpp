#include "sconce/lite/archive_pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sconce/lite/new_values.h"
#include "sconce/lite/read_error.h"
#include "sconce/runtime/value_types.h"
#include "sconce/serialization/pickle/pickle_globals.h"
#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce::lite {
namespace {

// What pickles of archives may call.
enum class Constructor : uint8_t {
  none,
  tensor,
  quantized,
  sparse,
  ints,
  reals,
  bools,
  tensors,
  typed,
  hooks,
  complex,
  device,
};
constexpr const char* kConstructors[] = {"",
                                         "_rebuild_tensor_v2",
                                         "_rebuild_qtensor",
                                         "_rebuild_sparse_tensor",
                                         "build_intlist",
                                         "build_doublelist",
                                         "build_boollist",
                                         "build_tensorlist",
                                         "restore_type_tag",
                                         "OrderedDict",
                                         "complex",
                                         "device"};

// What lies on the stack: a value; a constructor; a class whose object waits for its state.
struct Item {
  Value value = {};
  Constructor constructor = Constructor::none;
  TypePtr type = nullptr;
  int depth = 0;        // containers inside of each other
  uint64_t weight = 1;  // values inside, the shared ones as often as they are used
};

class ArchivePickle {
 public:
  ArchivePickle(std::string_view bytes, const std::string& name, PickleSource& source)
      : bytes_(bytes),
        name_(name),
        source_(source),
        most_weight_(kMaxPickleSharing * bytes.size() + kMinPickleSharing) {}

  Value read() {
    if (take(1)[0] != '\x80' || number(1) > 5) wrong("it does not begin as pickles of protocol 2 do");
    for (char op = take(1)[0]; op != '.'; op = take(1)[0]) step(op);
    if (at_ != bytes_.size() || stack_.size() != 1 || !marks_.empty()) wrong("it does not end with one value");
    return value(stack_[0]);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void wrong(const char* what, const char* detail = "") const {
    refuse("%s: pickle, byte %zu: %s%s", name_.c_str(), at_, what, detail);
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
    if (n > 8) wrong("an integer has more than 8 bytes");
    if (n == 0) return 0;
    const auto unused = static_cast<int>(8 * (8 - n));
    return static_cast<int64_t>(number(n) << unused) >> unused;
  }

  // ---- the stack ----
  Item& push() {
    if (stack_.size() + memo_.size() >= kMaxPickleItems) wrong("there are too many items");
    return stack_.emplace_back();
  }
  // In place of the last `count` items.
  void replace(size_t count, Item& by) {
    if (by.depth > kMaxPickleDepth) wrong("containers are nested more than 1000 deep");
    if (by.weight > most_weight_) wrong("values are shared too often");
    drop(count);
    push() = std::move(by);
  }
  // The last `count` items; none of those before a mark.
  Item* last(size_t count) {
    if (stack_.size() - (marks_.empty() ? 0 : static_cast<size_t>(marks_.back())) < count) wrong("the stack is empty");
    return stack_.data() + stack_.size() - count;
  }
  void drop(size_t count) {
    for (; count > 0; --count) stack_.pop_back();
  }
  size_t since_mark() {
    if (marks_.empty()) wrong("there is no mark");
    const auto from = static_cast<size_t>(marks_.back());
    marks_.pop_back();
    return stack_.size() - from;
  }
  Value value(Item& item) const {
    if (item.constructor != Constructor::none) wrong("a constructor is not a value");
    if (item.type) wrong("an object has no state, of class ", item.type->name().c_str());
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
    Item* const parts = last(count);
    Item whole{.value = new_tuple(count), .depth = 1};
    Value* const items = whole.value.to_tuple().items.data();
    for (size_t i = 0; i < count; ++i) items[i] = part(whole, parts[i]);
    replace(count, whole);
  }
  // The container below the last `count` items, which nothing else refers to, gets them.
  void fill(Tag tag, size_t count) {
    Item* const parts = last(count + 1) + 1;
    Item whole = std::move(parts[-1]);
    if (whole.value.tag() != tag || !whole.value.counted()->count.unique())
      wrong("items are given to something that is not a new ", tag_name(tag).data());
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
    replace(count + 1, whole);
  }
  void check_key(const Value& key, uint64_t parts) const {
    if (parts > kMaxPickleKeyParts) wrong("a key of a dict has more than 100 parts");
    if (key.is_tuple()) {
      for (const Value& item : key.to_tuple().items) check_key(item, 1);
    } else if (key.is_list() || key.is_dict() || key.is_object()) {
      wrong("a key of a dict cannot be hashed");
    }
  }

  // ---- the memo ----
  // Numbers are counted, from 0.
  void memoize(uint64_t id) {
    if (id > memo_.size()) wrong("memos are not counted");
    if (id == memo_.size()) memo_.emplace_back();
    memo_[id] = *last(1);
  }
  void recall(uint64_t id) {
    if (id >= memo_.size()) wrong("a memo is empty");
    push() = memo_[id];
  }

  // ---- constructors ----
  void global() {
    const std::string_view module = line(), name = line();
    const std::string whole = format_message("{}.{}", {module, name});
    Item& item = push();
    if (module.starts_with("__torch__")) {
      item.type = source_.find_class(whole);
      return;
    }
    for (size_t i = 1; i < std::size(kConstructors); ++i) {
      if (name == kConstructors[i]) item.constructor = static_cast<Constructor>(i);
    }
    if (item.constructor != Constructor::none) return;
    std::optional<Value> constant = pickle_constant(module, name);
    if (!constant) wrong("not on the list of what a file may name: ", whole.c_str());
    item.value = std::move(*constant);
  }
  void reduce() {
    Item* const items = last(2);
    const Constructor constructor = items[0].constructor;
    Item made = std::move(items[1]);
    if (constructor == Constructor::none || !made.value.is_tuple())
      wrong("only known constructors can be called, with a tuple");
    try {
      made.value = make(constructor, made.value.to_tuple().items);
    } catch (const Error& error) {
      refuse("%s: pickle, byte %zu: %s: %s", name_.c_str(), at_, kConstructors[static_cast<size_t>(constructor)],
             error.what());
    }
    if (made.value.is_tensor()) made.depth = 0, made.weight = 1;  // has no parts
    replace(2, made);
  }
  Value make(Constructor constructor, const std::vector<Value>& args) {
    constexpr size_t kArguments[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 2, 1};  // where it is not for the constructor to say
    const size_t wanted = kArguments[static_cast<size_t>(constructor)];
    if (wanted != 0 && args.size() != wanted) refuse("takes %zu arguments, got %zu", wanted, args.size());
    switch (constructor) {
      case Constructor::tensor:
        return rebuild_tensor(args);
      case Constructor::quantized:
        return rebuild_quantized(args);
      case Constructor::sparse:
        return rebuild_sparse(args);
      case Constructor::ints:
      case Constructor::reals:
      case Constructor::bools:
      case Constructor::tensors: {
        constexpr TypeKind kItems[] = {TypeKind::int_, TypeKind::float_, TypeKind::bool_, TypeKind::tensor};
        const size_t which = static_cast<size_t>(constructor) - static_cast<size_t>(Constructor::ints);
        return as(args[0], list_type(simple_type(kItems[which])));
      }
      case Constructor::typed:
        return as(args[0], source_.find_type(args[1].to_string_ref()));
      case Constructor::complex:
        return std::complex<double>(args[0].to_double(), args[1].to_double());
      case Constructor::device:
        return parse_device(args[0].to_string_ref());
      default:  // hooks, of which there are none
        return new_dict(any_type(), any_type());
    }
  }
  Value as(Value v, TypePtr type) const {
    if (!runtime::convert_argument(v, type)) wrong("a value is not of type ", type->annotation().c_str());
    return v;
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
    made.value = source_.build(items[0].type, std::move(state));
    replace(2, made);
  }
  void persistent() {
    const Value id = value(*last(1));
    const std::vector<Value>* parts = id.is_tuple() ? &id.to_tuple().items : nullptr;
    if (!parts || parts->size() != 5 || !(*parts)[1].is_string() || !(*parts)[2].is_string() || !(*parts)[4].is_int())
      wrong("a persistent id must be ('storage', class, key, location, count)");
    const std::string& class_name = (*parts)[1].to_string_ref();
    const std::optional<DType> dtype = storage_dtype(class_name);
    if (!dtype) wrong("not supported: storages of class ", class_name.c_str());
    Tensor flat = source_.storage((*parts)[2].to_string_ref(), *dtype, (*parts)[4].to_int());
    *last(1) = {.value = std::move(flat)};
  }

  void step(char op) {
    switch (op) {
      case '(':
        return marks_.push_back(static_cast<int64_t>(stack_.size()));
      case ')':
      case '\x85':
      case '\x86':
      case '\x87':
        return make_tuple(op == ')' ? 0 : static_cast<size_t>(op - '\x84'));
      case 't':
        return make_tuple(since_mark());
      case 'a':
        return fill(Tag::list, 1);
      case 'e':
        return fill(Tag::list, since_mark());
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
        return literal(op, push());
    }
  }
  // Values that stand in the pickle, and empty containers.
  void literal(char op, Item& item) {
    switch (op) {
      case 'N':
        return;
      case '\x88':
      case '\x89':
        item.value = Value(op == '\x88');
        return;
      case 'K':
        item.value = Value(static_cast<int64_t>(number(1)));
        return;
      case 'M':
        item.value = Value(static_cast<int64_t>(number(2)));
        return;
      case 'J':
        item.value = Value(integer(4));
        return;
      case '\x8a':  // LONG1
        item.value = Value(integer(number(1)));
        return;
      case 'G':
        item.value = Value(std::bit_cast<double>(__builtin_bswap64(number(8))));
        return;
      case 'X':  // BINUNICODE
        item.value = Value(take(number(4)));
        return;
      case ']':
        item.value = new_list(any_type());
        item.depth = 1;
        return;
      case '}':
        item.value = new_dict(any_type(), any_type());
        item.depth = 1;
        return;
      default:
        refuse("%s: pickle, byte %zu: unknown opcode %d", name_.c_str(), at_, static_cast<uint8_t>(op));
    }
  }

  const std::string_view bytes_;
  const std::string& name_;
  PickleSource& source_;
  const uint64_t most_weight_;
  size_t at_ = 0;
  std::vector<Item> stack_, memo_;
  std::vector<int64_t> marks_;  // places in the stack
};

}  // namespace

Value read_archive_pickle(std::string_view bytes, const std::string& name, PickleSource& source) {
  return ArchivePickle(bytes, name, source).read();
}

}  // namespace sconce::lite
