// Reduction engine of CUDA devices: reductions of the table, by rows or by columns.
#pragma once

#include <string>

#include "sconce/tensor/backend.h"

namespace sconce::cuda {

// The function of Backend (tensor/backend.h).
void reduce(const ReduceCall& call, Device device);

// The source of the kernel that such a call launches, and the key it is kept under: for tests.
struct ReductionText {
  std::string key, source;
  const char* entry;
};
ReductionText reduction_text(const ReduceCall& call);

}  // namespace sconce::cuda
