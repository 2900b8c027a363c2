#include "sconce/kernels/cpu/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/half.h"

namespace sconce {
namespace {

// Numbers of some dtype.
struct Data {
  DType dtype;
  std::vector<uint64_t> words;
  int64_t count;

  Data(DType type, int64_t n, uint32_t seed) : dtype(type), words(static_cast<size_t>(n) + 8), count(n) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < n; i++) put(i, static_cast<double>(random() % 2001) / 1000 - 1);
  }
  void* data() { return words.data(); }
  const void* data() const { return words.data(); }
  void put(int64_t i, double value) {
    switch (dtype) {
      case DType::float32:
        static_cast<float*>(data())[i] = static_cast<float>(value);
        break;
      case DType::float64:
        static_cast<double*>(data())[i] = value;
        break;
      case DType::bfloat16:
        static_cast<BFloat16*>(data())[i] = to_bfloat16(static_cast<float>(value));
        break;
      default:
        static_cast<Half*>(data())[i] = to_half(static_cast<float>(value));
    }
  }
  std::vector<double> values() const {
    std::vector<double> result;
    for (int64_t i = 0; i < count; i++) result.push_back(get(i));
    return result;
  }
  double get(int64_t i) const {
    switch (dtype) {
      case DType::float32:
        return static_cast<const float*>(data())[i];
      case DType::float64:
        return static_cast<const double*>(data())[i];
      case DType::bfloat16:
        return to_float(static_cast<const BFloat16*>(data())[i]);
      default:
        return to_float(static_cast<const Half*>(data())[i]);
    }
  }
};

int64_t product(const int64_t* sizes, int rank) {
  int64_t result = 1;
  for (int i = 0; i < rank; i++) result *= sizes[i];
  return result;
}

// Splits a number into positions in `sizes`, the last one running fastest.
void unravel(int64_t number, const int64_t* sizes, int rank, int64_t* position) {
  for (int i = rank - 1; i >= 0; i--) {
    position[i] = number % sizes[i];
    number /= sizes[i];
  }
}

// Both kinds as a scatter of every input pixel, in double. `magnitude` sums absolute values, for the allowed error.
void reference(const ConvShape& s, const Data& x, const Data& w, std::vector<double>& y,
               std::vector<double>& magnitude) {
  const int64_t in_pixels = product(s.in, s.rank), out_pixels = product(s.out, s.rank),
                taps = product(s.kernel, s.rank);
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const std::vector<double> x_values = x.values(), w_values = w.values();
  y.assign(static_cast<size_t>(s.batch * out_pixels * s.out_channels), 0);
  magnitude = y;
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t from = 0; from < (s.transposed ? in_pixels : out_pixels); from++) {
      for (int64_t tap = 0; tap < taps; tap++) {
        int64_t at[3], t[3], other[3];
        unravel(from, s.transposed ? s.in : s.out, s.rank, at);
        unravel(tap, s.kernel, s.rank, t);
        bool inside = true;
        int64_t to = 0;
        for (int i = 0; i < s.rank; i++) {
          other[i] = at[i] * s.stride[i] - s.padding[i] + t[i] * s.dilation[i];
          const int64_t limit = s.transposed ? s.out[i] : s.in[i];
          inside = inside && other[i] >= 0 && other[i] < limit;
          to = to * limit + other[i];
        }
        if (!inside) continue;
        const int64_t in_pixel = s.transposed ? from : to, out_pixel = s.transposed ? to : from;
        for (int64_t oc = 0; oc < s.out_channels; oc++) {
          const int64_t group = oc / out_group;
          auto out = static_cast<size_t>((n * out_pixels + out_pixel) * s.out_channels + oc);
          for (int64_t ic = 0; ic < in_group; ic++) {
            const int64_t weight = s.transposed ? ((group * in_group + ic) * out_group + oc % out_group) * taps + tap
                                                : (oc * in_group + ic) * taps + tap;
            const int64_t input = (n * in_pixels + in_pixel) * s.in_channels + group * in_group + ic;
            const double p = x_values[static_cast<size_t>(input)] * w_values[static_cast<size_t>(weight)];
            y[out] += p;
            magnitude[out] += std::abs(p);
          }
        }
      }
    }
  }
}

void absolute(void* context, void* block, int64_t row_stride, int64_t column_stride, int64_t row, int64_t column,
              int64_t rows, int64_t columns) {
  auto& y = *static_cast<Data*>(context);
  EXPECT_EQ(block, static_cast<char*>(y.data()) +
                       (row * row_stride + column * column_stride) * static_cast<int64_t>(item_size(y.dtype)));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      const int64_t index = (row + i) * row_stride + (column + j) * column_stride;
      y.put(index, std::abs(y.get(index)));
    }
  }
}

struct Aligned {
  explicit Aligned(size_t bytes) : data(operator new(bytes + 64, std::align_val_t{64})) {}
  ~Aligned() { operator delete(data, std::align_val_t{64}); }
  void* data;
};

// epilogue bits: 1 bias, 2 residual, 4 clamp, 8 accumulate, 16 post, 32 scale and shift
void check(const ConvShape& s, DType dtype, int level, int bits = 0) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " level " << level << " epilogue " << bits << " rank "
                                  << s.rank << " batch " << s.batch << " channels " << s.in_channels << " -> "
                                  << s.out_channels << " groups " << s.groups << " in " << s.in[0] << " " << s.in[1]
                                  << " " << s.in[2] << " kernel " << s.kernel[0] << " " << s.kernel[1] << " "
                                  << s.kernel[2] << " stride " << s.stride[0] << " transposed " << s.transposed);
  const MatrixKernels& kernels = matrix_kernels(level);
  const int64_t out_pixels = s.batch * product(s.out, s.rank), taps = product(s.kernel, s.rank);
  const int64_t in_group = s.in_channels / s.groups;
  const Data x(dtype, s.batch * product(s.in, s.rank) * s.in_channels, 1),
      w(dtype, s.out_channels * in_group * taps, 2);
  const Data bias(dtype, s.out_channels, 3), residual(dtype, out_pixels * (s.out_channels + 3), 4);
  const Data before(dtype, out_pixels * s.out_channels, 5);
  Epilogue epilogue;
  if (bits & 1) epilogue.bias = bias.data();
  const Data scale(dtype, s.out_channels, 6), shift(dtype, s.out_channels, 7);
  if (bits & 32) {
    epilogue.scale = scale.data();
    epilogue.shift = shift.data();
  }
  if (bits & 2) {
    epilogue.residual = residual.data();
    epilogue.residual_stride = s.out_channels + 3;
  }
  if (bits & 4) {
    epilogue.lo = -0.5;
    epilogue.hi = 1.25;
  }
  epilogue.accumulate = bits & 8;
  if (bits & 16) epilogue.post = absolute;

  int64_t strides[5];
  int64_t running = 1;
  for (int i = s.rank - 1; i >= 0; i--) {
    strides[2 + i] = running;
    running *= s.kernel[i];
  }
  strides[1] = taps;
  strides[0] = taps * (s.transposed ? s.out_channels / s.groups : in_group);
  Aligned packed(conv_packed_bytes(s, dtype, kernels));
  conv_pack(s, dtype, w.data(), strides, packed.data, kernels);
  auto compute = [&](int threads) {
    set_num_threads(threads);
    Data y = before;
    epilogue.post_context = &y;
    conv_run(s, dtype, x.data(), packed.data, y.data(), epilogue, kernels);
    set_num_threads(1);
    return y;
  };
  const Data y = compute(1);
  Data once = before;
  epilogue.post_context = &once;
  conv_run_once(s, dtype, x.data(), w.data(), strides, once.data(), epilogue, kernels);

  std::vector<double> expected, magnitude;
  reference(s, x, w, expected, magnitude);
  const double unit = dtype == DType::float64 ? 1e-16 : 6e-8;
  const double result_unit = dtype == DType::bfloat16 ? 4e-3 : dtype == DType::float16 ? 5e-4 : unit;
  int wrong = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    const auto pixel = static_cast<int64_t>(i) / s.out_channels, channel = static_cast<int64_t>(i) % s.out_channels;
    double value = expected[i] + (epilogue.accumulate ? before.get(static_cast<int64_t>(i)) : 0);
    if (epilogue.bias) value += bias.get(channel);
    if (epilogue.scale) value = value * scale.get(channel) + shift.get(channel);
    if (epilogue.residual) value += residual.get(pixel * epilogue.residual_stride + channel);
    if (bits & 4) value = std::clamp(value, -0.5, 1.25);
    if (bits & 16) value = std::abs(value);
    const double allowed = (dtype == DType::float64 ? 20 : 4) * unit * (magnitude[i] + 3) +
                           1.01 * result_unit * std::abs(value) + (dtype == DType::float16 ? 1e-7 : 0);
    const double got = y.get(static_cast<int64_t>(i)), got_once = once.get(static_cast<int64_t>(i));
    if (!(std::abs(got - value) <= allowed && std::abs(got_once - value) <= allowed) && wrong++ < 3) {
      ADD_FAILURE() << "pixel " << pixel << " channel " << channel << " is " << got << ", expected " << value;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compute(2).words, y.words) << "with two threads";
  EXPECT_EQ(compute(5).words, y.words) << "with five threads";
}

ConvShape make(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t groups, std::vector<int64_t> in,
               std::vector<int64_t> kernel, std::vector<int64_t> stride, std::vector<int64_t> padding,
               std::vector<int64_t> dilation, bool transposed = false, std::vector<int64_t> output_padding = {}) {
  ConvShape s;
  s.batch = batch;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.groups = groups;
  s.rank = static_cast<int>(in.size());
  s.transposed = transposed;
  std::copy(in.begin(), in.end(), s.in);
  std::copy(kernel.begin(), kernel.end(), s.kernel);
  std::copy(stride.begin(), stride.end(), s.stride);
  std::copy(padding.begin(), padding.end(), s.padding);
  std::copy(dilation.begin(), dilation.end(), s.dilation);
  std::copy(output_padding.begin(), output_padding.end(), s.output_padding);
  s.infer_output();
  return s;
}

std::vector<ConvShape> shapes() {
  return {
      make(1, 1, 1, 1, {5}, {1}, {1}, {0}, {1}),
      make(2, 3, 5, 1, {17}, {5}, {2}, {2}, {1}),
      make(1, 40, 33, 1, {30}, {3}, {1}, {2}, {2}),
      make(2, 20, 35, 1, {6, 7}, {1, 1}, {1, 1}, {0, 0}, {1, 1}),
      make(1, 20, 35, 1, {6, 7}, {1, 1}, {2, 2}, {0, 0}, {1, 1}),
      make(2, 3, 20, 1, {13, 11}, {7, 7}, {2, 2}, {3, 3}, {1, 1}),
      // Strips of 16 pixels: conv_strip.h.
      make(2, 3, 16, 1, {9, 32}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      make(1, 4, 10, 1, {5, 48}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(2, 1, 16, 1, {64}, {5}, {2}, {2}, {1}),
      make(1, 2, 70, 1, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {2, 1}),
      make(1, 17, 40, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(2, 33, 18, 1, {8, 5}, {3, 2}, {2, 1}, {1, 0}, {1, 2}),
      make(1, 130, 70, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 12, 18, 3, {8, 9}, {3, 3}, {1, 2}, {1, 1}, {1, 1}),
      make(1, 8, 24, 1, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}),
      make(1, 2, 9, 1, {5, 6, 7}, {2, 3, 3}, {2, 1, 2}, {1, 0, 1}, {1, 2, 1}),
  };
}

// Depthwise with several outputs a channel.
std::vector<ConvShape> multiplier_shapes() {
  return {
      make(2, 6, 12, 6, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 32, 64, 32, {9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      make(2, 5, 20, 5, {8, 9}, {5, 5}, {1, 1}, {2, 2}, {1, 1}),
      make(1, 7, 21, 7, {9, 7}, {3, 2}, {2, 1}, {1, 1}, {2, 3}),
      make(2, 9, 18, 9, {20}, {3}, {1}, {1}, {1}),
      make(2, 3, 18, 3, {4, 5, 6}, {3, 3, 3}, {2, 1, 1}, {1, 1, 1}, {1, 2, 1}),
      make(1, 4, 8, 4, {5, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true),
  };
}

std::vector<ConvShape> depthwise_shapes() {
  return {
      make(2, 19, 19, 19, {14, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 88, 88, 88, {9, 23}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      make(1, 37, 37, 37, {7, 12}, {5, 5}, {1, 1}, {2, 2}, {1, 1}),
      make(1, 40, 40, 40, {9, 30}, {5, 5}, {2, 2}, {2, 2}, {1, 1}),
      make(1, 3, 3, 3, {6, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 21, 21, 21, {9, 9}, {4, 2}, {1, 3}, {2, 1}, {2, 2}),
      make(2, 18, 18, 18, {20}, {3}, {1}, {1}, {1}),
      make(1, 17, 17, 17, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}),
  };
}

// Groups of which several fit into a vector.
std::vector<ConvShape> small_group_shapes() {
  return {
      make(2, 32, 32, 8, {9, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 32, 32, 4, {9, 23}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      make(1, 16, 16, 8, {7, 4}, {5, 3}, {1, 1}, {2, 0}, {2, 1}),
      make(1, 64, 64, 8, {12, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 16, 16, 4, {5, 6, 9}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}),
      make(1, 24, 24, 6, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 32, 32, 4, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, 32, 32, 8, {8, 9}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, true),
      make(1, 16, 16, 2, {8, 9}, {3, 3}, {1, 1}, {0, 1}, {1, 1}, true),
      make(1, 32, 32, 4, {6, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, {1, 1}),
  };
}

std::vector<ConvShape> transposed_shapes() {
  return {
      make(1, 3, 4, 1, {5}, {3}, {1}, {0}, {1}, true),
      make(2, 18, 33, 1, {6}, {4}, {2}, {1}, {1}, true),
      make(1, 5, 6, 1, {4, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, {1, 1}),
      make(1, 20, 40, 1, {6, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true),
      make(1, 4, 6, 2, {4, 4}, {3, 2}, {3, 2}, {1, 0}, {2, 1}, true, {2, 0}),
      make(1, 6, 6, 6, {5, 4}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, true),
      make(1, 3, 5, 1, {4, 4}, {1, 2}, {3, 3}, {0, 0}, {1, 1}, true),  // some output pixels see no input
      make(1, 3, 8, 1, {3, 4, 3}, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, {1, 1, 2}, true, {1, 0, 0}),
  };
}

std::vector<int> levels() {
  std::vector<int> result;
  for (int level = 2; level <= cpu_level(); level++) result.push_back(level);
  return result;
}

const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

void check_all(const std::vector<ConvShape>& list) {
  for (const ConvShape& s : list) {
    for (int level : levels()) {
      for (DType dtype : floats) {
        check(s, dtype, level);
        check(s, dtype, level, 31);
      }
      for (int bits = 1; bits < 64; bits += 5) check(s, DType::float32, level, bits);
    }
  }
}

TEST(Conv, Direct) { check_all(shapes()); }
TEST(Conv, Depthwise) { check_all(depthwise_shapes()); }
TEST(Conv, ChannelMultiplier) { check_all(multiplier_shapes()); }
TEST(Conv, SmallGroups) { check_all(small_group_shapes()); }
TEST(Conv, Transposed) { check_all(transposed_shapes()); }

TEST(Conv, LargeEnoughForThreads) {
  for (int level : levels()) {
    check(make(1, 32, 80, 1, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}), DType::float32, level, 5);
    check(make(2, 3, 40, 1, {40, 40}, {7, 7}, {2, 2}, {3, 3}, {1, 1}), DType::float32, level, 1);
    check(make(1, 100, 100, 100, {30, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1}), DType::float32, level, 7);
    check(make(1, 32, 64, 2, {12, 13}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, true), DType::float32, level, 3);
  }
}

TEST(Conv, UnevenPadding) {
  ConvShape s = make(1, 5, 7, 1, {8, 8}, {4, 4}, {1, 1}, {1, 1}, {1, 1});
  s.out[0] = s.out[1] = 8;  // one row more than even padding gives
  for (int level : levels()) check(s, DType::float32, level, 1);
  s.in_channels = s.out_channels = s.groups = 20;
  for (int level : levels()) check(s, DType::float32, level, 1);
}

TEST(Conv, RefusesWhatMakesNoSense) {
  ConvShape s = make(1, 4, 4, 1, {5, 5}, {3, 3}, {1, 1}, {0, 0}, {1, 1});
  EXPECT_THROW(conv_packed_bytes(s, DType::int32), Error);
  ConvShape wrong = s;
  wrong.groups = 3;
  EXPECT_THROW(conv_packed_bytes(wrong, DType::float32), Error);
  wrong = s;
  wrong.stride[1] = 0;
  EXPECT_THROW(conv_packed_bytes(wrong, DType::float32), Error);
  wrong = s;
  wrong.rank = 4;
  EXPECT_THROW(conv_packed_bytes(wrong, DType::float32), Error);
  wrong = s;
  wrong.in[0] = 2;
  EXPECT_THROW(wrong.infer_output(), Error);
}

}  // namespace
}  // namespace sconce
