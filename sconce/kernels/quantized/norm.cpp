// Normalisation of quantised tensors: of the numbers that they stand for.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

Tensor normalised(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var,
                  double eps, double scale, int64_t zero_point, bool relu) {
  uniform_quantizer_of(x);
  SCONCE_CHECK(x.dim() >= 2, "quantized::batch_norm expects an input of 2 dimensions or more, got {}", x.sizes());
  const Tensor y = sconce::batch_norm(quantized::dequantized(x), weight, bias, mean, var, false, 0.0, eps, false);
  return quantized::quantized_as(relu ? sconce::relu(y) : y, scale, zero_point, x.dtype());
}

}  // namespace

// Both aten::quantized_batch_norm and quantized::batch_norm.
Tensor quantized_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                            const Tensor& var, double eps, double output_scale, int64_t output_zero_point) {
  return normalised(input, weight, bias, mean, var, eps, output_scale, output_zero_point, false);
}

Tensor quantized_layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                            double eps, double output_scale, int64_t output_zero_point) {
  return quantized::quantized_as(sconce::layer_norm(quantized::dequantized(input), normalized_shape, weight, bias, eps),
                                 output_scale, output_zero_point, input.dtype());
}

Tensor quantized_group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                            double eps, double output_scale, int64_t output_zero_point) {
  return quantized::quantized_as(sconce::group_norm(quantized::dequantized(input), num_groups, weight, bias, eps),
                                 output_scale, output_zero_point, input.dtype());
}

Tensor quantized_instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, double eps,
                               double output_scale, int64_t output_zero_point) {
  SCONCE_CHECK(input.dim() >= 2, "quantized::instance_norm expects an input of 2 dimensions or more, got {}",
               input.sizes());
  return quantized_group_norm(input, input.size(1), weight, bias, eps, output_scale, output_zero_point);
}

#define BATCH_NORM(name, relu)                                                                             \
  Tensor quantized_##name(const Tensor& qx, const Tensor& weight, const Tensor& bias, const Tensor& mean,  \
                          const Tensor& var, double eps, double output_scale, int64_t output_zero_point) { \
    return normalised(qx, weight, bias, mean, var, eps, output_scale, output_zero_point, relu);            \
  }
BATCH_NORM(batch_norm1d, false)
BATCH_NORM(batch_norm1d_relu, true)
BATCH_NORM(batch_norm2d, false)
BATCH_NORM(batch_norm2d_relu, true)
BATCH_NORM(batch_norm3d, false)
BATCH_NORM(batch_norm3d_relu, true)
BATCH_NORM(batch_norm_relu, true)

}  // namespace sconce::cpu
