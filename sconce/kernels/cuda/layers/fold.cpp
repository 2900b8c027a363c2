// Blocks of pictures as columns, and back, on CUDA devices (text/windows.cuh).
#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/generated/fold_cuda_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/windows.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

WindowShape shape_of(IntList size, IntList kernel, IntList dilation, IntList padding, IntList stride) {
  WindowShape s;
  put_last(s.size, size, 2);
  put_last(s.kernel, kernel, 2);
  put_last(s.dilation, dilation, 2);
  put_last(s.pad, padding, 2);
  put_last(s.stride, stride, 2);
  for (int d = 1; d < 3; ++d)
    s.out_size[d] =
        (s.size[d] + Checked(2) * s.pad[d] - Checked(s.dilation[d]) * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
  return s;
}

void run(WindowKernel kernel, const char* name, const WindowShape& s, const Tensor& self, const Tensor& out,
         const Tensor& picture) {
  const Tensor in = dense(self);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  if (s.pixels() > 0) launch_windows(kernel, name, s, picture.numel() / s.pixels(), in, made);
  if (!made.is_same(out)) sconce::copy_(out, made);
}

}  // namespace

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            const Tensor& out) {
  const WindowShape s =
      shape_of(self.sizes().slice(static_cast<size_t>(self.dim() - 2), 2), kernel_size, dilation, padding, stride);
  run(WindowKernel::to_columns, "im2col", s, self, out, self);
}
void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  run(WindowKernel::from_columns, "col2im", shape_of(output_size, kernel_size, dilation, padding, stride), self, out,
      out);
}

}  // namespace sconce::cuda
