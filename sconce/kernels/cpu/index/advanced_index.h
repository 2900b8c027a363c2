// Advanced indexing: self[i, j, :, k] with index tensors, as NumPy does it.
//
// Masks become the columns of their non-zero positions; index tensors are broadcast together. If they stand side by
// side, their shape takes the place of the dimensions they index; otherwise it goes in front:
//   self [2,3,4,5], indices (None, [7], [7], None)  ->  before [2], shape [7], after [5]
//   self [2,3,4,5], indices ([7], None, [7], None)  ->  before [],  shape [7], after [3,5]
#pragma once

#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

struct AdvancedIndex {
  Tensor self;                  // a view of self with the indexed dimensions side by side
  int64_t first;                // the first of them
  std::vector<Tensor> indices;  // int64, one per indexed dimension, all of `shape` (broadcast: any strides)
  Dims shape;
  Dims result_sizes;
  Dims result_strides;  // what PyTorch gives a fresh result: dense, in the order of dimensions of self
};

// Throws Error (index) for masks that do not fit, shapes that do not broadcast, dtypes that are not indices, and too
// many indices. Values of indices are not looked at (but those of masks: on Meta they throw).
SCONCE_API AdvancedIndex plan_index(const Tensor& self, TensorList indices);

// result = self[...]: `result` has plan.result_sizes, any strides and self's dtype. CPU. Throws Error (index) for an
// index that is out of bounds; the result is then partly written.
void gather_index(const AdvancedIndex& plan, const Tensor& result);

// self[...] = values, or += when accumulating: `values` has plan.result_sizes (expanded: any strides) and self's dtype.
// Where an index occurs twice the last value wins.
void put_index(const AdvancedIndex& plan, const Tensor& values, bool accumulate);

}  // namespace sconce
