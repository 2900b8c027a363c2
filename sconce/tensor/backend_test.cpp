#include "sconce/tensor/backend.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/tensor/copy.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

const Tensor* const made_early = new Tensor(scalar_tensor_of(2.5, DType::float32));  // before main

TEST(Backend, IsFoundByDevice) {
  EXPECT_EQ(find_backend(DeviceType::cpu), &cpu_backend);
  EXPECT_EQ(&backend_of(Device()), &cpu_backend);
  EXPECT_EQ(find_backend(DeviceType::meta), nullptr);
  EXPECT_EQ(find_backend(DeviceType::cuda), nullptr);
}

TEST(Backend, OfTheCpuWorksDuringStaticInitialisation) { EXPECT_EQ(item_of(*made_early).to_double(), 2.5); }

TEST(Backend, MissingOnesAreRefused) {
  EXPECT_EQ(error_of([] { empty_tensor({2}, DType::float32, Device(DeviceType::cuda)); }),
            "cannot allocate on device cuda: this build has no CUDA");
  EXPECT_EQ(error_of([] { empty_strided_tensor({2, 2}, {1, 2}, DType::float32, Device(DeviceType::cuda, 1)); }),
            "cannot allocate on device cuda:1: this build has no CUDA");
  EXPECT_EQ(error_of([] { resolve_device(Device(DeviceType::cuda)); }),
            "cannot allocate on device cuda: this build has no CUDA");
  EXPECT_ERROR(call_op("aten::zeros", {Value(IntList{2})}, {{"device", Device(DeviceType::cuda)}}),
               "aten::zeros: no kernel for CUDA (this build has no CUDA); there are kernels for CPU, Meta");
  EXPECT_ERROR(call_op("aten::cuda", {empty_tensor({2}, DType::float32)}),
               "cannot allocate on device cuda: this build has no CUDA");
}

TEST(Backend, OfTheCpuAndMetaAreNotReplaced) {
  EXPECT_EQ(error_of([] { set_backend(DeviceType::cpu, nullptr); }), "device cpu needs no other backend");
  EXPECT_EQ(error_of([] { set_backend(DeviceType::meta, &cpu_backend); }), "device meta needs no other backend");
}

TEST(Backend, OfTheCpuAllocatesAndFills) {
  const Backend::Memory memory = cpu_backend.allocate(1000, Device());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data) % 64, 0u);
  const int64_t sizes[] = {3, 2}, strides[] = {1, 4};
  const float element = 1.5f;
  cpu_backend.fill(std::span<const int64_t>(sizes), {memory.data, DType::float32, strides}, &element, Device());
  const auto* x = static_cast<const float*>(memory.data);
  for (const int at : {0, 1, 2, 4, 5, 6}) EXPECT_EQ(x[at], 1.5f);
  float copied[3] = {};
  cpu_backend.copy_bytes(copied, Device(), x + 4, Device(), sizeof copied);
  EXPECT_EQ(copied[2], 1.5f);
  cpu_backend.release(memory, Device());
}

TEST(Backend, KeysOfDevicesAreWrittenOnce) {
  for (const DeviceType type : {DeviceType::cpu, DeviceType::cuda, DeviceType::meta, DeviceType::privateuse1})
    EXPECT_TRUE(kBackendKeys.has(backend_key(type)));
  EXPECT_EQ(key_name(backend_key(DeviceType::privateuse1)), "PrivateUse1");
  EXPECT_EQ(error_of([] { backend_key(static_cast<DeviceType>(7)); }), "unknown device type 7");
}

TEST(Backend, DevicesArePrintedAndReadAsInPyTorch) {
  for (const char* text : {"cpu", "cuda:1", "meta", "privateuseone", "privateuseone:0"})
    EXPECT_EQ(to_string(parse_device(text)), text);
}

}  // namespace
}  // namespace sconce
