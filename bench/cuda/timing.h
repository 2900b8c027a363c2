// Times on a GPU's own clock: what stands between two events, with the L2 cache full of lines that were only read. (Flushing it by
// writing leaves dirty lines, whose way out costs the next kernel up to 25 %.)
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "sconce/ops.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::bench {

inline const Device kCuda(DeviceType::cuda, 0);

inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Microseconds of run(i) on the GPU, the median of `turns`. Reading the cache full some times takes longer than the host
// needs to ask for the run, so that nothing is waited for between its kernels.
inline double gpu_microseconds(const std::function<void(int)>& run, int turns) {
  static const Tensor lines = zeros({int64_t{64} << 20}, DType::float32, {}, kCuda);  // 256 MB
  const DeviceStreams& streams = find_queries(DeviceType::cuda)->streams;
  const int64_t stream = streams.current(kCuda), start = streams.make_event(kCuda, true),
                end = streams.make_event(kCuda, true);
  std::vector<double> times;
  for (int i = 0; i < turns; ++i) {
    for (int k = 0; k < 8; ++k) sum(lines);
    streams.record_event(start, stream);
    run(i);
    streams.record_event(end, stream);
    streams.wait_event(end);
    times.push_back(streams.distance(start, end) * 1000);
  }
  streams.release_event(start);
  streams.release_event(end);
  return median(std::move(times));
}

}  // namespace sconce::bench
