// sconce profile FILE [INPUT...]: what a program spends its time with.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/model_file.h"
#include "profiles/profiler.h"
#include "profiles/trace_file.h"
#include "sconce/api/deep_copy.h"
#include "sconce/runtime/fork.h"
#include "text/json.h"
#include "text/progress.h"
#include "text/table.h"
#include "text/units.h"
#include "threads.h"

namespace sconce::cli {
namespace {

constexpr size_t kMostRuns = 1'000'000;
constexpr size_t kKeptRuns = 512;    // of many, those whose times are kept one by one
constexpr size_t kDefaultRuns = 10;  // one run may be interrupted; the median of ten is not

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string method, by = "op", trace;
  size_t warm_up = 1, repeat = 0, rows = 0;
  int threads = 1;
  bool shapes = false, json = false, repeat_given = false;
};

constexpr const char* kDescription =
    "Runs a program and says what it spends its time with: by operator, by line of its source, or by module. --trace\n"
    "writes the course of events for Chrome (chrome://tracing) or Perfetto (ui.perfetto.dev).";
constexpr const char* kExamples =
    "(interpreter) is everything between the calls of operators. Times of forked tasks count, too, so the total may "
    "be\n"
    "more than the time that passed. Of several runs, rows are sorted by the median of what they took in a run, and\n"
    "shares are those of medians, so that an interrupted run does not count.\n"
    "Examples:\n"
    "  sconce profile resnet18.pt --random 1x3x224x224\n"
    "  sconce profile resnet18.pt --random 1x3x224x224 --by module --repeat 10\n"
    "  sconce profile model.pt x.npy --shapes --trace trace.json";

// Sees all runs while it lives.
class Observing {
 public:
  explicit Observing(Profiler& profiler) { runtime::observe_all_runs(&profiler); }
  ~Observing() { runtime::observe_all_runs(nullptr); }
  Observing(const Observing&) = delete;
};

Profiler::By by_name(const std::string& name) {
  if (name == "op") return Profiler::By::op;
  if (name == "line") return Profiler::By::line;
  if (name == "module") return Profiler::By::module;
  throw UsageError(fmt::format("--by takes op, line or module, got '{}'", name));
}

// `kept`: how many runs the rows have the times of; `total`: the median of whole runs.
void print_rows(const std::vector<ProfileRow>& rows, size_t kept, uint64_t total, Profiler::By by, const Options& o) {
  const bool by_module = by == Profiler::By::module;
  const bool several = o.repeat > 1;
  std::vector<std::string> titles{by_module                  ? "module"
                                  : by == Profiler::By::line ? "line"
                                                             : "operator",
                                  "calls>", "total>", "mean>"};
  if (several) titles.emplace_back("median run>");
  titles.emplace_back("share>");
  if (by_module) titles.insert(titles.end(), {"self>", "self share>"});
  titles.emplace_back(by_module ? "class" : by == Profiler::By::line ? "text" : o.shapes ? "inputs" : "");
  Table table(titles);
  const auto time = [](uint64_t ns) { return seconds_text(static_cast<double>(ns) * 1e-9); };
  const auto share = [&](uint64_t ns) {
    return fmt::format("{:.1f} %", total ? 100 * static_cast<double>(ns) / static_cast<double>(total) : 0);
  };
  size_t shown = 0;
  for (const ProfileRow& r : rows) {
    if (o.rows && shown++ == o.rows) break;
    const uint64_t ns = median_ns(r.runs, kept), self_ns = median_ns(r.self_runs, kept);
    std::vector<std::string> cells{r.name, count_text(r.calls), time(r.ns), r.calls ? time(r.ns / r.calls) : ""};
    if (several) cells.push_back(time(ns));
    cells.push_back(share(ns));
    if (by_module) cells.insert(cells.end(), {time(self_ns), share(self_ns)});
    cells.push_back(r.detail);
    table.add(std::move(cells));
  }
  fmt::print("{}", table.to_string());
  if (o.rows && rows.size() > o.rows) fmt::print("... and {} more\n", rows.size() - o.rows);
}

nlohmann::ordered_json rows_json(const std::vector<ProfileRow>& rows, size_t kept, uint64_t total, uint64_t median,
                                 const Options& o) {
  nlohmann::ordered_json out{
      {"file", o.model.file}, {"runs", o.repeat}, {"total_ns", total}, {"median_ns", median}, {"by", o.by}};
  out["rows"] = nlohmann::ordered_json::array();
  for (const ProfileRow& r : rows) {
    nlohmann::ordered_json row{{"name", r.name},
                               {"calls", r.calls},
                               {"total_ns", r.ns},
                               {"self_ns", r.self_ns},
                               {"median_ns", median_ns(r.runs, kept)},
                               {"median_self_ns", median_ns(r.self_runs, kept)}};
    if (!r.detail.empty()) row[o.by == "module" ? "class" : o.by == "line" ? "text" : "inputs"] = r.detail;
    out["rows"].push_back(std::move(row));
  }
  return out;
}

int run_profile(Options o) {
  if (!o.repeat_given) o.repeat = o.trace.empty() ? kDefaultRuns : 1;
  const Profiler::By by = by_name(o.by);
  if (o.shapes && by != Profiler::By::op) throw UsageError("--shapes needs --by op");
  if (o.repeat < 1 || o.repeat > kMostRuns)
    throw UsageError(fmt::format("--repeat takes a number from 1 to {}, got {}", kMostRuns, o.repeat));
  Profiler::Options options;
  options.shapes = o.shapes;
  options.trace = !o.trace.empty();
  Profiler profiler(options);  // outlives the program and what it forks
  const ModelFile model(o.model);
  const CallValues inputs = read_inputs(o.inputs, model, o.method);
  start_threads(o.threads);
  const auto call = [&] {
    CallValues copy = inputs;
    for (Value& v : copy.args) v = jit::deep_copy(v);
    for (auto& [name, v] : copy.kwargs) v = jit::deep_copy(v);
    model.call(o.method, std::move(copy.args), std::move(copy.kwargs));
  };
  for (size_t i = 0; i < o.warm_up; ++i) call();
  {
    const size_t stride = (o.repeat + kKeptRuns - 1) / kKeptRuns;
    ir::CompilationUnit& unit = model.method(o.method).function().unit();
    Progress progress("profiling", o.repeat, !o.json);
    const Observing observing(profiler);
    for (size_t i = 0; i < o.repeat; ++i) {
      progress.update(i);
      call();
      runtime::finish_tasks(&unit);
      profiler.end_run(i % stride == 0);
    }
  }
  const std::vector<ProfileRow> rows = profiler.rows(by);
  const size_t kept = profiler.kept_runs();
  std::vector<uint64_t> whole;
  for (const ProfileRow& r : rows) add_runs(whole, r.self_runs);
  const uint64_t total = profiler.total_ns(), median = median_ns(whole, kept);
  if (o.json) {
    print_json(rows_json(rows, kept, total, median, o));
  } else {
    print_rows(rows, kept, median, by, o);
    const auto time = [](uint64_t ns) { return seconds_text(static_cast<double>(ns) * 1e-9); };
    const std::string of_one = o.repeat == 1 ? "" : fmt::format(", median {}", time(median));
    fmt::print("{} run{}, {} in all{}\n", o.repeat, o.repeat == 1 ? "" : "s", time(total), of_one);
  }
  if (!o.trace.empty()) {
    write_trace(o.trace, o.model.file, profiler.slices());
    if (profiler.slices_were_dropped())
      fmt::print(stderr, "{}: only the first {} events are in it\n", o.trace, Profiler::kMostSlices);
  }
  return 0;
}

}  // namespace

Command add_profile_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("profile", kDescription);
  command.footer(std::string(kInputHelp) + kExamples);
  add_model_options(command, o->model);
  add_input_options(command, o->inputs);
  command.add_option("--method", o->method, "What to call; else forward, or the only function").type_name("NAME");
  command.add_option("--by", o->by, "What a row is: op, line or module; op by default").type_name("WHAT");
  command.add_flag("--shapes", o->shapes, "Tells calls of an operator apart by the shapes of their inputs");
  command.add_option("--rows", o->rows, "Shows the first N rows; all by default").type_name("N");
  command.add_option("--trace", o->trace, "Writes a trace for Chrome or Perfetto").type_name("OUT.json");
  command.add_option("--repeat", o->repeat, "Runs that are profiled; 10 by default, 1 with --trace")
      .type_name("N")
      .each([o](const std::string&) { o->repeat_given = true; });
  command.add_option("--warm-up", o->warm_up, "Runs before them; 1 by default").type_name("N");
  add_threads_option(command, o->threads, "Threads that operators may use; 1 by default");
  add_json_option(command, o->json);
  return [o] { return run_profile(*o); };
}

}  // namespace sconce::cli
