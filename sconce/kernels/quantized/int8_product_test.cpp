#include "sconce/kernels/quantized/int8_product.h"

#include <gtest/gtest.h>

#include <random>

#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using quantized::LinearParams;

Tensor random_bytes(IntList sizes, DType dtype, std::mt19937& random) {
  Tensor t = zeros(sizes, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(random());
  return t;
}

std::vector<const Int8Table*> tables() {
  std::vector<const Int8Table*> out = {&v2::int8_table};
#if SCONCE_CPU_LEVELS >= 2
  if (cpu_level() >= 3) out.push_back(&v3::int8_table);
  if (cpu_level() >= 3 && has_byte_products(3)) out.push_back(&v3::int8_table_extended);
#endif
#if SCONCE_CPU_LEVELS >= 3
  if (cpu_level() >= 4) out.push_back(&v4::int8_table);
  if (cpu_level() >= 4 && has_byte_products(4)) out.push_back(&v4::int8_table_extended);
#endif
  return out;
}

// Extremes in every place: 255 * -128 and 255 * 127 in pairs are what instructions that saturate get wrong.
TEST(Int8Product, TilesOfEveryLevelSumExactly) {
  for (const Int8Table* table : tables()) {
    for (int64_t k : {1, 4, 6, 64, 67}) {
      quantized::PackedWeights packed;
      quantized::take_column_params(*per_tensor_quantizer(1, 0), 0, 19, packed);
      packed.k = packed.elements = k;
      quantized::pack_columns(packed,
                              [](int64_t column, int64_t, int64_t) -> int8_t { return column % 2 ? 127 : -128; });
      std::vector<uint8_t> a(static_cast<size_t>(k * table->tile_rows), 255);
      const auto terms = quantized::column_terms(packed, nullptr, 1, 0, 0);
      std::vector<float> result(static_cast<size_t>(19 * table->tile_rows));
      const uint8_t* rows[Int8Table::most_rows];
      for (int i = 0; i < table->tile_rows; ++i) rows[i] = a.data() + i * k;
      Int8Output out;
      out.offset = terms.offset.data();
      out.bias = terms.bias.data();
      out.scale = terms.scale.data();
      out.reals = result.data();
      out.stride = 19;
      out.lo = -1;
      table->tiles[table->tile_rows](1, 0, k, rows, packed.panels.data(), 19, out);
      for (size_t i = 0; i < result.size(); ++i)
        ASSERT_EQ(result[i], static_cast<float>(255 * k * (i % 19 % 2 ? 127 : -128))) << i << " of k " << k;
    }
  }
}

TEST(Int8Product, LinearRoundsAsItsSumsSay) {
  std::mt19937 random(1);
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 33, 7}, {9, 64, 130}, {70, 5, 64}}) {
    const Tensor x = make_quantized(random_bytes({m, k}, DType::uint8, random), per_tensor_quantizer(0.05, 77));
    Tensor scales = zeros({n}, DType::float64), zero_points = zeros({n}, DType::int64);
    for (int i = 0; i < n; ++i) {
      scales.data<double>()[i] = 0.01 + 0.001 * i;
      zero_points.data<int64_t>()[i] = i % 3 - 1;
    }
    const Tensor w =
        make_quantized(random_bytes({n, k}, DType::int8, random), per_channel_quantizer(scales, zero_points, 0));
    const LinearParams params(w, ones({n}));
    const Tensor y = quantized::linear(x, params, 0.5, 120, false);
    const Tensor real = linear(to(quantized_numbers(x), DType::float64), to(quantized_numbers(w), DType::float64),
                               ones({n}, DType::float64));
    for (int64_t i = 0; i < y.numel(); ++i) {
      const double wanted = std::clamp(real.data<double>()[i] / 0.5 + 120, 0.0, 255.0);
      ASSERT_NEAR(static_cast<const uint8_t*>(y.data())[i], wanted, 0.501) << i;
    }
  }
}

TEST(Int8Product, PackedParametersAreChecked) {
  const Tensor bytes = make_quantized(zeros({3, 4}, DType::int8), per_tensor_quantizer(1, 0));
  EXPECT_ERROR(LinearParams(zeros({3, 4}), {}), "needs a weight of qint8");
  EXPECT_ERROR(LinearParams(bytes, zeros({4})), "bias should have N elements");
  EXPECT_ERROR(LinearParams(select(bytes, 0, 0), {}), "2-dimensional");
  const LinearParams good(bytes, {});
  EXPECT_ERROR(quantized::linear(bytes, good, 1, 0, false), "expected input of dtype quint8");
  EXPECT_ERROR(quantized::linear_dynamic(zeros({2, 5}), good, false, false), "should be equal to K");
  const Tensor kernel = make_quantized(zeros({4, 2, 3, 3}, DType::int8), per_tensor_quantizer(1, 0));
  const Dims one = {1, 1}, none = {0, 0}, few = {1};
  using quantized::ConvParams;
  EXPECT_ERROR(ConvParams(2, kernel, {}, few, none, none, one, 1, false), "stride should have 2 elements");
  EXPECT_ERROR(ConvParams(2, kernel, {}, none, none, none, one, 1, false), "stride must be 1 or more");
  EXPECT_ERROR(ConvParams(2, kernel, {}, one, none, none, one, 3, false), "cannot be in 3 groups");
  EXPECT_ERROR(ConvParams(2, kernel, zeros({3}), one, none, none, one, 1, false), "bias should be 4 numbers");
  EXPECT_ERROR(ConvParams(3, kernel, {}, one, none, none, one, 1, false), "expected to have 5 dimensions");
}

}  // namespace
}  // namespace sconce
