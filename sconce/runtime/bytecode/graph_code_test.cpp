#include "sconce/runtime/bytecode/graph_code.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "sconce/runtime/fork.h"
#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

// Counts how often each node runs, and remembers the last value of its first output.
struct Watch : Observer {
  explicit Watch(const GraphCode& code) : graph(code) {}
  void before(const Code& code, size_t instruction, const Value* registers) override {
    const std::lock_guard lock(mutex);
    if (last && last_code == &code && !last->results.empty() && last->results[0]) {
      seen[last->node->kind().text()] = registers[*last->results[0]].repr();
    }
    const NodeSite* site = graph.site_of(code, instruction);
    if (site && site->first == instruction) ++counts[site->node->kind().text()];
    last = site;
    last_code = &code;
  }
  void enter(const Code& code) override {
    const std::lock_guard lock(mutex);
    events.push_back("enter " + code.name);
  }
  void leave(const Code& code) override {
    const std::lock_guard lock(mutex);
    events.push_back("leave " + code.name);
  }
  const GraphCode& graph;
  std::mutex mutex;
  const NodeSite* last = nullptr;
  const Code* last_code = nullptr;
  std::unordered_map<std::string, int> counts;
  std::unordered_map<std::string, std::string> seen;
  std::vector<std::string> events;
};

TEST(GraphCode, SaysWhichNodeRuns) {
  const auto graph = ir::parse_graph(R"(graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %go : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %go, %x)
    block0(%i : int, %v : Tensor):
      %w : Tensor = aten::add(%v, %one, %one)
      -> (%go, %w)
  %z : Tensor = aten::neg(%y)
  return (%z)
)");
  ir::CompilationUnit unit;
  const GraphCode code(*graph, "f", &unit, false);
  Watch watch(code);
  RunOptions options;
  options.observer = &watch;
  std::vector<Value> args{scalar_tensor_of(1.0, DType::float32), int64_t{3}};
  EXPECT_EQ(code.run(args, options).repr(), "tensor(-4.)");
  EXPECT_EQ(watch.counts["aten::add"], 3);
  EXPECT_EQ(watch.counts["aten::neg"], 1);
  EXPECT_EQ(watch.seen["aten::neg"], "tensor(-4.)");
  EXPECT_EQ(watch.events, (std::vector<std::string>{"enter f", "leave f"}));
  EXPECT_ERROR(code.run({}, options), "the graph of f takes 2 values, got 0");
}

TEST(GraphCode, SeesForksAndErrors) {
  const auto graph = ir::parse_graph(R"(graph(%x : int):
  %f : Future[int] = prim::fork_0(%x)
  %z : int = aten::wait(%f)
  return (%z)
with prim::fork_0 = graph(%x : int):
  %one : int = prim::Constant[value=1]()
  %y : int = aten::floordiv(%one, %x)
  return (%y)
)");
  ir::CompilationUnit unit;
  const GraphCode code(*graph, "f", &unit, false);
  Watch watch(code);
  RunOptions options;
  options.observer = &watch;
  std::vector<Value> one{int64_t{1}}, zero{int64_t{0}};
  EXPECT_EQ(code.run(one, options).to_int(), 1);
  EXPECT_EQ(watch.counts["aten::floordiv"], 1);
  EXPECT_EQ(watch.events.size(), 4u);
  EXPECT_ERROR(code.run(zero, options), "division");
  finish_tasks(&unit);
  EXPECT_EQ(std::count(watch.events.begin(), watch.events.end(), "enter f"), 2);
  EXPECT_EQ(std::count(watch.events.begin(), watch.events.end(), "leave f"), 2);
  EXPECT_EQ(std::count(watch.events.begin(), watch.events.end(), "leave <forked function>"), 2);
}

}  // namespace
}  // namespace sconce::runtime
