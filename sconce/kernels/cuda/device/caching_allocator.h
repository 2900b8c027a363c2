// Caching allocator: device memory in blocks that are kept and used again, as the driver takes 0.1 ms for each.
//
// Note [Device blocks]
// Sizes are multiples of 512 bytes. Up to 1 MB they are cut from segments of 2 MB, up to 10 MB from segments of 20 MB;
// larger ones have segments of their own, in steps of 2 MB. Of the free blocks of a stream the smallest that is large
// enough is taken, cut where enough remains, and joined with free neighbours when it comes back. A block belongs to the
// stream it was allocated on: that stream's next kernels may have it at once, as they come after those that used it.
// Another stream's never do. Who uses a block on another stream says so (record_stream); when it is let go it then
// rests until events of those streams have passed.
//
// When the driver has no memory left, resting blocks are waited for, segments that are free as a whole are given back,
// and it is asked again; then an Error tells the sizes, all blocks stay as they are, and smaller ones can still be had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/device.h"

namespace sconce::cuda {

struct Block;

struct DeviceBlock {
  void* data;  // 512-byte aligned
  Block* block;
};

// For the current stream of the device. Throws Error when there is no memory left, PyTorch's words:
//   CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of ...
DeviceBlock allocate_block(size_t nbytes, Device device);
void release_block(Block* block) noexcept;
// The block is used by work on `stream`, too, which is not its own.
void record_stream(Block* block, CUstream stream);

// Blocks of a stream stay with it: those of a graph's own stream are used by the graph whether they are free or not.
void keep_blocks(Device device, CUstream stream, bool on);

// Gives the free segments back to the driver.
void empty_cache(Device device);
// The most that may be taken from the driver, as a part of the device's memory: (0, 1].
void set_memory_fraction(Device device, double fraction);

struct MemoryStatistics {
  size_t allocated = 0, most_allocated = 0;  // bytes of blocks in use, rounded as above
  size_t requested = 0;                      // bytes that were asked for, of those
  size_t reserved = 0, most_reserved = 0;    // bytes taken from the driver
  size_t allocations = 0, releases = 0;      // calls
  size_t segments = 0, driver_allocations = 0;
  size_t retries = 0, failures = 0;  // of driver calls that had no memory; of allocations
};
MemoryStatistics memory_statistics(Device device);
void reset_peak_statistics(Device device);

// A picture of the memory, for those who look for what keeps it: every segment, its blocks in order of address.
struct SegmentPicture {
  struct Part {
    size_t bytes, requested;
    enum class State : uint8_t { free, used, resting } state;
  };
  uint64_t address;
  size_t bytes;
  CUstream stream;
  std::vector<Part> parts;
};
std::vector<SegmentPicture> memory_picture(Device device);

// Forgets all blocks without giving them back: for replace_driver().
void forget_memory();

}  // namespace sconce::cuda
