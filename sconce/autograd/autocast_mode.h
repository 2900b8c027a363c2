// Automatic mixed precision (autocast) on the CPU: while it is on for a thread, operators of ops/autocast.txt get their
// floats in the dtype that the file says (dispatch/binding/autocast.h), and gradients go back through the conversions.
#pragma once

#include "sconce/tensor/dtype.h"

namespace sconce::autograd {

// For the current thread: on or off, and what floats become. Throws Error unless it is bfloat16 or float16.
SCONCE_API void set_autocast(bool enabled, DType dtype);
SCONCE_API bool autocast_enabled();

// Weights (leaves that require grad) are converted once and kept until clear_autocast_cache, so that gradients of
// several uses are summed before they are converted back. On unless set otherwise.
SCONCE_API void set_autocast_cache(bool enabled);
SCONCE_API bool autocast_cache_enabled();
// For the end of the outermost region.
SCONCE_API void clear_autocast_cache();

// Tensors on device meta take part for a scope, on this thread: those of recorders stand for tensors of the CPU.
class SCONCE_API AutocastOfMeta {
 public:
  AutocastOfMeta();
  ~AutocastOfMeta();
  AutocastOfMeta(const AutocastOfMeta&) = delete;

 private:
  bool before_;
};

}  // namespace sconce::autograd
