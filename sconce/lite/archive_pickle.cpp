#include "sconce/lite/archive_pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sconce/base/raw_items.h"
#include "sconce/lite/read_error.h"
#include "sconce/runtime/value_types.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/pickle_tensors.h"
#include "sconce/types/containers.h"

namespace sconce::lite {
namespace {

// What an item is: a value, a mark, a class whose object waits for its state, or, the others, what a pickle may call.
enum class Kind : uint8_t {
  value,
  mark,
  object,
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
  storage,  // has no name: a persistent id
};
struct Constructor {
  char name[23];
  uint8_t arguments;  // 0: it says itself what it takes
};
constexpr Constructor kConstructors[] = {{"_rebuild_tensor_v2", 0},
                                         {"_rebuild_qtensor", 0},
                                         {"_rebuild_sparse_tensor", 0},
                                         {"build_intlist", 1},
                                         {"build_doublelist", 1},
                                         {"build_boollist", 1},
                                         {"build_tensorlist", 1},
                                         {"restore_type_tag", 2},
                                         {"OrderedDict", 0},
                                         {"complex", 2},
                                         {"device", 1},
                                         {"storage", 5}};
constexpr auto kFirst = static_cast<size_t>(Kind::tensor);  // of the constructors

struct Item {
  Value value;
  TypePtr type;     // of an object
  uint64_t weight;  // values inside, the shared ones as often as they are used
  uint16_t depth;   // containers inside of each other
  Kind kind;
};

class ArchivePickle {
 public:
  // Names in `bytes` change: line ends become what stands between and behind parts of a name.
  ArchivePickle(std::span<char> bytes, const char* record, ArchiveContext& context)
      : at_(bytes.data()),
        end_(at_ + bytes.size()),
        begin_(at_),
        most_weight_(kMaxPickleSharing * bytes.size() + kMinPickleSharing),
        record_(record),
        context_(context) {}
  ~ArchivePickle() {
    while (stack_.size > 0) drop();
    for (Item& item : ItemsOf<Item>(&memo_)) item.value.~Value();
  }

  Value read() {
    if (number(1) != 0x80 || number(1) > 5) wrong("it does not begin as pickles of protocol 2 do");
    for (uint64_t op = number(1); op != '.'; op = number(1)) step(static_cast<uint8_t>(op));
    if (at_ != end_ || stack_.size != 1) wrong("it does not end with one value");
    Item& whole = *last(1);
    need_value(whole);
    return std::move(whole.value);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void wrong(const char* what, const char* detail, const char* more = "") const {
    refuse("%s: %s: pickle, byte %zu: %s%s%s", context_.records.name().c_str(), record_, at(), what, detail, more);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void wrong(const char* what) const { wrong(what, ""); }

  // ---- bytes ----
  size_t at() const { return static_cast<size_t>(at_ - begin_); }
  char* take(uint64_t n) {
    if (static_cast<uint64_t>(end_ - at_) < n) wrong("unexpected end");
    at_ += n;
    return at_ - n;
  }
  uint64_t number(size_t n) {
    const char* const bytes = take(n);
    uint64_t v = 0;
    while (n > 0) v = v << 8 | static_cast<uint8_t>(bytes[--n]);
    return v;
  }
  // To the end of a line, in place of which there is `end` now.
  std::string_view line(char end) {
    char* const from = at_;
    while (*take(1) != '\n') {
    }
    at_[-1] = end;
    return {from, static_cast<size_t>(at_ - 1 - from)};
  }
  // Two's complement.
  int64_t integer(size_t n) {
    if (n > 8) wrong("an integer has more than 8 bytes");
    if (n == 0) return 0;
    const auto unused = static_cast<int>(8 * (8 - n));
    return static_cast<int64_t>(number(n) << unused) >> unused;
  }

  // ---- the stack ----
  // Places for items, which nothing has made yet.
  Item* more(RawItems& items) {
    if (stack_.size + memo_.size >= kMaxPickleItems) wrong("there are too many items");
    if (items.size == items.capacity) items.grow(sizeof(Item));
    return static_cast<Item*>(items.at(items.size++, sizeof(Item)));
  }
  Item& push() { return *new (more(stack_)) Item{{}, nullptr, 1, 0, Kind::value}; }
  // The last `count` items.
  Item* last(size_t count) {
    if (stack_.size < count) wrong("the stack is empty");
    return static_cast<Item*>(stack_.at(stack_.size - count, sizeof(Item)));
  }
  void drop() { static_cast<Item*>(stack_.at(--stack_.size, sizeof(Item)))->value.~Value(); }
  // The last item in place of the `count` below it, which hold nothing any more.
  void close(size_t count) { stack_.close(stack_.size - 1 - count, stack_.size - 1, sizeof(Item)); }
  // How many items there are above the last mark, which goes.
  size_t since_mark() {
    const ItemsOf<Item> items(&stack_);
    size_t at = stack_.size;
    do {
      if (at == 0) wrong("there is no mark");
    } while (items[--at].kind != Kind::mark);
    stack_.close(at, at + 1, sizeof(Item));
    return stack_.size - at;
  }
  void need_value(const Item& item) const {
    if (item.kind == Kind::mark) wrong("the stack is empty");
    if (item.kind == Kind::object) wrong("an object has no state, of class ", item.type->name().c_str());
    if (item.kind != Kind::value) wrong("a constructor is not a value");
  }
  // What becomes a part of `whole`.
  Value& part(Item& whole, Item& part) const {
    whole.depth = std::max<uint16_t>(whole.depth, part.depth + 1);
    if (whole.depth > kMaxPickleDepth) wrong("containers are nested more than 1000 deep");
    whole.weight += part.weight;  // both are at most
    if (whole.weight > most_weight_) wrong("values are shared too often");
    need_value(part);
    return part.value;
  }

  // ---- containers ----
  void make_tuple(size_t count) {
    last(count);
    Item& whole = push();
    whole.depth = 1;
    whole.value = new_tuple(count);
    Item* part_at = &whole - count;
    for (Value& item : whole.value.to_tuple().items) item = std::move(part(whole, *part_at++));
    close(count);
  }
  // The container below the last `count` items, which nothing else refers to, gets them.
  void fill(Tag tag, size_t count) {
    Item* part_at = last(count + 1);
    Item& whole = *part_at++;
    if (whole.value.tag() != tag || !whole.value.counted()->count.unique())
      wrong("items are given to something that is not a new ", tag_name(tag).data());
    for (Item* const end = part_at + count; part_at != end; ++part_at) {
      if (tag == Tag::list) {
        whole.value.to_list().append(std::move(part(whole, *part_at)));
        continue;
      }
      if (part_at + 1 == end) wrong("a key has no value");
      check_key(part_at->value, part_at->weight);
      Value& key = part(whole, *part_at);
      Value& item = part(whole, *++part_at);
      whole.value.to_dict().set(std::move(key), std::move(item));
    }
    stack_.size -= count;
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
    if (id != memo_.size) wrong("memos are not counted");
    const Item& item = *last(1);
    new (more(memo_)) Item(item);
  }
  void recall(uint64_t id) {
    if (id >= memo_.size) wrong("a memo is empty");
    const Item& item = ItemsOf<Item>(&memo_)[id];
    new (more(stack_)) Item(item);
  }

  // ---- constructors ----
  void global() {
    const std::string_view module = line('.'), name = line('\0');
    const char* const whole = module.data();
    Item& item = push();
    if (module.starts_with("__torch__")) {
      item.kind = Kind::object;
      item.type = context_.types.find_class(whole);
      return;
    }
    for (size_t i = 0; i < std::size(kConstructors) - 1; ++i) {
      if (name == kConstructors[i].name) item.kind = static_cast<Kind>(kFirst + i);
    }
    if (item.kind != Kind::value) return;
    // Classes of storages, schemes of quantisation: those that are not known are refused where they are used.
    if (!module.starts_with("torch") || !(name.ends_with("Storage") || name.starts_with("per_")))
      wrong("not on the list of what a file may name: ", whole);
    item.value = name;
  }
  // What the constructor makes of the last item, in its place.
  void call(Kind kind) {
    Item& item = *last(1);
    if (kind < Kind::tensor || !item.value.is_tuple()) wrong("only known constructors can be called, with a tuple");
    const Constructor& constructor = kConstructors[static_cast<size_t>(kind) - kFirst];
    try {
      const std::vector<Value>& args = item.value.to_tuple().items;
      if (constructor.arguments != 0 && args.size() != constructor.arguments)
        refuse("takes %d arguments, got %zu", constructor.arguments, args.size());
      item.value = make(kind, args);
    } catch (const Error& error) {
      wrong(constructor.name, ": ", error.what());
    }
    if (item.value.is_tensor()) item.depth = 0, item.weight = 1;  // has no parts
  }
  Value make(Kind kind, const std::vector<Value>& args) {
    switch (kind) {
      case Kind::tensor:
        return rebuild_tensor(args);
      case Kind::quantized:
        return rebuild_quantized(args);
      case Kind::sparse:
        return rebuild_sparse(args);
      case Kind::ints:
      case Kind::reals:
      case Kind::bools:
      case Kind::tensors: {
        constexpr TypeKind kItems[] = {TypeKind::int_, TypeKind::float_, TypeKind::bool_, TypeKind::tensor};
        return as(args[0], list_type(simple_type(kItems[static_cast<size_t>(kind) - static_cast<size_t>(Kind::ints)])));
      }
      case Kind::typed:
        return as(args[0], context_.types.parse(args[1].to_string_ref()));
      case Kind::complex:
        return std::complex<double>(args[0].to_double(), args[1].to_double());
      case Kind::device:
        return parse_device(args[0].to_string_ref());
      case Kind::storage: {  // ("storage", class, key, location, count)
        const std::string& class_name = args[1].to_string_ref();
        const std::optional<DType> dtype = storage_dtype(class_name);
        if (!dtype) refuse("not supported: storages of class %s", class_name.c_str());
        return context_.storage(args[2].to_string_ref(), *dtype, args[4].to_int());
      }
      default:  // hooks, of which there are none
        return literal('}');
    }
  }
  static Value as(const Value& v, TypePtr type) {
    Value made = v;
    if (!runtime::convert_argument(made, type)) refuse("a value is not of type %s", type->annotation().c_str());
    return made;
  }
  void reduce() {
    call(last(2)->kind);
    close(1);
  }
  void new_object() {
    const Item* items = last(2);
    if (items[0].kind != Kind::object || !items[1].value.is_tuple() || !items[1].value.to_tuple().items.empty())
      wrong("a new object needs a class and no arguments");
    drop();
  }
  void build() {
    Item* const items = last(2);
    if (items[0].kind != Kind::object) wrong("a state is given to something that is no object");
    items[0].kind = Kind::value;
    items[0].value = context_.build(items[0].type, std::move(part(items[0], items[1])));
    drop();
  }

  // Not inlined: in `read`, in whose frame this object is, members are far.
  [[gnu::noinline]] void step(uint8_t op) {
    switch (op) {
      case '(':
        push().kind = Kind::mark;
        return;
      case ')':
        return make_tuple(0);
      case 0x85:
      case 0x86:
      case 0x87:
        return make_tuple(op - 0x84u);
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
      case 0x81:
        return new_object();
      case 'R':
        return reduce();
      case 'b':
        return build();
      case 'Q':
        return call(Kind::storage);
      default:
        return push_literal(op);
    }
  }
  // Values that stand in the pickle, and empty containers.
  void push_literal(uint8_t op) {
    Item& item = push();
    item.value = literal(op);
    item.depth = item.value.is_list() || item.value.is_dict();
  }
  Value literal(uint8_t op) {
    switch (op) {
      case 'N':
        return {};
      case 0x88:
      case 0x89:
        return op == 0x88;
      case 'K':
      case 'M':
      case 'J': {
        const uint64_t v = number(op == 'K' ? 1 : op == 'M' ? 2 : 4);
        return op == 'J' ? static_cast<int32_t>(v) : static_cast<int64_t>(v);
      }
      case 0x8a:  // LONG1
        return integer(number(1));
      case 'G':
        return std::bit_cast<double>(__builtin_bswap64(number(8)));
      case 'X': {  // BINUNICODE
        const uint64_t size = number(4);
        return std::string_view(take(size), size);
      }
      case ']':
        return new_list(any_type());
      case '}':
        return new_dict(any_type(), any_type());
      default:
        refuse("%s: %s: pickle, byte %zu: unknown opcode %d", context_.records.name().c_str(), record_, at(), op);
    }
  }

  char *at_, *const end_, *const begin_;
  RawItems stack_, memo_;  // of Items
  const uint64_t most_weight_;
  const char* const record_;
  ArchiveContext& context_;
};

}  // namespace

Value read_archive_pickle(const char* record, ArchiveContext& context) {
  std::string bytes = context.records.read(record);
  return ArchivePickle(bytes, record, context).read();
}

}  // namespace sconce::lite
