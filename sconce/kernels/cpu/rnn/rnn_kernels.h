// RNN cell kernels: LSTM, GRU and plain cells, per instruction set level: [0] float, [1] double. They work on hidden
// units [begin, end) of some rows; `hidden` is the number of units, pitches are in elements from row to row.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct RnnCell {
  void* gates;  // sums before the activation, one run of `hidden` for each gate; activated in place when `save`
  int64_t gates_pitch;
  void* extra;         // gru: the hidden part of the candidate, [rows, hidden]
  const void* before;  // lstm: cell states before, gru: hidden states before
  int64_t before_pitch;
  void* cells;  // lstm: cell states after, [rows, hidden]
  void* out;
  int64_t out_pitch;
  int64_t rows, hidden, begin, end;
  bool save;
};

// The gradient of a cell, from the values it saved. All rows are dense but for `before`.
struct RnnCellGradient {
  const void* gates;   // activated
  const void* kept;    // lstm: cell states after; gru: the hidden part of the candidate
  const void* before;  // lstm: cell states before; gru: hidden states before
  int64_t before_pitch;
  const void* out;   // relu and tanh: hidden states after
  const void* grad;  // of the hidden states after, [rows, hidden]
  // Of the sums before the activation, as gates: of the input's and of the hidden products, which differ for gru only.
  void *of_input, *of_hidden;
  void* of_state;  // lstm: of cell states after, then of those before; gru: of hidden states before, without the gates'
  void* shown;     // lstm with a projection: hidden states before it; else null
  int64_t rows, hidden;
};

struct RnnKernels {
  using Cell = void (*)(const RnnCell& cell);
  Cell relu[2], tanh[2], lstm[2], gru[2];  // modes 0 to 3
  using Gradient = void (*)(const RnnCellGradient& cell);
  Gradient relu_gradient[2], tanh_gradient[2], lstm_gradient[2], gru_gradient[2];
};

SCONCE_AT_EACH_LEVEL(extern const RnnKernels rnn_kernels;)

// The table for this machine.
const RnnKernels& rnn_kernels();

}  // namespace sconce
