// Gradients of convolution. With respect to the input it is the transposed convolution of the gradient, with the same
// weights; with respect to the weights a matrix product over all pixels.
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/kernels/cpu/conv/conv_gradient.h"
#include "sconce/kernels/cpu/conv/convolution.h"

namespace sconce {
namespace {

SCONCE_VARIANT(of_planes, "conv.gradient.planes", "planar images, a kernel of 1 x 1, float32, float64 or one image");
SCONCE_VARIANT(sums_in_place, "conv.gradient.in_place",
               "a gradient with input channels innermost, in the dtype of the sums");

// Of a 1 x 1 convolution of planar images, which are multiplied where they lie, pixel by pixel.
void planar_weight_gradient(const ConvShape& shape, const Tensor& input, const Tensor& grad_output,
                            const Tensor& grad_weight) {
  int64_t pixels = 1;
  for (int i = 0; i < shape.rank; ++i) pixels *= shape.in[i];
  const auto bytes = static_cast<int64_t>(item_size(input.dtype()));
  Epilogue epilogue;
  for (int64_t n = 0; n < shape.batch; ++n) {
    epilogue.accumulate = n > 0;
    gemm(input.dtype(), shape.out_channels, shape.in_channels, pixels,
         {static_cast<const char*>(grad_output.data()) + n * grad_output.strides()[0] * bytes, pixels, 1},
         {static_cast<const char*>(input.data()) + n * input.strides()[0] * bytes, 1, pixels},
         {grad_weight.data(), grad_weight.strides()[0], grad_weight.strides()[1]}, epilogue);
  }
}

void real_weight_gradient(const ConvShape& shape, const Tensor& input, const Tensor& grad_output,
                          const Tensor& grad_weight) {
  const bool rounds_once = input.dtype() == DType::float32 || input.dtype() == DType::float64 || shape.batch == 1;
  if (of_planes(conv_is_product(shape) && rounds_once && shape.batch > 0 && is_planar(input) &&
                is_planar(grad_output))) {
    return planar_weight_gradient(shape, input, grad_output, grad_weight);
  }
  const DType dtype = grad_weight.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const bool in_pairs = input.dtype() == DType::bfloat16 && matrix_kernels().bf16 && !conv_is_depthwise(shape);
  const DType read = in_pairs ? DType::bfloat16 : dtype;
  const Tensor x = channels_innermost(to_dtype(input, read)), grad = channels_innermost(to_dtype(grad_output, read));
  // [out_channels, kernel..., in_channels / groups], seen as [out_channels, in_channels / groups, kernel...]
  const Tensor sums = channels_innermost_like(grad_weight, dtype);
  conv_weight_gradient(shape, read, x.data(), grad.data(), sums.data());
  if (!sums_in_place(sums.is_same(grad_weight))) copy_tensor(grad_weight, sums);
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
