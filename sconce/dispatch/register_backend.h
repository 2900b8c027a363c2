// Device registration: registers a device's Backend, and with it all operators that run on every device.
//
// Note [Every device]
// An operator with Trait::every_device has one kernel for all of them: it computes sizes and makes views, calls other
// operators, or leaves the loop to the device's Backend (pointwise operators and reductions). A device gets those
// kernels the moment it is registered, so a build that lacks it carries nothing for it. All other operators refuse
// tensors of the device by name, also beside tensors of the CPU: none falls back to a CPU kernel.
#pragma once

#include "sconce/dispatch/op.h"
#include "sconce/tensor/backend.h"

namespace sconce {

// `backend` must live for ever. A library of kernels for the device sets them afterwards (Op::set_kernel, or a
// Library). Throws Error for the CPU and Meta, which have theirs.
SCONCE_API void register_backend(DeviceType type, const Backend& backend);

// Whether an operator has a kernel of its own for tensors of a device, not only the refusal. Loads no library: a device
// that was not used yet has none.
SCONCE_API bool runs_on(const Op& op, DeviceType type);

}  // namespace sconce
