// One header is enough: a program is loaded, called over memory of the caller, and its result read.
#include <cstdio>
#include <numeric>

#include <sconce/sconce.hpp>

int main(int count, char** words) {
  if (count != 2) return 2;
  const sconce::jit::Module model = sconce::jit::load(words[1]);
  const sconce::InferenceMode inference;
  std::vector<float> numbers(8);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const sconce::Tensor x = sconce::from_blob(numbers.data(), {2, 4});
  const sconce::Tensor y = model(x).to_tensor();
  std::printf("%lld rows, sum of inputs %d\n", static_cast<long long>(y.size(0)), x.sum().item<int>());
  return 0;
}
