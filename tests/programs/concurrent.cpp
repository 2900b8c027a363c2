// sconce-concurrent FILE OTHER...: 64 threads call one module from its first call on, while others load, call and free
// OTHER files; then the process forks again and again, without exec, while threads infer and the pool of threads is
// alive, and each child calls, loads and saves. FILE takes a tensor of 2 x 3 x 16 x 16. Prints what went wrong.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "sconce/api/jit.h"
#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/process_time.h"
#include "sconce/testing/temporary_folder.h"

using namespace sconce;

namespace {

constexpr int kThreads = 64, kCalls = 20, kLoaders = 4;
constexpr int kForks = 40, kComputing = 3;
constexpr auto kChildWaits = std::chrono::seconds(60);  // without computing: for ever

std::atomic<int> wrong{0};

void complain(const char* what) {
  if (wrong.fetch_add(1) < 20) std::printf("%s\n", what);
}

template <class F>
void guarded(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    complain(e.what());
  }
}

std::vector<float> result_of(const jit::Module& module) {
  const Tensor y = module(reshape(div(arange(1536), 512.0), {2, 3, 16, 16})).to_tensor().contiguous();
  return {y.data<float>(), y.data<float>() + y.numel()};
}

void check(const jit::Module& module, const std::vector<float>& expected) {
  if (result_of(module) != expected) complain("a thread got another result");
}

void call_from_many_threads(const std::string& path, const std::vector<std::string>& others) {
  const std::vector<float> expected = result_of(jit::load(path));
  const jit::Module module = jit::load(path);
  std::barrier start(kThreads + kLoaders);
  std::atomic<int> calling{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      guarded([&] {
        for (int k = 0; k < kCalls; ++k) check(module, expected);
      });
      calling.fetch_sub(1);
    });
  }
  for (int i = 0; i < kLoaders; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      guarded([&] {
        for (size_t k = static_cast<size_t>(i); calling.load() > 0; ++k) {
          if (k % 2 == 0) check(jit::load(path), expected);
          jit::load(others[k % others.size()]);
        }
      });
    });
  }
  for (std::thread& t : threads) t.join();
}

// In a child, which has only this thread.
void use_everything(const jit::Module& module, const std::string& path, const std::vector<float>& expected) {
  const testing::TemporaryFolder folder;
  check(module, expected);
  check(jit::load(path), expected);
  module.save(folder.file("saved.pt"));
  check(jit::load(folder.file("saved.pt")), expected);
}

// Ends a child that waits for a lock which nobody gives back. A busy machine, or a sanitizer, makes others slow: how
// long a child takes is no sign.
bool wait_for(pid_t child, int& status) {
  double computed = 0;
  for (auto since = std::chrono::steady_clock::now();;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended != 0) return ended == child;
    const auto now = std::chrono::steady_clock::now();
    if (now - since > kChildWaits) {
      const double before = std::exchange(computed, testing::processor_seconds(child));
      if (computed < before + 0.01) kill(child, SIGKILL);
      since = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void fork_while_computing(const std::string& path) {
  set_num_threads(2);
  const jit::Module module = jit::load(path);
  const std::vector<float> expected = result_of(module);
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kComputing; ++i) {
    threads.emplace_back([&] {
      // Recording gradients locks parameters, which a child would find locked for ever.
      const NoGrad inference;
      guarded([&] {
        while (!ends.load()) {
          check(module, expected);
          sum(ones({1 << 16}));  // by the pool
        }
      });
    });
  }
  for (int i = 0; i < kForks; ++i) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int before = wrong.load();  // of other children: not this one's
      guarded([&] { use_everything(module, path, expected); });
      std::fflush(stdout);
      _exit(wrong.load() != before ? 1 : 0);
    }
    int status = 0;
    if (child < 0 || !wait_for(child, status)) {
      complain("fork failed");
    } else if (WIFSIGNALED(status)) {
      complain(WTERMSIG(status) == SIGKILL ? "a child hangs" : "a child was ended by a signal");
    } else if (WEXITSTATUS(status) != 0) {
      complain("a child failed");
    }
  }
  ends.store(true);
  for (std::thread& t : threads) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: sconce-concurrent FILE OTHER...\n");
    return 2;
  }
  guarded([&] {
    call_from_many_threads(argv[1], {argv + 2, argv + argc});
    fork_while_computing(argv[1]);
  });
  std::printf("%d threads, %d forks: %d wrong\n", kThreads, kForks, wrong.load());
  return wrong.load() != 0;
}
