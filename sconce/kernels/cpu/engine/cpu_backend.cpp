// The CPU's Backend (tensor/backend.h): the engines of this folder behind the functions that every device has.
#include <cstring>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/reduce_engine.h"
#include "sconce/kernels/cpu/random/random.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/memory/allocator.h"

namespace sconce {
namespace {

SCONCE_VARIANT(memory_set, "fill.bytes", "a result without gaps, of an element whose bytes are equal");

constexpr int64_t kParallelBytes = 1 << 20;

// Tensors get their memory without this detour (storage.h).
Backend::Memory allocate(size_t nbytes, Device) {
  const Block block = allocate_block(nbytes);
  return {block.data, reinterpret_cast<void*>(uintptr_t{block.size_class})};
}

void release(Backend::Memory memory, Device) noexcept {
  free_block(memory.data, static_cast<uint8_t>(reinterpret_cast<uintptr_t>(memory.handle)));
}

void copy_bytes(void* to, Device, const void* from, Device, size_t nbytes) { std::memcpy(to, from, nbytes); }

void copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device) { run_copy(sizes, out, in); }

// Whether the elements lie without gaps, row by row.
bool is_row_major(std::span<const int64_t> sizes, const int64_t* strides) {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) {
    if (sizes[d] != 1 && strides[d] != step) return false;
  }
  return true;
}

void fill(std::span<const int64_t> sizes, const Operand& out, const void* element, Device) {
  const size_t size = item_size(out.dtype);
  const auto* bytes = static_cast<const unsigned char*>(element);
  bool same = true;
  for (size_t i = 1; i < size; ++i) same &= bytes[i] == bytes[0];
  if (memory_set(same && is_row_major(sizes, out.strides))) {
    int64_t n = static_cast<int64_t>(size);
    for (const int64_t s : sizes) n *= s;
    parallel_for(n, kParallelBytes, [&](int64_t begin, int64_t end) {
      std::memset(static_cast<char*>(out.data) + begin, bytes[0], static_cast<size_t>(end - begin));
    });
    return;
  }
  static constexpr int64_t kNone[64] = {};
  run_copy(sizes, out, {const_cast<void*>(element), out.dtype, kNone});
}

void pointwise(const PointwiseCall& c, Device) { run_pointwise(c.loops, c.common, c.sizes, c.out, c.in, c.params); }

void reduce(const ReduceCall& c, Device) { run_reduce(c.loops, c.common, c.sizes, c.reduced, c.in, c.out, c.params); }

void synchronize(Device) {}

}  // namespace

constinit const Backend cpu_backend = {.allocate = allocate,
                                       .release = release,
                                       .current_index = nullptr,
                                       .copy_bytes = copy_bytes,
                                       .copy = copy,
                                       .fill = fill,
                                       .pointwise = pointwise,
                                       .reduce = reduce,
                                       .random = rng::draw,
                                       .synchronize = synchronize};

}  // namespace sconce
