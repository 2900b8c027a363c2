// Load generation: requests to a server at a given rate, and what became of them.
//
// Note [Open loop]
// Request k is due at start + k / rate, whatever became of those before it, and its latency counts from that moment: a
// server that stalls for a second delays all that were due in that second, and all of them are measured. A client that
// waits for an answer before it takes the time again leaves these out ("coordinated omission").
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "load/http_client.h"
#include "server/run/latency_histogram.h"

namespace sconce::cli {

struct LoadPlan {
  Url url;
  std::vector<std::string> requests;  // whole ones, sent in turn
  double rate = 0;                    // a second; 0: closed loop, each connection as fast as it is answered
  bool poisson = false;               // times between requests vary as those of independent clients do
  size_t connections = 16;
  std::chrono::nanoseconds duration = std::chrono::seconds(10), timeout = std::chrono::seconds(30);
};

struct LoadResult {
  server::LatencyHistogram<7> latency;  // of answers of 200, from when they were due
  std::map<int, uint64_t> statuses;     // 0: the connection failed
  uint64_t due = 0, sent = 0, timed_out = 0;
  double seconds = 0;  // from the first to the last answer
  uint64_t good() const {
    const auto at = statuses.find(200);
    return at == statuses.end() ? 0 : at->second;
  }
};

// `progress` is told the share of the time that is over. Throws Error when there is no such host.
LoadResult run_load(const LoadPlan& plan, const std::function<void(double)>& progress);

// Latency over percentiles, with nines on a logarithmic axis: for a terminal, and as SVG.
std::string latency_plot(const server::LatencyHistogram<7>& latency, size_t columns);
std::string latency_svg(const server::LatencyHistogram<7>& latency, const std::string& title);

}  // namespace sconce::cli
