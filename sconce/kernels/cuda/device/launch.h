// Launches: from CUDA text to a kernel that runs on the current stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/device.h"

namespace sconce::cuda {

struct Kernel {
  CUfunction function;
  int registers;     // of a thread
  int shared_bytes;  // of a block, without what a launch adds
};

// The kernel `entry` of a text, for the device's architecture: from memory by `key` and `entry`, else from the files of
// earlier processes by the text, else compiled by NVRTC (130 ms; kernel_files.h, nvrtc.h). `key` is short and unique
// for the text (operator, dtypes, variant); `text` is asked for when memory does not have it. The reference stays
// valid. Throws Error with NVRTC's log when the text does not compile. May be called from many threads.
const Kernel& find_kernel(Device device, std::string_view key, const std::function<std::string()>& text,
                          const char* entry);

struct Shape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1;
  unsigned shared_bytes = 0;  // dynamic; up to properties().shared_bytes
  // Dependent launch: its blocks may start while those of the kernel before it still run. Only for kernels with
  // DEPENDENT_START or DEPENDENT_WAIT (text/prelude.cuh) before they touch what that one writes, or anything older that
  // it has not waited for itself.
  bool is_dependent = false;
};

// Runs a kernel on the current stream. It has one argument, a struct by value (`__grid_constant__`), of which the
// driver makes its copy before this returns: nothing is allocated. `operator_name` lives for ever; errors name it.
void launch(Device device, const Kernel& kernel, const Shape& shape, const void* argument, size_t size,
            const char* operator_name);
// One thread for each of `count` elements, in blocks of 256; nothing where there are none.
void launch_each(Device device, const Kernel& kernel, int64_t count, const void* argument, size_t size,
                 const char* operator_name);

// Temporary memory of the device for kernels of the current stream. It may be let go as soon as they are launched: the
// next owner's kernels come after them.
class Scratch {
 public:
  Scratch(Scratch&& other) noexcept : data_(other.data_), handle_(other.handle_), device_(other.device_) {
    other.data_ = nullptr;
  }
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();
  void* data() const { return data_; }  // 512-byte aligned

 private:
  friend Scratch scratch(Device device, size_t bytes);
  Scratch(void* data, void* handle, Device device) : data_(data), handle_(handle), device_(device) {}
  void* data_;
  void* handle_;
  Device device_;
};
Scratch scratch(Device device, size_t bytes);

}  // namespace sconce::cuda
