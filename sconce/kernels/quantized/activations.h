// Activations of quantised tensors: functions of one number, by a table of all 256 bytes.
#pragma once

#include "sconce/base/function_ref.h"
#include "sconce/tensor/quantized_tensor.h"

namespace sconce::quantized {

// f of every element, quantised by another scale and zero point.
Tensor map_elements(const Tensor& q, double scale, int64_t zero_point, FunctionRef<float(float)> f);
// Elements below or above what two numbers become are replaced by that; -inf and inf leave an end open.
Tensor clamped(const Tensor& q, double least, double most);

float leaky_relu_of(float x, float slope);
float elu_of(float x, float alpha, float scale, float input_scale);

}  // namespace sconce::quantized
