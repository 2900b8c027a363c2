// Batch normalisation, and operators built on its two steps: statistics per channel, then a scale and a shift per
// channel. A channels_last input is read and written as it lies.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/generated/reduction_reductions_list.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/reduce_engine.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/kernels/cpu/norm/norm_kernels.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(planes_first, "batch_norm.statistics.planes",
               "float32 or float64 without gaps, 32 places or more a plane");
SCONCE_VARIANT(direct_channels, "batch_norm.scale.direct", "float32 or float64: no conversion");
SCONCE_VARIANT(streamed, "batch_norm.scale.stream", "float32 or float64, a result of 16 MB or more");
SCONCE_VARIANT(channels_inside_rows, "batch_norm.scale.pixels", "channels_last, or one place a channel");
SCONCE_VARIANT(several_chunks, "batch_norm.scale.chunks", "planes of more than 4,096 places");
SCONCE_VARIANT(group_in_place, "group_norm.in_place", "a contiguous result in float32 or float64");

constexpr int64_t kChunk = 4096;                     // elements
constexpr int64_t kStreamBytes = int64_t{16} << 20;  // outputs from here on bypass the caches

DType compute_dtype(const Tensor& input) {
  SCONCE_CHECK_AS(not_implemented, is_floating(input.dtype()), "\"batch_norm\" not implemented for '{}'",
                  dtype_legacy_name(input.dtype()));
  return input.dtype() == DType::float64 ? DType::float64 : DType::float32;
}
DType parameter_dtype(const Tensor& input, const Tensor& weight) {
  return weight.defined() && weight.dtype() != input.dtype() ? weight.dtype() : input.dtype();
}

// One number per channel, as double.
std::vector<double> doubles(const Tensor& t, int64_t count, double otherwise) {
  std::vector<double> values(static_cast<size_t>(count), otherwise);
  if (t.defined() && count > 0) {
    const Tensor d = contiguous_tensor(to_dtype(t, DType::float64));
    std::copy_n(d.data<double>(), count, values.begin());
  }
  return values;
}

void check_channels(const char* what, const Tensor& t, int64_t channels) {
  SCONCE_CHECK(!t.defined() || t.numel() == channels, "{} should contain {} elements not {}", what, channels,
               t.numel());
}

// Mean and biased variance of every channel of contiguous planes: those of each plane first, by the thread that has its
// sample in other operators, too.
void plane_statistics(const Tensor& input, std::vector<double>& mean, std::vector<double>& var) {
  const int64_t samples = input.sizes()[0], channels = input.sizes()[1], planes = samples * channels,
                places = input.numel() / planes;
  const auto kernel = norm_kernels(input.dtype() == DType::float64).run_moments;
  const auto bytes = static_cast<int64_t>(input.item_size());
  Scratch scratch;
  auto *means = scratch.take<double>(planes), *squares = scratch.take<double>(planes);
  parallel_for(planes, grain_for(2 * places), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      kernel(static_cast<const char*>(input.data()) + p * places * bytes, places, means + p, squares + p);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double total = 0, deviations = 0;
    for (int64_t p = c; p < planes; p += channels) total += means[p];
    const double average = total / static_cast<double>(samples);
    for (int64_t p = c; p < planes; p += channels) {
      const double distance = means[p] - average;
      deviations += squares[p] + static_cast<double>(places) * distance * distance;
    }
    mean[static_cast<size_t>(c)] = average;
    var[static_cast<size_t>(c)] = deviations / static_cast<double>(samples * places);
  }
}

constexpr int64_t kPlane = 32;  // elements that are worth a call

// Mean and biased variance of every channel.
void channel_statistics(const Tensor& input, std::vector<double>& mean, std::vector<double>& var) {
  const int64_t rank = input.dim();
  if (planes_first(input.is_contiguous() && input.dtype() == compute_dtype(input) &&
                   input.numel() >= kPlane * input.sizes()[0] * input.sizes()[1]))
    return plane_statistics(input, mean, var);
  SmallVector<bool, 8> reduced(static_cast<size_t>(rank), true);
  reduced[1] = false;
  Dims strides(static_cast<size_t>(rank), 0);
  strides[1] = 1;
  const Operand out[] = {{var.data(), DType::float64, strides.data()}, {mean.data(), DType::float64, strides.data()}};
  const Param correction = Param::from_int(0);
  run_reduce(cpu::reduce_var_mean_correction, input.dtype(), {input.sizes().data(), input.sizes().size()},
             reduced.data(), {input.data(), input.dtype(), input.strides().data()}, out, &correction);
}

// out = in * scale[channel] + shift[channel]. Both are dense in the same format.
void scale_channels(const Tensor& out, const Tensor& in, int64_t channels, bool channels_inside,
                    const std::vector<double>& scale, const std::vector<double>& shift) {
  const DType compute = compute_dtype(in);
  const bool twice = compute == DType::float64;
  const NormKernels& kernels = norm_kernels(twice);
  const auto item = static_cast<int64_t>(item_size(compute)), stored = static_cast<int64_t>(in.item_size());
  const bool direct = in.dtype() == compute;
  const int64_t numel = in.numel();
  const bool stream = streamed(direct_channels(direct) && numel * item >= kStreamBytes);
  const char* x = static_cast<const char*>(in.data());
  char* y = static_cast<char*>(out.data());
  // `apply` on n elements that begin at element `at`.
  const auto chunk = [&](int64_t at, int64_t n, char* buffer, auto apply) {
    if (direct) {
      apply(stream ? buffer : y + at * item, x + at * item);
      if (stream) tile_kernels().stream(y + at * item, buffer, n * item);
    } else {
      convert(buffer, compute, x + at * stored, in.dtype(), n);
      apply(buffer, buffer);
      convert(y + at * stored, out.dtype(), buffer, compute, n);
    }
  };
  if (channels_inside_rows(channels_inside)) {
    const Tensor a = empty_tensor({channels}, compute), b = empty_tensor({channels}, compute);
    convert(a.data(), compute, scale.data(), DType::float64, channels);
    convert(b.data(), compute, shift.data(), DType::float64, channels);
    const int64_t rows = numel / channels, together = std::max<int64_t>(1, kChunk / channels);
    parallel_for(rows, grain_for(channels), [&](int64_t begin, int64_t end) {
      Scratch scratch;
      char* buffer = scratch.take<char>(together * channels * item);
      for (int64_t r = begin; r < end; r += together) {
        const int64_t m = std::min(together, end - r);
        chunk(r * channels, m * channels, buffer,
              [&](char* to, const char* from) { kernels.scale_rows(to, from, m, channels, a.data(), b.data()); });
      }
      if (stream) tile_kernels().stream_fence();
    });
    return;
  }
  const int64_t plane = numel / (in.sizes()[0] * channels), planes = in.sizes()[0] * channels;
  several_chunks(plane > kChunk);
  parallel_for(planes, grain_for(plane), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    char* buffer = scratch.take<char>(kChunk * item);
    for (int64_t p = begin; p < end; ++p) {
      const auto c = static_cast<size_t>(p % channels);
      for (int64_t i = 0; i < plane; i += kChunk) {
        const int64_t n = std::min(kChunk, plane - i);
        chunk(p * plane + i, n, buffer,
              [&](char* to, const char* from) { kernels.scale_run(to, from, n, scale[c], shift[c]); });
      }
    }
    if (stream) tile_kernels().stream_fence();
  });
}

void round_to(DType dtype, std::vector<double>& values) {
  if (dtype == DType::float64) return;
  const auto count = static_cast<int64_t>(values.size());
  std::vector<std::byte> rounded(values.size() * item_size(dtype));
  convert(rounded.data(), dtype, values.data(), DType::float64, count);
  convert(values.data(), DType::float64, rounded.data(), dtype, count);
}

// In bfloat16 every step is rounded, as PyTorch has it.
void update(const Tensor& running, std::vector<double> batch, double momentum) {
  const auto count = static_cast<int64_t>(batch.size());
  const bool narrow = running.dtype() == DType::bfloat16;
  std::vector<double> values = doubles(running, count, 0), shares = {momentum, 0};
  if (narrow) round_to(DType::bfloat16, batch), round_to(DType::bfloat16, shares);
  shares[1] = 1 - shares[0];
  if (narrow) round_to(DType::bfloat16, shares);
  for (size_t c = 0; c < batch.size(); ++c) batch[c] *= shares[0], values[c] *= shares[1];
  if (narrow) round_to(DType::bfloat16, batch), round_to(DType::bfloat16, values);
  for (size_t c = 0; c < batch.size(); ++c) values[c] += batch[c];
  const Tensor updated = empty_tensor(running.sizes(), DType::float64);  // which may have other dims than one
  std::copy(values.begin(), values.end(), updated.data<double>());
  copy_tensor(running, updated);
}

struct Result {
  Tensor out, mean, invstd;
};

Tensor per_channel(const std::vector<double>& values, DType dtype, Device device) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor t = empty_tensor({count}, dtype, device);
  if (!t.is_meta()) convert(t.data(), dtype, values.data(), DType::float64, count);
  return t;
}

// The two numbers of each channel: x * scale + shift is (x - mean) * invstd * weight + bias.
struct Factors {
  std::vector<double> scale, shift;

  Factors(const Tensor& weight, const Tensor& bias, const std::vector<double>& mean, const std::vector<double>& invstd)
      : scale(doubles(weight, static_cast<int64_t>(mean.size()), 1)),
        shift(doubles(bias, static_cast<int64_t>(mean.size()), 0)) {
    for (size_t c = 0; c < mean.size(); ++c) {
      scale[c] *= invstd[c];
      shift[c] -= mean[c] * scale[c];
    }
  }
  // x: dense in `format`.
  void apply(const Tensor& out, const Tensor& x, MemoryFormat format) const {
    const auto channels = static_cast<int64_t>(scale.size());
    const bool inside = format != MemoryFormat::contiguous || x.numel() == x.sizes()[0] * channels;
    scale_channels(out, x, channels, inside, scale, shift);
  }
};

Result batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps) {
  const bool empty_vector = input.dim() == 1 && input.numel() == 0;  // PyTorch gives one back
  SCONCE_CHECK(input.dim() >= 2 || empty_vector, "batch_norm: expected at least 2 dims, got input of size {}",
               input.sizes());
  const int64_t channels = empty_vector ? 0 : input.sizes()[1];
  check_channels("weight", weight, channels);
  check_channels("bias", bias, channels);
  check_channels("running_mean", running_mean, channels);
  check_channels("running_var", running_var, channels);
  SCONCE_CHECK(training || (running_mean.defined() && running_var.defined()),
               "Expected running_mean and running_var to be defined when training=False");
  compute_dtype(input);
  const MemoryFormat format = suggested_format(input);
  const DType kept = parameter_dtype(input, weight);
  Result result{empty_tensor(input.sizes(), input.dtype(), input.device(), format),
                empty_tensor({training ? channels : 0}, kept, input.device()),
                empty_tensor({training ? channels : 0}, kept, input.device())};
  if (input.is_meta()) return result;
  if (input.numel() == 0) {  // a batch of nothing has no statistics, but results that programs may read
    fill_tensor(result.mean, 0);
    fill_tensor(result.invstd, 0);
    return result;
  }
  const Tensor x = contiguous_tensor(input, format);
  std::vector<double> mean, var;
  const auto count = static_cast<size_t>(channels);
  const int64_t n = input.numel() / channels;
  if (training) {
    mean.resize(count);
    var.resize(count);
    channel_statistics(x, mean, var);
    if (running_mean.defined()) update(running_mean, mean, momentum);
    if (running_var.defined()) {
      std::vector<double> unbiased = var;
      for (double& v : unbiased) v *= static_cast<double>(n);
      if (running_var.dtype() == DType::bfloat16) round_to(DType::bfloat16, unbiased);
      for (double& v : unbiased) v /= static_cast<double>(n - 1);
      update(running_var, unbiased, momentum);
    }
  } else {
    mean = doubles(running_mean, channels, 0);
    var = doubles(running_var, channels, 1);
  }
  std::vector<double> invstd(count);
  for (size_t c = 0; c < count; ++c) invstd[c] = 1 / std::sqrt(var[c] + eps);
  if (training) {  // it is normalised with the statistics as they are kept: in PyTorch, and by again_native_batch_norm
    round_to(kept, mean);
    round_to(kept, invstd);
    result.mean = per_channel(mean, kept, input.device());
    result.invstd = per_channel(invstd, kept, input.device());
  }
  Factors(weight, bias, mean, invstd).apply(result.out, x, format);
  return result;
}

Tensor reserve(const Tensor& input) { return empty_tensor({0}, DType::uint8, input.device()); }

}  // namespace

// Note [Results that are computed again]: the bits of `batch_norm`, whose statistics these are.
Tensor sconce_again_native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor&,
                                      const Tensor&, bool training, double, double, const Tensor& save_mean,
                                      const Tensor& save_invstd) {
  SCONCE_CHECK(training && input.dim() >= 2, "again_native_batch_norm: needs statistics of the batch");
  const int64_t channels = input.sizes()[1];
  check_channels("weight", weight, channels);
  check_channels("bias", bias, channels);
  SCONCE_CHECK(save_mean.numel() == channels && save_invstd.numel() == channels,
               "again_native_batch_norm: expected statistics of {} channels, got {} and {}", channels,
               save_mean.numel(), save_invstd.numel());
  compute_dtype(input);
  const MemoryFormat format = suggested_format(input);
  Tensor out = empty_tensor(input.sizes(), input.dtype(), input.device(), format);
  if (input.is_meta() || input.numel() == 0) return out;
  Factors(weight, bias, doubles(save_mean, channels, 0), doubles(save_invstd, channels, 0))
      .apply(out, contiguous_tensor(input, format), format);
  return out;
}

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                        const Tensor& running_var, bool training, double momentum, double eps) {
  Result r = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {r.out, r.mean, r.invstd};
}
Three _native_batch_norm_legit(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
                               double eps) {
  return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
Three _native_batch_norm_legit_no_stats(const Tensor& input, const Tensor& weight, const Tensor& bias, bool training,
                                        double momentum, double eps) {
  return native_batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}
Three _native_batch_norm_legit_no_training(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                           const Tensor& running_mean, const Tensor& running_var, double momentum,
                                           double eps) {
  return native_batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
}
Four _batch_norm_with_update(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                             const Tensor& running_var, double momentum, double eps) {
  Result r = batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {r.out, r.mean, r.invstd, reserve(input)};
}
Four _batch_norm_no_update(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                           const Tensor& running_var, double momentum, double eps) {
  Result r = batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {r.out, r.mean, r.invstd, reserve(input)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _native_batch_norm_legit_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double momentum, double eps) {
  const auto copy = [](const Tensor& t) {
    Tensor c = empty_tensor(t.sizes(), t.dtype(), t.device());
    copy_tensor(c, t);
    return c;
  };
  const Tensor mean = copy(running_mean), var = copy(running_var);
  Result r = batch_norm(input, weight, bias, mean, var, training, momentum, eps);
  return {r.out, r.mean, r.invstd, mean, var};
}

Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N, int64_t C,
                        int64_t HxW, int64_t group, double eps) {
  SCONCE_CHECK(group > 0 && C % group == 0,
               "Expected number of channels in input to be divisible by num_groups, but got input of "
               "shape {} and num_groups={}",
               input.sizes(), group);
  SCONCE_CHECK(N >= 0 && C >= 0 && HxW >= 0 && input.numel() == Checked(N) * C * HxW,
               "native_group_norm: input of size {} does not have {} * {} * {} elements", input.sizes(), N, C, HxW);
  check_channels("weight", weight, C);
  check_channels("bias", bias, C);
  const DType compute = compute_dtype(input), kept = parameter_dtype(input, weight);
  const MemoryFormat format = suggested_format(input);
  const Tensor out = empty_tensor(input.sizes(), input.dtype(), input.device(), format);
  const Tensor mean = empty_tensor({N, group}, kept, input.device()),
               rstd = empty_tensor({N, group}, kept, input.device());
  if (input.is_meta() || N * group == 0) return {out, mean, rstd};
  const int64_t rows = N * group, n = C / group * HxW;
  if (n == 0) {  // as PyTorch: no sum, and 1 / sqrt(0 / 0)
    fill_tensor(mean, 0);
    fill_tensor(rstd, std::numeric_limits<double>::quiet_NaN());
    return {out, mean, rstd};
  }
  const Tensor x = contiguous_tensor(to_dtype(input, compute));
  const Tensor m = empty_tensor({N, group}, compute), s = empty_tensor({N, group}, compute);
  const bool twice = compute == DType::float64;
  const auto item = static_cast<int64_t>(item_size(compute));
  const NormKernels& kernels = norm_kernels(twice);
  const Tensor y =
      group_in_place(out.dtype() == compute && out.is_contiguous()) ? out : empty_tensor(input.sizes(), compute);
  const std::vector<double> w = doubles(weight, C, 1), b = doubles(bias, C, 0);
  parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const char* from = x.data<char>() + r * n * item;
      kernels.moments(from, 1, n, eps, m.data<char>() + r * item, s.data<char>() + r * item);
      const double average = twice ? m.data<double>()[r] : m.data<float>()[r];
      const double inverse = twice ? s.data<double>()[r] : s.data<float>()[r];
      for (int64_t c = 0; c < C / group; ++c) {
        const auto channel = static_cast<size_t>(r % group * (C / group) + c);
        const double scale = inverse * w[channel];
        kernels.scale_run(y.data<char>() + (r * n + c * HxW) * item, from + c * HxW * item, HxW, scale,
                          b[channel] - average * scale);
      }
    }
  });
  if (!y.is_same(out)) copy_tensor(out, y);
  copy_tensor(mean, m);
  copy_tensor(rstd, s);
  return {out, mean, rstd};
}

}  // namespace sconce::cpu
