// Backward on several threads at once. Run under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/checkpoint.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 200;

// Runs f(number of the thread) on threads that start at the same time.
template <class F>
void at_once(F&& f) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      f(i);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Threads, accumulate_into_one_leaf) {
  const Tensor w = leaf({1, 2});
  at_once([&](int) {
    for (int i = 0; i < kRounds; ++i) backward({sum(w * w + w)});
  });
  EXPECT_EQ(text(grad(w)), text(mul(tensor({3, 5}), kThreads * kRounds)));
}

TEST(Threads, run_one_graph) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(exp(x * 0) * x * x);
  at_once([&](int) {
    for (int i = 0; i < kRounds; ++i) backward({y}, {}, {.retain_graph = true});
  });
  EXPECT_EQ(text(grad(x)), text(mul(tensor({2, 4}), kThreads * kRounds)));
}

TEST(Threads, differentiate_one_graph_again) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(x * x * x);
  GradOptions options;
  options.create_graph = true;
  at_once([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const Tensor g = grad({y}, {x}, {}, options)[0];
      EXPECT_EQ(text(grad({sum(g)}, {x}, {}, options)[0]), "tensor([ 6., 12.])");
    }
  });
}

// The base is written after views were taken: the first use of each finds its history anew.
TEST(Threads, find_the_history_of_one_view) {
  GradOptions again;
  again.retain_graph = true;
  for (int i = 0; i < kRounds; ++i) {
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor early = tensor({1, 2, 3, 4}), y = x * 1;
    // Of a base without a history, of one with, and one that has a history already.
    const Tensor views[] = {narrow(early, 0, 1, 2), narrow(y, 0, 1, 2), narrow(y, 0, 2, 2)};
    EXPECT_TRUE(views[2].requires_grad());
    mul_(early, x);
    mul_(y, x);
    at_once([&](int) {
      for (const Tensor& v : views) {
        EXPECT_TRUE(v.requires_grad() && !is_leaf(v));
        EXPECT_EQ(grad_fn(v)->name(), "AsStridedBackward0");
        EXPECT_TRUE(grad_fn(v) == grad_fn(v));
        const Tensor z = sum(v * v);
        EXPECT_TRUE(z.requires_grad());
        EXPECT_EQ(grad({z}, {x}, {}, again).size(), 1u);
      }
    });
    EXPECT_EQ(text(grad({sum(views[0] * 1)}, {x}, {}, again)[0]), "tensor([0., 2., 3., 0.])");
    EXPECT_EQ(text(grad({sum(views[1] * 1)}, {x}, {}, again)[0]), "tensor([0., 4., 6., 0.])");
  }
}

TEST(Threads, free_one_graph) {
  for (int i = 0; i < kRounds; ++i) {
    const Tensor x = leaf({1, 2});
    const Tensor y = sum(x * x * x);
    std::atomic<int> done{0}, refused{0};
    at_once([&](int) {
      try {
        backward({y});
        ++done;
      } catch (const Error&) {  // another one was first
        ++refused;
      }
    });
    EXPECT_GE(done + refused, kThreads);
  }
}

TEST(Threads, drop_accumulators_that_others_look_up) {
  const Tensor w = leaf({1});
  at_once([&](int) {
    for (int i = 0; i < 20 * kRounds; ++i) w* w;  // the last graph to go takes the accumulator with it
  });
  backward({w * w});
  EXPECT_EQ(grad_text(w), "tensor([2.])");
}

TEST(Threads, use_hooks) {
  const Tensor w = leaf({1});
  std::atomic<int> calls{0};
  register_hook(w, [&](const Tensor&) -> Tensor {
    ++calls;
    return {};
  });
  at_once([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if (thread > 0) {
        backward({w * w});
      } else {
        register_hook(w, [](const Tensor&) -> Tensor { return {}; }).remove();
      }
    }
  });
  EXPECT_EQ(calls, (kThreads - 1) * kRounds);
}

TEST(Threads, take_views_of_one_leaf) {
  const Tensor w = leaf({1, 2});
  at_once([&](int) {
    for (int i = 0; i < kRounds; ++i) backward({sum(view(w, {2, 1}) * 2) + select(w, 0, 1)});
  });
  EXPECT_EQ(text(grad(w)), text(mul(tensor({2, 3}), kThreads * kRounds)));
}

TEST(Threads, find_the_new_history_of_one_view) {
  for (int i = 0; i < kRounds; ++i) {
    const Tensor x = leaf({1, 2});
    const Tensor base = x * 1, part = select(base, 0, 0);
    mul_(base, 3);  // part's history is out of date
    at_once([&](int) { backward({part * 2}, {}, {.retain_graph = true}); });
    EXPECT_EQ(text(grad(x)), text(mul(tensor({6, 0}), kThreads)));
  }
}

TEST(Threads, nest) {
  const Tensor w = leaf({1});
  at_once([&](int) {
    const Tensor y = w * 2;
    register_hook(y, [&](const Tensor&) -> Tensor {
      const EnableGrad on;
      backward({w * 3});
      return {};
    });
    backward({y});
  });
  EXPECT_EQ(text(grad(w)), text(tensor({5 * kThreads})));
}

TEST(Threads, checkpoint_over_shared_leaves) {
  const Tensor w = leaf({2});
  const auto f = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * w * w}; };
  const Tensor shared = checkpoint(f, {leaf({1})})[0];
  at_once([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      backward({checkpoint(f, {leaf({1})})[0]});
      backward({shared}, {}, {.retain_graph = true});
    }
  });
  EXPECT_EQ(text(grad(w)), text(tensor({8.0f * kThreads * kRounds})));
}

}  // namespace
}  // namespace sconce::autograd
