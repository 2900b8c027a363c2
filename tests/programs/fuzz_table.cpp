// sconce-fuzz-table [--calls N] [--seed S] [--seconds T] [--op NAME]... [--one OVERLOAD NUMBER] [FOLDER...]: calls every
// operator of the table, and of the extensions, with arguments that do not fit (table_fuzzer.h). Recorded calls come
// from the FOLDERs (tests/conformance). The exit status is 0 only when no call crashed or found an error of ours.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "sconce/testing/fuzz_table/guard_pages.h"
#include "sconce/testing/fuzz_table/table_fuzzer.h"
#include "sconce/testing/sanitizers.h"

int main(int argc, char** argv) {
  using namespace sconce::testing;
  FuzzOptions options;
  std::string one;
  uint64_t number = 0;
  for (int i = 1; i < argc; ++i) {
    const auto is = [&](const char* name, int values) { return std::strcmp(argv[i], name) == 0 && i + values < argc; };
    if (is("--calls", 1)) {
      options.calls = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--seed", 1)) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--seconds", 1)) {
      options.seconds = std::atof(argv[++i]);
    } else if (is("--per-turn", 1)) {
      options.calls_per_turn = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--give-up", 1)) {
      options.give_up = std::atoi(argv[++i]);
    } else if (is("--op", 1)) {
      options.ops.emplace_back(argv[++i]);
    } else if (is("--one", 2)) {
      one = argv[++i];
      number = std::strtoull(argv[++i], nullptr, 10);
    } else if (argv[i][0] == '-') {
      std::fprintf(stderr,
                   "usage: sconce-fuzz-table [--calls N] [--seed S] [--seconds T] [--per-turn N] [--give-up N] [--op "
                   "NAME]... [--one OVERLOAD NUMBER] [FOLDER...]\n");
      return 2;
    } else {
      options.recorded.emplace_back(argv[i]);
    }
  }
  try {
#if !SCONCE_UNDER_ASAN  // which sees the same in the memory of malloc
    if (!use_guard_pages()) {
      std::fprintf(stderr, "sconce-fuzz-table: tensors were made before there were guard pages\n");
      return 2;
    }
#endif
    if (!one.empty()) {
      fuzz_one_call(options, one, number);
      return 0;
    }
    const FuzzFigures f = fuzz_table(options);
    std::printf("%llu calls of %zu overloads (%zu recorded calls): %llu crashes, %llu hangs, %llu internal errors\n",
                static_cast<unsigned long long>(f.calls), f.overloads, f.recorded_calls,
                static_cast<unsigned long long>(f.crashes), static_cast<unsigned long long>(f.hangs),
                static_cast<unsigned long long>(f.internal));
    return f.crashes + f.internal == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sconce-fuzz-table: %s\n", e.what());
    return 2;
  }
}
