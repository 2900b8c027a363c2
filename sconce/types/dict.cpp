// Dict: entries in order of insertion, with an index of open addressing once there are many.
#include <cstring>
#include <memory>

#include "sconce/types/value.h"

namespace sconce {

constexpr size_t kLinear = 8;  // up to here a scan over the entries is faster than an index

Dict::~Dict() { clear(); }

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

void Dict::set(Value key, Value value) {
  const size_t hash = key.key_hash();
  if (const size_t i = locate(key, hash); i != kNowhere) {
    entries()[i].value = std::move(value);
    return;
  }
  if (index_.size == 0 ? entries_.size >= kLinear : 2 * (entries_.size + 1) > index_.size) rehash();
  if (entries_.size == entries_.capacity) entries_.grow(sizeof(Entry));
  new (entries().end()) Entry{hash, std::move(key), std::move(value), true};
  ++entries_.size;
  ++live_;
  if (index_.size != 0) add_to_index(entries_.size - 1);
}

bool Dict::erase(const Value& key) {
  const size_t i = locate(key, key.key_hash());
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
