// Vectorised random draws: many at once, the same numbers as Draws gives one by one, several times as fast.
#pragma once

#include <cstdint>
#include <vector>

#include "sconce/tensor/generator.h"

namespace sconce::rng {

// Fewer draws are not worth taking the state out of the generator and putting it back.
inline constexpr int64_t kBulkDraws = 2048;

// Has the generator, which is locked, to itself as long as it lives.
class BulkDraws {
 public:
  explicit BulkDraws(GeneratorImpl& generator);
  ~BulkDraws();
  BulkDraws(const BulkDraws&) = delete;
  BulkDraws& operator=(const BulkDraws&) = delete;

  // uniform53() < p, n times: as 1 and 0.
  void bernoulli(double p, uint8_t* out, int64_t n);
  void bernoulli(double p, float* out, int64_t n);

 private:
  template <class T>
  void fill(double p, T* out, int64_t n);

  GeneratorImpl& generator_;
  std::vector<uint8_t> state_;
  uint32_t words_[624];
  int left_;  // as in GeneratorImpl
  uint32_t next_;
};

}  // namespace sconce::rng
