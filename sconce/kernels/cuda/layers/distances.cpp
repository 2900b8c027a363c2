// Distances between pairs of rows on CUDA devices (text/losses/distances.cuh).
#include <cmath>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/distance_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/losses/distances_arguments.cuh"

void run(const char* name, const Tensor& x_, const Tensor& y_, double p, const Tensor& grad_, const Tensor& distance_,
         const Tensor& out) {
  const DType dtype = x_.dtype();
  SCONCE_CHECK_AS(not_implemented, dtype == DType::float32 || dtype == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(dtype));
  const Device device = x_.device();
  const Tensor x = dense(x_), y = dense(y_), grad = dense(grad_), distance = dense(distance_);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), device);
  DistanceArguments a{};
  a.x = x.data();
  a.y = y.data();
  a.grad = grad.defined() ? grad.data() : nullptr;
  a.distance = distance.defined() ? distance.data() : nullptr;
  a.out = made.data();
  a.batch = x.size(0);
  a.rows = x.size(1);
  a.others = y.size(1);
  a.width = x.size(2);
  a.p = p;
  const int power = p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : std::isinf(p) ? 3 : 4;
  const Kernel& kernel = find_kernel(
      device, fmt::format("distances/{}.{}", static_cast<int>(dtype), power),
      [&] {
        return vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32) +
               fmt::format("#define POWER {}\n", power) + std::string(text_file("distances_arguments")) +
               std::string(text_file("distances"));
      },
      grad.defined() ? "distances_backward" : "distances");
  launch_each(device, kernel, out.numel(), &a, sizeof a, name);
  if (!made.is_same(out)) sconce::copy_(out, made);
}

// One batch of rows.
Tensor rows_of(const Tensor& t) {
  return sconce::reshape(t, {1, t.size(0), t.size(0) == 0 ? 0 : t.numel() / t.size(0)});
}
// Where the pairs (i, j), i < j, stand in a matrix of all.
Tensor pairs_of(int64_t rows, Device device) {
  const Tensor both = sconce::triu_indices(rows, rows, 1, DType::int64, {}, device);
  return sconce::add(sconce::mul(sconce::select(both, 0, 0), Scalar(rows)), sconce::select(both, 0, 1));
}
Tensor square_of(const Tensor& pairs, int64_t rows, const Tensor& places) {
  const Tensor flat = sconce::zeros({rows * rows}, pairs.dtype(), {}, pairs.device());
  sconce::scatter_(flat, 0, places, sconce::reshape(pairs, {-1}));
  const Tensor half = sconce::view(flat, {1, rows, rows});
  return sconce::add(half, sconce::transpose(half, 1, 2));
}

}  // namespace

void sconce_cdist_direct(const Tensor& x1, const Tensor& x2, double p, const Tensor& out) {
  run("cdist", x1, x2, p, {}, {}, out);
}
void sconce_cdist_direct_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist,
                                  const Tensor& out) {
  run("cdist_backward", x1, x2, p, grad, cdist, out);
}
void _pdist_forward(const Tensor& self, double p, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = rows_of(self), all = empty_tensor({1, self.size(0), self.size(0)}, self.dtype(), self.device());
  run("pdist", x, x, p, {}, {}, all);
  sconce::copy_(out, sconce::index_select(sconce::view(all, {-1}), 0, pairs_of(self.size(0), self.device())));
}
void _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t rows = self.size(0);
  const Tensor places = pairs_of(rows, self.device()), x = rows_of(self),
               made = empty_tensor(x.sizes(), x.dtype(), x.device());
  run("pdist_backward", x, x, p, square_of(grad, rows, places), square_of(pdist, rows, places), made);
  sconce::copy_(out, sconce::view(made, out.sizes()));
}

}  // namespace sconce::cuda
