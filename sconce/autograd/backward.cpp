#include "sconce/autograd/backward.h"

#include "sconce/autograd/graph/engine.h"
#include "sconce/autograd/graph/fit_gradient.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/generated/creation.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

// The gradient that backward starts with at tensor number i: the given one, or 1.
Tensor root_grad(const Tensor& t, const Tensor& given, size_t i, const Edge& edge) {
  if (!given.defined()) {
    SCONCE_CHECK(t.numel() == 1, "grad can be implicitly created only for scalar outputs");
    SCONCE_CHECK(is_floating(t.dtype()), "grad can be implicitly created only for real scalar outputs but got torch.{}",
                 dtype_name(t.dtype()));
    const NoGrad off;
    return ones_like(t);
  }
  SCONCE_CHECK(given.sizes() == t.sizes(),
               "Mismatch in shape: grad_output[{}] has a shape of torch.Size({}) and output[{}] has a shape of "
               "torch.Size({}).",
               i, given.sizes(), i, t.sizes());
  SCONCE_CHECK(
      is_complex(given.dtype()) == is_complex(t.dtype()),
      "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
      "grad_output[{}] has a dtype of torch.{} and output[{}] has a dtype of torch.{}.",
      i, dtype_name(given.dtype()), i, dtype_name(t.dtype()));
  SCONCE_CHECK(given.device() == t.device(), "invalid gradient at index {} - expected device {} but got {}", i,
               to_string(t.device()), to_string(given.device()));
  return fit_gradient(given, edge.node->outputs[edge.slot], *edge.node, i);
}

RunRequest make_request(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads,
                        const std::vector<Tensor>& inputs, const BackwardOptions& options) {
  SCONCE_CHECK(grads.empty() || grads.size() == tensors.size(), "got {} tensors and {} gradients", tensors.size(),
               grads.size());
  RunRequest request;
  request.create_graph = options.create_graph;
  request.retain_graph = options.retain_graph.value_or(options.create_graph);
  const GradMode mode(options.create_graph);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    Edge edge = t.defined() && t.requires_grad() ? gradient_edge(t) : Edge();
    // A view of something that requires grad may have no history of its own: of another dtype, or made under no_grad.
    SCONCE_CHECK(edge.node, "element {} of tensors does not require grad and does not have a grad_fn", i);
    request.roots.push_back(std::move(edge));
    request.grads.push_back(root_grad(t, grads.empty() ? Tensor() : grads[i], i, request.roots.back()));
  }
  for (const Tensor& t : inputs) {
    Edge edge = t.defined() && t.requires_grad() ? gradient_edge(t) : Edge();
    SCONCE_CHECK(edge.node, "One of the differentiated Tensors does not require grad");
    request.inputs.push_back(std::move(edge));
  }
  return request;
}

}  // namespace

void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads, BackwardOptions options,
              const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs) {
    if (t.defined() && t.requires_grad() && !is_leaf(t)) retain_grad(t);
  }
  run_graph(make_request(tensors, grads, inputs, options));
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
  SCONCE_CHECK(!inputs.empty(), "`inputs` argument to `grad()` cannot be empty.");
  RunRequest request = make_request(outputs, grad_outputs, inputs, options);
  request.capture = true;
  std::vector<Tensor> result = run_graph(std::move(request));
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.materialize_grads) {
      result[i] = zeros_like(inputs[i]);
      set_requires_grad(result[i], options.create_graph);
      continue;
    }
    SCONCE_CHECK(options.allow_unused,
                 "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
                 "allow_unused=True if this is the desired behavior.",
                 i);
  }
  return result;
}

void queue_callback(std::function<void()> f) { call_after_run(std::move(f)); }

}  // namespace sconce::autograd
