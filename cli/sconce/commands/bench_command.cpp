// sconce bench FILE [INPUT...]: how long a program takes, and how much memory.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/model_file.h"
#include "files/run_device.h"
#include "sconce/api/deep_copy.h"
#include "sconce/executor/function_plans.h"
#include "sconce/tensor/memory/allocator.h"
#include "sconce/tensor/memory/allocator_stats.h"
#include "text/json.h"
#include "text/progress.h"
#include "text/table.h"
#include "text/units.h"
#include "threads.h"

namespace sconce::cli {
namespace {

constexpr size_t kFewestRuns = 5;         // when time decides
constexpr size_t kMostRuns = 10'000'000;  // 80 MB of times

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> against;
  std::string method, device;
  std::vector<int> threads;
  size_t warm_up = 3, repeat = 0;
  double seconds = 2;
  bool json = false, plan = false;
};

constexpr const char* kDescription =
    "Measures a program: how long it takes to load and to run, and how much memory it needs. Each row is loaded anew,\n"
    "called once (the first call compiles), warmed up, then timed call by call.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sconce bench resnet18.pt --random 1x3x224x224\n"
    "  sconce bench resnet18.pt --random 1x3x224x224 --threads 1,2 --seconds 10\n"
    "  sconce bench old.pt --against new.pt x.npy --repeat 200 --json\n"
    "  sconce bench resnet18.pt --random 1x3x224x224 --plan";

struct Row {
  std::string file;
  int threads = 0;
  double load = 0, first = 0;
  std::vector<double> seconds;  // sorted
  uint64_t peak_rss = 0, peak_allocated = 0;
  std::vector<executor::PlanText> plans;
  std::string unplanned;  // why there is none

  double mean() const {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  }
  // The smallest time that this share of the runs did not exceed.
  double percentile(double p) const {
    const auto rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(seconds.size())));
    return seconds[std::clamp<size_t>(rank, 1, seconds.size()) - 1];
  }
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The most memory that the process had in use, since the last reset; 0 where the system does not say.
uint64_t peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}
void reset_peaks() {
  release_cached_memory();
  reset_allocator_peak();
  std::ofstream("/proc/self/clear_refs") << "5";  // a system that does not know it keeps the higher peak
}

CallValues copy_of(const CallValues& values) {
  CallValues copy = values;
  for (Value& v : copy.args) v = jit::deep_copy(v);
  for (auto& [name, v] : copy.kwargs) v = jit::deep_copy(v);
  return copy;
}

double timed_call(const ModelFile& model, const Options& o, const CallValues& inputs, Device device) {
  CallValues copy = copy_of(inputs);  // a call may write to its inputs
  const double start = now();
  const Value result = model.call(o.method, std::move(copy.args), std::move(copy.kwargs));
  wait_for_device(device);
  return now() - start;
}

// Calls that take the time of each step of a plan: some hundred, or what fits into a quarter of a second.
void time_steps(const ModelFile& model, const Options& o, const CallValues& inputs, Device device) {
  const executor::StepTiming timing;
  const double end = now() + 0.25;
  for (int i = 0; i < 200 && (i < 3 || now() < end); ++i) timed_call(model, o, inputs, device);
}

Row measure(const std::string& file, int threads, const Options& o) {
  reset_peaks();
  Row row;
  row.file = file;
  row.threads = threads;
  start_threads(threads);
  const Device chosen = chosen_device(o.device);
  ModelOptions options = o.model;
  options.file = file;
  options.device_index = chosen.index;
  const double start = now();
  const ModelFile model(options);
  row.load = now() - start;
  const Device device = device_of_program(model, o.device, chosen);
  CallValues inputs = read_inputs(o.inputs, model, o.method);
  move_to_device(model, inputs, device);
  row.first = timed_call(model, o, inputs, device);
  for (size_t i = 0; i < o.warm_up; ++i) timed_call(model, o, inputs, device);

  const std::string what =
      fmt::format("{}, {} thread{}", file.substr(file.rfind('/') + 1), threads, threads == 1 ? "" : "s");
  Progress progress(what, 0, !o.json);
  const double begin = now();
  for (;;) {
    const double elapsed = now() - begin;
    const size_t runs = row.seconds.size();
    if (o.repeat ? runs >= o.repeat : (runs >= kFewestRuns && elapsed >= o.seconds) || runs >= kMostRuns) break;
    if (o.repeat) {
      progress.update(runs, o.repeat);
    } else {
      progress.update(static_cast<uint64_t>(1e3 * elapsed), static_cast<uint64_t>(1e3 * o.seconds) + 1);
    }
    row.seconds.push_back(timed_call(model, o, inputs, device));
  }
  std::sort(row.seconds.begin(), row.seconds.end());
  row.peak_rss = peak_resident();
  row.peak_allocated = allocator_stats().peak;
  if (o.plan) time_steps(model, o, inputs, device);
  if (o.plan) row.plans = executor::plans_of(model.method(o.method).function(), &row.unplanned);
  return row;
}

void print_plans(const Row& row) {
  if (row.plans.empty()) {
    fmt::print("\n{}: no plan{}{}\n", row.file, row.unplanned.empty() ? "" : ": ", row.unplanned);
  }
  for (const executor::PlanText& plan : row.plans) {
    fmt::print("\n{}: a plan of {} steps and {} guards, {} of memory, {} runs\n", row.file, plan.steps, plan.guards,
               bytes_text(plan.arena_bytes), count_text(plan.runs));
    for (const executor::StepText& step : plan.list) {
      const size_t line = std::min(step.text.find('\n'), step.text.size());
      fmt::print("{:>7}  {}", step.seconds < 0 ? "" : seconds_text(step.seconds), step.text.substr(0, line));
      if (step.work > 0 && step.seconds > 0) fmt::print(", {:.1f} GFLOP/s", 2e-9 * step.work / step.seconds);
      fmt::print("{}\n", step.text.substr(line));
    }
  }
}

void print_rows(const std::vector<Row>& rows) {
  Table times(
      {"file", "threads>", "load>", "first>", "runs>", "min>", "p50>", "mean>", "p90>", "p99>", "max>", "per second>"});
  Table memory({"file", "threads>", "peak memory>", "of tensors>"});
  for (const Row& row : rows) {
    const std::string threads = std::to_string(row.threads);
    times.add({row.file, threads, seconds_text(row.load), seconds_text(row.first), count_text(row.seconds.size()),
               seconds_text(row.seconds.front()), seconds_text(row.percentile(50)), seconds_text(row.mean()),
               seconds_text(row.percentile(90)), seconds_text(row.percentile(99)), seconds_text(row.seconds.back()),
               fmt::format("{:.1f}", 1 / row.mean())});
    memory.add({row.file, threads, bytes_text(row.peak_rss), bytes_text(row.peak_allocated)});
  }
  fmt::print("{}\n{}", times.to_string(), memory.to_string());
}

nlohmann::ordered_json plans_json(const Row& row) {
  auto out = nlohmann::ordered_json::array();
  for (const executor::PlanText& plan : row.plans) {
    out.push_back({{"steps", plan.steps},
                   {"guards", plan.guards},
                   {"memory_bytes", plan.arena_bytes},
                   {"runs", plan.runs},
                   {"text", plan.text}});
    auto list = nlohmann::ordered_json::array();
    for (const executor::StepText& step : plan.list) {
      list.push_back({{"text", step.text}, {"seconds", step.seconds}, {"multiplications", step.work}});
      if (step.seconds < 0) list.back()["seconds"] = nullptr;
    }
    out.back()["step_list"] = std::move(list);
  }
  return out;
}

nlohmann::ordered_json rows_json(const std::vector<Row>& rows, bool with_plans) {
  auto out = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    out.push_back({{"file", row.file},
                   {"threads", row.threads},
                   {"load_seconds", row.load},
                   {"first_call_seconds", row.first},
                   {"runs", row.seconds.size()},
                   {"min_seconds", row.seconds.front()},
                   {"p50_seconds", row.percentile(50)},
                   {"mean_seconds", row.mean()},
                   {"p90_seconds", row.percentile(90)},
                   {"p99_seconds", row.percentile(99)},
                   {"max_seconds", row.seconds.back()},
                   {"runs_per_second", 1 / row.mean()},
                   {"peak_memory_bytes", row.peak_rss},
                   {"peak_tensor_bytes", row.peak_allocated}});
    if (with_plans) out.back()["plans"] = plans_json(row);
  }
  return out;
}

int run_bench(const Options& o) {
  if (o.repeat > kMostRuns) throw UsageError(fmt::format("--repeat takes at most {}, got {}", kMostRuns, o.repeat));
  if (!(o.seconds > 0) || o.seconds > 86'400)
    throw UsageError(fmt::format("--seconds takes a number above 0 and up to 86400, got {}", o.seconds));
  std::vector<std::string> files{o.model.file};
  files.insert(files.end(), o.against.begin(), o.against.end());
  std::vector<Row> rows;
  for (const std::string& file : files) {
    for (const int threads : o.threads.empty() ? std::vector<int>{1} : o.threads) {
      if (threads < 1) throw UsageError(fmt::format("--threads takes numbers from 1, got {}", threads));
      rows.push_back(measure(file, threads, o));
    }
  }
  if (o.json)
    print_json(rows_json(rows, o.plan));
  else
    print_rows(rows);
  if (o.plan && !o.json) {
    for (const Row& row : rows) print_plans(row);
  }
  return 0;
}

}  // namespace

Command add_bench_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("bench", kDescription);
  command.footer(std::string(kInputHelp) + kExamples);
  add_model_options(command, o->model);
  add_input_options(command, o->inputs);
  add_device_option(command, o->device);
  command.add_option("--method", o->method, "What to call; else forward, or the only function").type_name("NAME");
  command.add_option("--against", o->against, "Measures this file, too, with the same inputs; repeatable")
      .type_name("FILE")
      .allow_extra_args(false);
  command.add_option("--threads", o->threads, "A row for each of these numbers of threads; 1 by default")
      .type_name("N,...")
      .delimiter(',')
      .allow_extra_args(false);
  command.add_option("--warm-up", o->warm_up, "Calls before those that are timed; 3 by default").type_name("N");
  command.add_option("--repeat", o->repeat, "Times this many calls").type_name("N");
  command.add_option("--seconds", o->seconds, "Without --repeat: times calls for this long; 2 by default")
      .type_name("S");
  command.add_flag("--plan", o->plan,
                   "Shows what the calls were compiled to: the steps of the method's plans, each with its least time");
  add_json_option(command, o->json);
  return [o] { return run_bench(*o); };
}

}  // namespace sconce::cli
