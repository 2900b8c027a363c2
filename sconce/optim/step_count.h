// Step counts: the number of steps that a parameter took, which most optimisers keep in its state as a tensor
// of one float.
#pragma once

#include "sconce/optim/optimizer.h"

namespace sconce::optim {

// A tensor of one element, of the dtype that such numbers have.
Tensor number_tensor(double v);
// The value of such a tensor, set.
void set_number(const Tensor& t, double v);
// One step more; its number.
double count_step(State& state);
// Before a step: the first time, the state gets its count and, under these names, zeros like the parameter. Counts.
using Names = std::vector<std::string_view>;
void begin_step(State& state, const Tensor& parameter, const Names& zeros);
// Makes steps that are plain numbers, as PyTorch before 1.12 saved them, tensors.
void fix_step(State& state);

}  // namespace sconce::optim
