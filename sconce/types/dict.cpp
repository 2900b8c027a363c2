// Dict: entries in order of insertion, with an index of open addressing once there are many.
#include <cstring>
#include <memory>

#include "sconce/types/hash.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

constexpr size_t kNowhere = ~size_t{0};
constexpr size_t kLinear = 8;  // up to here a scan over the entries is faster than an index

// For values that are strings.
const std::string& text_of(const Value& v) { return static_cast<const StringBox*>(v.counted())->text; }

// The commonest keys without a call.
SCONCE_INLINE size_t hash_of(const Value& key) {
  if (key.is_int()) return mix_hash(key.bits());
  if (key.is_string()) return hash_text(text_of(key));
  return key.key_hash();
}

// The number of the entry, or kNowhere. Not a member: members of an exported class are not inlined into each other.
template <class Entries>
SCONCE_INLINE size_t locate_in(const Entries& entries, ItemsOf<uint32_t> index, uint32_t empty, const Value& key,
                               size_t hash) {
  const Tag tag = key.tag();
  const auto is_equal = [&](const auto& e) {
    if (e.hash != hash || !e.live) return false;
    if (tag == Tag::integer && e.key.tag() == Tag::integer) return e.key.bits() == key.bits();
    if (tag == Tag::string && e.key.tag() == Tag::string) {
      return e.key.bits() == key.bits() || text_of(e.key) == text_of(key);
    }
    return e.key.is_same_key(key);
  };
  if (index.empty()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (is_equal(entries[i])) return i;
    }
    return kNowhere;
  }
  const size_t mask = index.size() - 1;
  for (size_t at = hash & mask; index[at] != empty; at = (at + 1) & mask) {
    if (is_equal(entries[index[at]])) return index[at];
  }
  return kNowhere;
}

template <class Locate, class Entries>
__attribute__((noinline)) const Value* find_slowly(const Dict& dict, Locate locate, const Entries& entries,
                                                   const Value& key, size_t hash) {
  const size_t i = (dict.*locate)(key, hash);
  return i == kNowhere ? nullptr : &entries[i].value;
}

}  // namespace

Dict::~Dict() { clear(); }

size_t Dict::locate(const Value& key, size_t hash) const { return locate_in(entries(), index(), kEmpty, key, hash); }

void Dict::add_to_index(size_t entry) {
  const ItemsOf<uint32_t> index = this->index();
  const size_t mask = index.size() - 1;
  size_t at = entries()[entry].hash & mask;
  while (index[at] != kEmpty) at = (at + 1) & mask;
  index[at] = static_cast<uint32_t>(entry);
}

// Closes the holes and makes an index with room for twice the entries.
void Dict::rehash() {
  size_t kept = 0;
  for (Entry& e : entries()) {
    if (e.live) std::memmove(static_cast<void*>(&entries()[kept++]), &e, sizeof e);
  }
  entries_.size = kept;
  index_.size = 0;
  if (kept < kLinear) return;
  size_t slots = 16;
  while (slots < 4 * (kept + 1)) slots *= 2;
  index_.reserve(slots, sizeof(uint32_t));
  index_.size = slots;
  std::memset(index_.data, 0xff, slots * sizeof(uint32_t));  // kEmpty
  for (size_t i = 0; i < kept; ++i) add_to_index(i);
}

const Value* Dict::find(const Value& key) const {
  // Integers, and strings that are the same object, without a call; anything else that has the hash is
  // looked at closely.
  const bool is_simple = key.is_int() || key.is_string();
  const size_t hash = hash_of(key);
  if (is_simple) {
    const auto look = [&](const Entry& e) {  // 1: it is, 0: it is not, -1: ask locate
      if (e.hash != hash) return 0;
      return e.live && e.key.tag() == key.tag() && e.key.bits() == key.bits() ? 1 : -1;
    };
    const ItemsOf<uint32_t> index = this->index();
    if (index.empty()) {
      for (const Entry& e : entries()) {
        if (const int found = look(e))
          return found > 0 ? &e.value : find_slowly(*this, &Dict::locate, entries(), key, hash);
      }
      return nullptr;
    }
    const size_t mask = index.size() - 1;
    for (size_t at = hash & mask; index[at] != kEmpty; at = (at + 1) & mask) {
      const Entry& e = entries()[index[at]];
      if (const int found = look(e))
        return found > 0 ? &e.value : find_slowly(*this, &Dict::locate, entries(), key, hash);
    }
    return nullptr;
  }
  return find_slowly(*this, &Dict::locate, entries(), key, hash);
}

void Dict::set(Value key, Value value) {
  const size_t hash = hash_of(key);
  if (const size_t i = locate(key, hash); i != kNowhere) {
    entries()[i].value = std::move(value);
    return;
  }
  if (index_.size == 0 ? entries_.size >= kLinear : 2 * (entries_.size + 1) > index_.size) rehash();
  entries().push_back({hash, std::move(key), std::move(value), true});
  ++live_;
  if (index_.size != 0) add_to_index(entries_.size - 1);
}

bool Dict::erase(const Value& key) {
  const size_t i = locate(key, hash_of(key));
  if (i == kNowhere) return false;
  // The entry stays as a hole, so that probes that pass it still find the entries behind; rehash closes it.
  Entry& e = entries()[i];
  e.live = false;
  e.key = Value();
  e.value = Value();
  --live_;
  return true;
}

void Dict::clear() {
  std::destroy_n(entries().begin(), entries_.size);
  entries_.size = index_.size = live_ = 0;
}

Ref<Dict> Dict::copy() const {
  Ref<Dict> dict = make_ref<Dict>(key_, value_);
  dict->entries_.reserve(entries_.size, sizeof(Entry));
  dict->index_.reserve(index_.size, sizeof(uint32_t));
  for (const Entry& e : entries()) dict->entries().push_back(e);
  if (index_.size != 0) std::memcpy(dict->index_.data, index_.data, index_.size * sizeof(uint32_t));
  dict->index_.size = index_.size;
  dict->live_ = live_;
  return dict;
}

std::vector<std::pair<Value, Value>> Dict::items() const {
  std::vector<std::pair<Value, Value>> out(live_);
  size_t at = 0;
  for_each([&](const Value& key, const Value& value) { out[at++] = {key, value}; });
  return out;
}

}  // namespace sconce
