#include "sconce/kernels/cpu/conv/conv.h"

#include <algorithm>
#include <optional>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/base/parallel.h"
#include "sconce/base/small_vector.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/conv/conv_layout.h"
#include "sconce/kernels/cpu/engine/row_cache.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"

namespace sconce {
namespace {

SCONCE_VARIANT(as_matrix_product, "conv.product", "a kernel of 1 x 1 without strides and padding");
SCONCE_VARIANT(by_channels, "conv.depthwise", "a group for each channel");
SCONCE_VARIANT(in_small_groups, "conv.small_groups", "float32, groups of 2, 4 or 8 channels, kernel rows of three");
SCONCE_VARIANT(in_frame, "conv.framed",
               "fewer than 16 channels, kernel rows of two or more: copied into a frame of zeros");
SCONCE_VARIANT(planes_to_frame, "conv.framed.planes", "framed images that are planar");
SCONCE_VARIANT(even_rows, "conv.tiles.even_rows", "rows of at most 64 pixels, in whole tiles");
SCONCE_VARIANT(without_gaps, "conv.tiles.dense",
               "pixels of a result that are neighbours; not of a transposed convolution with strides");
SCONCE_VARIANT(by_strips, "conv.strips", "float32, framed, half a panel of channels, rows in whole strips");
SCONCE_VARIANT(weights_ahead, "conv.weights.ahead", "packed weights that 2 to 64 tiles meet: fetched early");
SCONCE_VARIANT(packed_before, "conv.weights.packed", "weights that were packed before the call");
SCONCE_VARIANT(several_weights, "conv.weights.blocks", "more weights than the second-level cache holds");
SCONCE_VARIANT(repeated_channels, "conv.depthwise.repeated", "several results for each channel");
SCONCE_VARIANT(shared_panels, "conv.threads.panels", "several threads, each with some of the panels of weights");
SCONCE_VARIANT(through_float, "conv.narrow", "float16, and bfloat16 without products of pairs");
SCONCE_VARIANT(few_blocks, "conv.narrow.shared", "fewer blocks of rows than threads");
SCONCE_VARIANT(several_row_blocks, "conv.narrow.blocks", "rows that are converted in more than one block");
SCONCE_VARIANT(in_pairs, "conv.bf16_pairs", "bfloat16, more than one channel a group", "bf16");

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t work_per_thread = 256 * 1024;     // multiplications that are worth a thread
constexpr int64_t weight_block_bytes = 640 * 1024;  // packed weights that stay in the second-level cache

constexpr int64_t narrow_block_bytes = 384 * 1024;  // floats of narrow inputs and results that stay there

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

GemmStorage storage_of(DType dtype) {
  return dtype == DType::bfloat16  ? GemmStorage::bfloat16
         : dtype == DType::float16 ? GemmStorage::float16
                                   : GemmStorage::native;
}

template <class T>
const GemmTable<T>& gemm_table(const MatrixKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *kernels.f32;
  } else {
    return *kernels.f64;
  }
}
template <class T>
const DepthwiseTable<T>& depthwise_table(const MatrixKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *conv_kernels(kernels).depthwise_f32;
  } else {
    return *conv_kernels(kernels).depthwise_f64;
  }
}
template <class T>
const TapsTable<T>& taps_table(GemmStorage storage, const MatrixKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *conv_kernels(kernels).taps_f32[static_cast<int>(storage)];
  } else {
    return *conv_kernels(kernels).taps_f64;
  }
}

// Tiles that read elements of type T: float, double, or bfloat16 as bits.
template <class T>
struct Tiles {
  using Output = TileOutput<T>;
  const GemmTable<T>& table;
  const int lanes, panel, tile_rows;

  explicit Tiles(const MatrixKernels& kernels)
      : table(gemm_table<T>(kernels)), lanes(table.lanes), panel(table.panel), tile_rows(table.tile_rows) {}
  static int64_t padded(int64_t k) { return k; }  // rows of packed weights for k inputs
  void run(int rows, int64_t taps, int64_t k, const T* const* row_list, const T* b, int columns,
           const Output& output) const {
    table.tiles[columns > lanes][rows](taps, k, row_list, b, panel, columns, output);
  }
};
template <>
struct Tiles<uint16_t> {
  using Output = Bf16Output;
  const Bf16Table& table;
  const int panel = Bf16Table::panel, tile_rows = Bf16Table::tile_rows;

  explicit Tiles(const MatrixKernels& kernels) : table(*kernels.bf16) {}
  static int64_t padded(int64_t k) { return bf16_padded(k); }
  void run(int rows, int64_t taps, int64_t k, const uint16_t* const* row_list, const uint16_t* b, int columns,
           const Output& output) const {
    table.tiles[columns > 16][rows](taps, k, row_list, b, columns, output);
  }
};

// The compute type of a convolution: bfloat16 as it is, if the processor can.
bool computes_in_bf16(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  return in_pairs(dtype == DType::bfloat16 && kernels.bf16 && !conv_is_channelwise(shape));
}

// The group of conv_small_group, where the kernels for such groups know the rest of the shape too; else 0.
template <class T>
int64_t group_in_vector(const ConvShape& shape, const MatrixKernels& kernels) {
  const int last = shape.rank - 1;
  if (!std::is_same_v<T, float> || shape.kernel[last] != 3 || shape.dilation[last] != 1 ||
      shape.stride[last] > (shape.transposed ? 1 : 2))
    return 0;
  return conv_small_group(shape, kernels);
}

// An input with few channels is copied into a frame of zeros. There a row of the kernel sees one run of memory at every
// pixel: all its taps together are one long tap.
bool is_framed(const ConvShape& shape) {
  return !shape.transposed && shape.groups == 1 && shape.in_channels < 16 && shape.kernel[shape.rank - 1] > 1 &&
         shape.dilation[shape.rank - 1] == 1;
}

// A convolution is one product or several: a transposed one with strides falls apart into one for every residue
// of the output position. In each, output position start + q * out_step reads input position q * in_step + offset
// for every tap.
struct Axis {
  int64_t in, out;
  int64_t count, start, out_step, in_step;
  SmallVector<int64_t, 8> taps, offsets;
};
struct Phase {
  Axis axes[max_conv_rank];
  int64_t taps() const { return static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size()); }
};

// All phases, made one by one: kernels that are not large take no memory for them.
class Phases {
 public:
  explicit Phases(const ConvShape& shape) : shape_(shape) {
    for (int d = 0; d < max_conv_rank; d++) counts_[d] = shape.transposed && place(d) >= 0 ? shape.stride[place(d)] : 1;
  }

  class Iterator {
   public:
    Iterator(const Phases& all, int64_t number) : all_(all), number_(number) {}
    Phase operator*() const {
      const int64_t w = all_.counts_[2], h = all_.counts_[1];
      return {{all_.axis(0, number_ / w / h), all_.axis(1, number_ / w % h), all_.axis(2, number_ % w)}};
    }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return number_ != other.number_; }

   private:
    const Phases& all_;
    int64_t number_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, counts_[0] * counts_[1] * counts_[2]}; }

 private:
  // The dimension of the shape that is d of the three, the missing ones of a lower rank being in front.
  int place(int d) const { return d - (max_conv_rank - shape_.rank); }
  Axis axis(int d, int64_t start) const {
    const int i = place(d);
    if (i < 0) return {1, 1, 1, 0, 1, 1, {0}, {0}};
    const int64_t stride = shape_.stride[i], padding = shape_.padding[i], dilation = shape_.dilation[i];
    if (!shape_.transposed) {
      Axis axis{shape_.in[i], shape_.out[i], shape_.out[i], 0, 1, stride, {}, {}};
      for (int64_t t = 0; t < shape_.kernel[i]; t++) {
        axis.taps.push_back(t);
        axis.offsets.push_back(t * dilation - padding);
      }
      return axis;
    }
    const int64_t count = shape_.out[i] > start ? divide_up(shape_.out[i] - start, stride) : 0;
    Axis axis{shape_.in[i], shape_.out[i], count, start, stride, 1, {}, {}};
    for (int64_t t = shape_.kernel[i] - 1; t >= 0; t--) {  // so that offsets ascend
      const int64_t distance = start + padding - t * dilation;
      if (numbers::floor_mod(distance, stride) != 0) continue;
      axis.taps.push_back(t);
      axis.offsets.push_back(distance / stride);
    }
    return axis;
  }

  const ConvShape& shape_;
  int64_t counts_[max_conv_rank];
};

Phases phases_of(const ConvShape& shape) { return Phases(shape); }

int64_t product(const int64_t* sizes, int rank) {
  int64_t result = 1;
  for (int i = 0; i < rank; i++) result *= sizes[i];
  return result;
}

void check(const ConvShape& shape, DType dtype) {
  SCONCE_CHECK(is_floating(dtype), "convolution: expected a floating point dtype, got {}", dtype_name(dtype));
  SCONCE_CHECK(shape.rank >= 1 && shape.rank <= max_conv_rank,
               "convolution: expected 1 to 3 spatial dimensions, got {}", shape.rank);
  SCONCE_CHECK(shape.batch >= 0 && shape.in_channels >= 0 && shape.out_channels >= 0,
               "convolution: sizes must not be negative, got batch {}, in_channels {}, out_channels {}", shape.batch,
               shape.in_channels, shape.out_channels);
  SCONCE_CHECK(shape.groups >= 1 && shape.in_channels % shape.groups == 0 && shape.out_channels % shape.groups == 0,
               "convolution: groups must divide the channels, got groups {}, in_channels {}, out_channels {}",
               shape.groups, shape.in_channels, shape.out_channels);
  for (int i = 0; i < shape.rank; i++) {
    SCONCE_CHECK(
        shape.in[i] >= 0 && shape.out[i] >= 0 && shape.kernel[i] >= 1 && shape.stride[i] >= 1 && shape.dilation[i] >= 1,
        "convolution: dimension {} makes no sense: in {}, out {}, kernel {}, stride {}, dilation {}", i, shape.in[i],
        shape.out[i], shape.kernel[i], shape.stride[i], shape.dilation[i]);
  }
}

// The taps that tiles see, of a phase with `taps` in all, and the inputs of each.
struct TapRuns {
  int64_t count, length;
};
TapRuns tap_runs(const ConvShape& shape, int64_t taps) {
  const int64_t in_channels = shape.in_channels / shape.groups, width = shape.kernel[shape.rank - 1];
  if (is_framed(shape)) return {taps / width, width * in_channels};
  return {taps, in_channels};
}

// Rows of packed weights for one panel of output channels.
template <class T>
int64_t panel_rows(const ConvShape& shape, int64_t taps) {
  const TapRuns runs = tap_runs(shape, taps);
  return runs.count * Tiles<T>::padded(runs.length);
}

// Packed weights: for every phase, for every group, panels [out channels / panel][panel_rows][panel]. Depthwise: for
// every phase [taps][out channels]. Small groups: for every phase [taps][channels of a group][channels].
template <class T>
int64_t packed_elements(const ConvShape& shape, const MatrixKernels& kernels) {
  const int64_t taps = product(shape.kernel, shape.rank);
  if (conv_is_channelwise(shape)) return taps * shape.out_channels;
  if (const int64_t group = group_in_vector<T>(shape, kernels)) return taps * group * shape.in_channels;
  const int64_t panel = Tiles<T>(kernels).panel;
  return shape.groups * divide_up(shape.out_channels / shape.groups, panel) * panel * panel_rows<T>(shape, taps);
}

// The weights of one phase as they were given, from which panels are packed.
template <class T>
class PhaseWeights {
 public:
  PhaseWeights(const ConvShape& shape, const Phase& phase, DType dtype, const void* weight, const int64_t* strides,
               const MatrixKernels& kernels)
      : shape_(shape),
        kernels_(kernels),
        tiles_(kernels),
        dtype_(dtype),
        weight_(static_cast<const char*>(weight)),
        in_stride_(strides[shape.transposed ? 0 : 1]),
        out_stride_(strides[shape.transposed ? 1 : 0]) {
    int64_t tap_strides[max_conv_rank] = {};
    for (int i = 0; i < shape.rank; i++) tap_strides[max_conv_rank - shape.rank + i] = strides[2 + i];
    for (int64_t d : phase.axes[0].taps) {
      for (int64_t h : phase.axes[1].taps) {
        for (int64_t w : phase.axes[2].taps) {
          taps_.push_back(d * tap_strides[0] + h * tap_strides[1] + w * tap_strides[2]);
        }
      }
    }
    panels_ = divide_up(out_channels(), tiles_.panel);
  }

  int64_t units() const { return taps_.empty() ? 0 : shape_.groups * panels_; }  // panels of all groups
  int64_t unit_elements() const { return panel_rows<T>(shape_, taps()) * tiles_.panel; }
  int64_t taps() const { return static_cast<int64_t>(taps_.size()); }

  void pack(int64_t unit, T* to) const {
    const int64_t group = unit / panels_, column = unit % panels_ * tiles_.panel;
    const int64_t offset = group * (shape_.transposed ? in_channels() * in_stride_ : out_channels() * out_stride_);
    const char* w = at(offset + column * out_stride_);
    const int columns = static_cast<int>(std::min<int64_t>(tiles_.panel, out_channels() - column));
    if constexpr (sizeof(T) == 2) {
      Scratch scratch;
      tiles_.table.pack_taps(reinterpret_cast<const T*>(w), in_stride_, out_stride_, taps_.data(), taps(),
                             in_channels(), tap_runs(shape_, taps()).count, columns,
                             scratch.take<T>(taps() * in_channels() * tiles_.panel), to);
    } else {
      taps_table<T>(storage_of(dtype_), kernels_)
          .pack(w, in_stride_, out_stride_, taps_.data(), taps(), in_channels(), columns, to);
    }
  }

  // Of a depthwise convolution: [taps][out channels].
  void pack_depthwise(T* to) const {
    if constexpr (sizeof(T) > 2) {
      for (int64_t offset : taps_) {
        tiles_.table.copy_rows(storage_of(dtype_), at(offset), 0, shape_.transposed ? in_stride_ : out_stride_, 1,
                               shape_.out_channels, to, 0);
        to += shape_.out_channels;
      }
    }
  }

  // Of small groups: [taps][channels of a group][channels].
  void pack_small_groups(T* to) const {
    if constexpr (sizeof(T) > 2) {
      const int64_t group = in_channels(), groups = shape_.groups;
      const int64_t group_stride = group * (shape_.transposed ? in_stride_ : out_stride_);
      parallel_for(taps() * group, divide_up(work_per_thread / 16, shape_.out_channels),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; row++) {
                       const int64_t offset = taps_[static_cast<size_t>(row / group)] + row % group * in_stride_;
                       tiles_.table.copy_rows(storage_of(dtype_), at(offset), group_stride, out_stride_, groups, group,
                                              to + row * shape_.out_channels, group);
                     }
                   });
    }
  }

 private:
  int64_t in_channels() const { return shape_.in_channels / shape_.groups; }
  int64_t out_channels() const { return shape_.out_channels / shape_.groups; }
  const char* at(int64_t offset) const { return weight_ + offset * static_cast<int64_t>(item_size(dtype_)); }

  const ConvShape& shape_;
  const MatrixKernels& kernels_;
  const Tiles<T> tiles_;
  const DType dtype_;
  const char* weight_;
  const int64_t in_stride_, out_stride_;
  SmallVector<int64_t, 32> taps_;  // offsets
  int64_t panels_;
};

template <class T>
void pack(const ConvShape& shape, DType dtype, const void* weight, const int64_t* strides, T* packed,
          const MatrixKernels& kernels) {
  for (const Phase& phase : phases_of(shape)) {
    const PhaseWeights<T> weights(shape, phase, dtype, weight, strides, kernels);
    if (conv_is_channelwise(shape)) {
      weights.pack_depthwise(packed);
      packed += weights.taps() * shape.out_channels;
      continue;
    }
    if (const int64_t group = group_in_vector<T>(shape, kernels)) {
      weights.pack_small_groups(packed);
      packed += weights.taps() * group * shape.in_channels;
      continue;
    }
    const int64_t elements = weights.unit_elements();
    parallel_for(weights.units(), divide_up(work_per_thread / 4, std::max<int64_t>(elements, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t unit = begin; unit < end; unit++) weights.pack(unit, packed + unit * elements);
                 });
    packed += weights.units() * elements;
  }
}

template <class T>
struct Call {
  const ConvShape& shape;
  const Tiles<T>& tiles;
  const T* x;
  T* y;
  const Epilogue& epilogue;          // of T
  const float* wide_bias = nullptr;  // where T is bfloat16

  typename Tiles<T>::Output output_at(int64_t pixel, int64_t channel, int64_t pixel_step) const {
    const auto* residual = static_cast<const T*>(epilogue.residual);
    typename Tiles<T>::Output out{};
    out.c = y + pixel * shape.out_channels + channel;
    out.c_stride = pixel_step * shape.out_channels;
    if constexpr (sizeof(T) == 2) {
      if (wide_bias) out.bias = wide_bias + channel;
    } else {
      if (epilogue.bias) out.bias = static_cast<const T*>(epilogue.bias) + channel;
    }
    if constexpr (sizeof(T) > 2) {
      if (epilogue.scale) {
        out.scale = static_cast<const T*>(epilogue.scale) + channel;
        out.shift = static_cast<const T*>(epilogue.shift) + channel;
      }
    }
    if (residual) out.residual = residual + pixel * epilogue.residual_stride + channel;
    out.residual_stride = pixel_step * epilogue.residual_stride;
    out.lo = static_cast<decltype(out.lo)>(epilogue.lo);
    out.hi = static_cast<decltype(out.hi)>(epilogue.hi);
    out.clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
    out.accumulate = epilogue.accumulate;
    return out;
  }
  void post(int64_t pixel, int64_t pixel_step, int64_t pixels, int64_t channel, int64_t channels) const {
    post_in(y, pixel, pixel_step, pixels, channel, channels);
  }
  // The same for results of another type.
  template <class Stored>
  void post_in(Stored* results, int64_t pixel, int64_t pixel_step, int64_t pixels, int64_t channel,
               int64_t channels) const {
    if (!epilogue.post) return;
    const int64_t together = pixel_step == 1 ? pixels : 1;
    for (int64_t i = 0; i < pixels; i += together, pixel += pixel_step) {
      epilogue.post(epilogue.post_context, results + pixel * shape.out_channels + channel, shape.out_channels, 1,
                    epilogue.first_row + pixel, channel, together, channels);
    }
  }
};

// Every channel of some pixels, `times` times.
template <int64_t times, class Stored>
void repeat_channels(const Stored* from, int64_t count, Stored* to) {
  for (int64_t i = 0; i < count; i++) {
    for (int64_t j = 0; j < times; j++) to[i * times + j] = from[i];
  }
}
template <class Stored>
void repeat_channels(const Stored* from, int64_t count, int64_t times, Stored* to) {
  if (times == 2) return repeat_channels<2>(from, count, to);
  if (times == 4) return repeat_channels<4>(from, count, to);
  for (int64_t i = 0; i < count; i++) to = std::fill_n(to, times, from[i]);
}

// How far apart the rows lie that an output row sees, plus one.
int64_t span(const Axis& axis) {
  if (axis.offsets.empty()) return 1;
  const auto [first, last] = std::minmax_element(axis.offsets.begin(), axis.offsets.end());
  return *last - *first + 1;
}

// Images are of type Stored: T, or uint16_t for bfloat16. `group` is 1, or the channels of a small group. Where a
// channel has several outputs, they see rows in which it is repeated: so vectors run over outputs here, too.
template <class T, class Stored>
void run_depthwise(const Call<T>& call, const Stored* x, Stored* y, const Phase& phase, const T* packed,
                   void (*run_row)(const DepthwiseArgs<T>& args), int64_t group = 1) {
  const ConvShape& shape = call.shape;
  const auto& [depth, height, width] = phase.axes;
  const auto kernel_width = static_cast<int64_t>(width.taps.size());
  const int64_t channels = shape.out_channels, out_pixels = depth.out * height.out * width.out;
  const int64_t in_row = width.in * shape.in_channels, times = channels / shape.in_channels;
  const int64_t rows = shape.batch * depth.count * height.count;
  const int64_t row_work = width.count * channels * phase.taps();
  parallel_for(rows, divide_up(work_per_thread / 8, std::max<int64_t>(row_work, 1)), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    const auto kernel_rows = static_cast<int64_t>(depth.taps.size() * height.taps.size());
    const T** input_rows = scratch.take<const T*>(kernel_rows);
    const T** weight_rows = scratch.take<const T*>(kernel_rows);
    std::optional<RowCache> repeated;
    if (repeated_channels(times > 1))
      repeated.emplace(scratch, in_row * times * static_cast<int64_t>(sizeof(Stored)), span(depth), span(height));
    for (int64_t row = begin; row < end; row++) {
      const int64_t h = row % height.count, d = row / height.count % depth.count, n = row / height.count / depth.count;
      DepthwiseArgs<T> args{};
      const T* weights = packed;
      for (int64_t d_offset : depth.offsets) {
        for (int64_t h_offset : height.offsets) {
          const int64_t from_d = d * depth.in_step + d_offset, from_h = h * height.in_step + h_offset;
          if (from_d >= 0 && from_d < depth.in && from_h >= 0 && from_h < height.in) {
            const int64_t number = (n * depth.in + from_d) * height.in + from_h;
            const void* input = x + number * in_row;
            if (repeated) {
              input = repeated->get(number, from_d, from_h, [&](void* to) {
                repeat_channels(x + number * in_row, in_row, times, static_cast<Stored*>(to));
              });
            }
            input_rows[args.kernel_rows] = static_cast<const T*>(input);
            weight_rows[args.kernel_rows++] = weights;
          }
          weights += kernel_width * group * channels;
        }
      }
      args.channels = channels;
      args.group = group;
      args.kernel_width = kernel_width;
      args.stride = width.in_step;
      args.dilation = kernel_width > 1 ? width.offsets[1] - width.offsets[0] : 1;
      args.padding = kernel_width > 0 ? -width.offsets[0] : 0;
      args.input_rows = input_rows;
      args.weight_rows = weight_rows;
      args.input_width = width.in;
      args.output_width = width.count;
      const int64_t pixel =
          n * out_pixels +
          ((depth.start + d * depth.out_step) * height.out + height.start + h * height.out_step) * width.out +
          width.start;
      args.output = call.output_at(pixel, 0, width.out_step);
      args.output.c = reinterpret_cast<T*>(y + pixel * channels);
      if (call.epilogue.residual) {
        args.output.residual = reinterpret_cast<const T*>(static_cast<const Stored*>(call.epilogue.residual) +
                                                          pixel * call.epilogue.residual_stride);
      }
      run_row(args);
      call.post_in(y, pixel, width.out_step, width.count, 0, channels);
    }
  });
}

// The input of a framed convolution.
template <class T>
struct Frame {
  const T* data = nullptr;                   // null: not framed
  int64_t depth = 0, height = 0, width = 0;  // pixels of a framed image

  void make(const Call<T>& call, const Phase& phase, Scratch& scratch) {
    const int64_t channels = call.shape.in_channels, batch = call.shape.batch;
    int64_t sizes[3];
    for (int i = 0; i < 3; i++) {
      const Axis& axis = phase.axes[i];
      sizes[i] = (axis.out - 1) * axis.in_step + axis.offsets.back() - axis.offsets[0] + 1;
    }
    depth = sizes[0];
    height = sizes[1];
    width = sizes[2];
    const int64_t row = width * channels, rows = batch * depth * height;
    T* frame = scratch.take<T>(rows * row);
    parallel_for(rows, divide_up(work_per_thread, std::max<int64_t>(row, 1)), [&](int64_t begin, int64_t end) {
      const auto& [d_axis, h_axis, w_axis] = phase.axes;
      for (int64_t r = begin; r < end; r++) {
        const int64_t h = r % height + h_axis.offsets[0], d = r / height % depth + d_axis.offsets[0];
        const int64_t n = r / height / depth, first = w_axis.offsets[0];
        T* to = frame + r * row;
        const int64_t from = std::clamp<int64_t>(-first, 0, width),
                      until = std::clamp<int64_t>(w_axis.in - first, from, width);
        if (d < 0 || d >= d_axis.in || h < 0 || h >= h_axis.in) {
          std::fill_n(to, row, T(0));
          continue;
        }
        std::fill_n(to, from * channels, T(0));
        if (planes_to_frame(call.shape.planes)) {
          constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
          const int64_t plane = d_axis.in * h_axis.in * w_axis.in;
          const T* source = call.x + n * channels * plane + (d * h_axis.in + h) * w_axis.in + first + from;
          planar_to_pixels(dtype, channels, until - from, source, plane, to + from * channels);
        } else {
          const T* source = call.x + (((n * d_axis.in + d) * h_axis.in + h) * w_axis.in + first) * channels;
          std::copy(source + from * channels, source + until * channels, to + from * channels);
        }
        std::fill_n(to + until * channels, (width - until) * channels, T(0));
      }
    });
    data = frame;
  }
};

template <class T>
using StripKernel = void (*)(const StripArgs<T>& args);
template <class T>
StripKernel<T> strip_kernel(const MatrixKernels& kernels) {
  if constexpr (std::is_same_v<T, float>) return conv_kernels(kernels).strip_f32->run;
  return nullptr;
}

// One phase as tiles of neighbouring output pixels times panels of output channels. Pixels of a tile must be equally
// far apart in y, so tiles of a phase that skips pixels end with the row.
template <class T>
class DirectConv {
 public:
  // Weights are packed already, or `packed` is null and each panel is packed when its turn comes. `strip`: null where
  // there are no strips.
  DirectConv(const Call<T>& call, const Phase& phase, const T* packed, const PhaseWeights<T>* weights, const T* zeros,
             const Frame<T>& frame, StripKernel<T> strip)
      : call_(call), phase_(phase), packed_(packed), weights_(weights), zeros_(zeros), frame_(frame) {
    const auto& [depth, height, width] = phase.axes;
    const bool dense = depth.out_step == 1 && height.out_step == 1 && width.out_step == 1;
    const int64_t pixels = call.shape.batch * depth.count * height.count * width.count;
    segment_ = dense ? pixels : width.count;
    if (pixels == 0) return;
    tile_ = divide_up(segment_, divide_up(segment_, call.tiles.tile_rows));
    // Tiles that end with the rows of a small image see whole rows of the kernel outside of it, and skip them.
    for (int64_t t = call.tiles.tile_rows; t >= call.tiles.tile_rows - 1 && t > 2 && height.taps.size() > 1; t--) {
      if (even_rows(width.count % t == 0 && width.count <= 64)) {
        tile_ = t;
        break;
      }
    }
    if (strip && frame.data && call.shape.out_channels <= call.tiles.panel / 2 && width.count % strip_pixels == 0) {
      strip_ = strip;
      tile_ = strip_pixels;
    }
    by_strips(strip_ != nullptr);
    without_gaps(dense);
    tiles_per_segment_ = divide_up(segment_, tile_);
    tiles_ = pixels / segment_ * tiles_per_segment_;
  }

  void run() const {
    const int64_t panels = divide_up(call_.shape.out_channels / call_.shape.groups, call_.tiles.panel);
    if (tiles_ == 0 || panels == 0) return;
    const int64_t units = panels * call_.shape.groups;
    const int64_t unit_work = std::max<int64_t>(1, phase_.taps() * in_channels() * tile_ * call_.tiles.panel);
    int64_t threads = std::min<int64_t>(num_threads(), tiles_ * units * unit_work / work_per_thread);
    const int64_t packing = packed_ ? 0 : 2;  // tiles that take as long as packing a panel
    int64_t by_tiles = 1, by_units = 1, best = (tiles_ + packing) * units;
    for (int64_t t = 1; t <= std::min(threads, tiles_); t++) {
      const int64_t u = std::min(threads / t, units), cost = (divide_up(tiles_, t) + packing) * divide_up(units, u);
      if (cost < best || (cost == best && t > by_tiles)) {
        best = cost;
        by_tiles = t;
        by_units = u;
      }
    }
    shared_panels(by_units > 1);
    parallel_for(by_tiles * by_units, 1, [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; cell++) {
        const int64_t t = cell / by_units, u = cell % by_units;
        run_share(tiles_ * t / by_tiles, tiles_ * (t + 1) / by_tiles, units * u / by_units, units * (u + 1) / by_units);
      }
    });
  }

 private:
  int64_t in_channels() const { return call_.shape.in_channels / call_.shape.groups; }

  // Tiles [tile, tile_end) times panels [unit, unit_end), numbered through the groups.
  void run_share(int64_t tile_begin, int64_t tile_end, int64_t unit, int64_t unit_end) const {
    const Tiles<T>& table = call_.tiles;
    const auto [taps, run] = tap_runs(call_.shape, phase_.taps());
    const int64_t depth = panel_rows<T>(call_.shape, phase_.taps());
    const int64_t block = std::max<int64_t>(
        1, weight_block_bytes / static_cast<int64_t>(sizeof(T)) / (std::max<int64_t>(depth, 1) * table.panel));
    Scratch scratch;
    const T** rows = scratch.take<const T*>(std::max<int64_t>(taps, 1) * table.tile_rows);
    T* own = packed_ ? nullptr : scratch.take<T>(std::min(block, unit_end - unit) * depth * table.panel);
    // Software prefetching: weights that few tiles meet come from memory, and each tile fetches a share of the panel a
    // block further on, so that memory is read all the time. With many tiles the first one's waiting does not count.
    const int64_t tiles = tile_end - tile_begin;
    packed_before(packed_ != nullptr);
    const bool fetches = weights_ahead(packed_ && tiles > 1 && tiles <= 64);
    several_weights(unit_end - unit > block);
    const int64_t fetch_step = divide_up(static_cast<int64_t>(sizeof(T)) * table.panel, tiles);
    for (; unit < unit_end; unit += block) {
      const int64_t block_end = std::min(unit + block, unit_end);
      for (int64_t u = unit; own && taps > 0 && u < block_end; u++) {
        weights_->pack(u, own + (u - unit) * depth * table.panel);
      }
      const Unit first = unit_at(unit), last = unit_at(block_end - 1);
      PostedPixels posted{call_, first.channel, last.channel + last.columns - first.channel};
      const int64_t step = phase_.axes[2].out_step;
      int64_t number = tile_begin % tiles_per_segment_, offset = segment_ * number / tiles_per_segment_;
      PixelPlace place = place_of(tile_begin / tiles_per_segment_ * segment_ + offset);
      for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        if (tile % 64 == 0) Budget::poll_active();
        // Tiles of one or two pixels would be as slow as those of four: all have the same size, or one less.
        const int64_t end = segment_ * (number + 1) / tiles_per_segment_;
        const int size = static_cast<int>(end - offset);
        const bool ends = ++number == tiles_per_segment_;
        offset = ends ? 0 : end;
        if (ends) number = 0;
        const int64_t pixel = number_of(place);
        if constexpr (std::is_same_v<T, float>) {
          if (strip_) {
            point_into_frame(place, rows, 1);
            advance(place, size);
            strip_({taps, run, rows, phase_.axes[2].in_step * call_.shape.in_channels, own ? own : packed_, table.panel,
                    first.columns, call_.output_at(pixel, first.channel, step)});
            posted.add(pixel, step, size);
            continue;
          }
        }
        load_tile(place, size, first.group, rows);
        const TapRange seen = taps_inside(rows, taps, size, first.group);
        Unit now = first;
        for (int64_t u = unit; u < block_end; u++) {
          auto output = call_.output_at(pixel, now.channel, step);
          if constexpr (!std::is_same_v<T, uint16_t>) {
            if (fetches && u + block < unit_end) {
              output.ahead = reinterpret_cast<const char*>(packed_ + (u + block) * depth * table.panel) +
                             (tile - tile_begin) * depth * fetch_step;
              output.ahead_step = fetch_step;
            }
          }
          const T* b = own ? own + (u - unit) * depth * table.panel : packed_ + u * depth * table.panel;
          table.run(size, seen.end - seen.begin, run, rows + seen.begin * size,
                    b + seen.begin * Tiles<T>::padded(run) * table.panel, now.columns, output);
          if (u + 1 == block_end) break;
          const int64_t group = now.group;
          now = next(now);
          if (now.group == group) continue;
          for (int64_t i = 0; i < taps * size; i++) rows[i] += in_channels();  // rows of zeros are as long as a pixel
        }
        posted.add(pixel, step, size);
      }
      posted.flush();
    }
  }

  // Tiles that wait for the rest of the epilogue: a call for each of them would cost more than a tile of few channels.
  struct PostedPixels {
    const Call<T>& call;
    int64_t channel, channels;
    int64_t pixel = 0, count = 0;

    void add(int64_t first, int64_t step, int64_t size) {
      if (!call.epilogue.post) return;
      if (step != 1) return call.post(first, step, size, channel, channels);
      if (count != 0 && first != pixel + count) flush();
      if (count == 0) pixel = first;
      count += size;
      constexpr int64_t most_elements = 2048;  // in the first-level cache
      if (count * channels >= most_elements) flush();
    }
    void flush() {
      if (count != 0) call.post(pixel, 1, count, channel, channels);
      count = 0;
    }
  };

  // The taps of a tile without those at the beginning and the end that are outside of the image for all its pixels.
  struct TapRange {
    int64_t begin, end;
  };
  TapRange taps_inside(const T* const* rows, int64_t taps, int size, int64_t group) const {
    if (frame_.data) return {0, taps};
    const T* zeros = zeros_ + group * in_channels();
    const auto outside = [&](int64_t tap) {
      for (int i = 0; i < size; i++) {
        if (rows[tap * size + i] != zeros) return false;
      }
      return true;
    };
    int64_t begin = 0, end = taps;
    while (begin < end && outside(begin)) begin++;
    while (end > begin && outside(end - 1)) end--;
    return {begin, end};
  }

  // One panel of output channels of one group.
  struct Unit {
    int64_t group, channel;
    int columns;
  };
  int64_t out_channels() const { return call_.shape.out_channels / call_.shape.groups; }
  Unit unit_from(int64_t group, int64_t channel) const {
    const int64_t left = (group + 1) * out_channels() - channel;
    return {group, channel, static_cast<int>(std::min<int64_t>(call_.tiles.panel, left))};
  }
  Unit unit_at(int64_t unit) const {
    const int64_t panels = divide_up(out_channels(), call_.tiles.panel), group = unit / panels;
    return unit_from(group, group * out_channels() + unit % panels * call_.tiles.panel);
  }
  Unit next(const Unit& unit) const {
    const int64_t channel = unit.channel + unit.columns;
    return unit_from(unit.group + (channel == (unit.group + 1) * out_channels()), channel);
  }

  // A pixel of the phase. Those of a share are met one after the other: divisions find only the first.
  struct PixelPlace {
    int64_t n, d, h, w;
  };
  PixelPlace place_of(int64_t index) const {
    const auto& [depth, height, width] = phase_.axes;
    const int64_t row = index / width.count, plane = row / height.count;
    return {plane / depth.count, plane % depth.count, row % height.count, index % width.count};
  }
  int64_t number_of(const PixelPlace& p) const {  // in y
    const auto& [depth, height, width] = phase_.axes;
    return ((p.n * depth.out + depth.start + p.d * depth.out_step) * height.out + height.start +
            p.h * height.out_step) *
               width.out +
           width.start + p.w * width.out_step;
  }
  // Some pixels on, no further than the end of the row.
  void advance(PixelPlace& p, int64_t pixels) const {
    const auto& [depth, height, width] = phase_.axes;
    p.w += pixels;
    if (p.w < width.count) return;
    p.w = 0;
    if (++p.h < height.count) return;
    p.h = 0;
    if (++p.d < depth.count) return;
    p.d = 0;
    p.n++;
  }

  // Fills the row pointers of `size` pixels, and goes on to the pixel behind them.
  void load_tile(PixelPlace& place, int size, int64_t group, const T** rows) const {
    const auto& [depth, height, width] = phase_.axes;
    if (frame_.data && place.w + size <= width.count) {  // pixels of one row: equally far apart
      point_into_frame(place, rows, size);
      const int64_t step = width.in_step * call_.shape.in_channels;
      const auto taps = static_cast<int64_t>(depth.offsets.size() * height.offsets.size());
      for (int64_t t = 0; t < taps; t++) {
        const T** of_tap = rows + t * size;
        for (int i = 1; i < size; i++) of_tap[i] = of_tap[0] + i * step;
      }
      return advance(place, size);
    }
    for (int i = 0; i < size; i++) {
      if (frame_.data) {
        point_into_frame(place, rows + i, size);
      } else {
        point(place, group, rows + i, size);
      }
      advance(place, 1);
    }
  }

  // rows[tap * size] for one output pixel: where that tap's input channels are, or zeros outside of the image.
  void point(const PixelPlace& place, int64_t group, const T** rows, int size) const {
    const auto& [n, d, h, w] = place;
    const auto& [depth, height, width] = phase_.axes;
    const int64_t channels = call_.shape.in_channels;
    const T* image = call_.x + n * depth.in * height.in * width.in * channels + group * in_channels();
    for (int64_t d_offset : depth.offsets) {
      const int64_t from_d = d * depth.in_step + d_offset;
      for (int64_t h_offset : height.offsets) {
        const int64_t from_h = h * height.in_step + h_offset;
        const bool inside = from_d >= 0 && from_d < depth.in && from_h >= 0 && from_h < height.in;
        for (int64_t w_offset : width.offsets) {
          const int64_t from_w = w * width.in_step + w_offset;
          *rows = inside && from_w >= 0 && from_w < width.in
                      ? image + ((from_d * height.in + from_h) * width.in + from_w) * channels
                      : zeros_ + group * in_channels();
          rows += size;
        }
      }
    }
  }

  // The same for the long taps of a framed input, which are never outside.
  void point_into_frame(const PixelPlace& place, const T** rows, int size) const {
    const auto& [n, d, h, w] = place;
    const auto& [depth, height, width] = phase_.axes;
    const int64_t channels = call_.shape.in_channels;
    const int64_t line = frame_.width * channels;
    const T* first = frame_.data +
                     ((n * frame_.depth + d * depth.in_step) * frame_.height + h * height.in_step) * line +
                     w * width.in_step * channels;
    for (int64_t d_offset : depth.offsets) {
      const T* plane = first + (d_offset - depth.offsets[0]) * frame_.height * line;
      for (int64_t h_offset : height.offsets) {
        *rows = plane + (h_offset - height.offsets[0]) * line;
        rows += size;
      }
    }
  }

  const Call<T>& call_;
  const Phase& phase_;
  const T* packed_;
  const PhaseWeights<T>* weights_;
  const T* zeros_;
  const Frame<T>& frame_;
  StripKernel<T> strip_ = nullptr;
  int64_t segment_ = 0, tile_ = 1, tiles_per_segment_ = 1, tiles_ = 0;
};

// Everything in T, y and the residual included. `packed` or `given` is null; weights of depthwise
// convolutions and of small groups are packed.
template <class T>
void run(const ConvShape& shape, const T* x, const T* packed, const GivenWeights* given, T* y, const Epilogue& epilogue,
         const MatrixKernels& kernels, SumOrder order) {
  constexpr DType dtype = sizeof(T) == 2 ? DType::bfloat16 : sizeof(T) == 4 ? DType::float32 : DType::float64;
  if (as_matrix_product(conv_is_product(shape))) {
    const int64_t pixels = shape.batch * product(shape.out, shape.rank), k = shape.in_channels, n = shape.out_channels;
    if (packed) return gemm_packed(dtype, pixels, n, k, {x, k, 1}, packed, {y, n, 1}, epilogue, kernels, order);
    SCONCE_ASSERT(given);
    const int64_t in_stride = given->strides[shape.transposed ? 0 : 1],
                  out_stride = given->strides[shape.transposed ? 1 : 0];
    return gemm(dtype, pixels, n, k, {x, k, 1}, {given->data, in_stride, out_stride}, {y, n, 1}, epilogue, kernels,
                order);
  }
  const Tiles<T> tiles(kernels);
  Call<T> call{shape, tiles, x, y, epilogue};
  Scratch scratch;
  if constexpr (sizeof(T) == 2) {
    if (epilogue.bias) {
      auto* bias = scratch.take<float>(shape.out_channels);
      kernels.f32->copy_rows(GemmStorage::bfloat16, epilogue.bias, 0, 1, 1, shape.out_channels, bias, 0);
      call.wide_bias = bias;
    }
  } else {
    if (by_channels(conv_is_channelwise(shape))) {
      for (const Phase& phase : phases_of(shape)) {
        run_depthwise(call, x, y, phase, packed, depthwise_table<T>(kernels).row);
        packed += phase.taps() * shape.out_channels;
      }
      return;
    }
    if (const int64_t group = group_in_vector<T>(shape, kernels); in_small_groups(group != 0)) {
      for (const Phase& phase : phases_of(shape)) {
        run_depthwise(call, x, y, phase, packed, depthwise_table<T>(kernels).grouped_row, group);
        packed += phase.taps() * group * shape.in_channels;
      }
      return;
    }
  }
  const int64_t panels = shape.groups * divide_up(shape.out_channels / shape.groups, tiles.panel);
  T* zeros = scratch.take<T>(shape.in_channels);
  std::fill_n(zeros, shape.in_channels, T(0));
  for (const Phase& phase : phases_of(shape)) {
    Frame<T> frame;
    if (in_frame(is_framed(shape))) frame.make(call, phase, scratch);
    if (given) {
      const PhaseWeights<T> weights(shape, phase, dtype, given->data, given->strides, kernels);
      DirectConv<T>(call, phase, nullptr, &weights, zeros, frame, strip_kernel<T>(kernels)).run();
    } else {
      DirectConv<T>(call, phase, packed, nullptr, zeros, frame, strip_kernel<T>(kernels)).run();
      packed += panels * tiles.panel * panel_rows<T>(shape, phase.taps());
    }
  }
}

// Depthwise, of bfloat16 images with weights packed as float.
void run_depthwise_bf16(const ConvShape& shape, const uint16_t* x, const float* packed, uint16_t* y,
                        const Epilogue& epilogue, const MatrixKernels& kernels) {
  const Tiles<float> tiles(kernels);
  Scratch scratch;
  Epilogue wide = epilogue;
  if (epilogue.bias) {
    auto* bias = scratch.take<float>(shape.out_channels);
    kernels.f32->copy_rows(GemmStorage::bfloat16, epilogue.bias, 0, 1, 1, shape.out_channels, bias, 0);
    wide.bias = bias;
  }
  const Call<float> call{shape, tiles, nullptr, reinterpret_cast<float*>(y), wide};
  for (const Phase& phase : phases_of(shape)) {
    run_depthwise(call, x, y, phase, packed, conv_kernels(kernels).depthwise_bf16->row);
    packed += phase.taps() * shape.out_channels;
  }
}

// float16, and bfloat16 where it is not multiplied as it is, through float: a few output rows of an image at a time, so
// that their floats stay in the second-level cache.
class NarrowConv {
 public:
  NarrowConv(const ConvShape& shape, DType dtype, const void* x, const float* packed, void* y, const Epilogue& epilogue,
             const MatrixKernels& kernels, SumOrder order)
      : shape_(shape),
        order_(order == SumOrder::automatic && conv_is_product(shape) ? conv_product_order(shape) : order),
        storage_(storage_of(dtype)),
        x_(static_cast<const uint16_t*>(x)),
        packed_(packed),
        y_(static_cast<uint16_t*>(y)),
        epilogue_(epilogue),
        kernels_(kernels) {
    rows_ = shape.transposed ? 1 : shape.out[0];
    if (shape.transposed) {
      block_ = 1;
      return;
    }
    const int64_t in_row = in_pixels() / std::max<int64_t>(shape.in[0], 1) * shape.in_channels * shape.stride[0];
    const int64_t out_row = out_pixels() / shape.out[0] * shape.out_channels;
    const int64_t fitting =
        narrow_block_bytes / static_cast<int64_t>(sizeof(float)) / std::max<int64_t>(in_row + out_row, 1);
    block_ = std::min(rows_, std::max<int64_t>(fitting, 2 * shape.kernel[0]));
    block_ = divide_up(rows_, divide_up(rows_, block_));
  }

  void run() const {
    Scratch scratch;
    const float* bias = epilogue_.bias ? widened(epilogue_.bias, 0, 1, shape_.out_channels, scratch) : nullptr;
    const int64_t blocks = divide_up(rows_, block_), units = shape_.batch * blocks;
    const auto run_units = [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit % blocks * block_;
        run_block(unit / blocks, first, std::min(rows_, first + block_), bias);
      }
    };
    several_row_blocks(blocks > 1);
    if (few_blocks(units < num_threads())) return run_units(0, units);  // threads share a block
    parallel_for(units, 1, run_units);
  }

 private:
  int64_t in_pixels() const { return product(shape_.in, shape_.rank); }
  int64_t out_pixels() const { return product(shape_.out, shape_.rank); }

  const float* widened(const void* from, int64_t stride, int64_t rows, int64_t columns, Scratch& scratch) const {
    auto* to = scratch.take<float>(rows * columns);
    widen(from, stride, rows, columns, to);
    return to;
  }
  void widen(const void* from, int64_t stride, int64_t rows, int64_t columns, float* to) const {
    parallel_for(rows, divide_up(work_per_thread, std::max<int64_t>(columns, 1)), [&](int64_t begin, int64_t end) {
      kernels_.f32->copy_rows(storage_, static_cast<const uint16_t*>(from) + begin * stride, stride, 1, end - begin,
                              columns, to + begin * columns, columns);
    });
  }

  // Output rows [first, last) of an image are a convolution of the input rows that they see.
  void run_block(int64_t image, int64_t first, int64_t last, const float* bias) const {
    ConvShape part = shape_;
    part.batch = 1;
    int64_t pixel = image * out_pixels(), x_pixel = image * in_pixels();
    if (!shape_.transposed) {
      const int64_t stride = shape_.stride[0], padding = shape_.padding[0];
      const int64_t reach = shape_.dilation[0] * (shape_.kernel[0] - 1);  // fits: infer_output
      const int64_t from = std::clamp<int64_t>(first * stride - padding, 0, shape_.in[0]);
      const int64_t until = std::clamp<int64_t>((last - 1) * stride - padding + reach + 1, from, shape_.in[0]);
      part.out[0] = last - first;
      part.in[0] = until - from;
      part.padding[0] = padding - first * stride + from;
      pixel += first * (out_pixels() / rows_);
      if (from < until) x_pixel += from * (in_pixels() / shape_.in[0]);
    }
    const int64_t pixels = product(part.out, part.rank), channels = shape_.out_channels;
    Scratch scratch;
    const float* x = widened(x_ + x_pixel * shape_.in_channels, shape_.in_channels, product(part.in, part.rank),
                             shape_.in_channels, scratch);
    auto* y = scratch.take<float>(pixels * channels);
    uint16_t* narrow_y = y_ + pixel * channels;
    Epilogue wide = epilogue_;
    wide.post = nullptr;
    wide.bias = bias;
    if (epilogue_.accumulate) widen(narrow_y, channels, pixels, channels, y);
    if (epilogue_.residual) {
      wide.residual = widened(static_cast<const uint16_t*>(epilogue_.residual) + pixel * epilogue_.residual_stride,
                              epilogue_.residual_stride, pixels, channels, scratch);
      wide.residual_stride = channels;
    }
    sconce::run<float>(part, x, packed_, nullptr, y, wide, kernels_, order_);
    parallel_for(pixels, divide_up(work_per_thread, channels), [&](int64_t begin, int64_t end) {
      uint16_t* to = narrow_y + begin * channels;
      kernels_.f32->store_rows(storage_, y + begin * channels, channels, end - begin, channels, to, channels);
      if (epilogue_.post) {
        epilogue_.post(epilogue_.post_context, to, channels, 1, epilogue_.first_row + pixel + begin, 0, end - begin,
                       channels);
      }
    });
  }

  const ConvShape& shape_;
  const SumOrder order_;
  const GemmStorage storage_;
  const uint16_t* x_;
  const float* packed_;
  uint16_t* y_;
  const Epilogue& epilogue_;
  const MatrixKernels& kernels_;
  int64_t rows_, block_;  // output rows of an image, and of a block
};

}  // namespace

void ConvShape::infer_output() {
  for (int i = 0; i < rank; i++) {
    // In 128 bits, where products and sums of these numbers do not wrap around.
    const auto wide = [](int64_t n) { return static_cast<__int128>(n); };
    const __int128 reach = wide(dilation[i]) * (kernel[i] - 1);
    __int128 size = 0;
    if (transposed) {
      size = (wide(in[i]) - 1) * stride[i] - 2 * wide(padding[i]) + reach + output_padding[i] + 1;
    } else {
      const __int128 free = in[i] + 2 * wide(padding[i]) - reach - 1;
      size = free >= 0 ? free / stride[i] + 1 : 0;
    }
    SCONCE_CHECK(size <= INT64_MAX / 2,
                 "convolution: dimension {} of the output is too large: in {}, kernel {}, stride "
                 "{}, padding {}, dilation {}",
                 i, in[i], kernel[i], stride[i], padding[i], dilation[i]);
    out[i] = static_cast<int64_t>(size);
    SCONCE_CHECK(out[i] >= (transposed ? 0 : 1),
                 "convolution: dimension {} has no output: in {}, kernel {}, stride {}, padding {}, dilation {}", i,
                 in[i], kernel[i], stride[i], padding[i], dilation[i]);
  }
}

bool conv_is_depthwise(const ConvShape& shape) {
  return shape.groups == shape.in_channels && shape.groups == shape.out_channels && shape.groups > 1;
}

bool conv_is_channelwise(const ConvShape& shape) {
  return conv_is_depthwise(shape) ||
         (shape.groups == shape.in_channels && shape.groups > 1 && shape.out_channels > 0 && !shape.transposed);
}

int64_t conv_small_group(const ConvShape& shape, const MatrixKernels& kernels) {
  const int64_t group = shape.in_channels / shape.groups, lanes = kernels.f32->lanes;
  const bool fits = (group == 2 || group == 4 || group == 8) && group < lanes && shape.in_channels % lanes == 0;
  return fits && shape.in_channels == shape.out_channels ? group : 0;
}

bool conv_takes_planes(const ConvShape& shape) { return is_framed(shape); }

bool conv_is_product(const ConvShape& shape) {
  if (shape.groups != 1) return false;
  for (int i = 0; i < shape.rank; i++) {
    if (shape.kernel[i] != 1 || shape.stride[i] != 1 || shape.padding[i] != 0 || shape.out[i] != shape.in[i])
      return false;
  }
  return true;
}

namespace {

template <class T>
size_t bytes_of_packed(const ConvShape& shape, const MatrixKernels& kernels) {
  return static_cast<size_t>(packed_elements<T>(shape, kernels)) * sizeof(T);
}
template <class T>
void pack_for(const ConvPacking& p) {
  pack(p.shape, p.dtype, p.weights.data, p.weights.strides, static_cast<T*>(p.packed), p.kernels);
}
template <class T>
void run_call(const ConvCall& c) {
  run<T>(c.shape, static_cast<const T*>(c.x), static_cast<const T*>(c.packed), c.given, static_cast<T*>(c.y),
         c.epilogue, c.kernels, c.order);
}

constexpr ConvElement element_f32 = {bytes_of_packed<float>, pack_for<float>, run_call<float>};

}  // namespace

SCONCE_WEAK extern constinit const ConvElement conv_of_f64 = {bytes_of_packed<double>, pack_for<double>,
                                                              run_call<double>};
SCONCE_WEAK extern constinit const ConvElement conv_of_bf16 = {bytes_of_packed<uint16_t>, pack_for<uint16_t>,
                                                               run_call<uint16_t>};

SCONCE_WEAK void run_narrow_conv(const ConvCall& c) {
  if (c.dtype == DType::bfloat16 && conv_is_channelwise(c.shape)) {
    return run_depthwise_bf16(c.shape, static_cast<const uint16_t*>(c.x), static_cast<const float*>(c.packed),
                              static_cast<uint16_t*>(c.y), c.epilogue, c.kernels);
  }
  NarrowConv(c.shape, c.dtype, c.x, static_cast<const float*>(c.packed), c.y, c.epilogue, c.kernels, c.order).run();
}

namespace {

// What a convolution is computed in: its dtype, or float for the 16-bit ones.
const ConvElement& element_for(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  if (dtype == DType::float64) return conv_of_f64;
  return computes_in_bf16(shape, dtype, kernels) ? conv_of_bf16 : element_f32;
}
bool is_narrow(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  return dtype != DType::float64 && dtype != DType::float32 && !computes_in_bf16(shape, dtype, kernels);
}

}  // namespace

size_t conv_packed_bytes(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  check(shape, dtype);
  return element_for(shape, dtype, kernels).packed_bytes(shape, kernels);
}

void conv_pack(const ConvShape& shape, DType dtype, const void* weight, const int64_t* strides, void* packed,
               const MatrixKernels& kernels) {
  check(shape, dtype);
  element_for(shape, dtype, kernels).pack({shape, dtype, {weight, strides}, packed, kernels});
}

namespace {

void check(const ConvShape& shape, DType dtype, const Epilogue& epilogue) {
  sconce::check(shape, dtype);
  SCONCE_CHECK(
      !epilogue.scale == !epilogue.shift && (!epilogue.scale || dtype == DType::float32 || dtype == DType::float64),
      "convolution: a scale goes with a shift, for images of float32 and float64, got {}", dtype_name(dtype));
}

bool has_result(const ConvShape& shape) {
  return shape.batch * product(shape.out, shape.rank) * shape.out_channels != 0;
}

}  // namespace

void conv_run(const ConvShape& shape, DType dtype, const void* x, const void* packed, void* y, const Epilogue& epilogue,
              const MatrixKernels& kernels, SumOrder order) {
  check(shape, dtype, epilogue);
  if (!has_result(shape)) return;
  const ConvCall call{shape, dtype, x, packed, nullptr, y, epilogue, kernels, order};
  if (through_float(is_narrow(shape, dtype, kernels))) return run_narrow_conv(call);
  element_for(shape, dtype, kernels).run(call);
}

void conv_run_once(const ConvShape& shape, DType dtype, const void* x, const void* weight, const int64_t* strides,
                   void* y, const Epilogue& epilogue, const MatrixKernels& kernels, SumOrder order) {
  check(shape, dtype, epilogue);
  if (!has_result(shape)) return;
  const bool small_groups = dtype == DType::float32 && group_in_vector<float>(shape, kernels);
  if (!conv_is_channelwise(shape) && !small_groups && !is_narrow(shape, dtype, kernels)) {
    const GivenWeights given{weight, strides};
    return element_for(shape, dtype, kernels).run({shape, dtype, x, nullptr, &given, y, epilogue, kernels, order});
  }
  Scratch scratch;
  void* packed = scratch.take_bytes(conv_packed_bytes(shape, dtype, kernels));
  conv_pack(shape, dtype, weight, strides, packed, kernels);
  conv_run(shape, dtype, x, packed, y, epilogue, kernels, order);
}

}  // namespace sconce
