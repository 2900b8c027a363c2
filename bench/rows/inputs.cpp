#include "bench/rows/inputs.h"

#include <vector>

namespace sconce::bench {
namespace {

uint32_t hash(uint32_t i, uint32_t seed) { return (i + seed * 7919u) * 2654435761u; }

}  // namespace

Tensor uniform(IntList sizes, uint32_t seed, float low, float high) {
  Tensor tensor = empty_tensor(sizes, DType::float32);
  float* data = tensor.data<float>();
  for (uint32_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<float>(hash(i, seed) >> 8) / static_cast<float>(1 << 24) * (high - low) + low;
  }
  return tensor;
}

Tensor index(IntList sizes, uint32_t seed, int64_t below) {
  Tensor tensor = empty_tensor(sizes, DType::int64);
  int64_t* data = tensor.data<int64_t>();
  for (uint32_t i = 0; i < tensor.numel(); ++i) data[i] = (hash(i, seed) >> 8) % below;
  return tensor;
}

Tensor mask(IntList sizes, uint32_t seed) {
  Tensor tensor = empty_tensor(sizes, DType::bool_);
  bool* data = tensor.data<bool>();
  for (uint32_t i = 0; i < tensor.numel(); ++i) data[i] = (hash(i, seed) >> 20 & 1) != 0;
  return tensor;
}

Tensor ramp(int64_t n) {
  Tensor tensor = empty_tensor({n}, DType::float32);
  float* data = tensor.data<float>();
  for (int64_t i = 0; i < n; ++i) data[i] = static_cast<float>(i) * (2.0f / static_cast<float>(n)) - 1;
  return tensor;
}

Tensor gram(IntList sizes, uint32_t seed) {
  std::vector<int64_t> square(sizes.begin(), sizes.end());
  const int64_t n = square.back();
  square.push_back(n);
  const Tensor half = uniform(square, seed);
  Tensor tensor = empty_tensor(square, DType::float32);
  const float* u = half.data<float>();
  float* data = tensor.data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t matrix = i / (n * n) * (n * n), row = i / n % n, column = i % n;
    data[i] = (u[i] + u[matrix + column * n + row]) / 2 + (row == column ? static_cast<float>(n) : 0);
  }
  return tensor;
}

}  // namespace sconce::bench
