#include "sconce/frontend/script/names/tuple_items.h"

#include "sconce/frontend/script/emit/emitter.h"

namespace sconce::script {

size_t tuple_index(const Range& at, int64_t index, size_t size) {
  const int64_t n = static_cast<int64_t>(size);
  const int64_t place = index < 0 ? index + n : index;
  if (place < 0 || place >= n) {
    refuse(at, "Tuple index out of range. Tuple is length {} and index is {}", n, index);
  }
  return static_cast<size_t>(place);
}

ir::Value* TupleItems::as_value(Emitter& e, const Range& at) {
  std::vector<ir::Value*> values;
  for (const SugaredPtr& item : items) values.push_back(item->as_value(e, at));
  return e.tuple(at, values);
}

std::vector<SugaredPtr> TupleItems::unpack(Emitter&, const Range&, std::optional<size_t>) { return items; }

SugaredPtr TupleItems::subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) {
  return item(e, at, index->as_value(e, at), hint);
}

ir::Value* TupleItems::length(Emitter& e, const Range& at) {
  return e.constant(at, sconce::Value(static_cast<int64_t>(items.size())));
}

SugaredPtr TupleItems::item(Emitter&, const Range& at, ir::Value* index, TypePtr) {
  const std::optional<sconce::Value> constant = ir::constant_value(index);
  if (!constant || !constant->is_int()) refuse(at, "Expected integer literal for index");
  return items[tuple_index(at, constant->to_int(), items.size())];
}

}  // namespace sconce::script
