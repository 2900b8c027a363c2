// Convolution on CUDA devices: of 16-bit floats, and of float32 where TF32 will do, by cuDNN where it is there
// (cudnn/cudnn.h), otherwise by products:
// windows become the columns of a matrix (text/windows.cuh), some pictures at a time so that the matrix stays small.
// Kernels of one element and step one need no columns. The gradients are the same products, transposed; a transposed
// convolution is the gradient of an ordinary one.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/generated/convolution_cuda_kernels.h"
#include "sconce/kernels/cuda/cudnn/cudnn.h"
#include "sconce/kernels/cuda/layers/channels_last.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/windows.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

constexpr int64_t kMostColumns = int64_t{1} << 28;  // elements of the matrix at a time

// Of an ordinary convolution: `image` the larger side, `places` the smaller.
struct Geometry {
  WindowShape shape;
  int64_t batch, image_channels, place_channels, groups;
  size_t rank;

  bool is_direct() const {
    for (int d = 0; d < 3; ++d) {
      if (shape.kernel[d] != 1 || shape.stride[d] != 1 || shape.pad[d] != 0 || shape.size[d] != shape.out_size[d])
        return false;  // sizes differ by output_padding
    }
    return true;
  }
  // Pictures whose columns fit.
  int64_t step() const {
    const int64_t each = image_channels * shape.taps() * shape.places();
    return is_direct() ? batch : std::max<int64_t>(1, kMostColumns / std::max<int64_t>(each, 1));
  }
};

Geometry geometry_of(const Tensor& image, const Tensor& places, const Tensor& weight, IntList stride, IntList padding,
                     IntList dilation, int64_t groups) {
  Geometry g;
  g.rank = static_cast<size_t>(image.dim() - 2);
  SCONCE_CHECK(g.rank >= 1 && g.rank <= 3, "convolution on CUDA: pictures of 1 to 3 dimensions, got input of size {}",
               image.sizes());
  g.batch = image.sizes()[0];
  g.image_channels = image.sizes()[1];
  g.place_channels = places.sizes()[1];
  g.groups = groups;
  put_last(g.shape.size, image.sizes().slice(2, g.rank), g.rank);
  put_last(g.shape.out_size, places.sizes().slice(2, g.rank), g.rank);
  put_last(g.shape.kernel, weight.sizes().slice(2, g.rank), g.rank);
  put_last(g.shape.stride, stride, g.rank);
  put_last(g.shape.pad, padding, g.rank);
  put_last(g.shape.dilation, dilation, g.rank);
  return g;
}

// [n, groups, channels / groups * taps, places] of n pictures.
Tensor columns_of(const Geometry& g, const Tensor& image) {
  const int64_t n = image.sizes()[0], per_group = g.image_channels / g.groups * g.shape.taps();
  if (g.is_direct()) return sconce::view(image, {n, g.groups, per_group, g.shape.places()});
  const Tensor columns = empty_tensor({n, g.groups, per_group, g.shape.places()}, image.dtype(), image.device());
  launch_windows(WindowKernel::to_columns, "convolution", g.shape, n * g.image_channels, image, columns);
  return columns;
}
// The image of n pictures from columns.
void add_columns(const Geometry& g, const Tensor& columns, const Tensor& image) {
  if (g.is_direct()) {
    sconce::copy_(image, sconce::view(columns, image.sizes()));
    return;
  }
  launch_windows(WindowKernel::from_columns, "convolution", g.shape, image.sizes()[0] * g.image_channels,
                 dense(columns), image);
}
// [groups, place channels / groups, image channels / groups * taps]; the weight has the place channels first.
Tensor matrix_of(const Geometry& g, const Tensor& weight) {
  return sconce::view(dense(weight),
                      {g.groups, g.place_channels / g.groups, g.image_channels / g.groups * g.shape.taps()});
}
Tensor grouped(const Geometry& g, const Tensor& places) {
  return sconce::view(places, {places.sizes()[0], g.groups, g.place_channels / g.groups, g.shape.places()});
}

// places = weight * columns of image
void image_to_places(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor& places) {
  const Tensor matrix = matrix_of(g, weight);
  for (int64_t first = 0; first < g.batch; first += g.step()) {
    const int64_t n = std::min(g.step(), g.batch - first);
    const Tensor part = sconce::narrow(places, 0, first, n);
    const Tensor product = sconce::matmul(matrix, columns_of(g, sconce::narrow(image, 0, first, n)));
    sconce::copy_(part, sconce::view(product, part.sizes()));
  }
}
// image = windows of weight' * places
void places_to_image(const Geometry& g, const Tensor& places, const Tensor& weight, const Tensor& image) {
  const Tensor matrix = sconce::transpose(matrix_of(g, weight), 1, 2);
  for (int64_t first = 0; first < g.batch; first += g.step()) {
    const int64_t n = std::min(g.step(), g.batch - first);
    const Tensor product = sconce::matmul(matrix, grouped(g, sconce::narrow(places, 0, first, n)));
    add_columns(g, dense(product), sconce::narrow(image, 0, first, n));
  }
}
// The gradient of the weight: places * columns', summed over pictures.
Tensor weight_gradient(const Geometry& g, const Tensor& image, const Tensor& places, const Tensor& weight) {
  Tensor total;
  for (int64_t first = 0; first < g.batch; first += g.step()) {
    const int64_t n = std::min(g.step(), g.batch - first);
    const Tensor columns = columns_of(g, sconce::narrow(image, 0, first, n));
    const Tensor each =
        sconce::matmul(grouped(g, sconce::narrow(places, 0, first, n)), sconce::transpose(columns, 2, 3));
    const Tensor sum = sconce::sum(each, IntList({0}));
    total = total.defined() ? sconce::add(total, sum) : sum;
  }
  if (!total.defined()) return sconce::zeros(weight.sizes(), weight.dtype(), {}, weight.device());
  return sconce::view(total, weight.sizes());
}

// The dimension that is number i from the innermost one on, of memory with channels first or last.
int dimension_at(int i, int dims, bool channels_last) {
  if (!channels_last) return dims - 1 - i;
  return i == 0 ? 1 : i == dims - 1 ? 0 : dims - i;  // channels, then the picture from its last dimension
}
bool has_channels_last(const Tensor& t) {
  int64_t expected = 1;
  const auto dims = static_cast<int>(t.dim());
  for (int i = 0; i < dims; ++i) {
    const int d = dimension_at(i, dims, true);
    if (t.size(d) != 1 && t.stride(d) != expected) return false;
    expected *= t.size(d);
  }
  return true;
}
// cuDNN takes channels first or last, and computes wrong numbers from any other order of dimensions.
bool is_laid_out(const Tensor& t) { return t.is_contiguous() || has_channels_last(t); }
// It also reads the order from strides of dimensions of size 1, which mean nothing: a view gets those of its layout.
Tensor laid_out(const Tensor& t) {
  if (!is_laid_out(t)) return sconce::contiguous(t);
  const auto dims = static_cast<int>(t.dim());
  const bool channels_last = !t.is_contiguous();
  Dims strides(static_cast<size_t>(dims), 1);
  int64_t expected = 1;
  for (int i = 0; i < dims; ++i) {
    const auto d = static_cast<size_t>(dimension_at(i, dims, channels_last));
    strides[d] = expected;
    expected *= t.sizes()[d];
  }
  return t.strides() == IntList(strides) ? t : make_view(t, t.sizes(), strides, t.storage_offset());
}

bool by_cudnn(ConvolutionProduct product, const Tensor& x, const Tensor& w, const Tensor& y, IntList stride,
              IntList padding, IntList dilation) {
  return convolve_by_cudnn({product, &x, &w, &y, stride, padding, dilation});
}

// The first convolution of a network, channels last: cuDNN has tensor core kernels for whole packs of channels only,
// and the others take several times as long, so that zeros beside the channels pay, but for small pictures.
bool pays_to_pad(const Tensor& input, const Tensor& out, int64_t groups) {
  constexpr int64_t kLargeResult = int64_t{1} << 20;
  return groups == 1 && has_few_channels(input) && out.is_contiguous(MemoryFormat::channels_last) &&
         out.numel() >= kLargeResult;
}

void add_bias(const Tensor& out, const Tensor& bias) {
  if (!bias.defined()) return;
  Dims beside(static_cast<size_t>(out.dim()), 1);
  beside[1] = bias.numel();
  sconce::add_(out, sconce::view(dense(bias), beside));
}

}  // namespace

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                 IntList dilation, bool transposed, IntList, int64_t groups, const Tensor& out) {
  if (may_convolve(input.dtype()) && out.numel() != 0 && is_laid_out(out)) {
    const bool pads = !transposed && pays_to_pad(input, out, groups);
    const Tensor x = pads ? with_whole_pack(input) : laid_out(input),
                 w = pads ? with_whole_pack(weight) : laid_out(weight), y = laid_out(out);
    if (transposed ? by_cudnn(ConvolutionProduct::image, y, w, x, stride, padding, dilation)
                   : by_cudnn(ConvolutionProduct::places, x, w, y, stride, padding, dilation))
      return add_bias(out, bias);
  }
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  if (out.numel() != 0) {
    const Tensor x = dense(input);
    if (transposed) {
      places_to_image(geometry_of(made, x, weight, stride, padding, dilation, groups), x, weight, made);
    } else {
      image_to_places(geometry_of(x, made, weight, stride, padding, dilation, groups), x, weight, made);
    }
    add_bias(made, bias);
  }
  if (!made.is_same(out)) sconce::copy_(out, made);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                        const Tensor& weight, std::optional<IntList>, IntList stride,
                                                        IntList padding, IntList dilation, bool transposed, IntList,
                                                        int64_t groups, ListRef<bool> output_mask) {
  const auto conjugate = [](const Tensor& t) { return is_complex(t.dtype()) ? sconce::conj_physical(t) : t; };
  Tensor for_input, for_weight, for_bias;
  if (may_convolve(input.dtype()) && grad_output.numel() != 0 && input.numel() != 0) {
    const Tensor there = laid_out(input), kernel = laid_out(weight), given = laid_out(grad_output);
    if (output_mask[0]) {
      const Tensor made = sconce::empty_like(there);
      if (transposed ? by_cudnn(ConvolutionProduct::places, given, kernel, made, stride, padding, dilation)
                     : by_cudnn(ConvolutionProduct::image, made, kernel, given, stride, padding, dilation))
        for_input = made;
    }
    if (output_mask[1]) {
      const Tensor made = sconce::empty_like(kernel);
      if (transposed ? by_cudnn(ConvolutionProduct::weight, given, made, there, stride, padding, dilation)
                     : by_cudnn(ConvolutionProduct::weight, there, made, given, stride, padding, dilation))
        for_weight = made;
    }
  }
  const Geometry g = transposed ? geometry_of(grad_output, input, weight, stride, padding, dilation, groups)
                                : geometry_of(input, grad_output, weight, stride, padding, dilation, groups);
  if (output_mask[0] && !for_input.defined()) {
    for_input = empty_tensor(input.sizes(), input.dtype(), input.device());
    const Tensor grad = dense(grad_output), w = conjugate(weight);
    if (for_input.numel() != 0)
      transposed ? image_to_places(g, grad, w, for_input) : places_to_image(g, grad, w, for_input);
  }
  if (output_mask[1] && !for_weight.defined()) {
    const Tensor grad = dense(grad_output), x = dense(conjugate(input));
    for_weight = transposed ? weight_gradient(g, grad, x, weight) : weight_gradient(g, x, grad, weight);
  }
  if (output_mask[2]) {
    Dims others = {0};
    for (int64_t d = 2; d < grad_output.dim(); ++d) others.push_back(d);
    for_bias = sconce::sum(grad_output, others);
  }
  return {for_input, for_weight, for_bias};
}

}  // namespace sconce::cuda
