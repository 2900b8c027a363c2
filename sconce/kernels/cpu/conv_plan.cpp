#include "sconce/kernels/cpu/conv_plan.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/conv_winograd.h"

namespace sconce {
namespace {

int tile_of(ConvAlgorithm algorithm) { return algorithm == ConvAlgorithm::winograd4 ? 4 : 2; }
bool is_winograd(ConvAlgorithm algorithm) {
  return algorithm == ConvAlgorithm::winograd2 || algorithm == ConvAlgorithm::winograd4;
}

ConvAlgorithm plain_algorithm(const ConvShape& shape) {
  if (conv_is_depthwise(shape)) return ConvAlgorithm::depthwise;
  return conv_is_product(shape) ? ConvAlgorithm::product : ConvAlgorithm::direct;
}

// F(4,3) needs four times the memory of the weights, so its products must be few against its tiles; F(2,3) pays from
// 7 x 7 outputs on.
ConvAlgorithm best_algorithm(const ConvShape& shape, DType dtype, Numerics numerics, size_t budget,
                             const MatrixKernels& kernels) {
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

}  // namespace

const char* algorithm_name(ConvAlgorithm algorithm) {
  constexpr const char* names[] = {"product", "direct", "depthwise", "Winograd F(2,3)", "Winograd F(4,3)"};
  return names[static_cast<int>(algorithm)];
}

ConvPlan plan_conv(const ConvShape& shape, DType dtype, ConvAlgorithm algorithm, const MatrixKernels& kernels) {
  ConvPlan plan{shape, dtype, algorithm, conv_packed_bytes(shape, dtype, kernels), &kernels};
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
  if (is_winograd(algorithm)) {
    return winograd_pack(shape, tile_of(algorithm), static_cast<const float*>(weight), strides,
                         static_cast<float*>(packed), *kernels);
  }
  conv_pack(shape, dtype, weight, strides, packed, *kernels);
}

void ConvPlan::run(const void* x, const void* packed, void* y, const Epilogue& epilogue) const {
  if (is_winograd(algorithm)) {
    if (shape.batch == 0) return;
    return winograd_run(shape, tile_of(algorithm), static_cast<const float*>(x), static_cast<const float*>(packed),
                        static_cast<float*>(y), epilogue, *kernels);
  }
  conv_run(shape, dtype, x, packed, y, epilogue, *kernels);
}

void ConvPlan::run_rows(const void* x, const void* packed, void* y, const Epilogue& epilogue, ConvRows rows) const {
  SCONCE_CHECK(!shape.transposed, "convolution: a transposed one is not cut into rows");
  int64_t in_pixels = 1, out_pixels = 1;
  for (int i = 0; i < shape.rank; i++) {
    in_pixels *= shape.in[i];
    out_pixels *= shape.out[i];
  }
  const int64_t height = shape.rank == 1 ? 1 : shape.out[0];
  const auto bytes = static_cast<int64_t>(item_size(dtype));
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
    part.run(static_cast<const char*>(x) + x_pixel * shape.in_channels * bytes, packed,
             static_cast<char*>(y) + pixel * shape.out_channels * bytes, own);
    row += last - first;
  }
}

}  // namespace sconce
