// Sorting of lists, and counts and sums over them.
#include <algorithm>
#include <complex>

#include "sconce/generated/comparison.h"
#include "sconce/generated/list_kernels.h"
#include "sconce/kernels/boxed/list_room.h"
#include "sconce/kernels/boxed/object_order.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

// Python's <: numbers, strings, tuples and lists element by element, one-element tensors, and objects by __lt__.
bool less(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) return a.to_string_ref() < b.to_string_ref();
  if (a.is_int() && b.is_int()) return a.to_int() < b.to_int();
  if (a.is_number() && b.is_number() && !a.is_complex() && !b.is_complex())
    return a.to_scalar().to_double() < b.to_scalar().to_double();
  if (a.is_tensor() && b.is_tensor()) return item_of(sconce::lt(a.to_tensor(), b.to_tensor())).to_bool();
  if ((a.is_tuple() && b.is_tuple()) || (a.is_list() && b.is_list())) {
    const std::vector<Value> x = a.is_tuple() ? a.to_tuple().items : a.to_list().values();
    const std::vector<Value> y = b.is_tuple() ? b.to_tuple().items : b.to_list().values();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (less(x[i], y[i])) return true;
      if (less(y[i], x[i])) return false;
    }
    return x.size() < y.size();
  }
  if (object_less && a.is_object() && b.is_object()) return object_less(a, b);
  fail_as(ErrorKind::type, "'<' not supported between instances of '{}' and '{}'", a.type()->annotation(),
          b.type()->annotation());
}

// Merges sorted runs of growing width; equal items keep their order. std::stable_sort would leave its range when an
// object's __lt__ contradicts itself.
void sort_in_place(List& list, bool reverse) {
  std::vector<Value> items = list.values();
  std::vector<Value> merged(items.size());
  const size_t n = items.size();
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const size_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        const bool take_right =
            left == middle ||
            (right < end && (reverse ? less(items[left], items[right]) : less(items[right], items[left])));
        merged[out] = std::move(items[take_right ? right++ : left++]);
      }
    }
    items.swap(merged);
  }
  // An object's __lt__ may have changed the list.
  SCONCE_CHECK_AS(value, list.size() == n, "list modified during sort");
  for (size_t i = 0; i < n; ++i) list.set(i, std::move(items[i]));
}

bool same(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return a.equals(b);
  return item_of(sconce::eq(a.to_tensor(), b.to_tensor())).to_bool();
}

bool is_true(const Value& v) {
  if (v.is_string()) return !v.to_string_ref().empty();
  return v.to_scalar().to_bool();
}

}  // namespace

void list_sort(const Op&, KeySet, Value* args, Value*) { sort_in_place(args[0].to_list(), args[1].to_bool()); }

void list_sorted(const Op&, KeySet, Value* args, Value* returns) {
  Ref<List> out = args[0].to_list().copy();
  sort_in_place(*out, false);
  returns[0] = std::move(out);
}

void list_remove(const Op&, KeySet, Value* args, Value*) {
  List& list = args[0].to_list();
  for (size_t i = 0; i < list.size(); ++i) {
    if (same(list.get(i), args[1])) return list.erase(i, i + 1);
  }
  fail_as(ErrorKind::value, "list.remove(x): x not in list");
}

void list_count(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  int64_t count = 0;
  for (size_t i = 0; i < list.size(); ++i) count += same(list.get(i), args[1]);
  returns[0] = count;
}

void list_repeat_in_place(const Op&, KeySet, Value* args, Value* returns) {
  List& list = args[0].to_list();
  const size_t n = list.size();
  const int64_t times = args[1].to_int();
  if (times <= 0) list.clear();
  make_room(list, n, times);
  for (int64_t k = 1; n != 0 && k < times; ++k) {
    for (size_t i = 0; i < n; ++i) list.append(list.get(i));
  }
  returns[0] = std::move(args[0]);
}

void list_sum_int(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  uint64_t sum = 0;  // wraps around
  for (size_t i = 0; i < list.size(); ++i) sum += static_cast<uint64_t>(list.get(i).to_scalar().to_int());
  returns[0] = static_cast<int64_t>(sum);
}
void list_sum_float(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  double sum = 0;
  for (size_t i = 0; i < list.size(); ++i) sum += list.get(i).to_scalar().to_double();
  returns[0] = sum;
}
void list_sum_complex(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  std::complex<double> sum = 0;
  for (size_t i = 0; i < list.size(); ++i) sum += list.get(i).to_complex();
  returns[0] = sum;
}

void list_all(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  bool all = true;
  for (size_t i = 0; i < list.size() && all; ++i) all = is_true(list.get(i));
  returns[0] = all;
}
void list_any(const Op&, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  bool any = false;
  for (size_t i = 0; i < list.size() && !any; ++i) any = is_true(list.get(i));
  returns[0] = any;
}

}  // namespace sconce::boxed
