// Devices, streams and errors, against the test driver.
#include "sconce/kernels/cuda/device/context.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/transfers.h"
#include "sconce/kernels/cuda/testing/test_driver.h"
#include "sconce/testing/error_of.h"

namespace sconce::cuda {
namespace {

using sconce::testing::error_of;
using testing::TestDriver;

constexpr Device kCuda{DeviceType::cuda};
constexpr Device cuda(int8_t index) { return Device(DeviceType::cuda, index); }

TEST(CudaDriver, TooOldADriverSaysWhatIsNeeded) {
  TestDriver driver;
  driver.version = 11040;
  static Driver table = *find_driver();
  replace_driver(&table);
  EXPECT_EQ(find_driver(), nullptr);
  EXPECT_EQ(why_no_driver(), "the NVIDIA driver supports CUDA 11.4, at least 12.0 is needed");
  EXPECT_EQ(device_count(), 0);
  EXPECT_EQ(error_of([] { use(kCuda); }),
            "CUDA is not available: the NVIDIA driver supports CUDA 11.4, at least 12.0 is needed");
}

TEST(CudaDriver, NoDeviceSaysSo) {
  TestDriver driver;
  static Driver table = *find_driver();
  driver.fail("cuInit", kNoDevice);
  replace_driver(&table);
  EXPECT_EQ(why_no_driver(), "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
  EXPECT_EQ(device_count(), 0);
}

TEST(CudaContext, KnowsItsDevices) {
  TestDriver driver(2);
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(properties(kCuda).name, "Test GPU");
  EXPECT_EQ(properties(cuda(1)).architecture(), 90);
  EXPECT_EQ(error_of([] { properties(cuda(2)); }), "cuda:2: this machine has 2 CUDA devices");
  EXPECT_EQ(error_of([] { set_current_index(-1); }), "cuda:-1: this machine has 2 CUDA devices");
  EXPECT_EQ(driver.calls("cuDevicePrimaryCtxRetain"), 0);  // nothing was used yet
}

TEST(CudaContext, DeviceAndStreamAreThoseOfTheThread) {
  TestDriver driver(2);
  set_current_index(1);
  const CUstream mine = pool_stream(kCuda, false);
  set_current_stream(kCuda, mine);
  EXPECT_EQ(current_stream(cuda(1)), mine);
  EXPECT_NE(current_stream(cuda(0)), mine);
  std::thread([&] {
    EXPECT_EQ(current_index(), 0);
    EXPECT_NE(current_stream(cuda(1)), mine);
    EXPECT_EQ(current_stream(cuda(1)), default_stream(cuda(1)));
  }).join();
  set_current_stream(kCuda, nullptr);
  EXPECT_EQ(current_stream(cuda(1)), default_stream(cuda(1)));
}

TEST(CudaContext, StreamsOfThePoolAreHandedOutInTurn) {
  TestDriver driver;
  std::set<CUstream> streams;
  for (int i = 0; i < 100; ++i) streams.insert(pool_stream(kCuda, i % 2));
  EXPECT_EQ(streams.size(), 64u);
}

TEST(CudaContext, ContextsAreBoundWhenTheDeviceChanges) {
  TestDriver driver(2);
  use(cuda(0));
  const int before = driver.calls("cuCtxSetCurrent");
  for (int i = 0; i < 10; ++i) use(cuda(0));
  EXPECT_EQ(driver.calls("cuCtxSetCurrent"), before);
  use(cuda(1));
  use(cuda(0));
  EXPECT_GE(driver.calls("cuCtxSetCurrent"), before + 2);
}

TEST(CudaContext, AFaultMarksTheDeviceAndNamesOperators) {
  TestDriver driver(2);
  use(cuda(0));
  note_launch(cuda(0), nullptr, "add");
  note_launch(cuda(0), nullptr, "embedding");
  driver.fail("cuStreamSynchronize", 700);
  const std::string what =
      "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered (operators that ran "
      "last "
      "on cuda:0: add, embedding; SCONCE_CUDA_SYNC=1 finds the one)";
  EXPECT_EQ(error_of([] { synchronize_stream(cuda(0), default_stream(cuda(0))); }), what);
  EXPECT_EQ(error_of([] { use(cuda(0)); }), "cuda:0 cannot be used any more in this process: " + what);
  EXPECT_EQ(use(cuda(1)), 1);
}

TEST(CudaContext, OtherErrorsLeaveTheDeviceUsable) {
  TestDriver driver;
  driver.fail("cuCtxSynchronize", 1);
  EXPECT_EQ(error_of([] { synchronize(kCuda); }), "cuCtxSynchronize: CUDA_ERROR_INVALID_VALUE: invalid argument");
  synchronize(kCuda);
}

TEST(CudaContext, AContextThatCannotBeMadeIsTriedAgain) {
  TestDriver driver;
  driver.fail("cuDevicePrimaryCtxRetain", kOutOfMemory);
  EXPECT_EQ(error_of([] { use(kCuda); }), "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  EXPECT_EQ(use(kCuda), 0);
}

TEST(CudaTransfers, CopiesToTheHostAreWaitedFor) {
  TestDriver driver;
  void* there = reinterpret_cast<void*>(0);
  CUdeviceptr data = 0;
  use(kCuda);
  ASSERT_EQ(cuda::driver().cuMemAlloc_v2(&data, 64), 0);
  there = reinterpret_cast<void*>(data);
  const int sent[4] = {1, 2, 3, 4};
  int got[4] = {};
  copy_bytes(there, cuda(0), sent, Device(), sizeof sent);
  copy_bytes_later(got, Device(), there, cuda(0), sizeof got);
  EXPECT_EQ(got[3], 0);  // nobody waited
  copy_bytes(got, Device(), there, cuda(0), sizeof got);
  EXPECT_EQ(got[3], 4);
  EXPECT_EQ(driver.waiting(), 0u);
}

TEST(CudaTransfers, PeersWaitForEachOther) {
  TestDriver driver(2);
  CUdeviceptr a = 0, b = 0;
  use(cuda(0));
  cuda::driver().cuMemAlloc_v2(&a, 64);
  use(cuda(1));
  cuda::driver().cuMemAlloc_v2(&b, 64);
  const int sent = 7;
  int got = 0;
  // The copy up to device 0 is not waited for, the one between has to come after it, the one down after that.
  copy_bytes_later(reinterpret_cast<void*>(a), cuda(0), &sent, Device(), sizeof sent);
  copy_bytes(reinterpret_cast<void*>(b), cuda(1), reinterpret_cast<void*>(a), cuda(0), sizeof sent);
  copy_bytes(&got, Device(), reinterpret_cast<void*>(b), cuda(1), sizeof got);
  EXPECT_EQ(got, 7);
}

TEST(CudaTransfers, PinnedMemoryNamesItsSize) {
  TestDriver driver;
  void* data = allocate_pinned(100);
  release_pinned(data);
  driver.fail("cuMemHostAlloc", kOutOfMemory);
  EXPECT_EQ(error_of([] { allocate_pinned(100); }),
            "no pinned host memory of 100 bytes: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
}

TEST(CudaErrorWord, IsReadAtTheNextSynchronisation) {
  TestDriver driver;
  auto* word = static_cast<ErrorWord*>(error_word(kCuda));
  EXPECT_EQ(error_word(kCuda), word);
  const int number = operator_number("embedding");
  EXPECT_EQ(operator_number("embedding"), number);
  EXPECT_NE(operator_number("gather"), number);
  *word = {.operator_number = number, .kind = ErrorWord::of_index, .index = 12, .size = 10};
  EXPECT_EQ(error_of([] { synchronize(kCuda); }), "embedding: index 12 is out of range for size 10");
  synchronize(kCuda);  // it is cleared, and the context lives on
}

}  // namespace
}  // namespace sconce::cuda
