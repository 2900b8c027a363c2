#include <cstdio>

#include "sconce/ops.h"
#include "sconce/tensor/generator.h"

using namespace sconce;

int main() {
  manual_seed(0);
  const Tensor x = randn({2, 4});
  const Tensor weight = randn({3, 4});
  const Tensor scores = softmax(linear(x, weight).relu(), -1);
  std::printf("%s\n", scores.to_string().c_str());
}
