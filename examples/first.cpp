#include <cstdio>

#include <sconce/ops.h>

int main() {
  sconce::Tensor x = sconce::arange(6.0).view({2, 3});
  sconce::Tensor y = x.mul(2).add_(1);
  std::printf("%s\n", y.softmax(-1).sum(sconce::IntList{0}).to_string().c_str());
}
