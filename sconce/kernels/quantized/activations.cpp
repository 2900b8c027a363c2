#include "sconce/kernels/quantized/activations.h"

#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/generated/activation_kernels.h"
#include "sconce/generated/clamp_kernels.h"
#include "sconce/generated/math_kernels.h"
#include "sconce/kernels/quantized/quantize.h"

namespace sconce::quantized {
namespace {

// The bytes that 0 to 255 become: all numbers that a byte stands for, through f, and quantised.
void fill_table(const Tensor& q, double scale, int64_t zero_point, FunctionRef<float(float)> f, uint8_t* table) {
  const Quantizer& of = uniform_quantizer_of(q);
  uint8_t bytes[256];
  float numbers[256];
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
  quantized_loops().dequantize[has_sign(q)](bytes, 256, affine_of(of), numbers);
  for (float& number : numbers) number = f(number);
  quantized_loops().quantize(numbers, 256, to_bytes(scale, zero_point, q.dtype()), table);
}

Tensor looked_up(const Tensor& q, const uint8_t* table, QuantizerPtr quantizer) {
  const Tensor from = dense(q);
  const Tensor out = empty_like_quantized(from, q.dtype(), std::move(quantizer));
  const auto* in = static_cast<const uint8_t*>(from.data());
  auto* to = static_cast<uint8_t*>(out.data());
  parallel_for(q.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
    quantized_loops().look_up(in + begin, end - begin, table, to + begin);
  });
  return out;
}

Tensor map_same(const Tensor& self, FunctionRef<float(float)> f) {
  const Quantizer& q = uniform_quantizer_of(self);
  return map_elements(self, q.scale, q.zero_point, f);
}

// Functions with values between 0 and 1 use all integers for that.
Tensor map_to_unit(const Tensor& self, FunctionRef<float(float)> f) {
  SCONCE_CHECK(self.dtype() != DType::qint32, "a function of a qint32 tensor between 0 and 1 is not supported");
  return map_elements(self, 1.0 / 256, integer_range(self.dtype()).least, f);
}

}  // namespace

Tensor map_elements(const Tensor& q, double scale, int64_t zero_point, FunctionRef<float(float)> f) {
  if (q.dtype() == DType::qint32) {
    const Tensor reals = dequantized(q);
    for (int64_t i = 0; i < reals.numel(); ++i) reals.data<float>()[i] = f(reals.data<float>()[i]);
    return quantized_as(reals, scale, zero_point, q.dtype());
  }
  uint8_t table[256];
  fill_table(q, scale, zero_point, f, table);
  return looked_up(q, table, per_tensor_quantizer(scale, zero_point));
}

Tensor clamped(const Tensor& q, double least, double most) {
  const Quantizer& of = uniform_quantizer_of(q);
  // Bounds are quantised first, as numbers between two elements would be rounded otherwise.
  const Tensor bounds = empty_tensor({2}, DType::float32);
  bounds.data<float>()[0] = static_cast<float>(least);
  bounds.data<float>()[1] = static_cast<float>(most);
  const Tensor ends = dequantized(quantized_as(bounds, of, q.dtype()));
  const float lo = std::isinf(least) ? static_cast<float>(least) : ends.data<float>()[0];
  const float hi = std::isinf(most) ? static_cast<float>(most) : ends.data<float>()[1];
  return map_same(q, [&](float x) { return x < lo ? lo : x > hi ? hi : x; });
}

float leaky_relu_of(float x, float slope) { return x > 0 ? x : x * slope; }

float elu_of(float x, float alpha, float scale, float input_scale) {
  return x >= 0 ? x * scale : std::expm1(x * input_scale) * alpha * scale;
}

Tensor relu(const Tensor& self) {
  return map_same(self, [](float x) { return x > 0 ? x : 0; });
}

Tensor gelu(const Tensor& self, std::string_view approximate) {
  const bool by_tanh = approximate == "tanh";
  SCONCE_CHECK(by_tanh || approximate == "none", "approximate argument must be either none or tanh.");
  return map_same(self, [&](float x) {
    constexpr float kBeta = 0.7978845608028654f;
    if (by_tanh) return 0.5f * x * (1 + std::tanh(kBeta * (x + 0.044715f * x * x * x)));
    return 0.5f * x * (1 + std::erf(x * 0.7071067811865476f));
  });
}

Tensor sigmoid(const Tensor& self) {
  return map_to_unit(self, [](float x) { return 1 / (1 + std::exp(-x)); });
}

Tensor hardsigmoid(const Tensor& self) {
  return map_to_unit(self, [](float x) { return std::min(std::max(x + 3, 0.f), 6.f) / 6; });
}

Tensor tanh(const Tensor& self) {
  SCONCE_CHECK(self.dtype() != DType::qint32, "tanh of a qint32 tensor is not supported");
  return map_elements(self, 2.0 / 256, self.dtype() == DType::quint8 ? 128 : 0, [](float x) { return std::tanh(x); });
}

Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  const auto slope = static_cast<float>(negative_slope.to_double());
  return map_same(self, [&](float x) { return leaky_relu_of(x, slope); });
}

Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return clamped(self, min_val.to_double(), max_val.to_double());
}

Tensor clamp(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
  SCONCE_CHECK(min || max, "Both min and max are None");
  return clamped(self, min ? min->to_double() : -INFINITY, max ? max->to_double() : INFINITY);
}

Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  const auto limit = static_cast<float>(threshold.to_double()), other = static_cast<float>(value.to_double());
  return map_same(self, [&](float x) { return x > limit ? x : other; });
}

}  // namespace sconce::quantized
