#include "sconce/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "sconce/autograd/accumulate_grad.h"
#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/fit_gradient.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

// What one run knows of a node.
struct State {
  size_t dependencies = 0;      // gradients that are still to come
  bool needed = true;           // it, or a node behind it, has a gradient that is asked for
  bool runs = true;             // it is applied, not only asked for its gradients
  std::vector<Tensor> grads;    // one per output, summed
  std::vector<std::pair<uint32_t, size_t>> captures;  // of slot, into result
};

bool runs_later(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

// A gradient that no one else holds can be added to in place.
bool is_ours(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return i.count.unique() && i.storage->count.unique() && !i.extra && t.is_dense() && !(i.meta & TensorImpl::is_view);
}

void add_gradient(Tensor& sum, Tensor more) {
  if (!sum.defined()) {
    sum = std::move(more);
  } else if (grad_enabled()) {
    sum = add(sum, more);
  } else if (is_ours(sum)) {
    add_(sum, more);
  } else if (is_ours(more) && more.sizes() == sum.sizes() && more.dtype() == sum.dtype()) {
    add_(more, sum);
    sum = std::move(more);
  } else {
    sum = add(sum, more);
  }
}

class Run {
 public:
  Run(bool retain_graph, bool create_graph) : retain_graph_(retain_graph), create_graph_(create_graph) {}

  // `inputs`: only what leads to them runs. With `capture` their gradients are returned, else accumulated.
  std::vector<Tensor> operator()(const std::vector<Edge>& roots, std::vector<Tensor> grads,
                                 const std::vector<Edge>& inputs, bool capture) {
    std::vector<Tensor> captured(inputs.size());
    count_dependencies(roots);
    if (!inputs.empty()) find_needed(roots, inputs, capture);
    const GradMode mode(create_graph_);
    for (size_t i = 0; i < roots.size(); ++i) {
      Node& node = *roots[i].node;
      give(node, roots[i].slot, fit_gradient(std::move(grads[i]), node.outputs[roots[i].slot], node, i));
    }
    for (const Edge& root : roots) ready(root.node);
    while (!queue_.empty()) {
      const Ref<Node> node = queue_.top();
      queue_.pop();
      run_node(*node, captured);
    }
    return captured;
  }

 private:
  void count_dependencies(const std::vector<Edge>& roots) {
    std::vector<Node*> stack;
    for (const Edge& root : roots) {
      if (states_.try_emplace(root.node.get()).second) stack.push_back(root.node.get());
    }
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      order_.push_back(node);
      for (const Edge& edge : node->edges) {
        if (!edge) continue;
        const auto [found, is_new] = states_.try_emplace(edge.node.get());
        ++found->second.dependencies;
        if (is_new) stack.push_back(edge.node.get());
      }
    }
  }

  void find_needed(const std::vector<Edge>& roots, const std::vector<Edge>& inputs, bool capture) {
    for (auto& [node, state] : states_) state.needed = state.runs = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto found = states_.find(inputs[i].node.get());
      if (found == states_.end()) continue;
      found->second.needed = true;
      if (capture)
        found->second.captures.emplace_back(inputs[i].slot, i);
      else
        found->second.runs = true;
    }
    // Children before parents: from each node down, then back up.
    std::unordered_map<Node*, size_t> next;
    std::vector<Node*> stack;
    for (const Edge& root : roots) stack.push_back(root.node.get());
    while (!stack.empty()) {
      Node* node = stack.back();
      size_t& at = next.try_emplace(node, 0).first->second;
      if (at < node->edges.size()) {
        Node* child = node->edges[at++].node.get();
        if (child && !next.contains(child)) stack.push_back(child);
        continue;
      }
      stack.pop_back();
      State& state = states_.at(node);
      for (const Edge& edge : node->edges) {
        if (edge && states_.at(edge.node.get()).needed) state.needed = state.runs = true;
      }
    }
  }

  void give(Node& node, uint32_t slot, Tensor grad) {
    State& state = states_.at(&node);
    if (state.grads.empty()) state.grads.resize(node.outputs.size());
    add_gradient(state.grads[slot], std::move(grad));
  }

  // Queues a node once nothing more is to come.
  void ready(const Ref<Node>& node) {
    State& state = states_.at(node.get());
    if (state.dependencies > 0 || !state.needed || queued_.contains(node.get())) return;
    queued_.insert({node.get(), true});
    queue_.push(node);
  }

  void run_node(Node& node, std::vector<Tensor>& captured) {
    State& state = states_.at(&node);
    std::vector<Tensor> grads = std::move(state.grads);
    grads.resize(node.outputs.size());
    for (const auto& [slot, index] : state.captures) captured[index] = grads[slot];
    std::vector<Tensor> inputs(node.edges.size());
    std::vector<uint8_t> wanted(node.edges.size());
    if (state.runs) {
      for (size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = node.edges[i] && states_.at(node.edges[i].node.get()).needed;
      }
      node.apply({grads, inputs, wanted});
      if (!retain_graph_) node.release_saved();
    }
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& edge = node.edges[i];
      if (!edge) continue;
      if (inputs[i].defined() && wanted[i]) {
        give(*edge.node, edge.slot, fit_gradient(std::move(inputs[i]), edge.node->outputs[edge.slot], node, i));
      }
      --states_.at(edge.node.get()).dependencies;
      ready(edge.node);
    }
  }

  const bool retain_graph_, create_graph_;
  std::unordered_map<Node*, State> states_;
  std::unordered_map<Node*, bool> queued_;
  std::vector<Node*> order_;
  std::priority_queue<Ref<Node>, std::vector<Ref<Node>>, decltype(&runs_later)> queue_{&runs_later};
};

// One gradient per root, ones for scalars.
std::vector<Tensor> root_grads(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads) {
  SCONCE_CHECK(grads.empty() || grads.size() == tensors.size(), "got {} tensors and {} gradients", tensors.size(),
               grads.size());
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    SCONCE_CHECK(t.requires_grad(), "element {} of tensors does not require grad and does not have a grad_fn", i);
    if (!grads.empty() && grads[i].defined()) {
      SCONCE_CHECK(grads[i].sizes() == t.sizes(),
                   "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}.", i,
                   grads[i].sizes(), i, t.sizes());
      out.push_back(grads[i]);
    } else {
      SCONCE_CHECK(t.numel() == 1, "grad can be implicitly created only for scalar outputs");
      out.push_back(ones_like(t));
    }
  }
  return out;
}

std::vector<Edge> edges_of(const std::vector<Tensor>& tensors) {
  std::vector<Edge> out;
  for (const Tensor& t : tensors) out.push_back(gradient_edge(t));
  return out;
}

}  // namespace

void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads, BackwardOptions options,
              const std::vector<Tensor>& inputs) {
  std::vector<Tensor> start = root_grads(tensors, grads);
  Run run(options.retain_graph.value_or(options.create_graph), options.create_graph);
  run(edges_of(tensors), std::move(start), edges_of(inputs), false);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
  std::vector<Tensor> start = root_grads(outputs, grad_outputs);
  for (const Tensor& t : inputs) {
    SCONCE_CHECK(t.requires_grad(), "One of the differentiated Tensors does not require grad");
  }
  Run run(options.retain_graph.value_or(options.create_graph), options.create_graph);
  std::vector<Tensor> result = run(edges_of(outputs), std::move(start), edges_of(inputs), true);
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.materialize_grads) {
      result[i] = zeros_like(inputs[i]);
      continue;
    }
    SCONCE_CHECK(options.allow_unused,
                 "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                 "this is the desired behavior.");
  }
  return result;
}

}  // namespace sconce::autograd
