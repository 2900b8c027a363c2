// List: items of the element's own type, boxed one by one only when asked for.
#include <algorithm>
#include <cstring>
#include <memory>

#include "sconce/types/value.h"

namespace sconce {
namespace {

const Tensor& tensor_in(const Value& v, TypePtr element) {
  return element->is(TypeKind::optional) ? v.to_optional_tensor() : v.to_tensor();
}

// Words of Values, as items of a list.
template <class Stored>
uint64_t stored(const void* items, size_t i) {
  Stored s;
  std::memcpy(&s, static_cast<const Stored*>(items) + i, sizeof(s));
  return s;
}
template <class Stored>
void store(void* items, size_t i, uint64_t bits) {
  const auto s = static_cast<Stored>(bits);
  std::memcpy(static_cast<Stored*>(items) + i, &s, sizeof(s));
}

}  // namespace

List::Store List::store_of(TypePtr element) {
  const TypePtr plain = plain_type(element);
  if (plain->is(TypeKind::int_)) return Store::ints;
  if (plain->is(TypeKind::float_)) return Store::doubles;
  if (plain->is(TypeKind::bool_)) return Store::bools;
  return (plain->is(TypeKind::optional) ? plain->element() : plain)->is(TypeKind::tensor) ? Store::tensors
                                                                                          : Store::values;
}
List::List(TypePtr element) : store_(store_of(element)), element_(element) {}

List::~List() { clear(); }

// Where a list does not store Values, it stores what is in them: a word, of bools a byte, of tensors a pointer.
constexpr Tag kItemTags[] = {Tag::integer, Tag::real, Tag::boolean, Tag::tensor};

// The item as a Value.
Value List::boxed(size_t i) const {
  if (store_ == Store::values) return static_cast<const Value*>(items_.data)[i];
  Value made;
  if (store_ == Store::bools) {
    made.bits_ = stored<uint8_t>(items_.data, i) != 0;
  } else if (store_ == Store::tensors) {
    made.bits_ = stored<uintptr_t>(items_.data, i);
  } else {
    made.bits_ = stored<uint64_t>(items_.data, i);
  }
  // Undefined tensors are None.
  if (store_ != Store::tensors || made.bits_ != 0) made.tag_ = kItemTags[static_cast<size_t>(store_)];
  made.retain_payload();
  return made;
}

// Makes what the list stores for `v`, where no item lives; throws Error (type) when it cannot hold it.
void List::make_item(size_t i, Value&& v) {
  if (store_ == Store::values) {
    new (static_cast<Value*>(items_.data) + i) Value(std::move(v));
    return;
  }
  const Tag wanted = kItemTags[static_cast<size_t>(store_)];
  const bool may_be_none = store_ == Store::tensors && element_->is(TypeKind::optional);
  if (v.tag_ != wanted && !(may_be_none && v.is_none())) v.wrong_tag(wanted);
  if (store_ == Store::bools) {
    store<uint8_t>(items_.data, i, v.bits_ != 0);
  } else if (store_ == Store::tensors) {
    store<uintptr_t>(items_.data, i, v.bits_);
  } else {
    store<uint64_t>(items_.data, i, v.bits_);
  }
  v.bits_ = 0;  // a tensor has moved
  v.tag_ = Tag::none;
}

void List::end_items(void* from, size_t count) const {
  if (store_ == Store::tensors) std::destroy_n(static_cast<Tensor*>(from), count);
  if (store_ == Store::values) std::destroy_n(static_cast<Value*>(from), count);
}

void List::check(size_t i) const {
  SCONCE_CHECK_AS(index, i < size(), "list index out of range: {} in a list of {}", i, size());
}

Value List::get(size_t i) const {
  check(i);
  return boxed(i);
}

void List::set(size_t i, Value v) {
  check(i);
  if (const ItemsOf<Value> values = value_items()) {
    values[i] = std::move(v);
  } else if (const ItemsOf<Tensor> tensors = tensor_items()) {
    tensors[i] = tensor_in(v, element_);
  } else {
    make_item(i, std::move(v));
  }
}

void List::append(Value v) {
  if (items_.size == items_.capacity) items_.grow(item_size());
  make_item(items_.size, std::move(v));
  ++items_.size;
}

void List::insert(size_t at, Value v) {
  SCONCE_CHECK_AS(index, at <= size(), "list index out of range: {} in a list of {}", at, size());
  append(std::move(v));
  items_.move_last(at, item_size());
}

void List::erase(size_t from, size_t to) {
  SCONCE_CHECK_AS(index, from <= to && to <= size(), "list range out of range: {} to {} in a list of {}", from, to,
                  size());
  end_items(items_.at(from, item_size()), to - from);
  items_.close(from, to, item_size());
}

void List::reserve(size_t n) { items_.reserve(n, item_size()); }

void List::clear() {
  end_items(items_.data, size());
  items_.size = 0;
}

void List::reverse() {
  const size_t bytes = item_size();
  for (size_t i = 0, j = size(); i + 1 < j; ++i) {
    char* item = static_cast<char*>(items_.at(i, bytes));
    std::swap_ranges(item, item + bytes, static_cast<char*>(items_.at(--j, bytes)));
  }
}

Ref<List> List::copy() const {
  Ref<List> list = make_ref<List>(element_);  // which stores the same kind
  RawItems& to = list->items_;
  to.reserve(size(), item_size());
  if (const ItemsOf<Tensor> tensors = as<Tensor>(Store::tensors)) {
    std::uninitialized_copy(tensors.begin(), tensors.end(), static_cast<Tensor*>(to.data));
  } else if (const ItemsOf<Value> values = as<Value>(Store::values)) {
    std::uninitialized_copy(values.begin(), values.end(), static_cast<Value*>(to.data));
  } else if (!empty()) {
    std::memcpy(to.data, items_.data, size() * item_size());
  }
  to.size = size();
  return list;
}

// Another list may pass for an empty one.
void List::check_empty(const char* wanted) const {
  if (!empty()) wrong_type("a list of ", wanted, list_type(element_));
}

IntList List::ints() const {
  if (!is_ints()) check_empty("int");
  return IntList(static_cast<const int64_t*>(items_.data), size());
}
ListRef<double> List::doubles() const {
  if (!is_doubles()) check_empty("float");
  return ListRef<double>(static_cast<const double*>(items_.data), size());
}
ListRef<bool> List::bools() const {
  static_assert(sizeof(bool) == 1);
  if (!is_bools()) check_empty("bool");
  return ListRef<bool>(static_cast<const bool*>(items_.data), size());
}
TensorList List::tensors() const {
  if (!is_tensors()) check_empty("Tensor");
  return TensorList(static_cast<const Tensor*>(items_.data), size());
}

std::vector<Value> List::values() const {
  std::vector<Value> out = nones(size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = boxed(i);
  return out;
}

}  // namespace sconce
