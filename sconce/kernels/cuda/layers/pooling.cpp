// Pools on CUDA devices: the largest and the mean of windows, with their gradients.
#include "sconce/base/error.h"
#include "sconce/generated/pooling_cuda_kernels.h"
#include "sconce/kernels/cuda/layers/channels_last.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/windows.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

// The pictures of a tensor: its last `rank` dimensions.
int64_t pictures(const Tensor& t, size_t rank, int64_t (&size)[3]) {
  const IntList sizes = t.sizes();
  int64_t channels = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d + rank < sizes.size())
      channels *= sizes[d];
    else
      size[3 - (sizes.size() - d)] = sizes[d];
  }
  return channels;
}

WindowShape shape_of(size_t rank, IntList kernel, IntList stride, IntList padding, IntList dilation) {
  WindowShape s;
  put_last(s.kernel, kernel, rank);
  put_last(s.stride, stride.empty() ? kernel : stride, rank);
  put_last(s.pad, padding, rank);
  put_last(s.dilation, dilation, rank);
  return s;
}

// Runs on dense tensors, and copies results to places that are not.
template <class Run>
void with_dense(const Tensor& out, const Run& run) {
  if (out.is_contiguous()) return run(out);
  const Tensor made = empty_tensor(out.sizes(), out.dtype(), out.device());
  run(made);
  sconce::copy_(out, made);
}

void max_pool(size_t rank, const char* name, const Tensor& self, IntList kernel, IntList stride, IntList padding,
              IntList dilation, const Tensor& out, const Tensor& indices) {
  WindowShape s = shape_of(rank, kernel, stride, padding, dilation);
  const int64_t channels = pictures(self, rank, s.size);
  pictures(out, rank, s.out_size);
  if (rank == 2 && max_pool_last(s, self, out, indices)) return;
  const Tensor in = dense(self);
  with_dense(out, [&](const Tensor& values) {
    with_dense(indices, [&](const Tensor& places) {
      launch_windows(WindowKernel::max_pool, name, s, channels, in, values, &places);
    });
  });
}
void max_pool_backward(size_t rank, const char* name, const Tensor& grad, IntList kernel, IntList stride,
                       IntList padding, IntList dilation, const Tensor& indices, const Tensor& out) {
  WindowShape s = shape_of(rank, kernel, stride, padding, dilation);
  const int64_t channels = pictures(out, rank, s.size);
  pictures(grad, rank, s.out_size);
  const Tensor g = dense(grad), places = dense(indices);
  with_dense(out, [&](const Tensor& to) {
    launch_windows(WindowKernel::max_pool_backward, name, s, channels, g, to, &places);
  });
}
void average_pool(size_t rank, const char* name, const Tensor& in_, const Tensor& small, const Tensor& large,
                  IntList kernel, IntList stride, IntList padding, bool count_padding, std::optional<int64_t> divisor,
                  const Tensor& out, bool backward) {
  SCONCE_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  WindowShape s = shape_of(rank, kernel, stride, padding, {});
  s.count_padding = count_padding;
  s.divisor = divisor.value_or(0);
  const int64_t channels = pictures(large, rank, s.size);
  pictures(small, rank, s.out_size);
  const Tensor in = dense(in_);
  with_dense(out, [&](const Tensor& to) {
    launch_windows(backward ? WindowKernel::average_pool_backward : WindowKernel::average_pool, name, s, channels, in,
                   to);
  });
}
void adaptive_pool(size_t rank, const char* name, const Tensor& in_, const Tensor& small, const Tensor& large,
                   const Tensor& out, bool backward) {
  WindowShape s;
  const int64_t channels = pictures(large, rank, s.size);
  pictures(small, rank, s.out_size);
  const Tensor in = dense(in_);
  with_dense(out, [&](const Tensor& to) {
    launch_windows(backward ? WindowKernel::adaptive_pool_backward : WindowKernel::adaptive_pool, name, s, channels, in,
                   to);
  });
}

}  // namespace

void max_pool2d_with_indices(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                             bool, const Tensor& out, const Tensor& indices) {
  max_pool(2, "max_pool2d", self, kernel_size, stride, padding, dilation, out, indices);
}
void max_pool3d_with_indices(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                             bool, const Tensor& out, const Tensor& indices) {
  max_pool(3, "max_pool3d", self, kernel_size, stride, padding, dilation, out, indices);
}
void max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor&, IntList kernel_size, IntList stride,
                                      IntList padding, IntList dilation, bool, const Tensor& indices,
                                      const Tensor& out) {
  max_pool_backward(2, "max_pool2d_backward", grad_output, kernel_size, stride, padding, dilation, indices, out);
}
void max_pool3d_with_indices_backward(const Tensor& grad_output, const Tensor&, IntList kernel_size, IntList stride,
                                      IntList padding, IntList dilation, bool, const Tensor& indices,
                                      const Tensor& out) {
  max_pool_backward(3, "max_pool3d_backward", grad_output, kernel_size, stride, padding, dilation, indices, out);
}
void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool, bool count_include_pad,
                std::optional<int64_t> divisor_override, const Tensor& out) {
  average_pool(2, "avg_pool2d", self, out, self, kernel_size, stride, padding, count_include_pad, divisor_override, out,
               false);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool, bool count_include_pad,
                std::optional<int64_t> divisor_override, const Tensor& out) {
  average_pool(3, "avg_pool3d", self, out, self, kernel_size, stride, padding, count_include_pad, divisor_override, out,
               false);
}
void avg_pool2d_backward(const Tensor& grad_output, const Tensor&, IntList kernel_size, IntList stride, IntList padding,
                         bool, bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average_pool(2, "avg_pool2d_backward", grad_output, grad_output, out, kernel_size, stride, padding, count_include_pad,
               divisor_override, out, true);
}
void avg_pool3d_backward(const Tensor& grad_output, const Tensor&, IntList kernel_size, IntList stride, IntList padding,
                         bool, bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average_pool(3, "avg_pool3d_backward", grad_output, grad_output, out, kernel_size, stride, padding, count_include_pad,
               divisor_override, out, true);
}
void _adaptive_avg_pool2d(const Tensor& self, IntList, const Tensor& out) {
  adaptive_pool(2, "adaptive_avg_pool2d", self, out, self, out, false);
}
void _adaptive_avg_pool3d(const Tensor& self, IntList, const Tensor& out) {
  adaptive_pool(3, "adaptive_avg_pool3d", self, out, self, out, false);
}
void _adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor&, const Tensor& out) {
  adaptive_pool(2, "adaptive_avg_pool2d_backward", grad_output, grad_output, out, out, true);
}
void _adaptive_avg_pool3d_backward(const Tensor& grad_output, const Tensor&, const Tensor& out) {
  adaptive_pool(3, "adaptive_avg_pool3d_backward", grad_output, grad_output, out, out, true);
}

// Every result of such a pool came from one place of its picture, whose last dimensions are flat in `indices`.
namespace {
void to_places(int rank, const Tensor& grad, const Tensor& indices, const Tensor& out) {
  int64_t picture = 1;
  for (int d = 1; d <= rank; ++d) picture *= out.size(-d);
  if (out.numel() == 0) return;
  const int64_t pictures = out.numel() / picture;
  const Tensor sums = sconce::zeros({pictures, picture},
                                    out.dtype() == DType::float64 ? DType::float64 : DType::float32, {}, out.device());
  const Tensor g = sconce::reshape(sconce::to(grad, sums.dtype()), {pictures, -1});
  sconce::scatter_add_(sums, 1, sconce::reshape(sconce::to(indices, DType::int64), {pictures, -1}), g);
  sconce::copy_(out, sconce::view(sums, out.sizes()));
}
}  // namespace
void adaptive_max_pool2d_backward(const Tensor& grad, const Tensor&, const Tensor& indices, const Tensor& out) {
  to_places(2, grad, indices, out);
}
void adaptive_max_pool3d_backward(const Tensor& grad, const Tensor&, const Tensor& indices, const Tensor& out) {
  to_places(3, grad, indices, out);
}
void fractional_max_pool2d_backward(const Tensor& grad, const Tensor&, IntList, IntList, const Tensor& indices,
                                    const Tensor& out) {
  to_places(2, grad, indices, out);
}
void fractional_max_pool3d_backward(const Tensor& grad, const Tensor&, IntList, IntList, const Tensor& indices,
                                    const Tensor& out) {
  to_places(3, grad, indices, out);
}

}  // namespace sconce::cuda
