#include "sconce/executor/guards.h"

#include <algorithm>

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

}  // namespace sconce::executor
