// The gradient of grid_sampler's gradient. A sample is the sum of x[k] * w[k] over taps k, w being a product of one
// weight per dimension; with each weight come its first two derivatives by the place.
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/resize/grid_places.h"

namespace sconce {
namespace {

using namespace grid;

// The taps of one dimension. Unused dimensions have one tap of weight 1.
template <class T>
struct Taps {
  int count = 1;
  int64_t at[4] = {0, 0, 0, 0};      // -1 outside
  T weight[3][4] = {{1}, {0}, {0}};  // by how often it is differentiated
  T slope = 0;                       // of the place by the grid's number

  void fill(T number, int64_t size, const GridSampling& how) {
    Place<T> place = unnormalized(number, size, how.align_corners);
    const auto inside = [&](int64_t i) { return i >= 0 && i < size ? i : -1; };
    if (how.mode == GridSampling::Mode::bicubic) {
      const T first = floor(place.at), t = place.at - first, a = T(-0.75);
      count = 4;
      for (int k = 0; k < 4; ++k) at[k] = bounded<T>(first + T(k - 1), size, how);
      cubic_weights<T>(t, weight[0]);
      cubic_slopes<T>(t, weight[1]);
      const auto far = [&](T x) { return 6 * a * x - 10 * a; };
      const auto near = [&](T x) { return 6 * (a + 2) * x - 2 * (a + 3); };
      const T second[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      for (int k = 0; k < 4; ++k) weight[2][k] = second[k];
      slope = place.slope;
      return;
    }
    place = padded(place, size, how);
    if (how.mode == GridSampling::Mode::nearest) {
      at[0] = inside(whole(nearbyint(place.at)));
      return;
    }
    const T first = floor(place.at);
    count = 2;
    for (int k = 0; k < 2; ++k) at[k] = inside(whole(first) + k);
    weight[0][1] = place.at - first;
    weight[0][0] = 1 - weight[0][1];
    weight[1][0] = -1;
    weight[1][1] = 1;
    slope = place.slope;
  }
};

template <class T>
void run(const Tensor& for_input, const Tensor& for_grid, const Tensor& grad_output, const Tensor& input,
         const Tensor& grid, const GridSampling& how, const Tensor& by_output, const Tensor& by_input,
         const Tensor& by_grid) {
  const int rank = static_cast<int>(input.dim()) - 2;
  const int64_t channels = input.size(1);
  int64_t in[3] = {1, 1, 1}, in_plane = 1, out_plane = 1;
  for (int i = 0; i < rank; ++i) {
    in[3 - rank + i] = input.size(2 + i);
    in_plane *= input.size(2 + i);
    out_plane *= grid.size(1 + i);
  }
  std::fill_n(by_input.data<T>(), by_input.numel(), T(0));
  parallel_for(input.size(0), 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from * out_plane; i < to * out_plane; ++i) {
      const int64_t n = i / out_plane, image = n * channels * in_plane,
                    pixel = n * channels * out_plane + i % out_plane;
      Taps<T> taps[3];
      T step[3] = {0, 0, 0}, sum[3] = {0, 0, 0};  // how the place moves, and what becomes the gradient for the grid
      for (int d = 3 - rank; d < 3; ++d) {
        taps[d].fill(grid.data<T>()[i * rank + 2 - d], in[d], how);
        if (for_grid.defined()) step[d] = for_grid.data<T>()[i * rank + 2 - d] * taps[d].slope;
      }
      for (int64_t c = 0; c < channels; ++c) by_output.data<T>()[pixel + c * out_plane] = 0;
      for (int a = 0; a < taps[0].count; ++a) {
        for (int b = 0; b < taps[1].count; ++b) {
          for (int e = 0; e < taps[2].count; ++e) {
            const int k[3] = {a, b, e};
            int64_t at = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              inside = inside && taps[d].at[k[d]] >= 0;
              at = at * in[d] + taps[d].at[k[d]];
            }
            if (!inside) continue;
            // The weight, differentiated as often as `times` says.
            const auto weight = [&](const int* times) {
              T w = 1;
              for (int d = 0; d < 3; ++d) w *= taps[d].weight[times[d]][k[d]];
              return w;
            };
            int times[3] = {0, 0, 0};
            const T plain = weight(times);
            T first[3] = {0, 0, 0}, moved = 0, twice[3] = {0, 0, 0};
            for (int d = 3 - rank; d < 3; ++d) {
              ++times[d];
              first[d] = weight(times);
              moved += step[d] * first[d];
              for (int f = 3 - rank; f < 3; ++f) {
                ++times[f];
                twice[f] += step[d] * weight(times);
                --times[f];
              }
              --times[d];
            }
            for (int64_t c = 0; c < channels; ++c) {
              const T go = grad_output.data<T>()[pixel + c * out_plane], x = input.data<T>()[image + c * in_plane + at];
              const T gx = for_input.defined() ? for_input.data<T>()[image + c * in_plane + at] : T(0);
              by_output.data<T>()[pixel + c * out_plane] += gx * plain + x * moved;
              by_input.data<T>()[image + c * in_plane + at] += go * moved;
              for (int d = 3 - rank; d < 3; ++d) sum[d] += go * (gx * first[d] + x * twice[d]);
            }
          }
        }
      }
      for (int d = 3 - rank; d < 3; ++d) by_grid.data<T>()[i * rank + 2 - d] = taps[d].slope * sum[d];
    }
  });
}

}  // namespace

void sample_grid_double_backward(const Tensor& for_input, const Tensor& for_grid, const Tensor& grad_output,
                                 const Tensor& input, const Tensor& grid, const GridSampling& how,
                                 const Tensor& by_output, const Tensor& by_input, const Tensor& by_grid) {
  const DType dtype = input.dtype(), wide = is_reduced_float(dtype) ? DType::float32 : dtype;
  SCONCE_CHECK_AS(not_implemented, is_floating(dtype), "\"grid_sampler_double_backward\" not implemented for '{}'",
                  dtype_legacy_name(dtype));
  const auto dense = [&](const Tensor& t) { return t.defined() ? to_dtype(contiguous_tensor(t), wide) : t; };
  const auto result = [&](const Tensor& t) { return wide == dtype ? t : empty_tensor(t.sizes(), wide); };
  const Tensor a = result(by_output), b = result(by_input), c = result(by_grid);
  if (wide == DType::float64) {
    run<double>(dense(for_input), dense(for_grid), dense(grad_output), dense(input), dense(grid), how, a, b, c);
  } else {
    run<float>(dense(for_input), dense(for_grid), dense(grad_output), dense(input), dense(grid), how, a, b, c);
  }
  if (wide == dtype) return;
  copy_tensor(by_output, a);
  copy_tensor(by_input, b);
  copy_tensor(by_grid, c);
}

}  // namespace sconce
