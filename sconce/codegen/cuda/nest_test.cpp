// Kernels of nests on a device against op by op: on a GPU, or on the host's stand-in for one (tests/host_gpu). And
// their texts.
#include <gtest/gtest.h>

#include "sconce/codegen/cuda/cuda_maker.h"
#include "sconce/codegen/cuda/nest_kernel.h"
#include "sconce/codegen/cuda/nest_text.h"
#include "sconce/codegen/device_maker.h"
#include "sconce/codegen/test_random_nest.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/loops/test_nest.h"
#include "sconce/ops.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/copy.h"

namespace sconce::cuda {
namespace {

using codegen::Memory;
using loops::from_buffer;
using loops::from_call;
using loops::NestText;
using loops::RowOp;

constexpr Device kGpu{DeviceType::cuda, 0};

// The source without the embedded files.
std::string own_lines(std::string source) {
  for (const NamedText& file : text_files()) {
    const std::string_view text = file.text;
    if (const size_t at = source.find(text); at != source.npos) source.erase(at, text.size());
  }
  return source;
}

constexpr const char* kChain =
    "nest [1000]\n"
    "  b0 f32 (1)\n"
    "  b1 f32 (0)\n"
    "  b2 f32 (1) written\n"
    "  %0 : f32 = sigmoid(b0)\n"
    "  %1 : f32 = mul.Tensor(%0, b1)\n"
    "  %2 : f32 = relu(%1)\n"
    "  b2 = %2\n";

TEST(CudaNests, DenseText) {
  const loops::Nest nest = NestText(kChain).nest;
  const PointwiseSchedule s = schedule_pointwise(nest, true);
  EXPECT_TRUE(s.is_dense);
  EXPECT_EQ(s.width, 4);
  const std::string text = own_lines(nest_text(nest, s).source);
  EXPECT_EQ(
      text.substr(text.find("HOT void body")),
      "HOT void body(f32 x0, f32 x1, f32& y2, const NestArguments& a) {\n"
      "  const f32 t0 = as<f32>(as<f32>(word::op_sigmoid_f32::op(as<word::op_sigmoid_f32::V>(as<f32>(x0)), 0)));\n"
      "  const f32 t1 = as<f32>(as<f32>(word::op_mul_Tensor_f32::op(as<word::op_mul_Tensor_f32::V>(as<f32>(t0)), "
      "as<word::op_mul_Tensor_f32::V>(as<f32>(x1)), 0)));\n"
      "  const f32 t2 = as<f32>(as<f32>(word::op_relu_f32::op(as<word::op_relu_f32::V>(as<f32>(t1)), 0)));\n"
      "  y2 = t2;\n"
      "}\n"
      "extern \"C\" __global__ void __launch_bounds__(kThreads) nest(const __grid_constant__ NestArguments a) {\n"
      "  DEPENDENT_START\n"
      "  constexpr i64 kTile = i64(kThreads) * UNROLL * WIDTH;\n"
      "  const i64 tile = i64(blockIdx.x) * kTile;\n"
      "  const f32* const p0 = static_cast<const f32*>(a.data[0]);\n"
      "  const f32* const p1 = static_cast<const f32*>(a.data[1]);\n"
      "  f32* const q2 = static_cast<f32*>(a.data[2]);\n"
      "  const f32 s1 = *p1;\n"
      "  if (tile + kTile <= a.elements) {\n"
      "    Pack<f32, WIDTH> x0[UNROLL];\n"
      "#pragma unroll\n"
      "    for (int u = 0; u < UNROLL; ++u) {\n"
      "      const i64 at = tile + i64(u * kThreads + threadIdx.x) * WIDTH;\n"
      "      x0[u] = read<WIDTH>(p0 + at);\n"
      "    }\n"
      "#pragma unroll\n"
      "    for (int u = 0; u < UNROLL; ++u) {\n"
      "      const i64 at = tile + i64(u * kThreads + threadIdx.x) * WIDTH;\n"
      "      f32 y2[WIDTH];\n"
      "#pragma unroll\n"
      "      for (int i = 0; i < WIDTH; ++i) body(x0[u].v[i], s1, y2[i], a);\n"
      "      write<WIDTH>(q2 + at, pack_of<f32>(y2));\n"
      "    }\n"
      "  } else {\n"
      "    for (i64 i = tile + threadIdx.x; i < a.elements; i += kThreads) {\n"
      "      f32 y2;\n"
      "      body(p0[i], s1, y2, a);\n"
      "      q2[i] = as<f32>(y2);\n"
      "    }\n"
      "  }\n"
      "}\n");
}

// 16-bit floats between calls are floats with their bits; what is stored is rounded with its pack.
TEST(CudaNests, BodiesHoldNarrowResultsAsFloats) {
  const loops::Nest nest = NestText(
                               "nest [1000]\n"
                               "  b0 bf16 (1)\n"
                               "  b1 f32 (1)\n"
                               "  b2 bf16 (1) written\n"
                               "  b3 bf16 (1) written\n"
                               "  %0 : bf16 = sigmoid(b0)\n"
                               "  %1 : bf16 = convert(b1)\n"
                               "  %2 : bf16 = mul.Tensor(%0, %1)\n"
                               "  b2 = %0\n"
                               "  b3 = %2\n")
                               .nest;
  NestNumbers numbers;
  const std::string first =
      "  const f32 t0 = rounded<bf16>(word::op_sigmoid_f32::op(as<word::op_sigmoid_f32::V>(as<bf16>(x0)), 2));\n"
      "  const f32 t1 = rounded<bf16>(as<f32>(x1));\n";
  EXPECT_EQ(body_function(nest, numbers, "body", "A", true),
            "HOT void body(bf16 x0, f32 x1, f32& y2, f32& y3, const A& a) {\n" + first +
                "  const f32 t2 = word::op_mul_Tensor_f32::op(t0, t1, 2);\n"
                "  y2 = t0;\n"
                "  y3 = t2;\n"
                "}\n");
  EXPECT_EQ(body_function(nest, numbers, "body", "A"),
            "HOT void body(bf16 x0, f32 x1, bf16& y2, bf16& y3, const A& a) {\n" + first +
                "  const bf16 t2 = as<bf16>(as<bf16>(word::op_mul_Tensor_f32::op(t0, t1, 2)));\n"
                "  y2 = as<bf16>(t0);\n"
                "  y3 = t2;\n"
                "}\n");
}

TEST(CudaNests, SchedulesFollowTheLayout) {
  const auto schedule = [](const char* buffers, bool packed = true) {
    const loops::Nest nest =
        NestText(std::string("nest [64, 128]\n") + buffers + "  %0 : f32 = mul.Tensor(b0, b1)\n  b2 = %0\n").nest;
    const PointwiseSchedule s = schedule_pointwise(nest, packed);
    return std::to_string(s.layout.rank) + (s.is_dense ? " dense " : " strided ") + std::to_string(s.width);
  };
  const char* dense = "  b0 f32 (128, 1)\n  b1 f32 (128, 1)\n  b2 f32 (128, 1) written\n";
  EXPECT_EQ(schedule(dense), "1 dense 4");
  EXPECT_EQ(schedule(dense, false), "1 dense 1");
  EXPECT_EQ(schedule("  b0 f32 (128, 1)\n  b1 f32 (0, 1)\n  b2 f32 (128, 1) written\n"), "2 strided 4");
  EXPECT_EQ(schedule("  b0 f32 (129, 1)\n  b1 f32 (0, 1)\n  b2 f32 (128, 1) written\n"), "2 strided 1");
  EXPECT_EQ(schedule("  b0 f32 (1, 64)\n  b1 f32 (1, 64)\n  b2 f32 (1, 64) written\n"), "1 dense 4");
}

class CudaNestRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = start(); !why.empty()) GTEST_SKIP() << "no CUDA device: " << why;
    if (!find_nvrtc()) GTEST_SKIP() << why_no_nvrtc();
    connect_maker();
  }
};

// The memory of a nest on the device.
struct There {
  std::vector<Tensor> tensors;
  std::vector<void*> addresses;
  explicit There(std::vector<Memory>& memory) {
    const Backend& backend = backend_of(kGpu);
    for (Memory& m : memory) {
      const auto bytes = static_cast<int64_t>(m.bytes.size());
      tensors.push_back(empty_tensor({std::max<int64_t>(bytes, 1)}, DType::uint8, kGpu));
      if (bytes) backend.copy_bytes(tensors.back().data(), kGpu, m.bytes.data(), {}, m.bytes.size());
      addresses.push_back(static_cast<char*>(tensors.back().data()) + m.start);
    }
  }
  void fetch(std::vector<Memory>& memory) const {
    for (size_t k = 0; k < memory.size(); ++k) {
      if (memory[k].bytes.empty()) continue;
      backend_of(kGpu).copy_bytes(memory[k].bytes.data(), {}, tensors[k].data(), kGpu, memory[k].bytes.size());
    }
  }
};

// Arithmetic alone: the bits of the CPU.
TEST_F(CudaNestRuns, RandomNestsHaveTheBitsOfTheCpu) {
  // Floats and integers apart: what an infinity becomes as an integer is not the same everywhere.
  constexpr DType kFloats[] = {DType::float32, DType::float32, DType::bfloat16,
                               DType::float16, DType::float64, DType::bool_};
  constexpr DType kIntegers[] = {DType::int64, DType::int32, DType::int16, DType::uint8, DType::bool_};
  const std::vector<codegen::Candidate> all = codegen::candidates();
  const char* wanted = std::getenv("SCONCE_RANDOM_NESTS");
  const int seeds = wanted ? std::atoi(wanted) : 24;
  for (int seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    const std::span<const DType> dtypes = seed % 3 == 0 ? std::span<const DType>(kIntegers) : kFloats;
    const codegen::RandomNest random(static_cast<uint32_t>(seed), all, {dtypes, true, true});
    if (random.nest.numel() == 0) continue;
    std::vector<Memory> expected = random.fresh_memory(), actual = random.fresh_memory();
    codegen::make(random.nest, codegen::Maker::off)->run(codegen::pointers(expected).data());
    const There there(actual);
    const auto kernel = make_nest_kernel(random.nest, kGpu);
    kernel->run(there.addresses.data());
    there.fetch(actual);
    EXPECT_EQ(codegen::difference(random.nest, expected, actual, true), -1)
        << "seed " << seed << "\n"
        << loops::to_string(random.nest) << own_lines(kernel->to_string());
  }
}

Tensor up(const Tensor& t) { return to(t, kGpu, t.dtype()); }
Tensor down(const Tensor& t) { return to(t, Device(), t.dtype()); }

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(down(a)), y = contiguous(down(b));
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel()) * x.item_size()) == 0;
}

// (x * w) by a row operator, then + x: the bits of eager's kernels on the same device.
TEST_F(CudaNestRuns, RowsHaveTheBitsOfEager) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
    for (const int64_t columns : {5, 128, 1000, 1028, 4100}) {
      for (const RowOp op : {RowOp::softmax, RowOp::log_softmax, RowOp::layer_norm, RowOp::rms_norm}) {
        if (columns > 1000 && dtype == DType::float64) continue;
        const Tensor x = up(to(randn({11, columns}), dtype)), w = up(to(randn({columns}), dtype));
        const Tensor scaled = mul(x, w);
        const Tensor expected = op == RowOp::softmax       ? softmax(scaled, -1)
                                : op == RowOp::log_softmax ? log_softmax(scaled, -1)
                                : op == RowOp::layer_norm  ? layer_norm(scaled, {columns}, w, w, 1e-5)
                                                           : rms_norm(scaled, {columns}, w, 1e-5);
        const Tensor out = empty_like(x), sum = empty_like(x);
        loops::Nest nest;
        nest.sizes = {11, columns};
        nest.buffers = {{dtype, {columns, 1}, false},
                        {dtype, {0, 1}, false},
                        {dtype, {columns, 1}, true},
                        {dtype, {columns, 1}, true}};
        const auto call = [&](const char* name, std::initializer_list<loops::Source> in) {
          const Op* found = find_op(name);
          const auto cases = found->info.entry->pointwise();
          loops::LoopCall c = loops::make_call(*found, *cases[cases.size() - 1].loops, dtype, dtype);
          for (const auto s : in) c.inputs.push_back(s);
          for (int i = 0; i < c.loops->params; ++i) c.params.push_back(Param::from_int(1));
          nest.calls.push_back(c);
        };
        call("aten::mul.Tensor", {from_buffer(0), from_buffer(1)});
        loops::LoopCall row = loops::make_row_call(op, dtype, 1e-5);
        row.inputs.push_back(from_call(0));
        const int more = op == RowOp::layer_norm ? 2 : op == RowOp::rms_norm ? 1 : 0;
        for (int i = 0; i < more; ++i) row.inputs.push_back(from_buffer(1));
        nest.calls.push_back(row);
        call("aten::add.Tensor", {from_call(1), from_buffer(0)});
        nest.stores = {{1, 2}, {2, 3}};
        void* const buffers[] = {x.data(), w.data(), out.data(), sum.data()};
        make_nest_kernel(nest, kGpu)->run(buffers);
        EXPECT_TRUE(same_bits(out, expected)) << dtype_name(dtype) << " " << columns << " " << static_cast<int>(op);
        EXPECT_TRUE(same_bits(sum, add(expected, x))) << dtype_name(dtype) << " " << columns;
      }
    }
  }
}

TEST_F(CudaNestRuns, KernelsAreMadeInTheBackground) {
  const loops::Nest nest = NestText(kChain).nest;
  const auto kernel = make_nest_kernel(nest, kGpu);
  kernel->wait();
  EXPECT_TRUE(kernel->is_ready());
  const Tensor x = up(randn({1000})), y = up(randn({1})), out = empty_like(x);
  void* const buffers[] = {x.data(), y.data(), out.data()};
  kernel->run(buffers);
  EXPECT_TRUE(same_bits(out, relu(mul(sigmoid(x), y))));
  // Addresses that are no multiples of a pack.
  const Tensor long_x = up(randn({1001})), part = slice(long_x, 0, 1, 1001, 1);
  void* const shifted[] = {part.data(), y.data(), out.data()};
  kernel->run(shifted);
  EXPECT_TRUE(same_bits(out, relu(mul(sigmoid(part), y))));
}

}  // namespace
}  // namespace sconce::cuda
