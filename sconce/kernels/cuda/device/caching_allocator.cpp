#include "sconce/kernels/cuda/device/caching_allocator.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {

// A part of a segment. Blocks of one segment are a list in order of address.
struct Block {
  char* data;
  size_t bytes;
  CUstream stream;
  int8_t device;
  bool is_small;
  bool is_used = false;
  size_t requested = 0;
  Block *before = nullptr, *after = nullptr;
  std::vector<CUstream> other_streams;  // that use it, beside its own
  int waits = 0;                        // events that have to pass before it is free
};

namespace {

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kMiB * kKiB;
constexpr size_t kGrain = 512;
constexpr size_t kLargestSmall = kMiB, kSmallSegment = 2 * kMiB;
constexpr size_t kLargestShared = 10 * kMiB, kSharedSegment = 20 * kMiB, kSegmentGrain = 2 * kMiB;
constexpr unsigned kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING

size_t rounded_up(size_t n, size_t grain) { return (n + grain - 1) / grain * grain; }

size_t segment_bytes(size_t bytes) {
  if (bytes <= kLargestSmall) return kSmallSegment;
  return bytes < kLargestShared ? kSharedSegment : rounded_up(bytes, kSegmentGrain);
}

// By stream, then size, then address: the best fit is the first that is not less.
struct Order {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->stream, a->bytes, a->data) < std::tie(b->stream, b->bytes, b->data);
  }
};
using FreeBlocks = std::set<Block*, Order>;

struct Heap {
  std::mutex mutex;
  FreeBlocks free[2];             // large, small
  std::set<Block*> first_blocks;  // of all segments
  struct Waiting {
    CUevent event;
    Block* block;
  };
  std::deque<Waiting> resting;
  std::vector<CUevent> events;  // to use again
  MemoryStatistics statistics;
  size_t limit = SIZE_MAX;
  std::set<CUstream> kept;  // whose segments are not given back

  FreeBlocks& free_of(const Block& block) { return free[block.is_small]; }
};

std::array<Heap*, kMostDevices> heaps{};
std::mutex heaps_mutex;

Heap& heap_of(int index) {
  const auto at = static_cast<size_t>(index);
  if (Heap* known = __atomic_load_n(&heaps[at], __ATOMIC_ACQUIRE)) return *known;
  const std::lock_guard lock(heaps_mutex);
  if (!heaps[at]) __atomic_store_n(&heaps[at], new Heap, __ATOMIC_RELEASE);  // lives for ever, as tensors may
  return *heaps[at];
}

int checked_index(Device device) {
  properties(device);  // throws where there is no such device
  return device.index < 0 ? current_index() : device.index;
}

// Puts a block among the free ones, joined with its free neighbours.
void make_free(Heap& heap, Block* block) {
  const auto join = [&](Block* first, Block* second) {  // `second` goes
    first->bytes += second->bytes;
    first->after = second->after;
    if (second->after) second->after->before = first;
    delete second;
    return first;
  };
  const auto is_free = [](const Block* b) { return b && !b->is_used && b->waits == 0; };
  if (Block* after = block->after; is_free(after)) {
    heap.free_of(*after).erase(after);
    block = join(block, after);
  }
  if (Block* before = block->before; is_free(before)) {
    heap.free_of(*before).erase(before);
    block = join(before, block);
  }
  heap.free_of(*block).insert(block);
}

// Looks at events in the order in which they were recorded; with `wait` until all have passed.
void take_rested(Heap& heap, bool wait) {
  while (!heap.resting.empty()) {
    const auto [event, block] = heap.resting.front();
    const CUresult code = wait ? driver().cuEventSynchronize(event) : driver().cuEventQuery(event);
    if (code == kNotReady) return;
    // A context that is lost runs nothing any more: nobody uses the block.
    heap.resting.pop_front();
    heap.events.push_back(event);
    if (--block->waits == 0) make_free(heap, block);
  }
}

bool give_back_segments(Heap& heap) {
  bool any = false;
  for (FreeBlocks& blocks : heap.free) {
    for (auto it = blocks.begin(); it != blocks.end();) {
      Block* block = *it;
      if (block->before || block->after || heap.kept.contains(block->stream) ||
          driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(block->data)) != kSuccess) {
        ++it;
        continue;
      }
      it = blocks.erase(it);
      heap.first_blocks.erase(block);
      heap.statistics.reserved -= block->bytes;
      --heap.statistics.segments;
      delete block;
      any = true;
    }
  }
  return any;
}

std::string size_text(size_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes < kKiB) return fmt::format("{} bytes", bytes);
  if (bytes < kMiB) return fmt::format("{:.2f} KiB", b / kKiB);
  return bytes < kGiB ? fmt::format("{:.2f} MiB", b / kMiB) : fmt::format("{:.2f} GiB", b / kGiB);
}

[[noreturn]] void fail_out_of_memory(Heap& heap, size_t bytes, int index) {
  ++heap.statistics.failures;
  size_t free = 0, total = 0;
  driver().cuMemGetInfo_v2(&free, &total);
  const MemoryStatistics& s = heap.statistics;
  const std::string limit =
      heap.limit == SIZE_MAX ? "" : fmt::format(" {} is the limit that was set.", size_text(heap.limit));
  fail(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free.{} Of the "
      "allocated memory {} is allocated by Sconce, and {} is reserved by Sconce but unallocated.",
      size_text(bytes), index, size_text(total), size_text(free), limit, size_text(s.allocated),
      size_text(s.reserved - s.allocated));
}

// A new segment, as one free block that stands in no set.
Block* take_segment(Heap& heap, size_t bytes, bool is_small, CUstream stream, int index) {
  const size_t size = segment_bytes(bytes);
  const auto ask = [&](CUdeviceptr& data) {
    if (size > heap.limit || heap.statistics.reserved > heap.limit - size) return kOutOfMemory;
    ++heap.statistics.driver_allocations;
    return driver().cuMemAlloc_v2(&data, size);
  };
  CUdeviceptr data = 0;
  CUresult code = ask(data);
  if (code == kOutOfMemory) {
    ++heap.statistics.retries;
    take_rested(heap, true);
    if (give_back_segments(heap)) code = ask(data);
  }
  if (code == kOutOfMemory) fail_out_of_memory(heap, bytes, index);
  check_device(code, Device(DeviceType::cuda, static_cast<int8_t>(index)), "cuMemAlloc");
  auto* block = new Block{.data = reinterpret_cast<char*>(data),
                          .bytes = size,
                          .stream = stream,
                          .device = static_cast<int8_t>(index),
                          .is_small = is_small,
                          .other_streams = {}};
  heap.first_blocks.insert(block);
  heap.statistics.reserved += size;
  heap.statistics.most_reserved = std::max(heap.statistics.most_reserved, heap.statistics.reserved);
  ++heap.statistics.segments;
  return block;
}

// Leaves the first `bytes` to the block; the rest, where it is worth it, is a free block of its own.
void cut(Heap& heap, Block* block, size_t bytes) {
  const size_t rest = block->bytes - bytes;
  if (block->is_small ? rest < kGrain : rest <= kLargestSmall) return;
  auto* tail = new Block{.data = block->data + bytes,
                         .bytes = rest,
                         .stream = block->stream,
                         .device = block->device,
                         .is_small = block->is_small,
                         .before = block,
                         .after = block->after,
                         .other_streams = {}};
  if (block->after) block->after->before = tail;
  block->after = tail;
  block->bytes = bytes;
  heap.free_of(*tail).insert(tail);
}

}  // namespace

DeviceBlock allocate_block(size_t nbytes, Device device) {
  const int index = use(device);
  const CUstream stream = current_stream(device);
  Heap& heap = heap_of(index);
  const std::lock_guard lock(heap.mutex);
  if (nbytes > SIZE_MAX - kSharedSegment) fail_out_of_memory(heap, nbytes, index);
  const size_t bytes = rounded_up(std::max<size_t>(nbytes, 1), kGrain);
  const bool is_small = bytes <= kLargestSmall;
  if (!heap.resting.empty()) take_rested(heap, false);

  Block wanted{
      .data = nullptr, .bytes = bytes, .stream = stream, .device = 0, .is_small = is_small, .other_streams = {}};
  FreeBlocks& free = heap.free_of(wanted);
  Block* block = nullptr;
  if (const auto it = free.lower_bound(&wanted); it != free.end() && (*it)->stream == stream) {
    block = *it;
    free.erase(it);
  } else {
    block = take_segment(heap, bytes, is_small, stream, index);
  }
  cut(heap, block, bytes);
  block->is_used = true;
  block->requested = nbytes;
  MemoryStatistics& s = heap.statistics;
  s.allocated += block->bytes;
  s.requested += nbytes;
  s.most_allocated = std::max(s.most_allocated, s.allocated);
  ++s.allocations;
  return {block->data, block};
}

void release_block(Block* block) noexcept {
  Heap& heap = heap_of(block->device);
  const std::lock_guard lock(heap.mutex);
  heap.statistics.allocated -= block->bytes;
  heap.statistics.requested -= block->requested;
  ++heap.statistics.releases;
  block->is_used = false;
  if (!block->other_streams.empty()) {
    // Of a lost context events can neither be made nor recorded, and nothing runs there that uses the block.
    const Driver& d = driver();
    try {
      use(Device(DeviceType::cuda, block->device));
    } catch (const Error&) {
      block->other_streams.clear();
    }
    for (const CUstream stream : block->other_streams) {
      CUevent event = nullptr;
      if (!heap.events.empty()) {
        event = heap.events.back();
        heap.events.pop_back();
      } else if (d.cuEventCreate(&event, kNoTiming) != kSuccess) {
        d.cuStreamSynchronize(stream);
        continue;
      }
      if (d.cuEventRecord(event, stream) != kSuccess) {
        heap.events.push_back(event);
        d.cuStreamSynchronize(stream);
        continue;
      }
      ++block->waits;
      heap.resting.push_back({event, block});
    }
    block->other_streams.clear();
  }
  if (block->waits == 0) make_free(heap, block);
}

void record_stream(Block* block, CUstream stream) {
  Heap& heap = heap_of(block->device);
  const std::lock_guard lock(heap.mutex);
  auto& others = block->other_streams;
  if (stream != block->stream && std::find(others.begin(), others.end(), stream) == others.end())
    others.push_back(stream);
}

void keep_blocks(Device device, CUstream stream, bool on) {
  Heap& heap = heap_of(use(device));
  const std::lock_guard lock(heap.mutex);
  if (on)
    heap.kept.insert(stream);
  else
    heap.kept.erase(stream);
}

void empty_cache(Device device) {
  Heap& heap = heap_of(use(device));
  const std::lock_guard lock(heap.mutex);
  take_rested(heap, true);
  give_back_segments(heap);
}

void set_memory_fraction(Device device, double fraction) {
  SCONCE_CHECK_AS(value, fraction > 0 && fraction <= 1,
                  "set_per_process_memory_fraction: fraction must be in (0, 1], got {}", fraction);
  size_t free = 0, total = 0;
  memory_info(device, free, total);
  Heap& heap = heap_of(use(device));
  const std::lock_guard lock(heap.mutex);
  heap.limit = fraction == 1 ? SIZE_MAX : static_cast<size_t>(static_cast<double>(total) * fraction);
}

MemoryStatistics memory_statistics(Device device) {
  Heap& heap = heap_of(checked_index(device));
  const std::lock_guard lock(heap.mutex);
  return heap.statistics;
}

void reset_peak_statistics(Device device) {
  Heap& heap = heap_of(checked_index(device));
  const std::lock_guard lock(heap.mutex);
  heap.statistics.most_allocated = heap.statistics.allocated;
  heap.statistics.most_reserved = heap.statistics.reserved;
}

std::vector<SegmentPicture> memory_picture(Device device) {
  Heap& heap = heap_of(checked_index(device));
  const std::lock_guard lock(heap.mutex);
  std::vector<SegmentPicture> segments;
  for (const Block* first : heap.first_blocks) {
    SegmentPicture& segment = segments.emplace_back(SegmentPicture{
        .address = reinterpret_cast<uint64_t>(first->data), .bytes = 0, .stream = first->stream, .parts = {}});
    for (const Block* block = first; block; block = block->after) {
      using State = SegmentPicture::Part::State;
      segment.bytes += block->bytes;
      segment.parts.push_back({.bytes = block->bytes,
                               .requested = block->is_used ? block->requested : 0,
                               .state = block->is_used ? State::used
                                        : block->waits ? State::resting
                                                       : State::free});
    }
  }
  std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return segments;
}

void forget_memory() {
  const std::lock_guard lock(heaps_mutex);
  for (Heap*& heap : heaps) keep_forgotten(std::exchange(heap, nullptr));
}

}  // namespace sconce::cuda
