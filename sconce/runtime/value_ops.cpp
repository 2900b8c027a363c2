#include "sconce/runtime/value_ops.h"

#include <cstdio>

#include "sconce/base/text/program_output.h"
#include "sconce/runtime/bytecode/slots.h"
#include "sconce/types/class_info.h"
#include "sconce/types/script_text.h"

namespace sconce::runtime {
namespace {

size_t checked_index(int64_t i, size_t size) {
  const auto n = static_cast<int64_t>(size);
  if (i < 0) i += n;
  if (i < 0 || i >= n) fail_list_index();
  return static_cast<size_t>(i);
}

// Slot `i` of the object in a register.
Value& checked_slot(Slot& s, int64_t i) {
  Object& object = object_in(s);
  const size_t n = object.type()->class_info()->attributes.size();
  SCONCE_CHECK_AS(index, i >= 0 && static_cast<uint64_t>(i) < n,
                  "an object of class '{}' has {} attributes, none at {}", object.type()->name(), n, i);
  return object.slots()[i];
}

[[noreturn]] SCONCE_COLD void fail_key(const Value& key) { fail_as(ErrorKind::key, "{}", script_text(key)); }

}  // namespace

void wrong_tag(Tag got, Tag wanted) {
  fail_as(ErrorKind::type, "expected {}, got {}", tag_name(wanted), tag_name(got));
}
void fail_list_index() { fail_as(ErrorKind::index, "list index out of range"); }
void fail_storage(const List& list, std::string_view wanted) {
  fail_as(ErrorKind::type, "expected a list of {}, got {}[]", wanted, list.element_type()->to_string());
}

void make_tuple(Slot* base, const Instruction& i) {
  const BuildSite& site = *i.build;
  charge_items(4 + site.registers.size());
  std::vector<Value> items;
  items.reserve(site.registers.size());
  for (const Operand o : site.registers) items.push_back(take_value(base, o));
  auto tuple = make_ref<Tuple>(std::move(items), site.type->fields().empty() ? nullptr : site.type);
  put_value(slot_at(base, i.a), Value(std::move(tuple)), 0);
}

void make_list(Slot* base, const Instruction& i) {
  const BuildSite& site = *i.build;
  charge_items(4 + site.registers.size());
  auto list = make_ref<List>(site.type->element());
  if (!site.registers.empty()) list->reserve(site.registers.size());
  if (const ItemsOf<int64_t> ints = list->int_items()) {
    for (const Operand o : site.registers) ints.push_back(value_of(slot_at(base, o & ~kMoves)).to_int());
  } else {
    for (const Operand o : site.registers) list->append(take_value(base, o));
  }
  put_value(slot_at(base, i.a), Value(std::move(list)), 0);
}

void make_dict(Slot* base, const Instruction& i) {
  const BuildSite& site = *i.build;
  charge_items(8 + 2 * site.registers.size());
  auto dict = make_ref<Dict>(site.type->contained()[0], site.type->contained()[1]);
  for (size_t k = 0; k + 1 < site.registers.size(); k += 2) {
    Value key = take_value(base, site.registers[k]);
    dict->set(std::move(key), take_value(base, site.registers[k + 1]));
  }
  put_value(slot_at(base, i.a), Value(std::move(dict)), 0);
}

void unpack_tuple(Slot* base, const Instruction& i) {
  const BuildSite& site = *i.build;
  Slot& from = slot_at(base, i.a & ~kMoves);
  Tuple& tuple = value_of(from).to_tuple();
  const size_t n = site.registers.size();
  SCONCE_CHECK(tuple.items.size() == n, "Expected {} elements in a tuple but found {}", n, tuple.items.size());
  // Checked before anything is written: an error must find the registers as they were.
  for (size_t k = 0; k < n; ++k) {
    if (site.tags[k] && tuple.items[k].tag() != static_cast<Tag>(site.tags[k])) {
      wrong_result(tuple.items[k].tag(), static_cast<Tag>(site.tags[k]));
    }
  }
  Slot held{};
  const bool moves = i.a & kMoves;
  if (moves) move_slot(held, from);  // a result may go to the same register
  const bool sole = moves && tuple.count.unique();
  for (size_t k = 0; k < n; ++k) {
    Slot& to = slot_at(base, site.registers[k]);
    if (sole)
      put_value(to, std::move(tuple.items[k]), site.tags[k]);
    else
      put_value(to, Value(tuple.items[k]), site.tags[k]);
  }
  if (moves) release_slot(held);
}

void unpack_list(Slot* base, const Instruction& i) {
  const BuildSite& site = *i.build;
  Slot& from = slot_at(base, i.a & ~kMoves);
  const List& list = value_of(from).to_list();
  const size_t n = site.registers.size();
  SCONCE_CHECK(list.size() == n, "Expected {} elements in a list but found {}", n, list.size());
  std::vector<Value> items = list.values();
  for (size_t k = 0; k < n; ++k) {
    if (site.tags[k] && items[k].tag() != static_cast<Tag>(site.tags[k])) {
      wrong_result(items[k].tag(), static_cast<Tag>(site.tags[k]));
    }
  }
  if (i.a & kMoves) release_slot(from);
  for (size_t k = 0; k < n; ++k) put_value(slot_at(base, site.registers[k]), std::move(items[k]), site.tags[k]);
}

void tuple_get(Slot* base, const Instruction& i) {
  const Tuple& tuple = value_of(slot_at(base, i.b)).to_tuple();
  const auto n = static_cast<int64_t>(tuple.items.size());
  const int64_t at = i.integer < 0 ? i.integer + n : i.integer;
  SCONCE_CHECK_AS(index, at >= 0 && at < n, "tuple index {} is out of range for a tuple of {}", i.integer, n);
  put_value(slot_at(base, i.a), Value(tuple.items[static_cast<size_t>(at)]), static_cast<uint8_t>(i.c));
}

void str_concat(Slot* base, const Instruction& i) {
  Slot& left = slot_at(base, i.b & ~kMoves);
  const std::string& right = value_of(slot_at(base, i.c)).to_string_ref();
  const std::string& text = value_of(left).to_string_ref();
  Budget::charge_memory(text.size() + right.size());
  auto* box = static_cast<StringBox*>(value_of(left).counted());
  if ((i.b & kMoves) && box->count.unique()) {
    box->text += right;
    Slot kept;
    move_slot(kept, left);
    copy_words(slot_at(base, i.a), kept);
    return;
  }
  auto out = make_ref<StringBox>(std::string_view());
  out->text.reserve(text.size() + right.size());
  (out->text += text) += right;
  if (i.b & kMoves) release_slot(left);
  Slot& to = slot_at(base, i.a);
  to.bits = reinterpret_cast<uint64_t>(static_cast<Counted*>(out.leak()));
  to.tag = tag_word(Tag::string);
}

void dict_get(Slot* base, const Instruction& i, bool word) {
  const Value& key = value_of(slot_at(base, i.c));
  const Value* found = dict_in(slot_at(base, i.b)).find(key);
  if (!found) fail_key(key);
  Slot& to = slot_at(base, i.a);
  if (word) {
    SCONCE_CHECK_AS(type, found->tag() < Tag::tensor && !found->is_none(), "expected a number in the dict, got {}",
                    tag_name(found->tag()));
    to.bits = found->bits();
  } else {
    copy_counted(to, reinterpret_cast<const Slot&>(*found));
  }
}

void dict_set(Slot* base, const Instruction& i) {
  Dict& dict = dict_in(slot_at(base, i.a));
  Slot& key = slot_at(base, i.b & ~kMoves);
  if (const Value* found = dict.find(value_of(key))) {
    // The entry is ours to change: only its key is fixed.
    Slot& entry = reinterpret_cast<Slot&>(const_cast<Value&>(*found));
    Slot& from = slot_at(base, i.c & ~kMoves);
    if (from.tag < kFirstCounted && entry.tag < kFirstCounted) {
      copy_words(entry, from);
    } else {
      Value v = take_value(base, i.c);
      value_of(entry) = std::move(v);  // swaps: the old value goes with v
    }
    if (i.b & kMoves) release_slot(key);
    return;
  }
  charge_items(4);
  Value owned = take_value(base, i.b);
  dict.set(std::move(owned), take_value(base, i.c));
}

void list_set_value(Slot* base, const Instruction& i) {
  List& list = value_of(slot_at(base, i.a)).to_list();
  const size_t at = checked_index(value_of(slot_at(base, i.b)).to_int(), list.size());
  list.set(at, take_value(base, i.c));
}

void list_append_value(Slot* base, const Instruction& i) {
  value_of(slot_at(base, i.a)).to_list().append(take_value(base, i.b));
}

void get_slot(Slot* base, const Instruction& i) {
  Slot& from = slot_at(base, i.b & ~kMoves);
  Value v = checked_slot(from, i.integer);
  if (i.b & kMoves) release_slot(from);
  put_value(slot_at(base, i.a), std::move(v), 0);
}

void set_slot(Slot* base, const Instruction& i) {
  checked_slot(slot_at(base, i.a), i.integer) = take_value(base, i.b);  // swaps: the old value goes with the temporary
}

void tolist_of(Slot* base, const Instruction& i) {
  Slot& at = slot_at(base, i.a);
  const TypePtr type = tolist_type(value_of(slot_at(base, i.b)).to_int(), value_of(slot_at(base, i.c)).to_int());
  Value list = tensor_to_list(value_of(at).to_tensor(), type);
  release_slot(at);
  put_value(at, std::move(list), 0);
}

void warn(const Value& message, BuildSite& site, const Site* place) {
  if (program_output().warn) return program_output().warn(message.to_string_ref());  // the host has filters of its own
  if (site.warned.exchange(true)) return;
  std::string text = place && place->range ? place->range.to_string() + ": " : std::string();
  text += "UserWarning: " + message.to_string_ref() + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace sconce::runtime
