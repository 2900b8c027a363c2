#include <cstdio>

#include <sconce/api/jit.h>
#include <sconce/ops.h>

int main(int count, char** words) {
  if (count != 2) return 2;
  const sconce::jit::Module model = sconce::jit::load(words[1]);
  const sconce::Tensor y = model(sconce::ones({2, 4})).to_tensor();
  std::printf("%lld rows\n", static_cast<long long>(y.size(0)));
  return 0;
}
