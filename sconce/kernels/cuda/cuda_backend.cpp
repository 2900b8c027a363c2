#include "sconce/kernels/cuda/cuda_backend.h"

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/dispatch/registry.h"
#include "sconce/kernels/cuda/cuda_kernels.h"
#include "sconce/kernels/cuda/cuda_queries.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/transfers.h"
#include "sconce/kernels/cuda/pointwise_engine.h"
#include "sconce/kernels/cuda/random/random_engine.h"
#include "sconce/kernels/cuda/reduction_engine.h"

namespace sconce::cuda {
namespace {

Backend::Memory allocate(size_t nbytes, Device device) {
  const DeviceBlock block = allocate_block(nbytes, device);
  return {block.data, block.block};
}

void release(Backend::Memory memory, Device) noexcept { release_block(static_cast<Block*>(memory.handle)); }

constexpr Backend kBackend = {.allocate = allocate,
                              .release = release,
                              .current_index = current_index,
                              .copy_bytes = copy_bytes,
                              .copy = copy,
                              .fill = fill,
                              .pointwise = pointwise,
                              .reduce = reduce,
                              .random = random,
                              .synchronize = synchronize};

}  // namespace

std::string start() {
  if (!find_driver()) return why_no_driver();
  if (device_count() == 0) return "the NVIDIA driver finds no device";
  static Once once;
  once([] {
    connect_kernels();
    register_backend(DeviceType::cuda, kBackend);
    set_queries(DeviceType::cuda, &cuda_queries);
    for (const char* name : operators_with_kernels()) {
      auto* op = const_cast<Op*>(find_op(name));
      SCONCE_ASSERT(op);
      op->set_kernel(Key::cuda, op->kernels[static_cast<int>(Key::cpu)]);  // asks its tensors; see opgen/kinds/leaf.py
    }
  });
  return "";
}

}  // namespace sconce::cuda
