// Grid coordinates: maps a grid's numbers to pixels of an image. N is a number type: float, double, or one that
// rounds like them.
#pragma once

#include <cmath>

#include "sconce/kernels/cpu/resize/grid_sampling.h"

namespace sconce::grid {

using std::abs;
using std::floor;
using std::fmod;
using std::isfinite;
using std::isnan;
using std::nearbyint;
using std::trunc;

// A place along one dimension, in pixels, and its derivative by the grid's number.
template <class N>
struct Place {
  N at;
  N slope;
};

template <class N>
Place<N> unnormalized(N x, int64_t size, bool align_corners) {
  if (align_corners) return {((x + N(1)) / N(2)) * N(size - 1), N(size - 1) / N(2)};
  return {((x + N(1)) * N(size) - N(1)) / N(2), N(size) / N(2)};
}

template <class N>
Place<N> clipped(Place<N> p, int64_t size, bool vector_rules) {
  const N top = N(size - 1);
  if (isnan(p.at)) return {vector_rules ? N(0) : top, N(0)};
  if (p.at <= N(0)) return {N(0), N(0)};
  if (p.at >= top) return {top, N(0)};
  return p;
}

// Mirrored into [low / 2, high / 2] as often as needed.
template <class N>
Place<N> reflected(Place<N> p, int64_t low, int64_t high) {
  if (low == high) return {N(0), N(0)};
  const N least = N(low) / N(2), span = N(high - low) / N(2);
  const bool negative = p.at - least < N(0);
  const N x = abs(p.at - least);
  const N extra = fmod(x, span);
  const bool even = fmod(floor(x / span), N(2)) == N(0);
  const N slope = negative ? -p.slope : p.slope;
  return even ? Place<N>{extra + least, slope} : Place<N>{span - extra + least, -slope};
}

// The same by the steps of PyTorch's vector code, which round differently far outside.
template <class N>
Place<N> mirrored(Place<N> p, int64_t size, bool align_corners) {
  const N period = align_corners ? N(2 * (size - 1)) : N(2 * size), half = N(0.5);
  if (period == N(0)) return {N(0), N(0)};
  const N shifted = align_corners ? p.at : p.at + half;
  const N x = abs(shifted), extra = x - trunc(x / period) * period, back = period - extra;
  const bool near = extra < back;
  const N at = near ? extra : back;
  return {align_corners ? at : at - half, near == (shifted < N(0)) ? -p.slope : p.slope};
}

template <class N>
Place<N> padded(Place<N> p, int64_t size, const GridSampling& how) {
  if (how.padding == GridSampling::Padding::border) return clipped(p, size, how.vector_rules);
  if (how.padding == GridSampling::Padding::reflection) {
    if (how.vector_rules) {
      p = mirrored(p, size, how.align_corners);
    } else {
      p = how.align_corners ? reflected(p, int64_t{0}, 2 * (size - 1)) : reflected(p, int64_t{-1}, 2 * size - 1);
    }
    return clipped(p, size, how.vector_rules);
  }
  return p;
}

// A place that is far outside, or NaN, as an integer that is outside.
template <class N>
int64_t whole(N x) {
  const auto d = static_cast<double>(x);
  return d >= -0x1p31 && d <= 0x1p31 - 2 ? static_cast<int64_t>(d) : -100;
}

template <class N>
void cubic_weights(N t, N* w) {
  const N a = N(-0.75);
  const auto far = [&](N x) { return ((a * x - N(5) * a) * x + N(8) * a) * x - N(4) * a; };
  const auto near = [&](N x) { return ((a + N(2)) * x - (a + N(3))) * x * x + N(1); };
  w[0] = far(t + N(1));
  w[1] = near(t);
  w[2] = near(N(1) - t);
  w[3] = far(N(2) - t);
}
// Their derivatives by t.
template <class N>
void cubic_slopes(N t, N* w) {
  const N a = N(-0.75);
  const auto far = [&](N x) { return (N(3) * a * x - N(10) * a) * x + N(8) * a; };
  const auto near = [&](N x) { return (N(3) * (a + N(2)) * x - N(2) * (a + N(3))) * x; };
  w[0] = far(t + N(1));
  w[1] = near(t);
  w[2] = -near(N(1) - t);
  w[3] = -far(N(2) - t);
}

// One image: sizes are depth, height, width; unused leading ones are 1.
struct Geometry {
  int rank;
  int64_t batch, channels;
  int64_t in[3], out[3];
  int64_t in_plane, out_plane;

  Geometry(const Tensor& input, const Tensor& grid)
      : rank(static_cast<int>(input.dim()) - 2), batch(input.size(0)), channels(input.size(1)) {
    in_plane = out_plane = 1;
    for (int d = 0; d < 3; ++d) {
      const int i = d - (3 - rank);
      in[d] = i < 0 ? 1 : input.size(2 + i);
      out[d] = i < 0 ? 1 : grid.size(1 + i);
      in_plane *= in[d];
      out_plane *= out[d];
    }
  }
};

// A neighbour of a bicubic place: where the padding puts it, or -1.
template <class N>
int64_t bounded(N at, int64_t size, const GridSampling& how) {
  const int64_t i = whole(padded<N>({at, N(1)}, size, how).at);
  return i >= 0 && i < size ? i : -1;
}

}  // namespace sconce::grid
