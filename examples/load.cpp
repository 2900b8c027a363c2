// Loads a program that PyTorch or Sconce saved, and calls it: load net.pt
#include <cstdio>

#include "sconce/api/jit.h"
#include "sconce/ops.h"

using namespace sconce;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: load FILE\n");
    return 2;
  }
  auto model = jit::load(argv[1]);  // a .pt, .ptl or .pt2 file
  model.eval();
  const Tensor x = ones({1, 2});
  const Tensor y = model(x).to_tensor();
  std::printf("%s\n", y.to_string().c_str());
}
