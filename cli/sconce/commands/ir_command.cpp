// sconce ir FILE: the graphs of a program, before and after passes, as text, as JSON, as a page.
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/run_device.h"
#include "graphs/graph_json.h"
#include "graphs/graph_page.h"
#include "graphs/graph_plan.h"
#include "graphs/graph_source.h"
#include "graphs/graph_watch.h"
#include "sconce/api/asks_for_gradients.h"
#include "sconce/api/deep_copy.h"
#include "sconce/executor/plan_steps.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/passes/passes.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/file/file_writer.h"
#include "sconce/tensor/grad_mode.h"
#include "text/json.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string function, html, to, device;
  std::vector<std::string> passes;
  size_t warm_up = 1, repeat = 5;
  bool inline_calls = false, optimise = false, time = false, list_passes = false, verify = false, code = false;
  bool json = false, run = false, strict = false;
  const lowering::Dialect* dialect = nullptr;  // of --to; null for loops and plan
  bool plans() const { return to == "loops" || to == "plan"; }
};

constexpr size_t kMostRuns = 1000;  // each is kept

constexpr const char* kDescription =
    "Prints the graphs of a program: of all its methods or functions, or of one. FILE is an archive (.pt, .pt2), "
    "program\n"
    "text, or the text of one graph (it starts with 'graph('). Passes run in the order in which they are given.";
constexpr const char* kFooter =
    "--html writes one page that needs nothing else: search, zoom, open submodules, read the source behind a node. "
    "Calls\n"
    "are inlined there, so that submodules are groups. With --run or --random the graph runs, and the page shows\n"
    "shapes and times: the medians of --repeat runs; and in one colour what is one step of its plan.\n"
    "Examples:\n"
    "  sconce ir model.pt\n"
    "  sconce ir model.pt --method layer1.0.forward --inline\n"
    "  sconce ir model.pt --html graph.html --random 1x3x224x224\n"
    "  sconce ir model.py --function f --inline --pass constant_propagation --pass dead_code\n"
    "  sconce ir model.py --module 'Net(4)' --function forward --optimise --time\n"
    "  sconce ir model.pt --to core --strict\n"
    "  sconce ir model.pt --to loops --random 1x3x224x224\n"
    "  sconce ir --list-passes";

void list_passes(bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const passes::PassInfo& p : passes::all_passes())
      out.push_back({{"name", p.name}, {"in_pipeline", p.in_pipeline}, {"summary", p.summary}});
    return print_json(out);
  }
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

// The file's own module, of methods of it.
std::optional<Value> self_of(const GraphSource& source, const NamedGraph& g) {
  if (!source.model() || !source.model()->module() || !g.function || !g.function->self_type()) return std::nullopt;
  const Value self = source.model()->module()->value();
  return self.to_object().type() == g.function->self_type() ? std::optional(self) : std::nullopt;
}

// A copy of the graph, after everything that was asked for.
std::shared_ptr<ir::Graph> prepared(const GraphSource& source, const NamedGraph& g, const Options& o,
                                    std::vector<passes::PassTime>& times) {
  std::shared_ptr<ir::Graph> graph = g.graph->copy();
  const auto run = [&](const passes::PassInfo& pass) {
    const auto start = std::chrono::steady_clock::now();
    const bool changed = pass.run(*graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back({pass.name, took.count(), changed});
    if (o.verify) ir::verify(*graph);
  };
  if (o.verify) ir::verify(*graph);
  if (o.inline_calls || !o.html.empty()) run(*passes::find_pass("inline_calls"));
  if (o.optimise) {
    passes::PipelineOptions pipeline;
    pipeline.verify = o.verify;
    passes::optimise(*graph, pipeline, &times);
  }
  for (const std::string& name : o.passes) run(*passes::find_pass(name));
  if (o.dialect) {
    const auto start = std::chrono::steady_clock::now();
    const std::optional<Value> self = self_of(source, g);
    o.dialect->lower(*graph, self ? &*self : nullptr);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back({fmt::format("to {}", o.dialect->name), took.count(), true});
    if (o.verify) ir::verify(*graph);
  }
  return graph;
}

// What --strict refuses, of all graphs that were lowered.
class OutsideReport {
 public:
  explicit OutsideReport(const Options& o) : options_(o) {}
  void add(const std::string& name, const ir::Graph& graph) {
    if (!options_.dialect || !options_.strict) return;
    for (const lowering::Outside& outside : lowering::find_outside(graph, *options_.dialect)) {
      text_ += fmt::format("\n  {}{}{}", name, name.empty() ? "" : ": ", to_string(outside));
    }
  }
  void check() const {
    SCONCE_CHECK(text_.empty(), "{}: operators outside the dialect '{}':{}", options_.model.file,
                 options_.dialect->name, text_);
  }

 private:
  const Options& options_;
  std::string text_;
};

void need_graph(const NamedGraph& g, const Options& o) {
  SCONCE_CHECK(g.graph, "{}: {} is bytecode and has no graph; --code shows what runs", o.model.file, g.name);
}

void print_code(const GraphSource& source, const Options& o) {
  auto all = nlohmann::ordered_json::array();
  for (const NamedGraph& g : source.graphs()) {
    if (!g.function) throw UsageError("--code needs program text, this is one graph");
    std::string code = runtime::disassemble(*g.function);
    if (o.json) {
      all.push_back({{"name", g.name}, {"code", std::move(code)}});
    } else {
      fmt::print("# {}\n{}", g.name, code);
    }
  }
  if (o.json) print_json(all);
}

void print_graphs(const GraphSource& source, const Options& o, OutsideReport& report) {
  for (const NamedGraph& g : source.graphs()) {
    if (!g.name.empty()) fmt::print("# {}\n", g.name);
    need_graph(g, o);
    std::vector<passes::PassTime> times;
    const std::shared_ptr<ir::Graph> graph = prepared(source, g, o, times);
    report.add(g.name, *graph);
    fmt::print("{}", graph->to_string());
    std::fflush(stdout);
    if (o.time) print_times(times);
  }
}

// The run of the graph of `function`, which the command line gives inputs for.
GraphRun run_graph(const GraphSource& source, const NamedGraph& g, const ir::Graph& graph, const Options& o) {
  const std::string method(g.function->short_name());
  std::optional<InferenceMode> mode;
  if (!jit::asks_for_gradients(source.model()->method(method))) mode.emplace();
  CallValues values = read_inputs(o.inputs, *source.model(), method);
  const std::optional<jit::Module>& module = source.model()->module();
  if (module && g.function->self_type()) values.args.insert(values.args.begin(), module->value());
  const std::vector<Value> bound = runtime::bind_call(*g.function, std::move(values.args), std::move(values.kwargs));
  const size_t first = g.function->self_type() ? 1 : 0;
  const auto watch = [&] {  // a run may write to its inputs
    std::vector<Value> args = bound;
    for (size_t i = first; i < args.size(); ++i) args[i] = jit::deep_copy(args[i]);
    return watch_graph(graph, *g.function, std::move(args));
  };
  for (size_t i = 0; i < o.warm_up; ++i) watch();
  std::vector<GraphRun> runs;
  runs.reserve(o.repeat);
  for (size_t i = 0; i < o.repeat; ++i) runs.push_back(watch());
  GraphRun run = median_run(std::move(runs));
  std::vector<Value> args = bound;
  for (size_t i = first; i < args.size(); ++i) args[i] = jit::deep_copy(args[i]);
  find_steps(graph, *g.function, std::move(args), run);
  return run;
}

// --to loops and --to plan: what a run becomes.
void print_plan(const Options& o) {
  const ModelFile model(o.model);
  ir::Function& function = model.method(o.function).function();
  std::optional<InferenceMode> mode;
  if (!jit::asks_for_gradients(model.method(o.function))) mode.emplace();
  CallValues values = read_inputs(o.inputs, model, o.function);
  move_to_device(model, values, chosen_device(o.device));
  const std::optional<jit::Module>& module = model.module();
  if (module && function.self_type()) values.args.insert(values.args.begin(), module->value());
  std::vector<Value> args = runtime::bind_call(function, std::move(values.args), std::move(values.kwargs));
  const executor::PlanListing plan = executor::list_plan(function, std::move(args));
  SCONCE_CHECK(!plan.steps.empty() || plan.why.empty(), "{}: {} has no plan for these inputs: {}", o.model.file,
               function.name(), plan.why);
  if (o.json) {
    auto steps = nlohmann::ordered_json::array();
    for (const executor::PlanStep& step : plan.steps) {
      steps.push_back({{"text", step.text}});
      if (!step.nest.empty()) steps.back()["nest"] = step.nest;
    }
    return print_json({{"name", function.name()},
                       {"steps", std::move(steps)},
                       {"guards", plan.guards},
                       {"memory_bytes", plan.arena_bytes}});
  }
  fmt::print("# {}: {} step{}, {} guard{}, {} of memory\n", function.name(), plan.steps.size(),
             plan.steps.size() == 1 ? "" : "s", plan.guards, plan.guards == 1 ? "" : "s", bytes_text(plan.arena_bytes));
  size_t nests = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const executor::PlanStep& step = plan.steps[i];
    if (o.to == "plan") {
      fmt::print("{}\n", step.text);
    } else if (!step.nest.empty()) {
      const std::string first_line = step.text.substr(0, step.text.find('\n'));
      fmt::print("# step {}: {}\n{}", i, first_line, step.nest);
      ++nests;
    }
  }
  if (o.to == "loops" && nests == 0) fmt::print("# no step is a loop nest, or has one behind it\n");
}

nlohmann::ordered_json document(const GraphSource& source, const Options& o, size_t& nodes, OutsideReport& report) {
  const ir::Function* wanted = nullptr;
  if (o.run) {
    if (!source.model()) throw UsageError("--run needs a program, this is one graph");
    if (o.function.find('.') != o.function.npos)
      throw UsageError(fmt::format("--run runs methods of the file's module itself, not '{}'", o.function));
    wanted = &source.model()->method(o.function).function();
  }
  GraphDocument out(o.model.file);
  for (const NamedGraph& g : source.graphs()) {
    need_graph(g, o);
    std::vector<passes::PassTime> times;
    const std::shared_ptr<ir::Graph> graph = prepared(source, g, o, times);
    report.add(g.name, *graph);
    if (o.time) print_times(times);
    std::optional<GraphRun> run;
    if (wanted && g.function == wanted) run = run_graph(source, g, *graph, o);
    out.add(g.name.empty() ? "graph" : g.name, *graph, run ? &*run : nullptr);
  }
  nlohmann::ordered_json json = out.finish();
  for (const auto& g : json["graphs"]) nodes += g["nodes"].size();
  return json;
}

int run_ir(Options o) {
  if (o.list_passes) {
    list_passes(o.json);
    return 0;
  }
  if (o.repeat < 1 || o.repeat > kMostRuns)
    throw UsageError(fmt::format("--repeat takes a number from 1 to {}, got {}", kMostRuns, o.repeat));
  if (o.model.file.empty()) throw UsageError("FILE is required");
  for (const std::string& name : o.passes) {
    if (!passes::find_pass(name)) throw UsageError(fmt::format("there is no pass '{}', see --list-passes", name));
  }
  if (!o.to.empty()) {
    o.dialect = lowering::find_dialect(o.to);
    if (!o.dialect && !o.plans()) {
      throw UsageError(
          fmt::format("there is no dialect '{}'; --to takes {}, loops, plan", o.to, lowering::dialect_names()));
    }
  }
  if (o.strict && !o.dialect) {
    throw UsageError(
        fmt::format("--strict needs --to {}: it refuses operators outside that dialect", lowering::dialect_names()));
  }
  o.run = o.run || !o.inputs.values.empty() || !o.inputs.random.empty();
  if (o.plans()) {
    if (o.code || o.optimise || o.inline_calls || !o.passes.empty() || !o.html.empty() || o.verify || o.time)
      throw UsageError(fmt::format("--to {} shows what a run becomes; it goes with inputs and --json alone", o.to));
    print_plan(o);
    return 0;
  }
  if (!o.device.empty()) throw UsageError("--device goes with --to loops and --to plan: graphs are of no device");
  if (o.run && !o.json && o.html.empty()) throw UsageError("--run needs --html or --json: they show shapes and times");
  if (o.code && o.dialect) throw UsageError("--code prints bytecode; --to shows the graph");
  if (o.code && (o.run || !o.html.empty())) throw UsageError("--code prints bytecode; --run and --html show the graph");
  const GraphSource source(o.model, o.function);
  OutsideReport report(o);
  if (o.code) {
    print_code(source, o);
  } else if (!o.json && o.html.empty()) {
    print_graphs(source, o, report);
  } else {
    size_t nodes = 0;
    const nlohmann::ordered_json json = document(source, o, nodes, report);
    if (!o.html.empty()) {
      const std::string page = graph_page(json);
      FileWriter file(o.html == "-" ? "/dev/stdout" : o.html);
      file.write(page);
      file.commit();
      if (o.html != "-" && !o.json) {
        const size_t graphs = source.graphs().size();
        fmt::print("{}: {} graph{}, {} nodes, {}\n", o.html, graphs, graphs == 1 ? "" : "s", nodes,
                   bytes_text(page.size()));
      }
    }
    if (o.json) print_json(json);
  }
  report.check();
  return 0;
}

}  // namespace

Command add_ir_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("ir", kDescription);
  command.footer(kFooter);
  command.add_option("FILE", o->model.file, "A program or graph text; - reads text from standard input").type_name("");
  command
      .add_option("--function,--method", o->function,
                  "Only this one: f, Class.method, forward, or a submodule's: layer1.0.forward")
      .type_name("F");
  command
      .add_option("--module", o->model.module,
                  "Builds this module of program text first, by its name or as a call of its constructor: the graphs "
                  "of its methods")
      .type_name("CLASS");
  command.add_option("--pass", o->passes, "Runs this pass; repeatable").type_name("NAME").allow_extra_args(false);
  command.add_flag("--inline", o->inline_calls, "Replaces calls by the bodies of what they call, first");
  command.add_flag("--optimise", o->optimise, "Runs the whole pipeline, before --pass");
  command
      .add_option("--to", o->to,
                  "Lowers the graph to this dialect: " + lowering::dialect_names() +
                      "; last of all. Or shows the loops, or the plan, of a run with the inputs of --run and --random")
      .type_name("DIALECT|loops|plan");
  command.add_flag("--strict", o->strict, "With --to: an error that names what is left outside the dialect, and where");
  command.add_flag("--verify", o->verify, "Checks the graph after every pass");
  command.add_flag("--time", o->time, "Says on standard error how long each pass took");
  command.add_flag("--code", o->code, "Prints the bytecode that runs instead: docs/runtime.md explains it");
  command.add_flag("--list-passes", o->list_passes, "Lists the passes");
  command.add_option("--html", o->html, "Writes a page that shows the graphs").type_name("OUT.html");
  command
      .add_option("--run", o->inputs.values, "Runs the graph with these inputs, for --html, --json and --to loops|plan")
      .type_name("[INPUT...]")
      .expected(0, -1)
      .each([o](const std::string&) { o->run = true; });
  command.add_option("--warm-up", o->warm_up, "Runs before those that are shown; 1 by default").type_name("N");
  command.add_option("--repeat", o->repeat, "Runs whose medians are shown; 5 by default").type_name("N");
  add_random_options(command, o->inputs);
  add_device_option(command, o->device);
  command.add_option("--seed", o->model.seed, "Seed of random numbers, as torch.manual_seed").type_name("N");
  add_ops_option(command, o->model.libraries);
  add_json_option(command, o->json);
  return [o] { return run_ir(*o); };
}

}  // namespace sconce::cli
