// Gradients of convolution, each where the mask asks for it.
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/convolution_kernels.h"
#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/kernels/cpu/norm/norm_gradients.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(by_channels, "conv.bias_gradient.channels", "float32 or float64, contiguous or with channels innermost");

void check_grad_sizes(const ConvShape& shape, const Tensor& grad_output, const Tensor& input) {
  Dims expected = {shape.batch, shape.out_channels};
  for (int i = 0; i < shape.rank; ++i) expected.push_back(shape.out[i]);
  SCONCE_CHECK(grad_output.sizes() == IntList(expected),
               "convolution_backward: expected grad_output of size {}, the convolution's result, but got {}", expected,
               grad_output.sizes());
  SCONCE_CHECK(grad_output.dtype() == input.dtype(), "expected grad_output to have the dtype of input, {}, but got {}",
               dtype_name(input.dtype()), dtype_name(grad_output.dtype()));
}

// The adjoint convolution: its input has the shape of the output of `shape`, and the other way.
ConvShape reversed(const ConvShape& shape) {
  ConvShape r = shape;
  r.transposed = !shape.transposed;
  std::swap(r.in_channels, r.out_channels);
  std::swap(r.in, r.out);
  return r;
}

Tensor sum_channels(const Tensor& grad, IntList others) {
  const bool inside = has_channels_innermost(grad);
  if (!by_channels(!grad.is_meta() && grad.numel() != 0 &&
                   (grad.dtype() == DType::float32 || grad.dtype() == DType::float64) &&
                   (inside || grad.is_contiguous())))
    return sum(grad, others);
  const Tensor out = empty_tensor({grad.size(1)}, grad.dtype());
  channel_sums(out, grad, inside);
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                        const Tensor& weight, std::optional<IntList> bias_sizes,
                                                        IntList stride, IntList padding, IntList dilation,
                                                        bool transposed, IntList output_padding, int64_t groups,
                                                        ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 3, "convolution_backward: output_mask has {} entries, expected 3",
               output_mask.size());
  const ConvShape shape =
      conv_shape_of(input, weight, Tensor(), stride, padding, dilation, transposed, output_padding, groups);
  check_grad_sizes(shape, grad_output, input);
  SCONCE_CHECK(category(input.dtype()) >= Category::floating, "convolution_backward is not implemented for {}",
               dtype_name(input.dtype()));
  SCONCE_CHECK(!bias_sizes || (bias_sizes->size() == 1 && (*bias_sizes)[0] == shape.out_channels) || !output_mask[2],
               "convolution_backward: expected bias of size [{}], got {}", shape.out_channels, *bias_sizes);
  const MemoryFormat format = conv_format(shape, input, weight);
  const bool meta = input.is_meta();
  // Both products want channels innermost, except those that are computed in place.
  const bool rearrange = !meta && output_mask[0] && output_mask[1] && !conv_is_product(shape);
  const Tensor grad = rearrange ? channels_innermost(grad_output) : grad_output;
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    grad_input = make_output({Dims(input.sizes()), input.dtype(), format}, input.device());
    const Tensor w = is_complex(weight.dtype()) ? conj_physical(weight) : weight;
    if (!meta) run_convolution(reversed(shape), grad, w, Tensor(), grad_input);
  }
  if (output_mask[1]) {
    grad_weight = make_output({Dims(weight.sizes()), weight.dtype(), format}, weight.device());
    if (!meta && transposed) {
      run_weight_gradient(reversed(shape), is_complex(input.dtype()) ? conj_physical(grad) : grad,
                          is_complex(input.dtype()) ? conj_physical(input) : input, grad_weight);
    } else if (!meta) {
      run_weight_gradient(shape, input, grad, grad_weight);
    }
  }
  if (output_mask[2]) {
    Dims dims = {0};
    for (int64_t d = 2; d < grad_output.dim(); ++d) dims.push_back(d);
    grad_bias = sum_channels(grad, dims);
  }
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace sconce::cpu
