// Spinning: worker threads that wait for the next parallel loop awake. Putting a thread to sleep and waking it costs
// some microseconds, as much as a small loop takes; whoever runs many loops one behind the other says so.
#pragma once

#include "sconce/base/export.h"

namespace sconce {

// While one lives, in whichever thread, workers that have nothing to do look for work for up to 100 us before they
// sleep; otherwise for about 5. No more threads than processors do so: they would keep each other from working.
class SCONCE_API WorkersAwake {
 public:
  WorkersAwake() noexcept;
  ~WorkersAwake();
  WorkersAwake(const WorkersAwake&) = delete;

 private:
  [[maybe_unused]] bool counts_;  // where there are threads
};

}  // namespace sconce
