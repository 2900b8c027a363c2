// sconce-lowering: lowers the methods of archives to a dialect and says how many arrive, and what stays outside.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sconce/api/jit.h"
#include "sconce/base/error.h"
#include "sconce/ir/function.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"

namespace sconce::cli {
namespace {

struct Options {
  std::vector<std::string> paths, optional_paths;
  std::string dialect = "core";
  double at_least = 0;
  bool methods = false;
};

struct Left {
  size_t count = 0, methods = 0;
  std::string first;  // one of the methods
};

struct Report {
  size_t methods = 0, arrived = 0, archives = 0, unreadable = 0;
  std::map<std::string, Left> outside;
};

void lower_method(ir::Function& function, const std::string& where, const Options& o, Report& report) {
  const lowering::Dialect& dialect = *lowering::find_dialect(o.dialect);
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  dialect.lower(*graph);
  ir::verify(*graph);
  const std::vector<lowering::Outside> left = find_outside(*graph, dialect);
  ++report.methods;
  report.arrived += left.empty();
  for (const lowering::Outside& each : left) {
    Left& all = report.outside[each.name];
    all.count += each.count;
    ++all.methods;
    if (all.first.empty()) all.first = where;
    if (o.methods) fmt::print("{}: {}\n", where, to_string(each));
  }
}

void lower_archive(const std::string& path, const Options& o, Report& report) {
  std::optional<jit::Module> module;
  try {
    module = jit::load(path);
  } catch (const Error&) {
    ++report.unreadable;  // a file that is refused, as tests of errors have
    return;
  }
  ++report.archives;
  for (const std::string& name : module->method_names()) {
    ir::Function& function = module->method(name).function();
    if (!function.has_graph()) continue;
    try {
      lower_method(function, path + ": " + name, o, report);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}: {}", path, name, error.what()));
    }
  }
}

std::vector<std::string> archives_in(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && (entry.path().extension() == ".pt" || entry.path().extension() == ".pt2"))
      found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

int run(const Options& o) {
  SCONCE_CHECK(lowering::find_dialect(o.dialect), "there is no dialect '{}'; --to takes {}", o.dialect,
               lowering::dialect_names());
  std::vector<std::string> paths = o.paths;
  for (const std::string& path : o.optional_paths) {
    std::filesystem::exists(path) ? paths.push_back(path) : fmt::print("left out: {} is not there\n", path);
  }
  Report report;
  for (const std::string& path : paths) {
    for (const std::string& archive : archives_in(path)) lower_archive(archive, o, report);
  }
  std::vector<std::pair<std::string, Left>> left(report.outside.begin(), report.outside.end());
  std::ranges::sort(left, [](const auto& a, const auto& b) { return a.second.methods > b.second.methods; });
  for (const auto& [name, each] : left) {
    fmt::print("{:>6} methods {:>6} nodes  {:40} {}\n", each.methods, each.count, name, each.first);
  }
  const double share = report.methods ? 100.0 * static_cast<double>(report.arrived) / report.methods : 0;
  fmt::print("{} of {} methods of {} archives are in the dialect '{}': {:.1f} %\n", report.arrived, report.methods,
             report.archives, o.dialect, share);
  if (share >= o.at_least) return 0;
  fmt::print("expected at least {} %\n", o.at_least);
  return 1;
}

}  // namespace
}  // namespace sconce::cli

int main(int argc, char** argv) {
  sconce::cli::Options options;
  CLI::App app("Lowers every method of archives to a dialect, and says how many arrive and what stays outside.",
               "sconce-lowering");
  app.add_option("PATH", options.paths, "Archives, or folders of them")->type_name("");
  app.add_option("--optional", options.optional_paths, "The same, but said to be left out when not there; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--to", options.dialect, "The dialect")->type_name("DIALECT")->capture_default_str();
  app.add_option("--at-least", options.at_least, "Fail when fewer than this percentage of the methods arrive")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  app.add_flag("--methods", options.methods, "Say for each method what stays outside, and in which lines");
  CLI11_PARSE(app, argc, argv);
  try {
    return sconce::cli::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sconce-lowering: {}\n", error.what());
    return 2;
  }
}
