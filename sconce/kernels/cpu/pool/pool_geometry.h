// Pooling geometry: the windows of a pooling operator over 1 to 3 spatial dimensions, shared by forward and backward.
#pragma once

#include <array>

#include "sconce/dispatch/glue.h"

namespace sconce {

// One spatial dimension. The window of output i covers begin(i), begin(i) + dilation, ... below end(i), parts of which
// may lie in the border.
struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;

  int64_t begin(int64_t i) const { return adaptive ? i * in / out : i * stride - padding; }
  int64_t end(int64_t i) const {
    return adaptive ? ((i + 1) * in + out - 1) / out : begin(i) + (kernel - 1) * dilation + 1;  // fits: window_pool
  }
  // The same without the border: [first, last), first reached by whole steps.
  int64_t first(int64_t i) const {
    const int64_t b = begin(i);
    return b >= 0 ? b : b + (-b + dilation - 1) / dilation * dilation;
  }
  int64_t last(int64_t i) const {
    const int64_t e = end(i);
    return e < in ? e : in;
  }
  // Elements of the window with the border (cut where the border ends), and without it. Not for dilated windows.
  int64_t padded(int64_t i) const {
    const int64_t e = end(i);
    return (e < in + padding ? e : in + padding) - begin(i);
  }
  int64_t inside(int64_t i) const {
    const int64_t n = last(i) - first(i);
    return n > 0 ? n : 0;
  }
};

struct Pool {
  PoolAxis axis[3];
  int rank = 2;  // spatial; unused leading axes have size 1

  int64_t in_plane() const { return axis[0].in * axis[1].in * axis[2].in; }
  int64_t out_plane() const { return axis[0].out * axis[1].out * axis[2].out; }
};

// Throw Error when the arguments do not fit the tensor, with PyTorch's reasons.
Pool window_pool(const Tensor& self, int rank, IntList kernel, IntList stride, IntList padding, IntList dilation,
                 bool ceil_mode);
Pool adaptive_pool(const Tensor& self, int rank, IntList output_size);

enum class PoolFormat { follow, contiguous };  // the result's: that of `self`, or always contiguous
OutSpec pooled_spec(const Tensor& self, const Pool& p, PoolFormat format = PoolFormat::follow);
std::array<OutSpec, 2> max_pooled_specs(const Tensor& self, const Pool& p, PoolFormat format = PoolFormat::follow);

// Throws unless t is of a dtype that the operator takes; the message is PyTorch's: "name" not implemented for 'Bool'.
enum class PoolTypes { floats, floats_and_int64, full_floats_and_int64, numbers };
void check_pool_dtype(const Tensor& t, PoolTypes types, const char* name);

// `list` as one value per dimension: it has one for all, or `rank`.
int64_t pool_value(IntList list, int rank, int i, const char* name);

inline constexpr int64_t kPoolOne = 1;
inline constexpr IntList kNoDilation(&kPoolOne, 1);

}  // namespace sconce
