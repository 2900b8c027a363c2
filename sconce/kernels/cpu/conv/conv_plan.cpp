#include "sconce/kernels/cpu/conv/conv_plan.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/conv/conv_winograd.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/onednn.h"
#include "sconce/kernels/cpu/gemm/provider.h"

namespace sconce {
namespace {

constexpr int64_t winograd_pixels = 128;  // of an eager call: they make up for the transform of the weights

int tile_of(ConvAlgorithm algorithm) { return algorithm == ConvAlgorithm::winograd4 ? 4 : 2; }
bool is_winograd(ConvAlgorithm algorithm) {
  return algorithm == ConvAlgorithm::winograd2 || algorithm == ConvAlgorithm::winograd4;
}

ConvAlgorithm plain_algorithm(const ConvShape& shape) {
  if (conv_is_channelwise(shape)) return ConvAlgorithm::depthwise;
  return conv_is_product(shape) ? ConvAlgorithm::product : ConvAlgorithm::direct;
}

// F(4,3) needs four times the memory of the weights, so its products must be few against its tiles; F(2,3) pays from
// 7 x 7 outputs on.
ConvAlgorithm best_algorithm(const ConvShape& shape, DType dtype, Numerics numerics, size_t budget,
                             const MatrixKernels& kernels) {
  if (numerics == Numerics::eager) return eager_algorithm(shape, dtype, kernels);
  if (numerics != Numerics::exact && winograd_serves(shape, dtype, kernels)) {
    const int64_t smaller = std::min(shape.out[0], shape.out[1]);
    const bool few_weights = shape.in_channels * shape.out_channels <= int64_t{128} * 128;
    if (numerics == Numerics::fast && smaller >= 14 && few_weights &&
        winograd_packed_bytes(shape, 4, kernels) <= budget)
      return ConvAlgorithm::winograd4;
    if (smaller >= 7 && winograd_packed_bytes(shape, 2, kernels) <= budget) return ConvAlgorithm::winograd2;
  }
  return plain_algorithm(shape);
}

// Copies [out_channels, in_channels / groups, kernel...] with any strides to contiguous memory.
void copy_weights(const ConvShape& shape, int64_t bytes, const void* weight, const int64_t* strides, char* to) {
  int64_t sizes[max_conv_rank + 2] = {shape.out_channels, shape.in_channels / shape.groups}, count = 1;
  const int rank = shape.rank + 2;
  for (int i = 0; i < shape.rank; i++) sizes[2 + i] = shape.kernel[i];
  for (int i = 0; i < rank; i++) count *= sizes[i];
  for (int64_t n = 0; n < count; n++, to += bytes) {
    int64_t left = n, offset = 0;
    for (int i = rank - 1; i >= 0; left /= sizes[i--]) offset += left % sizes[i] * strides[i];
    std::copy_n(static_cast<const char*>(weight) + offset * bytes, bytes, to);
  }
}

void run_onednn(const ConvPlan& plan, const void* x, const void* packed, void* y, const Epilogue& epilogue) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const ConvShape& shape = plan.shape;
  const bool clamps = epilogue.lo > -infinity || epilogue.hi < infinity;
  SCONCE_CHECK(!epilogue.post && !epilogue.accumulate && !epilogue.scale &&
                   (plan.dtype == DType::float32 || (!epilogue.residual && !clamps)),
               "convolution: a plan of oneDNN takes a bias, and for float32 a residual and a clamp, nothing else");
  Scratch scratch;
  const void* bias = epilogue.bias;
  if (!bias) {
    const int64_t bytes = shape.out_channels * static_cast<int64_t>(item_size(plan.dtype));
    auto* zeros = scratch.take<char>(bytes);
    std::fill_n(zeros, bytes, char{0});
    bias = zeros;
  }
  onednn_run(*plan.onednn, shape, plan.dtype, x, packed, bias, y);
  if (!epilogue.residual && !clamps) return;
  int64_t pixels = shape.batch;
  for (int i = 0; i < shape.rank; i++) pixels *= shape.out[i];
  const auto lo = static_cast<float>(epilogue.lo), hi = static_cast<float>(epilogue.hi);
  parallel_for(pixels, 16 * 1024 / shape.out_channels + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      float* row = static_cast<float*>(y) + p * shape.out_channels;
      const auto* residual = static_cast<const float*>(epilogue.residual);
      for (int64_t c = 0; c < shape.out_channels; c++) {
        float value = row[c] + (residual ? residual[p * epilogue.residual_stride + c] : 0.f);
        if (clamps) value = value < lo ? lo : value > hi ? hi : value;
        row[c] = value;
      }
    }
  });
}

}  // namespace

const char* algorithm_name(ConvAlgorithm algorithm) {
  constexpr const char* names[] = {"product", "direct", "depthwise", "Winograd F(2,3)", "Winograd F(4,3)", "oneDNN"};
  return names[static_cast<int>(algorithm)];
}

ConvAlgorithm eager_algorithm(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  if (uses_onednn()) return onednn_plan(shape, dtype) ? ConvAlgorithm::onednn : plain_algorithm(shape);
  if (winograd_serves(shape, dtype, kernels) && std::min(shape.out[0], shape.out[1]) >= 4 &&
      shape.batch * shape.out[0] * shape.out[1] >= winograd_pixels)
    return ConvAlgorithm::winograd2;
  return plain_algorithm(shape);
}

ConvPlan plan_conv(const ConvShape& shape, DType dtype, ConvAlgorithm algorithm, const MatrixKernels& kernels) {
  ConvPlan plan{shape, dtype, algorithm, conv_packed_bytes(shape, dtype, kernels), &kernels};
  if (algorithm == ConvAlgorithm::onednn) {
    load_onednn();
    plan.onednn = onednn_plan(shape, dtype);
    SCONCE_CHECK(plan.onednn, "convolution: oneDNN does not serve this shape in {}", dtype_name(dtype));
    plan.packed_bytes = onednn_packed_bytes(*plan.onednn);
    return plan;
  }
  if (is_winograd(algorithm)) {
    SCONCE_CHECK(winograd_serves(shape, dtype, kernels),
                 "convolution: {} needs a float32 3 x 3 kernel with stride 1, no groups, and channels in whole vectors",
                 algorithm_name(algorithm));
    plan.packed_bytes = winograd_packed_bytes(shape, tile_of(algorithm), kernels);
  } else {
    SCONCE_CHECK(algorithm == plain_algorithm(shape), "convolution: the shape is computed by '{}', not by '{}'",
                 algorithm_name(plain_algorithm(shape)), algorithm_name(algorithm));
  }
  return plan;
}

ConvPlan plan_conv(const ConvShape& shape, DType dtype, Numerics numerics, size_t weight_budget,
                   const MatrixKernels& kernels) {
  return plan_conv(shape, dtype, best_algorithm(shape, dtype, numerics, weight_budget, kernels), kernels);
}

void ConvPlan::pack(const void* weight, const int64_t* strides, void* packed) const {
  if (onednn) {
    const auto bytes = static_cast<int64_t>(item_size(dtype));
    int64_t count = shape.out_channels * (shape.in_channels / shape.groups);
    for (int i = 0; i < shape.rank; i++) count *= shape.kernel[i];
    Scratch scratch;
    auto* dense = scratch.take<char>(count * bytes);
    copy_weights(shape, bytes, weight, strides, dense);
    return onednn_pack(*onednn, dense, packed);
  }
  if (is_winograd(algorithm)) {
    return winograd_pack(shape, tile_of(algorithm), static_cast<const float*>(weight), strides,
                         static_cast<float*>(packed), *kernels);
  }
  conv_pack(shape, dtype, weight, strides, packed, *kernels);
}

bool ConvPlan::run(const void* x, const void* packed, void* y, const Epilogue& epilogue) const {
  if (onednn) {
    run_onednn(*this, x, packed, y, epilogue);
    return true;
  }
  if (is_winograd(algorithm)) {
    return shape.batch == 0 ||
           winograd_run(shape, tile_of(algorithm), static_cast<const float*>(x), static_cast<const float*>(packed),
                        static_cast<float*>(y), epilogue, *kernels);
  }
  conv_run(shape, dtype, x, packed, y, epilogue, *kernels);
  return true;
}

bool ConvPlan::run_rows(const void* x, const void* packed, void* y, const Epilogue& epilogue, ConvRows rows) const {
  SCONCE_CHECK(!shape.transposed && !onednn, "convolution: a transposed one, or oneDNN's, is not cut into rows");
  int64_t in_pixels = 1, out_pixels = 1;
  for (int i = 0; i < shape.rank; i++) {
    in_pixels *= shape.in[i];
    out_pixels *= shape.out[i];
  }
  const int64_t height = shape.rank == 1 ? 1 : shape.out[0];
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  bool finite = true;
  for (int64_t row = rows.begin; row < rows.end;) {
    const int64_t image = row / height, first = row % height, last = std::min(height, first + rows.end - row);
    // The rows of one image are a convolution of their own, whose padding says where they begin.
    ConvPlan part = *this;
    part.shape.batch = 1;
    int64_t pixel = image * out_pixels;
    if (shape.rank > 1) {
      part.shape.out[0] = last - first;
      part.shape.padding[0] -= first * shape.stride[0];
      pixel += first * (out_pixels / height);
      if (part.algorithm == ConvAlgorithm::product) {  // rows of a matrix: there is no border to find
        part.shape.in[0] = last - first;
        part.shape.padding[0] = 0;
      }
    }
    int64_t x_pixel = image * in_pixels;
    if (part.algorithm == ConvAlgorithm::product && shape.rank > 1) x_pixel += first * (in_pixels / shape.in[0]);
    Epilogue own = epilogue;
    own.first_row += pixel;
    if (epilogue.residual) {
      own.residual = static_cast<const char*>(epilogue.residual) + pixel * epilogue.residual_stride * bytes;
    }
    const void* part_x = static_cast<const char*>(x) + x_pixel * shape.in_channels * bytes;
    void* part_y = static_cast<char*>(y) + pixel * shape.out_channels * bytes;
    if (algorithm == ConvAlgorithm::product) {
      conv_run(part.shape, dtype, part_x, packed, part_y, own, *kernels, conv_product_order(shape));
    } else if (!part.run(part_x, packed, part_y, own)) {
      finite = false;
    }
    row += last - first;
  }
  return finite;
}

}  // namespace sconce
