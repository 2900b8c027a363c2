// Convolution on tensors: memory is brought to channels_last, the layout of the kernels, and back if the
// result has another.
#pragma once

#include <span>
#include <string>

#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/conv/conv.h"
#include "sconce/types/value.h"

namespace sconce {

// The shape of a call of aten::convolution, with its output sizes. Throws Error for arguments that do not fit.
ConvShape conv_shape_of(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                        IntList dilation, bool transposed, IntList output_padding, int64_t groups);

// Whether a prepared aten::convolution of these arguments reads an input that is contiguous where it lies: the first
// layer of a network, whose few channels it copies anyway. `args` are those of the call; tensors among them are not
// looked at.
bool reads_planes(const Tensor& input, const Tensor& weight, std::span<const Value> args);

// The memory format of results: channels_last when input or weight is, with PyTorch's exceptions.
MemoryFormat conv_format(const ConvShape& shape, const Tensor& input, const Tensor& weight);

// out = convolution of input, any dtype but bool, any strides. The sizes of all tensors are those of the shape.
void run_convolution(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& out);

// grad_weight = gradient of convolution's weight. `shape` is not transposed; input is its input and grad_output the
// gradient of its result. For a transposed convolution the two change roles. Real floating dtypes, or complex, where
// the gradient is that for the conjugate of input.
void run_weight_gradient(const ConvShape& shape, const Tensor& input, const Tensor& grad_output,
                         const Tensor& grad_weight);

// Channels outermost in every image, and pixels dense.
bool is_planar(const Tensor& t);

// Channels innermost, and everything dense.
bool has_channels_innermost(const Tensor& t);

// The same values with channels innermost in memory: the tensor itself if it lies so already.
Tensor channels_innermost(const Tensor& t);

// Memory for a tensor of these sizes with channels innermost, not initialised: the tensor itself if its memory and
// dtype are so.
Tensor channels_innermost_like(const Tensor& t, DType dtype);

// The real (0) or imaginary (1) parts of a complex tensor, as a strided view. Undefined stays undefined.
Tensor complex_part(const Tensor& t, int which);

}  // namespace sconce
