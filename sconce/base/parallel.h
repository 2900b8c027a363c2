#pragma once
// Thread pool: parallel_for runs a loop body over ranges of indices on several threads.
#include <cstdint>

#include "sconce/base/export.h"
#include "sconce/base/function_ref.h"

namespace sconce {

// The threads that parallel_for may use, the calling one included. 1 when the process starts: the library has no
// threads until it is told to use some.
SCONCE_API int num_threads() noexcept;

// Starts or ends worker threads so that num_threads() == count. Waits for a parallel region of another thread to end.
// Throws Error when count is not in [1, 1024], inside a parallel region, or when the system gives no more threads (then
// num_threads() says how many there are). A child made by fork() starts again with one thread.
SCONCE_API void set_num_threads(int count);

// Calls body(begin, end) on contiguous ranges that together cover [0, n) once, at most one range per thread and none
// shorter than `grain` unless n is; returns when all are done. The order is unspecified, so body must write disjoint
// things and its results must not depend on where a range starts.
//
// Everything runs inline, as one range, with one thread, for n <= grain, inside another parallel_for's body, and while
// another user thread has the pool. An exception thrown by a body is rethrown here after the ranges in progress ended;
// ranges not begun are skipped then. n <= 0 does nothing; a grain below 1 counts as 1.
SCONCE_API void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

// Elements of light work, such as a copy, that are worth a thread; fewer cost less than waking one.
inline constexpr int64_t kParallelGrain = 32768;

// The grain for items that each cost as much as copying `work_per_item` elements.
constexpr int64_t grain_for(int64_t work_per_item) {
  return work_per_item <= 1 ? kParallelGrain : work_per_item >= kParallelGrain ? 1 : kParallelGrain / work_per_item;
}

// True inside a body that runs as one of several ranges: a parallel_for there runs inline.
SCONCE_API bool in_parallel_region() noexcept;

}  // namespace sconce
