// sconce-gradcheck: checks the gradients of every operator of the table against finite differences.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sconce/base/error.h"
#include "sconce/testing/gradients/operator_gradients.h"

namespace sconce::cli {
namespace {

using testing::Check;
using testing::GradientReport;

const char* word(Check check) {
  switch (check) {
    case Check::absent:
      return "-";
    case Check::passed:
      return "ok";
    case Check::failed:
      return "FAILED";
    case Check::missing:
      return "missing";
  }
  return "";
}

struct Totals {
  size_t operators = 0, failed = 0, differentiable = 0, twice = 0, inplace = 0, views = 0, unsampled = 0;
};

void add(Totals& totals, const GradientReport& report) {
  ++totals.operators;
  totals.failed += !report.failures.empty();
  totals.differentiable += report.first != Check::absent;
  totals.twice += report.second == Check::passed;
  totals.inplace += report.inplace == Check::passed;
  totals.views += report.views == Check::passed;
}

int run(const std::string& filter, bool exact, bool quiet, double second_order) {
  Totals totals;
  for (const testing::OpSamples& samples : testing::op_samples()) {
    const std::string_view name = samples.op;
    if (exact ? name != filter : name.find(filter) == std::string_view::npos) continue;
    if (samples.texts.empty()) {
      if (samples.stated) continue;  // it says that there are none
      ++totals.unsampled;
      fmt::print("{}: FAILED, no samples: its entry in ops/ needs some (docs/operators.md)\n", samples.op);
      continue;
    }
    const GradientReport report = testing::check_gradients(samples);
    add(totals, report);
    if (quiet && report.failures.empty()) continue;
    fmt::print("{}: {}, gradient {}, second {}, in place {}, views {}\n", report.op, word(report.runs),
               word(report.first), word(report.second), word(report.inplace), word(report.views));
    for (const std::string& failure : report.failures) fmt::print("  {}\n", failure);
    std::fflush(stdout);
  }
  const double share =
      totals.differentiable ? static_cast<double>(totals.twice) / static_cast<double>(totals.differentiable) : 1;
  fmt::print(
      "{} operators, {} differentiable, {} of them twice ({:.1f} %), {} in place, {} through views, {} failed, {} "
      "without samples\n",
      totals.operators, totals.differentiable, totals.twice, 100 * share, totals.inplace, totals.views, totals.failed,
      totals.unsampled);
  if (totals.failed || totals.unsampled) return 1;
  if (100 * share < second_order) {
    fmt::print("fewer than {} % can be differentiated twice\n", second_order);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sconce::cli

int main(int argc, char** argv) {
  CLI::App app(
      "Checks the gradients of the operators, by the samples of the table: against finite differences, first and\n"
      "second order; in-place forms against functional ones; views against contiguous inputs.");
  std::string filter;
  bool exact = false, quiet = false;
  double second_order = 0;
  app.add_option("NAME", filter, "Only operators whose name contains this");
  app.add_flag("--exact", exact, "The name is this");
  app.add_flag("--quiet", quiet, "Print operators that fail, and the count");
  app.add_option("--second-order", second_order, "Fail where fewer than this many percent can be differentiated twice");
  CLI11_PARSE(app, argc, argv);
  try {
    return sconce::cli::run(filter, exact, quiet, second_order);
  } catch (const sconce::Error& e) {
    fmt::print(stderr, "sconce-gradcheck: {}\n", e.what());
    return 2;
  }
}
