// Batch normalisation for inference as pointwise calls, so that it becomes part of nests: a scale and a shift for each
// channel, then one multiplication and addition for each element.
//
//   scale = weight / sqrt(running_var + eps)        in float64, [C, 1, 1]
//   shift = bias - running_mean * scale
//   out   = input * scale + shift                   in float32, or float64 for such an input; rounded once
//
// The arithmetic is that of kernels/cpu/norm/batch_norm.cpp, so the bits are eager's. What belongs to a channel is
// computed at every call: the cost model keeps it out of the loop over elements, and a frozen program has folded it.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "sconce/loops/fuse.h"

namespace sconce::loops {

// Values of the graph; -1: not given.
struct BatchNorm {
  int32_t input, weight, bias, running_mean, running_var;
  double eps;
  int32_t output;
  bool visible = false;
};

// Whether the dtypes are such that eager computes as above: floats of 16, 32 or 64 bits, on both sides of the scale.
SCONCE_API bool can_append(const FuseGraph& graph, const BatchNorm& norm);

// Appends the nodes that compute norm.output, and the values between. `calls` owns the new calls. A pair of `views` is
// a new value, and the value whose memory it is, with other sizes: [C] as [C, 1, 1].
SCONCE_API void append_batch_norm(FuseGraph& graph, std::deque<LoopCall>& calls, const BatchNorm& norm,
                                  std::vector<std::pair<int32_t, int32_t>>& views);

}  // namespace sconce::loops
