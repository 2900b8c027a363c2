// Radix sort of a line: a stable order of indices, NaN last. Everything is sorted as one kind of word, 32 bits of key
// above 32 bits of index, by radix; 64-bit elements go by their 32 most significant differing bits first, and runs that
// these do not tell apart are sorted by the rest.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cpu {

// The most elements of a line.
inline constexpr int64_t kMaxLine = int64_t{1} << 32;

// n words, each a position in the low 32 bits, in the order of the elements; valid until `scratch` is destroyed. Equal
// elements stay in their order, also when descending. Uses threads for long lines. Throws Error for complex numbers and
// n above kMaxLine.
const uint64_t* order_line(const void* line, DType dtype, int64_t n, bool descending, Scratch& scratch);

// The same, and both results of sort; either may be null.
void sort_line(const void* line, DType dtype, int64_t n, bool descending, void* values, int64_t* indices);

// Words (key above index) by key; returns a or b, where the result is.
uint64_t* sort_words(uint64_t* a, uint64_t* b, int64_t n);

}  // namespace sconce::cpu
