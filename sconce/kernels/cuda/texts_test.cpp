// Texts of CUDA kernels: what is written around an expression, that every operator has one for each of its classes, and
// that NVRTC, where it is installed, compiles them all.
#include "sconce/kernels/cuda/texts.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/kernels/cuda/layout.h"
#include "sconce/kernels/cuda/pointwise_engine.h"
#include "sconce/kernels/cuda/reduction_engine.h"
#include "sconce/kernels/loop_lists.h"

namespace sconce::cuda {
namespace {

const PointwiseLoops& loops_named(std::string_view name) {
  for (const PointwiseLoops* loops : pointwise_loops()) {
    if (loops->name == name) return *loops;
  }
  throw std::runtime_error("no such loops");
}
const ReduceLoops& reduction_named(std::string_view name) {
  for (const ReduceLoops* loops : reduce_loops()) {
    if (loops->name == name) return *loops;
  }
  throw std::runtime_error("no such reduction");
}

// The source without the embedded files.
std::string own_lines(std::string source) {
  for (const NamedText& file : text_files()) {
    const std::string_view text = file.text;
    if (const size_t at = source.find(text); at != source.npos) source.erase(at, text.size());
  }
  return source;
}

alignas(16) char memory[64];

TEST(CudaTexts, EveryOperatorHasTheClassesOfItsLoops) {
  constexpr Compute kOne[] = {Compute::u8, Compute::i64, Compute::f32, Compute::c64};
  for (const PointwiseLoops* loops : pointwise_loops()) {
    const DeviceText& text = text_of(*loops);
    for (int c = 0; c < 4; ++c) {
      EXPECT_EQ(text.texts[c] != nullptr, loops->loops[0][static_cast<int>(kOne[c])] != nullptr)
          << text.name << " class " << c;
    }
  }
  EXPECT_GT(pointwise_loops().size(), 250u);
  for (const ReduceLoops* loops : reduce_loops()) EXPECT_TRUE(text_of(*loops) || loops->ordered) << loops->name;
}

TEST(CudaTexts, DensePointwise) {
  const int64_t sizes[] = {1000}, strides[] = {1};
  const Operand operand{memory, DType::float32, strides}, in[] = {operand, operand};
  const Param alpha = Param::from_int(1);
  const PointwiseText text = pointwise_text({loops_named("add.Tensor"), DType::float32, sizes, operand, in, &alpha, 0});
  EXPECT_STREQ(text.entry, "dense");
  EXPECT_EQ(
      own_lines(text.source),
      "using V = float; using P = float;\n"
      "#define L(x) x##f\n"
      "#define V_INF float(INFINITY_64)\n"
      "#define V_NAN float(NAN_64)\n"
      "namespace word {\n"
      "DEVICE V op(V self, V other, V alpha, int narrow_mode) { return V((self + narrow((narrow(alpha, narrow_mode) * "
      "other), narrow_mode))); }\n"
      "}\n"
      "using In0 = f32;\n"
      "using In1 = f32;\n"
      "using Out = f32;\n"
      "#define WIDTH 4\n"
      "#define UNROLL 1\n"
      "#define WHOLE 0\n"
      "using Index = u32;\n"
      "#define INPUTS(X) X(0) X(1)\n"
      "#define DENSE 1\n"
      "using Arguments = DenseArguments;\n"
      "HOT Out element(In0 x0, In1 x1, const Arguments& a) { return as<Out>(as<f32>(word::op(as<V>(as<f32>(x0)), "
      "as<V>(as<f32>(x1)), number<V>(a.numbers[0]), a.narrow_mode))); }\n");
}

TEST(CudaTexts, LayoutsChooseKernels) {
  const int64_t sizes[] = {64, 128}, rows[] = {128, 1}, across[] = {1, 64}, vector[] = {0, 1}, odd[] = {129, 1};
  const Param alpha = Param::from_int(1);
  const auto entry = [&](const int64_t* second, DType dtype = DType::float32) {
    const Operand out{memory, DType::float32, rows}, in[] = {out, {memory, dtype, second}};
    const PointwiseText text = pointwise_text({loops_named("add.Tensor"), DType::float32, sizes, out, in, &alpha, 0});
    return fmt::format("{} {}", text.entry, text.key.substr(text.key.rfind('/')));
  };
  EXPECT_EQ(entry(rows), "dense /4.1.1.0.0");
  EXPECT_EQ(entry(vector), "pointwise /4.2.32w.0.0");          // broadcast: one operand is streamed
  EXPECT_EQ(entry(odd), "pointwise /1.4.32.0.0");              // lines that are not aligned
  EXPECT_EQ(entry(across), "across /4.1.32.2.64");             // transposed: tiles
  EXPECT_EQ(entry(rows, DType::float64), "dense /2.1.1.0.0");  // the widest operand decides
  const Operand half{memory, DType::bfloat16, rows}, in[] = {half, half};
  const PointwiseText text = pointwise_text({loops_named("add.Tensor"), DType::bfloat16, sizes, half, in, &alpha, 0});
  EXPECT_EQ(text.key.substr(text.key.rfind('/')), "/8.1.1.0.0");
}

TEST(CudaTexts, CopiesMoveBitsOrConvert) {
  const int64_t sizes[] = {1000}, strides[] = {1};
  const Operand f32{memory, DType::float32, strides}, i32{memory, DType::int32, strides},
      f16{memory, DType::float16, strides};
  EXPECT_EQ(copy_text(sizes, f32, f32).key, copy_text(sizes, i32, i32).key);
  EXPECT_NE(own_lines(copy_text(sizes, f32, f32).source).find("using In0 = u32;"), std::string::npos);
  EXPECT_NE(own_lines(copy_text(sizes, f16, f32).source).find("using Out = f16;"), std::string::npos);
}

TEST(CudaTexts, RowsAndColumnsOfReductions) {
  const int64_t sizes[] = {64, 4096}, strides[] = {4096, 1}, kept_rows[] = {1, 0}, kept_columns[] = {0, 1};
  const auto entry = [&](bool first, const int64_t* out_strides) {
    const bool reduced[] = {first, !first};
    const Operand in{memory, DType::float32, strides}, out[] = {{memory, DType::float32, out_strides}};
    const ReductionText text =
        reduction_text({reduction_named("sum"), DType::float32, sizes, reduced, in, out, nullptr});
    return fmt::format("{} {}", text.entry, text.key.substr(text.key.rfind('/')));
  };
  EXPECT_EQ(entry(false, kept_rows), "rows /rows4.128.2");
  EXPECT_EQ(entry(true, kept_columns), "columns /columns4.0.8");
}

TEST(CudaTexts, DivisionsAreMultiplications) {
  for (const uint32_t size : {1u, 2u, 3u, 5u, 7u, 641u, 65537u, 2147483647u}) {
    const Division d = division_by(size);
    for (const uint32_t n : {0u, 1u, size - 1, size, size + 1, 123456789u, 2147483646u, 2147483647u}) {
      if (n > 2147483647u) continue;
      const auto high = static_cast<uint32_t>(static_cast<uint64_t>(n) * d.magic >> 32);
      EXPECT_EQ((high + n) >> d.shift, n / size) << n << " / " << size;
    }
  }
}

// All expressions of one compute type as one program.
std::string all_expressions(Compute compute) {
  const auto cls = static_cast<int>(class_of(compute));
  std::string out = vocabulary(class_of(compute) == Class::complex, class_of(compute) == Class::real ? 63 : 0,
                               class_of(compute) == Class::real) +
                    compute_lines(compute);
  std::string calls;
  int number = 0;
  for (const PointwiseLoops* loops : pointwise_loops()) {
    const char* text = text_of(*loops).texts[cls];
    if (text == nullptr) continue;
    out += fmt::format("namespace word {{ namespace n{} {{\n{}}} }}\n", number, text);
    std::string arguments;
    for (int k = 0; k < loops->inputs; ++k)
      arguments += loops->mask_inputs >> k & 1 ? "mask, " : fmt::format("x[{}], ", k);
    for (int k = 0; k < loops->params; ++k) arguments += fmt::format("x[{}], ", 9 + k);
    calls += fmt::format("  r[{}] = V(word::n{}::op({}mode));\n", number, number, arguments);
    ++number;
  }
  return out + "extern \"C\" __global__ void all(V* r, const V* x, bool mask, int mode) {\n" + calls + "}\n";
}

TEST(CudaTexts, NvrtcCompilesEveryExpression) {
  if (find_nvrtc() == nullptr) GTEST_SKIP() << why_no_nvrtc();
  for (const Compute compute :
       {Compute::f32, Compute::f64, Compute::i32, Compute::i64, Compute::u8, Compute::c64, Compute::c128}) {
    EXPECT_NO_THROW(compile_text(all_expressions(compute), 90)) << static_cast<int>(compute);
  }
  for (const int architecture : {80, 100}) {
    EXPECT_NO_THROW(compile_text(all_expressions(Compute::i64), architecture)) << architecture;
    EXPECT_NO_THROW(compile_text(all_expressions(Compute::c64), architecture)) << architecture;
  }
}

}  // namespace
}  // namespace sconce::cuda
