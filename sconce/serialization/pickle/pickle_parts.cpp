#include "sconce/serialization/pickle/pickle_parts.h"

#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/types/class_info.h"

namespace sconce {

void PickleParts::refuse(std::string_view reason) const {
  std::string place;
  for (const std::string& part : places_) place += (place.empty() || part.starts_with('[') ? "" : ".") + part;
  if (place.empty()) fail("{}: {}", name_, reason);
  fail("{}: {}: {}", name_, place, reason);
}

const std::optional<Value>& PickleParts::state_of(const Value& object) {
  const auto [found, added] = states_.try_emplace(object.counted());
  if (added && state_of_) found->second = state_of_(object);
  return found->second;
}

void PickleParts::at(std::string place, const Value& part, const std::function<void(const Value& part)>& f) {
  places_.push_back(std::move(place));
  f(part);
  places_.pop_back();
}

void PickleParts::for_each(const Value& v, const std::function<void(const Value& part)>& f) {
  const auto index = [](size_t i) { return "[" + std::to_string(i) + "]"; };
  switch (v.tag()) {
    case Tag::list: {
      const List& list = v.to_list();
      if (list.is_ints() || list.is_doubles() || list.is_bools()) return;
      for (size_t i = 0; i < list.size(); ++i) at(index(i), list.get(i), f);
      return;
    }
    case Tag::tuple:
      for (size_t i = 0; i < v.to_tuple().items.size(); ++i) at(index(i), v.to_tuple().items[i], f);
      return;
    case Tag::dict:
      v.to_dict().for_each([&](const Value& key, const Value& value) {
        const std::string place = "[" + (key.is_tensor() ? "Tensor" : key.repr()) + "]";
        at(place, key, f);
        at(place, value, f);
      });
      return;
    case Tag::enum_:
      return at("value", v.to_enum().value, f);
    case Tag::object: {
      if (const std::optional<Value>& state = state_of(v)) return at("__getstate__()", *state, f);
      const auto& attributes = v.to_object().type()->class_layout()->attributes;
      for (size_t i = 0; i < attributes.size(); ++i) at(attributes[i].name, v.to_object().slot(i), f);
      return;
    }
    default:
      return;
  }
}

namespace {

bool has_identity(const Value& v) { return v.tag() >= Tag::tensor && !v.is_string() && !v.is_complex(); }

// How much deeper a reader's stack of containers is for a value that contains others (kMaxPickleDepth): lists, dicts
// and objects are containers in a tuple, or with a dict of their own.
int depth_of(const Value& v) { return v.is_tuple() ? 1 : 2; }

class Sharing {
 public:
  explicit Sharing(PickleParts& parts) : parts_(parts) {}

  void visit(const Value& v) {
    if (!has_identity(v)) return;
    const void* id = pickle_identity(v);
    if (open_.contains(id)) parts_.refuse("an object that contains itself cannot be saved");
    if (!seen_.insert(id).second) {
      shared.insert(id);
      return;
    }
    depth_ += depth_of(v);
    if (depth_ > kMaxPickleDepth) {
      parts_.refuse("containers are nested more than " + std::to_string(kMaxPickleDepth) + " deep");
    }
    open_.insert(id);
    parts_.for_each(v, [this](const Value& part) { visit(part); });
    open_.erase(id);
    depth_ -= depth_of(v);
  }
  std::unordered_set<const void*> shared;

 private:
  PickleParts& parts_;
  std::unordered_set<const void*> seen_, open_;
  int depth_ = 0;
};

}  // namespace

const void* pickle_identity(const Value& v) {
  return v.is_tensor() ? static_cast<const void*>(v.to_tensor().impl()) : static_cast<const void*>(v.counted());
}

std::unordered_set<const void*> shared_parts(const Value& v, PickleParts& parts) {
  Sharing sharing(parts);
  sharing.visit(v);
  return std::move(sharing.shared);
}

}  // namespace sconce
