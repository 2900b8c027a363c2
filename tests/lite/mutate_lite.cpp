// mutate_lite [--seconds S] COUNT SEED FILE...: COUNT broken forms of lite archives, each made by changing one of the
// FILEs where it hurts (see mutate_archive.h), given to a lite library (hostile_lite.h). The library must neither crash
// nor hang: it refuses the file, or runs it, in S seconds of a processor (20). The same arguments give the same inputs;
// one that fails is written to failed.ptl. Linked to a libsconce_lite.so that was built for a selection.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/testing/hostile/mutate_archive.h"
#include "tests/lite/hostile_lite.h"

namespace {

using namespace sconce::testing;

constexpr size_t kPerProcess = 500;  // types live as long as the process: start afresh now and then
constexpr unsigned kWait = 3600;     // seconds after which an input that does not compute waits for ever

std::string input(const std::vector<ArchiveMutator>& archives, uint64_t seed, size_t number) {
  Random random(seed * 1'000'003 + number);
  return archives[random() % archives.size()].mutate(random);
}

// Ends this process when it has computed for that long (SIGPROF): a machine that is busy, or stopped, counts for nothing.
void limit_processor_time(long seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// In a child: the number of the input that it is at comes through the pipe.
[[noreturn]] void run_inputs(const std::vector<ArchiveMutator>& archives, uint64_t seed, size_t from, size_t to,
                             long seconds, int pipe) {
  for (size_t i = from; i < to; ++i) {
    if (::write(pipe, &i, sizeof i) != sizeof i) std::_Exit(2);
    limit_processor_time(seconds);
    ::alarm(kWait);
    load_and_run(input(archives, seed, i));
  }
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  long seconds = 20;
  if (argc > 2 && std::strcmp(argv[1], "--seconds") == 0) {
    seconds = std::strtol(argv[2], nullptr, 10);
    argc -= 2;
    argv += 2;
  }
  if (argc < 4 || seconds < 1) return std::printf("usage: mutate_lite [--seconds S] COUNT SEED FILE...\n"), 2;
  const size_t count = std::strtoull(argv[1], nullptr, 10);
  const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  std::vector<ArchiveMutator> archives;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    archives.emplace_back(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  size_t failed = 0;
  for (size_t from = 0; from < count;) {
    const size_t to = std::min(from + kPerProcess, count);
    int ends[2];
    if (::pipe(ends) != 0) return 2;
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) run_inputs(archives, seed, from, to, seconds, ends[1]);
    ::close(ends[1]);
    size_t last = from;
    for (size_t at; ::read(ends[0], &at, sizeof at) == sizeof at;) last = at;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status == 0) {
      from = to;
      continue;
    }
    ++failed;
    std::printf("input %zu fails: %s %d\n", last, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    std::ofstream("failed.ptl", std::ios::binary) << input(archives, seed, last);
    from = last + 1;
  }
  std::printf("%zu inputs, %zu failed\n", count, failed);
  return failed == 0 ? 0 : 1;
}
