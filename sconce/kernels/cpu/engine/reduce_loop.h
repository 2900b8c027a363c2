// Reduce loop: the interface between the reduction engine (reduce_engine.h) and the vector kernels of a reduction.
// Plain data only, like loop.h: the kernels are compiled for several instruction sets.
//
// Note [Leaves]
// A reduction's elements are cut into leaves of fixed size, counted from its first element: 4096 elements of a row, or
// 64 rows of a block of columns. A kernel reduces one leaf in the compute type; its partial results ("states") are kept
// in the wide type (float64 for float32) and merged in an order that depends on the number of leaves only. Inside a
// leaf of a row, element i belongs to lane i % 64 (float32; 32 of 8 bytes), and lanes are folded i + 32, i + 16, ...
// whatever the width of a vector is. So the result has the same bits with any number of threads, and at every
// instruction set level where no math function that differs between them is used.
//
// State k of output i stands at state[k][i] in the wide type. Arrays of states begin at 64 bytes and are padded to
// them: kernels read and write whole vectors, the padding is never used.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/loop.h"

namespace sconce {

inline constexpr int64_t kLeafElements = 4096;  // of a row; 16 KB of float32: a second pass runs from the L1 cache
inline constexpr int64_t kLeafRows = 64;        // of a block of columns
inline constexpr int kMaxStates = 4;
inline constexpr int kMaxReduceResults = 2;

struct ReduceKernels {
  // `rows` leaves of n > 0 adjacent elements, row_stride bytes apart; `first` is the index of a row's first element
  // within its reduction. One state per row.
  void (*rows)(const char* in, int64_t row_stride, int64_t n, int64_t rows, int64_t first, const Param* params,
               char* const* state);
  // count <= kLeafRows rows of `groups` * 64 bytes: one state per column. `scratch` has room for one such
  // row per state.
  void (*columns)(const char* const* rows, int64_t count, int64_t groups, int64_t first, const Param* params,
                  char* const* state, char* scratch);
  // into[i] = merge(into[i], from[i]) for n states.
  void (*merge)(char* const* into, const char* const* from, int64_t n, const Param* params);
  // Results in the wide type (an index: int64) of n outputs, each reduced from `count` elements.
  void (*finish)(char* const* out, const char* const* state, int64_t n, int64_t count, const Param* params);
  // The states of n reductions of nothing.
  void (*identity)(char* const* state, int64_t n);
};

// All kernels of one reduction. Compute types: f32, f64, i64, u8, c128.
struct ReduceLoops {
  const char* name;  // as users know it: "sum"
  uint8_t states, results, params;
  bool ordered;     // states hold indices: elements must come in the order of the dimensions
  uint8_t indices;  // bit r: result r is an index
  const ReduceKernels* kernels[kCpuLevels][kComputeTypes];  // null: not defined for this type
};

}  // namespace sconce
