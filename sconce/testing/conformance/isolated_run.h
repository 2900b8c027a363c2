// Process isolation: runs work in child processes, so that a crash or a hang of one piece is that piece's result and
// nothing else is lost.
//
// Work comes as jobs of several steps (a file and its cases). Workers are forks of this process: they see everything
// that was set up before. A worker takes a job, runs its steps one by one and reports each; when it dies, the step it
// was at is reported as crashed and another worker continues behind it. Call it while the process has one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sconce::testing {

struct IsolatedRun {
  int workers = 1;
  std::chrono::milliseconds step_limit{60'000};  // of processor time; a step that waits as long as that hangs, too
  // In the child: runs a step and returns its result as text. An exception ends the child like a crash.
  std::function<std::string(size_t job, size_t step)> run;
  // In the parent, once per step, in no particular order between jobs. `crash` is empty, or says how the child ended:
  // "died of SIGSEGV", "exited with status 3", "no end after 60 s"; then there is no text.
  std::function<void(size_t job, size_t step, const std::string& text, const std::string& crash)> report;
};

// `steps[j]` is the number of steps of job j. Returns when all are reported. Throws Error when no process
// can be started.
void run_isolated(const std::vector<size_t>& steps, const IsolatedRun& run);

}  // namespace sconce::testing
