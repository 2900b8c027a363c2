#include "sconce/kernels/cpu/conv.h"

#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/scratch.h"
#include "sconce/kernels/cpu/simd/gemm_table.h"

namespace sconce {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t work_per_thread = 256 * 1024;     // multiplications that are worth a thread
constexpr int64_t weight_block_bytes = 640 * 1024;  // packed weights that stay in the second-level cache

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
    return *kernels.depthwise_f32;
  } else {
    return *kernels.depthwise_f64;
  }
}

// A convolution is one product or several: a transposed one with strides falls apart into one for every residue of the
// output position. In each, output position start + q * out_step reads input position q * in_step + offset for every
// tap.
struct Axis {
  int64_t in, out;
  int64_t count, start, out_step, in_step;
  std::vector<int64_t> taps, offsets;
};
struct Phase {
  Axis axes[max_conv_rank];
  int64_t taps() const { return static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size()); }
};

int64_t floor_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The phases along dimension d of the three, the missing ones of a lower rank being in front.
std::vector<Axis> axis_phases(const ConvShape& shape, int d) {
  const int i = d - (max_conv_rank - shape.rank);
  if (i < 0) return {Axis{1, 1, 1, 0, 1, 1, {0}, {0}}};
  const int64_t stride = shape.stride[i], padding = shape.padding[i], dilation = shape.dilation[i];
  if (!shape.transposed) {
    Axis axis{shape.in[i], shape.out[i], shape.out[i], 0, 1, stride, {}, {}};
    for (int64_t t = 0; t < shape.kernel[i]; t++) {
      axis.taps.push_back(t);
      axis.offsets.push_back(t * dilation - padding);
    }
    return {axis};
  }
  std::vector<Axis> axes;
  for (int64_t start = 0; start < stride; start++) {
    const int64_t count = shape.out[i] > start ? divide_up(shape.out[i] - start, stride) : 0;
    Axis axis{shape.in[i], shape.out[i], count, start, stride, 1, {}, {}};
    for (int64_t t = shape.kernel[i] - 1; t >= 0; t--) {  // so that offsets ascend
      const int64_t distance = start + padding - t * dilation;
      if (floor_mod(distance, stride) != 0) continue;
      axis.taps.push_back(t);
      axis.offsets.push_back(distance / stride);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<Phase> phases_of(const ConvShape& shape) {
  std::vector<Phase> phases;
  for (const Axis& d : axis_phases(shape, 0)) {
    for (const Axis& h : axis_phases(shape, 1)) {
      for (const Axis& w : axis_phases(shape, 2)) phases.push_back({{d, h, w}});
    }
  }
  return phases;
}

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

// Packed weights: for every phase, for every group, panels [out channels / panel][taps][in channels][panel]. Depthwise:
// for every phase [taps][channels].
template <class T>
int64_t packed_elements(const ConvShape& shape, const MatrixKernels& kernels) {
  const int64_t taps = product(shape.kernel, shape.rank), panel = gemm_table<T>(kernels).panel;
  if (conv_is_depthwise(shape)) return taps * shape.in_channels;
  return taps * shape.in_channels * divide_up(shape.out_channels / shape.groups, panel) * panel;
}

template <class T>
void pack(const ConvShape& shape, DType dtype, const void* weight, const int64_t* strides, T* packed,
          const MatrixKernels& kernels) {
  const GemmTable<T>& table = gemm_table<T>(kernels);
  const int64_t in_channels = shape.in_channels / shape.groups, out_channels = shape.out_channels / shape.groups;
  const int64_t in_stride = strides[shape.transposed ? 0 : 1], out_stride = strides[shape.transposed ? 1 : 0];
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  const auto* w = static_cast<const char*>(weight);
  int64_t tap_strides[max_conv_rank] = {};
  for (int i = 0; i < shape.rank; i++) tap_strides[max_conv_rank - shape.rank + i] = strides[2 + i];

  std::vector<int64_t> taps;
  for (const Phase& phase : phases_of(shape)) {
    taps.clear();
    for (int64_t d : phase.axes[0].taps) {
      for (int64_t h : phase.axes[1].taps) {
        for (int64_t w : phase.axes[2].taps) {
          taps.push_back(d * tap_strides[0] + h * tap_strides[1] + w * tap_strides[2]);
        }
      }
    }
    const auto count = static_cast<int64_t>(taps.size());
    if (conv_is_depthwise(shape)) {
      for (int64_t t = 0; t < count; t++) {
        table.copy_rows(storage_of(dtype), w + taps[t] * bytes, 0, shape.transposed ? in_stride : out_stride, 1,
                        shape.in_channels, packed + t * shape.in_channels, 0);
      }
      packed += count * shape.in_channels;
      continue;
    }
    const int64_t panels = divide_up(out_channels, table.panel), panel_elements = count * in_channels * table.panel;
    parallel_for(shape.groups * panels, divide_up(work_per_thread / 4, std::max<int64_t>(panel_elements, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t unit = begin; unit < end; unit++) {
                     const int64_t group = unit / panels, column = unit % panels * table.panel;
                     const int64_t offset =
                         group * (shape.transposed ? in_channels * in_stride : out_channels * out_stride);
                     table.pack_taps(storage_of(dtype), w + (offset + column * out_stride) * bytes, in_stride,
                                     out_stride, taps.data(), count, in_channels,
                                     static_cast<int>(std::min<int64_t>(table.panel, out_channels - column)),
                                     packed + unit * panel_elements);
                   }
                 });
    packed += shape.groups * panels * panel_elements;
  }
}

template <class T>
struct Call {
  const ConvShape& shape;
  const GemmTable<T>& table;
  const T* x;
  T* y;
  const Epilogue& epilogue;  // of T

  TileOutput<T> output_at(int64_t pixel, int64_t channel, int64_t pixel_step) const {
    const auto* bias = static_cast<const T*>(epilogue.bias);
    const auto* residual = static_cast<const T*>(epilogue.residual);
    return {.c = y + pixel * shape.out_channels + channel,
            .c_stride = pixel_step * shape.out_channels,
            .bias = bias ? bias + channel : nullptr,
            .residual = residual ? residual + pixel * epilogue.residual_stride + channel : nullptr,
            .residual_stride = pixel_step * epilogue.residual_stride,
            .lo = static_cast<T>(epilogue.lo),
            .hi = static_cast<T>(epilogue.hi),
            .clamp = epilogue.lo > -infinity || epilogue.hi < infinity,
            .accumulate = epilogue.accumulate};
  }
  void post(int64_t pixel, int64_t pixel_step, int64_t pixels, int64_t channel, int64_t channels) const {
    if (!epilogue.post) return;
    if (pixel_step == 1) {
      epilogue.post(epilogue.post_context, y + pixel * shape.out_channels + channel, shape.out_channels, 1,
                    epilogue.first_row + pixel, channel, pixels, channels);
      return;
    }
    for (int64_t i = 0; i < pixels; i++, pixel += pixel_step) {
      epilogue.post(epilogue.post_context, y + pixel * shape.out_channels + channel, shape.out_channels, 1,
                    epilogue.first_row + pixel, channel, 1, channels);
    }
  }
};

template <class T>
void run_depthwise(const Call<T>& call, const Phase& phase, const T* packed, const DepthwiseTable<T>& table) {
  const ConvShape& shape = call.shape;
  const auto& [depth, height, width] = phase.axes;
  const auto kernel_width = static_cast<int64_t>(width.taps.size());
  const int64_t channels = shape.in_channels, out_pixels = depth.out * height.out * width.out;
  const int64_t rows = shape.batch * depth.count * height.count;
  const int64_t row_work = width.count * channels * phase.taps();
  parallel_for(rows, divide_up(work_per_thread / 8, std::max<int64_t>(row_work, 1)), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    const auto kernel_rows = static_cast<int64_t>(depth.taps.size() * height.taps.size());
    const T** input_rows = scratch.take<const T*>(kernel_rows);
    const T** weight_rows = scratch.take<const T*>(kernel_rows);
    for (int64_t row = begin; row < end; row++) {
      const int64_t h = row % height.count, d = row / height.count % depth.count, n = row / height.count / depth.count;
      DepthwiseArgs<T> args{};
      const T* weights = packed;
      for (int64_t d_offset : depth.offsets) {
        for (int64_t h_offset : height.offsets) {
          const int64_t from_d = d * depth.in_step + d_offset, from_h = h * height.in_step + h_offset;
          if (from_d >= 0 && from_d < depth.in && from_h >= 0 && from_h < height.in) {
            input_rows[args.kernel_rows] =
                call.x + ((n * depth.in + from_d) * height.in + from_h) * width.in * channels;
            weight_rows[args.kernel_rows++] = weights;
          }
          weights += kernel_width * channels;
        }
      }
      args.channels = channels;
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
      table.row(args);
      call.post(pixel, width.out_step, width.count, 0, channels);
    }
  });
}

// An input with few channels is copied into a frame of zeros, so that the window of an output pixel is a few long runs.
template <class T>
struct Frame {
  const T* data = nullptr;                   // null: not framed
  int64_t depth = 0, height = 0, width = 0;  // pixels of a framed image

  static bool wanted(const ConvShape& shape, int lanes) {
    return !shape.transposed && shape.groups == 1 && shape.in_channels < lanes && shape.kernel[shape.rank - 1] > 1 &&
           shape.dilation[shape.rank - 1] == 1;
  }

  void make(const Call<T>& call, const Phase& phase, Scratch& scratch) {
    const int64_t channels = call.shape.in_channels, batch = call.shape.batch;
    int64_t sizes[3];
    for (int i = 0; i < 3; i++) {
      const Axis& axis = phase.axes[i];
      sizes[i] = (axis.out - 1) * axis.in_step + axis.offsets.back() - axis.offsets.front() + 1;
    }
    depth = sizes[0];
    height = sizes[1];
    width = sizes[2];
    const int64_t row = width * channels, rows = batch * depth * height;
    T* frame = scratch.take<T>(rows * row + call.table.lanes);
    std::fill_n(frame + rows * row, call.table.lanes, T(0));
    parallel_for(rows, divide_up(work_per_thread, std::max<int64_t>(row, 1)), [&](int64_t begin, int64_t end) {
      const auto& [d_axis, h_axis, w_axis] = phase.axes;
      for (int64_t r = begin; r < end; r++) {
        const int64_t h = r % height + h_axis.offsets.front(), d = r / height % depth + d_axis.offsets.front();
        const int64_t n = r / height / depth, first = w_axis.offsets.front();
        T* to = frame + r * row;
        const int64_t from = std::clamp<int64_t>(-first, 0, width),
                      until = std::clamp<int64_t>(w_axis.in - first, from, width);
        if (d < 0 || d >= d_axis.in || h < 0 || h >= h_axis.in) {
          std::fill_n(to, row, T(0));
          continue;
        }
        const T* source = call.x + (((n * d_axis.in + d) * h_axis.in + h) * w_axis.in + first) * channels;
        std::fill_n(to, from * channels, T(0));
        std::copy(source + from * channels, source + until * channels, to + from * channels);
        std::fill_n(to + until * channels, (width - until) * channels, T(0));
      }
    });
    data = frame;
  }
};

// One phase as tiles of neighbouring output pixels times panels of output channels. Pixels of a tile must be equally
// far apart in y, so tiles of a phase that skips pixels end with the row.
template <class T>
class DirectConv {
 public:
  DirectConv(const Call<T>& call, const Phase& phase, const T* packed, const T* zeros, const Frame<T>& frame)
      : call_(call), phase_(phase), packed_(packed), zeros_(zeros), frame_(frame) {
    const auto& [depth, height, width] = phase.axes;
    const bool dense = depth.out_step == 1 && height.out_step == 1 && width.out_step == 1;
    const int64_t pixels = call.shape.batch * depth.count * height.count * width.count;
    segment_ = dense ? pixels : width.count;
    if (pixels == 0) return;
    tile_ = divide_up(segment_, divide_up(segment_, call.table.tile_rows));
    tiles_per_segment_ = divide_up(segment_, tile_);
    tiles_ = pixels / segment_ * tiles_per_segment_;
  }

  void run() const {
    const int64_t panels = divide_up(call_.shape.out_channels / call_.shape.groups, call_.table.panel);
    if (tiles_ == 0 || panels == 0) return;
    const int64_t units = panels * call_.shape.groups;
    const int64_t unit_work = std::max<int64_t>(1, phase_.taps() * in_channels() * tile_ * call_.table.panel);
    int64_t threads = std::min<int64_t>(num_threads(), tiles_ * units * unit_work / work_per_thread);
    int64_t by_tiles = 1, by_units = 1, best = tiles_ * units;
    for (int64_t t = 1; t <= std::min(threads, tiles_); t++) {
      const int64_t u = std::min(threads / t, units), cost = divide_up(tiles_, t) * divide_up(units, u);
      if (cost < best || (cost == best && t > by_tiles)) {
        best = cost;
        by_tiles = t;
        by_units = u;
      }
    }
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
    const GemmTable<T>& table = call_.table;
    const int64_t taps = phase_.taps(), depth = taps * in_channels();
    const int64_t block = std::max<int64_t>(
        1, weight_block_bytes / static_cast<int64_t>(sizeof(T)) / (std::max<int64_t>(depth, 1) * table.panel));
    Scratch scratch;
    const T** rows = scratch.take<const T*>(std::max<int64_t>(taps, 1) * table.tile_rows);
    T* window = frame_.data ? scratch.take<T>(table.tile_rows * window_stride() + table.lanes) : nullptr;
    for (; unit < unit_end; unit += block) {
      const int64_t block_end = std::min(unit + block, unit_end);
      const Unit first = unit_at(unit), last = unit_at(block_end - 1);
      for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t segment = tile / tiles_per_segment_, offset = tile % tiles_per_segment_ * tile_;
        const int size = static_cast<int>(std::min(tile_, segment_ - offset));
        const int64_t pixel = load_tile(segment * segment_ + offset, size, first.group, rows, window);
        const int64_t step = phase_.axes[2].out_step;
        Unit now = first;
        for (int64_t u = unit; u < block_end; u++) {
          const TileOutput<T> output = call_.output_at(pixel, now.channel, step);
          const TileKernel<T> kernel = table.tiles[now.columns > table.lanes][size];
          const T* b = packed_ + u * depth * table.panel;
          if (window) {
            kernel(1, depth, rows, b, table.panel, now.columns, output);
          } else {
            kernel(taps, in_channels(), rows, b, table.panel, now.columns, output);
          }
          if (u + 1 == block_end) break;
          const int64_t group = now.group;
          now = next(now);
          if (now.group == group) continue;
          for (int64_t i = 0; i < taps * size; i++) rows[i] += in_channels();  // rows of zeros are as long as a pixel
        }
        call_.post(pixel, step, size, first.channel, last.channel + last.columns - first.channel);
      }
    }
  }

  // One panel of output channels of one group.
  struct Unit {
    int64_t group, channel;
    int columns;
  };
  int64_t out_channels() const { return call_.shape.out_channels / call_.shape.groups; }
  Unit unit_from(int64_t group, int64_t channel) const {
    const int64_t left = (group + 1) * out_channels() - channel;
    return {group, channel, static_cast<int>(std::min<int64_t>(call_.table.panel, left))};
  }
  Unit unit_at(int64_t unit) const {
    const int64_t panels = divide_up(out_channels(), call_.table.panel), group = unit / panels;
    return unit_from(group, group * out_channels() + unit % panels * call_.table.panel);
  }
  Unit next(const Unit& unit) const {
    const int64_t channel = unit.channel + unit.columns;
    return unit_from(unit.group + (channel == (unit.group + 1) * out_channels()), channel);
  }

  int64_t window_stride() const { return phase_.taps() * call_.shape.in_channels + call_.table.lanes; }

  // Fills the row pointers of `size` pixels from number `index` of the phase on; returns the first one's number in y.
  int64_t load_tile(int64_t index, int size, int64_t group, const T** rows, T* window) const {
    const auto& [depth, height, width] = phase_.axes;
    int64_t w = index % width.count, h = index / width.count % height.count,
            d = index / width.count / height.count % depth.count;
    int64_t n = index / width.count / height.count / depth.count;
    const int64_t pixel =
        ((n * depth.out + depth.start + d * depth.out_step) * height.out + height.start + h * height.out_step) *
            width.out +
        width.start + w * width.out_step;
    for (int i = 0; i < size; i++) {
      if (window) {
        gather(n, d, h, w, window + i * window_stride());
        rows[i] = window + i * window_stride();
      } else {
        point(n, d, h, w, group, rows + i, size);
      }
      if (++w < width.count) continue;
      w = 0;
      if (++h < height.count) continue;
      h = 0;
      if (++d < depth.count) continue;
      d = 0;
      n++;
    }
    return pixel;
  }

  // rows[tap * size] for one output pixel: where that tap's input channels are, or zeros outside of the image.
  void point(int64_t n, int64_t d, int64_t h, int64_t w, int64_t group, const T** rows, int size) const {
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

  void gather(int64_t n, int64_t d, int64_t h, int64_t w, T* to) const {
    const auto& [depth, height, width] = phase_.axes;
    const int64_t channels = call_.shape.in_channels, run = static_cast<int64_t>(width.offsets.size()) * channels;
    const auto runs = static_cast<int64_t>(height.offsets.size());
    const int64_t h_step = runs > 1 ? height.offsets[1] - height.offsets[0] : 1, row = frame_.width * channels;
    for (int64_t d_offset : depth.offsets) {
      const int64_t frame_d = d * depth.in_step + d_offset - depth.offsets.front();
      const T* from = frame_.data + ((n * frame_.depth + frame_d) * frame_.height + h * height.in_step) * row +
                      w * width.in_step * channels;
      call_.table.gather_runs(from, h_step * row, runs, run, to);
      to += runs * run;
    }
  }

  const Call<T>& call_;
  const Phase& phase_;
  const T* packed_;
  const T* zeros_;
  const Frame<T>& frame_;
  int64_t segment_ = 0, tile_ = 1, tiles_per_segment_ = 1, tiles_ = 0;
};

// Everything in T, y and the residual included.
template <class T>
void run(const ConvShape& shape, const T* x, const T* packed, T* y, const Epilogue& epilogue,
         const MatrixKernels& kernels) {
  constexpr DType dtype = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;
  if (conv_is_product(shape)) {
    const int64_t pixels = shape.batch * product(shape.out, shape.rank);
    gemm_packed(dtype, pixels, shape.out_channels, shape.in_channels, {x, shape.in_channels, 1}, packed,
                {y, shape.out_channels, 1}, epilogue, kernels);
    return;
  }
  const Call<T> call{shape, gemm_table<T>(kernels), x, y, epilogue};
  if (conv_is_depthwise(shape)) {
    for (const Phase& phase : phases_of(shape)) {
      run_depthwise(call, phase, packed, depthwise_table<T>(kernels));
      packed += phase.taps() * shape.in_channels;
    }
    return;
  }
  Scratch scratch;
  const int64_t out_channels = shape.out_channels / shape.groups;
  T* zeros = scratch.take<T>(shape.in_channels);
  std::fill_n(zeros, shape.in_channels, T(0));
  for (const Phase& phase : phases_of(shape)) {
    Frame<T> frame;
    if (Frame<T>::wanted(shape, call.table.lanes)) frame.make(call, phase, scratch);
    DirectConv<T>(call, phase, packed, zeros, frame).run();
    packed += phase.taps() * shape.in_channels * divide_up(out_channels, call.table.panel) * call.table.panel;
  }
}

// bfloat16 and float16: image by image through float.
void run_narrow(const ConvShape& shape, DType dtype, const void* x, const float* packed, void* y,
                const Epilogue& epilogue, const MatrixKernels& kernels) {
  const GemmTable<float>& table = *kernels.f32;
  const GemmStorage storage = storage_of(dtype);
  const int64_t in_pixels = product(shape.in, shape.rank), out_pixels = product(shape.out, shape.rank);
  const int64_t in_channels = shape.in_channels, out_channels = shape.out_channels;
  Scratch scratch;
  auto* wide_x = scratch.take<float>(in_pixels * in_channels);
  auto* wide_y = scratch.take<float>(out_pixels * out_channels);
  Epilogue wide = epilogue;
  wide.post = nullptr;
  auto widen = [&](const void* from, int64_t stride, int64_t rows, int64_t columns, float* to) {
    parallel_for(rows, divide_up(work_per_thread, std::max<int64_t>(columns, 1)), [&](int64_t begin, int64_t end) {
      table.copy_rows(storage, static_cast<const uint16_t*>(from) + begin * stride, stride, 1, end - begin, columns,
                      to + begin * columns, columns);
    });
  };
  if (epilogue.bias) {
    auto* bias = scratch.take<float>(out_channels);
    widen(epilogue.bias, 0, 1, out_channels, bias);
    wide.bias = bias;
  }
  float* residual = epilogue.residual ? scratch.take<float>(out_pixels * out_channels) : nullptr;
  wide.residual = residual;
  wide.residual_stride = out_channels;
  ConvShape image = shape;
  image.batch = 1;
  for (int64_t n = 0; n < shape.batch; n++) {
    widen(static_cast<const uint16_t*>(x) + n * in_pixels * in_channels, in_channels, in_pixels, in_channels, wide_x);
    uint16_t* narrow_y = static_cast<uint16_t*>(y) + n * out_pixels * out_channels;
    if (epilogue.accumulate) widen(narrow_y, out_channels, out_pixels, out_channels, wide_y);
    if (residual) {
      widen(static_cast<const uint16_t*>(epilogue.residual) + n * out_pixels * epilogue.residual_stride,
            epilogue.residual_stride, out_pixels, out_channels, residual);
    }
    run<float>(image, wide_x, packed, wide_y, wide, kernels);
    parallel_for(out_pixels, divide_up(work_per_thread, out_channels), [&](int64_t begin, int64_t end) {
      uint16_t* to = narrow_y + begin * out_channels;
      table.store_rows(storage, wide_y + begin * out_channels, out_channels, end - begin, out_channels, to,
                       out_channels);
      if (epilogue.post) {
        epilogue.post(epilogue.post_context, to, out_channels, 1, epilogue.first_row + n * out_pixels + begin, 0,
                      end - begin, out_channels);
      }
    });
  }
}

}  // namespace

void ConvShape::infer_output() {
  for (int i = 0; i < rank; i++) {
    const int64_t reach = dilation[i] * (kernel[i] - 1);
    if (transposed) {
      out[i] = (in[i] - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i] + 1;
    } else {
      const int64_t free = in[i] + 2 * padding[i] - reach - 1;
      out[i] = free >= 0 ? free / stride[i] + 1 : 0;
    }
    SCONCE_CHECK(out[i] >= (transposed ? 0 : 1),
                 "convolution: dimension {} has no output: in {}, kernel {}, stride {}, padding {}, dilation {}", i,
                 in[i], kernel[i], stride[i], padding[i], dilation[i]);
  }
}

bool conv_is_depthwise(const ConvShape& shape) {
  return shape.groups == shape.in_channels && shape.groups == shape.out_channels && shape.groups > 1;
}

bool conv_is_product(const ConvShape& shape) {
  if (shape.groups != 1) return false;
  for (int i = 0; i < shape.rank; i++) {
    if (shape.kernel[i] != 1 || shape.stride[i] != 1 || shape.padding[i] != 0 || shape.out[i] != shape.in[i])
      return false;
  }
  return true;
}

size_t conv_packed_bytes(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  check(shape, dtype);
  if (dtype == DType::float64) return static_cast<size_t>(packed_elements<double>(shape, kernels)) * sizeof(double);
  return static_cast<size_t>(packed_elements<float>(shape, kernels)) * sizeof(float);
}

void conv_pack(const ConvShape& shape, DType dtype, const void* weight, const int64_t* strides, void* packed,
               const MatrixKernels& kernels) {
  check(shape, dtype);
  if (dtype == DType::float64) return pack(shape, dtype, weight, strides, static_cast<double*>(packed), kernels);
  pack(shape, dtype, weight, strides, static_cast<float*>(packed), kernels);
}

void conv_run(const ConvShape& shape, DType dtype, const void* x, const void* packed, void* y, const Epilogue& epilogue,
              const MatrixKernels& kernels) {
  check(shape, dtype);
  if (shape.batch * product(shape.out, shape.rank) * shape.out_channels == 0) return;
  if (dtype == DType::float64) {
    return run(shape, static_cast<const double*>(x), static_cast<const double*>(packed), static_cast<double*>(y),
               epilogue, kernels);
  }
  if (dtype == DType::float32) {
    return run(shape, static_cast<const float*>(x), static_cast<const float*>(packed), static_cast<float*>(y), epilogue,
               kernels);
  }
  run_narrow(shape, dtype, x, static_cast<const float*>(packed), y, epilogue, kernels);
}

}  // namespace sconce
