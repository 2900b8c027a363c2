// sconce-growth LOADS CALLS FAILED FILE...: loads and frees the files in turn, LOADS times; calls those that take one
// tensor of 3 x 4, CALLS times; loads FAILED broken forms of them (mutate_archive.h), each another one. Fails where the
// memory that is allocated grows on and on after the first round.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "failing_malloc.h"
#include "sconce/api/jit.h"
#include "sconce/dispatch/registry.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ops.h"
#include "sconce/testing/hostile/mutate_archive.h"
#include "sconce/testing/temporary_folder.h"

using namespace sconce;

namespace {

constexpr long kOnce = 1 << 20;

double resident_mib() {
  size_t total = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return static_cast<double>(resident * static_cast<size_t>(sysconf(_SC_PAGESIZE))) / 1048576;
}

// Does `step` `count` times: a first part (`first`, rounded up to a whole round), then up to four more of equal length.
// A leak shows in every part. A thread of the pool that takes its first task late, and then its frames, shows in one: so
// the part that grew least may not grow by more than `allowed` bytes.
template <class F>
bool stays(const char* what, long count, long round, long first, long allowed, F&& step) {
  if (count <= 0 || round <= 0) return true;
  first = std::max(1l, (std::min(first, count / 4) + round - 1) / round) * round;
  const long rest = std::max(count, 2 * first) - first, parts = std::clamp(rest / round, 1l, 4l);
  const long length = (rest / parts + round - 1) / round * round;
  long i = 0;
  const auto grown_in = [&](long steps) {
    const auto before = static_cast<long>(live_bytes());
    for (const long end = i + steps; i < end; ++i) step(i);
    return static_cast<long>(live_bytes()) - before;
  };
  grown_in(first);
  const double resident = resident_mib();
  long least = LONG_MAX, all = 0;
  for (long part = 0; part < parts; ++part) {
    const long more = grown_in(length);
    least = std::min(least, more);
    all += more;
  }
  std::printf(
      "%ld %s: %+ld bytes allocated after the first %ld, %+ld in the part of %ld that grew least; resident %.2f "
      "MiB then, %.2f MiB at the end\n",
      i, what, all, first, least, length, resident, resident_mib());
  std::fflush(stdout);
  return least <= allowed;
}

bool takes_a_matrix(const jit::Module& module) {
  try {
    module(ones({3, 4}));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: sconce-growth LOADS CALLS FAILED FILE...\n");
    return 2;
  }
  const long loads = std::atol(argv[1]), calls = std::atol(argv[2]), failed = std::atol(argv[3]);
  const std::vector<std::string> paths(argv + 4, argv + argc);
  const auto files = static_cast<long>(paths.size());
  bool steady = stays("loads", loads, files, 1000, 0, [&](long i) { jit::load(paths[i % files]); });

  std::vector<jit::Module> callable;
  for (const std::string& path : paths) {
    jit::Module module = jit::load(path);
    if (takes_a_matrix(module)) callable.push_back(std::move(module));
  }
  if (callable.empty() && calls > 0) {
    std::printf("none of the files takes a tensor of 3 x 4\n");
    return 2;
  }
  const Tensor x = ones({3, 4});
  const auto modules = static_cast<long>(callable.size());
  steady &= stays("calls", calls, modules, 1000, 0, [&](long i) { callable[i % modules](x); });
  callable.clear();

  std::vector<testing::ArchiveMutator> mutators;
  for (const std::string& path : paths) {
    if (failed > 0) mutators.emplace_back(testing::read_file(path));
  }
  // What the process has once, and takes when it is first needed: schemas, texts of the library, slabs for small tensors,
  // types of tuples of simple types (three in 3,000 files). The same files again need nothing.
  for (const Op* op : all_ops()) op->schema();
  long refused = 0;
  const auto load_broken = [&](long i) {
    testing::Random random(static_cast<uint64_t>(i % failed) + 1);
    const std::string bytes = mutators[static_cast<size_t>(i % failed % files)].mutate(random);
    try {
      jit::load(std::as_bytes(std::span(bytes)));
    } catch (const Error&) {
      ++refused;
    }
  };
  steady &= stays("loads of broken files", failed, 1, 1000, kOnce, load_broken);
  if (failed > 0) std::printf("%ld of them were refused\n", refused);
  steady &= stays("loads of the same, twice", 2 * failed, failed, failed, 0, load_broken);
  return steady ? 0 : 1;
}
