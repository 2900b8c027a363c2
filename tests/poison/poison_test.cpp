// What libsconce_poison.so shows: memory that is read before it is written, and writes past an end, in each kind of
// memory that results pass through. Every test fails without the library.
#include "sconce/tensor/memory/poison.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/function_plans.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce {
namespace {

// So that the compiler does not know what is read and written.
template <class T>
T read(const T* p) {
  return *const_cast<const volatile T*>(p);
}
template <class T>
void write(T* p) {
  *const_cast<volatile T*>(p) = T(1);
}

bool all_nan(const float* p, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!std::isnan(read(p + i))) return false;
  }
  return true;
}

TEST(Poison, IsPreloaded) { ASSERT_TRUE(memory_poison()); }

TEST(Poison, IsNaNOrMinusOneInFreshTensors) {
  for (const int64_t size : {1, 10, 200, 1000, 100'000, 1'000'000}) {
    for (int turn = 0; turn < 2; ++turn) {  // the second one has memory of the first
      const Tensor t = empty({size});
      EXPECT_TRUE(all_nan(t.data<float>(), static_cast<size_t>(size))) << size;
      std::fill_n(t.data<float>(), size, 1.f);
    }
  }
  EXPECT_EQ(read(empty({3}, DType::int64).data<int64_t>()), -1);
  EXPECT_TRUE(std::isnan(read(empty({3}, DType::float64).data<double>())));
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor sum = to_dtype(empty({3}, dtype), DType::float32);
    EXPECT_TRUE(all_nan(sum.data<float>(), 3));
  }
}

TEST(Poison, SeesWritesPastTensors) {
  for (const int64_t size : {16, 1024, 100'000}) {
    const auto overrun = [&] {
      const Tensor t = empty({size});
      write(t.data<float>() + size);
    };
    EXPECT_DEATH(overrun(), "poison: a write past the end of a block of [0-9]+ bytes, at byte") << size;
  }
  const auto underrun = [] {
    const Tensor t = empty({1000});
    write(t.data<float>() - 1);
  };
  EXPECT_DEATH(underrun(), "poison: a write before the beginning of a block of 4032 bytes, at byte -4");
}

TEST(Poison, IsInScratch) {
  for (int turn = 0; turn < 2; ++turn) {
    Scratch scratch;
    float *a = scratch.take<float>(50), *b = scratch.take<float>(100'000);
    EXPECT_TRUE(all_nan(a, 50));
    EXPECT_TRUE(all_nan(b, 100'000));
    std::fill_n(a, 50, 1.f);
    std::fill_n(b, 100'000, 1.f);
  }
  const auto overrun = [] {
    Scratch scratch;
    float* a = scratch.take<float>(64);
    scratch.take<float>(64);
    write(a + 64);
  };
  EXPECT_DEATH(overrun(), "poison: a write past the end of a block of 256 bytes, at byte 256");
}

TEST(Poison, IsInPackedWeights) {
  const auto overrun = [] {
    PackedWeights packed(256);
    write(static_cast<char*>(const_cast<void*>(packed.data())) + 256);
  };
  EXPECT_DEATH(overrun(), "poison: a write past the end of a block of 256 bytes, at byte 256");
  const PackedWeights packed(256);
  EXPECT_TRUE(all_nan(static_cast<const float*>(packed.data()), 50));
}

TEST(Poison, IsInBuffersOfKernels) {
  const std::unique_ptr<float[]> made(new float[10]);
  EXPECT_TRUE(all_nan(made.get(), 10));
  std::vector<float> reserved;
  reserved.reserve(10);
  EXPECT_TRUE(all_nan(reserved.data(), 10));
  const auto overrun = [] {
    const std::unique_ptr<float[]> buffer(new float[10]);
    write(buffer.get() + 10);
  };
  EXPECT_DEATH(overrun(), "poison: a write past the end of a block of 40 bytes, at byte 40");
}

TEST(Poison, IsCheckedAtExit) {
  const auto overrun = [] {
    write(new float[10] + 10);
    std::exit(0);
  };
  EXPECT_EXIT(overrun(), testing::KilledBySignal(SIGABRT), "poison: a write past the end of a block of 40 bytes");
}

// An operator that reads, and perhaps writes, an element behind its argument.
int64_t place = 0;
bool writes = false;
Tensor reach(const Tensor& x) {
  Tensor out = empty({1});
  float* at = x.data<float>() + place;
  *out.data<float>() = read(at);
  if (writes) write(at);
  return out;
}

Tensor reach_on_meta(const Tensor&) { return empty_tensor({1}, DType::float32, Device(DeviceType::meta)); }

TEST(Poison, IsInArenas) {
  const library::Registration registration("poison_test", false, "poison_test.cpp", [](Library& m) {
    m.def("reach(Tensor x) -> Tensor");
    m.impl("reach", Key::cpu, &reach);
    m.meta("reach", &reach_on_meta);
  });
  const NoGrad without_gradients;
  const jit::CompilationUnit unit =
      jit::compile("def f(x):\n    return torch.ops.poison_test.reach(torch.relu(x) + 1)\n");
  const jit::Function f = unit.function("f");
  const Tensor x = ones({16});
  const auto call = [&] { return *f(x).to_tensor().data<float>(); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(call(), 2);
  const std::vector<executor::PlanText> plans = executor::plans_of(f.function());
  ASSERT_EQ(plans.size(), 1u);
  ASSERT_GT(plans[0].arena_bytes, 0u);
  place = 16;
  EXPECT_TRUE(std::isnan(call()));
  writes = true;
  EXPECT_DEATH(call(), "poison: a write past the end of a block of a plan's arena of 64 bytes, at byte 64");
}

}  // namespace
}  // namespace sconce
