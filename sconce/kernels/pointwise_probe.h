// Pointwise probe: how a pointwise operator would run, learnt from a call on Meta tensors, which stops before the loop.
// Compilers find out so which case of an entry, which dtype and which numbers a call has, without a second copy of the
// rules (kernels/pointwise.cpp).
#pragma once

#include "sconce/kernels/pointwise.h"

namespace sconce {

// What calls on Meta report while this thread has one.
struct PointwiseProbe {
  int calls = 0;  // the rest is that of the last one
  const PointwiseRule* rule = nullptr;
  DType common{};
  DType result{};
  const TensorImpl* inputs[kMaxLoopInputs] = {};
  Param params[kMaxLoopParams];
};

extern thread_local constinit PointwiseProbe* pointwise_probe;  // null: nobody asks

}  // namespace sconce
