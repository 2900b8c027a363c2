// Convolution on tensors: memory is brought to channels_last, where the kernels work, and back where the result is not.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/kernels/cpu/conv.h"
#include "sconce/tensor/iterate.h"

namespace sconce {
namespace {

// An argument with one value per spatial dimension, or one for all.
void read(IntList list, const char* name, int rank, int64_t* out) {
  SCONCE_CHECK(list.size() == 1 || list.size() == static_cast<size_t>(rank),
               "expected {} to be a single integer value or a list of {} values to match the convolution dimensions, but got {}={}",
               name, rank, name, list);
  for (int i = 0; i < rank; ++i) out[i] = list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
}

ConvShape shape_of(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                   IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
  const auto rank = static_cast<int>(weight.dim()) - 2;
  SCONCE_CHECK(rank >= 1 && rank <= max_conv_rank, "convolution weights must have 3 to 5 dimensions, got {}", weight.sizes());
  SCONCE_CHECK(input.dim() == weight.dim(),
               "Expected {}-dimensional input for {}-dimensional weight {}, but got {}-dimensional input of size {} instead",
               weight.dim(), weight.dim(), weight.sizes(), input.dim(), input.sizes());
  SCONCE_CHECK(groups > 0, "non-positive groups is not supported, got {}", groups);
  SCONCE_CHECK(input.dtype() == weight.dtype(), "Input type ({}) and weight type ({}) should be the same",
               dtype_name(input.dtype()), dtype_name(weight.dtype()));
  SCONCE_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type ({}) and bias type ({}) should be the same",
               dtype_name(input.dtype()), bias.defined() ? dtype_name(bias.dtype()) : "");
  SCONCE_CHECK(input.dtype() != DType::bool_, "convolution is not implemented for bool");
  ConvShape s;
  s.rank = rank;
  s.batch = input.size(0);
  s.groups = groups;
  s.transposed = transposed;
  s.in_channels = input.size(1);
  s.out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  for (int i = 0; i < rank; ++i) {
    s.in[i] = input.size(2 + i);
    s.kernel[i] = weight.size(2 + i);
  }
  read(stride, "stride", rank, s.stride);
  read(padding, "padding", rank, s.padding);
  read(dilation, "dilation", rank, s.dilation);
  if (transposed) read(output_padding, "output_padding", rank, s.output_padding);
  for (int i = 0; i < rank; ++i) {
    SCONCE_CHECK(s.padding[i] >= 0, "negative padding is not supported");
    SCONCE_CHECK(s.stride[i] > 0, "non-positive stride is not supported");
    SCONCE_CHECK(s.dilation[i] > 0, "dilation should be greater than zero");
    SCONCE_CHECK(s.output_padding[i] >= 0, "negative output_padding is not supported");
  }
  const int64_t expected = transposed ? weight.size(0) : weight.size(1) * groups;
  SCONCE_CHECK(s.in_channels == expected,
               "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead", groups,
               weight.sizes(), input.sizes(), expected, s.in_channels);
  SCONCE_CHECK(transposed || weight.size(0) % groups == 0,
               "Given groups={}, expected weight to be divisible by {} at dimension 0, but got weight of size {} instead", groups,
               groups, weight.sizes());
  SCONCE_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == s.out_channels),
               "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
               weight.sizes(), s.out_channels, bias.defined() ? bias.sizes() : IntList());
  s.infer_output();
  return s;
}

MemoryFormat result_format(const Tensor& input, const Tensor& weight) {
  const MemoryFormat format = suggested_format(input);
  return format == MemoryFormat::contiguous ? suggested_format(weight) : format;
}

// [batch, channels, spatial...] as dense [batch, spatial..., channels]: its strides, in the order of the tensor's dimensions.
Dims channels_last_strides(IntList sizes) {
  Dims order = {1};
  for (auto d = static_cast<int64_t>(sizes.size()) - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  Dims strides(sizes.size());
  int64_t step = 1;
  for (int64_t d : order) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

// The same values in channels_last memory: the tensor itself where it lies so already.
Tensor channels_innermost(const Tensor& t) {
  const Dims strides = channels_last_strides(t.sizes());
  bool already = true;
  for (int64_t d = 0; d < t.dim(); ++d) already &= t.sizes()[d] == 1 || t.strides()[d] == strides[d];
  if (already) return t;
  Tensor out = empty_strided_tensor(t.sizes(), strides, t.dtype());
  copy_tensor(out, t);
  return out;
}

void run(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const Tensor x = channels_innermost(input);
  const Tensor packed = empty_tensor({static_cast<int64_t>(conv_packed_bytes(shape, out.dtype()))}, DType::uint8);
  conv_pack(shape, out.dtype(), weight.data(), weight.strides().data(), packed.data());
  const Dims strides = channels_last_strides(out.sizes());
  bool direct = true;
  for (int64_t d = 0; d < out.dim(); ++d) direct &= out.sizes()[d] == 1 || out.strides()[d] == strides[d];
  const Tensor y = direct ? out : empty_strided_tensor(out.sizes(), strides, out.dtype());
  Epilogue epilogue;
  const Tensor dense_bias = bias.defined() ? contiguous_tensor(bias) : bias;
  if (bias.defined()) epilogue.bias = dense_bias.data();
  conv_run(shape, out.dtype(), x.data(), packed.data(), y.data(), epilogue);
  if (!direct) copy_tensor(out, y);
}

// The real (0) or imaginary (1) parts of a complex tensor, as a strided view.
Tensor part(const Tensor& t, int which) {
  if (!t.defined()) return t;
  Dims strides(t.strides());
  for (auto& s : strides) s *= 2;
  return make_tensor(Ref<Storage>::share(t.storage()), real_dtype(t.dtype()), t.sizes(), strides,
                     2 * t.storage_offset() + which);
}

void run_complex(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const DType real = real_dtype(out.dtype());
  const auto conv = [&](int a, int b, const Tensor& add) {
    Tensor y = empty_tensor(out.sizes(), real);
    run(shape, part(input, a), part(weight, b), add, y);
    return y;
  };
  copy_tensor(part(out, 0), sconce::sub(conv(0, 0, part(bias, 0)), conv(1, 1, {})));
  copy_tensor(part(out, 1), sconce::add(conv(0, 1, part(bias, 1)), conv(1, 0, {})));
}

}  // namespace

namespace any_device {

OutSpec convolution_spec(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                         IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
  const ConvShape s = shape_of(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  OutSpec spec{{s.batch, s.out_channels}, input.dtype(), result_format(input, weight)};
  for (int i = 0; i < s.rank; ++i) spec.sizes.push_back(s.out[i]);
  return spec;
}

}  // namespace any_device

namespace cpu {

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                 IntList dilation, bool transposed, IntList output_padding, int64_t groups, const Tensor& out) {
  if (out.numel() == 0) return;
  const ConvShape s = shape_of(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  if (is_complex(out.dtype())) return run_complex(s, input, weight, bias, out);
  if (is_floating(out.dtype())) return run(s, input, weight, bias, out);
  // Integers: exact in float64 up to 2^53.
  const Tensor y = empty_tensor(out.sizes(), DType::float64);
  run(s, to_dtype(input, DType::float64), to_dtype(weight, DType::float64),
      bias.defined() ? to_dtype(bias, DType::float64) : bias, y);
  copy_tensor(out, y);
}

}  // namespace cpu
}  // namespace sconce
