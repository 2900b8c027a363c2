// Pointwise operators on tensors: promotion, broadcasting, results, overlap checks; the loops themselves come from the
// table's scalar expressions. The same functions serve Meta tensors: they stop before the loop.
#pragma once

#include "sconce/dispatch/entry.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// How one pointwise operator computes: made by the generator, one per table entry.
struct PointwiseRule {
  const PointwiseLoops* loops;
  DTypeRule dtype;
  uint8_t promoting_inputs;  // bit k: input k takes part in promotion
  uint8_t promoting_params;  // bit k: so does parameter k
  uint8_t integral_params;   // bit k: must be an integer when the common dtype is one, a bool only with bools (alpha)
  uint8_t dtypes;            // the limited dtypes that it computes in (tensor/dtype.h)
};

// The strides of a fresh output: dense, in the order of dimensions that the operands have (strides expanded to
// `sizes`). The first operand that tells two dimensions apart decides; if none does, the order is row-major.
Dims ordered_strides(IntList sizes, const Dims* strides, int inputs);

// `in` has loops->inputs pointers, `params` loops->params numbers.
Tensor pointwise(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params);
// Into in[0]: its shape and dtype stay, and its version is bumped.
void pointwise_inplace(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params);
// Into `out`, which is resized when its shape differs.
void pointwise_out(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params, const Tensor& out);

}  // namespace sconce
