#include "sconce/kernels/cpu/resize/grid_sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/visit_floats.h"
#include "sconce/kernels/cpu/resize/grid_kernels.h"
#include "sconce/kernels/cpu/resize/grid_places.h"
#include "sconce/tensor/half.h"

namespace sconce {

const GridKernels& grid_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(grid_kernels)); }

namespace {

using namespace grid;

// A 16-bit float that rounds after every operation, as PyTorch's do here: places in a grid are small numbers, and how
// they round decides which pixels are read.
template <class H>
struct Short {
  float v = 0;

  Short() = default;
  Short(float f) : v(rounded(f)) {}
  Short(double f) : Short(static_cast<float>(f)) {}
  Short(int i) : Short(static_cast<float>(i)) {}
  Short(int64_t i) : Short(static_cast<float>(i)) {}
  static float rounded(float f) {
    if constexpr (std::is_same_v<H, Half>) {
      return to_float(to_half(f));
    } else {
      return to_float(to_bfloat16(f));
    }
  }
  explicit operator int64_t() const { return static_cast<int64_t>(v); }
  explicit operator double() const { return v; }
  friend Short operator+(Short a, Short b) { return a.v + b.v; }
  friend Short operator-(Short a, Short b) { return a.v - b.v; }
  friend Short operator*(Short a, Short b) { return a.v * b.v; }
  friend Short operator/(Short a, Short b) { return a.v / b.v; }
  friend Short operator-(Short a) { return -a.v; }
  Short& operator+=(Short b) { return *this = *this + b; }
  friend bool operator<(Short a, Short b) { return a.v < b.v; }
  friend bool operator>(Short a, Short b) { return a.v > b.v; }
  friend bool operator<=(Short a, Short b) { return a.v <= b.v; }
  friend bool operator>=(Short a, Short b) { return a.v >= b.v; }
  friend bool operator==(Short a, Short b) { return a.v == b.v; }
  friend Short floor(Short a) { return std::floor(a.v); }
  friend Short abs(Short a) { return std::abs(a.v); }
  friend Short fmod(Short a, Short b) { return std::fmod(a.v, b.v); }
  friend Short trunc(Short a) { return std::trunc(a.v); }
  friend Short nearbyint(Short a) { return std::nearbyint(a.v); }
  friend bool isfinite(Short a) { return std::isfinite(a.v); }
  friend bool isnan(Short a) { return std::isnan(a.v); }
};

// Elements in memory, numbers to compute with.
template <class T>
struct NumberOf {
  using type = T;
};
template <>
struct NumberOf<Half> {
  using type = Short<Half>;
};
template <>
struct NumberOf<BFloat16> {
  using type = Short<BFloat16>;
};
template <class T>
typename NumberOf<T>::type read(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return to_float(v);
  } else {
    return v;
  }
}
template <class T>
T written(typename NumberOf<T>::type v) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(v.v);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(v.v);
  } else {
    return v;
  }
}

// The corners around a place, bit d of a corner's number saying which side of dimension 2 - d it is on.
template <class N>
struct Corners {
  int count;
  int64_t offset[8];
  bool inside[8];
  N weight[8];
  N low[3], high[3];  // weights of the two sides, by dimension

  Corners(const Geometry& g, const Place<N>* places) : count(1 << g.rank) {
    int64_t first[3] = {0, 0, 0};
    for (int d = 3 - g.rank; d < 3; ++d) {
      const N f = floor(places[d].at);
      first[d] = whole(f);
      high[d] = places[d].at - f;
      low[d] = (f + N(1)) - places[d].at;
    }
    for (int k = 0; k < count; ++k) {
      offset[k] = 0;
      inside[k] = true;
      weight[k] = N(1);
      for (int d = 3 - g.rank; d < 3; ++d) {
        const int side = k >> (2 - d) & 1;
        const int64_t at = first[d] + side;
        inside[k] = inside[k] && at >= 0 && at < g.in[d];
        offset[k] = offset[k] * g.in[d] + at;
      }
      for (int d = 2; d >= 3 - g.rank; --d) {  // width first, as PyTorch multiplies
        const N w = (k >> (2 - d) & 1) ? high[d] : low[d];
        weight[k] = d == 2 ? w : weight[k] * w;
      }
    }
  }
  // The derivative of weight k by the place along dimension d.
  N slope(int k, int d, int rank) const {
    N w = (k >> (2 - d) & 1) ? N(1) : N(-1);
    for (int e = 2; e >= 3 - rank; --e) {
      if (e != d) w = w * ((k >> (2 - e) & 1) ? high[e] : low[e]);
    }
    return w;
  }
};

template <class N, class T>
void read_places(const T* grid, const Geometry& g, const GridSampling& how, Place<N>* places) {
  for (int i = 0; i < g.rank; ++i) {  // x first, which is the last dimension
    const int d = 2 - i;
    places[d] = unnormalized<N>(read(grid[i]), g.in[d], how.align_corners);
    if (how.mode != GridSampling::Mode::bicubic) places[d] = padded(places[d], g.in[d], how);
  }
}

// The element of a plane that is nearest to the places, if it is inside.
template <class N>
std::optional<int64_t> nearest_offset(const Geometry& g, const Place<N>* places) {
  int64_t offset = 0;
  for (int d = 3 - g.rank; d < 3; ++d) {
    const int64_t at = whole(nearbyint(places[d].at));
    if (at < 0 || at >= g.in[d]) return std::nullopt;
    offset = offset * g.in[d] + at;
  }
  return offset;
}

template <class T>
void sample(const Tensor& input, const Tensor& grid, const GridSampling& how, const Tensor& out) {
  using N = typename NumberOf<T>::type;
  const Geometry g(input, grid);
  const bool plain_nan = how.vector_rules && how.mode == GridSampling::Mode::bilinear;
  parallel_for(g.batch * g.out_plane, grain_for(8 * g.channels), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t n = i / g.out_plane;
      const T* x = input.data<T>() + n * g.channels * g.in_plane;
      T* y = out.data<T>() + n * g.channels * g.out_plane + i % g.out_plane;
      Place<N> places[3];
      read_places<N>(grid.data<T>() + i * g.rank, g, how, places);
      if (how.mode == GridSampling::Mode::bilinear) {
        const Corners<N> corners(g, places);
        for (int64_t c = 0; c < g.channels; ++c) {
          N sum = N(0);
          for (int k = 0; k < corners.count; ++k) {
            if (corners.inside[k]) {
              sum += read(x[c * g.in_plane + corners.offset[k]]) * corners.weight[k];
            } else if (plain_nan) {
              sum += N(0) * corners.weight[k];  // a NaN coordinate gives NaN
            }
          }
          y[c * g.out_plane] = written<T>(sum);
        }
      } else if (how.mode == GridSampling::Mode::nearest) {
        const std::optional<int64_t> offset = nearest_offset(g, places);
        for (int64_t c = 0; c < g.channels; ++c) y[c * g.out_plane] = offset ? x[c * g.in_plane + *offset] : T{};
      } else {
        N weight[2][4];
        int64_t at[2][4];
        for (int d = 0; d < 2; ++d) {
          const N f = floor(places[1 + d].at);
          cubic_weights<N>(places[1 + d].at - f, weight[d]);
          for (int k = 0; k < 4; ++k) at[d][k] = bounded<N>(f + N(k - 1), g.in[1 + d], how);
        }
        for (int64_t c = 0; c < g.channels; ++c) {
          N sum = N(0);
          for (int a = 0; a < 4; ++a) {
            N row = N(0);
            for (int b = 0; b < 4; ++b) {
              const bool inside = at[0][a] >= 0 && at[1][b] >= 0;
              const N v = inside ? N(read(x[c * g.in_plane + at[0][a] * g.in[2] + at[1][b]])) : N(0);
              row += v * weight[1][b];
            }
            sum += row * weight[0][a];
          }
          y[c * g.out_plane] = written<T>(sum);
        }
      }
    }
  });
}

template <class T>
void sample_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, const GridSampling& how,
                     const Tensor& grad_input, const Tensor& grad_grid) {
  using N = typename NumberOf<T>::type;
  const Geometry g(input, grid);
  const auto add = [](T& to, N v) { to = written<T>(read(to) + v); };
  parallel_for(g.batch, 1, [&](int64_t from, int64_t to) {
    for (int64_t n = from; n < to; ++n) {
      const T* x = input.data<T>() + n * g.channels * g.in_plane;
      T* gx = grad_input.defined() ? grad_input.data<T>() + n * g.channels * g.in_plane : nullptr;
      for (int64_t i = 0; i < g.out_plane; ++i) {
        const T* go = grad_output.data<T>() + n * g.channels * g.out_plane + i;
        Place<N> places[3];
        read_places<N>(grid.data<T>() + (n * g.out_plane + i) * g.rank, g, how, places);
        N slope[3] = {N(0), N(0), N(0)};
        if (how.mode == GridSampling::Mode::bilinear) {
          const Corners<N> corners(g, places);
          N derivative[3][8];  // of the corners' weights
          for (int d = 3 - g.rank; d < 3; ++d) {
            for (int k = 0; k < corners.count; ++k) derivative[d][k] = corners.slope(k, d, g.rank);
          }
          for (int64_t c = 0; c < g.channels; ++c) {
            const N v = read(go[c * g.out_plane]);
            for (int k = 0; k < corners.count; ++k) {
              if (!corners.inside[k]) continue;
              const int64_t at = c * g.in_plane + corners.offset[k];
              if (gx) add(gx[at], corners.weight[k] * v);
              if (!grad_grid.defined()) continue;
              const N pull = read(x[at]) * v;
              for (int d = 3 - g.rank; d < 3; ++d) slope[d] += derivative[d][k] * pull;
            }
          }
        } else if (how.mode == GridSampling::Mode::nearest) {
          const std::optional<int64_t> offset = nearest_offset(g, places);
          for (int64_t c = 0; c < g.channels && offset && gx; ++c)
            add(gx[c * g.in_plane + *offset], read(go[c * g.out_plane]));
        } else {
          N weight[2][4], derivative[2][4];
          int64_t at[2][4];
          for (int d = 0; d < 2; ++d) {
            const N f = floor(places[1 + d].at);
            cubic_weights<N>(places[1 + d].at - f, weight[d]);
            cubic_slopes<N>(places[1 + d].at - f, derivative[d]);
            for (int k = 0; k < 4; ++k) at[d][k] = bounded<N>(f + N(k - 1), g.in[1 + d], how);
          }
          for (int64_t c = 0; c < g.channels; ++c) {
            const N v = read(go[c * g.out_plane]);
            for (int a = 0; a < 4; ++a) {
              for (int b = 0; b < 4; ++b) {
                if (at[0][a] < 0 || at[1][b] < 0) continue;
                const int64_t p = c * g.in_plane + at[0][a] * g.in[2] + at[1][b];
                if (gx) add(gx[p], v * weight[1][b] * weight[0][a]);
                if (!grad_grid.defined()) continue;
                slope[2] += read(x[p]) * derivative[1][b] * weight[0][a] * v;
                slope[1] += read(x[p]) * derivative[0][a] * weight[1][b] * v;
              }
            }
          }
        }
        if (!grad_grid.defined()) continue;
        T* gg = grad_grid.data<T>() + (n * g.out_plane + i) * g.rank;
        for (int k = 0; k < g.rank; ++k) {
          gg[k] = how.mode == GridSampling::Mode::nearest ? T{} : written<T>(places[2 - k].slope * slope[2 - k]);
        }
      }
    }
  });
}

// The same for the usual case, 2-d and bilinear in float or double. Places are worked out for a block of outputs, then
// used channel by channel: planes are often a power of two apart, and accesses that far apart wait for each other.
template <class T>
struct BilinearBlock {
  static constexpr int64_t size = 64;
  struct Output {
    int64_t first;                  // pixel above left
    bool left, right, top, bottom;  // inside
    T x, y;                         // distance from that pixel
    T slope_x, slope_y, sum_x, sum_y;
  };
  Output outputs[size];

  void fill(const T* places, int64_t count, const Geometry& g, const GridSampling& how) {
    for (int64_t i = 0; i < count; ++i) {
      Place<T> p[3];
      read_places<T>(places + i * 2, g, how, p);
      const T x0 = std::floor(p[2].at), y0 = std::floor(p[1].at);
      const int64_t column = whole(x0), row = whole(y0);
      outputs[i] = {row * g.in[2] + column,
                    column >= 0 && column < g.in[2],
                    column >= -1 && column < g.in[2] - 1,
                    row >= 0 && row < g.in[1],
                    row >= -1 && row < g.in[1] - 1,
                    p[2].at - x0,
                    p[1].at - y0,
                    p[2].slope,
                    p[1].slope,
                    0,
                    0};
    }
  }
  // One channel; `gradient` may be null.
  void add(const T* go, int64_t count, const T* plane, T* gradient, int64_t width) {
    for (int64_t i = 0; i < count; ++i) {
      Output& o = outputs[i];
      const T v = go[i], x = o.x, y = o.y, left = 1 - x, top = 1 - y;
      const T* const at = plane + o.first;
      T* const to = gradient ? gradient + o.first : nullptr;
      T nw = 0, ne = 0, sw = 0, se = 0;
      if (o.left && o.right && o.top && o.bottom) {
        nw = at[0], ne = at[1], sw = at[width], se = at[width + 1];
        if (to) {
          const T upper = top * v, lower = y * v;
          const T sums[4] = {to[0] + left * upper, to[1] + x * upper, to[width] + left * lower,
                             to[width + 1] + x * lower};
          to[0] = sums[0], to[1] = sums[1], to[width] = sums[2], to[width + 1] = sums[3];
        }
      } else {
        const auto visit = [&](bool inside, int64_t offset, T weight, T& pixel) {
          if (!inside) return;
          pixel = at[offset];
          if (to) to[offset] += weight * v;
        };
        visit(o.left && o.top, 0, left * top, nw);
        visit(o.right && o.top, 1, x * top, ne);
        visit(o.left && o.bottom, width, left * y, sw);
        visit(o.right && o.bottom, width + 1, x * y, se);
      }
      o.sum_x += v * (top * (ne - nw) + y * (se - sw));
      o.sum_y += v * (left * (sw - nw) + x * (se - ne));
    }
  }
};

template <class T>
void bilinear_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, const GridSampling& how,
                       const Tensor& grad_input, const Tensor& grad_grid) {
  const Geometry g(input, grid);
  parallel_for(g.batch, 1, [&](int64_t from, int64_t to) {
    BilinearBlock<T> block;
    for (int64_t n = from; n < to; ++n) {
      for (int64_t i = 0; i < g.out_plane; i += block.size) {
        const int64_t count = std::min(block.size, g.out_plane - i);
        block.fill(grid.data<T>() + (n * g.out_plane + i) * 2, count, g, how);
        for (int64_t c = n * g.channels; c < (n + 1) * g.channels; ++c) {
          block.add(grad_output.data<T>() + c * g.out_plane + i, count, input.data<T>() + c * g.in_plane,
                    grad_input.defined() ? grad_input.data<T>() + c * g.in_plane : nullptr, g.in[2]);
        }
        if (!grad_grid.defined()) continue;
        T* to_grid = grad_grid.data<T>() + (n * g.out_plane + i) * 2;
        for (int64_t k = 0; k < count; ++k) {
          to_grid[2 * k] = block.outputs[k].slope_x * block.outputs[k].sum_x;
          to_grid[2 * k + 1] = block.outputs[k].slope_y * block.outputs[k].sum_y;
        }
      }
    }
  });
}

SCONCE_VARIANT(vector_samples, "grid_sample.vectors", "2-d bilinear float32, two columns or more");
SCONCE_VARIANT(block_gradients, "grid_sample.backward.blocks", "2-d bilinear float32 or float64");

bool is_fast(const Tensor& input, const GridSampling& how) {
  return input.dim() == 4 && input.dtype() == DType::float32 && how.mode == GridSampling::Mode::bilinear &&
         how.vector_rules && input.size(3) >= 2 && input.size(2) * input.size(3) < INT32_MAX;
}

void sample_fast(const Tensor& input, const Tensor& grid, const GridSampling& how, const Tensor& out) {
  const Geometry g(input, grid);
  parallel_for(g.batch * g.out_plane, std::max<int64_t>(64, 16384 / g.channels), [&](int64_t from, int64_t to) {
    while (from < to) {
      const int64_t n = from / g.out_plane, first = from % g.out_plane;
      const int64_t count = std::min(to - from, g.out_plane - first);
      grid_kernels().bilinear({input.data<float>() + n * g.channels * g.in_plane, grid.data<float>() + from * 2,
                               out.data<float>() + n * g.channels * g.out_plane + first, count, g.channels, g.in_plane,
                               g.out_plane, g.in[1], g.in[2], static_cast<int>(how.padding), how.align_corners});
      from += count;
    }
  });
}

}  // namespace

GridSampling grid_sampling(const Tensor& input, const Tensor& grid, int rank, int64_t interpolation_mode,
                           int64_t padding_mode, bool align_corners) {
  SCONCE_CHECK(input.dim() == rank + 2 && grid.dim() == rank + 2,
               "grid_sampler(): expected {}D input and grid with same number of dimensions, but got input with sizes "
               "{} and grid with sizes {}",
               rank + 2, input.sizes(), grid.sizes());
  SCONCE_CHECK(input.size(0) == grid.size(0),
               "grid_sampler(): expected grid and input to have same batch size, but got input with sizes {} and grid "
               "with sizes {}",
               input.sizes(), grid.sizes());
  SCONCE_CHECK(grid.size(rank + 1) == rank,
               "grid_sampler(): expected grid to have size {} in last dimension, but got grid with sizes {}", rank,
               grid.sizes());
  for (int64_t d = 2; d < input.dim(); ++d) {
    SCONCE_CHECK(input.size(d) > 0,
                 "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {} with "
                 "dimension {} being empty",
                 input.sizes(), d);
  }
  SCONCE_CHECK(rank == 2 || interpolation_mode != 2, "grid_sampler(): bicubic interpolation only supports 4D input");
  SCONCE_CHECK(interpolation_mode >= 0 && interpolation_mode <= 2,
               "grid_sampler(): interpolation_mode must be 0, 1 or 2, got {}", interpolation_mode);
  SCONCE_CHECK(padding_mode >= 0 && padding_mode <= 2, "grid_sampler(): padding_mode must be 0, 1 or 2, got {}",
               padding_mode);
  SCONCE_CHECK(input.dtype() == grid.dtype(), "expected scalar type {} but found {}", dtype_legacy_name(input.dtype()),
               dtype_legacy_name(grid.dtype()));
  return {static_cast<GridSampling::Mode>(interpolation_mode), static_cast<GridSampling::Padding>(padding_mode),
          align_corners, rank == 2};
}

void sample_grid(const Tensor& input, const Tensor& grid, const GridSampling& how, const Tensor& out) {
  const Tensor x = contiguous_tensor(input), places = contiguous_tensor(grid);
  visit_floats(input.dtype(), input.dim() == 4 ? "grid_sampler_2d_cpu_kernel_impl" : "grid_sampler3d_cpu",
               [&]<class T>() {
                 if (out.numel() == 0) return;
                 if (vector_samples(is_fast(x, how))) return sample_fast(x, places, how, out);
                 sample<T>(x, places, how, out);
               });
}

void sample_grid_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, const GridSampling& how,
                          const Tensor& grad_input, const Tensor& grad_grid) {
  const Tensor go = contiguous_tensor(grad_output), x = contiguous_tensor(input), places = contiguous_tensor(grid);
  visit_floats(input.dtype(),
               input.dim() == 4 ? "grid_sampler_2d_backward_cpu_kernel_impl" : "grid_sampler_3d_backward_cpu",
               [&]<class T>() {
                 if (grad_input.defined())
                   std::memset(grad_input.data(), 0, static_cast<size_t>(grad_input.numel()) * sizeof(T));
                 if constexpr (std::is_floating_point_v<T>) {
                   if (block_gradients(input.dim() == 4 && how.mode == GridSampling::Mode::bilinear)) {
                     return bilinear_backward<T>(go, x, places, how, grad_input, grad_grid);
                   }
                 }
                 sample_backward<T>(go, x, places, how, grad_input, grad_grid);
               });
}

}  // namespace sconce
