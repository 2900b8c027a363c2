#include "graphs/graph_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profiles/instruction_timer.h"
#include "sconce/runtime/bytecode/graph_code.h"
#include "sconce/runtime/fork.h"

namespace sconce::cli {
namespace {

constexpr size_t kLongestSeen = 60;  // characters

class Watch final : public InstructionTimer {
 public:
  explicit Watch(const runtime::GraphCode& code) : code_(code) {}

  GraphRun result(GraphRun run) {
    for_each([&](const runtime::Code& code, size_t instruction, const Count& count) {
      run.ns += count.ns;
      const runtime::NodeSite* site = code_.site_of(code, instruction);
      if (!site) return;
      GraphRun::Node& node = run.nodes[site->node];
      node.ns += count.ns;
      if (site->first == instruction) node.calls += count.calls;
    });
    for (auto& [value, text] : seen_) run.values[value] = std::move(text);
    return run;
  }

 private:
  // What a node leaves is looked at when the next instruction of another node comes.
  void ended(Thread& thread, uint64_t, uint64_t, const runtime::Code* next, const Value* registers) override {
    if (next != thread.code || !registers) return;
    const runtime::NodeSite* site = code_.site_of(*thread.code, thread.instruction);
    if (!site) return;
    for (size_t i = 0; i < site->results.size(); ++i) {
      const auto& result = site->results[i];
      if (!result) continue;
      const Value& v = registers[*result];
      if (v.is_none()) continue;
      std::string text = seen_text(v);
      if (text.empty()) continue;
      const std::lock_guard lock(mutex_);
      seen_[site->node->output(i)] = std::move(text);
    }
  }

  const runtime::GraphCode& code_;
  std::mutex mutex_;
  std::unordered_map<const ir::Value*, std::string> seen_;
};

// Something stands for each item, so that the others keep their places.
std::string item_text(const Value& v) {
  const std::string text = seen_text(v);
  return !text.empty() ? text : v.is_none() ? "None" : "…";
}

std::string items_text(const std::vector<Value>& items, const char* open, const char* close) {
  std::string out = open;
  for (size_t i = 0; i < items.size() && out.size() < kLongestSeen; ++i) out += (i ? ", " : "") + item_text(items[i]);
  if (out.size() >= kLongestSeen) out += ", ...";
  return out + close;
}

}  // namespace

std::string seen_text(const Value& v) {
  switch (v.tag()) {
    case Tag::tensor: {
      const Tensor& t = v.to_tensor();
      if (!t.defined()) return "";
      const std::string sizes = fmt::format("{}", fmt::join(t.sizes().begin(), t.sizes().end(), "×"));
      return fmt::format("{} {}", t.dim() == 0 ? "scalar" : sizes, dtype_name(t.dtype()));
    }
    case Tag::integer:
    case Tag::real:
    case Tag::boolean:
      return v.repr();
    case Tag::tuple:
      return items_text(v.to_tuple().items, "(", ")");
    case Tag::list: {
      std::vector<Value> items;
      for (size_t i = 0; i < v.to_list().size() && i < kLongestSeen; ++i) items.push_back(v.to_list().get(i));
      return items_text(items, "[", "]");
    }
    default:
      return "";
  }
}

GraphRun watch_graph(const ir::Graph& graph, ir::Function& function, std::vector<Value> args) {
  const runtime::GraphCode code(graph, std::string(function.short_name()), &function.unit(),
                                function.self_type() != nullptr);
  GraphRun run;
  for (size_t i = 0; i < args.size() && i < graph.inputs().size(); ++i) {
    std::string text = seen_text(args[i]);
    if (!text.empty()) run.values[graph.inputs()[i]] = std::move(text);
  }
  Watch watch(code);
  runtime::RunOptions options;
  options.observer = &watch;
  code.run(args, options);
  runtime::finish_tasks(&function.unit());
  return watch.result(std::move(run));
}

}  // namespace sconce::cli
