// sconce-shared-plans SECONDS: eight threads call the same functions, in sizes of their own choice, for so long. Plans
// are made, found, run and dropped while others run them; between rounds, when all threads stand still, a weight is
// written, so that every plan of the round before is stale. Every result has to have the interpreter's bits. Under
// ThreadSanitizer it shows what threads share and should not. Prints what went wrong.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "sconce/api/jit.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/parallel.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"

using namespace sconce;

namespace {

constexpr int kThreads = 8;
constexpr int kCalls = 60;  // of each thread in a round
constexpr int64_t kBatches[] = {1, 2, 3, 5};

// Products and convolutions with packed weights, chains of pointwise operators, views, writes, ordinary calls, a loop
// over an attribute, results that are lists: each part of a plan.
constexpr const char* kText = R"(
class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(48, 32)
        self.b = nn.Linear(32, 48)
        self.norm = nn.LayerNorm(48)
        self.times = 2

    def forward(self, x):
        for _ in range(self.times):
            x = self.norm(x.flatten(1) + self.b(torch.tanh(self.a(x.flatten(1)))))
        y = torch.sigmoid(x) * x + x.abs()
        return [y, y.softmax(1), y.sort(1)[0]]

class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.b = nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x):
        y = F.relu(self.norm(self.a(x)))
        z = self.b(y) + y
        z[:, 0].mul_(0.5)
        return [z, F.max_pool2d(y, 2), z.mean([2, 3])]
)";

std::atomic<int> wrong{0};

void complain(const char* what) {
  if (wrong.fetch_add(1) < 20) std::printf("%s\n", what);
}

struct Subject {
  jit::Module module;
  Tensor weight;                                   // one that rounds write to
  std::vector<std::vector<Tensor>> expected = {};  // for each batch: results, then the gradient of the input
};

Tensor input(int64_t batch) {
  return sub(div(remainder(arange(batch * 48), 31.0), 8.0), 2.0).reshape({batch, 3, 4, 4}).to(DType::float32);
}

std::vector<Tensor> results(const Value& list) {
  std::vector<Tensor> all;
  for (const Value& v : list.to_list().values()) all.push_back(v.to_tensor());
  return all;
}

std::vector<Tensor> call(const Subject& subject, int64_t batch) {
  const NoGrad without_gradients;
  return results(subject.module(input(batch)));
}

// The same call while gradients are recorded: regions and their derivatives are planned, too.
Tensor gradient(const Subject& subject, int64_t batch) {
  const Tensor x = input(batch);
  x.requires_grad_(true);
  return autograd::grad({sum(results(subject.module(x))[0])}, {x})[0];
}

void check(const Subject& subject, size_t which, bool differentiated) {
  const std::vector<Tensor>& expected = subject.expected[which];
  std::vector<Tensor> got;
  if (differentiated)
    got = {gradient(subject, kBatches[which])};
  else
    got = call(subject, kBatches[which]);
  for (size_t i = 0; i < got.size(); ++i) {
    if (testing::compare_same_bits(got[i], expected[differentiated ? expected.size() - 1 : i]))
      complain(differentiated ? "a thread got another gradient" : "a thread got another result");
  }
}

// What the interpreter gives, after a weight was written: plans that were made before must not run.
void begin_round(Subject& subject, int round) {
  const NoGrad without_gradients;
  add_(select(subject.weight, 0, round % subject.weight.size(0)), 0.125);
  executor::set_plans_enabled(false);
  subject.expected.clear();
  for (const int64_t batch : kBatches) {
    subject.expected.push_back(call(subject, batch));
    const EnableGrad with_gradients;
    subject.expected.back().push_back(gradient(subject, batch));
  }
  executor::set_plans_enabled(true);
}

uint64_t runs_of_plans(const Subject& subject) {
  const NoGrad without_gradients;
  uint64_t runs = 0;
  for (const executor::PlanText& plan : executor::plans_of(subject.module.get_method("forward").function()))
    runs += plan.runs;
  return runs;
}

void run_round(const std::vector<Subject>& subjects, int round) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(round * kThreads + t + 1));
      try {
        for (int k = 0; k < kCalls; ++k) {
          const Subject& subject = subjects[random() % subjects.size()];
          check(subject, random() % std::size(kBatches), random() % 4 == 0);
          if (t == 0 && k % 16 == 15) {  // somebody looks at them, and forgets them
            runs_of_plans(subject);
            for (const bool on : {false, true}) {  // calls that record gradients have code, and plans, of their own
              const GradMode mode(on);
              executor::drop_plans(subject.module.get_method("forward").function());
            }
          }
        }
      } catch (const std::exception& e) {
        complain(e.what());
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc == 2 ? std::atof(argv[1]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: sconce-shared-plans SECONDS\n");
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  int rounds = 0;
  uint64_t planned = 0;
  try {
    jit::CompilationUnit unit = jit::compile(kText);
    std::vector<Subject> subjects;
    for (const char* name : {"Dense", "Images"}) {
      const jit::Module module = unit.module(name);
      module.eval();
      subjects.push_back({module, module.parameters().front()});
    }
    while (rounds < 2 || std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
      set_num_threads(rounds % 2 + 1);  // alone, and with the pool that all share
      for (Subject& subject : subjects) begin_round(subject, rounds);
      run_round(subjects, rounds++);
      for (const Subject& subject : subjects) planned += runs_of_plans(subject);
    }
  } catch (const std::exception& e) {
    complain(e.what());
  }
  if (planned == 0) complain("no plan has run");
  std::printf("%d threads, %d calls in %d rounds: %d wrong\n", kThreads, rounds * kThreads * kCalls, rounds,
              wrong.load());
  return wrong.load() != 0;
}
