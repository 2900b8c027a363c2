#include "sconce/api/items.h"

#include "sconce/base/error.h"

namespace sconce::jit {

Value get_item(const Value& v, size_t index) {
  SCONCE_CHECK_AS(type, v.is_tuple() || v.is_list(), "expected a tuple or a list, got {}", tag_name(v.tag()));
  const size_t size = v.is_tuple() ? v.to_tuple().items.size() : v.to_list().size();
  SCONCE_CHECK_AS(index, index < size, "there is no item {} in a {} of {}", index, tag_name(v.tag()), size);
  return v.is_tuple() ? v.to_tuple().items[index] : v.to_list().get(index);
}

}  // namespace sconce::jit
