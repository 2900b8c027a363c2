// Max pooling over windows at pseudo-random places: of every plane and dimension one number in [0, 1) shifts the steps.
#include <limits>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/generated/pooling_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/pool/pool_geometry.h"

namespace sconce {
namespace {

constexpr const char* kDimensions2[] = {"height", "width"};
constexpr const char* kDimensions3[] = {"time", "height", "width"};

std::array<OutSpec, 2> specs(const Tensor& self, int rank, IntList kernel, IntList output_size, const Tensor& samples,
                             const char* name) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "{}(): Expected {}D or {}D tensor, but got: {}", name,
               rank + 1, rank + 2, self.sizes());
  const bool batched = self.dim() == rank + 2;
  for (int64_t d = batched ? 1 : 0; d < self.dim(); ++d) {
    SCONCE_CHECK(
        self.size(d) > 0,
        "{}(): Expected input to have non-zero size for non-batch dimensions, but got {} with dimension {} being empty",
        name, self.sizes(), d);
  }
  SCONCE_CHECK(samples.dtype() == self.dtype(), "Expect _random_samples to have the same dtype as input, got {} and {}",
               dtype_name(samples.dtype()), dtype_name(self.dtype()));
  SCONCE_CHECK(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got {}", samples.dim());
  const int64_t batch = batched ? self.size(0) : 1, channels = self.size(self.dim() - rank - 1);
  SCONCE_CHECK(samples.size(0) >= batch, "Expect _random_samples.size(0) no less then input batch size: {} and {}",
               samples.size(0), batch);
  SCONCE_CHECK(samples.size(1) == channels, "Expect _random_samples.size(1) equals to input channel size: {} and {}",
               samples.size(1), channels);
  SCONCE_CHECK(samples.size(2) == rank, "Expect _random_samples.size(2) equals to {}; got {}", rank, samples.size(2));
  OutSpec values{Dims(self.sizes()), self.dtype()};
  for (int i = 0; i < rank; ++i) {
    const int64_t in = self.size(self.dim() - rank + i), out = pool_value(output_size, rank, i, "output_size");
    const int64_t pool = pool_value(kernel, rank, i, "kernel_size");
    const char* dimension = rank == 2 ? kDimensions2[i] : kDimensions3[i];
    SCONCE_CHECK(pool > 0 && out >= 0, "{}(): kernel_size must be positive and output_size not negative, got {} and {}",
                 name, kernel, output_size);
    // In 3-d PyTorch wants one element more.
    SCONCE_CHECK(pool <= in && out <= in - pool + (rank == 2 ? 1 : 0),
                 "{}(): pool {} {} too large relative to input {} {}", name, dimension, pool, dimension, in);
    values.sizes[static_cast<size_t>(self.dim() - rank + i)] = out;
  }
  OutSpec indices = values;
  indices.dtype = DType::int64;
  return {values, indices};
}

// Where the windows of one dimension begin. Computed in the tensor's dtype, 16-bit floats rounding at every step.
template <class T>
void starts(T sample, int64_t in, int64_t out, int64_t pool, int64_t* result) {
  if (out > 1) {
    const auto round = [](auto v) { return widened(narrowed<T>(v)); };
    using W = decltype(widened(sample));
    const W s = widened(sample);
    const W alpha = round(round(static_cast<W>(in - pool)) / round(static_cast<W>(out - 1)));
    const auto shift = static_cast<int64_t>(round(s * alpha));
    for (int64_t i = 0; i < out - 1; ++i) {
      const auto at = static_cast<int64_t>(round(round(round(static_cast<W>(i)) + s) * alpha)) - shift;
      result[i] = at < 0 ? 0 : at > in - pool ? in - pool : at;  // a sample outside [0, 1) must not leave the plane
    }
  }
  if (out > 0) result[out - 1] = in - pool;
}

template <class T>
void pool_planes(int rank, const Tensor& self, IntList kernel, const Tensor& samples, const Tensor& values,
                 const Tensor& indices) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, pool[3] = {1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    in[3 - rank + i] = self.size(self.dim() - rank + i);
    out[3 - rank + i] = values.size(values.dim() - rank + i);
    pool[3 - rank + i] = pool_value(kernel, rank, i, "kernel_size");
  }
  const int64_t in_plane = in[0] * in[1] * in[2], out_plane = out[0] * out[1] * out[2];
  const auto* x = self.data<T>();
  const auto* random = samples.data<T>();
  parallel_for(values.numel() / out_plane, 1, [&](int64_t from, int64_t to) {
    std::vector<int64_t> begin[3];
    for (int d = 0; d < 3; ++d) begin[d].resize(static_cast<size_t>(out[d]));
    for (int64_t plane = from; plane < to; ++plane) {
      // One plane's samples stand in the order width, height in 2-d, time, height, width in 3-d.
      for (int i = 0; i < rank; ++i) {
        const int d = rank == 2 ? 2 - i : i;
        starts<T>(random[plane * rank + i], in[d], out[d], pool[d], begin[d].data());
      }
      const T* p = x + plane * in_plane;
      int64_t o = plane * out_plane;
      for (const int64_t d0 : begin[0]) {
        for (const int64_t h0 : begin[1]) {
          for (const int64_t w0 : begin[2]) {
            auto best = -std::numeric_limits<decltype(widened(*p))>::infinity();
            int64_t place = (d0 * in[1] + h0) * in[2] + w0;
            for (int64_t d = d0; d < d0 + pool[0]; ++d) {
              for (int64_t h = h0; h < h0 + pool[1]; ++h) {
                for (int64_t w = w0; w < w0 + pool[2]; ++w) {
                  const int64_t at = (d * in[1] + h) * in[2] + w;
                  const auto v = widened(p[at]);
                  if (v > best || v != v) {
                    best = v;
                    place = at;
                  }
                }
              }
            }
            values.data<T>()[o] = narrowed<T>(best);
            indices.data<int64_t>()[o++] = place;
          }
        }
      }
    }
  });
}

void run(int rank, const Tensor& self, IntList kernel, const Tensor& samples, const Tensor& values,
         const Tensor& indices, const char* name) {
  check_pool_dtype(self, PoolTypes::floats, name);
  if (values.numel() == 0) return;
  const Tensor x = contiguous_tensor(self), r = contiguous_tensor(samples);
  switch (self.dtype()) {
    case DType::float16:
      return pool_planes<Half>(rank, x, kernel, r, values, indices);
    case DType::bfloat16:
      return pool_planes<BFloat16>(rank, x, kernel, r, values, indices);
    case DType::float32:
      return pool_planes<float>(rank, x, kernel, r, values, indices);
    default:
      return pool_planes<double>(rank, x, kernel, r, values, indices);
  }
}

}  // namespace

namespace any_device {

std::array<OutSpec, 2> fractional_max_pool2d_spec(const Tensor& self, IntList kernel, IntList output_size,
                                                  const Tensor& samples) {
  return specs(self, 2, kernel, output_size, samples, "fractional_max_pool2d");
}
std::array<OutSpec, 2> fractional_max_pool3d_spec(const Tensor& self, IntList kernel, IntList output_size,
                                                  const Tensor& samples) {
  return specs(self, 3, kernel, output_size, samples, "fractional_max_pool3d");
}

}  // namespace any_device

namespace cpu {

void fractional_max_pool2d(const Tensor& self, IntList kernel, IntList, const Tensor& samples, const Tensor& out0,
                           const Tensor& out1) {
  run(2, self, kernel, samples, out0, out1, "fractional_max_pool2d_out_frame");
}
void fractional_max_pool3d(const Tensor& self, IntList kernel, IntList, const Tensor& samples, const Tensor& out0,
                           const Tensor& out1) {
  run(3, self, kernel, samples, out0, out1, "fractional_max_pool3d_out_frame");
}

}  // namespace cpu
}  // namespace sconce
