#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/any/fill.h"

#include <algorithm>
#include <atomic>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/convolution_kernels.h"
#include "sconce/kernels/cpu/conv/conv_layout.h"
#include "sconce/kernels/cpu/conv/conv_plan.h"
#include "sconce/kernels/cpu/conv/conv_winograd.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/onednn.h"
#include "sconce/kernels/cpu/gemm/provider.h"

namespace sconce {
namespace {

SCONCE_VARIANT(complex_parts, "conv.complex", "complex images, as four convolutions");
SCONCE_VARIANT(of_integers, "conv.integers", "images of integers, computed in float64");

SCONCE_VARIANT(seen_pixels, "conv.seen_pixels", "planar images, kernels of 1 x 1 with strides");
SCONCE_VARIANT(of_planes, "conv.product.planes", "planar images, a kernel of 1 x 1, few idle lanes");
SCONCE_VARIANT(rows_together, "conv.rows.together",
               "planar results in blocks of rows, images that four threads do not share evenly");
SCONCE_VARIANT(by_rows, "conv.rows", "planar float32 results of more than one block, weights of at most 640 KB");
SCONCE_VARIANT(with_winograd, "conv.winograd",
               "float32, 3 x 3 without strides, channels in whole vectors, 128 pixels or more");
SCONCE_VARIANT(winograd_rows, "conv.winograd.rows", "planar results");
SCONCE_VARIANT(not_finite, "conv.winograd.again", "an infinity or NaN in the result of Winograd's algorithm");
SCONCE_VARIANT(result_in_place, "conv.result.in_place", "a result with channels innermost");
SCONCE_VARIANT(result_to_planes, "conv.result.planes", "planar results that are transposed by vectors");
SCONCE_VARIANT(input_from_planes, "conv.input.planes", "planar images that are transposed by vectors");

constexpr int64_t kMostPhases = 1 << 16;        // of transposed convolutions: a record of 200 bytes each
constexpr int64_t kLargest = int64_t{1} << 40;  // of strides, paddings and the like: their sums do not overflow

// An argument with one value per spatial dimension, or one for all.
void read(IntList list, const char* name, int rank, int64_t* out) {
  SCONCE_CHECK(list.size() == 1 || list.size() == static_cast<size_t>(rank),
               "expected {} to be a single integer value or a list of {} values to match the convolution dimensions, "
               "but got {}={}",
               name, rank, name, list);
  for (int i = 0; i < rank; ++i) {
    out[i] = list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
    SCONCE_CHECK(out[i] <= kLargest && out[i] >= -kLargest, "{}={} is out of range", name, list);
  }
}

// "(3 x 3)"
std::string by(const int64_t* sizes, int rank) {
  std::string text = "(";
  for (int i = 0; i < rank; ++i) text += (i ? " x " : "") + std::to_string(sizes[i]);
  return text + ")";
}

}  // namespace

ConvShape conv_shape_of(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                        IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
  const auto rank = static_cast<int>(weight.dim()) - 2;
  SCONCE_CHECK(rank >= 1 && rank <= max_conv_rank, "convolution weights must have 3 to 5 dimensions, got {}",
               weight.sizes());
  SCONCE_CHECK(
      input.dim() == weight.dim(),
      "Expected {}-dimensional input for {}-dimensional weight {}, but got {}-dimensional input of size {} instead",
      weight.dim(), weight.dim(), weight.sizes(), input.dim(), input.sizes());
  SCONCE_CHECK(groups > 0, "non-positive groups is not supported, got {}", groups);
  SCONCE_CHECK(groups <= kLargest, "groups={} is out of range", groups);
  SCONCE_CHECK(input.dtype() == weight.dtype(), "Input type ({}) and weight type ({}) should be the same",
               dtype_name(input.dtype()), dtype_name(weight.dtype()));
  SCONCE_CHECK(!bias.defined() || bias.dtype() == input.dtype(),
               "Input type ({}) and bias type ({}) should be the same", dtype_name(input.dtype()),
               bias.defined() ? dtype_name(bias.dtype()) : "");
  SCONCE_CHECK(input.dtype() != DType::bool_, "convolution is not implemented for bool");
  ConvShape s;
  s.rank = rank;
  s.batch = input.size(0);
  s.groups = groups;
  s.transposed = transposed;
  s.in_channels = input.size(1);
  s.out_channels = transposed ? int64_t{Checked(weight.size(1)) * groups} : weight.size(0);
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
  // A transposed convolution is as many plain ones as there are steps in a stride.
  if (transposed) {
    int64_t phases = 1;
    for (int i = 0; i < rank; ++i) phases = std::min(phases, kMostPhases + 1) * std::min(s.stride[i], kMostPhases + 1);
    SCONCE_CHECK(phases <= kMostPhases, "transposed convolution: stride={} is out of range", stride);
  }
  const int64_t expected = transposed ? weight.size(0) : int64_t{Checked(weight.size(1)) * groups};
  SCONCE_CHECK(s.in_channels == expected,
               "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead",
               groups, weight.sizes(), input.sizes(), expected, s.in_channels);
  SCONCE_CHECK(transposed || weight.size(0) >= 1,
               "Given groups={}, expected weight to be at least 1 at dimension 0, but got weight of size {} instead",
               groups, weight.sizes());
  SCONCE_CHECK(
      transposed || weight.size(0) % groups == 0,
      "Given groups={}, expected weight to be divisible by {} at dimension 0, but got weight of size {} instead",
      groups, groups, weight.sizes());
  SCONCE_CHECK(
      !bias.defined() || (bias.dim() == 1 && bias.size(0) == s.out_channels),
      "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
      weight.sizes(), s.out_channels, bias.defined() ? bias.sizes() : IntList());
  if (!transposed) {
    int64_t padded[max_conv_rank], reach[max_conv_rank];
    bool fits = true;
    for (int i = 0; i < rank; ++i) {
      padded[i] = s.in[i] + Checked(2) * s.padding[i];
      reach[i] = Checked(s.dilation[i]) * (s.kernel[i] - 1) + 1;
      fits &= padded[i] >= reach[i];
    }
    SCONCE_CHECK(fits,
                 "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be greater than "
                 "actual input size",
                 by(padded, rank), by(reach, rank));
  }
  s.infer_output();
  return s;
}

namespace {

// PyTorch has two implementations with three spatial dimensions, of which one knows channels_last.
bool keeps_channels_last_3d(const ConvShape& s, const Tensor& input) {
  bool strided = false, dilated = false;
  for (int i = 0; i < s.rank; ++i) {
    if (s.transposed && s.output_padding[i] >= s.stride[i]) return false;
    strided |= s.stride[i] != 1;
    dilated |= s.dilation[i] != 1;
  }
  if (input.dtype() == DType::bfloat16) return true;
  const int64_t height = s.kernel[1], width = s.kernel[2];
  return input.dtype() == DType::float32 && (strided || dilated || s.batch >= 16 || width != 1 || height != 1) &&
         (s.groups > 1 || (width > 3 && height > 3) || s.batch > 1 ||
          s.batch * s.in_channels * s.in[0] * s.in[1] > 20480);
}

}  // namespace

MemoryFormat conv_format(const ConvShape& shape, const Tensor& input, const Tensor& weight) {
  MemoryFormat format = suggested_format(input);
  if (format == MemoryFormat::contiguous) format = suggested_format(weight);
  return format == MemoryFormat::channels_last_3d && !keeps_channels_last_3d(shape, input) ? MemoryFormat::contiguous
                                                                                           : format;
}

namespace {

// [batch, channels, spatial...] as dense [batch, spatial..., channels]: its strides, in the order of
// the tensor's dimensions.
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

bool is_channels_innermost(const Tensor& t, const Dims& strides) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.sizes()[d] != 1 && t.strides()[d] != strides[d]) return false;
  }
  return true;
}

}  // namespace

bool is_planar(const Tensor& t) {
  int64_t step = 1;
  for (int64_t d = t.dim() - 1; d >= 2; --d) {
    if (t.sizes()[d] != 1 && t.strides()[d] != step) return false;
    step *= t.sizes()[d];
  }
  return t.size(1) == 1 || t.strides()[1] == step;
}

bool has_channels_innermost(const Tensor& t) { return is_channels_innermost(t, channels_last_strides(t.sizes())); }

Tensor channels_innermost_like(const Tensor& t, DType dtype) {
  const Dims strides = channels_last_strides(t.sizes());
  return t.dtype() == dtype && is_channels_innermost(t, strides) ? t : empty_strided_tensor(t.sizes(), strides, dtype);
}

Tensor channels_innermost(const Tensor& t) {
  Tensor out = channels_innermost_like(t, t.dtype());
  if (out.is_same(t) || t.numel() == 0) return out;
  if (input_from_planes(rearranges(t.dtype()) && is_planar(t))) {
    planar_to_innermost(t.dtype(), t.size(0), t.size(1), t.numel() / t.size(0) / t.size(1), t.data(), t.strides()[0],
                        out.data());
  } else {
    copy_tensor(out, t);
  }
  return out;
}

namespace {

// A 1 x 1 convolution of planar images is weights times image. Columns are pixels then, and come in panels: the lanes
// that the last one leaves idle must cost less than rearranging both images would.
bool is_planar_product(const ConvShape& shape, const Tensor& input, const Tensor& bias, const Tensor& out) {
  if (!conv_is_product(shape) || (bias.defined() && out.dtype() != DType::float32 && out.dtype() != DType::float64))
    return false;
  int64_t pixels = 1;
  for (int i = 0; i < shape.rank; ++i) pixels *= shape.in[i];
  if (pixels < 2 || !is_planar(input) || !is_planar(out)) return false;
  const auto in = static_cast<double>(shape.in_channels), channels = static_cast<double>(shape.out_channels);
  const auto idle = static_cast<double>((32 - pixels % 32) % 32) / static_cast<double>(pixels);
  return idle <= 6 * (in + channels) / (in * channels);
}

void run_planar_product(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& out, SumOrder order) {
  int64_t pixels = 1;
  for (int i = 0; i < shape.rank; ++i) pixels *= shape.in[i];
  const Tensor dense_bias = bias.defined() ? contiguous_tensor(bias) : bias;
  Epilogue epilogue;
  if (bias.defined()) epilogue.row_bias = dense_bias.data();
  const int64_t in = weight.strides()[shape.transposed ? 0 : 1], channel = weight.strides()[shape.transposed ? 1 : 0];
  gemm_batched(out.dtype(), shape.batch, shape.out_channels, pixels, shape.in_channels, {weight.data(), channel, in},
               {input.data(), pixels, 1}, {out.data(), pixels, 1}, {0, input.strides()[0], out.strides()[0]}, epilogue,
               matrix_kernels(), order);
}

// A 1 x 1 convolution with strides reads some pixels only: those are an image of their own, which need not be
// rearranged with the others. Whether `shape` is one; then it and the input are changed.
bool take_seen_pixels(ConvShape& shape, Tensor& input) {
  if (shape.transposed) return false;
  bool skips = false;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.kernel[i] != 1 || shape.padding[i] != 0) return false;
    skips |= shape.stride[i] > 1;
  }
  if (!skips || !is_planar(input)) return false;
  Dims sizes(input.sizes()), strides(input.strides());
  for (int i = 0; i < shape.rank; ++i) {
    sizes[2 + i] = shape.in[i] = shape.out[i];
    strides[2 + i] *= shape.stride[i];
    shape.stride[i] = 1;
  }
  input = make_tensor(Ref<Storage>::share(input.storage()), input.dtype(), sizes, strides, input.storage_offset());
  return true;
}

constexpr size_t kWeightBytes = 640 * 1024;    // packed weights that stay in the second-level cache
constexpr int64_t kBlockElements = 32 * 1024;  // of results that stay there before they are rearranged
// Where an image is cut decides which pixels share a tile, and with it the order of their sums: it must not depend on
// the number of threads. Blocks in fours serve 2 and 4 of them evenly.
constexpr int64_t kBlocksTogether = 4, kFewRows = 8;

// Planar results are rearranged a few rows of the image at a time, while they are in the cache, by the thread that
// computed them: conv(part of the shape, its image, results with channels innermost). x has channels innermost, and the
// shape is not transposed: its padding says which rows a part has.
template <class F>
void run_rows(const ConvShape& shape, const float* x, const Tensor& out, F&& conv) {
  SCONCE_ASSERT(!shape.transposed);
  int64_t in_image = shape.in_channels, out_row = 1;
  for (int i = 0; i < shape.rank; ++i) in_image *= shape.in[i];
  for (int i = 1; i < shape.rank; ++i) out_row *= shape.out[i];
  const int64_t height = shape.out[0], channels = shape.out_channels;
  int64_t blocks = (height * out_row * channels + kBlockElements - 1) / kBlockElements;
  if (rows_together(blocks > 1 && shape.batch % kBlocksTogether != 0))
    blocks = (blocks + kBlocksTogether - 1) / kBlocksTogether * kBlocksTogether;
  blocks = std::min(blocks, height / 2 + 1);
  parallel_for(shape.batch * blocks, 1, [&](int64_t begin, int64_t end) {
    Scratch own;
    auto* results = own.take<float>((height / blocks + 2) * out_row * channels);
    for (int64_t i = begin; i < end; ++i) {
      // Even numbers of rows: tiles of Winograd's have two.
      const int64_t image = i / blocks, first = height * (i % blocks) / blocks / 2 * 2;
      const int64_t last = i % blocks + 1 == blocks ? height : height * (i % blocks + 1) / blocks / 2 * 2;
      if (first == last) continue;
      ConvShape part = shape;
      part.batch = 1;
      part.out[0] = last - first;
      part.padding[0] -= first * shape.stride[0];
      conv(part, x + image * in_image, results);
      pixels_to_planar(DType::float32, channels, (last - first) * out_row, results,
                       out.data<float>() + image * out.strides()[0] + first * out_row, height * out_row);
    }
  });
}

// Whether that is possible for sums of products, and better than all at once; then it was done.
bool run_by_rows(const ConvShape& shape, const Tensor& x, const Tensor& weight, const void* bias, const Tensor& out) {
  const DType dtype = out.dtype();
  if (shape.transposed || shape.rank < 2 || dtype != DType::float32 || !is_planar(out) || conv_is_product(shape))
    return false;
  const size_t packed_bytes = conv_packed_bytes(shape, dtype);
  if (packed_bytes > kWeightBytes) return false;
  const int64_t results = out.numel() / shape.batch;
  if ((results + kBlockElements - 1) / kBlockElements * shape.batch < 2 || shape.out[0] * shape.batch < kFewRows)
    return false;
  Scratch scratch;
  void* packed = scratch.take_bytes(packed_bytes);
  conv_pack(shape, dtype, weight.data(), weight.strides().data(), packed);
  Epilogue epilogue;
  epilogue.bias = bias;
  run_rows(shape, x.data<float>(), out, [&](const ConvShape& part, const float* from, float* to) {
    conv_run(part, dtype, from, packed, to, epilogue);
  });
  return true;
}

// By Winograd's F(2,3), which takes weights as they are given. False where a result is not finite: then it is computed
// in another way. x has channels innermost.
bool run_winograd(const ConvShape& shape, const Tensor& x, const Tensor& weight, const void* bias, const Tensor& out) {
  const MatrixKernels& kernels = matrix_kernels();
  Scratch scratch;
  auto* packed = static_cast<float*>(scratch.take_bytes(winograd_packed_bytes(shape, 2, kernels)));
  winograd_pack(shape, 2, weight.data<float>(), weight.strides().data(), packed, kernels);
  Epilogue epilogue;
  epilogue.bias = bias;
  if (!winograd_rows(is_planar(out))) {
    const Tensor y = channels_innermost_like(out, out.dtype());
    const bool finite = winograd_run(shape, 2, x.data<float>(), packed, y.data<float>(), epilogue, kernels);
    if (finite && !y.is_same(out)) copy_tensor(out, y);
    return finite;
  }
  std::atomic<bool> finite = true;
  run_rows(winograd_plain_shape(shape), x.data<float>(), out, [&](const ConvShape& part, const float* from, float* to) {
    if (!winograd_run(part, 2, from, packed, to, epilogue, kernels)) finite = false;
  });
  return finite;
}

// Without input channels: sums of nothing, and the bias.
void run_empty(const Tensor& bias, const Tensor& out) {
  fill_tensor(out, 0);
  if (!bias.defined()) return;
  Dims sizes(static_cast<size_t>(out.dim() - 1)), strides(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = d == 0 ? bias.size(0) : 1;
    strides[d] = d == 0 ? bias.stride(0) : 0;
  }
  copy_tensor(out, make_view(bias, sizes, strides, bias.storage_offset()));
}

// Results do not depend on the memory formats: a plan (conv_plan.h) of eager_algorithm has the same bits. `order` is
// that of a matrix product.
void run(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& out,
         SumOrder order = SumOrder::automatic) {
  if (shape.in_channels == 0) return run_empty(bias, out);
  ConvShape dense = shape;
  Tensor seen = input;
  // With the sums in sequence that tiles form where not all pixels are seen.
  if (seen_pixels(take_seen_pixels(dense, seen))) return run(dense, seen, weight, bias, out, SumOrder::in_sequence);
  const bool elsewhere = uses_onednn();
  if (of_planes(!elsewhere && is_planar_product(shape, input, bias, out))) {
    return run_planar_product(shape, input, weight, bias, out,
                              order == SumOrder::automatic ? conv_product_order(shape) : order);
  }
  const Tensor x = channels_innermost(input);
  const Tensor dense_bias = bias.defined() ? contiguous_tensor(bias) : bias;
  const void* bias_data = bias.defined() ? dense_bias.data() : nullptr;
  const bool winograd = with_winograd(!elsewhere && eager_algorithm(shape, out.dtype()) == ConvAlgorithm::winograd2);
  if (winograd && !not_finite(!run_winograd(shape, x, weight, bias_data, out))) return;
  if (by_rows(!elsewhere && run_by_rows(shape, x, weight, bias_data, out))) return;
  const Tensor y = channels_innermost_like(out, out.dtype());
  if (!elsewhere ||
      !onednn_convolution(shape, out.dtype(), x.data(), weight.data(), weight.strides().data(), bias_data, y.data())) {
    Epilogue epilogue;
    epilogue.bias = bias_data;
    conv_run_once(shape, out.dtype(), x.data(), weight.data(), weight.strides().data(), y.data(), epilogue,
                  matrix_kernels(), order);
  }
  if (result_in_place(y.is_same(out))) return;
  if (result_to_planes(rearranges(out.dtype()) && is_planar(out))) {
    innermost_to_planar(out.dtype(), out.size(0), out.size(1), out.numel() / out.size(0) / out.size(1), y.data(),
                        out.data(), out.strides()[0]);
  } else {
    copy_tensor(out, y);
  }
}

}  // namespace

Tensor complex_part(const Tensor& t, int which) {
  if (!t.defined()) return t;
  Dims strides(t.strides());
  for (auto& s : strides) s *= 2;
  return make_tensor(Ref<Storage>::share(t.storage()), real_dtype(t.dtype()), t.sizes(), strides,
                     2 * t.storage_offset() + which);
}

namespace {

void run_complex(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Tensor& out) {
  const DType real = real_dtype(out.dtype());
  const auto conv = [&](int a, int b, const Tensor& add) {
    Tensor y = empty_tensor(out.sizes(), real);
    run(shape, complex_part(input, a), complex_part(weight, b), add, y);
    return y;
  };
  copy_tensor(complex_part(out, 0), sconce::sub(conv(0, 0, complex_part(bias, 0)), conv(1, 1, {})));
  copy_tensor(complex_part(out, 1), sconce::add(conv(0, 1, complex_part(bias, 1)), conv(1, 0, {})));
}

}  // namespace

namespace any_device {

OutSpec convolution_spec(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                         IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
  const ConvShape s = conv_shape_of(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  OutSpec spec{{s.batch, s.out_channels}, input.dtype(), conv_format(s, input, weight)};
  for (int i = 0; i < s.rank; ++i) spec.sizes.push_back(s.out[i]);
  return spec;
}

}  // namespace any_device

void run_convolution(const ConvShape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& out) {
  if (out.numel() == 0) return;
  if (complex_parts(is_complex(out.dtype()))) return run_complex(shape, input, weight, bias, out);
  if (!of_integers(!is_floating(out.dtype()))) return run(shape, input, weight, bias, out);
  // Integers: exact in float64 up to 2^53.
  const Tensor y = empty_tensor(out.sizes(), DType::float64);
  run(shape, to_dtype(input, DType::float64), to_dtype(weight, DType::float64),
      bias.defined() ? to_dtype(bias, DType::float64) : bias, y);
  copy_tensor(out, y);
}

namespace cpu {

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                 IntList dilation, bool transposed, IntList output_padding, int64_t groups, const Tensor& out) {
  run_convolution(conv_shape_of(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups),
                  input, weight, bias, out);
}

}  // namespace cpu
}  // namespace sconce
