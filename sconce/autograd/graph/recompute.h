// Rematerialisation: a large result of a device that only nodes keep for backward is let go, where it can be computed
// again from what other nodes keep anyway, and is computed when the first of them reads it.
//
// Note [Results that are computed again]
// The result of a convolution is kept by the batch norm behind it, the rectified norm by the next convolution: the
// second is a multiplication, an addition and a comparison away from the first. So of an operator NAME for which the
// table has sconce::again_NAME (its arguments and results but the first, which it gives once more, to the bit), the
// first result, and what a pointwise operator of one argument makes of it, is a candidate while nodes keep it. Whenever
// another one is found, they are looked through: if nobody else owns a tensor over the memory, the memory goes, and the
// nodes share a Recomputed in its place. Not where saved-tensor hooks are on, on the CPU, for views, for results that
// were written since, or where the operators ran on different streams: memory that goes early may be given away while
// another stream reads it. SCONCE_CUDA_RECOMPUTE=off lets nothing go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/dispatch/op.h"
#include "sconce/types/value.h"

namespace sconce::autograd {

// How a node computes its first result again.
struct Again {
  const Op* op;
  std::vector<Value> args;
  std::vector<uint32_t> versions;  // of arguments that are tensors, in order
  int64_t stream;
};

// Null where the operator or the result is none for it.
std::unique_ptr<Again> make_again(const Op& op, const Value* args, const Value* results);

// Whether a tensor is worth it: large, on a device, with memory of its own.
bool is_worth_recomputing(const Tensor& t);

// The least bytes of a result that is let go, 1 MB; -1: none is. For tests.
SCONCE_API int64_t set_recompute_bytes(int64_t bytes);

}  // namespace sconce::autograd
