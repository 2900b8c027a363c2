#include "sconce/testing/conformance/suite.h"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/testing/conformance/case_builder.h"
#include "sconce/testing/conformance/isolated_run.h"
#include "sconce/testing/conformance/tracked_lists.h"
#include "sconce/testing/sanitizers.h"

namespace sconce::testing {
namespace {

// Computes a little and rests, as on a machine that others use: 0.2 seconds of processor time in a second.
void dawdle() {
  for (int i = 0; i < 12; ++i) {
    for (const std::clock_t since = std::clock(); std::clock() - since < CLOCKS_PER_SEC / 64;) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
}

// testing_suite::act(Tensor self, str what) -> Tensor: returns self, or misbehaves as told.
void act(const Op&, KeySet, Value* args, Value* returns) {
  const std::string what = args[1].to_string_ref();
  if (what == "abort") ::raise(SIGABRT);
  if (what == "segfault") ::raise(SIGSEGV);
  if (what == "exit") ::_exit(3);
  if (what == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (what == "dawdle") dawdle();
  if (what == "throw") fail("act: told to throw");
  if (what == "write") args[0].to_tensor().data<float>()[0] = 9;
  returns[0] = args[0];
}

void define_act() {
  if (find_op("testing_suite::act") != nullptr) return;
  Op& op = define_op("testing_suite::act(Tensor self, str what) -> Tensor");
  op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(&act));
}

std::string act_case(const std::string& what, const std::string& out = "t0") {
  return R"({"op": "testing_suite::act", "args": [{"t": "t0"}, ")" + what + R"("], "kwargs": {}, "out": {"t": ")" +
         out + "\"}}";
}

CaseBuilder two_tensors() { return CaseBuilder().tensor("t0", {2}, {1, 2}).tensor("t1", {2}, {1, 3}); }

std::vector<CaseRecord> run_file(const std::string& path, SuiteOptions options = {}) {
  return run_suite(find_cases(path), options).at(0).cases;
}

TEST(Suite, CrashesAndHangsAreFailuresOfTheirCase) {
  define_act();
  std::string cases;
  for (const char* what : {"pass", "abort", "segfault", "exit", "hang", "throw", "write"}) {
    cases += (cases.empty() ? "[" : ", ") + act_case(what);
  }
  cases += ", " + act_case("differ", "t1") + ", " + act_case("pass") + "]";
  SuiteOptions options;
  options.time_limit = std::chrono::milliseconds(1000);
  const std::vector<CaseRecord> records = run_file(two_tensors().write(cases, "act.safetensors"), options);
  ASSERT_EQ(records.size(), 9u);
  EXPECT_EQ(records[0].result.status, Status::passed);
  EXPECT_EQ(records[4].result.reason, "no end after 1 s");
  EXPECT_NE(records[5].result.reason.find("act: told to throw"), std::string::npos);
  EXPECT_EQ(records[6].result.status, Status::failed);
  EXPECT_EQ(records[7].result.reason,
            "output 0: at [1] got 2, expected 3; 1 of 2 elements differ, by 1 at most, at [1]");
  EXPECT_EQ(records[8].result.status, Status::passed) << "the worker was replaced";
  EXPECT_EQ(records[3].result.reason, "exited with status 3");
  EXPECT_EQ(records[1].result.reason, "died of SIGABRT");
#if !SCONCE_UNDER_ASAN && !SCONCE_UNDER_TSAN
  EXPECT_EQ(records[2].result.reason, "died of SIGSEGV");
#else
  EXPECT_EQ(records[2].result.status, Status::failed);
#endif
}

TEST(Suite, SlownessIsNoHang) {
  define_act();
  SuiteOptions options;
  options.time_limit = std::chrono::milliseconds(300);
  const std::string path = two_tensors().write("[" + act_case("dawdle") + "]", "slow.safetensors");
  EXPECT_EQ(run_file(path, options).at(0).result.status, Status::passed);
}

TEST(Suite, SkipsWhatCannotRunAndSaysWhy) {
  const std::string missing = R"({"op": "testing_suite::nowhere.x", "args": [], "kwargs": {}, "out": null})";
  const std::string path = two_tensors().write("[" + missing + "]", "a.safetensors");
  const std::string folder = std::filesystem::path(path).parent_path();
  std::ofstream(folder + "/b.safetensors") << CaseBuilder().bytes(R"([{"expr": "1 + 1"}])");
  std::ofstream(folder + "/c.safetensors") << "junk";
  std::ofstream(folder + "/d.safetensors") << CaseBuilder().bytes(R"([{"color": "red"}])");
  std::ofstream(folder + "/e.safetensors")
      << CaseBuilder().bytes(R"([{"name": "e", "how": "", "graph": ""}, {"inputs": []}])");
  std::ofstream(folder + "/e.pt") << "program";
  std::ofstream(folder + "/notes.txt") << "text";
  const std::vector<CaseRecord> records = run_file(folder);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[0].result.reason, "operator missing: testing_suite::nowhere.x");
  EXPECT_EQ(records[1].result.reason, "kind not supported yet: facts");
  EXPECT_EQ(records[2].result.status, Status::failed) << "corrupt";
  EXPECT_EQ(records[3].result.reason, "kind not known");
  EXPECT_EQ(records[4].result.status, Status::failed) << "its archive is none";
  EXPECT_EQ(records[4].id, std::filesystem::path(folder).filename().string() + "/e.safetensors#1");
  EXPECT_EQ(records[5].result.reason, "not a case file: notes.txt");
  EXPECT_THROW(find_cases(folder + "/nowhere"), Error);
}

TEST(Suite, BrokenCasesFail) {
  define_act();
  const std::string cases = "[" + act_case("pass") + R"(, {"op": "testing_suite::act"}, )" +
                            R"({"op": "testing_suite::act", "args": [{"t": "gone"}, ""], "kwargs": {}, "out": null}])";
  const std::vector<CaseRecord> records = run_file(two_tensors().write(cases, "broken.safetensors"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].result.reason, "the case needs op, args, kwargs and out");
  EXPECT_NE(records[2].result.reason.find("has no tensor 'gone'"), std::string::npos);
}

TEST(Suite, SelectsOperators) {
  EXPECT_TRUE(selects("add", "aten::add.Tensor"));
  EXPECT_TRUE(selects("add.Tensor", "aten::add.Tensor"));
  EXPECT_TRUE(selects("aten::add.Tensor", "aten::add.Tensor"));
  EXPECT_TRUE(selects("aten::add", "aten::add.Tensor"));
  EXPECT_FALSE(selects("add.Scalar", "aten::add.Tensor"));
  EXPECT_FALSE(selects("ad", "aten::add.Tensor"));
  EXPECT_FALSE(selects("prims::add", "aten::add.Tensor"));
}

TEST(Suite, GradientsAlone) {
  define_act();
  const std::string cases =
      R"([{"op": "testing_suite::act", "args": [{"t": "t0"}, "pass"], "kwargs": {}, "out": {"t": "t0"},
                                "grad": {"inputs": [1], "outputs": [], "cotangents": [], "grads": []}}, )" +
      act_case("pass") + "]";
  SuiteOptions options;
  options.run.grad_only = true;
  const std::vector<CaseRecord> records = run_file(two_tensors().write(cases, "g.safetensors"), options);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].result.reason, "there is no tensor 1 among 1 of the arguments");
}

TEST(IsolatedRun, ManyJobsOnFewWorkers) {
  const std::vector<size_t> steps{3, 0, 1, 5, 2};
  size_t reports = 0;
  IsolatedRun run;
  run.workers = 3;
  run.run = [](size_t job, size_t step) {
    if (job == 3 && step % 2 == 1) std::abort();
    return std::to_string(job * 10 + step) + std::string(100'000, 'x');
  };
  run.report = [&](size_t job, size_t step, const std::string& text, const std::string& crash) {
    ++reports;
    if (job == 3 && step % 2 == 1)
      EXPECT_EQ(crash, "died of SIGABRT");
    else
      EXPECT_EQ(text, std::to_string(job * 10 + step) + std::string(100'000, 'x'));
  };
  run_isolated(steps, run);
  EXPECT_EQ(reports, 11u);
}

std::vector<FolderRecord> results(Status first, Status second) {
  return {{"ops",
           {{"ops/a.safetensors#0", "aten::a", false, {first, "r"}},
            {"ops/b.safetensors#0", "aten::b", false, {second, "r"}}}}};
}

std::string list_file(const std::string& text) {
  const std::string path = CaseBuilder().write("[]", "list.txt");
  std::ofstream(path) << text;
  return path;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TrackedLists, KnownFailures) {
  const std::string path = list_file("# known\nops/a.safetensors#0  rounds otherwise\n");
  const KnownFailures list = KnownFailures::open(path);
  auto failing = results(Status::failed, Status::failed);
  list.apply(failing, true);
  EXPECT_EQ(failing[0].cases[0].result.reason, "known failure: rounds otherwise");
  EXPECT_EQ(failing[0].cases[1].result.status, Status::failed);
  auto passing = results(Status::passed, Status::passed);
  list.apply(passing, true);
  EXPECT_EQ(passing[0].cases[0].result.status, Status::failed);
  std::vector<FolderRecord> none{{"ops", {}}};
  list.apply(none, false);
  EXPECT_TRUE(none[0].cases.empty());
  list.apply(none, true);
  EXPECT_EQ(none[0].cases.at(0).result.status, Status::failed) << "a line without its case";
  list.drop_passing(results(Status::failed, Status::passed));
  EXPECT_NE(content(path).find("ops/a"), std::string::npos);
  list.drop_passing(results(Status::passed, Status::passed));
  EXPECT_EQ(content(path), "# known\n");
  EXPECT_THROW(KnownFailures::open(list_file("ops/a.safetensors#0\n")), Error) << "no reason";
  EXPECT_THROW(KnownFailures::open(list_file("a  r\na  r\n")), Error) << "twice";
  EXPECT_THROW(KnownFailures::open("/nowhere/list.txt"), Error);
}

TEST(TrackedLists, SupportedOperators) {
  const std::string path = list_file("# supported\naten::b\n");
  const SupportedOperators list = SupportedOperators::open(path);
  auto missing = results(Status::skipped, Status::skipped);
  for (CaseRecord& c : missing[0].cases) c.result.reason = "operator missing: " + c.subject;
  list.apply(missing);
  EXPECT_EQ(missing[0].cases[0].result.status, Status::skipped);
  EXPECT_EQ(missing[0].cases[1].result.status, Status::failed);
  list.add_running(results(Status::failed, Status::skipped));
  EXPECT_EQ(content(path), "# supported\naten::a\naten::b\n");
}

}  // namespace
}  // namespace sconce::testing
