#include "sconce/types/containers.h"

namespace sconce {

Value new_list(TypePtr element) { return make_ref<List>(element); }
Value new_dict(TypePtr key, TypePtr value) { return make_ref<Dict>(key, value); }
Value new_tuple(size_t count, TypePtr named) { return make_ref<Tuple>(count, named); }
Value new_object(TypePtr type) { return make_ref<Object>(type); }

Value list_of(TypePtr element, std::span<Value> items) {
  Value made = new_list(element);
  List& list = made.to_list();
  if (!items.empty()) list.reserve(items.size());
  for (Value& item : items) list.append(std::move(item));
  return made;
}

Value dict_of(TypePtr key, TypePtr value, std::span<Value> items) {
  Value made = new_dict(key, value);
  Dict& dict = made.to_dict();
  for (size_t i = 0; i < items.size(); i += 2) dict.set(std::move(items[i]), std::move(items[i + 1]));
  return made;
}

size_t item_count(const Value& container) {
  if (container.is_list()) return container.to_list().size();
  if (container.is_dict()) return 2 * container.to_dict().size();
  return container.to_tuple().items.size();
}

void copy_items(const Value& container, Value* to) {
  if (container.is_list()) {
    const List& list = container.to_list();
    for (size_t i = 0; i < list.size(); ++i) new (to++) Value(list.get(i));
  } else if (container.is_dict()) {
    container.to_dict().for_each([to](const Value& key, const Value& value) mutable {
      new (to++) Value(key);
      new (to++) Value(value);
    });
  } else {
    for (const Value& item : container.to_tuple().items) new (to++) Value(item);
  }
}

}  // namespace sconce
