// sconce verify FILE...: checks files and runs nothing of them.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/model_file.h"
#include "sconce/base/error.h"
#include "sconce/serialization/archive/verify.h"
#include "text/json.h"
#include "text/progress.h"
#include "text/table.h"
#include "text/terminal.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files, libraries;
  bool quiet = false, json = false, strict = false;
};

constexpr int kExitLimits = 3;  // 2 is a wrong command line

constexpr const char* kDescription =
    "Checks files of any kind and runs nothing of them: the structure of the archive, checksums, pickles, sizes and\n"
    "places of tensors, code, operators, bytecode.";
constexpr const char* kFooter =
    "A file is ok; or it runs with limits, which are named: operators that do not exist here, tensors that cannot be\n"
    "used, places of errors that are not known; or it is not valid.\n"
    "Exit status: 0 when all files are ok; 3 when one runs with limits; 1 when one is not valid or cannot be read.\n"
    "Examples:\n"
    "  sconce verify model.pt\n"
    "  sconce verify --quiet downloads/*.pth\n"
    "  sconce verify detector.pt --ops my_ops.so --json";

std::string in_its_colour(Outcome outcome, const char* text) {
  const Colour colour = outcome == Outcome::ok       ? Colour::green
                        : outcome == Outcome::limits ? Colour::yellow
                                                     : Colour::red;
  return coloured(stdout, colour, text);
}
std::string mark(Outcome outcome) {
  const char* text = outcome == Outcome::ok ? "ok" : outcome == Outcome::limits ? "limits" : "FAILED";
  return in_its_colour(outcome, text);
}

// A detail of several lines (code with a mark under it) is as many rows.
void add_check(Table& table, const Check& c) {
  std::string_view detail = c.detail;
  for (bool first = true; first || !detail.empty(); first = false) {
    const size_t end = std::min(detail.find('\n'), detail.size());
    table.add({first ? mark(c.outcome) : "", first ? c.what : "", std::string(detail.substr(0, end))});
    detail.remove_prefix(std::min(end + 1, detail.size()));
  }
}

Verification verify(const std::string& path, const Options& o) {
  Verification v;
  try {
    Progress progress(path.substr(path.rfind('/') + 1), 0, !o.json);
    v = verify_file(open_file(path), progress.reporter());
  } catch (const Error& e) {
    v.checks.push_back({"file", e.what(), Outcome::invalid});
  }
  if (!o.strict) return v;
  for (Check& c : v.checks) {
    if (c.outcome == Outcome::limits) c.outcome = Outcome::invalid;
  }
  return v;
}

Json verification_json(const std::string& path, const Verification& v) {
  Json checks = Json::array(), limits = Json::array();
  for (const Check& c : v.checks)
    checks.push_back({{"check", c.what}, {"outcome", outcome_name(c.outcome)}, {"detail", c.detail}});
  for (const Limit& l : v.limits) limits.push_back({{"kind", l.kind}, {"text", l.text}, {"names", l.names}});
  return {{"file", path},
          {"kind", kind_name(v.kind)},
          {"outcome", outcome_name(v.outcome())},
          {"limits", std::move(limits)},
          {"checks", std::move(checks)}};
}

void print_verification(const std::string& path, const Verification& v, bool quiet) {
  if (quiet && v.outcome() == Outcome::ok) return;
  fmt::print("{}: {}, {}\n", path, kind_name(v.kind), in_its_colour(v.outcome(), outcome_name(v.outcome())));
  Table table({"", "", ""});
  for (const Check& c : v.checks) {
    if (!quiet || c.outcome != Outcome::ok) add_check(table, c);
  }
  fmt::print("{}", table.to_string(2));
}

int run_verify(const Options& o) {
  load_libraries(o.libraries);
  Outcome worst = Outcome::ok;
  for (const std::string& path : o.files) {
    const Verification v = verify(path, o);
    worst = std::max(worst, v.outcome());
    if (o.json)
      print_json(verification_json(path, v));
    else
      print_verification(path, v, o.quiet);
  }
  return worst == Outcome::ok ? 0 : worst == Outcome::limits ? kExitLimits : 1;
}

}  // namespace

Command add_verify_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("verify", kDescription);
  command.footer(kFooter);
  command.add_option("FILE", o->files, "Any files").required().type_name("");
  command.add_flag("--quiet", o->quiet, "Prints only limits and failures");
  command.add_flag("--json", o->json, "Prints JSON: one line for each file");
  command.add_flag("--strict", o->strict, "Takes every limit for a failure");
  add_ops_option(command, o->libraries);
  return [o] { return run_verify(*o); };
}

}  // namespace sconce::cli
