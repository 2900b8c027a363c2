// bench-script: what compiling costs. The first call of a module of 50 Linear and ReLU layers turns its graph into
// code: the calls are inlined, the passes run, the code is generated. Rows against PyTorch are in compare.py.
#include <benchmark/benchmark.h>

#include "bench/rows/rows.h"

namespace {

void first_call(benchmark::State& state) {
  for (const sconce::bench::Row& row : sconce::bench::rows()) {
    if (row.name != "script MLP-50, first call") continue;
    const std::unique_ptr<sconce::bench::Work> work = row.make();
    for (auto _ : state) work->run(1);
  }
}
BENCHMARK(first_call)->Name("MLP-50, first call")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
