// Draws whose parameters are tensors, and permutations, on CUDA devices (text/random/sampling.cuh). randperm and
// multinomial draw as PyTorch does; poisson, binomial and gamma use the algorithms of cpu/random/samplers.cpp, not
// cuRAND's.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/random_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/random/random_engine.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/sorting.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/kernels/draw.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/random/sampling_arguments.cuh"

constexpr int64_t kMostGridRows = 65535;
constexpr uint64_t kCountersOfElement =
    10;  // words that a draw by rejection takes are not bounded; streams are 2^64 apart

const Kernel& kernel_of(Device device, const char* kind, DType dtype, DType key_dtype) {
  return find_kernel(
      device, fmt::format("sampling/{}/{}.{}", kind, static_cast<int>(dtype), static_cast<int>(key_dtype)),
      [&] {
        std::string out(text_file("prelude"));
        out += text_file("random_arguments");
        out += "#define PHILOX_ONLY 1\nusing REAL = double;\n";
        out += text_file("random");
        out += fmt::format("#define {} 1\nusing T = {};\nusing K = {};\n", kind, stored_type(dtype),
                           stored_type(key_dtype));
        out += text_file("sampling_arguments");
        out += text_file("sampling");
        return out;
      },
      "sampling");
}

void check_generator(const Generator& generator) {
  SCONCE_CHECK(!generator.defined(), "Expected a 'cuda' device type for generator but found 'cpu'");
}
void check_single_or_double(const Tensor& t, const char* name) {
  SCONCE_CHECK_AS(not_implemented, t.dtype() == DType::float32 || t.dtype() == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t.dtype()));
}

Tensor drawn(const char* name, const char* kind, const Tensor& first, const Tensor& second) {
  const Tensor a = dense(first), b = dense(second), out = empty_tensor(a.sizes(), a.dtype(), a.device());
  SamplingArguments args{};
  args.out = out.data();
  args.a = a.data();
  args.b = b.defined() ? b.data() : nullptr;
  args.count = out.numel();
  const PhiloxDraw philox = take_counters(out.device(), kCountersOfElement);
  args.seed = philox.seed;
  args.counter = philox.counter;
  launch_each(out.device(), kernel_of(out.device(), kind, out.dtype(), DType::int64), args.count, &args, sizeof args,
              name);
  return out;
}

double log2_of_bits(double n) { return std::log2(n - (6 * n * n + 1) / (std::log(0.9) * 12)); }

}  // namespace

// Keys of so many bits that all differ with a probability of 0.9, sorted; equal ones are put in order afterwards.
void random_permutation(const Tensor& out) {
  const int64_t n = out.numel();
  if (n == 0) return;
  const Device device = out.device();
  const int bits = std::min(64, static_cast<int>(std::ceil(log2_of_bits(static_cast<double>(n)))));
  const bool narrow = bits <= 32;
  Tensor keys = empty_tensor({n}, narrow ? DType::int32 : DType::int64, device);
  Draw draw{Draw::Kind::integers_between};
  draw.from = narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  draw.to = narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  random(keys, draw, {});
  if (bits < 64) {
    const int64_t mask = static_cast<int64_t>((uint64_t{1} << bits) - 1);
    keys = bits < 32 ? sconce::bitwise_and(keys, Scalar(mask))
                     : sconce::bitwise_and(sconce::to(keys, DType::int64), Scalar(mask));
  }
  const Tensor sorted = empty_tensor({n}, keys.dtype(), device), order = empty_tensor({n}, DType::int64, device);
  sort_rows("randperm", keys, sorted, order, 1, n, false);
  SamplingArguments a{};
  a.out = order.data();
  a.a = sorted.data();
  a.count = n;
  const PhiloxDraw philox = take_counters(device, (static_cast<uint64_t>(n) + 3) / 4);
  a.seed = philox.seed;
  a.counter = philox.counter;
  launch_each(device, kernel_of(device, "ISLANDS", DType::int64, sorted.dtype()), n, &a, sizeof a, "randperm");
  sconce::copy_(out, sconce::view(order, out.sizes()));
}

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Generator& generator) {
  check_generator(generator);
  SCONCE_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial: weights must have 1 or 2 dimensions, got sizes {}",
               self.sizes());
  SCONCE_CHECK(is_floating(self.dtype()), "multinomial: only supports floating-point dtypes, got {}",
               dtype_name(self.dtype()));
  SCONCE_CHECK(num_samples > 0, "multinomial: cannot draw {} samples", num_samples);
  const int64_t categories = self.size(-1);
  SCONCE_CHECK(replacement || num_samples <= categories,
               "multinomial: cannot draw {} samples of {} categories without replacement", num_samples, categories);
  SCONCE_CHECK(categories > 0, "multinomial: there are no categories: weights have sizes {}", self.sizes());
  SCONCE_CHECK(categories <= int64_t{1} << 24, "multinomial: the number of categories cannot exceed 2^24, got {}",
               categories);
  const Device device = self.device();
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1;
  const Tensor w = sconce::view(dense(self), {rows, categories});
  // One number comes back: whether all weights are finite and not negative, and every row has one that is not 0.
  const Tensor sums = sconce::sum(w, IntList({1}), true);
  const Tensor fine =
      sconce::logical_and(sconce::all(sconce::logical_and(sconce::ge(w, Scalar(0)), sconce::isfinite(w))),
                          sconce::all(sconce::gt(sums, Scalar(0))));
  SCONCE_CHECK(item_of(fine).to_bool(),
               "multinomial: weights must be finite and not negative, and no row may be 0 everywhere");
  const auto shaped = [&](const Tensor& t) { return self.dim() == 2 ? t : sconce::view(dense(t), {num_samples}); };
  if (!replacement || num_samples == 1) {  // the largest of weight / exponential draw: the exponential race
    const Tensor race = empty_tensor(w.sizes(), w.dtype(), device);
    random(race, {Draw::Kind::exponential, 1}, {});
    const Tensor scores = sconce::div(w, race);
    if (num_samples == 1) return shaped(sconce::argmax(scores, 1, true));
    return shaped(std::get<1>(sconce::topk(scores, num_samples, 1)));
  }
  const Tensor shares = dense(sconce::div(w, sums)), cumulative = dense(sconce::cumsum(shares, 1));
  const Tensor out = empty_tensor({rows, num_samples}, DType::int64, device);
  SamplingArguments a{};
  a.out = out.data();
  a.a = cumulative.data();
  a.b = shares.data();
  a.count = rows;
  a.categories = categories;
  a.samples = num_samples;
  Shape shape;
  shape.block_x = 128;
  shape.grid_x = static_cast<unsigned>((num_samples + 127) / 128);
  shape.grid_y = static_cast<unsigned>(std::min(rows, kMostGridRows));
  if (rows == 0) return shaped(out);
  const PhiloxDraw philox = take_counters(device, static_cast<uint64_t>((rows - 1) / shape.grid_y + 1));
  a.seed = philox.seed;
  a.counter = philox.counter;
  launch(device, kernel_of(device, "CATEGORIES", w.dtype(), DType::int64), shape, &a, sizeof a, "multinomial");
  return shaped(out);
}

Tensor poisson(const Tensor& self, const Generator& generator) {
  check_generator(generator);
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"poisson_cuda\" not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  return drawn("poisson", "POISSON", self, {});
}
Tensor binomial(const Tensor& count, const Tensor& prob, const Generator& generator) {
  check_generator(generator);
  SCONCE_CHECK(is_floating(count.dtype()), "binomial only supports floating-point dtypes for count, got: {}",
               dtype_legacy_name(count.dtype()));
  SCONCE_CHECK(is_floating(prob.dtype()), "binomial only supports floating-point dtypes for prob, got: {}",
               dtype_legacy_name(prob.dtype()));
  SCONCE_CHECK(count.dtype() == prob.dtype(), "Found dtype {} but expected {}", dtype_legacy_name(prob.dtype()),
               dtype_legacy_name(count.dtype()));
  check_single_or_double(count, "binomial_cuda");
  const std::vector<Tensor> both = sconce::broadcast_tensors(std::vector<Tensor>{count, prob});
  return drawn("binomial", "BINOMIAL", both[0], both[1]);
}
Tensor _standard_gamma(const Tensor& self, const Generator& generator) {
  check_generator(generator);
  check_single_or_double(self, "gamma_cuda");
  return drawn("_standard_gamma", "GAMMA", self, {});
}
Tensor _sample_dirichlet(const Tensor& self, const Generator& generator) {
  check_generator(generator);
  check_single_or_double(self, "dirichlet");
  const Tensor gammas = drawn("_sample_dirichlet", "GAMMA", self, {});
  if (self.numel() == 0) return gammas;
  const bool twice = self.dtype() == DType::float64;
  const double least = twice ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const double most = twice ? std::nextafter(1.0, 0.0) : std::nextafterf(1.0f, 0.0f);
  const Tensor shares =
      self.dim() == 0 ? sconce::ones_like(gammas) : sconce::div(gammas, sconce::sum(gammas, IntList({-1}), true));
  return sconce::clamp(shares, Scalar(least), Scalar(most));
}

}  // namespace sconce::cuda
