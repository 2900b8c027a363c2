// segment_reduce on CUDA devices (text/bags/segments.cuh).
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/histogram_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/bags/segments_arguments.cuh"

const char* define_of(std::string_view name) {
  if (name == "mean") return "MEAN";
  if (name == "max" || name == "amax") return "LARGEST";
  if (name == "min" || name == "amin") return "SMALLEST";
  return name == "prod" ? "PRODUCT" : "SUM";
}
double start_of(std::string_view define, const std::optional<Scalar>& initial) {
  if (initial) return initial->to_double();
  constexpr double inf = std::numeric_limits<double>::infinity();
  return define == "PRODUCT" ? 1 : define == "LARGEST" ? -inf : define == "SMALLEST" ? inf : 0;
}

// Where segments begin, [outer, count + 1]. One number comes back: whether they lie in the data, in order.
Tensor starts_of(const Tensor& lengths, const Tensor& offsets, int64_t n, bool unsafe) {
  Tensor starts;
  if (offsets.defined()) {
    starts = sconce::to(offsets, DType::int64);
  } else {
    Dims zero(lengths.sizes());
    zero[zero.size() - 1] = 1;
    const Tensor sums = sconce::cumsum(sconce::to(lengths, DType::int64), -1);
    starts = sconce::cat(std::vector<Tensor>{sconce::zeros(zero, DType::int64, {}, lengths.device()), sums}, -1);
  }
  starts = dense(starts);
  if (starts.numel() == 0) return starts;
  const int64_t count = starts.size(-1);
  const Tensor last = sconce::select(starts, -1, count - 1);
  Tensor fine = sconce::all(sconce::logical_and(sconce::ge(starts, Scalar(0)), sconce::le(starts, Scalar(n))));
  if (count > 1)
    fine = sconce::logical_and(fine, sconce::all(sconce::ge(sconce::narrow(starts, -1, 1, count - 1),
                                                            sconce::narrow(starts, -1, 0, count - 1))));
  if (lengths.defined() && !offsets.defined() && !unsafe)
    fine = sconce::logical_and(fine, sconce::all(sconce::eq(last, Scalar(n))));
  SCONCE_CHECK(item_of(fine).to_bool(),
               "segment_reduce(): lengths must not be negative and must sum to data.size(axis) = {} when !unsafe, "
               "offsets must ascend from 0 to at most that",
               n);
  return starts;
}

void run(const char* name, const Tensor& data_, std::string_view reduce, const Tensor& lengths, const Tensor& offsets,
         int64_t axis, bool unsafe, const std::optional<Scalar>& initial, const Tensor& grad_, const Tensor& result_,
         const Tensor& out) {
  const Device device = data_.device();
  const DType dtype = data_.dtype();
  const int64_t rank = data_.dim(), d = axis < 0 ? axis + rank : axis;
  const Tensor data = dense(data_), grad = dense(grad_), result = dense(result_);
  const Tensor starts = starts_of(lengths, offsets, data.size(d), unsafe);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), device);
  const char* define = define_of(reduce);
  SegmentArguments a{};
  a.data = data.data();
  a.starts = static_cast<const i64*>(starts.data());
  a.out = made.data();
  a.outer = a.inner = 1;
  a.n = data.size(d);
  for (int64_t i = 0; i < d; ++i) a.outer *= data.size(i);
  for (int64_t i = d + 1; i < rank; ++i) a.inner *= data.size(i);
  a.count = starts.size(-1) - 1;
  a.start = start_of(grad.defined() ? "PRODUCT" : define, initial);
  a.has_start = initial ? 1 : 0;
  if (grad.defined()) {
    a.grad = grad.data();
    a.result = result.data();
    sconce::zero_(made);
  }
  const Kernel& kernel = find_kernel(
      device, fmt::format("segments/{}.{}", define, static_cast<int>(dtype)),
      [&] {
        std::string text =
            vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32);
        text += fmt::format("using T = {};\n#define {} 1\n", stored_type(dtype), define);
        text += text_file("segments_arguments");
        text += text_file("segments");
        return text;
      },
      grad.defined() ? "segments_backward" : "segments");
  launch_each(device, kernel, a.outer * a.count * a.inner, &a, sizeof a, name);
  if (!made.is_same(out)) sconce::copy_(out, made);
}

}  // namespace

void segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor&,
                    const Tensor& offsets, int64_t axis, bool unsafe, std::optional<Scalar> initial,
                    const Tensor& out) {
  run("segment_reduce", data, reduce, lengths, offsets, axis, unsafe, initial, {}, {}, out);
}
void _segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data, std::string_view reduce,
                              const Tensor& lengths, const Tensor& offsets, int64_t axis, std::optional<Scalar> initial,
                              const Tensor& out) {
  run("_segment_reduce_backward", data, reduce, lengths, offsets, axis, true, initial, grad, output, out);
}

}  // namespace sconce::cuda
