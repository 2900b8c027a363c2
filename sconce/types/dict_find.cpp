// Dict: how keys are found, the commonest of them without a call. Lite libraries have sconce/lite/lite_dict_find.cpp.
#include "sconce/types/hash.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

// For values that are strings.
const std::string& text_of(const Value& v) { return static_cast<const StringBox*>(v.counted())->text; }

// The commonest keys without a call.
SCONCE_INLINE size_t hash_of(const Value& key) {
  if (key.is_int()) return mix_hash(key.bits());
  if (key.is_string()) return hash_text(text_of(key));
  return key.key_hash();
}

// The number of the entry, or Dict::kNowhere. Not a member: members of an exported class are not inlined into each
// other.
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
    return Dict::kNowhere;
  }
  const size_t mask = index.size() - 1;
  for (size_t at = hash & mask; index[at] != empty; at = (at + 1) & mask) {
    if (is_equal(entries[index[at]])) return index[at];
  }
  return Dict::kNowhere;
}

template <class Locate, class Entries>
__attribute__((noinline)) const Value* find_slowly(const Dict& dict, Locate locate, const Entries& entries,
                                                   const Value& key, size_t hash) {
  const size_t i = (dict.*locate)(key, hash);
  return i == Dict::kNowhere ? nullptr : &entries[i].value;
}

}  // namespace

size_t Dict::locate(const Value& key, size_t hash) const { return locate_in(entries(), index(), kEmpty, key, hash); }

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

}  // namespace sconce
