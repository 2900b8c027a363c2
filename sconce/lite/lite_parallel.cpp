// parallel_for of lite libraries (base/parallel.h): the host's threads, or one after the other.
#include <algorithm>
#include <atomic>
#include <exception>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/workers_awake.h"
#include "sconce/lite/host.h"

namespace sconce {
namespace {

thread_local constinit bool inside_region = false;

struct Region {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n;
  int ranges;
  std::atomic<bool> failed{false};
  std::exception_ptr error{};

  int64_t begin_of(int range) const { return n / ranges * range + std::min<int64_t>(range, n % ranges); }
};

void run_range(void* argument, int range) noexcept {
  auto& region = *static_cast<Region*>(argument);
  const bool before = inside_region;
  inside_region = true;
  try {
    region.body(region.begin_of(range), region.begin_of(range + 1));
  } catch (...) {
    if (!region.failed.exchange(true)) region.error = std::current_exception();
  }
  inside_region = before;
}

}  // namespace

int num_threads() noexcept { return lite::host().parallel ? std::max(lite::host().threads, 1) : 1; }
bool in_parallel_region() noexcept { return inside_region; }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  const int64_t ranges = std::min<int64_t>(num_threads(), n / std::max<int64_t>(grain, 1));
  if (ranges <= 1 || inside_region) return body(0, n);
  Region region{body, n, static_cast<int>(ranges)};
  lite::host().parallel(region.ranges, run_range, &region, lite::host().context);
  if (region.error) std::rethrow_exception(region.error);
}

WorkersAwake::WorkersAwake() noexcept : counts_(false) {}
WorkersAwake::~WorkersAwake() {}  // not defaulted: elsewhere it does something

}  // namespace sconce
