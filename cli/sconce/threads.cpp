#include "threads.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/base/parallel.h"

namespace sconce::cli {
namespace {

constexpr int kMaxThreads = 1024;

int machine_threads() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::clamp(CPU_COUNT(&allowed), 1, kMaxThreads);
}

}  // namespace

void add_threads_option(App command, int& threads, const char* help) {
  command.add_option("--threads", threads, help).type_name("N").check([](const std::string& text) {
    char* end = nullptr;
    const long n = std::strtol(text.c_str(), &end, 0);
    const bool good = !text.empty() && *end == '\0' && n >= 1 && n <= kMaxThreads;
    return good ? "" : fmt::format("takes a number from 1 to {}, got {}", kMaxThreads, text);
  });
}

void start_threads(int threads) {
  if (threads < 0 || threads > kMaxThreads)
    throw UsageError(fmt::format("takes a number from 1 to {}, got {}", kMaxThreads, threads));
  set_num_threads(threads == 0 ? machine_threads() : threads);
}

}  // namespace sconce::cli
