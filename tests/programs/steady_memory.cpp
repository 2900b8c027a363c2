// sconce-steady-memory STEPS: trains a small convolutional net and fails where the process grows with the steps.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/optim/optimizers.h"
#include "sconce/tensor/memory/allocator_stats.h"

using namespace sconce;

namespace {

struct Net {
  Tensor filters = parameter({4, 1, 3, 3}), filter_bias = parameter({4}), weight = parameter({10, 36}),
         bias = parameter({10});

  static Tensor parameter(IntList sizes) {
    const Tensor t = randn(sizes);
    mul_(t, 0.1);
    autograd::set_requires_grad(t, true);
    return t;
  }
  Tensor operator()(const Tensor& images) const {
    const Tensor h = max_pool2d(relu(conv2d(images, filters, filter_bias)), {2, 2});
    return linear(flatten(h, 1), weight, bias);
  }
};

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 2000;
  manual_seed(1);
  const Net net;
  optim::SGD sgd({net.filters, net.filter_bias, net.weight, net.bias}, {{"lr", 0.01}, {"momentum", 0.9}});
  const Tensor images = randn({4, 1, 8, 8}), labels = arange(4);
  size_t first = 0, first_held = 0;
  double loss_value = 0;
  for (long i = 0; i < steps; ++i) {
    sgd.zero_grad();
    const Tensor loss = cross_entropy_loss(net(images), labels);
    autograd::backward({loss});
    sgd.step();
    if (i == steps / 10) {
      first = resident_bytes();
      first_held = allocator_stats().held;
    }
    loss_value = item_of(loss).to_double();
  }
  const size_t last = resident_bytes(), last_held = allocator_stats().held;
  std::printf(
      "%ld steps, loss %.6f: resident %.1f MiB after a tenth, %.1f MiB at the end; tensors hold %.1f and %.1f MiB\n",
      steps, loss_value, static_cast<double>(first) / 1048576, static_cast<double>(last) / 1048576,
      static_cast<double>(first_held) / 1048576, static_cast<double>(last_held) / 1048576);
  return last > first + 256 * 1024 || last_held > first_held;
}
