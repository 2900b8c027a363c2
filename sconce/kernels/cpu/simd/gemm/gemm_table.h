// GEMM micro-kernels of one instruction set, as tables of functions, one for float and one for double. The drivers
// above (gemm.cpp, conv.cpp) are compiled once and call these. What convolutions need beside products, and what
// gradients need beside them, has tables of its own: a small library links only those that something names
// (docs/small.md).
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// How numbers lie in memory. `native` is the type that the table computes in.
enum class GemmStorage : uint8_t { native, bfloat16, float16 };

// Where a tile goes and what happens to it on the way, in registers:
//   c = clamp(((accumulate ? c : 0) + sum of products + bias) * scale + shift + residual, lo, hi)
// Every pointer is at the tile's first element. bias, scale and shift have one value a column, row_bias one a row.
template <class T>
struct TileOutput {
  T* c;
  int64_t c_stride;
  const T* bias = nullptr;
  const T* row_bias = nullptr;
  const T* scale = nullptr;  // null: there is no shift, either
  const T* shift = nullptr;
  const T* residual = nullptr;
  int64_t residual_stride = 0;
  T lo = 0, hi = 0;
  bool clamp = false;
  bool accumulate = false;
  // What a later tile reads, fetched by this one: `ahead_step` bytes with each row of b. Null: b itself, further on.
  const void* ahead = nullptr;
  int64_t ahead_step = 0;
};

// One tile of at most tile_rows x panel elements:
//   c[i][j] (+)= sum over t < taps, p < k of rows[t * tile rows + i][p] * b[(t * k + p) * b_stride + j]
// for j < columns. b must be readable for a whole number of vectors, so a ragged last panel is packed first.
template <class T>
using TileKernel = void (*)(int64_t taps, int64_t k, const T* const* rows, const T* b, int64_t b_stride, int columns,
                            const TileOutput<T>& output);

// How many rows "a few" are: products with at most so many rows or columns are summed by lanes.
constexpr int few_rows = 4;

// At most few_rows rows against many, both contiguous along k: c[i * c_few + j * c_many] = few[i] . many[j]
template <class T>
struct DotArgs {
  int64_t few_count, many_count, k;
  const T* few;
  int64_t few_stride;
  const void* many;
  int64_t many_stride;
  GemmStorage many_storage;
  // c, bias and residual are indexed by i * ..._few + j * ..._many. All of type T.
  T* c;
  int64_t c_few, c_many;
  const T* bias;
  int64_t bias_few, bias_many;
  const T* scale;  // as bias; null: there is no shift, either
  const T* shift;
  int64_t scale_few, scale_many;
  const T* residual;
  int64_t residual_few, residual_many;
  T lo, hi;
  bool clamp, accumulate;
};

// At most few_rows rows times panels of columns: row p of panel i is at b + p * b_stride + i * panel_step, readable for
// a whole panel.
template <class T>
struct FoldArgs {
  int rows;
  int64_t k, columns;
  const T* a;  // contiguous along k
  int64_t a_stride;
  const T* b;
  int64_t b_stride, panel_step;
  TileOutput<T> output;
};

// At most few_rows rows times a row-major matrix, whose rows are read once, in memory order.
template <class T>
struct StreamArgs {
  int rows;
  int64_t k, columns;
  const T* a;  // contiguous along k
  int64_t a_stride;
  const void* b;
  int64_t b_stride;
  GemmStorage b_storage;
  TileOutput<T> output;
};

// Products so small that packing and planning would cost more than they do, one after the other: at most
// small_rows x lanes results each, b and c contiguous along columns.
template <class T>
struct SmallArgs {
  int64_t count, m, n, k;
  const T* a;
  int64_t a_row, a_column, a_item;
  const T* b;
  int64_t b_row, b_item;
  T* c;
  int64_t c_row, c_item;
};

// Channels_last depthwise convolution of one output row: input rows and kernel rows are given by pointers.
template <class T>
struct DepthwiseArgs {
  int64_t channels;
  int64_t group;  // of grouped_row: channels of a group
  int64_t kernel_width, stride, dilation;
  int64_t kernel_rows;          // rows of the kernel that meet the image
  const T* const* input_rows;   // kernel_rows pointers to the start of an input row, [input_width][channels]
  const T* const* weight_rows;  // kernel_rows pointers to [kernel_width][channels]
  int64_t input_width;
  int64_t padding;
  int64_t output_width;
  TileOutput<T> output;  // c, bias and residual at the first pixel, their strides from pixel to pixel
};

// The contribution of one output row to the gradient of one row of a depthwise kernel:
//   sums[j][c] += sum over pixels p of grad_row[p][c] * input_row[p * stride - padding + j * dilation][c]
// for first_channel <= c < last_channel. The first is a multiple of the lanes; so is the last, or it is `channels`.
template <class T>
struct DepthwiseGradientArgs {
  int64_t channels, first_channel, last_channel;
  int64_t group;  // of grouped_gradient: channels of a group
  int64_t kernel_width, stride, dilation, padding;
  int64_t input_width, output_width;
  const T* grad_row;   // [output_width][channels]
  const T* input_row;  // [input_width][channels]
  T* sums;             // [kernel_width][channels]
};

// A product of two matrices that both lie along k, as in the gradients of weights:
//   c[i][j] (+)= sum over r < runs, p < count of a[r][p * a_step + i] * b[r][p * b_step + j]
// for j < columns. Nothing is packed.
template <class T>
struct OuterArgs {
  int64_t runs, count;
  const T* const* a;
  int64_t a_step;
  const T* const* b;
  int64_t b_step;
  int columns;
  T* c;
  int64_t c_stride;
  bool accumulate;
};

// What reads or writes numbers of one storage on behalf of a table of T.
template <class T>
struct StorageTable {
  // Packs b[k][columns] (element strides) into out[k][panel]; columns from `columns` to panel are zero.
  void (*pack_panel)(const void* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns, T* out);
  // out[i * out_stride + p] = a[i * row_stride + p * column_stride]. Any strides.
  void (*copy_rows)(const void* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k, T* out,
                    int64_t out_stride);
  // Rounds `rows` x `columns` values into storage, both contiguous along columns.
  void (*store_rows)(const T* from, int64_t from_stride, int64_t rows, int64_t columns, void* c, int64_t c_stride);
  void (*dot)(const DotArgs<T>& args);
};
template <class T>
struct StreamTable {
  void (*stream)(const StreamArgs<T>& args);
};

template <class T>
struct GemmTable {
  int lanes;      // elements in a vector
  int panel;      // columns of a packed panel: two vectors
  int tile_rows;  // most rows of a tile

  // tiles[v - 1][r]: r rows (1 to tile_rows), v vectors of columns.
  TileKernel<T> tiles[2][9];
  // out[i] = sum over p < parts of from[p * step + i], i < count
  void (*add_parts)(const T* from, int64_t parts, int64_t step, int64_t count, T* out);

  const StorageTable<T>* stored[3];  // by GemmStorage; that of double has the first alone

  const StorageTable<T>& of(GemmStorage storage) const { return *stored[static_cast<int>(storage)]; }
  void pack_panel(GemmStorage storage, const void* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns,
                  T* out) const {
    of(storage).pack_panel(b, row_stride, column_stride, k, columns, out);
  }
  void copy_rows(GemmStorage storage, const void* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k,
                 T* out, int64_t out_stride) const {
    of(storage).copy_rows(a, row_stride, column_stride, rows, k, out, out_stride);
  }
  void store_rows(GemmStorage storage, const T* from, int64_t from_stride, int64_t rows, int64_t columns, void* c,
                  int64_t c_stride) const {
    of(storage).store_rows(from, from_stride, rows, columns, c, c_stride);
  }
  void dot(const DotArgs<T>& args) const { of(args.many_storage).dot(args); }
};

// What reads a b that does not lie along k.
template <class T>
struct LaneTable {
  void (*fold)(const FoldArgs<T>& args);
  void (*small)(const SmallArgs<T>& args);  // null where vectors have no masks
  const StreamTable<T>* streams[3];         // by GemmStorage; that of double has the first alone

  void stream(const StreamArgs<T>& args) const { streams[static_cast<int>(args.b_storage)]->stream(args); }
};

// For numbers of one storage.
template <class T>
struct TapsTable {
  // Packs weights of a convolution into out[taps][in_channels][panel]: element [t][i][j] is
  // w[i * in_stride + j * out_stride + tap_offsets[t]] for j < columns, else zero.
  void (*pack)(const void* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
               int64_t in_channels, int columns, T* out);
};

template <class T>
struct OuterTable {
  void (*tiles[2][9])(const OuterArgs<T>& args);  // as GemmTable::tiles
};

template <class T>
struct DepthwiseTable {
  void (*row)(const DepthwiseArgs<T>& args);
  // Groups of 2, 4 or 8 channels that make as many channels each, several of them in a vector. Weight rows are
  // [kernel_width][group][channels]: the inputs of each output channel, by their place in the group. Channels are a
  // multiple of the lanes, the kernel is 3 wide, the stride 1 or 2, the dilation 1. Null in the table of double.
  void (*grouped_row)(const DepthwiseArgs<T>& args);
};

// With bfloat16 images: input rows, c and residual point to such numbers.
struct DepthwiseBf16Table {
  void (*row)(const DepthwiseArgs<float>& args);
};

template <class T>
struct DepthwiseGradientTable {
  void (*weight_gradient)(const DepthwiseGradientArgs<T>& args);
  // As weight_gradient, any kernel: sums are [kernel_width][group][channels]. Null in the table of double.
  void (*grouped_gradient)(const DepthwiseGradientArgs<T>& args);
};

// Rows [first_row, last_row) of a product of integers, as gemm_generic. `work` has integer_work_bytes; of fewer than
// integer_depth rows of b, the same part of them.
struct IntegerArgs {
  int64_t first_row, last_row, n, k;
  const void* a;
  int64_t a_row, a_column;
  const void* b;
  int64_t b_row, b_column;
  void* c;
  int64_t c_row, c_column;
  const void* bias;
  const void* residual;
  int64_t residual_stride;
  bool accumulate;
  void* work;
};
constexpr int64_t integer_depth = 256, integer_work_bytes = integer_depth * 128;

struct IntegerTable {
  void (*rows)(const IntegerArgs& args);
};

// Where a Winograd tile of m x m pixels goes. Pointers to the first channel of each pixel, row by row; null for pixels
// outside of the image, and where there is no residual.
template <class T>
struct WinogradOutput {
  T* pixels[16];
  const T* residual[16];
  const T* bias;
  const T* scale;  // null: there is no shift, either
  const T* shift;
  T lo, hi;
  bool clamp, accumulate;
};

// Transforms for m = 2 ([0]) and m = 4 ([1]). Channels are a multiple of the lanes.
template <class T>
struct WinogradTable {
  // Of kernels, for m = 2: tap i of `count` kernels is read from taps + i * count, transformed ones go to
  // out + i * out_step. `count` is a multiple of the lanes.
  void (*kernels)(const T* taps, int64_t count, T* out, int64_t out_step);
  // `pixels` are (m + 2)^2 pointers, row by row; transformed pixel i goes to out + i * out_step.
  void (*input[2])(const T* const* pixels, int64_t channels, T* out, int64_t out_step);
  // Sum i of the (m + 2)^2 is read from sums + i * step. Whether all results are finite, but for an overflow
  // of the epilogue.
  bool (*output[2])(const T* sums, int64_t step, int64_t channels, const WinogradOutput<T>& out);
};

template <class T>
struct WinogradGradientTable {
  // The adjoint of output, for m = 2: four pixels, null for those outside of the image, to 16 sums.
  void (*output_gradient)(const T* const* pixels, int64_t channels, T* out, int64_t out_step);
  // The adjoint of kernels: 16 sums, `step` apart, of `count` kernels to nine taps, `out_step` apart. Each sum comes in
  // `parts`, part_step apart. Whether all results are finite.
  bool (*kernels_gradient)(const T* sums, int64_t step, int64_t parts, int64_t part_step, int64_t count, T* out,
                           int64_t out_step);
};

// Those of double, of 16-bit floats and of integers are weak (base/weak.h).
SCONCE_AT_EACH_LEVEL(extern const GemmTable<float> gemm_f32; extern const OuterTable<float> outer_f32;
                     extern const LaneTable<float> lanes_f32; extern const LaneTable<double> lanes_f64;
                     extern const StreamTable<float> stream_bf16, stream_f16;
                     extern const StorageTable<float> storage_f32; extern const DepthwiseTable<float> depthwise_f32;
                     extern const DepthwiseGradientTable<float> depthwise_gradient_f32;
                     extern const WinogradTable<float> winograd_f32;
                     extern const WinogradGradientTable<float> winograd_gradient_f32;
                     extern const TapsTable<float> taps_f32, taps_bf16, taps_f16;
                     extern const IntegerTable integers_8, integers_16, integers_32, integers_64;
                     extern const GemmTable<double> gemm_f64; extern const TapsTable<double> taps_f64;
                     extern const OuterTable<double> outer_f64; extern const StorageTable<double> storage_f64;
                     extern const DepthwiseTable<double> depthwise_f64;
                     extern const DepthwiseGradientTable<double> depthwise_gradient_f64;
                     extern const StorageTable<float> storage_bf16, storage_f16;
                     extern const DepthwiseBf16Table depthwise_bf16;)

}  // namespace sconce
