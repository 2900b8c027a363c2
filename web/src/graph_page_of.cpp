// What the web package calls beside the C interface: the page of `sconce ir --html` for a module in memory.
#include <optional>

#include <nlohmann/json.hpp>

#include "graphs/graph_json.h"
#include "graphs/graph_page.h"
#include "graphs/graph_plan.h"
#include "graphs/graph_watch.h"
#include "sconce/api/asks_for_gradients.h"
#include "sconce/api/c_api.h"
#include "sconce/api/deep_copy.h"
#include "sconce/passes/passes.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::web {
namespace {

using cli::GraphRun;

// The means of `repeat` runs of the graph, each with copies of its arguments, since a run may write to them.
GraphRun run_of(const ir::Graph& graph, ir::Function& function, const std::vector<Value>& bound, size_t repeat) {
  const size_t first = function.self_type() ? 1 : 0;
  const auto arguments = [&] {
    std::vector<Value> args = bound;
    for (size_t i = first; i < args.size(); ++i) args[i] = jit::deep_copy(args[i]);
    return args;
  };
  cli::watch_graph(graph, function, arguments());
  std::vector<GraphRun> runs;
  for (size_t i = 0; i < repeat; ++i) runs.push_back(cli::watch_graph(graph, function, arguments()));
  GraphRun run = cli::mean_run(std::move(runs));
  cli::find_steps(graph, function, arguments(), run);
  return run;
}

std::string page_of(const sconce_module& handle, const char* file, const char* method, std::vector<Value> args,
                    size_t repeat) {
  const jit::Function found = handle.module.method(method);
  ir::Function& function = found.function();
  SCONCE_CHECK(function.graph(), "{}: {} is bytecode and has no graph", file, method);
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  passes::find_pass("inline_calls")->run(*graph);
  std::optional<GraphRun> run;
  if (repeat > 0) {
    std::optional<InferenceMode> mode;
    if (!jit::asks_for_gradients(found)) mode.emplace();
    if (function.self_type()) args.insert(args.begin(), handle.module.value());
    run = run_of(*graph, function, runtime::bind_call(function, std::move(args), {}), repeat);
  }
  cli::GraphDocument document(file);
  document.add(function.name(), *graph, run ? &*run : nullptr);
  return cli::graph_page(document.finish());
}

}  // namespace
}  // namespace sconce::web

// The page as a string. `repeat` 0: only the graph; else it is run with these arguments, once more than that.
extern "C" sconce_status sconce_web_graph_page(const sconce_module* module, const char* file, const char* method,
                                               sconce_value* const* arguments, size_t count, size_t repeat,
                                               sconce_value** out) {
  using namespace sconce::c_api;
  return guarded([&] {
    std::string page = sconce::web::page_of(need(module, "module"), &need(file, "file"), &need(method, "method"),
                                            values_of(arguments, count, "arguments"), repeat);
    need(out, "out") = new_value(sconce::Value(std::string_view(page)));
  });
}
