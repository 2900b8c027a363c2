// bench-plans: what plans cost beside their kernels. The least of many short turns, so that neighbours on the machine
// disturb little.
//
//   bench-plans [TURNS]
//
//   call        a plan of one kernel on 8 floats, called from C++ and the result dropped; with 1, 2 and 10 tensors
//   guards      the comparison of a call's arguments with those that its plan is for, alone
//   new size    a module of 50 Linear and ReLU layers called with a batch size that it has not seen: the first call (by
//               the interpreter), the second, which makes the plan, and what the third costs
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sconce/executor/calls/call_match.h"
#include "sconce/executor/function_plans.h"
#include "sconce/sconce.hpp"

namespace {

using namespace sconce;
using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Of one call of f: the least mean over turns.
template <class F>
double least(int turns, int calls, F&& f) {
  double best = 1e300;
  for (int turn = 0; turn < turns; ++turn) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) f();
    best = std::min(best, nanoseconds(start) / calls);
  }
  return best;
}

void calls(int turns) {
  auto unit = jit::compile(
      "def one(a: Tensor):\n    return torch.relu(a)\n"
      "def two(a: Tensor, b: Tensor):\n    return a + b\n"
      "def three(a: Tensor):\n    return torch.relu(torch.neg(torch.relu(a)))\n"
      "def ten(a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, f: Tensor, g: Tensor, h: Tensor, i: Tensor, "
      "j: Tensor):\n    return torch.relu(j)\n");
  std::vector<Tensor> t;
  for (int i = 0; i < 10; ++i) t.push_back(ones({8}));
  const jit::Function one = unit.function("one"), two = unit.function("two"), three = unit.function("three"),
                      ten = unit.function("ten");
  const auto call_ten = [&] { return ten(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9]); };
  for (int i = 0; i < 3; ++i) {
    one(t[0]);
    two(t[0], t[1]);
    three(t[0]);
    call_ten();
  }
  std::printf("eager relu of 8 floats                    %8.1f ns\n", least(turns, 1000, [&] { relu(t[0]); }));
  std::printf("plan of relu                              %8.1f ns\n", least(turns, 1000, [&] { one(t[0]); }));
  std::printf("plan of a + b                             %8.1f ns\n", least(turns, 1000, [&] { two(t[0], t[1]); }));
  std::printf("plan of three operators                   %8.1f ns\n", least(turns, 1000, [&] { three(t[0]); }));
  std::printf("plan of relu, ten tensors                 %8.1f ns\n", least(turns, 1000, call_ten));
  std::vector<Value> args(t.begin(), t.end());
  const auto match = executor::CallMatch::make(args);
  uint64_t held = 0;
  std::printf("guards of ten tensors                     %8.1f ns\n", least(turns, 1000, [&] {
                executor::MatchedTensors found;
                held += match->holds(args, true, found);
              }));
  const std::vector<Tensor> planes = [] {
    std::vector<Tensor> made;
    for (int i = 0; i < 10; ++i) made.push_back(ones({2, 3, 4, 5}));
    return made;
  }();
  const std::vector<Value> images(planes.begin(), planes.end());
  const auto of_images = executor::CallMatch::make(images);
  std::printf("guards of ten tensors of four dimensions  %8.1f ns\n", least(turns, 1000, [&] {
                executor::MatchedTensors found;
                held += of_images->holds(images, true, found);
              }));
  if (held == 0) std::abort();
}

void new_sizes() {
  std::string text =
      "class MLP(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.layers = nn.Sequential(";
  for (int i = 0; i < 50; ++i) text += "nn.Linear(64, 64), nn.ReLU(), ";
  text += ")\n    def forward(self, x: Tensor) -> Tensor:\n        return self.layers(x)\n";
  auto unit = jit::compile(text);
  const auto mlp = unit.module("MLP");
  mlp.eval();
  const NoGrad quiet;
  const Tensor one = rand({1, 64});
  for (int i = 0; i < 3; ++i) mlp(one);
  double first = 1e300, second = 1e300, third = 1e300;
  for (int64_t batch = 2; batch < 100; ++batch) {
    const Tensor x = rand({batch, 64});
    for (double* time : {&first, &second, &third}) {
      const Clock::time_point start = Clock::now();
      mlp(x);
      *time = std::min(*time, nanoseconds(start));
    }
  }
  std::printf("MLP-50, batch 1, planned                  %8.2f us\n", least(200, 20, [&] { mlp(one); }) / 1000);
  std::printf("MLP-50, a new batch size: first call      %8.1f us\n", first / 1000);
  std::printf("                          second call     %8.1f us\n", second / 1000);
  std::printf("                          third call      %8.1f us\n", third / 1000);
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 300;
  set_num_threads(1);
  calls(turns);
  new_sizes();
}
