// Convolutions with packed weights. They work on pixels: images are channels_last, a row of the product is a window of
// the image and its columns are output channels.
#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

SCONCE_VARIANT(by_channels, "quantized.conv.depthwise", "a group for each channel");
SCONCE_VARIANT(kernel_rows, "quantized.conv.rows", "one group, rows of the kernel that are read where they lie");
SCONCE_VARIANT(framed, "quantized.conv.border",
               "a border, or rows that are read beyond their end: images with the zero point around");
SCONCE_VARIANT(several_blocks, "quantized.conv.blocks", "more windows than are gathered at a time");

constexpr size_t kMost = 3;  // spatial dimensions

MemoryFormat pixels(int64_t spatial) {
  return spatial == 3 ? MemoryFormat::channels_last_3d : MemoryFormat::channels_last;
}

Dims checked_list(IntList list, int64_t spatial, int64_t least, std::string_view what) {
  SCONCE_CHECK(static_cast<int64_t>(list.size()) == spatial,
               "quantized::conv{}d_prepack: {} should have {} elements, "
               "got {}",
               spatial, what, spatial, list);
  for (int64_t v : list) {
    SCONCE_CHECK(v >= least && v < (1 << 20), "quantized::conv{}d_prepack: {} must be {} or more, got {}", spatial,
                 what, least, list);
  }
  return Dims(list);
}

// Sizes of one convolution, in three dimensions: those that are missing come first and are 1.
struct Geometry {
  int64_t batch, channels;
  int64_t in[kMost], out[kMost], kernel[kMost], stride[kMost], padding[kMost], dilation[kMost];

  Geometry(const Tensor& x, const ConvParams& p) : batch(x.size(0)), channels(x.size(1)) {
    const size_t skipped = kMost - static_cast<size_t>(p.spatial);
    for (size_t d = 0; d < kMost; ++d) {
      in[d] = out[d] = kernel[d] = stride[d] = dilation[d] = 1;
      padding[d] = 0;
      if (d < skipped) continue;
      const size_t i = d - skipped;
      in[d] = x.sizes()[2 + i];
      kernel[d] = p.weight.sizes()[2 + i];
      stride[d] = p.stride[i];
      padding[d] = p.padding[i];
      dilation[d] = p.dilation[i];
      const int64_t reach = Checked(dilation[d]) * (kernel[d] - 1) + 1, room = in[d] + Checked(2) * padding[d];
      SCONCE_CHECK(room >= reach,
                   "Kernel size can't be greater than actual input size: the kernel reaches over {} of {}", reach,
                   room);
      out[d] = (room - reach) / stride[d] + 1;
    }
  }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }  // fits: sizes of the weight
  bool is_padded() const { return padding[0] || padding[1] || padding[2]; }
};

// An image with its border: the input's own memory where there is none.
struct Image {
  const uint8_t* data;
  int64_t size[kMost];
};

// Copies an image into the middle of a larger one whose border is the zero point. Behind it are bytes to spare: tiles
// read four at once.
Image with_border(const uint8_t* from, const Geometry& g, uint8_t zero_point, Scratch& scratch) {
  Image image{};
  for (size_t d = 0; d < kMost; ++d) image.size[d] = g.in[d] + 2 * g.padding[d];  // fits: Geometry
  const int64_t row = image.size[2] * g.channels, bytes = image.size[0] * image.size[1] * row;
  auto* to = scratch.take<uint8_t>(bytes + 64);
  std::fill(to, to + bytes + 64, zero_point);
  for (int64_t z = 0; z < g.in[0]; ++z) {
    for (int64_t y = 0; y < g.in[1]; ++y) {
      std::copy_n(from + (z * g.in[1] + y) * g.in[2] * g.channels, g.in[2] * g.channels,
                  to + ((z + g.padding[0]) * image.size[1] + y + g.padding[1]) * row + g.padding[2] * g.channels);
    }
  }
  image.data = to;
  return image;
}

// Where the window of output pixel p begins.
const uint8_t* window(const Image& image, const Geometry& g, int64_t p) {
  const int64_t x = p % g.out[2], y = p / g.out[2] % g.out[1], z = p / g.out[2] / g.out[1];
  return image.data +
         ((z * g.stride[0] * image.size[1] + y * g.stride[1]) * image.size[2] + x * g.stride[2]) * g.channels;
}

// The windows of pixels that follow each other, without a division for each.
class Windows {
 public:
  Windows(const Image& image, const Geometry& g) : image_(image), g_(g) {}
  const uint8_t* operator()(int64_t p) {
    if (left_ == 0) {
      next_ = window(image_, g_, p);
      left_ = g_.out[2] - p % g_.out[2];
    }
    --left_;
    const uint8_t* here = next_;
    next_ += g_.stride[2] * g_.channels;
    return here;
  }

 private:
  const Image& image_;
  const Geometry& g_;
  const uint8_t* next_ = nullptr;
  int64_t left_ = 0;  // pixels of the output's row
};

// Offsets of all taps from the beginning of a window.
std::vector<int64_t> tap_offsets(const Image& image, const Geometry& g) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < g.kernel[0]; ++i) {
    for (int64_t j = 0; j < g.kernel[1]; ++j) {
      for (int64_t k = 0; k < g.kernel[2]; ++k)
        offsets.push_back(
            ((i * g.dilation[0] * image.size[1] + j * g.dilation[1]) * image.size[2] + k * g.dilation[2]) * g.channels);
    }
  }
  return offsets;
}

// Result: bytes, or floats where `out_scale` is 0.
struct Result {
  ProductResult product;
  float out_scale;
};

class Convolution {
 public:
  Convolution(const ConvParams& params, const Geometry& g, const Quantizer& in, const Result& result)
      : params_(params), g_(g), in_(in), result_(result) {
    const float* bias = params.bias.defined() ? params.bias.data<float>() : nullptr;
    const auto add = [&](const PackedWeights& packed, int64_t first) {
      terms_.push_back(column_terms(packed, bias ? bias + first : nullptr, static_cast<float>(in.scale),
                                    static_cast<int32_t>(in.zero_point), result.out_scale));
    };
    if (!params.depthwise.empty()) add(params.depthwise_columns, 0);
    for (size_t i = 0; i < params.packed.size(); ++i)
      add(params.packed[i], static_cast<int64_t>(i) * params.packed[i].n);
  }

  void run(const uint8_t* x) const {
    const int64_t in_bytes = g_.in[0] * g_.in[1] * g_.in[2] * g_.channels;
    for (int64_t b = 0; b < g_.batch; ++b) {
      Scratch scratch;
      const bool spare = params_.by_rows && params_.packed[0].k != params_.packed[0].elements / params_.packed[0].taps;
      Image image{x + b * in_bytes, {g_.in[0], g_.in[1], g_.in[2]}};
      if (framed(g_.is_padded() || spare))
        image = with_border(x + b * in_bytes, g_, static_cast<uint8_t>(in_.zero_point), scratch);
      run_image(image, b);
    }
  }

 private:
  ProductResult at(int64_t batch, int64_t channel) const {
    ProductResult r = result_.product;
    const int64_t from = batch * g_.out_pixels() * r.stride + channel;
    if (r.bytes) r.bytes += from;
    if (r.reals) r.reals += from;
    return r;
  }

  void run_image(const Image& image, int64_t batch) const {
    const int64_t work = g_.taps() * params_.in_channels / params_.groups * params_.out_channels;
    parallel_for(g_.out_pixels(), grain_for(work / 16 + 1), [&](int64_t begin, int64_t end) {
      if (by_channels(!params_.depthwise.empty())) return run_depthwise(image, begin, end, at(batch, 0));
      if (kernel_rows(params_.by_rows)) {
        const int64_t tap_stride = g_.dilation[1] * image.size[2] * g_.channels;
        return multiply_rows(begin, end, Windows(image, g_), tap_stride, params_.packed[0], terms_[0], at(batch, 0));
      }
      for (int64_t group = 0; group < params_.groups; ++group)
        run_gathered(image, group, begin, end, at(batch, group * params_.packed[0].n));
    });
  }

  // Windows are copied into rows first, some at a time.
  void run_gathered(const Image& image, int64_t group, int64_t begin, int64_t end, const ProductResult& to) const {
    const PackedWeights& packed = params_.packed[static_cast<size_t>(group)];
    const int64_t width = g_.channels / params_.groups, block = rows_at_once(packed);
    const std::vector<int64_t> offsets = tap_offsets(image, g_);
    Scratch scratch;
    auto* rows = scratch.take<uint8_t>(block * packed.k + 64);
    several_blocks(end - begin > block);
    for (int64_t from = begin; from < end; from += block) {
      const int64_t until = std::min(end, from + block);
      for (int64_t p = from; p < until; ++p) {
        const uint8_t* source = window(image, g_, p) + group * width;
        uint8_t* row = rows + (p - from) * packed.k;
        for (int64_t offset : offsets) row = std::copy_n(source + offset, width, row);
      }
      multiply_rows(
          from, until, [&](int64_t p) { return rows + (p - from) * packed.k; }, 0, packed,
          terms_[static_cast<size_t>(group)], to);
    }
  }

  void run_depthwise(const Image& image, int64_t begin, int64_t end, const ProductResult& to) const {
    const Int8Table& table = int8_table();
    const std::vector<int64_t> offsets = tap_offsets(image, g_);
    std::vector<const uint8_t*> taps(offsets.size());
    Scratch scratch;
    auto* sums = scratch.take<int32_t>(g_.channels);
    Int8Output out;
    out.offset = terms_[0].offset.data();
    out.bias = terms_[0].bias.data();
    out.scale = terms_[0].scale.data();
    out.zero_point = to.zero_point;
    out.lo = to.lo;
    out.hi = to.hi;
    for (int64_t p = begin; p < end; ++p) {
      const uint8_t* source = window(image, g_, p);
      for (size_t t = 0; t < taps.size(); ++t) taps[t] = source + offsets[t];
      table.depthwise(static_cast<int64_t>(taps.size()), g_.channels, taps.data(), params_.depthwise.data(), sums);
      if (to.bytes) out.bytes = to.bytes + p * to.stride;
      if (to.reals) out.reals = to.reals + p * to.stride;
      table.finish_row(sums, g_.channels, out);
    }
  }

  const ConvParams& params_;
  const Geometry& g_;
  const Quantizer& in_;
  const Result& result_;
  std::vector<ColumnTerms> terms_;
};

Tensor checked_input(const Tensor& x, const ConvParams& p, bool one_dimension) {
  const int64_t wanted = one_dimension ? 3 : p.spatial + 2;
  SCONCE_CHECK(x.dtype() == DType::quint8, "quantized::conv: Expected activation data type QUInt8 but got {}",
               dtype_legacy_name(x.dtype()));
  SCONCE_CHECK(x.dim() == wanted, "quantized::conv{}d: expected an input of {} dimensions, got {}",
               one_dimension ? 1 : p.spatial, wanted, x.sizes());
  const Tensor image = one_dimension ? sconce::unsqueeze(x, 2) : x;
  SCONCE_CHECK(image.size(1) == p.in_channels, "quantized::conv: the weight has {} input channels, the input is {}",
               p.in_channels, x.sizes());
  return image;
}

// By floats: rare, and exact, since float64 holds every sum.
Tensor transposed_reals(const Tensor& x, const ConvParams& p) {
  const auto centred_integers = [](const Tensor& t) {
    const Quantizer& q = quantizer_of(t);
    Tensor integers = to_dtype(stored_integers(t), DType::float64);
    if (!q.per_channel()) return sconce::sub(integers, Scalar(q.zero_point));
    Dims shape(static_cast<size_t>(t.dim()), 1);
    shape[static_cast<size_t>(q.axis)] = t.size(q.axis);
    return sconce::sub(integers, sconce::view(to_dtype(q.zero_points, DType::float64), shape));
  };
  const Tensor products = sconce::convolution(centred_integers(x), centred_integers(p.weight), Tensor(), p.stride,
                                              p.padding, p.dilation, true, p.output_padding, p.groups);
  const Quantizer &in = uniform_quantizer_of(x), &of = quantizer_of(p.weight);
  Dims shape(static_cast<size_t>(products.dim()), 1);
  shape[1] = products.size(1);
  Tensor scaled = of.per_channel() ? sconce::mul(products, sconce::view(of.scales, shape))
                                   : sconce::mul(products, Scalar(of.scale));
  scaled = sconce::mul(scaled, Scalar(in.scale));
  if (p.bias.defined()) scaled = sconce::add(scaled, sconce::view(to_dtype(p.bias, DType::float64), shape));
  return to_dtype(scaled, DType::float32);
}

struct Output {
  double scale = 0;  // 0: floats
  int64_t zero_point = 0;
  bool relu = false;
};

Tensor convolve(const Tensor& input, const ConvParams& p, const Output& wanted, bool one_dimension) {
  const Tensor image = checked_input(input, p, one_dimension);
  Tensor out;
  if (p.transpose) {
    Tensor reals = transposed_reals(image, p);
    if (wanted.relu) reals = sconce::relu(reals);
    out = wanted.scale == 0 ? reals : quantized_as(reals, wanted.scale, wanted.zero_point, DType::quint8);
  } else {
    const Tensor x = contiguous_quantized(image, pixels(p.spatial));
    const Quantizer& in = uniform_quantizer_of(x);
    const Geometry g(x, p);
    Dims sizes = {g.batch, p.out_channels};
    for (size_t d = kMost - static_cast<size_t>(p.spatial); d < kMost; ++d) sizes.push_back(g.out[d]);
    Result result{{}, static_cast<float>(wanted.scale)};
    result.product.stride = p.out_channels;
    if (wanted.scale == 0) {
      out = empty_tensor(sizes, DType::float32, {}, pixels(p.spatial));
      result.product.reals = out.data<float>();
      result.product.lo = wanted.relu ? 0 : -1;
    } else {
      out = empty_quantized(sizes, DType::quint8, per_tensor_quantizer(wanted.scale, wanted.zero_point),
                            pixels(p.spatial));
      result.product.bytes = static_cast<uint8_t*>(out.data());
      result.product.zero_point = static_cast<int32_t>(wanted.zero_point);
      result.product.lo = wanted.relu ? result.product.zero_point : 0;
    }
    if (out.numel() > 0) Convolution(p, g, in, result).run(static_cast<const uint8_t*>(x.data()));
  }
  return one_dimension ? sconce::squeeze(out, 2) : out;
}

// Integers of the weight as [out][taps in memory order][in], which channels_last is.
class WeightPixels {
 public:
  explicit WeightPixels(const ConvParams& p)
      : held_(contiguous_quantized(p.weight, pixels(p.spatial))), width_(p.weight.size(1)) {
    taps_ = 1;
    for (size_t d = 2; d < p.weight.sizes().size(); ++d) taps_ *= p.weight.sizes()[d];
  }
  int64_t taps() const { return taps_; }
  int8_t at(int64_t out, int64_t tap, int64_t in) const {
    return static_cast<const int8_t*>(held_.data())[(out * taps_ + tap) * width_ + in];
  }

 private:
  Tensor held_;
  int64_t width_, taps_;
};

void pack_depthwise(ConvParams& p, const WeightPixels& w) {
  PackedWeights& columns = p.depthwise_columns;
  take_column_params(quantizer_of(p.weight), 0, p.out_channels, columns);
  columns.elements = w.taps();
  columns.sums.assign(columns.scales.size(), 0);
  p.depthwise.resize(static_cast<size_t>(w.taps() * p.out_channels));
  for (int64_t c = 0; c < p.out_channels; ++c) {
    const auto at = static_cast<size_t>(c);
    for (int64_t t = 0; t < w.taps(); ++t) {
      const int32_t integer = w.at(c, t, 0) - columns.zero_points[at];
      p.depthwise[static_cast<size_t>(t * p.out_channels + c)] = static_cast<int16_t>(integer);
      columns.sums[at] += integer;
    }
  }
  // The weights are less their zero points already.
  std::fill(columns.zero_points.begin(), columns.zero_points.end(), 0);
  columns.has_zero_points = false;
}

void pack(ConvParams& p) {
  const WeightPixels w(p);
  const int64_t width = p.weight.size(1), columns = p.out_channels / p.groups;
  if (p.groups == p.in_channels && p.groups == p.out_channels && p.groups > 1) return pack_depthwise(p, w);
  p.by_rows = p.groups == 1 && p.dilation.back() == 1 && p.spatial == 2;
  for (int64_t group = 0; group < p.groups; ++group) {
    PackedWeights packed;
    take_column_params(quantizer_of(p.weight), group * columns, columns, packed);
    packed.elements = w.taps() * width;
    const int64_t row = p.by_rows ? p.weight.sizes().back() : w.taps();
    packed.taps = w.taps() / row;
    packed.k = row * width;
    // Windows of a copy with a border may be read a little too far: the weights there are 0.
    const bool rounded = p.by_rows && packed.k % 4 != 0 && w.taps() > 1;
    const int64_t real = packed.k;
    if (rounded) packed.k = int8_padded(packed.k);
    pack_columns(packed, [&](int64_t column, int64_t tap, int64_t i) -> int8_t {
      if (i >= real) return 0;
      return w.at(group * columns + column, tap * row + i / width, i % width);
    });
    p.packed.push_back(std::move(packed));
  }
}

}  // namespace

ConvParams::ConvParams(int64_t dims, const Tensor& given, const Tensor& given_bias, IntList strides, IntList paddings,
                       IntList output_paddings, IntList dilations, int64_t groups_given, bool transposed)
    : spatial(dims), groups(groups_given), transpose(transposed) {
  SCONCE_CHECK(given.defined() && given.dim() == spatial + 2,
               "quantized::conv{}d_prepack: Weights are expected to have {} "
               "dimensions",
               spatial, spatial + 2);
  SCONCE_CHECK(given.dtype() == DType::qint8, "quantized::conv{}d_prepack needs a weight of qint8, got {}", spatial,
               dtype_name(given.dtype()));
  SCONCE_CHECK(given.numel() > 0, "quantized::conv{}d_prepack: the weight is empty: {}", spatial, given.sizes());
  stride = checked_list(strides, spatial, 1, "stride");
  padding = checked_list(paddings, spatial, 0, "padding");
  dilation = checked_list(dilations, spatial, 1, "dilation");
  output_padding = checked_list(output_paddings, spatial, 0, "output_padding");
  const int64_t rows = given.size(0);
  SCONCE_CHECK(groups >= 1 && rows % groups == 0, "quantized::conv{}d_prepack: {} channels cannot be in {} groups",
               spatial, rows, groups);
  in_channels = transpose ? rows : given.size(1) * groups;
  out_channels = transpose ? given.size(1) * groups : rows;
  const Quantizer& q = quantizer_of(given);
  SCONCE_CHECK(q.scheme == QScheme::per_tensor_affine || (q.scheme == QScheme::per_channel_affine &&
                                                          q.axis == (transpose ? 1 : 0) && (!transpose || groups == 1)),
               "quantized::conv{}d_prepack needs one scale, or one for each output channel", spatial);
  weight = contiguous_quantized(given, pixels(spatial));
  if (given_bias.defined()) {
    SCONCE_CHECK(given_bias.dim() == 1 && given_bias.numel() == out_channels && given_bias.dtype() == DType::float32,
                 "quantized::conv{}d_prepack: bias should be {} numbers of float32, got {}", spatial, out_channels,
                 given_bias.sizes());
    bias = contiguous_tensor(shallow_copy(given_bias));
  }
  if (!transpose) pack(*this);
}

}  // namespace sconce::quantized

namespace sconce::boxed {
namespace {

using quantized::ConvParams;

const ConvParams& params_of(const Value& v) { return instance<ConvParams>(v); }

Dims with_front(IntList list, int64_t first) {
  Dims out = {first};
  for (int64_t v : list) out.push_back(v);
  return out;
}

// args: weight, bias, stride, padding, (output_padding,) dilation, groups
void prepack(int64_t spatial, bool transpose, Value* args, Value* returns) {
  size_t at = 4;
  const Dims none(static_cast<size_t>(spatial), 0);
  const IntList output_padding = transpose ? args[at++].to_list().ints() : IntList(none);
  const IntList dilation = args[at].to_list().ints();
  const int64_t groups = args[at + 1].to_int();
  returns[0] = quantized::conv_value(
      std::make_shared<ConvParams>(spatial, args[0].to_tensor(), args[1].to_optional_tensor(), args[2].to_list().ints(),
                                   args[3].to_list().ints(), output_padding, dilation, groups, transpose));
}

// The same with a dimension of size 1 before the last one.
void prepack_1d(bool transpose, Value* args, Value* returns) {
  size_t at = 4;
  const Dims output_padding = transpose ? with_front(args[at++].to_list().ints(), 0) : Dims{0, 0};
  const Dims dilation = with_front(args[at].to_list().ints(), 1);
  const int64_t groups = args[at + 1].to_int();
  const Tensor& weight = args[0].to_tensor();
  SCONCE_CHECK(weight.dim() == 3, "quantized::conv1d_prepack: Weights are expected to have 3 dimensions, got {}",
               weight.sizes());
  returns[0] = quantized::conv_value(std::make_shared<ConvParams>(
      2, sconce::unsqueeze(weight, 2), args[1].to_optional_tensor(), with_front(args[2].to_list().ints(), 1),
      with_front(args[3].to_list().ints(), 0), output_padding, dilation, groups, transpose));
}

void run(Value* args, Value* returns, bool relu, bool one_dimension) {
  const double scale = args[2].to_double();
  SCONCE_CHECK(scale != 0, "quantized::conv: the scale of the result is 0");
  returns[0] =
      quantized::convolve(args[0].to_tensor(), params_of(args[1]), {scale, args[3].to_int(), relu}, one_dimension);
}

void run_dynamic(Value* args, Value* returns, bool one_dimension) {
  const Tensor& x = args[0].to_tensor();
  SCONCE_CHECK(x.dtype() == DType::float32, "quantized::conv_dynamic: expected an input of float32, got {}",
               dtype_name(x.dtype()));
  const quantized::Params p = quantized::choose_params(x, 0, 255, args[2].to_bool());
  const Tensor q = quantized::quantized_as(x, p.scale, p.zero_point, DType::quint8);
  returns[0] = quantized::convolve(q, params_of(args[1]), {}, one_dimension);
}

}  // namespace

void conv1d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack_1d(false, args, returns); }
void conv2d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack(2, false, args, returns); }
void conv3d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack(3, false, args, returns); }
void conv_transpose1d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack_1d(true, args, returns); }
void conv_transpose2d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack(2, true, args, returns); }
void conv_transpose3d_prepack(const Op&, KeySet, Value* args, Value* returns) { prepack(3, true, args, returns); }

void conv_unpack(const Op&, KeySet, Value* args, Value* returns) {
  const ConvParams& p = params_of(args[0]);
  Value weight = p.weight, bias = p.bias;
  returns[0] = std::move(weight);
  returns[1] = std::move(bias);
}
void conv1d_unpack(const Op&, KeySet, Value* args, Value* returns) {
  const ConvParams& p = params_of(args[0]);
  Value weight = sconce::squeeze(p.weight, 2), bias = p.bias;
  returns[0] = std::move(weight);
  returns[1] = std::move(bias);
}

void conv1d(const Op&, KeySet, Value* args, Value* returns) { run(args, returns, false, true); }
void conv1d_relu(const Op&, KeySet, Value* args, Value* returns) { run(args, returns, true, true); }
void conv(const Op&, KeySet, Value* args, Value* returns) { run(args, returns, false, false); }
void conv_relu(const Op&, KeySet, Value* args, Value* returns) { run(args, returns, true, false); }
// Old schemas repeat what the parameters hold: (qx, weight, stride, padding, dilation, groups, scale, zero_point)
void conv_old(const Op&, KeySet, Value* args, Value* returns) {
  Value few[] = {args[0], args[1], args[6], args[7]};
  run(few, returns, false, false);
}
void conv_relu_old(const Op&, KeySet, Value* args, Value* returns) {
  Value few[] = {args[0], args[1], args[6], args[7]};
  run(few, returns, true, false);
}
void conv1d_dynamic(const Op&, KeySet, Value* args, Value* returns) { run_dynamic(args, returns, true); }
void conv_dynamic(const Op&, KeySet, Value* args, Value* returns) { run_dynamic(args, returns, false); }

void conv_stride(const Op&, KeySet, Value* args, Value* returns) { returns[0] = IntList(params_of(args[0]).stride); }
void conv_padding(const Op&, KeySet, Value* args, Value* returns) { returns[0] = IntList(params_of(args[0]).padding); }
void conv_output_padding(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = IntList(params_of(args[0]).output_padding);
}
void conv_dilation(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = IntList(params_of(args[0]).dilation);
}
void conv_groups(const Op&, KeySet, Value* args, Value* returns) { returns[0] = params_of(args[0]).groups; }
void conv_transpose(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(params_of(args[0]).transpose);
}

}  // namespace sconce::boxed
