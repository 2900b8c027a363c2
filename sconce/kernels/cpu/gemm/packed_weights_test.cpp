// Packed weights: shared, adopted, listed; and a watch over the bytes that packers write.
#include "sconce/kernels/cpu/gemm/packed_weights.h"

#include <cstring>
#include <numeric>

#include "sconce/kernels/cpu/conv/conv_plan.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/tensor/tensor.h"

#include <gtest/gtest.h>

namespace sconce {
namespace {

Tensor ramp(int64_t n) {
  const Tensor t = empty_tensor({n}, DType::float32);
  std::iota(t.data<float>(), t.data<float>() + n, 1.0f);
  return t;
}

TEST(PackedWeights, AreSharedWhileTheyLive) {
  const Tensor t = ramp(4);
  int packed = 0;
  const auto pack = [&](void* to) {
    std::memcpy(to, t.data(), 16);
    ++packed;
  };
  const PackedPtr first = packed_weights(t, 7, 16, pack), second = packed_weights(t, 7, 16, pack);
  EXPECT_EQ(first, second);
  EXPECT_NE(packed_weights(t, 8, 16, pack), first);
  EXPECT_EQ(packed, 2);
  const std::vector<PackedForm> forms = packed_forms_of(t.storage());
  ASSERT_EQ(forms.size(), 1u);  // the other one is gone
  EXPECT_EQ(forms[0].packed, first);
  EXPECT_EQ(forms[0].form, 7u);
  EXPECT_EQ(forms[0].offset, 0);
  EXPECT_EQ(forms[0].sizes, std::vector<int64_t>{4});
}

TEST(PackedWeights, AreAdopted) {
  const Tensor t = ramp(4);
  alignas(64) char ready[16] = {};
  auto owner = std::make_shared<int>(1);
  const PackedPtr adopted = adopt_packed(t, 7, ready, sizeof ready, owner);
  EXPECT_EQ(owner.use_count(), 2);
  int packed = 0;
  const auto pack = [&](void*) { ++packed; };
  EXPECT_EQ(packed_weights(t, 7, sizeof ready, pack)->data(), ready);
  EXPECT_EQ(packed, 0);
  EXPECT_NE(packed_weights(t, 7, 32, pack)->data(), ready);  // of another size than is wanted
  EXPECT_EQ(packed, 1);
}

uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
  return hash;
}

// Of weights 3 x 3 for images of 28 x 28.
uint64_t hash_of_convolution(int64_t in, int64_t out, int64_t groups) {
  ConvShape shape;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.groups = groups;
  for (int i = 0; i < 2; ++i) {
    shape.in[i] = shape.out[i] = 28;
    shape.kernel[i] = 3;
    shape.padding[i] = 1;
  }
  const ConvPlan plan = plan_conv(shape, DType::float32, Numerics::eager);
  const Tensor w = ramp(out * in / groups * 9);
  const int64_t strides[] = {in / groups * 9, 9, 3, 1};
  const PackedWeights packed(plan.packed_bytes);
  std::memset(packed.data(), 0, packed.bytes());
  plan.pack(w.data(), strides, packed.data());
  return hash_of(packed.data(), packed.bytes());
}

// Compiled files keep packed weights. If this fails, a packer writes other bytes than it did: raise kPackedRevision and
// put the new numbers here. They are those of level 3, AVX2 and NEON.
TEST(PackedWeights, HaveTheBytesOfTheirRevision) {
  const MatrixKernels& kernels = matrix_kernels();
  const Tensor b = ramp(70 * 45);
  std::vector<char> product(packed_b_bytes(DType::float32, 70, 45, kernels) + 64);
  pack_b(DType::float32, 70, 45, {b.data(), 45, 1}, product.data(), kernels);
  const uint64_t matrices = hash_of(product.data(), product.size());

  if (kernels.level == 3) {
#if defined(__aarch64__)
    EXPECT_EQ(matrices, 6981979113732907887u);
    EXPECT_EQ(hash_of_convolution(20, 24, 1), 730903363877119262u);
    EXPECT_EQ(hash_of_convolution(64, 64, 1), 15035654539880942110u);
#else
    EXPECT_EQ(matrices, 15936122069189951855u);
    EXPECT_EQ(hash_of_convolution(20, 24, 1), 9017641811637633280u);
    EXPECT_EQ(hash_of_convolution(64, 64, 1), 11043901645864154950u);
#endif
    EXPECT_EQ(hash_of_convolution(32, 32, 32), 6348796243193355309u);
  }
  EXPECT_EQ(kPackedRevision & 0xff, 1u);
}

}  // namespace
}  // namespace sconce
