// Error word: where kernels report what only they can see, such as an index out of range.
//
// It lies in host memory that the device can write (pinned), so that looking costs no copy. A kernel takes its address
// and the operator's number as arguments and writes the first fault; the host looks after each synchronisation, throws
//   embedding: index 12 is out of range for size 10
// as an Error of kind index, and clears it. The context lives on. In a kernel (text/errors.cuh):
//   if (i < -n || i >= n) {
//     report(a.word, a.number, kIndex, i, n);
//     i = 0;  // stay inside the memory
//   }
#pragma once

#include <cstdint>

#include "sconce/tensor/device.h"

namespace sconce::cuda {

struct ErrorWord {
  enum Kind : int32_t {
    of_index,        // `index` is not below `size`
    of_probability,  // that of element `index` is not in [0, 1]
  };
  int32_t operator_number;  // 0: nothing happened
  int32_t kind;
  int64_t index;
  int64_t size;
};

// The device's word, as kernels take it: ErrorWord*. Made when first asked for.
void* error_word(Device device);
// The number of an operator for it: 1, 2, ... The same name has the same number; `name` lives for ever.
int operator_number(const char* name);
// Throws what the word says and clears it. Called by synchronize().
void throw_reported(Device device);

void forget_error_words();  // for replace_driver()

}  // namespace sconce::cuda
