// bench-rows: every row of bench/rows as a Google Benchmark, with 1 thread and, for large work, with 2.
//   build/release/bin/bench-rows --benchmark_filter='add 8'
#include <benchmark/benchmark.h>

#include "bench/rows/rows.h"
#include "sconce/base/parallel.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const sconce::bench::Row& row : sconce::bench::rows()) {
    const bool large = row.name.ends_with("16M") || row.name.starts_with("matmul");
    const int64_t batch = large ? 1 : 100;
    for (int threads = 1; threads <= (large ? 2 : 1); ++threads) {
      const std::string name = row.name + (threads == 1 ? ", 1 thread" : ", 2 threads");
      benchmark::RegisterBenchmark(name.c_str(), [&row, batch, threads](benchmark::State& state) {
        sconce::set_num_threads(threads);
        const auto work = row.make();
        while (state.KeepRunningBatch(batch)) work->run(batch);
      })->UseRealTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
