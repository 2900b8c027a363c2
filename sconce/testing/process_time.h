// Processor time of another process: whether a child that takes long computes, as slowly as a busy machine lets it, or
// waits.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace sconce::testing {

// Seconds that the process has computed; 0 when it is gone.
inline double processor_seconds(pid_t process) {
  clockid_t clock;
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace sconce::testing
