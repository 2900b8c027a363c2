// bench-matrix: matrix products and convolutions over raw memory, on one thread. Beside the speed stands how many per
// cent of a reference that is: what was measured on one core of a 2-core Zen 4 machine (AVX-512, 116 GFLOP/s in
// float32, 234 in bfloat16) with prototypes of these kernels.
//   build/release/bin/bench-matrix --benchmark_filter='sgemm|ResNet'
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/conv/conv_plan.h"

namespace {

using namespace sconce;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<char, Free>;

// Small numbers of a dtype, the same in each run. 4096 bytes beyond the end are readable.
Bytes numbers(DType dtype, int64_t count) {
  const auto bytes = static_cast<size_t>(count) * item_size(dtype);
  Bytes out(static_cast<char*>(std::aligned_alloc(4096, (bytes + 8191) / 4096 * 4096)));
  uint32_t state = 1;
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525 + 1013904223;
    const float value = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
    if (dtype == DType::bfloat16) {
      reinterpret_cast<uint16_t*>(out.get())[i] = static_cast<uint16_t>(__builtin_bit_cast(uint32_t, value) >> 16);
    } else {
      reinterpret_cast<float*>(out.get())[i] = value;
    }
  }
  return out;
}

void count(benchmark::State& state, double flops, double reference_gflops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  if (reference_gflops > 0) {
    state.counters["% of reference"] =
        benchmark::Counter(flops * 1e-7 / reference_gflops, benchmark::Counter::kIsIterationInvariantRate);
  }
}

enum class B { rows, columns, packed };  // b as [k, n], as [n, k] (weights of a linear layer), packed beforehand

struct Product {
  const char* name;
  DType dtype;
  int64_t m, n, k;
  B b;
  double gflops;  // reference
  int64_t batch = 1;
};

void run_product(benchmark::State& state, const Product& p) {
  const Bytes a = numbers(p.dtype, p.batch * p.m * p.k), b = numbers(p.dtype, p.batch * p.k * p.n),
              c = numbers(p.dtype, p.batch * p.m * p.n);
  Bytes packed;
  const ConstMatrix left{a.get(), p.k, 1}, right{b.get(), p.b == B::columns ? 1 : p.n, p.b == B::columns ? p.k : 1};
  const Matrix out{c.get(), p.n, 1};
  if (p.b == B::packed) {
    const size_t bytes = packed_b_bytes(p.dtype, p.k, p.n);
    packed.reset(static_cast<char*>(std::aligned_alloc(4096, (bytes + 8191) / 4096 * 4096)));
    pack_b(p.dtype, p.k, p.n, right, packed.get());
  }
  for (auto _ : state) {
    if (packed) {
      gemm_packed(p.dtype, p.m, p.n, p.k, left, packed.get(), out);
    } else if (p.batch > 1) {
      gemm_batched(p.dtype, p.batch, p.m, p.n, p.k, left, right, out, {p.m * p.k, p.k * p.n, p.m * p.n});
    } else {
      gemm(p.dtype, p.m, p.n, p.k, left, right, out);
    }
    benchmark::ClobberMemory();
  }
  count(state, 2.0 * static_cast<double>(p.batch * p.m * p.n * p.k), p.gflops);
}

struct Conv {
  int64_t in_channels, size, out_channels, kernel, stride;
  bool depthwise;
  int times;  // in its network

  ConvShape shape() const {
    ConvShape s;
    s.in_channels = in_channels;
    s.out_channels = out_channels;
    s.groups = depthwise ? in_channels : 1;
    for (int i = 0; i < 2; i++) {
      s.in[i] = size;
      s.kernel[i] = kernel;
      s.stride[i] = stride;
      s.padding[i] = kernel / 2;
    }
    s.infer_output();
    return s;
  }
  double flops() const {
    const ConvShape s = shape();
    return 2.0 * static_cast<double>(s.out[0] * s.out[1] * out_channels * (in_channels / s.groups) * kernel * kernel);
  }
  std::string name() const {
    return std::to_string(in_channels) + "x" + std::to_string(size) + "^2 to " + std::to_string(out_channels) + ", " +
           std::to_string(kernel) + "x" + std::to_string(kernel) + (stride == 2 ? " stride 2" : "") +
           (depthwise ? " depthwise" : "");
  }
};

// A convolution with everything that it needs.
class Layer {
 public:
  Layer(const Conv& conv, DType dtype, ConvPlan (*make)(const ConvShape&, DType)) : plan_(make(conv.shape(), dtype)) {
    const ConvShape& s = plan_.shape;
    const int64_t per_group = s.in_channels / s.groups, taps = s.kernel[0] * s.kernel[1];
    x_ = numbers(dtype, s.in[0] * s.in[1] * s.in_channels);
    y_ = numbers(dtype, s.out[0] * s.out[1] * s.out_channels);
    bias_ = numbers(dtype, s.out_channels);
    const Bytes w = numbers(dtype, s.out_channels * per_group * taps);
    const int64_t strides[] = {per_group * taps, taps, s.kernel[1], 1};
    packed_.reset(static_cast<char*>(std::aligned_alloc(4096, (plan_.packed_bytes + 8191) / 4096 * 4096)));
    plan_.pack(w.get(), strides, packed_.get());
    epilogue_.bias = bias_.get();
    epilogue_.lo = 0;
  }
  void run() const { plan_.run(x_.get(), packed_.get(), y_.get(), epilogue_); }

 private:
  ConvPlan plan_;
  Bytes x_, y_, bias_, packed_;
  Epilogue epilogue_;
};

ConvPlan direct(const ConvShape& shape, DType dtype) { return plan_conv(shape, dtype, Numerics::exact); }
ConvPlan standard(const ConvShape& shape, DType dtype) { return plan_conv(shape, dtype, Numerics::standard); }
ConvPlan fast(const ConvShape& shape, DType dtype) { return plan_conv(shape, dtype, Numerics::fast); }
ConvPlan winograd4(const ConvShape& shape, DType dtype) { return plan_conv(shape, dtype, ConvAlgorithm::winograd4); }

struct ConvRow {
  Conv conv;
  double us[3];  // references: direct, F(2,3), F(4,3); 0 where there is none
};

const ConvRow conv_rows[] = {
    {{3, 224, 64, 7, 2, false, 1}, {2330, 0, 0}},        {{64, 56, 64, 3, 1, false, 1}, {2062, 1082, 670}},
    {{128, 28, 128, 3, 1, false, 1}, {2014, 1025, 570}}, {{256, 14, 256, 3, 1, false, 1}, {2014, 943, 721}},
    {{512, 7, 512, 3, 1, false, 1}, {2021, 1288, 997}},  {{64, 56, 256, 1, 1, false, 1}, {950, 0, 0}},
    {{512, 28, 1024, 1, 2, false, 1}, {1805, 0, 0}},     {{96, 56, 24, 1, 1, false, 1}, {176, 0, 0}},
    {{88, 28, 88, 3, 1, true, 1}, {23, 0, 0}},           {{240, 14, 240, 5, 1, true, 1}, {24, 0, 0}},
    {{240, 1, 64, 1, 1, false, 1}, {0.6, 0, 0}},
};

// All convolutions of networks for images of 224 x 224.
const std::vector<Conv> resnet50 = {
    {3, 224, 64, 7, 2, false, 1},    {64, 56, 64, 1, 1, false, 1},    {64, 56, 64, 3, 1, false, 3},
    {64, 56, 256, 1, 1, false, 4},   {256, 56, 64, 1, 1, false, 2},   {256, 56, 128, 1, 1, false, 1},
    {128, 56, 128, 3, 2, false, 1},  {128, 28, 512, 1, 1, false, 4},  {256, 56, 512, 1, 2, false, 1},
    {512, 28, 128, 1, 1, false, 3},  {128, 28, 128, 3, 1, false, 3},  {512, 28, 256, 1, 1, false, 1},
    {256, 28, 256, 3, 2, false, 1},  {256, 14, 1024, 1, 1, false, 6}, {512, 28, 1024, 1, 2, false, 1},
    {1024, 14, 256, 1, 1, false, 5}, {256, 14, 256, 3, 1, false, 5},  {1024, 14, 512, 1, 1, false, 1},
    {512, 14, 512, 3, 2, false, 1},  {512, 7, 2048, 1, 1, false, 3},  {1024, 14, 2048, 1, 2, false, 1},
    {2048, 7, 512, 1, 1, false, 2},  {512, 7, 512, 3, 1, false, 2},
};
const std::vector<Conv> resnet18 = {
    {3, 224, 64, 7, 2, false, 1},   {64, 56, 64, 3, 1, false, 4},   {64, 56, 128, 3, 2, false, 1},
    {128, 28, 128, 3, 1, false, 3}, {64, 56, 128, 1, 2, false, 1},  {128, 28, 256, 3, 2, false, 1},
    {256, 14, 256, 3, 1, false, 3}, {128, 28, 256, 1, 2, false, 1}, {256, 14, 512, 3, 2, false, 1},
    {512, 7, 512, 3, 1, false, 3},  {256, 14, 512, 1, 2, false, 1},
};
const std::vector<Conv> mobilenet_v3_small = {
    {3, 224, 16, 3, 2, false, 1},  {16, 112, 16, 3, 2, true, 1},  {16, 1, 8, 1, 1, false, 1},
    {8, 1, 16, 1, 1, false, 1},    {16, 56, 16, 1, 1, false, 1},  {16, 56, 72, 1, 1, false, 1},
    {72, 56, 72, 3, 2, true, 1},   {72, 28, 24, 1, 1, false, 1},  {24, 28, 88, 1, 1, false, 1},
    {88, 28, 88, 3, 1, true, 1},   {88, 28, 24, 1, 1, false, 1},  {24, 28, 96, 1, 1, false, 1},
    {96, 28, 96, 5, 2, true, 1},   {96, 1, 24, 1, 1, false, 1},   {24, 1, 96, 1, 1, false, 1},
    {96, 14, 40, 1, 1, false, 1},  {40, 14, 240, 1, 1, false, 2}, {240, 14, 240, 5, 1, true, 2},
    {240, 1, 64, 1, 1, false, 2},  {64, 1, 240, 1, 1, false, 2},  {240, 14, 40, 1, 1, false, 2},
    {40, 14, 120, 1, 1, false, 1}, {120, 14, 120, 5, 1, true, 1}, {120, 1, 32, 1, 1, false, 1},
    {32, 1, 120, 1, 1, false, 1},  {120, 14, 48, 1, 1, false, 1}, {48, 14, 144, 1, 1, false, 1},
    {144, 14, 144, 5, 1, true, 1}, {144, 1, 40, 1, 1, false, 1},  {40, 1, 144, 1, 1, false, 1},
    {144, 14, 48, 1, 1, false, 1}, {48, 14, 288, 1, 1, false, 1}, {288, 14, 288, 5, 2, true, 1},
    {288, 1, 72, 1, 1, false, 1},  {72, 1, 288, 1, 1, false, 1},  {288, 7, 96, 1, 1, false, 1},
    {96, 7, 576, 1, 1, false, 2},  {576, 7, 576, 5, 1, true, 2},  {576, 1, 144, 1, 1, false, 2},
    {144, 1, 576, 1, 1, false, 2}, {576, 7, 96, 1, 1, false, 2},  {96, 7, 576, 1, 1, false, 1},
};

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void run_layers(benchmark::State& state, const std::vector<Conv>& convs, DType dtype,
                ConvPlan (*make)(const ConvShape&, DType), double reference_us) {
  struct Timed {
    Layer layer;
    int times, repeats;  // in the network, and so that the clock costs nothing
  };
  std::vector<Timed> layers;
  double flops = 0;
  for (const Conv& conv : convs) {
    layers.push_back({Layer(conv, dtype, make), conv.times, 1 + static_cast<int>(2e6 / conv.flops())});
    flops += conv.flops() * conv.times;
  }
  // As the reference was measured: each layer by itself, its weights in the cache where they fit.
  for (auto _ : state) {
    double seconds = 0;
    for (const auto& [layer, times, repeats] : layers) {
      layer.run();
      const double start = thread_seconds();
      for (int i = 0; i < times * repeats; i++) layer.run();
      seconds += (thread_seconds() - start) / repeats;
    }
    state.SetIterationTime(seconds);
  }
  count(state, flops, reference_us > 0 ? flops * 1e-3 / reference_us : 0);
}

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

const Product products[] = {
    {"sgemm 8^3", f32, 8, 8, 8, B::rows, 20.5},
    {"sgemm 16^3", f32, 16, 16, 16, B::rows, 81},
    {"sgemm 64^3", f32, 64, 64, 64, B::rows, 108},
    {"sgemm 65^3", f32, 65, 65, 65, B::rows, 86},
    {"sgemm 128^3", f32, 128, 128, 128, B::rows, 111},
    {"sgemm 256^3", f32, 256, 256, 256, B::rows, 113},
    {"sgemm 256^3 transposed b", f32, 256, 256, 256, B::columns, 109},
    {"sgemm 256^3 packed", f32, 256, 256, 256, B::packed, 116},
    {"sgemm 1000x1001x999", f32, 1000, 1001, 999, B::rows, 109},
    {"sgemm 1024^3", f32, 1024, 1024, 1024, B::rows, 106},
    {"sgemm 1024^3 packed", f32, 1024, 1024, 1024, B::packed, 106},
    {"sgemm 2048^3", f32, 2048, 2048, 2048, B::rows, 99},
    {"linear 1x64x64", f32, 1, 64, 64, B::columns, 32},
    {"linear 1x64x64 packed", f32, 1, 64, 64, B::packed, 65},
    {"linear 1x1024x1024", f32, 1, 1024, 1024, B::columns, 35},
    {"linear 1x1024x1024 packed", f32, 1, 1024, 1024, B::packed, 47},
    {"linear 1x4096x4096", f32, 1, 4096, 4096, B::columns, 12},
    {"linear 1x4096x4096 packed", f32, 1, 4096, 4096, B::packed, 18},
    {"linear 4x1024x1024 packed", f32, 4, 1024, 1024, B::packed, 115},
    {"linear 16x1024x1024", f32, 16, 1024, 1024, B::rows, 110},
    {"linear 128x768x768", f32, 128, 768, 768, B::columns, 99},
    {"linear 128x768x768 packed", f32, 128, 768, 768, B::packed, 112},
    {"1024x1x1024", f32, 1024, 1, 1024, B::rows, 34},
    {"1000 of 4^3", f32, 4, 4, 4, B::rows, 4.4, 1000},
    {"12 of 128x128x64", f32, 128, 128, 64, B::columns, 98, 12},
    {"12 of 128x64x128", f32, 128, 64, 128, B::rows, 111, 12},
    {"bf16 64^3 packed", bf16, 64, 64, 64, B::packed, 211},
    {"bf16 128x768x768 packed", bf16, 128, 768, 768, B::packed, 233},
    {"bf16 1024^3 packed", bf16, 1024, 1024, 1024, B::packed, 229},
    {"bf16 1024^3", bf16, 1024, 1024, 1024, B::rows, 229},
    {"bf16 128x768x768", bf16, 128, 768, 768, B::columns, 233},
    {"bf16 3136x64x64 packed", bf16, 3136, 64, 64, B::packed, 210},
    {"bf16 4x1024x1024 packed", bf16, 4, 1024, 1024, B::packed, 227},
    {"bf16 1x1024x1024 packed", bf16, 1, 1024, 1024, B::packed, 78},
    {"bf16 1x1024x1024", bf16, 1, 1024, 1024, B::columns, 78},
    {"bf16 1x4096x4096 packed", bf16, 1, 4096, 4096, B::packed, 46},
};

template <class F>
auto* add(const std::string& name, F&& run) {
  return benchmark::RegisterBenchmark(name.c_str(), std::forward<F>(run));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  set_num_threads(1);
  for (const Product& p : products) add(p.name, [&p](benchmark::State& state) { run_product(state, p); });
  for (const ConvRow& row : conv_rows) {
    const auto one = [&row](auto make, double us) {
      return [&row, make, us](benchmark::State& state) { run_layers(state, {row.conv}, f32, make, us); };
    };
    add("conv " + row.conv.name(), one(direct, row.us[0]))->UseManualTime();
    if (row.us[1] > 0) add("conv " + row.conv.name() + ", F(2,3)", one(standard, row.us[1]))->UseManualTime();
    if (row.us[2] > 0) add("conv " + row.conv.name() + ", F(4,3)", one(winograd4, row.us[2]))->UseManualTime();
  }
  const auto network = [](const char* name, const std::vector<Conv>& convs, DType dtype, auto make, double us) {
    add(name, [&convs, dtype, make, us](benchmark::State& state) {
      run_layers(state, convs, dtype, make, us);
    })->UseManualTime();
  };
  network("ResNet-50, direct", resnet50, f32, direct, 68900);
  network("ResNet-50, F(2,3)", resnet50, f32, standard, 56900);
  network("ResNet-50, F(4,3)", resnet50, f32, fast, 55500);
  network("ResNet-50, bf16", resnet50, bf16, direct, 34500);
  network("ResNet-18, direct", resnet18, f32, direct, 29300);
  network("ResNet-18, F(4,3)", resnet18, f32, fast, 18000);
  network("ResNet-18, bf16", resnet18, bf16, direct, 14900);
  network("MobileNetV3-small", mobilenet_v3_small, f32, direct, 1140);
  network("MobileNetV3-small, bf16", mobilenet_v3_small, bf16, direct, 720);
  benchmark::RunSpecifiedBenchmarks();
}
