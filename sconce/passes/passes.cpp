#include "sconce/passes/passes.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "sconce/base/budget.h"
#include "sconce/base/logs.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/analysis/activity.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::passes {

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> passes{
#define SCONCE_PASS(name, in_pipeline, summary) {#name, in_pipeline, summary, &name},
#include "sconce/passes/passes.def"
#undef SCONCE_PASS
  };
  return passes;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

namespace {

// Calls f for each part of "a,b,c".
template <class F>
void each_word(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) f(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

class Runner {
 public:
  Runner(const PipelineOptions& options, std::vector<PassTime>* times)
      : times_(times), limit_(options.limit), verify_(options.verify) {
    for (const PassInfo& pass : all_passes()) wanted_.push_back(pass.in_pipeline);
    for (const std::string& name : options.disabled) switch_pass(name, false);
    for (const std::string& name : options.enabled) switch_pass(name, true);
    if (const char* text = std::getenv("SCONCE_PASSES")) {
      each_word(text, [&](std::string_view word) {
        if (word == "-all") {
          std::fill(wanted_.begin(), wanted_.end(), false);
          return;
        }
        SCONCE_CHECK(word.front() == '-' || word.front() == '+',
                     "SCONCE_PASSES: '{}' should be '-' or '+' and the name of a pass", word);
        switch_pass(word.substr(1), word.front() == '+');
      });
    }
    if (const char* text = std::getenv("SCONCE_PASS_LIMIT"); text && limit_ < 0) {
      char* end = nullptr;
      limit_ = std::strtoll(text, &end, 10);
      SCONCE_CHECK(end != text && !*end && limit_ >= 0, "SCONCE_PASS_LIMIT: '{}' is not a number of passes", text);
    }
  }

  void run(ir::Graph& graph) {
    if (run_all(graph, false)) run_all(graph, true);
    run_subgraphs(*graph.block());
  }

 private:
  void switch_pass(std::string_view name, bool on) {
    const PassInfo* pass = find_pass(name);
    SCONCE_CHECK(pass, "there is no pass '{}'", name);
    wanted_[static_cast<size_t>(pass - all_passes().data())] = on;
  }

  // One round. True when another may find more: loops became straight code.
  bool run_all(ir::Graph& graph, bool again) {
    bool unrolled = false;
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (!wanted_[i]) continue;
      // What the first round folded was a tensor: PyTorch takes no number from it.
      if (again && all_passes()[i].run == &number_constants) continue;
      if (limit_ == 0) return false;
      if (limit_ > 0) --limit_;
      const PassInfo& pass = all_passes()[i];
      const bool changed = run(pass, graph);
      if (pass.run == &unroll_loops) unrolled = changed;
    }
    return unrolled;
  }

  bool run(const PassInfo& pass, ir::Graph& graph) {
    Budget::poll_active();
    const auto start = std::chrono::steady_clock::now();
    const bool changed = pass.run(graph);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (times_) times_->push_back({pass.name, time.count(), changed});
    if (is_logged(LogTag::passes, changed ? LogLevel::info : LogLevel::debug)) {
      std::fprintf(stderr, "pass %s: %s, %.1f us\n", pass.name, changed ? "changed" : "no change", time.count() * 1e6);
      if (changed) std::fputs(graph.to_string(false).c_str(), stderr);
    }
    if (verify_) ir::verify(graph);
    return changed;
  }

  // The bodies of forks and closures are graphs of their own.
  void run_subgraphs(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) {
      if (node->is(differentiable_graph())) continue;  // a part of this graph, which the passes have seen
      for (const auto& [name, v] : node->attributes()) {
        if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&v)) run(**graph);
      }
      for (const ir::Block* inner : node->blocks()) run_subgraphs(*inner);
    }
  }

  std::vector<bool> wanted_;  // by place in all_passes()
  std::vector<PassTime>* times_;
  int64_t limit_;
  bool verify_;
};

}  // namespace

void optimise(ir::Graph& graph, const PipelineOptions& options, std::vector<PassTime>* times) {
  // Results that passes compute once are used in every mode later.
  const InferenceMode outside(false);
  const NoGrad off;
  Runner(options, times).run(graph);
}

}  // namespace sconce::passes
