// Layer and RMS normalisation: over the last dims, taken as rows.
#include <array>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/reduce_loop.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/kernels/cpu/norm/norm_gradients.h"
#include "sconce/kernels/cpu/norm/norm_kernels.h"
#include "sconce/tensor/strides.h"

namespace sconce {

const NormKernels& norm_kernels(bool twice) {
  return twice ? at_cpu_level(SCONCE_OF_EACH_LEVEL(norm_f64)) : at_cpu_level(SCONCE_OF_EACH_LEVEL(norm_f32));
}

namespace {

SCONCE_VARIANT(direct_rows, "layer_norm.direct", "rows in float32 or float64 that are read and written where they lie");
SCONCE_VARIANT(streamed_rows, "layer_norm.stream",
               "a result of 16 MB or more, of rows of 256 bytes to 65,536 elements");
SCONCE_VARIANT(same_statistics, "layer_norm.statistics.same", "statistics in the dtype of the computation");

constexpr int64_t kStreamBytes = int64_t{16} << 20;  // outputs from here on bypass the caches

DType compute_dtype(const Tensor& input, const char* name) {
  SCONCE_CHECK_AS(not_implemented, is_floating(input.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(input.dtype()));
  return input.dtype() == DType::float64 ? DType::float64 : DType::float32;
}

// Dense, in the compute dtype; undefined stays undefined.
Tensor parameter(const Tensor& t, DType dtype) { return t.defined() ? contiguous_tensor(to_dtype(t, dtype)) : t; }
const void* data_of(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

// body(out, in, first row, rows) over rows in the compute dtype: in place where they are, else one by
// one through scratch.
template <class Body>
void for_rows(const Tensor& out, const Tensor& in, DType compute, int64_t rows, int64_t n, Body body) {
  const auto item = static_cast<int64_t>(item_size(compute));
  const auto in_item = static_cast<int64_t>(in.item_size()), out_item = static_cast<int64_t>(out.item_size());
  const bool direct = in.dtype() == compute, direct_out = out.dtype() == compute;
  const bool stream = direct_out && rows * n * item >= kStreamBytes && n * item >= 256 && n <= 65536;
  streamed_rows(stream);
  const char* x = static_cast<const char*>(in.data());
  char* y = static_cast<char*>(out.data());
  parallel_for(rows, grain_for(2 * n), [&](int64_t begin, int64_t end) {
    if (direct_rows(direct && direct_out && !stream))
      return body(y + begin * n * item, x + begin * n * item, begin, end - begin);
    Scratch scratch;
    char* from = direct ? nullptr : scratch.take<char>(n * item);
    char* to = scratch.take<char>(n * item);
    for (int64_t r = begin; r < end; ++r) {
      const char* row = x + r * n * in_item;
      if (from) convert(from, compute, row, in.dtype(), n);
      body(to, from ? from : row, r, 1);
      if (stream) {
        tile_kernels().stream(y + r * n * item, to, n * item);
      } else {
        convert(y + r * n * out_item, out.dtype(), to, compute, n);
      }
    }
    if (stream) tile_kernels().stream_fence();
  });
}

void check_shape(const char* name, const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias) {
  SCONCE_CHECK(!shape.empty(),
               "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
               "element, but got normalized_shape = {}",
               shape);
  SCONCE_CHECK(
      !weight.defined() || weight.sizes() == shape,
      "Expected weight to be of same shape as normalized_shape, but got weight of shape {} and normalized_shape = {}",
      weight.sizes(), shape);
  SCONCE_CHECK(
      !bias.defined() || bias.sizes() == shape,
      "Expected bias to be of same shape as normalized_shape, but got bias of shape {} and normalized_shape = {}",
      bias.sizes(), shape);
  const int64_t axis = input.dim() - static_cast<int64_t>(shape.size());
  SCONCE_CHECK(axis >= 0 && input.sizes().slice(static_cast<size_t>(axis), shape.size()) == shape,
               "{}: Given normalized_shape={}, expected input with a shape that ends so, but got input of size {}",
               name, shape, input.sizes());
}

Dims statistics_sizes(const Tensor& input, IntList shape) {
  Dims sizes(input.sizes());
  for (size_t i = sizes.size() - shape.size(); i < sizes.size(); ++i) sizes[i] = 1;
  return sizes;
}

// Statistics are kept in the dtype of the parameters.
DType statistics_dtype(const Tensor& input, const Tensor& weight) {
  return weight.defined() && weight.dtype() != input.dtype() ? weight.dtype() : input.dtype();
}

}  // namespace

namespace any_device {

std::array<OutSpec, 3> native_layer_norm_spec(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                                              const Tensor& bias, double) {
  check_shape("layer_norm", input, normalized_shape, weight, bias);
  const OutSpec statistics{statistics_sizes(input, normalized_shape), statistics_dtype(input, weight)};
  return {OutSpec{Dims(input.sizes()), input.dtype()}, statistics, statistics};
}

std::array<OutSpec, 2> _fused_rms_norm_spec(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                                            std::optional<double>) {
  check_shape("rms_norm", input, normalized_shape, weight, {});
  return {OutSpec{Dims(input.sizes()), input.dtype()},
          OutSpec{statistics_sizes(input, normalized_shape), compute_dtype(input, "rms_norm")}};
}

}  // namespace any_device

namespace cpu {

void native_layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                       double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  const DType compute = compute_dtype(input, "layer_norm");
  const int64_t n = checked_numel(normalized_shape), rows = mean.numel();
  if (rows == 0) return;
  if (n == 0) {  // as PyTorch: no sum, and 1 / sqrt(0 / 0)
    fill_tensor(mean, 0);
    return fill_tensor(rstd, std::numeric_limits<double>::quiet_NaN());
  }
  const Tensor x = contiguous_tensor(input), w = parameter(weight, compute), b = parameter(bias, compute);
  const bool same = same_statistics(mean.dtype() == compute);
  const Tensor m = same ? mean : empty_tensor(mean.sizes(), compute),
               s = same ? rstd : empty_tensor(rstd.sizes(), compute);
  const auto item = static_cast<int64_t>(item_size(compute));
  const auto kernel = norm_kernels(compute == DType::float64).layer_norm;
  for_rows(out, x, compute, rows, n, [&](char* to, const char* from, int64_t first, int64_t count) {
    kernel(to, from, data_of(w), data_of(b), count, n, eps, x.dtype() != compute, m.data<char>() + first * item,
           s.data<char>() + first * item);
  });
  if (!same) {
    copy_tensor(mean, m);
    copy_tensor(rstd, s);
  }
}

void _fused_rms_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, std::optional<double> eps,
                     const Tensor& out, const Tensor& rstd) {
  const DType compute = compute_dtype(input, "rms_norm");
  const int64_t n = checked_numel(normalized_shape), rows = rstd.numel();
  if (rows == 0) return;
  const Tensor x = contiguous_tensor(input), w = parameter(weight, compute);
  const auto item = static_cast<int64_t>(item_size(compute));
  const double epsilon = eps.value_or(compute == DType::float64 ? 0x1p-52 : 0x1p-23);
  const auto kernel = norm_kernels(compute == DType::float64).rms_norm;
  for_rows(out, x, compute, rows, n, [&](char* to, const char* from, int64_t first, int64_t count) {
    kernel(to, from, data_of(w), count, n, epsilon, rstd.data<char>() + first * item);
  });
}

}  // namespace cpu

// The gradient for the input alone: rows of grad, input -> out, with the forward's statistics.
void layer_norm_backward_rows(const Tensor& out, const Tensor& grad, const Tensor& input, const Tensor& weight,
                              const Tensor& mean, const Tensor& rstd, int64_t n) {
  const DType compute = compute_dtype(input, "layer_norm_backward");
  const int64_t rows = mean.numel();
  if (rows == 0) return;
  const Tensor g = parameter(grad, compute), x = parameter(input, compute), w = parameter(weight, compute);
  const Tensor m = parameter(mean, compute), s = parameter(rstd, compute);
  const Tensor y = out.dtype() == compute ? out : empty_tensor(out.sizes(), compute);
  const auto item = static_cast<int64_t>(item_size(compute));
  const auto kernel = (compute == DType::float64 ? at_cpu_level(SCONCE_OF_EACH_LEVEL(layer_norm_gradient_f64))
                                                 : at_cpu_level(SCONCE_OF_EACH_LEVEL(layer_norm_gradient_f32)))
                          .rows;
  parallel_for(rows, grain_for(2 * n), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * n * item;
    kernel(y.data<char>() + at, g.data<char>() + at, x.data<char>() + at, data_of(w), end - begin, n,
           m.data<char>() + begin * item, s.data<char>() + begin * item);
  });
  if (!y.is_same(out)) copy_tensor(out, y);
}

}  // namespace sconce
