// Reductions on tensors: which dims and dtype, results, checks; the loops come from the table's map and
// combine, or are written by hand if a state is more than a number. The same functions serve Meta tensors: they
// stop before the loop.
#pragma once

#include <optional>
#include <tuple>

#include "sconce/dispatch/entry.h"
#include "sconce/kernels/cpu/engine/reduce_loop.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// How one reduction behaves: made by the generator, one per table entry.
struct ReduceRule {
  const ReduceLoops* loops;
  const char* name;
  ReduceDType dtype;
  ResultRule results[kMaxReduceResults];
  bool empty_is_error;      // there is no result for no elements
  bool empty_list_is_none;  // dim=[] reduces nothing; otherwise everything
  uint8_t dtypes;           // the limited dtypes that it computes in (tensor/dtype.h)
};

struct ReduceAxes {
  IntList dims;
  bool given;  // false: every dim
  bool keepdim;
};

Tensor reduce(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
              const Scalar* numbers);
std::tuple<Tensor, Tensor> reduce_pair(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes,
                                       std::optional<DType> dtype, const Scalar* numbers);
// Into outs[0] ..., one for each result of the loops; they are resized when their shape differs.
void reduce_out(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
                const Scalar* numbers, const Tensor* const* outs);

namespace cpu {
// Written by hand (kernels/cpu/simd/reduce_index.cpp): the index of the largest or smallest element, the first of equal
// ones, NaN before all others; and the element with its index.
extern const ReduceLoops reduce_argmax, reduce_argmin, reduce_max_index, reduce_min_index;
}  // namespace cpu

}  // namespace sconce
