// Packed parameters: what instances of torch.classes.quantized.* and torch.classes.rnn.* hold. Weights are packed once,
// when a program or a file makes them; the tensors stay beside, for unpack() and for files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sconce/kernels/quantized/int8_product.h"
#include "sconce/types/value.h"

namespace sconce::quantized {

// LinearPackedParamsBase: int8 weights, or, where `weight` is float32, ones that were rounded to float16.
struct LinearParams {
  // Throws Error unless the weight is a matrix of qint8 with its channels along axis 0, and the bias fits.
  LinearParams(const Tensor& weight, const Tensor& bias);
  // float32 weights, rounded to float16.
  static std::shared_ptr<LinearParams> of_half(const Tensor& weight, const Tensor& bias);

  bool is_half() const { return weight.dtype() == DType::float32; }

  Tensor weight, bias;  // bias: float32, or undefined
  PackedWeights packed;

 private:
  LinearParams() = default;
};

// Conv2dPackedParamsBase (also of 1-d convolutions, whose weight has a dimension of 1 more) and Conv3dPackedParamsBase.
struct ConvParams {
  // Throws Error unless everything fits.
  ConvParams(int64_t spatial, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
             IntList output_padding, IntList dilation, int64_t groups, bool transpose);

  int64_t spatial;
  Tensor weight, bias;
  Dims stride, padding, output_padding, dilation;
  int64_t groups;
  bool transpose;

  int64_t in_channels, out_channels;
  // Of each group; of a depthwise convolution none, but the weights [taps][channels] less their zero points.
  std::vector<PackedWeights> packed;
  std::vector<int16_t> depthwise;
  PackedWeights depthwise_columns;
  // Do taps of one row of the kernel follow each other in memory, as pixels do? Then a tap is such a row.
  bool by_rows = false;
};

// EmbeddingPackedParamsBase: a table of quint8 with a float scale and zero point for each row.
struct EmbeddingParams {
  EmbeddingParams(const Tensor& weight, int64_t version, int64_t bit_rate);
  Tensor weight;
  int64_t version, bit_rate;
};

// rnn.CellParamsBase.
struct CellParams {
  std::string kind;  // "quantized_dynamic" or "quantized_fp16"
  std::shared_ptr<LinearParams> input, hidden;
  Tensor input_bias, hidden_bias;
  bool reduce_range = false;
};

// y = x W^T + b for floats x, which are quantised by their extremes. `relu` sets negative results to 0.
Tensor linear_dynamic(const Tensor& x, const LinearParams& params, bool reduce_range, bool relu);
Tensor linear_half(const Tensor& x, const LinearParams& params, bool relu);
Tensor linear(const Tensor& x, const LinearParams& params, double scale, int64_t zero_point, bool relu);

// Registers the classes (dispatch/custom/custom_class.h).
void register_packed_classes();
Value linear_value(std::shared_ptr<LinearParams> params);
Value conv_value(std::shared_ptr<ConvParams> params);
Value embedding_value(std::shared_ptr<EmbeddingParams> params);
Value cell_value(std::shared_ptr<CellParams> params);

}  // namespace sconce::quantized
