// Write counts: how often memory was written, also by tensors that count apart. Tensor::version() is what programs see:
// `.data` has a counter of its own, inference tensors have none. Whoever keeps something that was made of the elements
// (packed weights) asks here.
#pragma once

#include <cstdint>

#include "sconce/tensor/tensor.h"

namespace sconce {

// Changes when an in-place operator writes to the memory of `t`, by whichever tensor. It may also change without.
uint64_t write_count(const Tensor& t);

// From now on writes to the memory of `t` are also counted by `counter`, for tensors that count apart.
void count_apart(const Tensor& t, const Ref<Storage>& counter);

}  // namespace sconce
