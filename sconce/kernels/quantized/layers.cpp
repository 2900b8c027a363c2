// Activations with a scale of their own for the result, and other layers without weights.
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/activations.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::cpu {

using quantized::map_elements;

Tensor quantized_hardswish(const Tensor& input, double output_scale, int64_t output_zero_point) {
  return map_elements(input, output_scale, output_zero_point,
                      [](float x) { return x * std::min(std::max(x + 3, 0.f), 6.f) / 6; });
}

Tensor quantized_leaky_relu(const Tensor& qx, const Scalar& negative_slope, bool inplace, double output_scale,
                            int64_t output_zero_point) {
  SCONCE_CHECK(!inplace, "inplace quantized leaky_relu is not supported");
  const auto slope = static_cast<float>(negative_slope.to_double());
  return map_elements(qx, output_scale, output_zero_point, [&](float x) { return quantized::leaky_relu_of(x, slope); });
}

Tensor quantized_elu(const Tensor& self, double output_scale, int64_t output_zero_point, const Scalar& alpha,
                     const Scalar& scale, const Scalar& input_scale) {
  const auto a = static_cast<float>(alpha.to_double()), s = static_cast<float>(scale.to_double());
  const auto inner = static_cast<float>(input_scale.to_double());
  return map_elements(self, output_scale, output_zero_point,
                      [&](float x) { return quantized::elu_of(x, a, s, inner); });
}

Tensor quantized_celu(const Tensor& self, double output_scale, int64_t output_zero_point, const Scalar& alpha) {
  const auto a = static_cast<float>(alpha.to_double());
  SCONCE_CHECK(a != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return map_elements(self, output_scale, output_zero_point,
                      [&](float x) { return quantized::elu_of(x, a, 1, 1 / a); });
}

Tensor quantized_sigmoid(const Tensor& qx, double output_scale, int64_t output_zero_point) {
  return map_elements(qx, output_scale, output_zero_point, [](float x) { return 1 / (1 + std::exp(-x)); });
}

Tensor quantized_softmax(const Tensor& qx, int64_t dim, double output_scale, int64_t output_zero_point) {
  return quantized::quantized_as(sconce::softmax(quantized::dequantized(qx), dim), output_scale, output_zero_point,
                                 qx.dtype());
}

Tensor quantized_relu6(const Tensor& qx, bool inplace) {
  const Tensor out = quantized::clamped(qx, 0, 6);
  if (!inplace) return out;
  sconce::copy_(qx, out);
  return qx;
}

Tensor quantized_clamp(const Tensor& qx, std::optional<Scalar> min, std::optional<Scalar> max) {
  return sconce::clamp(qx, min, max);
}

Tensor quantized_threshold(const Tensor& qx, const Scalar& threshold, const Scalar& value) {
  return sconce::threshold(qx, threshold, value);
}

Tensor quantized_prelu(const Tensor& qx, const Tensor& weight, double output_scale, int64_t output_zero_point) {
  return quantized::quantized_as(sconce::prelu(quantized::dequantized(qx), quantized::dequantized(weight)),
                                 output_scale, output_zero_point, qx.dtype());
}

Tensor quantized_dropout(const Tensor& self, double output_scale, int64_t output_zero_point, const Scalar&,
                         bool training) {
  SCONCE_CHECK(!training, "quantized::dropout is for inference: training must be False");
  const Quantizer& q = uniform_quantizer_of(self);
  if (q.scale == output_scale && q.zero_point == output_zero_point) return sconce::clone(self);
  return quantized::quantized_as(quantized::dequantized(self), output_scale, output_zero_point, self.dtype());
}

Tensor quantized_max_pool1d(const Tensor& qx, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                            bool ceil_mode) {
  return sconce::max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode);
}
Tensor quantized_max_pool2d(const Tensor& qx, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                            bool ceil_mode) {
  return sconce::max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode);
}

}  // namespace sconce::cpu
