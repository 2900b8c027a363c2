// Convolution geometry: the shape along three dimensions, missing ones in front.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

struct ConvSizes {
  int64_t d, h, w;
  ConvSizes(const int64_t* sizes, int rank, int64_t missing)
      : d(rank > 2 ? sizes[rank - 3] : missing), h(rank > 1 ? sizes[rank - 2] : missing), w(sizes[rank - 1]) {}
  int64_t product() const { return d * h * w; }
};

struct ConvGeometry {
  ConvSizes in, out, kernel, stride, padding, dilation;
  explicit ConvGeometry(const ConvShape& s)
      : in(s.in, s.rank, 1),
        out(s.out, s.rank, 1),
        kernel(s.kernel, s.rank, 1),
        stride(s.stride, s.rank, 1),
        padding(s.padding, s.rank, 0),
        dilation(s.dilation, s.rank, 1) {}
};

}  // namespace sconce
