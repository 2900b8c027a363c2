// Cells of recurrent layers per instruction set level: [0] float, [1] double. They work on hidden units [begin, end) of
// some rows; `hidden` is the number of units, pitches are in elements from row to row.
#pragma once

#include <cstdint>

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

struct RnnKernels {
  using Cell = void (*)(const RnnCell& cell);
  Cell relu[2], tanh[2], lstm[2], gru[2];  // modes 0 to 3
};

namespace v2 {
extern const RnnKernels rnn_kernels;
}
namespace v3 {
extern const RnnKernels rnn_kernels;
}
namespace v4 {
extern const RnnKernels rnn_kernels;
}

// The table for this machine.
const RnnKernels& rnn_kernels();

}  // namespace sconce
