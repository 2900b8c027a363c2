// Driver of operators on whole lines along one dim (sort, topk, median): it hands out each line as adjacent
// elements of the type that the kernel computes in, whatever the strides and dtypes of the tensors, and
// spreads lines over threads.
#pragma once

#include <span>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cpu {

// A tensor with the type in which the kernel sees its elements.
struct LineOperand {
  Tensor tensor;
  DType compute;
};

// Calls body(in, out) for every line of `in` along `dim`: in points to in.size(dim) elements, out[i] to as many as
// outs[i] has along dim. Tensors have the same sizes but for dim; those without dimensions have one line of one
// element. At most 3 outs. Lines of one thread follow each other; a single line is not inside a parallel region, so its
// kernel may use threads itself. `grain`: elements that are worth a thread.
void for_lines(const LineOperand& in, int64_t dim, std::span<const LineOperand> outs, int64_t grain,
               FunctionRef<void(const void* in, void* const* out)> body);

}  // namespace sconce::cpu
