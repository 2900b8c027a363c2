// Pickle machine: the stack machine that a pickle's opcodes drive, with marks and a memo. Builds Values
// and calls nothing.
//
// Values are trees, with parts that are shared: a list or dict that is inside of another container cannot be changed
// any more, so there are no cycles, and how deep and how large a value is is known when it is made.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sconce/serialization/pickle/pickle_globals.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/pickle_tensors.h"

namespace sconce {

class PickleMachine {
 public:
  // `size` is that of the pickle, in bytes; `at` is where it is being read, for messages.
  PickleMachine(const std::string& name, size_t size, const size_t& at, PickleContext& context);

  void push(Value v) { push_item({std::move(v), 0, 1, false}); }
  void push_list();
  void push_dict();
  void mark() { marks_.push_back(stack_.size()); }
  void pop() { pop_item(); }
  void drop_to_mark() { items_since_mark(); }
  void duplicate();
  void put(uint32_t id);
  void memoize() { put(static_cast<uint32_t>(memo_.size())); }
  void get(uint32_t id);

  void tuple(size_t items);
  void tuple_since_mark();
  void list_since_mark();
  void dict_since_mark();
  void append_one();
  void append_since_mark();
  void set_one();
  void set_since_mark();
  void global(std::string_view module, std::string_view name);
  void stack_global();
  void reduce();
  void new_object();
  void new_object_with_keywords();
  void build();
  void persistent();
  // The one item that is left.
  Value result();

  [[noreturn]] void wrong(const std::string& reason) const;

 private:
  // An item of the stack: a value, a constructor, or a class whose object waits for its state.
  struct Item {
    std::variant<Value, const PickleConstructor*, TypePtr> what;
    int depth = 0;              // containers inside of each other
    uint64_t weight = 1;        // values inside, the shared ones as often as they are used
    bool names_global = false;  // a tuple with a constructor in it, which only another constructor may take
  };
  // A list, dict or opaque object that the memo knows, or that stands on the stack twice.
  struct Shared {
    Value keep;  // so that no other is made at its address
    int depth;
    uint64_t weight;
    bool closed;        // inside of another container
    Value became = {};  // the array that an object of NumPy became by its state
  };

  void push_item(Item item);
  Item pop_item();
  Item& top();
  std::vector<Item> items_since_mark();
  Value value_of(Item& item, bool in_tuple = false);
  void push_opaque(std::string_view class_name, Item& arguments);
  bool build_opaque(Item& object, Item& state);
  Value key_of(Value key);
  void make_tuple(std::vector<Item> items);
  void append(std::vector<Item> items);
  void set_items(std::vector<Item> items);
  Item& open_container(Tag tag);
  void add_part(Item& whole, const Item& part);
  void share(const Item& item);
  void close(const Item& item);
  void update(const Item& item);
  void check_limits(const Item& item) const;
  void check_key(const Value& key) const;

  const std::string& name_;
  const size_t& at_;
  PickleContext& context_;
  uint64_t most_weight_;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Item> memo_;
  std::unordered_map<const Counted*, Shared> shared_;
};

}  // namespace sconce
