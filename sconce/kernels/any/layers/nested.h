// Nested tensors: sequences of different lengths in one tensor. Here they are [batch, longest, width] in memory, with
// zeros behind each sequence, and the storage knows the lengths. Operators that serve nested tensors ask for these; to
// all others it is a padded tensor, which may not be written to.
#pragma once

#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce {

// The lengths of a nested tensor's sequences; null for any other tensor.
const std::vector<int64_t>* nested_lengths(const Tensor& tensor);
// A nested tensor of the first elements of each sequence, [batch, length, width]; a length for each.
Tensor make_nested(const Tensor& padded, std::vector<int64_t> lengths);
// [batch, length]: true behind the end of each sequence.
Tensor padding_of(const std::vector<int64_t>& lengths, int64_t length, Device device);

}  // namespace sconce
