// sconce-lowering: lowers the methods of archives, or calls of the table's compound operators, to a dialect and says how
// many arrive, and what stays outside.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "outside_list.h"
#include "sconce/api/jit.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/function.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"

namespace sconce::cli {
namespace {

struct Options {
  std::vector<std::string> paths, optional_paths;
  std::string dialect = "core", expect, peer;
  double at_least = 0;
  bool entries = false, given_out = false, methods = false, update = false;
};

struct Left {
  size_t count = 0, methods = 0;
  std::string first;  // one of the methods
};

struct Report {
  size_t methods = 0, arrived = 0, archives = 0, unreadable = 0;
  size_t left_by_peer = 0;  // methods that do not arrive and hold an operator that the other compiler leaves, too
  std::map<std::string, Left> outside;
  std::optional<OutsideList> known;
  std::optional<PeerDecompositions> peer;
};

void lower_graph(ir::Graph& graph, const std::string& archive, const std::string& name, const Options& o,
                 Report& report, const sconce::Value* self = nullptr) {
  const std::string where = archive + ": " + name;
  const lowering::Dialect& dialect = *lowering::find_dialect(o.dialect);
  try {
    dialect.lower(graph, self);
    ir::verify(graph);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", where, error.what()));
  }
  const std::vector<lowering::Outside> left = find_outside(graph, dialect);
  ++report.methods;
  report.arrived += left.empty();
  std::set<std::string> names;
  for (const lowering::Outside& each : left) names.insert(each.name);
  if (report.known) report.known->add(archive, name, names);
  report.left_by_peer +=
      report.peer && std::ranges::any_of(names, [&](const std::string& n) { return report.peer->leaves(n); });
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
    const sconce::Value self = module->value();
    lower_graph(*function.graph()->copy(), path, name, o, report, &self);
  }
}

bool names_tensors(TypePtr type) {
  return type->is(TypeKind::tensor) || std::ranges::any_of(type->contained(), names_tensors);
}

bool is_about_tensors(const Schema& schema) {
  const auto names = [](const Argument& a) { return names_tensors(a.type); };
  return std::ranges::any_of(schema.arguments, names) || std::ranges::any_of(schema.returns, names);
}

// What an out= operator writes to: a new tensor of any dtype. One that is given from outside could not be resized.
ir::Value* new_tensor(ir::Graph& graph) {
  const Op& empty = *find_op("aten::empty.memory_format");
  std::vector<ir::Value*> inputs;
  for (const Argument& a : empty.schema().arguments) {
    if (a.name == "dtype") {
      inputs.push_back(graph.add_input(plain_type(a.type)));
    } else if (a.name == "size") {
      ir::Node* sizes = graph.insert(graph.create(ir::kind::ListConstruct, {graph.insert_constant(int64_t{0})}, 1));
      inputs.push_back(sizes->output()->set_type(list_type(int_type())));
    } else {
      inputs.push_back(graph.insert_constant(sconce::Value()));
    }
  }
  return graph.insert(graph.create(empty, inputs))->output();
}

// A call of each operator whose entry has a body, with the arguments of its schema, of which nothing is known. Forms of an
// entry (in place, out=) are lowered through the first of them.
void lower_entries(const Options& o, Report& report) {
  std::set<std::string> seen;
  for (const Op* op : all_ops()) {
    const std::string origin = op->origin();
    if (!op->info.texts.body || !origin.starts_with("ops/") || !is_about_tensors(op->schema())) continue;
    if (!seen.insert(origin).second) continue;
    ir::Graph graph;
    std::vector<ir::Value*> inputs;
    for (const Argument& a : op->schema().arguments) {
      const bool is_out = a.is_written() && a.keyword_only && a.type->is(TypeKind::tensor);
      inputs.push_back(is_out && !o.given_out ? new_tensor(graph) : graph.add_input(plain_type(a.type), a.name));
    }
    ir::Node* call = graph.insert(graph.create(*op, inputs));
    for (ir::Value* out : call->outputs()) graph.add_output(out);
    lower_graph(graph, origin, op->qualified_name(), o, report);
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
  SCONCE_CHECK(!o.entries || (o.paths.empty() && o.optional_paths.empty()), "--entries lowers no archives");
  std::vector<std::string> paths = o.paths;
  for (const std::string& path : o.optional_paths) {
    std::filesystem::exists(path) ? paths.push_back(path) : fmt::print("left out: {} is not there\n", path);
  }
  SCONCE_CHECK(!o.update || !o.expect.empty(), "--update needs --expect: the list that it rewrites");
  Report report;
  if (!o.expect.empty()) report.known.emplace(o.expect);
  if (!o.peer.empty()) report.peer.emplace(o.peer);
  for (const std::string& path : paths) {
    for (const std::string& archive : archives_in(path)) lower_archive(archive, o, report);
  }
  if (o.entries) lower_entries(o, report);
  std::vector<std::pair<std::string, Left>> left(report.outside.begin(), report.outside.end());
  std::ranges::sort(left, [](const auto& a, const auto& b) { return a.second.methods > b.second.methods; });
  for (const auto& [name, each] : left) {
    fmt::print("{:>6} methods {:>6} nodes  {:40} {}\n", each.methods, each.count, name, each.first);
  }
  const auto percent = [](size_t part, size_t all) {
    return all ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  const double share = percent(report.arrived, report.methods);
  fmt::print("{} of {} {} are in the dialect '{}': {:.1f} %\n", report.arrived, report.methods,
             o.entries ? "compound entries of the table" : fmt::format("methods of {} archives", report.archives),
             o.dialect, share);
  const size_t asked = report.methods - report.left_by_peer;
  if (report.peer) {
    fmt::print("{} hold an operator that {} does not decompose, either; of the others {} of {} arrive: {:.1f} %\n",
               report.left_by_peer, o.peer, report.arrived, asked, percent(report.arrived, asked));
  }
  if (o.update && report.known) report.known->update();
  bool failed = false;
  for (const std::string& line : report.known && !o.update ? report.known->differences() : std::vector<std::string>()) {
    fmt::print("{}\n", line);
    failed = true;
  }
  const double counted = report.peer ? percent(report.arrived, asked) : share;
  if (counted < o.at_least) {
    fmt::print("expected at least {} %\n", o.at_least);
    failed = true;
  }
  return failed ? 1 : 0;
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
  app.add_flag("--entries", options.entries, "Lowers calls of the table's compound operators instead of archives");
  app.add_flag("--given-out", options.given_out, "With --entries: out= is an argument instead of a new tensor");
  app.add_option("--to", options.dialect, "The dialect")->type_name("DIALECT")->capture_default_str();
  app.add_option("--at-least", options.at_least, "Fail when fewer than this percentage of the methods arrive")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--expect", options.expect, "Methods that are known to stay outside: fail when there are others")
      ->type_name("LIST");
  app.add_flag("--update", options.update, "Rewrites the list of --expect");
  app.add_option("--peer", options.peer,
                 "Names of operators that another compiler decomposes; --at-least counts methods that it could lower")
      ->type_name("LIST");
  app.add_flag("--methods", options.methods, "Say for each method what stays outside, and in which lines");
  CLI11_PARSE(app, argc, argv);
  try {
    return sconce::cli::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sconce-lowering: {}\n", error.what());
    return 2;
  }
}
