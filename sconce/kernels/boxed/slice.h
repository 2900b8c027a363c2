// Slicing: Python's rules for slices of lists and strings.
#pragma once

#include <algorithm>

#include "sconce/types/value.h"

namespace sconce::boxed {

// Calls f(i) for every index that [start:end:step] selects out of n; start and end may be None.
template <class F>
void for_slice(int64_t n, const Value& start, const Value& end, int64_t step, F&& f) {
  SCONCE_CHECK_AS(value, step != 0, "slice step cannot be zero");
  const auto place = [&](const Value& v, int64_t otherwise) {
    if (v.is_none()) return otherwise;
    const int64_t i = v.to_int() < 0 ? v.to_int() + n : v.to_int();
    return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  step = std::clamp(step, -n - 1, n + 1);  // one that leads outside; a larger one would wrap
  const int64_t from = place(start, step > 0 ? 0 : n - 1), to = place(end, step > 0 ? n : -1);
  for (int64_t i = from; step > 0 ? i < to : i > to; i += step) f(i);
}

}  // namespace sconce::boxed
