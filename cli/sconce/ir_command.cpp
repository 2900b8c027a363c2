// sconce ir FILE: the graphs of a program, before and after passes.
#include <chrono>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "program_file.h"
#include "sconce/ir/parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/passes.h"
#include "sconce/runtime/code.h"

namespace sconce::cli {
namespace {

struct Options {
  std::string file, function, module;
  std::vector<std::string> passes;
  bool inline_calls = false, optimise = false, time = false, list_passes = false, verify = false, code = false;
};

constexpr const char* kDescription =
    "Prints the graphs of a program: of all its functions, or of one. FILE is program text, or the text of one graph\n"
    "(it starts with 'graph('). Passes run in the order in which they are given.";
constexpr const char* kFooter =
    "Examples:\n"
    "  sconce ir model.py --function f\n"
    "  sconce ir model.py --function f --inline --pass constant_propagation --pass dead_code\n"
    "  sconce ir model.py --module 'Net(4)' --function forward --optimise --time\n"
    "  sconce ir --list-passes";

void list_passes() {
  size_t width = 0;
  for (const passes::PassInfo& p : passes::all_passes()) width = std::max(width, std::string_view(p.name).size());
  for (const bool in_pipeline : {true, false}) {
    fmt::print("{}\n", in_pipeline ? "What --optimise runs, in this order:" : "Asked for by name:");
    for (const passes::PassInfo& p : passes::all_passes()) {
      if (p.in_pipeline == in_pipeline) fmt::print("  {:{}}  {}\n", p.name, width, p.summary);
    }
  }
}

void print_times(const std::vector<passes::PassTime>& times) {
  double total = 0;
  for (const passes::PassTime& t : times) {
    fmt::print(stderr, "{:>10.1f} us  {}{}\n", t.seconds * 1e6, t.name, t.changed ? "" : "  (no change)");
    total += t.seconds;
  }
  fmt::print(stderr, "{:>10.1f} us  in all\n", total * 1e6);
}

bool is_graph_text(std::string_view text) {
  while (true) {
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == text.npos) return false;
    text.remove_prefix(start);
    if (text[0] != '#') return text.starts_with("graph(");
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// Runs what was asked for on a copy of the graph, and prints it.
void show_graph(const ir::Graph& original, const Options& o) {
  const std::shared_ptr<ir::Graph> graph = original.copy();
  std::vector<passes::PassTime> times;
  const auto run = [&](const passes::PassInfo& pass) {
    const auto start = std::chrono::steady_clock::now();
    const bool changed = pass.run(*graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back({pass.name, took.count(), changed});
    if (o.verify) ir::verify(*graph);
  };
  if (o.inline_calls) run(*passes::find_pass("inline_calls"));
  if (o.optimise) {
    passes::PipelineOptions pipeline;
    pipeline.verify = o.verify;
    passes::optimise(*graph, pipeline, &times);
  }
  for (const std::string& name : o.passes) run(*passes::find_pass(name));
  fmt::print("{}", graph->to_string());
  std::fflush(stdout);
  if (o.time) print_times(times);
}

void show(ir::Function& f, const Options& o) {
  fmt::print("# {}\n", f.name());
  if (o.code)
    fmt::print("{}", runtime::disassemble(f));
  else
    show_graph(*f.graph(), o);
}

int run_ir(const Options& o) {
  if (o.list_passes) {
    list_passes();
    return 0;
  }
  if (o.file.empty()) throw UsageError("FILE is required");
  for (const std::string& name : o.passes) {
    if (!passes::find_pass(name)) throw UsageError(fmt::format("there is no pass '{}', see --list-passes", name));
  }
  const std::string text = read_text(o.file);
  if (is_graph_text(text)) {
    if (!o.function.empty() || !o.module.empty())
      throw UsageError("--function and --module need program text, this is one graph");
    if (o.code) throw UsageError("--code needs program text, this is one graph");
    const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
    if (o.verify) ir::verify(*graph);
    show_graph(*graph, o);
    return 0;
  }
  ProgramFile program(o.file, text);
  if (!o.module.empty()) {
    const Value module = program.build(o.module);
    bool found = false;
    for (const NamedFunction& f : ProgramFile::methods(module)) {
      if (!o.function.empty() && f.name != o.function) continue;
      found = true;
      show(*f.function, o);
    }
    if (!found) throw UsageError(fmt::format("{} has no method '{}'", o.module, o.function));
    return 0;
  }
  if (!o.function.empty()) {
    show(program.function(o.function), o);
    return 0;
  }
  for (const NamedFunction& f : program.functions()) {
    if (f.function) show(*f.function, o);
  }
  return 0;
}

}  // namespace

Command add_ir_command(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ir", kDescription);
  command->footer(kFooter);
  command->add_option("FILE", o->file, "Program text or graph text; - reads it from standard input")->type_name("");
  command->add_option("--function", o->function, "Only this function: f, or Class.method")->type_name("F");
  command
      ->add_option("--module", o->module,
                   "Builds this module first, by its name or as a call of its constructor: the graphs of its methods")
      ->type_name("CLASS");
  command->add_option("--pass", o->passes, "Runs this pass; repeatable")->type_name("NAME")->allow_extra_args(false);
  command->add_flag("--inline", o->inline_calls, "Replaces calls by the bodies of what they call, first");
  command->add_flag("--optimise", o->optimise, "Runs the whole pipeline, before --pass");
  command->add_flag("--verify", o->verify, "Checks the graph after every pass");
  command->add_flag("--time", o->time, "Says on standard error how long each pass took");
  command->add_flag("--code", o->code, "Prints the bytecode that runs instead: docs/runtime.md explains it");
  command->add_flag("--list-passes", o->list_passes, "Lists the passes");
  return [o] { return run_ir(*o); };
}

}  // namespace sconce::cli
