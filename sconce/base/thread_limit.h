// Thread limit: how many threads of the pool (parallel.h) the loops of one thread may use, for a program whose threads
// do things of different weight.
#pragma once

#include "sconce/base/export.h"

namespace sconce {

// While it lives, num_threads() and parallel_for of this thread count on at most so many threads, itself included; 1:
// everything runs in it. The pool has num_threads() of a thread without a limit. They nest; the least counts.
class SCONCE_API ThreadLimit {
 public:
  explicit ThreadLimit(int most) noexcept;
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace sconce
