// Reductions over bags of rows on CUDA devices (text/bags/bags.cuh).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class BagKind : uint8_t { sum, mean, largest, smallest, product };

// All tensors are dense; those that are undefined are not there. `begin` has a place more than there are bags.
struct BagCall {
  BagKind kind;
  const char* name;                    // of the operator
  Tensor table{}, index{}, weights{};  // [rows, width], int64, the table's dtype
  Tensor begin{};                      // int64
  Tensor out{};                        // [bags, width]
  Tensor best{}, size{};               // int64: [bags, width], [bags]
  int64_t padding = -1;
  double start = 0;  // what bags begin with, where `starts`; else that of an empty one
  bool starts = false;
};
void reduce_bags(const BagCall& call);

}  // namespace sconce::cuda
