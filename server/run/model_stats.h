// ModelStats: counters and latency histograms of a model and its version. Threads add to them without a lock; they live
// on when the model is loaded again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "server/protocol/failure.h"
#include "server/run/latency_histogram.h"

namespace sconce::server {

struct DurationStat {
  std::atomic<uint64_t> count{0}, ns{0};
  void add(uint64_t duration, uint64_t times = 1) {
    count.fetch_add(times, std::memory_order_relaxed);
    ns.fetch_add(duration, std::memory_order_relaxed);
  }
};

struct ModelStats {
  static constexpr size_t kCodes = static_cast<size_t>(Code::internal) + 1;
  static constexpr size_t kMostBatch = 1024;  // larger ones count there

  std::string name, version;
  std::array<std::atomic<uint64_t>, kCodes> answers{};
  DurationStat success, fail, queue, compute_input, compute_infer, compute_output;
  std::atomic<uint64_t> rows{0}, executions{0}, last_inference_ms{0};
  std::atomic<int64_t> waiting{0}, running{0};
  LatencyHistogram<4, std::atomic<uint64_t>> latency, queued, computed;
  struct Batch {
    DurationStat input, infer, output;
  };
  std::array<Batch, kMostBatch + 1> batches;  // by rows

  void answered(Code code, uint64_t ns) {
    answers[static_cast<size_t>(code)].fetch_add(1, std::memory_order_relaxed);
    (code == Code::ok ? success : fail).add(ns);
    latency.add(ns);
  }
};

}  // namespace sconce::server
