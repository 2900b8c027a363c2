// Lists as TorchScript programs use them. Indices count from the end when negative.
#include "sconce/base/budget.h"
#include "sconce/generated/comparison.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/generated/program_kernels.h"
#include "sconce/kernels/boxed/list_room.h"
#include "sconce/kernels/boxed/slice.h"

namespace sconce::boxed {
namespace {

size_t checked_index(const List& list, int64_t i) {
  const auto n = static_cast<int64_t>(list.size());
  SCONCE_CHECK_AS(index, -n <= i && i < n, "list index out of range");
  return static_cast<size_t>(i < 0 ? i + n : i);
}

// Tensors are equal when `a == b` is true of their one element, as in Python.
bool items_equal(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return a.equals(b);
  return item_of(sconce::eq(a.to_tensor(), b.to_tensor())).to_bool();
}

bool lists_equal(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!items_equal(a.get(i), b.get(i))) return false;
  }
  return true;
}

int64_t find(const List& list, const Value& item) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (items_equal(list.get(i), item)) return static_cast<int64_t>(i);
  }
  return -1;
}

Value repeated(const List& list, int64_t times) {
  auto out = make_ref<List>(list.element_type());
  const size_t n = list.size();
  make_room(*out, n, times);
  for (int64_t k = 0; n != 0 && k < times; ++k) {
    for (size_t i = 0; i < n; ++i) out->append(list.get(i));
  }
  return out;
}

}  // namespace

void list_len(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(args[0].to_list().size());
}

void list_get(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  returns[0] = list.get(checked_index(list, args[1].to_int()));
}

void list_set(const Op&, KeySet, Value* args, Value* returns) {
  List& list = args[0].to_list();
  list.set(checked_index(list, args[1].to_int()), std::move(args[2]));
  returns[0] = std::move(args[0]);
}

void list_append(const Op&, KeySet, Value* args, Value* returns) {
  args[0].to_list().append(std::move(args[1]));
  returns[0] = std::move(args[0]);
}

// As in Python, a place outside of the list is its nearest end.
void list_insert(const Op&, KeySet, Value* args, Value*) {
  List& list = args[0].to_list();
  const auto n = static_cast<int64_t>(list.size());
  int64_t at = args[1].to_int();
  if (at < 0) at = std::max<int64_t>(at + n, 0);
  list.insert(static_cast<size_t>(std::min(at, n)), std::move(args[2]));
}

void list_extend(const Op&, KeySet, Value* args, Value*) {
  List& list = args[0].to_list();
  Budget::charge_memory(2 * args[1].to_list().size(), sizeof(Value));
  const Ref<List> other = args[1].to_list().copy();  // x.extend(x) is allowed
  for (size_t i = 0; i < other->size(); ++i) list.append(other->get(i));
}

void list_pop(const Op&, KeySet, Value* args, Value* returns) {
  List& list = args[0].to_list();
  SCONCE_CHECK_AS(index, !list.empty(), "pop from empty list");
  const size_t i = checked_index(list, args[1].to_int());
  returns[0] = list.get(i);
  list.erase(i, i + 1);
}

void list_delete(const Op&, KeySet, Value* args, Value*) {
  List& list = args[0].to_list();
  const size_t i = checked_index(list, args[1].to_int());
  list.erase(i, i + 1);
}

void list_clear(const Op&, KeySet, Value* args, Value*) { args[0].to_list().clear(); }
void list_reverse(const Op&, KeySet, Value* args, Value*) { args[0].to_list().reverse(); }
void list_copy(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_list().copy(); }

void list_add(const Op&, KeySet, Value* args, Value* returns) {
  Budget::charge_memory(args[0].to_list().size() + args[1].to_list().size(), sizeof(Value));
  Ref<List> out = args[0].to_list().copy();
  const List& other = args[1].to_list();
  for (size_t i = 0; i < other.size(); ++i) out->append(other.get(i));
  returns[0] = std::move(out);
}

void list_add_(const Op&, KeySet, Value* args, Value* returns) {
  List& list = args[0].to_list();
  Budget::charge_memory(2 * args[1].to_list().size(), sizeof(Value));
  const Ref<List> other = args[1].to_list().copy();  // x += x is allowed
  for (size_t i = 0; i < other->size(); ++i) list.append(other->get(i));
  returns[0] = std::move(args[0]);
}

void list_slice(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  auto out = make_ref<List>(list.element_type());
  for_slice(static_cast<int64_t>(list.size()), args[1], args[2], args[3].to_int(),
            [&](int64_t i) { out->append(list.get(static_cast<size_t>(i))); });
  returns[0] = std::move(out);
}

void list_repeat(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = repeated(args[0].to_list(), args[1].to_int());
}
void list_repeat_right(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = repeated(args[1].to_list(), args[0].to_int());
}

void list_eq(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = lists_equal(args[0].to_list(), args[1].to_list());
}
void list_ne(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = !lists_equal(args[0].to_list(), args[1].to_list());
}
void list_contains(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = find(args[0].to_list(), args[1]) >= 0;
}

void list_index(const Op&, KeySet, Value* args, Value* returns) {
  const int64_t at = find(args[0].to_list(), args[1]);
  SCONCE_CHECK_AS(value, at >= 0, "'{}' is not in list", args[1].repr());
  returns[0] = at;
}

}  // namespace sconce::boxed
