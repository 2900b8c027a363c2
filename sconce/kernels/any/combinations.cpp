// Combinations in lexicographic order, as indices.
#include <algorithm>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/rearranging_kernels.h"

namespace sconce::any_device {
namespace {

constexpr double kMost = 1e13;  // indices

}  // namespace

// Every choice of r of n numbers in lexicographic order, one after the other.
Tensor sconce_combination_indices(int64_t n, int64_t r, bool with_replacement) {
  SCONCE_CHECK(r >= 0, "Expect a non-negative number, but got {}", r);
  SCONCE_CHECK(n >= 0, "combinations of {} numbers", n);
  // How many there are is known before: a program decides it.
  double count = static_cast<double>(r);
  const int64_t of = with_replacement ? n + std::min(r, INT64_MAX - n) - 1 : n;
  for (int64_t i = 0; i < std::min(r, of - r) && count < kMost; ++i)
    count *= static_cast<double>(of - i) / static_cast<double>(i + 1);
  SCONCE_CHECK(count < kMost, "there is no memory for all combinations of {} out of {}", r, n);
  Budget::charge_work(count);
  Budget::charge_memory(static_cast<uint64_t>(count), sizeof(int64_t));
  std::vector<int64_t> all, now(static_cast<size_t>(r));
  const auto restart = [&](int64_t from, int64_t value) {
    for (int64_t i = from; i < r; ++i) now[i] = value + (with_replacement ? 0 : i - from);
  };
  const auto highest = [&](int64_t i) { return with_replacement ? n - 1 : n - r + i; };
  restart(0, 0);
  bool more = r > 0 && n > 0 && (with_replacement || r <= n);
  while (more) {
    all.insert(all.end(), now.begin(), now.end());
    int64_t i = r - 1;
    while (i >= 0 && now[i] == highest(i)) --i;
    more = i >= 0;
    if (more) restart(i, now[i] + 1);
  }
  return tensor_of_integers(all);
}

}  // namespace sconce::any_device
