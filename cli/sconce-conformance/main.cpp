// sconce-conformance: runs recorded PyTorch calls and says which of them Sconce gets right.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bits.h"
#include "device_operators.h"
#include "report.h"
#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/levels.h"
#include "sconce/lowering/dialect.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/conformance/tracked_lists.h"
#include "sconce/testing/second_device/second_device.h"

namespace sconce::cli {
namespace {

struct Options {
  std::vector<std::string> paths, optional_paths;
  testing::SuiteOptions suite;
  double time_limit = 60, at_least = 0;
  bool failures = false, missing = false, update = false;
  std::string json, expect, supported, bits_to, bits_of, differing, device = "cpu";
};

constexpr std::string_view kDescription =
    "Runs case files recorded from PyTorch and compares: dtypes, shapes, strides, values.\n"
    "Every case runs in a child process, so a crash or a hang is that case's failure.\n"
    "Kinds of file that cannot be run yet are counted as skipped.";

constexpr std::string_view kFooter =
    "The last line printed is 'N passed, N failed, N skipped'; the exit status is 0 only when nothing failed.\n"
    "Examples:\n"
    "  sconce-conformance tests/conformance/ops tests/conformance/leaf\n"
    "  sconce-conformance --failures --op add --op softmax.int tests/conformance\n"
    "  sconce-conformance --missing ../shared/conformance/ops";

void define_options(CLI::App& app, Options& o) {
  app.add_option("DIR", o.paths, "Folders of case files (with their subfolders), or single case files")->type_name("");
  app.add_option("--optional", o.optional_paths, "The same, but said to be left out when not there; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--op", o.suite.ops, "Only cases of this operator: add, add.Tensor or aten::add.Tensor; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--failures", o.failures, "List failed cases: file, case, operator, what differs");
  app.add_flag("--missing", o.missing, "List missing operators by number of cases");
  app.add_flag("--meta", o.suite.run.meta, "Run on Meta tensors: shapes, dtypes and strides only");
  app.add_option(
         "--device", o.device,
         "Run operators with their tensors on this device: cuda; privateuseone is a second device made for tests, in "
         "memory that host code must not touch. Operators that it lacks count as skipped; those of cuda are "
         "listed first")
      ->type_name("NAME");
  app.add_option("--at-least", o.at_least, "Fail when fewer than this percentage of the cases pass")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  app.add_flag("--strided", o.suite.run.strided,
               "Give every argument another memory layout; the values must be the same");
  app.add_flag("--any-bytes", o.suite.run.any_bytes,
               "Write true as other bytes than 1 in arguments of bools; the values must be the same");
  app.add_option(
         "--same-bits", o.suite.run.same_bits,
         "Run every case with each of these numbers of threads (1,2,3,4,8): the results must have the same bits")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--same-levels", o.suite.run.same_levels,
                 "Run every case at each of these levels of the CPU (2,3,4): the results must have the same bits")
      ->delimiter(',')
      ->check(CLI::Range(kLowestCpuLevel, kHighestCpuLevel));
  app.add_option("--bits-to", o.bits_to, "Write a digest of the results' bits for every case that passed")
      ->type_name("FILE");
  CLI::Option* bits_of =
      app.add_option("--bits-of", o.bits_of,
                     "Cases that passed must have the bits of this file, which --bits-to wrote, perhaps on another "
                     "machine; says how many do not, by operator")
          ->type_name("FILE");
  app.add_option("--may-differ", o.differing,
                 "List of operators whose bits may be others than in that file: a name a line, then perhaps a remark")
      ->type_name("FILE")
      ->needs(bits_of);
  app.add_flag("--deterministic", o.suite.run.deterministic,
               "In deterministic mode; of several levels, level 2 without it must give the same bits, too");
  app.add_flag("--grad-only", o.suite.run.grad_only, "Only the gradients of cases that have some");
  app.add_flag("--decomposed", o.suite.run.decomposed,
               "Run operators by the decompositions of the table; those without one count as skipped");
  app.add_flag("--archives", o.suite.run.archives, "Run programs from the .pt files beside them, not from their text");
  CLI::Option* archives = app.get_option("--archives");
  app.add_flag("--resave", o.suite.run.resave,
               "Save those files first and run what was saved; a second save must give the same bytes")
      ->needs(archives);
  app.add_option("--saved-to", o.suite.run.saved_to,
                 "Where what was saved stays, in folders named as those of the cases")
      ->type_name("DIR")
      ->needs(archives);
  app.add_flag("--lite", o.suite.run.lite,
               "Run archives as bytecode of the lite interpreter; .pt files are saved so first");
  app.add_option("--lite-archives", o.suite.run.lite_folder,
                 "With --lite: only programs that have a .ptl file in this folder, and that")
      ->type_name("DIR");
  app.add_option(
         "--lite-libraries", o.suite.run.lite_libraries,
         "With --lite: NAME.so of this folder, a libsconce_lite for NAME.ptl, makes the calls; others are skipped")
      ->type_name("DIR");
  app.add_flag(
      "--planned", o.suite.run.planned,
      "Repeat calls of programs by the interpreter and by plans: results, arguments and errors must be the same, "
      "bit for bit");
  app.add_option("--lowered", o.suite.run.lowered,
                 "Run through graphs of this dialect: " + lowering::dialect_names() +
                     "; functional must have the bits of eager calls")
      ->type_name("DIALECT");
  app.add_option("--json", o.json, "Write every result to this file as JSON")->type_name("FILE");
  app.add_option("-j,--jobs", o.suite.jobs, "Worker processes")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--timeout", o.time_limit, "Seconds after which a case counts as hanging")
      ->type_name("S")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--expect", o.expect,
                 "List of known failures ('ops/add.safetensors#3  reason'): these count as skipped, and as failed when "
                 "they pass")
      ->type_name("FILE");
  app.add_option("--supported", o.supported, "List of operators that must not be missing")->type_name("FILE");
  app.add_flag("--update", o.update,
               "Rewrite both lists: drop known failures that pass, add operators whose cases run");
}

std::vector<testing::CaseFolder> find_all(const Options& o) {
  std::vector<testing::CaseFolder> folders;
  const auto add = [&](const std::string& path) {
    for (testing::CaseFolder& folder : testing::find_cases(path)) folders.push_back(std::move(folder));
  };
  for (const std::string& path : o.paths) add(path);
  for (const std::string& path : o.optional_paths) {
    if (std::filesystem::exists(path))
      add(path);
    else
      fmt::print("left out: {} is not there\n", path);
  }
  SCONCE_CHECK(!folders.empty(), "no case files given, see --help");
  return folders;
}

void apply_lists(const Options& o, std::vector<FolderRecord>& folders) {
  const bool complete = o.suite.ops.empty() && !o.suite.run.grad_only;
  if (!o.supported.empty()) {
    const auto supported = testing::SupportedOperators::open(o.supported);
    if (o.update) supported.add_running(folders);
    supported.apply(folders);
  }
  if (!o.expect.empty()) {
    if (o.update) testing::KnownFailures::open(o.expect).drop_passing(folders);
    testing::KnownFailures::open(o.expect).apply(folders, complete);
  }
}

// Before anything runs: what the device cannot do.
void print_not_there_yet(Device device) {
  const DeviceOperators operators = operators_of(device);
  fmt::print("{}: {} operators have a kernel, {} are not there yet{}\n", to_string(device), operators.with_kernel,
             operators.missing.size(), operators.missing.empty() ? "" : ":");
  for (const std::string& name : operators.missing) fmt::print("  {}\n", name);
}

int run(Options& o) {
  const std::vector<testing::CaseFolder> places = find_all(o);
  ProgressBar bar;
  const bool on_terminal = ::isatty(STDERR_FILENO);
  if (on_terminal) o.suite.progress = [&](size_t done, size_t total) { bar.show(done, total); };
  o.suite.time_limit = std::chrono::milliseconds(static_cast<int64_t>(o.time_limit * 1000));
  o.suite.run.device = parse_device(o.device);
  SCONCE_CHECK(o.suite.run.lowered.empty() || lowering::find_dialect(o.suite.run.lowered),
               "there is no dialect '{}'; --lowered takes {}", o.suite.run.lowered, lowering::dialect_names());
  if (o.suite.run.device.type == DeviceType::privateuse1) {
    testing::register_second_device();
    o.suite.run.device = testing::kSecondDevice;
  }
  if (o.suite.run.device.type == DeviceType::cuda) {
    if (o.suite.run.device.index < 0) o.suite.run.device.index = 0;
    print_not_there_yet(o.suite.run.device);
  }
  testing::compare_plans(o.suite.run.planned);
  o.suite.run.bits = !o.bits_to.empty() || !o.bits_of.empty();
  SCONCE_CHECK(!o.suite.run.deterministic || o.suite.run.bits || !o.suite.run.same_levels.empty(),
               "--deterministic is for --same-levels, --bits-to and --bits-of");
  std::vector<FolderRecord> folders = testing::run_suite(places, o.suite);
  if (on_terminal) bar.clear();
  if (!o.bits_to.empty()) write_bits(folders, o.bits_to);
  if (!o.bits_of.empty()) compare_bits(folders, o.bits_of, o.differing);

  apply_lists(o, folders);
  if (!o.json.empty()) write_json(folders, o.json);
  if (o.missing) print_missing(folders);
  if (o.failures) print_failures(folders);
  print_folders(folders);
  print_totals(folders);
  const testing::Totals totals = count(folders);
  if (const double share = 100.0 * totals.passed / (totals.passed + totals.failed + totals.skipped);
      share < o.at_least) {
    fmt::print("{:.1f} % of the cases passed, expected {} %\n", share, o.at_least);
    return 1;
  }
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sconce::cli

int main(int argc, char** argv) {
  sconce::cli::Options options;
  options.suite.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  CLI::App app(std::string(sconce::cli::kDescription), "sconce-conformance");
  app.footer(std::string(sconce::cli::kFooter));
  sconce::cli::define_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return sconce::cli::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sconce-conformance: {}\n", error.what());
    return 2;
  }
}
