#include "sconce/autograd/graph/fit_gradient.h"

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce::autograd {
namespace {

// Could a tensor of these sizes have been broadcast to `to`?
bool is_expandable(IntList sizes, IntList to) {
  if (sizes.size() > to.size()) return false;
  for (size_t i = 1; i <= sizes.size(); ++i) {
    const int64_t a = sizes[sizes.size() - i], b = to[to.size() - i];
    if (a != b && a != 1) return false;
  }
  return true;
}

}  // namespace

Tensor fit_gradient(Tensor grad, const OutputInfo& to, const Node& node, size_t index) {
  if (!(grad.sizes() == IntList(to.sizes))) {
    SCONCE_CHECK(is_expandable(to.sizes, grad.sizes()),
                 "Function {} returned an invalid gradient at index {} - got {} but expected shape compatible with {}",
                 node.name(), index, grad.sizes(), to.sizes);
    grad = sum_to_size(grad, to.sizes);
  }
  if (grad.dtype() != to.dtype) {
    if (is_complex(grad.dtype()) && !is_complex(to.dtype)) grad = real(grad);
    if (grad.dtype() != to.dtype) grad = sconce::to(grad, to.dtype);
  }
  SCONCE_CHECK(grad.device() == to.device,
               "Function {} returned an invalid gradient at index {} - expected device {} but got {}", node.name(),
               index, to_string(to.device), to_string(grad.device()));
  return grad;
}

}  // namespace sconce::autograd
