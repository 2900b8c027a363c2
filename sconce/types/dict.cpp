#include "sconce/types/value.h"

namespace sconce {
namespace {

constexpr size_t kNowhere = ~size_t{0};
constexpr size_t kLinear = 8;  // up to here a scan over the entries is faster than an index

// Keys are equal by value, tensors among them by identity.
bool equal_keys(const Value& a, const Value& b) {
  if (a.is_same(b)) return true;
  if (a.is_tensor() || b.is_tensor()) return false;
  if (a.is_tuple() && b.is_tuple()) {
    const std::vector<Value>&x = a.to_tuple().items, &y = b.to_tuple().items;
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!equal_keys(x[i], y[i])) return false;
    }
    return true;
  }
  return a.equals(b);
}

}  // namespace

size_t Dict::locate(const Value& key, size_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].live && entries_[i].hash == hash && equal_keys(entries_[i].key, key)) return i;
    }
    return kNowhere;
  }
  const size_t mask = index_.size() - 1;
  for (size_t at = hash & mask; index_[at] != kEmpty; at = (at + 1) & mask) {
    const Entry& e = entries_[index_[at]];
    if (e.live && e.hash == hash && equal_keys(e.key, key)) return index_[at];
  }
  return kNowhere;
}

// Closes the holes and makes an index with room for twice the entries.
void Dict::rehash() {
  std::erase_if(entries_, [](const Entry& e) { return !e.live; });
  index_.clear();
  if (entries_.size() < kLinear) return;
  size_t slots = 16;
  while (slots < 4 * (entries_.size() + 1)) slots *= 2;
  index_.assign(slots, kEmpty);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = entries_[i].hash & (slots - 1);
    while (index_[at] != kEmpty) at = (at + 1) & (slots - 1);
    index_[at] = static_cast<uint32_t>(i);
  }
}

const Value* Dict::find(const Value& key) const {
  const size_t i = locate(key, key.hash());
  return i == kNowhere ? nullptr : &entries_[i].value;
}

void Dict::set(Value key, Value value) {
  const size_t hash = key.hash();
  if (const size_t i = locate(key, hash); i != kNowhere) {
    entries_[i].value = std::move(value);
    return;
  }
  if (index_.empty() ? entries_.size() >= kLinear : 2 * (entries_.size() + 1) > index_.size()) rehash();
  entries_.push_back({hash, std::move(key), std::move(value), true});
  ++live_;
  if (index_.empty()) return;
  const size_t mask = index_.size() - 1;
  size_t at = hash & mask;
  while (index_[at] != kEmpty) at = (at + 1) & mask;
  index_[at] = static_cast<uint32_t>(entries_.size() - 1);
}

bool Dict::erase(const Value& key) {
  const size_t i = locate(key, key.hash());
  if (i == kNowhere) return false;
  // The entry stays as a hole, so that probes that pass it still find what is behind; rehash closes it.
  entries_[i].live = false;
  entries_[i].key = Value();
  entries_[i].value = Value();
  --live_;
  return true;
}

void Dict::clear() {
  entries_.clear();
  index_.clear();
  live_ = 0;
}

Ref<Dict> Dict::copy() const {
  Ref<Dict> dict = make_ref<Dict>(key_, value_);
  dict->entries_ = entries_;
  dict->index_ = index_;
  dict->live_ = live_;
  return dict;
}

std::vector<std::pair<Value, Value>> Dict::items() const {
  std::vector<std::pair<Value, Value>> out;
  out.reserve(live_);
  for_each([&](const Value& key, const Value& value) { out.emplace_back(key, value); });
  return out;
}

}  // namespace sconce
