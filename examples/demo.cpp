// A first program: tensors, operators by function, by method and by name, and what an error looks like.
#include <cstdio>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"

using namespace sconce;

int main() {
  manual_seed(0);  // the numbers that PyTorch draws from this seed
  const Tensor x = randn({2, 4});
  const Tensor weight = randn({3, 4});
  const Tensor bias = zeros({3});

  const Tensor scores = softmax(linear(x, weight, bias).relu(), -1);
  std::printf("softmax(relu(linear(x, weight, bias))) is\n%s\n\n", scores.to_string().c_str());

  Tensor sum = x.sum(IntList{1}, /*keepdim=*/true);
  sum.mul_(2);
  std::printf("twice the sum of every row is\n%s\n\n", sum.to_string().c_str());

  const std::vector<Value> best = call_op("aten::argmax", {scores, -1});
  std::printf("aten::argmax, called by name, gives\n%s\n\n", best[0].to_tensor().to_string().c_str());

  try {
    matmul(x, weight);
  } catch (const Error& error) {
    std::printf("and a mistake says what is wrong:\n%s\n", error.what());
  }
}
