// Combinations in lexicographic order, as indices.
#include "sconce/base/error.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/rearranging_kernels.h"

namespace sconce::any_device {

// Every choice of r of n numbers in lexicographic order, one after the other.
Tensor sconce_combination_indices(int64_t n, int64_t r, bool with_replacement) {
  SCONCE_CHECK(r >= 0, "Expect a non-negative number, but got {}", r);
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
