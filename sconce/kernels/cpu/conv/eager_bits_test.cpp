// Plans with packed weights have the bits of eager calls, whatever the memory formats are: convolutions (ConvPlan with
// Numerics::eager) and linear layers (gemm_packed).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/conv/conv_plan.h"
#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

struct Aligned {
  explicit Aligned(size_t bytes) : data(operator new(bytes + 64, std::align_val_t{64})) {}
  ~Aligned() { operator delete(data, std::align_val_t{64}); }
  void* data;
};

struct Layer {
  std::vector<int64_t> input, weight;
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool transposed = false;
};

std::string name(const Layer& l) {
  std::string text;
  for (int64_t n : l.input) text += std::to_string(n) + " ";
  text += "by ";
  for (int64_t n : l.weight) text += std::to_string(n) + " ";
  return text + "stride " + std::to_string(l.stride) + " padding " + std::to_string(l.padding) + " dilation " +
         std::to_string(l.dilation) + " groups " + std::to_string(l.groups) + (l.transposed ? " transposed" : "");
}

// The numbers of a tensor, channels innermost.
std::vector<char> innermost_bytes(const Tensor& t) {
  const Tensor dense = channels_innermost(t);
  const auto* data = static_cast<const char*>(dense.data());
  return {data, data + static_cast<size_t>(t.numel()) * item_size(t.dtype())};
}

int64_t differences(DType dtype, const std::vector<char>& one, const std::vector<char>& other) {
  EXPECT_EQ(one.size(), other.size());
  int64_t count = 0;
  for (size_t i = 0; i < one.size(); i += item_size(dtype)) {
    count += std::memcmp(&one[i], &other[i], item_size(dtype)) != 0;
  }
  return count;
}

void check_layer(const Layer& layer, DType dtype, bool biased) {
  SCOPED_TRACE(name(layer) + std::string(" ") + std::string(dtype_name(dtype)));
  const Tensor x = to(sub(rand(layer.input), 0.4), dtype), w = to(sub(rand(layer.weight), 0.5), dtype);
  const int64_t out_channels = layer.transposed ? layer.weight[1] * layer.groups : layer.weight[0];
  const Tensor bias = biased ? to(rand({out_channels}), dtype) : Tensor();
  const auto eager = [&](const Tensor& input, const Tensor& weight) {
    return convolution(input, weight, bias, {layer.stride}, {layer.padding}, {layer.dilation}, layer.transposed, {0},
                       layer.groups);
  };
  const Tensor y = eager(x, w);
  const std::vector<char> expected = innermost_bytes(y);
  if (layer.input.size() == 4) {
    const Tensor x_last = contiguous(x, MemoryFormat::channels_last),
                 w_last = contiguous(w, MemoryFormat::channels_last);
    EXPECT_EQ(differences(dtype, innermost_bytes(eager(x_last, w)), expected), 0) << "input channels_last";
    EXPECT_EQ(differences(dtype, innermost_bytes(eager(x, w_last)), expected), 0) << "weight channels_last";
    const Tensor turned = transpose(contiguous(transpose(x, 2, 3)), 2, 3);
    EXPECT_EQ(differences(dtype, innermost_bytes(eager(turned, w)), expected), 0) << "input by columns";
  }

  const ConvShape shape =
      conv_shape_of(x, w, bias, {layer.stride}, {layer.padding}, {layer.dilation}, layer.transposed, {0}, layer.groups);
  const ConvPlan plan = plan_conv(shape, dtype, Numerics::eager);
  EXPECT_EQ(plan.algorithm, eager_algorithm(shape, dtype));
  Aligned packed(plan.packed_bytes);
  plan.pack(w.data(), w.strides().data(), packed.data);
  const Tensor input = channels_innermost(x);
  Epilogue epilogue;
  if (biased) epilogue.bias = bias.data();
  std::vector<char> got(expected.size());
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    std::fill(got.begin(), got.end(), '\x55');
    EXPECT_TRUE(plan.run(input.data(), packed.data, got.data(), epilogue));
    EXPECT_EQ(differences(dtype, got, expected), 0) << algorithm_name(plan.algorithm) << ", threads " << threads;
  }
  set_num_threads(1);
  if (!layer.transposed) {
    std::fill(got.begin(), got.end(), '\x55');
    int64_t row = 0;
    while (row < plan.rows()) {  // even numbers of rows, as Winograd's tiles have
      const int64_t in_image = shape.rank == 1 ? 1 : shape.out[0] - row % shape.out[0];
      const int64_t end = row + std::min<int64_t>(in_image, 4);
      EXPECT_TRUE(plan.run_rows(input.data(), packed.data, got.data(), epilogue, {row, end}));
      row = end;
    }
    EXPECT_EQ(differences(dtype, got, expected), 0) << algorithm_name(plan.algorithm) << ", by rows";
  }
  if (dtype != DType::float32) return;
  const Tensor residual = sub(rand(y.sizes()), 0.5), other = channels_innermost(residual);
  epilogue.residual = other.data();
  epilogue.residual_stride = out_channels;
  epilogue.lo = 0;
  plan.run(input.data(), packed.data, got.data(), epilogue);
  EXPECT_EQ(differences(dtype, got, innermost_bytes(relu(add(y, residual)))), 0) << "residual and relu";
}

const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

TEST(EagerBits, ConvolutionsOfNetworks) {
  manual_seed(7);
  const Layer layers[] = {
      {{1, 3, 40, 40}, {16, 3, 3, 3}, 2, 1},
      {{1, 3, 45, 40}, {24, 3, 7, 7}, 2, 3},
      {{1, 16, 28, 28}, {16, 1, 3, 3}, 2, 1, 1, 16},
      {{1, 72, 14, 14}, {72, 1, 5, 5}, 1, 2, 1, 72},
      {{1, 40, 14, 14}, {240, 40, 1, 1}},
      {{1, 96, 7, 7}, {58, 96, 1, 1}},
      {{1, 240, 1, 1}, {64, 240, 1, 1}},
      {{1, 64, 1, 1}, {240, 64, 1, 1}},
      {{8, 64, 1, 1}, {24, 64, 1, 1}},
      {{2, 64, 16, 16}, {64, 64, 3, 3}, 1, 1},
      {{1, 64, 28, 28}, {64, 64, 3, 3}, 1, 1},
      {{1, 64, 7, 7}, {64, 64, 3, 3}, 1, 1},
      {{8, 64, 7, 7}, {64, 64, 3, 3}, 1, 1},
      {{1, 64, 29, 30}, {64, 64, 3, 3}, 1, 0},
      {{1, 64, 28, 28}, {128, 64, 3, 3}, 2, 1},
      {{1, 64, 28, 28}, {128, 64, 1, 1}, 2, 0},
      {{1, 64, 2, 2}, {128, 64, 1, 1}},
      {{3, 64, 2, 2}, {128, 64, 1, 1}},
      {{3, 64, 3, 4}, {128, 64, 1, 1}, 2, 0},
      {{5, 64, 2, 2}, {3, 64, 1, 1}},
      {{1, 32, 20, 20}, {3, 32, 1, 1}},
      {{2, 64, 12, 12}, {64, 16, 3, 3}, 1, 1, 1, 4},
      {{2, 32, 12, 12}, {32, 4, 3, 3}, 1, 1, 1, 8},
      {{1, 20, 13, 13}, {33, 20, 3, 3}, 1, 2, 2},
      {{2, 32, 16, 16}, {32, 48, 3, 3}, 1, 1, 1, 1, true},
      {{2, 32, 9, 9}, {32, 20, 4, 4}, 2, 1, 1, 1, true},
      {{2, 24, 50}, {40, 24, 3}, 1, 1},
      {{1, 24, 50}, {40, 24, 1}},
      {{1, 12, 6, 7, 8}, {20, 12, 3, 3, 3}, 1, 1},
  };
  for (const Layer& layer : layers) {
    for (DType dtype : floats) check_layer(layer, dtype, true);
    check_layer(layer, DType::float32, false);
  }
}

TEST(EagerBits, AnyConvolution) {
  manual_seed(8);
  std::mt19937 random(8);
  const auto pick = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
  for (int round = 0; round < 60; round++) {
    const int64_t kernel = pick(4), groups = random() % 3 ? 1 : pick(4);
    Layer layer{{pick(3), groups * pick(random() % 2 ? 6 : 40), kernel + pick(17), kernel + pick(17)},
                {},
                pick(2),
                0,
                1,
                groups};
    layer.padding = static_cast<int64_t>(random() % static_cast<uint32_t>(kernel));
    layer.weight = {groups * pick(random() % 2 ? 6 : 40), layer.input[1] / groups, kernel, kernel};
    check_layer(layer, floats[round % 8 < 5 ? 0 : round % 8 - 4], random() % 2);
  }
}

TEST(EagerBits, WinogradSaysWhenEagerCallsLeaveIt) {
  manual_seed(9);
  Tensor x = rand({1, 32, 20, 20});
  const Tensor w = rand({32, 32, 3, 3});
  const ConvShape shape = conv_shape_of(x, w, {}, {1}, {1}, {1}, false, {0}, 1);
  ASSERT_EQ(eager_algorithm(shape, DType::float32), ConvAlgorithm::winograd2);
  x.data<float>()[7] = std::numeric_limits<float>::infinity();
  std::vector<char> got(32 * 20 * 20 * sizeof(float));
  const Tensor input = channels_innermost(x);
  const auto run = [&](Numerics numerics) {
    const ConvPlan plan = plan_conv(shape, DType::float32, numerics);
    Aligned packed(plan.packed_bytes);
    plan.pack(w.data(), w.strides().data(), packed.data);
    return plan.run(input.data(), packed.data, got.data());
  };
  EXPECT_FALSE(run(Numerics::eager));
  EXPECT_TRUE(run(Numerics::exact));
  const Tensor y = convolution(x, w, {}, {1}, {1}, {1}, false, {0}, 1);
  EXPECT_EQ(differences(DType::float32, got, innermost_bytes(y)), 0);
}

TEST(EagerBits, LinearLayers) {
  manual_seed(10);
  std::mt19937 random(10);
  for (int round = 0; round < 80; round++) {
    const int64_t m = 1 + random() % 12, n = 1 + random() % 100, k = 1 + random() % 150;
    for (DType dtype : floats) {
      const Tensor x = to(sub(rand({m, k}), 0.5), dtype), w = to(sub(rand({n, k}), 0.5), dtype),
                   bias = to(rand({n}), dtype);
      Aligned packed(packed_b_bytes(dtype, k, n));
      pack_b(dtype, k, n, {w.data(), 1, k}, packed.data);
      std::vector<char> got(static_cast<size_t>(m * n) * item_size(dtype));
      Epilogue epilogue;
      epilogue.bias = bias.data();
      gemm_packed(dtype, m, n, k, {x.data(), k, 1}, packed.data, {got.data(), n, 1}, epilogue);
      const Tensor y = linear(x, w, bias), by_columns = linear(x, t(contiguous(t(w))), bias);
      const auto bytes = [](const Tensor& tensor) {
        const auto* data = static_cast<const char*>(tensor.data());
        return std::vector<char>(data, data + static_cast<size_t>(tensor.numel()) * item_size(tensor.dtype()));
      };
      EXPECT_EQ(differences(dtype, got, bytes(y)), 0) << m << " x " << n << " x " << k << " " << dtype_name(dtype);
      EXPECT_EQ(differences(dtype, got, bytes(by_columns)), 0) << m << " x " << n << " x " << k << " by columns";
    }
  }
}

}  // namespace
}  // namespace sconce
