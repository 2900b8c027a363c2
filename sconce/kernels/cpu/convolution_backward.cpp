// Gradients of convolution. With respect to the input it is the transposed convolution of the gradient, with the same
// weights; with respect to the weights a matrix product over all pixels.
#include "sconce/base/error.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/kernels/cpu/conv_gradient.h"
#include "sconce/kernels/cpu/convolution.h"

namespace sconce {
namespace {

void real_weight_gradient(const ConvShape& shape, const Tensor& input, const Tensor& grad_output,
                          const Tensor& grad_weight) {
  const DType dtype = grad_weight.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor x = channels_innermost(to_dtype(input, dtype)), grad = channels_innermost(to_dtype(grad_output, dtype));
  // [out_channels, kernel..., in_channels / groups], seen as [out_channels, in_channels / groups, kernel...]
  const Tensor sums = channels_innermost_like(grad_weight, dtype);
  conv_weight_gradient(shape, dtype, x.data(), grad.data(), sums.data());
  if (!sums.is_same(grad_weight)) copy_tensor(grad_weight, sums);
}

}  // namespace

void run_weight_gradient(const ConvShape& shape, const Tensor& input, const Tensor& grad_output,
                         const Tensor& grad_weight) {
  if (grad_weight.numel() == 0) return;
  if (!is_complex(grad_weight.dtype())) return real_weight_gradient(shape, input, grad_output, grad_weight);
  const auto product = [&](int a, int b) {
    Tensor out = empty_tensor(grad_weight.sizes(), real_dtype(grad_weight.dtype()));
    real_weight_gradient(shape, complex_part(input, a), complex_part(grad_output, b), out);
    return out;
  };
  copy_tensor(complex_part(grad_weight, 0), sconce::add(product(0, 0), product(1, 1)));
  copy_tensor(complex_part(grad_weight, 1), sconce::sub(product(0, 1), product(1, 0)));
}

}  // namespace sconce
