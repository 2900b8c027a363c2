#include "sconce/executor/guards.h"

#include <algorithm>
#include <bit>

#include "sconce/types/class_info.h"

namespace sconce::executor {

bool Guards::add(Object& object, size_t slot) {
  const auto number = static_cast<uint32_t>(slot);
  if (std::any_of(guards_.begin(), guards_.end(),
                  [&](const Guard& g) { return g.object == &object && g.slot == number; }))
    return true;
  const Value& v = object.slot(slot);
  int32_t container = -1;
  switch (v.tag()) {
    case Tag::list:
    case Tag::dict:
    case Tag::tuple: {
      Words words;
      if (!append_identity(v, words)) return false;
      container = static_cast<int32_t>(containers_.size());
      containers_.emplace_back(words.begin(), words.end());
      break;
    }
    case Tag::tensor:
    case Tag::string:
    case Tag::complex:
      kept_.push_back(v);
      break;
    case Tag::none:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::device:
    case Tag::object:
      break;
    default:
      return false;
  }
  guards_.push_back({&object, v.bits(), number, v.tag(), container});
  return true;
}

bool Guards::contains_the_same(const Value& now, const Guard& guard) const {
  const std::vector<uint64_t>& words = containers_[static_cast<size_t>(guard.container)];
  Words found;
  return append_identity(now, found) && std::equal(found.begin(), found.end(), words.begin(), words.end());
}

namespace {

// What a value was, of which only the word is kept.
std::string word_text(Tag tag, uint64_t bits) {
  switch (tag) {
    case Tag::none:
      return "None";
    case Tag::boolean:
      return bits ? "True" : "False";
    case Tag::integer:
      return std::to_string(static_cast<int64_t>(bits));
    case Tag::real:
      return Value(std::bit_cast<double>(bits)).repr();
    case Tag::tensor:
      return "a tensor";
    case Tag::string:
      return "a text";
    case Tag::object:
      return "an object";
    default:
      return "a value";
  }
}

std::string now_text(const Value& now, Tag before) {
  const bool word = now.is_none() || now.is_bool() || now.is_int() || now.is_double();
  if (word) return now.repr();
  return (now.tag() == before ? "another" : "something else");
}

}  // namespace

std::string Guards::name_of(const Guard& guard) {
  const TypePtr type = guard.object->type();
  const ClassInfo* info = type->class_info();
  const std::string& name = type->name();
  const std::string short_name = name.substr(name.rfind('.') == name.npos ? 0 : name.rfind('.') + 1);
  const bool known = info && guard.slot < info->attributes.size();
  return "attribute '" + (known ? info->attributes[guard.slot].name : std::to_string(guard.slot)) + "' of " +
         short_name;
}

std::string Guards::failed() const {
  for (const Guard& g : guards_) {
    const Value& now = g.object->slots()[g.slot];
    if (g.container >= 0 && now.tag() == g.tag) {
      if (!contains_the_same(now, g)) return name_of(g) + " has other items";
      continue;
    }
    if (now.bits() == g.bits && now.tag() == g.tag) continue;
    return name_of(g) + ": was " + word_text(g.tag, g.bits) + ", is " + now_text(now, g.tag);
  }
  return {};
}

std::string Guards::text() const {
  std::string all;
  for (const Guard& g : guards_) {
    all += "  " + name_of(g) + (g.container >= 0 ? " has these items" : " is " + word_text(g.tag, g.bits)) + "\n";
  }
  return all;
}

}  // namespace sconce::executor
