#include "sconce/kernels/cuda/cuda_queries.h"

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/cudnn/cudnn.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/kernel_files.h"
#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/kernels/cuda/device/streams.h"
#include "sconce/kernels/cuda/matmul/blaslt.h"
#include "sconce/kernels/cuda/random/random_engine.h"

namespace sconce::cuda {
namespace {

std::vector<std::pair<std::string, std::string>> describe() {
  constexpr double kGiB = 1 << 30;
  std::vector<std::pair<std::string, std::string>> lines;
  const int version = driver_version();
  lines.emplace_back("driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
  for (int i = 0; i < device_count(); ++i) {
    const DeviceProperties& p = properties(Device(DeviceType::cuda, static_cast<int8_t>(i)));
    lines.emplace_back(fmt::format("cuda:{}", i),
                       fmt::format("{}, sm_{}, {} multiprocessors, {:.1f} GiB", p.name, p.architecture(),
                                   p.multiprocessors, static_cast<double>(p.total_bytes) / kGiB));
  }
  lines.emplace_back("NVRTC", find_nvrtc() ? compile_options(properties(Device(DeviceType::cuda, 0)).architecture())
                                           : "no: " + why_no_nvrtc());
  const std::string blaslt = blaslt_version();
  lines.emplace_back("cuBLASLt", blaslt.empty() ? "no: " + why_no_blaslt() : blaslt);
  lines.emplace_back("cuDNN", cudnn_version());
  const std::string folder = kernel_folder();
  lines.emplace_back("kernel files", folder.empty() ? "none" : folder);
  return lines;
}

Device device_at(int index) { return Device(DeviceType::cuda, static_cast<int8_t>(index)); }

std::string name(int index) { return properties(device_at(index)).name; }

std::vector<int64_t> facts(int index) {
  const DeviceProperties& p = properties(device_at(index));
  return {p.major, p.minor, p.multiprocessors, static_cast<int64_t>(p.total_bytes)};
}

std::vector<int64_t> memory(int index) {
  const MemoryStatistics s = memory_statistics(device_at(index));
  size_t free = 0, total = 0;
  memory_info(device_at(index), free, total);
  std::vector<int64_t> figures;
  for (const size_t n : {s.allocated, s.most_allocated, s.reserved, s.most_reserved, free, total})
    figures.push_back(static_cast<int64_t>(n));
  return figures;
}

}  // namespace

const DeviceQueries cuda_queries = {
    .count = device_count,
    .describe = describe,
    .set_current = set_current_index,
    .name = name,
    .facts = facts,
    .memory = memory,
    .reset_peaks = [](int index) { reset_peak_statistics(device_at(index)); },
    .empty_cache = [] { cuda::empty_cache(device_at(-1)); },
    .seed =
        [](int index, uint64_t seed) {
          properties(device_at(index));  // throws where there is no such device
          set_philox_state(device_at(index < 0 ? current_index() : index), {seed, 0});
        },
    .random_state =
        [](int index) {
          properties(device_at(index));
          const PhiloxState s = philox_state(device_at(index));
          return std::pair<uint64_t, uint64_t>(s.seed, s.offset);
        },
    .set_random_state =
        [](int index, uint64_t seed, uint64_t offset) {
          properties(device_at(index));
          set_philox_state(device_at(index), {seed, offset});
        },
    .streams = {.make = new_stream_number,
                .current = current_stream_number,
                .set_current = set_current_stream_number,
                .address = [](Device device,
                              int64_t stream) { return reinterpret_cast<uint64_t>(numbered_stream(device, stream)); },
                .is_done = is_stream_done,
                .wait = wait_for_stream,
                .make_event = make_event,
                .release_event = release_event,
                .record_event = record_event,
                .wait_for = let_stream_wait,
                .is_event_done = is_event_done,
                .wait_event = wait_for_event,
                .distance = event_distance,
                .record_use = record_stream_number}};

}  // namespace sconce::cuda
