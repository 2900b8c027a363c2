// List: a vector of the element's own type, boxed one by one only when asked for.
#include <algorithm>

#include "sconce/types/value.h"

namespace sconce {
namespace {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Bools = std::vector<uint8_t>;
using Tensors = std::vector<Tensor>;
using Values = std::vector<Value>;

bool is_tensor_element(TypePtr t) {
  return t->is(TypeKind::tensor) || (t->is(TypeKind::optional) && t->element()->is(TypeKind::tensor));
}

Value box(int64_t v) { return v; }
Value box(double v) { return v; }
Value box(uint8_t v) { return v != 0; }
Value box(const Tensor& v) { return v; }
Value box(const Value& v) { return v; }

// The item that a list of such elements stores for `v`; throws Error (type) when it cannot hold it.
template <class T>
T unbox(Value&& v, TypePtr element) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return v.to_int();
  } else if constexpr (std::is_same_v<T, double>) {
    return v.to_double();
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return v.to_bool();
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return element->is(TypeKind::optional) ? v.to_optional_tensor() : v.to_tensor();
  } else {
    return std::move(v);
  }
}

}  // namespace

List::List(TypePtr element) : element_(element) {
  const TypePtr plain = plain_type(element);
  if (plain == int_type()) {
    items_ = Ints();
  } else if (plain == float_type()) {
    items_ = Doubles();
  } else if (plain == bool_type()) {
    items_ = Bools();
  } else if (is_tensor_element(plain)) {
    items_ = Tensors();
  } else {
    items_ = Values();
  }
}

size_t List::size() const {
  return std::visit([](const auto& items) { return items.size(); }, items_);
}

void List::check(size_t i) const {
  SCONCE_CHECK_AS(index, i < size(), "list index out of range: {} in a list of {}", i, size());
}

Value List::get(size_t i) const {
  check(i);
  return std::visit([&](const auto& items) { return box(items[i]); }, items_);
}

void List::set(size_t i, Value v) {
  check(i);
  std::visit([&](auto& items) { items[i] = unbox<std::decay_t<decltype(items[0])>>(std::move(v), element_); }, items_);
}

void List::append(Value v) {
  std::visit([&](auto& items) { items.push_back(unbox<std::decay_t<decltype(items[0])>>(std::move(v), element_)); },
             items_);
}

void List::insert(size_t at, Value v) {
  SCONCE_CHECK_AS(index, at <= size(), "list index out of range: {} in a list of {}", at, size());
  std::visit(
      [&](auto& items) {
        items.insert(items.begin() + static_cast<ptrdiff_t>(at),
                     unbox<std::decay_t<decltype(items[0])>>(std::move(v), element_));
      },
      items_);
}

void List::erase(size_t from, size_t to) {
  SCONCE_CHECK_AS(index, from <= to && to <= size(), "list range out of range: {} to {} in a list of {}", from, to,
                  size());
  std::visit(
      [&](auto& items) {
        items.erase(items.begin() + static_cast<ptrdiff_t>(from), items.begin() + static_cast<ptrdiff_t>(to));
      },
      items_);
}

void List::reserve(size_t n) {
  std::visit([&](auto& items) { items.reserve(n); }, items_);
}
void List::clear() {
  std::visit([](auto& items) { items.clear(); }, items_);
}
void List::reverse() {
  std::visit([](auto& items) { std::reverse(items.begin(), items.end()); }, items_);
}

Ref<List> List::copy() const {
  Ref<List> list = make_ref<List>(element_);  // which stores the same kind
  std::visit(
      [&](const auto& items) {
        using Items = std::decay_t<decltype(items)>;
        std::get<Items>(list->items_) = Items(items);
      },
      items_);
  return list;
}

IntList List::ints() const {
  if (const Ints* items = std::get_if<Ints>(&items_)) return *items;
  SCONCE_CHECK_AS(type, empty(), "expected a list of int, got {}[]", element_->to_string());
  return {};
}
ListRef<double> List::doubles() const {
  if (const Doubles* items = std::get_if<Doubles>(&items_)) return *items;
  SCONCE_CHECK_AS(type, empty(), "expected a list of float, got {}[]", element_->to_string());
  return {};
}
ListRef<bool> List::bools() const {
  static_assert(sizeof(bool) == 1);
  if (const Bools* items = std::get_if<Bools>(&items_)) {
    return ListRef<bool>(reinterpret_cast<const bool*>(items->data()), items->size());
  }
  SCONCE_CHECK_AS(type, empty(), "expected a list of bool, got {}[]", element_->to_string());
  return {};
}
TensorList List::tensors() const {
  if (const Tensors* items = std::get_if<Tensors>(&items_)) return *items;
  SCONCE_CHECK_AS(type, empty(), "expected a list of Tensor, got {}[]", element_->to_string());
  return {};
}

std::vector<Value> List::values() const {
  return std::visit(
      [](const auto& items) {
        Values out;
        out.reserve(items.size());
        for (const auto& item : items) out.push_back(box(item));
        return out;
      },
      items_);
}

}  // namespace sconce
