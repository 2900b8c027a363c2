// Gradients by hand: backward, gradients of gradients, an operation with a backward of its own, a hook, a checkpoint,
// and what an error looks like in anomaly mode.
#include <cstdio>

#include "sconce/api/jit.h"
#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/checkpoint.h"
#include "sconce/autograd/custom_function.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"

using namespace sconce;

// x * x, whose gradient is scaled down where it is large.
struct CalmSquare : autograd::Function<CalmSquare> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x.mul(x);
  }
  static std::vector<Tensor> backward(autograd::Context& ctx, const std::vector<Tensor>& grads) {
    return {ctx.saved()[0].mul(2).mul(grads[0]).clamp(-3, 3)};
  }
};

void print(const char* what, const Tensor& t) { std::printf("%-24s %s\n", what, t.to_string().c_str()); }

int main() {
  const Tensor x = arange(1, 4, DType::float32);
  autograd::set_requires_grad(x, true);

  autograd::backward({x.mul(x).sum()});
  print("d/dx x^2", autograd::grad(x));

  const Tensor cube = x.pow(3).sum();
  const Tensor first = autograd::grad({cube}, {x}, {}, {{.create_graph = true}})[0];
  const Tensor second = autograd::grad({first.sum()}, {x})[0];
  print("d/dx x^3", first.detach());
  print("and again", second);

  print("CalmSquare", autograd::grad({CalmSquare::apply(x).sum()}, {x})[0]);

  const Tensor hidden = x.exp();
  autograd::HookHandle handle = autograd::register_hook(hidden, [](const Tensor& g) { return g.mul(0.5); });
  print("half of the gradient", autograd::grad({hidden.log().sum()}, {x})[0]);
  handle.remove();

  const auto layer = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0].sin().exp()}; };
  const Tensor y = autograd::checkpoint(layer, {x})[0];  // keeps x alone; sin and exp run again in backward
  print("checkpoint", autograd::grad({y.sum()}, {x})[0]);

  const autograd::AnomalyMode on;
  auto unit = jit::compile("def f(x):\n    return x.sub(1).sqrt() * 0\n");
  try {
    autograd::backward({unit.function("f")(x).to_tensor().sum()});
  } catch (const Error& error) {
    std::printf("\n%s\n", error.what());
  }
}
