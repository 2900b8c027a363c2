// Error word: where kernels report what only they can see, such as an index out of range.
//
// It lies in host memory that the device can write (pinned), so that looking costs no copy. A kernel takes its address
// and the operator's number as arguments and writes the first fault; the host looks after each synchronisation, throws
//   embedding: index 12 is out of range for size 10
// as an Error of kind index, and clears it. The context lives on. In a kernel (no atomic: any of several faults will do):
//   if (i < -n || i >= n) {
//     if (word->operator_number == 0) {
//       word->index = i; word->size = n; __threadfence_system(); word->operator_number = number;
//     }
//     i = 0;  // stay inside the memory
//   }
#pragma once

#include <cstdint>

#include "sconce/tensor/device.h"

namespace sconce::cuda {

struct ErrorWord {
  int32_t operator_number;  // 0: nothing happened
  int32_t unused;
  int64_t index;  // what was wrong
  int64_t size;   // what it must be below
};

// The device's word, as kernels take it: ErrorWord*. Made when first asked for.
void* error_word(Device device);
// The number of an operator for it: 1, 2, ... The same name has the same number; `name` lives for ever.
int operator_number(const char* name);
// Throws what the word says and clears it. Called by synchronize().
void throw_reported(Device device);

void forget_error_words();  // for replace_driver()

}  // namespace sconce::cuda
