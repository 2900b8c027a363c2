#include "sconce/autograd/graph/engine.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <typeinfo>

#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/graph/fit_gradient.h"
#include "sconce/autograd/graph/node_table.h"
#include "sconce/autograd/graph/recompute.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/autograd/graph/sole_owner.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/thread_exit.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

constexpr int kMaxDepth = 60;            // of runs inside of runs on one thread's stack
constexpr size_t kKeptNodes = 1u << 14;  // memory for graphs up to this size is kept for the next run

// The state of a node in a run.
struct State {
  Node* node;                 // owned by the roots
  uint32_t dependencies = 0;  // gradients that are still to come
  uint32_t edges = 0;         // where its edges begin in Memory::targets
  uint32_t grads = 0;         // where its gradients begin in Memory::grads
  bool needed = true;         // it, or a node behind it, has a gradient that is asked for
  bool runs = true;           // it is applied, not only asked for its gradients
  bool captured = false;
  bool queued = false;
};

struct Ready {
  uint64_t sequence;
  uint32_t arrival, state;
  // The top of the heap is the node made last; of equals, that which came first.
  bool operator<(const Ready& other) const {
    return sequence != other.sequence ? sequence < other.sequence : arrival > other.arrival;
  }
};

struct Capture {
  uint32_t state, slot, index;
  bool operator<(const Capture& other) const { return state < other.state; }
};

// The memory of a run.
struct Memory {
  NodeTable table;
  std::vector<State> states;
  std::vector<uint32_t> targets;  // the state behind each edge, kNone where there is none
  std::vector<Tensor> grads;      // the sum of the gradients that have arrived at each output of each node
  std::vector<Ready> ready;       // a heap
  std::vector<Capture> captures;  // by state
  std::vector<std::pair<uint32_t, uint32_t>> stack;
  // Of the node that runs.
  std::vector<Tensor> inputs;
  std::vector<uint8_t> wanted;

  void clear() {
    table.clear();
    table.trim(4 * kKeptNodes);
    const auto empty = [](auto& v) {
      if (v.capacity() > 4 * kKeptNodes)
        v = {};
      else
        v.clear();
    };
    empty(states);
    empty(targets);
    empty(grads);
    empty(ready);
    empty(captures);
    empty(stack);
    inputs.clear();
    wanted.clear();
  }
};

// Runs inside of runs take further memories from the thread's pool.
struct Memories {
  Memory* free[4] = {};
  size_t count = 0;
};
thread_local constinit Memories memories;
thread_local constinit ThreadExit free_memories{[]() noexcept {
  while (memories.count > 0) delete memories.free[--memories.count];
}};

class MemoryLease {
 public:
  MemoryLease() {
    if (memories.count == 0) {
      at_thread_exit(free_memories);
      memory_ = std::make_unique<Memory>();
    } else {
      memory_.reset(memories.free[--memories.count]);
    }
  }
  ~MemoryLease() {
    memory_->clear();
    if (memories.count < std::size(memories.free)) memories.free[memories.count++] = memory_.release();
  }
  MemoryLease(const MemoryLease&) = delete;
  Memory& operator*() const { return *memory_; }

 private:
  std::unique_ptr<Memory> memory_;
};

// In place where it may.
void add_gradient(Tensor& sum, Tensor more) {
  if (!sum.defined()) {
    sum = std::move(more);
  } else if ((sum.keys() | more.keys()).has(Key::sparse)) [[unlikely]] {
    sum = sum.keys().has(Key::sparse) ? add(more, sum) : add(sum, more);
  } else if (grad_enabled()) {
    sum = add(sum, more);
  } else if (has_sole_owner(sum)) {
    add_(sum, more);
  } else if (has_sole_owner(more)) {
    add_(more, sum);
    sum = std::move(more);
  } else {
    sum = add(sum, more);
  }
}

class GraphRun;
thread_local GraphRun* current_run = nullptr;
thread_local int depth_here = 0;

class GraphRun {
 public:
  GraphRun(RunRequest& request, Memory& memory)
      : request_(request), memory_(memory), outer_(std::exchange(current_run, this)) {
    ++depth_here;
  }
  ~GraphRun() {
    --depth_here;
    current_run = outer_;
  }

  std::vector<Tensor> operator()() {
    std::vector<Tensor> captured(request_.capture ? request_.inputs.size() : 0);
    count_dependencies();
    if (!request_.inputs.empty()) find_needed();
    {
      const GradMode mode(request_.create_graph);
      for (size_t i = 0; i < request_.roots.size(); ++i) {
        const State& state = memory_.states[memory_.table.find(request_.roots[i].node.get())];
        add_gradient(memory_.grads[state.grads + request_.roots[i].slot], std::move(request_.grads[i]));
      }
      for (const Edge& root : request_.roots) make_ready(memory_.table.find(root.node.get()));
      while (!memory_.ready.empty()) {
        std::pop_heap(memory_.ready.begin(), memory_.ready.end());
        const uint32_t next = memory_.ready.back().state;
        memory_.ready.pop_back();
        run_node(next, captured);
      }
    }
    // A callback may queue others.
    for (size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
    return captured;
  }

  void call_after(std::function<void()> f) { callbacks_.push_back(std::move(f)); }

 private:
  uint32_t number_of(Node* node) {
    const uint32_t number = memory_.table.add(node);
    if (number == memory_.states.size()) {
      memory_.states.push_back({node});
      memory_.stack.emplace_back(number, 0);
    }
    return number;
  }

  void count_dependencies() {
    for (const Edge& root : request_.roots) number_of(root.node.get());
    size_t outputs = 0;
    while (!memory_.stack.empty()) {
      const uint32_t number = memory_.stack.back().first;
      memory_.stack.pop_back();
      const Node& node = *memory_.states[number].node;
      memory_.states[number].edges = static_cast<uint32_t>(memory_.targets.size());
      memory_.states[number].grads = static_cast<uint32_t>(outputs);
      outputs += node.outputs.size();
      for (const Edge& edge : node.edges) {
        uint32_t target = NodeTable::kNone;
        if (edge) {
          target = number_of(edge.node.get());
          ++memory_.states[target].dependencies;
        }
        memory_.targets.push_back(target);
      }
    }
    memory_.grads.resize(outputs);
  }

  // Marks inputs, and nodes that lead to them.
  void find_needed() {
    for (State& state : memory_.states) state.needed = state.runs = false;
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const uint32_t number = memory_.table.find(request_.inputs[i].node.get());
      if (number == NodeTable::kNone) continue;
      State& state = memory_.states[number];
      state.needed = true;
      if (request_.capture) {
        state.captured = true;
        memory_.captures.push_back({number, request_.inputs[i].slot, static_cast<uint32_t>(i)});
      } else {
        state.runs = true;
      }
    }
    std::sort(memory_.captures.begin(), memory_.captures.end());
    // Nodes behind a node before itself, one root after the other: a root may lead to another. `queued` says here that
    // a node was met.
    for (const Edge& root : request_.roots) {
      visit(memory_.table.find(root.node.get()));
      while (!memory_.stack.empty()) {
        auto& [number, next] = memory_.stack.back();
        State& state = memory_.states[number];
        const auto edges = static_cast<uint32_t>(state.node->edges.size());
        if (next < edges) {
          const uint32_t target = memory_.targets[state.edges + next++];
          if (target != NodeTable::kNone) visit(target);
          continue;
        }
        for (uint32_t i = 0; i < edges; ++i) {
          const uint32_t target = memory_.targets[state.edges + i];
          if (target != NodeTable::kNone && memory_.states[target].needed) state.needed = state.runs = true;
        }
        memory_.stack.pop_back();
      }
    }
    for (State& state : memory_.states) state.queued = false;
  }

  void visit(uint32_t number) {
    if (std::exchange(memory_.states[number].queued, true)) return;
    memory_.stack.emplace_back(number, 0);
  }

  // Queues a node once nothing more is to come.
  void make_ready(uint32_t number) {
    State& state = memory_.states[number];
    if (state.dependencies > 0 || !state.needed || state.queued) return;
    state.queued = true;
    memory_.ready.push_back({state.node->sequence, arrivals_++, number});
    std::push_heap(memory_.ready.begin(), memory_.ready.end());
  }

  void run_node(uint32_t number, std::vector<Tensor>& captured) {
    const State state = memory_.states[number];
    Node& node = *state.node;
    const std::span grads(memory_.grads.data() + state.grads, node.outputs.size());
    const size_t edges = node.edges.size();
    memory_.inputs.clear();
    memory_.inputs.resize(edges);
    memory_.wanted.assign(edges, 0);
    const uint32_t* targets = memory_.targets.data() + state.edges;
    try {
      Budget::poll_active();
      const RunningNode running(node);
      node.run_tensor_hooks(grads);
      if (state.captured) [[unlikely]] {
        const auto [first, last] =
            std::equal_range(memory_.captures.begin(), memory_.captures.end(), Capture{number, 0, 0});
        for (auto c = first; c != last; ++c) captured[c->index] = grads[c->slot];
      }
      if (state.runs) {
        for (size_t i = 0; i < edges; ++i) {
          memory_.wanted[i] = targets[i] != NodeTable::kNone && memory_.states[targets[i]].needed;
        }
        apply(node, grads);
      }
    } catch (const Error& e) {
      fail_in(node, e);
    }
    for (Tensor& g : grads) g = Tensor();
    for (size_t i = 0; i < edges; ++i) {
      if (targets[i] == NodeTable::kNone) continue;
      State& target = memory_.states[targets[i]];
      if (memory_.inputs[i].defined() && memory_.wanted[i]) {
        add_gradient(memory_.grads[target.grads + node.edges[i].slot], std::move(memory_.inputs[i]));
      }
      if (--target.dependencies == 0) make_ready(targets[i]);
    }
  }

  void apply(Node& node, std::span<Tensor> grads) {
    const BackwardCall call{grads, memory_.inputs, memory_.wanted};
    if (node.hooks) [[unlikely]]
      apply_with_hooks(node, call);
    else
      node.apply(call);
    fit(node);
    if (!request_.retain_graph) node.release_saved();
    if (AnomalyMode::enabled() && AnomalyMode::checks_nan()) [[unlikely]]
      check_nan(node, memory_.inputs);
  }

  void apply_with_hooks(Node& node, const BackwardCall& call) {
    if (const auto hooks = node.hooks->pre.current(); !hooks.empty()) {
      std::vector<Tensor> grads(call.grads.begin(), call.grads.end());
      for (const NodePreHook& hook : hooks) hook(grads);
      SCONCE_CHECK(grads.size() == call.grads.size(), "a pre-hook of {} left {} gradients, expected {}", node.name(),
                   grads.size(), call.grads.size());
      std::move(grads.begin(), grads.end(), call.grads.begin());
    }
    const auto hooks = node.hooks->post.current();
    if (hooks.empty()) return node.apply(call);
    const std::vector<Tensor> grads(call.grads.begin(), call.grads.end());
    node.apply(call);
    fit(node);
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    for (const NodePostHook& hook : hooks) hook(inputs, grads);
    SCONCE_CHECK(inputs.size() == call.inputs.size(), "a post-hook of {} left {} gradients, expected {}", node.name(),
                 inputs.size(), call.inputs.size());
    std::move(inputs.begin(), inputs.end(), call.inputs.begin());
  }

  void fit(Node& node) {
    for (size_t i = 0; i < node.edges.size(); ++i) {
      Tensor& grad = memory_.inputs[i];
      if (!grad.defined() || !memory_.wanted[i]) continue;
      const OutputInfo& to = node.edges[i].node->outputs[node.edges[i].slot];
      if (!fits(grad, to)) grad = fit_gradient(std::move(grad), to, node, i);
    }
  }

  // Says which node failed, and in anomaly mode where it comes from.
  [[noreturn]] static void fail_in(Node& node, const Error& e) {
    if (typeid(e) != typeid(Error)) throw;
    std::string text = e.message();
    const std::string name = node.name();
    if (text.find(name) == std::string::npos) text += " (in " + name + ")";
    if (node.place || AnomalyMode::enabled()) text += history_of(node);
    throw Error(e.kind(), std::move(text));
  }

  RunRequest& request_;
  Memory& memory_;
  GraphRun* const outer_;
  uint32_t arrivals_ = 0;
  std::vector<std::function<void()>> callbacks_;
};

std::vector<Tensor> run_here(RunRequest& request) {
  const MemoryLease memory;
  return GraphRun(request, *memory)();
}

// The same with all of this thread's modes, on a stack of its own.
std::vector<Tensor> run_on_new_stack(RunRequest& request) {
  std::vector<Tensor> result;
  std::exception_ptr error;
  const ThreadModes modes = thread_modes;
  const SavedTensorHookStack hooks = saved_tensor_hooks();
  uint64_t sequence = next_sequence();
  Node* const running = running_node();
  std::thread thread([&] {
    thread_modes = modes;
    set_saved_tensor_hooks(hooks);
    set_next_sequence(sequence);
    try {
      if (running) {
        const RunningNode inside(*running);
        result = run_here(request);
      } else {
        result = run_here(request);
      }
    } catch (...) {
      error = std::current_exception();
    }
    sequence = next_sequence();
  });
  thread.join();
  set_next_sequence(sequence);
  if (error) std::rethrow_exception(error);
  return result;
}

}  // namespace

std::vector<Tensor> run_graph(RunRequest request) {
  let_go_results();
  return depth_here < kMaxDepth ? run_here(request) : run_on_new_stack(request);
}

void call_after_run(std::function<void()> f) {
  SCONCE_CHECK(current_run, "Final callbacks can only be installed during backward pass.");
  current_run->call_after(std::move(f));
}

}  // namespace sconce::autograd
