#include "sconce/kernels/cpu/engine/iterate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce {
namespace {

template <class T>
struct Pair {
  T re, im;
};
template <class T>
Pair<T> operator+(Pair<T> a, Pair<T> b) {
  return {a.re + b.re, a.im + b.im};
}

// Loops by hand, one per compute type: self + other, with the number parameters[0] added where there is one.
template <class T>
T at(const char* p, int64_t step, int64_t i) {
  const int64_t lanes = 64 / sizeof(T);
  T v;
  std::memcpy(&v, p + i / lanes * step + i % lanes * int64_t{sizeof(T)}, sizeof v);
  return v;
}
template <class T>
void add_loop(SCONCE_LOOP_ARGUMENTS) {
  T* o = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < groups * int64_t{64 / sizeof(T)}; ++i) {
    const T a = at<T>(in[0], step[0], i), b = at<T>(in[1], step[1], i);
    o[i] = static_cast<T>(a + b);
  }
}
template <class T>
void less_loop(SCONCE_LOOP_ARGUMENTS) {
  uint8_t* o = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < groups * int64_t{64 / sizeof(T)}; ++i)
    o[i] = at<T>(in[0], step[0], i) < at<T>(in[1], step[1], i);
}
template <class T>
void where_loop(SCONCE_LOOP_ARGUMENTS) {
  T* o = reinterpret_cast<T*>(out);
  const int64_t lanes = 64 / sizeof(T);
  for (int64_t i = 0; i < groups * lanes; ++i) {
    const char m = in[0][i / lanes * step[0] + i % lanes];
    o[i] = m != 0 ? at<T>(in[1], step[1], i) : at<T>(in[2], step[2], i);
  }
}
template <class T>
void divide_loop(SCONCE_LOOP_ARGUMENTS) {
  T* o = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < groups * int64_t{64 / sizeof(T)}; ++i)
    o[i] = at<T>(in[0], step[0], i) / at<T>(in[1], step[1], i);
}

#define ALL_LEVELS(...) {{__VA_ARGS__}, SCONCE_FROM_LEVEL_3({__VA_ARGS__}, ) SCONCE_FROM_LEVEL_4({__VA_ARGS__}, )}

const PointwiseLoops kAdd = {"add",
                             2,
                             0,
                             LoopResult::common,
                             0,
                             0,
                             0,
                             false,
                             false,
                             ALL_LEVELS(add_loop<float>, add_loop<double>, add_loop<int32_t>, add_loop<int64_t>,
                                        nullptr, add_loop<Pair<float>>, add_loop<Pair<double>>)};
const PointwiseLoops kLess = {"less",
                              2,
                              0,
                              LoopResult::boolean,
                              0,
                              0,
                              0,
                              false,
                              false,
                              ALL_LEVELS(less_loop<float>, less_loop<double>, less_loop<int32_t>, less_loop<int64_t>,
                                         less_loop<uint8_t>, nullptr, nullptr)};
const PointwiseLoops kWhere = {
    "where",
    3,
    0,
    LoopResult::common,
    1,
    0,
    0,
    false,
    false,
    ALL_LEVELS(where_loop<float>, where_loop<double>, where_loop<int32_t>, where_loop<int64_t>, where_loop<uint8_t>,
               where_loop<Pair<float>>, where_loop<Pair<double>>)};
const PointwiseLoops kDivide = {"divide",
                                2,
                                0,
                                LoopResult::common,
                                0,
                                2,
                                0,
                                false,
                                false,
                                ALL_LEVELS(divide_loop<float>, divide_loop<double>, divide_loop<int32_t>,
                                           divide_loop<int64_t>, nullptr, nullptr, nullptr)};

using Random = std::mt19937_64;
int pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

// Memory with room around it that must stay as it is.
struct Buffer {
  DType dtype;
  std::vector<char> bytes;
  std::vector<int64_t> strides;  // in elements, for the iteration
  int64_t elements;

  Operand operand() { return {bytes.data() + 64, dtype, strides.data()}; }
  char* element(std::span<const int64_t> index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    return bytes.data() + 64 + offset * static_cast<int64_t>(item_size(dtype));
  }
};

// A permuted, sometimes stretched, sometimes broadcast layout for `sizes`.
Buffer make_buffer(Random& random, DType dtype, const std::vector<int64_t>& sizes, bool output) {
  Buffer b{dtype, {}, std::vector<int64_t>(sizes.size()), 1};
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (pick(random, 0, 2) == 0) std::shuffle(order.begin(), order.end(), random);
  int64_t stride = pick(random, 0, 4) == 0 ? 2 : 1;
  for (int k = static_cast<int>(order.size()) - 1; k >= 0; --k) {
    const int d = order[k];
    if (!output && pick(random, 0, 3) == 0) {
      b.strides[d] = 0;
      continue;
    }
    b.strides[d] = stride;
    stride *= sizes[d] + (pick(random, 0, 5) == 0 ? 1 : 0);
  }
  b.elements = std::max<int64_t>(stride, 1);
  b.bytes.assign(128 + b.elements * item_size(dtype), 0x5a);
  if (!output) {
    for (int64_t i = 0; i < b.elements; ++i) {
      const int64_t value =
          dtype == DType::bool_ ? pick(random, 0, 1) : pick(random, dtype == DType::uint8 ? 0 : -60, 60);
      convert(b.bytes.data() + 64 + i * item_size(dtype), dtype, &value, DType::int64, 1);
    }
  }
  return b;
}

// Calls f(index) for every index in order.
template <class F>
void each_index(const std::vector<int64_t>& sizes, const F& f) {
  std::vector<int64_t> index(sizes.size(), 0);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  for (;;) {
    f(std::span<const int64_t>(index));
    int d = static_cast<int>(sizes.size()) - 1;
    for (; d >= 0; --d) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

std::vector<int64_t> random_sizes(Random& random) {
  std::vector<int64_t> sizes(pick(random, 0, 4));
  for (int64_t& s : sizes) {
    const int kind = pick(random, 0, 9);
    s = kind == 0 ? 1 : kind == 1 ? pick(random, 20, 90) : pick(random, 1, 12);
  }
  if (sizes.size() == 1 && pick(random, 0, 2) == 0) sizes[0] = pick(random, 500, 3000);
  if (sizes.size() == 2 && pick(random, 0, 4) == 0) sizes[pick(random, 0, 1)] = pick(random, 500, 1500);
  return sizes;
}

constexpr DType kComputeDTypes[] = {DType::float32, DType::float64,   DType::int32,     DType::int64,
                                    DType::bool_,   DType::complex64, DType::complex128};

// What one element must become, one conversion at a time.
void expected_element(const PointwiseLoops& loops, DType common, std::vector<Buffer>& in,
                      std::span<const int64_t> index, DType out_dtype, char* out) {
  Compute compute = compute_type(common);
  if (loops.loops[0][static_cast<int>(compute)] == nullptr) compute = Compute::i32;
  const DType loop_dtype = kComputeDTypes[static_cast<int>(compute)];
  alignas(64) char group[3][64];
  const char* pointers[3];
  const int64_t steps[3] = {0, 0, 0};
  for (size_t k = 0; k < in.size(); ++k) {
    char as_common[16], one[16];
    const DType wanted = (loops.mask_inputs >> k & 1) != 0 ? DType::bool_ : loop_dtype;
    convert(as_common, wanted == DType::bool_ && wanted != loop_dtype ? DType::bool_ : common, in[k].element(index),
            in[k].dtype, 1);
    convert(one, wanted, as_common, wanted == DType::bool_ && wanted != loop_dtype ? DType::bool_ : common, 1);
    for (size_t i = 0; i < 64 / item_size(wanted); ++i)
      std::memcpy(group[k] + i * item_size(wanted), one, item_size(wanted));
    pointers[k] = group[k];
  }
  alignas(64) char result[64];
  loops.loops[0][static_cast<int>(compute)](result, pointers, steps, 1, nullptr);
  char as_common[16];
  const DType stored = loops.result == LoopResult::boolean ? DType::bool_ : loop_dtype;
  const DType rounded = loops.result == LoopResult::boolean ? DType::bool_ : common;
  convert(as_common, rounded, result, stored, 1);
  convert(out, out_dtype, as_common, rounded, 1);
}

void fuzz_pointwise(const PointwiseLoops& loops, uint64_t seed, int rounds) {
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    const std::vector<int64_t> sizes = random_sizes(random);
    const DType common = kAllDTypes[pick(random, 0, 11)];
    if (!has_loop(loops, common)) continue;
    const auto dtype = [&] { return pick(random, 0, 1) == 0 ? common : kAllDTypes[pick(random, 0, 11)]; };
    std::vector<Buffer> in;
    std::vector<Operand> operands;
    for (int k = 0; k < loops.inputs; ++k) in.push_back(make_buffer(random, dtype(), sizes, false));
    for (Buffer& b : in) operands.push_back(b.operand());
    Buffer out = make_buffer(random, dtype(), sizes, true);
    std::vector<char> before = out.bytes;
    run_pointwise(loops, common, sizes, out.operand(), operands);
    bool same = true;
    each_index(sizes, [&](std::span<const int64_t> index) {
      char want[16];
      expected_element(loops, common, in, index, out.dtype, want);
      char* got = out.element(index);
      same &= std::memcmp(got, want, item_size(out.dtype)) == 0;
      std::memcpy(before.data() + (got - out.bytes.data()), got, item_size(out.dtype));
    });
    ASSERT_TRUE(same) << loops.name << " round " << round;
    ASSERT_TRUE(before == out.bytes) << loops.name << " wrote outside of its output, round " << round;
  }
}

TEST(Iterate, AddOfAnyStridesAndDtypes) { fuzz_pointwise(kAdd, 1, 400); }
TEST(Iterate, CompareOfAnyStridesAndDtypes) { fuzz_pointwise(kLess, 2, 400); }
TEST(Iterate, WhereOfAnyStridesAndDtypes) { fuzz_pointwise(kWhere, 3, 400); }

TEST(Iterate, CopyBetweenAnyStridesAndDtypes) {
  Random random(4);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<int64_t> sizes = random_sizes(random);
    Buffer in = make_buffer(random, kAllDTypes[pick(random, 0, 11)], sizes, false);
    Buffer out = make_buffer(random, pick(random, 0, 1) ? in.dtype : kAllDTypes[pick(random, 0, 11)], sizes, true);
    std::vector<char> expected = out.bytes;
    run_copy(sizes, out.operand(), in.operand());
    each_index(sizes, [&](std::span<const int64_t> index) {
      char* got = out.element(index);
      convert(expected.data() + (got - out.bytes.data()), out.dtype, in.element(index), in.dtype, 1);
    });
    ASSERT_TRUE(expected == out.bytes) << "round " << round;
  }
}

TEST(Iterate, DenseOfEveryLength) {
  for (int64_t n = 0; n < 200; ++n) {
    std::vector<float> a(n), b(n), out(n + 1, -1.0f);
    for (int64_t i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(1000 * i);
    const void* in[] = {a.data(), b.data()};
    run_dense(kAdd, Compute::f32, out.data(), in, n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 1001.0f * static_cast<float>(i)) << n;
    ASSERT_EQ(out[n], -1.0f) << n;
    run_dense(kAdd, Compute::f32, a.data(), in, n);  // in place
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(a[i], 1001.0f * static_cast<float>(i)) << n;
    const float five = 5;
    const void* with_scalar[] = {b.data(), &five};
    run_dense(kAdd, Compute::f32, out.data(), with_scalar, n, nullptr, 2);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], b[i] + 5) << n;
  }
}

TEST(Iterate, InPlaceOnATransposedView) {
  std::vector<float> a(70 * 50), row(50, 2.0f);
  std::iota(a.begin(), a.end(), 0.0f);
  const int64_t sizes[] = {50, 70}, view[] = {1, 50}, broadcast[] = {1, 0};
  const Operand self{a.data(), DType::float32, view}, other{row.data(), DType::float32, broadcast};
  const Operand in[] = {self, other};
  run_pointwise(kAdd, DType::float32, sizes, self, in);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], static_cast<float>(i) + 2);
}

TEST(Iterate, RoundsToTheCommonDtypeFirst) {
  // 257 is 256 as bfloat16.
  const int64_t one_size[] = {1}, stride[] = {1};
  const int64_t big = 257;
  const uint16_t zero = 0;
  float out = -1;
  const Operand in[] = {{const_cast<int64_t*>(&big), DType::int64, stride},
                        {const_cast<uint16_t*>(&zero), DType::bfloat16, stride}};
  run_pointwise(kAdd, DType::bfloat16, one_size, {&out, DType::float32, stride}, in);
  EXPECT_EQ(out, 256.0f);
}

TEST(Iterate, IntegerDivisionByZeroIsAnError) {
  const int64_t strides[] = {1}, scalar[] = {0};
  for (const int64_t n : {1, 7, 16, 700, 100000}) {
    const int64_t sizes[] = {n};
    std::vector<int64_t> a(n, 7), b(n, 2), out(n);
    const Operand in[] = {{a.data(), DType::int64, strides}, {b.data(), DType::int64, strides}};
    const Operand to{out.data(), DType::int64, strides};
    run_pointwise(kDivide, DType::int64, sizes, to, in);
    EXPECT_EQ(out[n - 1], 3);
    b[n / 2] = 0;
    try {
      run_pointwise(kDivide, DType::int64, sizes, to, in);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::zero_division);
      EXPECT_EQ(e.message(), "ZeroDivisionError");
    }
    const void* dense[] = {a.data(), b.data()};
    EXPECT_THROW(run_dense(kDivide, Compute::i64, out.data(), dense, n), Error);
    int8_t nothing = 0;  // a scalar of another dtype
    const Operand mixed[] = {{a.data(), DType::int64, strides}, {&nothing, DType::int8, scalar}};
    EXPECT_THROW(run_pointwise(kDivide, DType::int64, sizes, to, mixed), Error);
    // Floats divide by zero.
    std::vector<float> f(n);
    run_pointwise(kDivide, DType::float32, sizes, {f.data(), DType::float32, strides}, in);
    EXPECT_EQ(f[n / 2], std::numeric_limits<float>::infinity());
  }
}

TEST(Iterate, MissingLoopNamesOperatorAndDtype) {
  const int64_t sizes[] = {1}, strides[] = {1};
  double data[2] = {};
  const Operand c{data, DType::complex64, strides};
  const Operand in[] = {c, c};
  EXPECT_FALSE(has_loop(kLess, DType::complex64));
  try {
    run_pointwise(kLess, DType::complex64, sizes, c, in);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "less: not implemented for complex64");
  }
}

TEST(Iterate, NothingForEmptySizes) {
  const int64_t sizes[] = {3, 0, 2}, strides[] = {0, 2, 1};
  const Operand none{nullptr, DType::float32, strides};
  const Operand in[] = {none, none};
  run_pointwise(kAdd, DType::float32, sizes, none, in);
  run_copy(sizes, none, none);
}

// Large enough to bypass the caches, for several ways through the engine, with one and with three threads.
TEST(Iterate, LargeOutputsWithAnyNumberOfThreads) {
  const int64_t rows = 2048, columns = 2309;  // 18.9 MB
  std::vector<float> a(rows * columns), row(columns), one_thread(rows * columns), three(rows * columns);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 1013);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
  const int64_t sizes[] = {rows, columns}, dense[] = {columns, 1}, transposed[] = {1, rows}, along[] = {0, 1},
                down[] = {1, 0};
  const int64_t* layouts[][2] = {{dense, dense}, {dense, along}, {dense, down}, {transposed, along}};
  for (const auto& layout : layouts) {
    const Operand in[] = {{a.data(), DType::float32, layout[0]},
                          {layout[1] == dense ? a.data() : row.data(), DType::float32, layout[1]}};
    run_pointwise(kAdd, DType::float32, sizes, {one_thread.data(), DType::float32, dense}, in);
    set_num_threads(3);
    run_pointwise(kAdd, DType::float32, sizes, {three.data(), DType::float32, dense}, in);
    set_num_threads(1);
    ASSERT_TRUE(one_thread == three);
    for (const int64_t i : {int64_t{0}, columns - 1, columns * 777 + 555, rows * columns - 1}) {
      const int64_t r = i / columns, c = i % columns;
      const float x = a[r * layout[0][0] + c * layout[0][1]];
      const float y = layout[1] == dense ? x : row[r * layout[1][0] + c * layout[1][1]];
      ASSERT_EQ(one_thread[i], x + y);
    }
  }
}

template <class To, class From>
To converted(From value, DType to, DType from) {
  // In a block and as a tail: both must give the same.
  std::vector<From> in(71, value);
  std::vector<To> out(71);
  convert(out.data(), to, in.data(), from, 71);
  EXPECT_EQ(std::memcmp(&out[0], &out[70], sizeof(To)), 0);
  return out[70];
}

TEST(Convert, FollowsPyTorch) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ((converted<uint8_t>(-1.0f, DType::uint8, DType::float32)), 255);
  EXPECT_EQ((converted<uint8_t>(300.7f, DType::uint8, DType::float32)), 44);
  EXPECT_EQ((converted<uint8_t>(300.7, DType::uint8, DType::float64)), 44);
  EXPECT_EQ((converted<int8_t>(200.0f, DType::int8, DType::float32)), -56);
  EXPECT_EQ((converted<int16_t>(-40000.9f, DType::int16, DType::float32)), 25536);
  EXPECT_EQ((converted<int32_t>(3e9f, DType::int32, DType::float32)), INT32_MIN);
  EXPECT_EQ((converted<int64_t>(3e9f, DType::int64, DType::float32)), 3000000000);
  EXPECT_EQ((converted<int64_t>(-2.9f, DType::int64, DType::float32)), -2);
  EXPECT_EQ((converted<uint8_t>(nan, DType::bool_, DType::float32)), 1);
  EXPECT_EQ((converted<uint8_t>(-0.0f, DType::bool_, DType::float32)), 0);
  EXPECT_EQ((converted<uint8_t>(int64_t{1} << 40, DType::bool_, DType::int64)), 1);
  EXPECT_EQ((converted<uint8_t>(uint16_t{0x8000}, DType::bool_, DType::float16)), 0);
  EXPECT_EQ((converted<uint8_t>(Pair<float>{0, 1}, DType::bool_, DType::complex64)), 1);
  EXPECT_EQ((converted<float>(Pair<double>{3, 1}, DType::float32, DType::complex128)), 3);
  EXPECT_EQ((converted<Pair<float>>(int8_t{-3}, DType::complex64, DType::int8)).re, -3);
  EXPECT_EQ((converted<float>(int64_t{16777217}, DType::float32, DType::int64)), 16777216.0f);
  EXPECT_EQ((converted<int8_t>(int64_t{-129}, DType::int8, DType::int64)), 127);
  // bfloat16 rounds to even; NaN stays one.
  EXPECT_EQ((converted<uint16_t>(257.0f, DType::bfloat16, DType::float32)), 0x4380);
  EXPECT_EQ((converted<uint16_t>(259.0f, DType::bfloat16, DType::float32)), 0x4382);
  EXPECT_EQ((converted<uint16_t>(nan, DType::bfloat16, DType::float32)) & 0x7fff, 0x7fc0);
  EXPECT_EQ((converted<uint16_t>(0x1p-133f, DType::bfloat16, DType::float32)), 1);
  // float16: overflow, denormals, ties.
  EXPECT_EQ((converted<uint16_t>(65504.0f, DType::float16, DType::float32)), 0x7bff);
  EXPECT_EQ((converted<uint16_t>(65519.0f, DType::float16, DType::float32)), 0x7bff);
  EXPECT_EQ((converted<uint16_t>(65520.0f, DType::float16, DType::float32)), 0x7c00);
  EXPECT_EQ((converted<uint16_t>(-inf, DType::float16, DType::float32)), 0xfc00);
  EXPECT_EQ((converted<uint16_t>(0x1p-24f, DType::float16, DType::float32)), 1);
  EXPECT_EQ((converted<uint16_t>(0x1p-25f, DType::float16, DType::float32)), 0);
  EXPECT_EQ((converted<uint16_t>(0x1.8p-24f, DType::float16, DType::float32)), 2);
  EXPECT_EQ((converted<float>(uint16_t{1}, DType::float32, DType::float16)), 0x1p-24f);
  EXPECT_EQ((converted<float>(uint16_t{0xfbff}, DType::float32, DType::float16)), -65504.0f);
  EXPECT_TRUE(std::isnan(converted<double>(uint16_t{0x7e01}, DType::float64, DType::float16)));
}

// What C++ leaves undefined, by PyTorch 2.13 on x86-64, which every processor gives here (docs/numerics.md). The
// numbers are in the order of kOutside.
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr double kOutside[] = {kNan,         kInf,          -kInf,          3e9,  -3e9,  0x1p31, -0x1p31,
                               0x1p31 - 128, 0x1p32 + 1024, -0x1p32 - 1024, 1e20, -1e20, 0x1p63, -0x1p63};

template <class To, class From>
void expect_converted(DType to, DType from, const std::vector<To>& expected) {
  ASSERT_EQ(expected.size(), std::size(kOutside));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(converted<To>(static_cast<From>(kOutside[i]), to, from), expected[i])
        << dtype_name(from) << " " << kOutside[i] << " to " << dtype_name(to);
    const Pair<From> complex{static_cast<From>(kOutside[i]), 1};
    EXPECT_EQ(converted<To>(complex, to, sizeof(From) == 4 ? DType::complex64 : DType::complex128), expected[i]);
  }
}
template <class From>
void expect_all_converted(DType from) {
  const bool wide = sizeof(From) == 8;
  const int32_t least = INT32_MIN, last = INT32_MAX - 127;
  const int64_t none = INT64_MIN;
  expect_converted<int32_t, From>(
      DType::int32, from,
      {least, least, least, least, least, least, least, last, least, least, least, least, least, least});
  expect_converted<int64_t, From>(DType::int64, from,
                                  {none, none, none, 3000000000, -3000000000, 0x80000000, -0x80000000LL, last,
                                   0x100000400, -0x100000400, none, none, none, none});
  expect_converted<int16_t, From>(DType::int16, from, {0, 0, 0, 0, 0, 0, 0, -128, 0, 0, 0, 0, 0, 0});
  expect_converted<int8_t, From>(DType::int8, from, {0, 0, 0, 0, 0, 0, 0, -128, 0, 0, 0, 0, 0, 0});
  expect_converted<uint8_t, From>(DType::uint8, from, {0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0});
  expect_converted<uint8_t, From>(DType::bool_, from, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  expect_converted<uint64_t, From>(
      DType::uint64, from,
      {0x8000000000000000, 0, 0x8000000000000000, 3000000000, 18446744070709551616u, 0x80000000, 0xffffffff80000000,
       0x7fffff80, 0x100000400, 0xfffffffefffffc00, 0, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000});
  // Through 64 bits only where a double becomes a uint8.
  EXPECT_EQ(converted<uint8_t>(static_cast<From>(0x1p32 + 300), DType::uint8, from), wide ? 44 : 0);
  EXPECT_EQ(converted<int8_t>(static_cast<From>(0x1p32 + 300), DType::int8, from), 0);
}
TEST(Convert, FloatsOutOfRangeFollowPyTorch) {
  const int best = cpu_level();
  for (int level = 2; level <= best; ++level) {
    SCOPED_TRACE(level);
    detail::cached_cpu_level = level;
    expect_all_converted<float>(DType::float32);
    expect_all_converted<double>(DType::float64);
  }
  detail::cached_cpu_level = best;
}

TEST(Convert, EveryFloat16SurvivesFloat32) {
  std::vector<uint16_t> in(65536), back(65536);
  std::vector<float> middle(65536);
  for (int i = 0; i < 65536; ++i) in[i] = static_cast<uint16_t>(i);
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    convert(middle.data(), DType::float32, in.data(), dtype, 65536);
    convert(back.data(), dtype, middle.data(), DType::float32, 65536);
    for (int i = 0; i < 65536; ++i) {
      if (!std::isnan(middle[i])) {
        ASSERT_EQ(in[i], back[i]);
      }
    }
  }
}

}  // namespace
}  // namespace sconce
