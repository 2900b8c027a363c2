// Backend libraries: libsconce_cuda.so, beside libsconce.so, brings the backend of device type cuda when that is first
// asked for. So a process that never uses the device carries nothing of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/tensor/device.h"

namespace sconce {

// Loads it, unless that was tried before, whatever came of it: afterwards find_backend() knows.
void load_backend_library(DeviceType type);

// Why a device type has no backend: "this build has no CUDA", "libcuda.so.1 not found (is the NVIDIA driver
// installed?)". Empty when it has one.
SCONCE_API std::string why_no_backend(DeviceType type);

class Tensor;

// Streams of a device and events on them, by number: kernels/cuda/device/streams.h says what each does.
struct DeviceStreams {
  int64_t (*make)(Device device, bool high_priority);
  int64_t (*current)(Device device);
  void (*set_current)(Device device, int64_t stream);
  uint64_t (*address)(Device device, int64_t stream);  // for other libraries
  bool (*is_done)(Device device, int64_t stream);
  void (*wait)(Device device, int64_t stream);
  int64_t (*make_event)(Device device, bool is_timed);
  void (*release_event)(int64_t event);
  void (*record_event)(int64_t event, int64_t stream);
  void (*wait_for)(Device device, int64_t stream, int64_t event);
  bool (*is_event_done)(int64_t event);
  void (*wait_event)(int64_t event);
  double (*distance)(int64_t start, int64_t end);
  void (*record_use)(const Tensor& tensor, int64_t stream);
};

// What people ask about devices, beside what operators need (backend.h).
struct DeviceQueries {
  int (*count)();
  // Lines for people, such as {"cuda:0", "NVIDIA H200, sm_90, 132 multiprocessors"}, {"driver", "CUDA 13.0"}.
  std::vector<std::pair<std::string, std::string>> (*describe)();
  // All throw Error for a device that is not there; an index of -1 is the current device of the thread.
  void (*set_current)(int index);
  std::string (*name)(int index);
  std::vector<int64_t> (*facts)(int index);   // compute capability (two numbers), multiprocessors, bytes of memory
  std::vector<int64_t> (*memory)(int index);  // bytes: allocated, the most; reserved, the most; free, total
  void (*reset_peaks)(int index);
  void (*empty_cache)();                   // of the current device
  void (*seed)(int index, uint64_t seed);  // begins the stream of the device's generator anew
  // Of the generator of random numbers: seed, and words drawn per thread so far.
  std::pair<uint64_t, uint64_t> (*random_state)(int index);
  void (*set_random_state)(int index, uint64_t seed, uint64_t offset);
  DeviceStreams streams;
};
// Null where there is no backend, or it answers nothing.
SCONCE_API const DeviceQueries* find_queries(DeviceType type);
SCONCE_API void set_queries(DeviceType type, const DeviceQueries* queries);

}  // namespace sconce
