// sconce-use-core: a product, its gradient, a call by name. Linked to sconce_core: there are no programs in it.
#include <cstdio>
#include <cstdlib>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"

using namespace sconce;

int main() {
  const Tensor x = reshape(arange(0, 6, DType::float32), {2, 3});
  autograd::set_requires_grad(x, true);
  // The square of the length of row 0 plus row 1, [3, 5, 7].
  const Tensor loss = sum(mm(x, t(x)));
  autograd::backward({loss});
  const Tensor doubled = call_op("aten::add", {loss, loss}).at(0).to_tensor();
  const std::string text = doubled.to_string() + "\n" + autograd::grad(x).to_string() + "\n";
  std::printf("%s", text.c_str());
  const char* expected = "tensor(166., grad_fn=<AddBackward0>)\ntensor([[ 6., 10., 14.],\n        [ 6., 10., 14.]])\n";
  return text == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
