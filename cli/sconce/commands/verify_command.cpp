// sconce verify FILE...: checks files and runs nothing of them.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/model_file.h"
#include "sconce/base/error.h"
#include "sconce/serialization/archive/verify.h"
#include "text/json.h"
#include "text/progress.h"
#include "text/table.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files, libraries;
  bool quiet = false, json = false;
};

constexpr const char* kDescription =
    "Checks files of any kind and runs nothing of them: the structure of the archive, checksums, pickles, sizes and\n"
    "places of tensors, code, operators, bytecode.";
constexpr const char* kFooter =
    "Exit status: 1 when a file fails a check or cannot be read.\n"
    "Examples:\n"
    "  sconce verify model.pt\n"
    "  sconce verify --quiet downloads/*.pth\n"
    "  sconce verify detector.pt --ops my_ops.so --json";

// A detail of several lines (code with a mark under it) is as many rows.
void add_check(Table& table, const Check& c) {
  std::string_view detail = c.detail;
  for (bool first = true; first || !detail.empty(); first = false) {
    const size_t end = std::min(detail.find('\n'), detail.size());
    table.add({!first ? "" : c.passed ? "ok" : "FAILED", first ? c.what : "", std::string(detail.substr(0, end))});
    detail.remove_prefix(std::min(end + 1, detail.size()));
  }
}

int run_verify(const Options& o) {
  load_libraries(o.libraries);
  int status = 0;
  for (const std::string& path : o.files) {
    Verification v;
    try {
      Progress progress(path.substr(path.rfind('/') + 1), 0, !o.json);
      v = verify_file(path, progress.reporter());
    } catch (const Error& e) {
      v.checks.push_back({"file", e.what(), false});
    }
    if (!v.passed()) status = 1;
    if (o.json) {
      Json checks = Json::array();
      for (const Check& c : v.checks) checks.push_back({{"check", c.what}, {"passed", c.passed}, {"detail", c.detail}});
      print_json({{"file", path}, {"kind", kind_name(v.kind)}, {"passed", v.passed()}, {"checks", std::move(checks)}});
      continue;
    }
    if (o.quiet && v.passed()) continue;
    fmt::print("{}: {}, {}\n", path, kind_name(v.kind), v.passed() ? "valid" : "not valid");
    Table table({"", "", ""});
    for (const Check& c : v.checks) {
      if (!o.quiet || !c.passed) add_check(table, c);
    }
    fmt::print("{}", table.to_string(2));
  }
  return status;
}

}  // namespace

Command add_verify_command(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", kDescription);
  command->footer(kFooter);
  command->add_option("FILE", o->files, "Any files")->required()->type_name("");
  command->add_flag("--quiet", o->quiet, "Prints only what fails");
  command->add_flag("--json", o->json, "Prints JSON: one line for each file");
  add_ops_option(*command, o->libraries);
  return [o] { return run_verify(*o); };
}

}  // namespace sconce::cli
