// Geometry epoch: counts how often a tensor that existed got other sizes, strides or memory in the process (resize_,
// set_, `.data = `). Whoever relies on the geometry of many tensors looks at one number instead of at all of them.
#pragma once

#include <atomic>
#include <cstdint>

namespace sconce {

extern constinit std::atomic<uint64_t> geometry_changes;

// The same for requires_grad, of tensors that Python knows: results of operators get it before they are seen.
extern constinit std::atomic<uint64_t> grad_flag_changes;

}  // namespace sconce
