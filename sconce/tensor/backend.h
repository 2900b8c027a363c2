// Backend: the dispatch table of a device type, the hardware abstraction below the operators.
//
// Everything that does not depend on a device is written once: promotion, broadcasting, results, views, checks. The
// rest, for a device, is this record of functions: memory, copies, and the two loops that all pointwise operators and
// reductions of the table end in. A device that fills it in runs all of them, and everything that is composed of them,
// without naming one; `register_backend` (dispatch/register_backend.h) gives it their kernels. Operators with code for
// one device (matmul, sort) are kernels in the table, not here.
//
// Note [Addresses]
// Tensor::data() is an address of its device. Adding offsets to it and comparing it is fine anywhere; only the device's
// own functions may read or write there. Code outside of kernels/cpu/ therefore uses copy_tensor, item_of, fill_tensor.
//
// Note [Order of work]
// A device may work later than it is asked to, in the order in which it was asked. What the host can see is waited for:
// copy_bytes to host memory returns when the bytes are there. `synchronize` waits for everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sconce/base/export.h"
#include "sconce/tensor/device.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

class Tensor;
class Generator;
struct Draw;            // kernels/draw.h
struct PointwiseLoops;  // one pointwise operator: kernels/cpu/engine/loop.h
struct ReduceLoops;     // one reduction: kernels/cpu/engine/reduce_loop.h
struct Param;           // a number argument of either

// A view of memory; owns nothing. Strides are in elements, one per size of the iteration (broadcast sizes
// have stride 0).
struct Operand {
  void* data;
  DType dtype;
  const int64_t* strides;
};

// out = loops(in...), element by element over `sizes`, converted through the dtype `common` (see iterate.h).
struct PointwiseCall {
  const PointwiseLoops& loops;
  DType common;
  std::span<const int64_t> sizes;
  Operand out;
  std::span<const Operand> in;  // one for each input of the loops
  const Param* params;          // one for each parameter of the loops
  uint32_t on_host;             // bit k: in[k] is one element in host memory, a number that joined the device's tensors
};

// Reduces the dimensions d of `sizes` with reduced[d]; strides of outputs are 0 there.
struct ReduceCall {
  const ReduceLoops& loops;
  DType common;
  std::span<const int64_t> sizes;
  const bool* reduced;
  Operand in;
  std::span<const Operand> out;  // one for each result of the loops
  const Param* params;
};

// Functions may be called from any thread and throw Error unless they say otherwise. `device` has an index >= 0 where
// the type numbers its devices. Calls are never empty: there is at least one byte, one element.
struct Backend {
  // A block and the data by which the backend finds it again.
  struct Memory {
    void* data;
    void* handle;
  };

  Memory (*allocate)(size_t nbytes, Device device);  // uninitialised, 64-byte aligned
  void (*release)(Memory memory, Device device) noexcept;
  // The number of the device that "cuda" means in this thread; null where devices have no numbers, as on the CPU.
  int8_t (*current_index)();
  // Between two places that do not overlap, on devices of this type or on the host (the CPU).
  void (*copy_bytes)(void* to, Device to_device, const void* from, Device from_device, size_t nbytes);
  // out = in over `sizes`, between any two dtypes and strides, on one device. They overlap only when they are the same.
  void (*copy)(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device device);
  // Every element of out becomes `element`, one of its dtype, in host memory.
  void (*fill)(std::span<const int64_t> sizes, const Operand& out, const void* element, Device device);
  void (*pointwise)(const PointwiseCall& call, Device device);
  void (*reduce)(const ReduceCall& call, Device device);
  // Random numbers into every element of a tensor. Arguments were checked.
  void (*random)(const Tensor& out, const Draw& draw, const Generator& generator);
  void (*synchronize)(Device device);
};

extern const Backend cpu_backend;  // kernels/cpu/engine/cpu_backend.cpp

// A load from a table, without a lock. Null when there is none. The CPU always has one, from static initialisation on;
// Meta, which has no memory, never.
SCONCE_API const Backend* find_backend(DeviceType type);
// Throws Error when there is none: "cannot allocate on device cuda: this build has no CUDA".
SCONCE_API const Backend& backend_of(Device device);
// Gives a device type its functions, which must live for ever; null takes them away again. Tensors that are on such a
// device must be gone by then. See register_backend for one that brings operators.
SCONCE_API void set_backend(DeviceType type, const Backend* backend);

// The device with its number: "cuda" is the current one of the thread. Throws Error where a number is needed and there
// is no such device.
SCONCE_API Device resolve_device(Device device);

}  // namespace sconce
