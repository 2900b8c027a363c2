#include "sconce/testing/conformance/suite.h"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/parallel_grains.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compare/seen_bits.h"
#include "sconce/testing/conformance/isolated_run.h"

namespace sconce::testing {
namespace {

// One file: its cases are the steps of a job.
struct FileJob {
  std::string path;
  size_t folder;
  std::vector<size_t> indices;  // of the cases to run
  size_t first_record;          // where their records begin in the folder
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Planner {
 public:
  explicit Planner(const SuiteOptions& options) : options_(options) {}

  void add_folder(const CaseFolder& folder) {
    records.push_back({folder.label, {}});
    for (const std::string& path : folder.files) add_file(path);
    if (!options_.ops.empty() || options_.run.grad_only) return;
    for (const std::string& name : folder.others) add_result(name, CaseResult::skip("not a case file: " + name));
  }

  std::vector<FolderRecord> records;
  std::vector<FileJob> jobs;

 private:
  void add_file(const std::string& path) {
    try {
      const CaseFile file = CaseFile::open(path);
      const CaseKind* kind = kind_of(file, options_.run);
      if (kind == nullptr) return add_result(file_name(path), CaseResult::skip("kind not known"));
      if (options_.run.device.type != DeviceType::cpu && kind->name() != "operators")
        return add_result(file_name(path), CaseResult::skip("only operators run on other devices"));
      add_cases(file, *kind);
    } catch (const Error& error) {
      add_result(file_name(path), CaseResult::failure(error.what()));
    }
  }

  void add_cases(const CaseFile& file, const CaseKind& kind) {
    std::vector<CaseRecord>& cases = records.back().cases;
    FileJob job{file.path(), records.size() - 1, {}, cases.size()};
    for (size_t i = 0; i < file.size(); ++i) {
      const Json& json = file.at(i);
      const std::string subject = kind.subject(json);
      const bool has_grad = json.contains("grad");
      if (!kind.is_case(json) || !is_selected(subject) || (options_.run.grad_only && !has_grad)) continue;
      job.indices.push_back(i);
      cases.push_back(
          {fmt::format("{}/{}#{}", records.back().label, file_name(file.path()), i), subject, has_grad, {}});
    }
    if (!job.indices.empty()) jobs.push_back(std::move(job));
  }

  void add_result(const std::string& name, CaseResult result) {
    records.back().cases.push_back({fmt::format("{}/{}", records.back().label, name), "", false, std::move(result)});
  }

  bool is_selected(const std::string& subject) const {
    if (options_.ops.empty()) return true;
    for (const std::string& filter : options_.ops) {
      if (selects(filter, subject)) return true;
    }
    return false;
  }

  const SuiteOptions& options_;
};

// In a worker: keeps the file open between its cases.
class CaseRunner {
 public:
  CaseRunner(const std::vector<FileJob>& jobs, const RunOptions& options) : jobs_(jobs), options_(options) {}

  std::string run(size_t job, size_t step) {
    CaseResult result;
    try {
      result = run_case(jobs_[job], step);
    } catch (const Error& error) {
      result = CaseResult::failure(error.what());
    }
    return fmt::format("{}{:016x}{}", static_cast<int>(result.status), result.bits, result.reason);
  }

  static CaseResult parse(const std::string& text) {
    return {static_cast<Status>(text.at(0) - '0'), text.substr(17), std::stoull(text.substr(1, 16), nullptr, 16)};
  }

 private:
  CaseResult run_case(const FileJob& job, size_t step) {
    if (!file_ || file_->path() != job.path) {
      file_ = CaseFile::open(job.path);
      kind_ = kind_of(*file_, options_);
    }
    const size_t index = job.indices[step];
    if (!options_.same_bits.empty()) return run_with_threads(index);
    if (!options_.same_levels.empty()) return run_at_levels(index);
    if (options_.bits) {
      first_bits_.reset();
      if (options_.deterministic) set_deterministic(true);
      CaseResult result = run_once(index, "");
      result.bits = *first_bits_;
      return result;
    }
    return kind_->run(*file_, index, options_);
  }

  // The first way to run the case gives the bits that the others must have.
  CaseResult run_once(size_t index, const std::string& way) {
    manual_seed(0);  // for cases that were recorded without a seed
    take_bits();
    CaseResult result = kind_->run(*file_, index, options_);
    const uint64_t bits = take_bits();
    if (!first_bits_) first_bits_ = bits;
    if (result.status != Status::passed) return result;
    return bits == *first_bits_ ? result : CaseResult::failure("other bits " + way);
  }

  CaseResult run_with_threads(size_t index) {
    first_bits_.reset();
    ignore_grains(true);
    CaseResult result;
    for (const int threads : options_.same_bits) {
      set_num_threads(threads);
      result = run_once(index, fmt::format("with {} threads", threads));
      if (result.status != Status::passed) break;
    }
    set_num_threads(1);
    return result;
  }

  // At each level of the CPU. In deterministic mode, at level 2 without the mode last.
  CaseResult run_at_levels(size_t index) {
    first_bits_.reset();
    CaseResult result;
    for (const int level : options_.same_levels) {
      result = run_at_level(index, level, options_.deterministic);
      if (result.status != Status::passed) return result;
    }
    return options_.deterministic ? run_at_level(index, 2, false) : result;
  }
  CaseResult run_at_level(size_t index, int level, bool deterministic) {
    ::setenv("SCONCE_CPU_LEVEL", std::to_string(level).c_str(), 1);
    set_deterministic(deterministic);
    return run_once(index, fmt::format("at level {}", level));
  }

  const std::vector<FileJob>& jobs_;
  const RunOptions& options_;
  std::optional<CaseFile> file_;
  const CaseKind* kind_ = nullptr;
  std::optional<uint64_t> first_bits_;
};

}  // namespace

bool selects(std::string_view filter, std::string_view name) {
  if (filter.find("::") == filter.npos && name.find("::") != name.npos) name.remove_prefix(name.find("::") + 2);
  return filter == name || filter == name.substr(0, name.find('.'));
}

std::vector<FolderRecord> run_suite(const std::vector<CaseFolder>& folders, const SuiteOptions& options) {
  Planner plan(options);
  for (const CaseFolder& folder : folders) plan.add_folder(folder);
  std::vector<size_t> steps;
  size_t total = 0, done = 0;
  for (const FileJob& job : plan.jobs) total += steps.emplace_back(job.indices.size());

  CaseRunner runner(plan.jobs, options.run);
  IsolatedRun isolated;
  isolated.workers = options.jobs;
  isolated.step_limit = options.time_limit;
  isolated.run = [&](size_t job, size_t step) { return runner.run(job, step); };
  isolated.report = [&](size_t job, size_t step, const std::string& text, const std::string& crash) {
    const FileJob& file = plan.jobs[job];
    plan.records[file.folder].cases[file.first_record + step].result =
        crash.empty() ? CaseRunner::parse(text) : CaseResult::failure(crash);
    if (options.progress) options.progress(++done, total);
  };
  run_isolated(steps, isolated);
  return std::move(plan.records);
}

void Totals::add(Status status) { ++(status == Status::passed ? passed : status == Status::failed ? failed : skipped); }

Totals count(const std::vector<FolderRecord>& folders) {
  Totals totals;
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) totals.add(c.result.status);
  }
  return totals;
}

}  // namespace sconce::testing
