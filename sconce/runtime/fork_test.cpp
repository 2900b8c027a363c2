// fork, wait, awaitables, and many threads in one program.
#include <gtest/gtest.h>

#include <thread>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

TEST(Fork, RunsAndWaits) {
  EXPECT_EQ(run_text(R"(graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  %one : int = prim::Constant[value=1]()
  %y : int = aten::add(%x, %one)
  %z : int = aten::wait(%f)
  %r : int = aten::add(%y, %z)
  return (%r)
with prim::fork_0 = graph(%x : int):
  %two : int = prim::Constant[value=2]()
  %y : int = aten::mul(%x, %two)
  return (%y)
)",
                     {int64_t{10}})
                .to_int(),
            31);
}

TEST(Fork, InsideOfForks) {
  EXPECT_EQ(run_text(R"(graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  %z : int = aten::wait(%f)
  return (%z)
with prim::fork_0 = graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  %g : Future[int] = prim::fork_1(%x)
  %a : int = aten::wait(%f)
  %b : int = aten::wait(%g)
  %y : int = aten::mul(%a, %b)
  return (%y)
with prim::fork_0 = graph(%x : int):
  %two : int = prim::Constant[value=2]()
  %y : int = aten::add(%x, %two)
  return (%y)
with prim::fork_1 = graph(%x : int):
  %two : int = prim::Constant[value=2]()
  %y : int = aten::sub(%x, %two)
  return (%y)
)",
                     {int64_t{10}})
                .to_int(),
            96);
}

// Each waits for the one before: more than threads, deeper than a stack should go.
TEST(Fork, LongChainsOfFutures) {
  constexpr const char* text = R"(graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %first : Future[int] = prim::fork_0(%zero)
  %last : Future[int] = prim::Loop(%n, %go, %first)
    block0(%i : int, %before : Future[int]):
      %f : Future[int] = prim::fork_1(%before)
      -> (%go, %f)
  %z : int = aten::wait(%last)
  return (%z)
with prim::fork_0 = graph(%x : int):
  return (%x)
with prim::fork_1 = graph(%before : Future[int]):
  %x : int = aten::wait(%before)
  %one : int = prim::Constant[value=1]()
  %y : int = aten::add(%x, %one)
  return (%y)
)";
  EXPECT_EQ(run_text(text, {int64_t{500}}).to_int(), 500);
}

TEST(Fork, ErrorsArriveAtTheWait) {
  const std::string text = testing::error_of([] {
    run_text(R"(graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  %z : int = aten::wait(%f)
  return (%z)
with prim::fork_0 = graph(%x : int):
  %one : int = prim::Constant[value=1]()
  %y : int = aten::floordiv(%one, %x)
  return (%y)
)",
             {int64_t{0}});
  });
  EXPECT_EQ(text,
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\n"
            "RuntimeError: The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\n"
            "RuntimeError: division by 0\n\n");
}

// Two tasks of n turns each, and n turns beside them. They count the turns.
constexpr const char* kThreeLoops = R"(graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %f : Future[int] = prim::fork_0(%n)
  %a : Await(int) = prim::awaitable_1(%n)
  %w : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %one)
      -> (%go, %t)
  %x : int = aten::wait(%f)
  %y : int = prim::awaitable_wait(%a)
  %z : int = aten::add(%x, %y)
  %r : int = aten::add(%z, %w)
  return (%r)
with prim::fork_0 = graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %w : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %one)
      -> (%go, %t)
  return (%w)
with prim::awaitable_1 = graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %w : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %one)
      -> (%go, %t)
  return (%w)
)";

TEST(Fork, TasksDrawFromTheBudgetOfTheirRun) {
  const auto run_in = [](int64_t n) {
    const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 300}));
    return run_text(kThreeLoops, {n}).to_int();
  };
  EXPECT_EQ(run_in(100), 300);
  EXPECT_ERROR(run_in(101), "the step limit of 300 (loop iterations and calls) is used up");
  EXPECT_ERROR(run_in(1'000'000'000'000), "the step limit of 300 (loop iterations and calls) is used up");
}

TEST(Fork, TasksEndWithTheirRun) {
  const auto budget = std::make_shared<Budget>(Limits{});
  const BudgetScope scope(budget);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    budget->cancel();
  });
  constexpr const char* endless = R"(graph(%n : int):
  %f : Future[int] = prim::fork_0(%n)
  %x : int = aten::wait(%f)
  return (%x)
with prim::fork_0 = graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %w : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %one)
      -> (%go, %t)
  return (%w)
)";
  EXPECT_ERROR(run_text(endless, {int64_t{1'000'000'000'000'000}}), "the call: was cancelled");
  later.join();
}

TEST(Fork, AFutureMayOutliveItsProgram) {
  Value future;
  {
    Program p;
    future = p.call(p.add("f", R"(graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  return (%f)
with prim::fork_0 = graph(%x : int):
  %y : int = aten::add(%x, %x)
  return (%y)
)")
                        .name(),
                    {int64_t{4}});
  }
  try {
    EXPECT_EQ(future.to_future().value().to_int(), 8);
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the program that was forked is gone");
  }
}

TEST(Await, IsEvaluatedByTheFirstWait) {
  constexpr const char* text = R"(graph(%l : int[]):
  %a : Await(int) = prim::awaitable_0(%l)
  %one : int = prim::Constant[value=1]()
  %x : int[] = aten::append(%l, %one)
  %y : int = prim::awaitable_wait(%a)
  %z : int = prim::awaitable_wait(%a)
  %r : int = aten::add(%y, %z)
  return (%r)
with prim::awaitable_0 = graph(%l : int[]):
  %n : int = aten::len(%l)
  return (%n)
)";
  EXPECT_EQ(run_text(text, {Value(IntList({7}))}).to_int(), 4);
}

TEST(Threads, ShareOneProgram) {
  Program p;
  const TypePtr type = p.add_class("__torch__.M", {{"w", tensor_type()}}, true);
  ir::Function& step = p.add_method(type, "step", R"(graph(%self : __torch__.M, %x : Tensor):
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
)");
  (void)step;
  p.add_method(type, "forward", R"(graph(%self : __torch__.M, %x : Tensor, %n : int):
  %go : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %go, %x)
    block0(%i : int, %v : Tensor):
      %u : Tensor = prim::CallMethod[name="step"](%self, %v)
      -> (%go, %u)
  %f : Future[Tensor] = prim::fork_0(%y)
  %r : Tensor = aten::wait(%f)
  return (%r)
with prim::fork_0 = graph(%x : Tensor):
  %y : Tensor = aten::neg(%x)
  return (%y)
)");
  auto o = make_ref<Object>(type);
  o->set_attr("w", scalar_tensor_of(2.0, DType::float32));
  const Value object(o);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) {
        const Value r =
            p.call("__torch__.M.forward", {object, scalar_tensor_of(double(t), DType::float32), int64_t{10}});
        wrong += item_of(r.to_tensor()).to_double() != -1024.0 * t;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(o->count.owners(), 2u);
}

}  // namespace
}  // namespace sconce::runtime
