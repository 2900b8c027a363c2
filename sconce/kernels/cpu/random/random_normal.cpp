// normal_: two ways to draw, chosen as PyTorch chooses them, because each uses up the generator differently.
//   fewer than 16 elements, or not contiguous   one by one, pairs kept in the generator
//   float32, float64                            all uniform numbers first, then blocks of 16 in place
//   float16, bfloat16                           block by block in float32, each result rounded to the dtype
#include <cmath>
#include <numbers>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/random/box_muller.h"
#include "sconce/kernels/cpu/random/random.h"
#include "sconce/kernels/cpu/random/random_fill.h"
#include "sconce/tensor/half.h"

namespace sconce::rng {
namespace {

SCONCE_VARIANT(in_blocks, "random.normal.blocks", "contiguous, 16 elements or more");
SCONCE_VARIANT(drawn_tail, "random.normal.tail", "a number of elements that is no multiple of 16");

constexpr int64_t kBlock = 16;  // PyTorch transforms 16 draws at a time: which draws make a pair depends on it

// Values i and i + 8 of the block are the two uniform numbers of a pair.
void uniform_to_normal(float* block, float mean, float std) { box_muller(block, mean, std); }
void uniform_to_normal(double* block, double mean, double std) {
  for (int i = 0; i < kBlock / 2; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - block[i]));
    const double angle = 2 * std::numbers::pi * block[i + 8];
    block[i] = std::fma(radius * std::cos(angle), std, mean);
    block[i + 8] = std::fma(radius * std::sin(angle), std, mean);
  }
}

float draw(Draws& draws, float) { return draws.uniform24(); }
double draw(Draws& draws, double) { return draws.uniform53(); }

// When the size is not a multiple of 16, the last 16 are drawn anew.
template <class T>
void fill_in_place(T* out, int64_t n, T mean, T std, Draws& draws) {
  for (int64_t i = 0; i < n; ++i) out[i] = draw(draws, T());
  int64_t done = 0;
  for (; done + kBlock <= n; done += kBlock) uniform_to_normal(out + done, mean, std);
  if (!drawn_tail(done != n)) return;
  T* tail = out + n - kBlock;
  for (int64_t i = 0; i < kBlock; ++i) tail[i] = draw(draws, T());
  uniform_to_normal(tail, mean, std);
}

// Reduced floats: each block is drawn and transformed in float32, then rounded; so is the block of the last 16.
template <class T, T (*round)(float)>
void fill_rounded(T* out, int64_t n, float mean, float std, Draws& draws) {
  float block[kBlock];
  const auto fill_block = [&](T* to) {
    for (float& u : block) u = draw(draws, float());
    uniform_to_normal(block, mean, std);
    for (int64_t i = 0; i < kBlock; ++i) to[i] = round(block[i]);
  };
  int64_t done = 0;
  for (; done + kBlock <= n; done += kBlock) fill_block(out + done);
  if (drawn_tail(done != n)) fill_block(out + n - kBlock);
}

}  // namespace

void normal_(const Tensor& t, double mean, double std, const Generator& generator) {
  SCONCE_CHECK(std >= 0, "normal_: expects std >= 0.0, got std={}", std);
  if (t.numel() == 0) return;
  if (is_complex(t.dtype())) return normal_(parts_of_complex(t), mean, std / std::sqrt(2.0), generator);
  check_floating(t, "normal_");
  check_writable(t, "normal_");
  if (t.is_meta()) return;

  Draws draws(generator);
  const int64_t n = t.numel();
  if (!in_blocks(n >= kBlock && t.is_contiguous())) {
    return fill_reals(t, [&](double* out, int64_t count) {
      for (int64_t i = 0; i < count; ++i) out[i] = std::fma(draws.normal(), std, mean);
    });
  }
  const auto mean32 = static_cast<float>(mean), std32 = static_cast<float>(std);
  switch (t.dtype()) {
    case DType::float32:
      return fill_in_place(t.data<float>(), n, mean32, std32, draws);
    case DType::float64:
      return fill_in_place(t.data<double>(), n, mean, std, draws);
    case DType::float16:
      return fill_rounded<Half, to_half>(t.data<Half>(), n, mean32, std32, draws);
    default:
      return fill_rounded<BFloat16, to_bfloat16>(t.data<BFloat16>(), n, mean32, std32, draws);
  }
}

}  // namespace sconce::rng
