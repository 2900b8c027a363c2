// Capturing against a driver made for tests: what is recorded, what spoils it, whose memory it is.
#include "sconce/kernels/cuda/device/graphs.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/testing/test_driver.h"
#include "sconce/testing/error_of.h"

namespace sconce::cuda {
namespace {

using testing::TestDriver;

constexpr Device kGpu{DeviceType::cuda, 0};

void fill(void* data, unsigned char value, size_t bytes) {
  check_device(driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(data), value, bytes, current_stream(kGpu)), kGpu,
               "fill");
}

TEST(CudaGraphs, WorkIsRecordedAndRunsAgain) {
  TestDriver test;
  const DeviceBlock block = allocate_block(512, kGpu);
  auto* bytes = static_cast<unsigned char*>(block.data);
  bytes[0] = 1;
  std::string why;
  const CUstream before = current_stream(kGpu);
  const std::unique_ptr<Graph> graph = record_graph(kGpu, [&] { fill(bytes, 7, 512); }, why);
  ASSERT_TRUE(graph) << why;
  EXPECT_EQ(graph->nodes(), 1u);
  EXPECT_EQ(current_stream(kGpu), before);
  synchronize(kGpu);
  EXPECT_EQ(bytes[0], 1);  // recorded, not done
  for (int i = 0; i < 3; ++i) {
    bytes[0] = 1;
    graph->launch();
    EXPECT_EQ(bytes[0], 1);  // later, as all work of a stream
    synchronize(kGpu);
    EXPECT_EQ(bytes[0], 7);
  }
  EXPECT_EQ(test.calls("cuGraphLaunch"), 3);
  release_block(block.block);
}

TEST(CudaGraphs, NothingThatWaitsCanBeRecorded) {
  TestDriver test;
  std::string why;
  EXPECT_FALSE(record_graph(kGpu, [] { synchronize_stream(kGpu, current_stream(kGpu)); }, why));
  EXPECT_EQ(why, "cuStreamSynchronize: waits for the device, which cannot be part of a graph");
  EXPECT_FALSE(record_graph(kGpu, [] { synchronize(kGpu); }, why));
  EXPECT_EQ(why, "cuCtxSynchronize: waits for the device, which cannot be part of a graph");
  // By a library that asks the driver itself.
  EXPECT_FALSE(record_graph(kGpu, [] { driver().cuStreamSynchronize(current_stream(kGpu)); }, why));
  EXPECT_EQ(
      why,
      "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: operation failed due to a previous error during "
      "capture");
  EXPECT_FALSE(is_capturing());
  EXPECT_EQ(current_stream(kGpu), default_stream(kGpu));
  EXPECT_EQ(test.live_graphs(), 0u);
  synchronize(kGpu);
}

TEST(CudaGraphs, EveryCallOfTheDriverMayFail) {
  for (const char* function : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphGetNodes",
                               "cuGraphInstantiateWithFlags", "cuStreamCreateWithPriority"}) {
    TestDriver test;
    current_stream(kGpu);
    test.fail(function, 1);
    std::string why;
    std::unique_ptr<Graph> graph;
    const std::string error = sconce::testing::error_of([&] { graph = record_graph(kGpu, [] {}, why); });
    EXPECT_FALSE(graph) << function;
    EXPECT_NE((error + why).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << function << error << why;
    EXPECT_FALSE(is_capturing());
    // The next one works.
    EXPECT_TRUE(record_graph(kGpu, [] {}, why)) << function << why;
  }
}

TEST(CudaGraphs, MemoryOfAGraphIsItsOwn) {
  TestDriver test;
  std::string why;
  void* used = nullptr;
  std::unique_ptr<Graph> graph = record_graph(
      kGpu,
      [&] {
        const Scratch temporary = scratch(kGpu, 4096);
        used = temporary.data();
        fill(used, 1, 4096);
      },
      why);
  ASSERT_TRUE(graph) << why;
  // It is free, and yet neither given back nor handed out.
  const size_t taken = test.taken();
  empty_cache(kGpu);
  EXPECT_EQ(test.taken(), taken);
  {
    const Scratch other = scratch(kGpu, 4096);
    EXPECT_NE(other.data(), used);
  }
  graph->launch();
  synchronize(kGpu);
  EXPECT_EQ(*static_cast<unsigned char*>(used), 1);
  graph.reset();
  EXPECT_EQ(test.live_graphs(), 0u);
  // The next graph has it.
  graph = record_graph(kGpu, [&] { EXPECT_EQ(scratch(kGpu, 4096).data(), used); }, why);
  graph.reset();
  empty_cache(kGpu);
  EXPECT_EQ(test.taken(), 0u);
}

TEST(CudaGraphs, OtherThreadsWaitUntilItIsRecorded) {
  TestDriver test;
  std::string why;
  std::thread other;
  std::atomic<bool> waited = false;
  const std::unique_ptr<Graph> graph = record_graph(
      kGpu,
      [&] {
        other = std::thread([&] {
          synchronize(kGpu);
          waited = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_FALSE(waited);
      },
      why);
  other.join();
  EXPECT_TRUE(waited);
  EXPECT_TRUE(graph) << why;
}

}  // namespace
}  // namespace sconce::cuda
