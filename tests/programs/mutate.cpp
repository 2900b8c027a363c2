// sconce-mutate COUNT SEED [--run] [--keep FOLDER] FILE...: loads COUNT broken forms of real program files, each made by
// changing one of the FILEs where it hurts (see mutate_archive.h). Whatever it is given, the loader must neither crash
// nor hang nor take much memory: it loads the file or throws Error. With --run, the methods of what loads are called
// with hostile arguments under a budget, which must hold; each call is repeated, since a plan is made for the second
// and runs in the third. Prints figures; the exit status is 0 only when all is well.
// With --keep, inputs that failed are left in FOLDER. The same arguments give the same inputs.
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/ir/verifier.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/conformance/isolated_run.h"
#include "sconce/testing/fuzz_table/hostile_values.h"
#include "sconce/testing/hostile/mutate_archive.h"
#include "sconce/testing/temporary_folder.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

using testing::ArchiveMutator;

constexpr double kMaxSeconds = 1;         // of processor time
constexpr size_t kMaxMemory = 64u << 20;  // bytes, and
constexpr size_t kMaxMemoryPerByte = 4;   // for each byte of the file
constexpr size_t kStepsPerProcess = 500;  // types live as long as the process: start afresh now and then

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A line of /proc/self/status, in bytes.
size_t status_bytes(const char* key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(key)) return static_cast<size_t>(std::atoll(line.c_str() + std::strlen(key))) << 10;
  }
  return 0;
}

// What --run allows a call: a budget must hold whatever the program does.
constexpr auto kRunTime = std::chrono::milliseconds(500);
constexpr size_t kRunMemory = 256u << 20;
constexpr size_t kMostMethods = 4;  // of one file
constexpr int kRepeats = 3;         // of one call

struct Calls {
  size_t made = 0, returned = 0;
};

// Calls methods of the module with arguments of their types. What a call throws is its answer.
void call_methods(const Archive& archive, uint64_t seed, Calls& calls) {
  testing::HostileValues values(seed);
  size_t methods = 0;
  for (const auto& [name, method] : archive.module.to_object().type()->class_info()->methods) {
    if (methods++ == kMostMethods) break;
    const std::vector<Value> args = values.arguments(method->schema());
    Limits limits;
    limits.memory = kRunMemory;
    limits.timeout = kRunTime;
    const BudgetScope scope(std::make_shared<Budget>(limits));
    try {
      for (int i = 0; i < kRepeats; ++i) {
        std::vector<Value> given = args;
        given.at(0) = archive.module;
        ++calls.made;
        runtime::run(*method, given);
        ++calls.returned;
      }
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::internal) throw;
    } catch (const std::bad_alloc&) {
    }
  }
}

void load(const std::string& bytes, std::optional<uint64_t> run_seed, Calls& calls) {
  const FileBytesPtr file = FileBytes::copy(std::as_bytes(std::span(bytes)), "mutated");
  const auto run = [&](const Archive& archive) {
    if (run_seed) call_methods(archive, *run_seed, calls);
  };
  switch (kind_of(file)) {
    case FileKind::torchscript: {
      if (has_bytecode(Records(file))) run(load_lite_archive(file));
      const Archive archive = load_archive(file);
      for (ir::Function* f : archive.unit->functions()) ir::verify(*f->graph());
      run(archive);
      break;
    }
    case FileKind::lite:
      run(load_lite_archive(file));
      break;
    case FileKind::exported_program:
      run(load_exported_program(file));
      break;
    case FileKind::compiled:
      run(load_compiled(file));
      break;
    default:
      read_tensors(file);
  }
}

struct Outcome {
  bool loaded = false;
  double seconds = 0;
  size_t memory = 0;
  Calls calls;
};

Outcome measure(const std::string& bytes, std::optional<uint64_t> run_seed) {
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
  const size_t before = status_bytes("VmRSS:");
  Outcome outcome;
  const double start = cpu_seconds();
  try {
    load(bytes, run_seed, outcome.calls);
    outcome.loaded = true;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) throw;
  }
  outcome.seconds = cpu_seconds() - start;
  const size_t peak = status_bytes("VmHWM:");
  outcome.memory = peak > before ? peak - before : 0;
  return outcome;
}

struct Figures {
  size_t loaded = 0, refused = 0, crashes = 0, slow = 0, large = 0;
  double worst_seconds = 0;
  size_t worst_memory = 0;
  Calls calls;
};

int run(size_t count, uint64_t seed, bool runs, const std::string& keep, const std::vector<std::string>& paths) {
  const double max_seconds = runs ? 1 + kMostMethods * 0.5 : kMaxSeconds;
  const size_t max_memory = runs ? kMaxMemory + kRunMemory : kMaxMemory;
  std::vector<ArchiveMutator> mutators;
  for (const std::string& path : paths) mutators.emplace_back(testing::read_file(path));
  const auto input = [&](size_t index) {
    testing::Random random(seed * 1'000'003 + index);
    return mutators[index % mutators.size()].mutate(random);
  };
  Figures figures;
  const auto complain = [&](size_t index, const std::string& what) {
    std::printf("%s, mutation %zu: %s\n", paths[index % paths.size()].c_str(), index, what.c_str());
    if (!keep.empty()) testing::write_file(keep + "/" + std::to_string(index), input(index));
  };
  std::vector<size_t> jobs;
  for (size_t left = count; left > 0; left -= jobs.back()) jobs.push_back(std::min(left, kStepsPerProcess));
  testing::IsolatedRun isolated;
  isolated.step_limit = std::chrono::seconds(30);
  isolated.run = [&](size_t job, size_t step) {
    const size_t index = job * kStepsPerProcess + step;
    const Outcome o = measure(input(index), runs ? std::optional<uint64_t>(seed + index) : std::nullopt);
    char text[100];
    std::snprintf(text, sizeof text, "%d %.6f %zu %zu %zu", o.loaded, o.seconds, o.memory, o.calls.made,
                  o.calls.returned);
    return std::string(text);
  };
  isolated.report = [&](size_t job, size_t step, const std::string& text, const std::string& crash) {
    const size_t index = job * kStepsPerProcess + step;
    if (!crash.empty()) {
      ++figures.crashes;
      return complain(index, crash);
    }
    int loaded = 0;
    Outcome o;
    std::sscanf(text.c_str(), "%d %lf %zu %zu %zu", &loaded, &o.seconds, &o.memory, &o.calls.made, &o.calls.returned);
    figures.calls.made += o.calls.made;
    figures.calls.returned += o.calls.returned;
    ++(loaded ? figures.loaded : figures.refused);
    figures.worst_seconds = std::max(figures.worst_seconds, o.seconds);
    figures.worst_memory = std::max(figures.worst_memory, o.memory);
    if (o.seconds > max_seconds) {
      ++figures.slow;
      complain(index, std::to_string(o.seconds) + " s");
    }
    if (o.memory > max_memory + kMaxMemoryPerByte * input(index).size()) {
      ++figures.large;
      complain(index,
               std::to_string(o.memory >> 20) + " MB for a file of " + std::to_string(input(index).size()) + " bytes");
    }
  };
  testing::run_isolated(jobs, isolated);
  std::printf(
      "%zu mutations of %zu files: %zu loaded, %zu refused, %zu crashed, %zu over %g s, %zu over 4 x file + %zu MB\n",
      count, paths.size(), figures.loaded, figures.refused, figures.crashes, figures.slow, max_seconds, figures.large,
      max_memory >> 20);
  if (runs) std::printf("%zu calls of methods, %zu returned; ", figures.calls.made, figures.calls.returned);
  std::printf("slowest %.3f s, largest %zu MB\n", figures.worst_seconds, figures.worst_memory >> 20);
  return figures.crashes + figures.slow + figures.large == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sconce

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: sconce-mutate COUNT SEED [--run] [--keep FOLDER] FILE...\n");
    return 2;
  }
  std::string keep;
  int first = 3;
  const bool runs = std::strcmp(argv[first], "--run") == 0;
  first += runs;
  if (first < argc && std::strcmp(argv[first], "--keep") == 0 && argc > first + 2) {
    keep = argv[first + 1];
    first += 2;
  }
  try {
    return sconce::run(static_cast<size_t>(std::atoll(argv[1])), static_cast<uint64_t>(std::atoll(argv[2])), runs, keep,
                       {argv + first, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sconce-mutate: %s\n", e.what());
    return 2;
  }
}
