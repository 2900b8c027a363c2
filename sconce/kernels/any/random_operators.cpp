// Random operators: they allocate results, draw by the device's backend and raise versions.
#include "sconce/kernels/draw.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/random.h"
#include "sconce/generated/random_kernels.h"
#include "sconce/generated/reduction.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

using Kind = Draw::Kind;

Tensor empty_like(const Tensor& t, DType dtype) {
  return empty_strided_tensor(t.sizes(), preserved_strides(t.sizes(), t.strides()), dtype, t.device());
}

// Standard deviations of normal.*: real and not negative, as far as they are known.
void check_deviations(const Tensor& std) {
  SCONCE_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  if (std.is_meta() || std.numel() == 0) return;
  SCONCE_CHECK(item_of(sconce::min(std)).to_double() >= 0, "normal expects all elements of std >= 0.0");
}

}  // namespace

void bernoulli__float(const Tensor& self, double p, const Generator& generator) {
  draw_into(self, {Kind::bernoulli, p}, generator);
  self.bump_version();
}

void bernoulli__Tensor(const Tensor& self, const Tensor& p, const Generator& generator) {
  draw_into(self, {.kind = Kind::bernoulli_each, .each = &p}, generator);
  self.bump_version();
}

Tensor bernoulli(const Tensor& self, const Generator& generator) {
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());  // row-major, whatever self's strides are
  draw_into(out, {.kind = Kind::bernoulli_each, .each = &self}, generator);
  return out;
}

Tensor bernoulli_p(const Tensor& self, double p, const Generator& generator) {
  Tensor out = empty_like(self, self.dtype());
  draw_into(out, {Kind::bernoulli, p}, generator);
  return out;
}

void uniform_(const Tensor& self, double from, double to, const Generator& generator) {
  draw_into(self, {Kind::uniform, from, to}, generator);
  self.bump_version();
}

void normal_(const Tensor& self, double mean, double std, const Generator& generator) {
  draw_into(self, {Kind::normal, mean, std}, generator);
  self.bump_version();
}

void exponential_(const Tensor& self, double lambd, const Generator& generator) {
  draw_into(self, {Kind::exponential, lambd}, generator);
  self.bump_version();
}

void cauchy_(const Tensor& self, double median, double sigma, const Generator& generator) {
  draw_into(self, {Kind::cauchy, median, sigma}, generator);
  self.bump_version();
}

void geometric_(const Tensor& self, double p, const Generator& generator) {
  draw_into(self, {Kind::geometric, p}, generator);
  self.bump_version();
}

void log_normal_(const Tensor& self, double mean, double std, const Generator& generator) {
  draw_into(self, {Kind::log_normal, mean, std}, generator);
  self.bump_version();
}

Tensor uniform(const Tensor& self, double from, double to, const Generator& generator) {
  Tensor out = empty_like(self, self.dtype());
  draw_into(out, {Kind::uniform, from, to}, generator);
  return out;
}

Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, const Generator& generator) {
  Tensor out = empty_like(self, self.dtype());
  draw_into(out, {.kind = Kind::integers_between, .from = from, .to = to}, generator);
  return out;
}

void normal_Tensor_float_out(const Tensor& mean, double std, const Generator& generator, const Tensor& out) {
  SCONCE_CHECK(std >= 0, "normal expects std >= 0.0, but found std {}", std);
  sconce::resize_(out, mean.sizes());
  draw_into(out, {Kind::normal, 0, std}, generator);
  sconce::add_(out, mean);
}

Tensor normal_Tensor_float(const Tensor& mean, double std, const Generator& generator) {
  Tensor out = empty_tensor(mean.sizes(), mean.dtype(), mean.device());
  normal_Tensor_float_out(mean, std, generator, out);
  return out;
}

void normal_float_Tensor_out(double mean, const Tensor& std, const Generator& generator, const Tensor& out) {
  check_deviations(std);
  sconce::resize_(out, std.sizes());
  draw_into(out, {Kind::normal, 0, 1}, generator);
  sconce::add_(sconce::mul_(out, std), Scalar(mean));
}

Tensor normal_float_Tensor(double mean, const Tensor& std, const Generator& generator) {
  Tensor out = empty_tensor(std.sizes(), std.dtype(), std.device());
  normal_float_Tensor_out(mean, std, generator, out);
  return out;
}

void normal_Tensor_Tensor_out(const Tensor& mean, const Tensor& std, const Generator& generator, const Tensor& out) {
  check_deviations(std);
  sconce::resize_(out, broadcast_sizes(mean.sizes(), std.sizes()));
  draw_into(out, {Kind::normal, 0, 1}, generator);
  sconce::add_(sconce::mul_(out, std), mean);
}

Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, const Generator& generator) {
  Tensor out = empty_tensor(broadcast_sizes(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
  normal_Tensor_Tensor_out(mean, std, generator, out);
  return out;
}

void random_(const Tensor& self, const Generator& generator) {
  draw_into(self, {Kind::integers}, generator);
  self.bump_version();
}

void random__from(const Tensor& self, int64_t from, std::optional<int64_t> to, const Generator& generator) {
  draw_into(self, {.kind = Kind::integers_between, .from = from, .to = to}, generator);
  self.bump_version();
}

void random__to(const Tensor& self, int64_t to, const Generator& generator) {
  draw_into(self, {.kind = Kind::integers_between, .from = 0, .to = to}, generator);
  self.bump_version();
}

void randperm_generator_out(int64_t n, const Generator& generator, const Tensor& out) {
  SCONCE_CHECK(n >= 0, "n must be non-negative, got {}", n);
  sconce::resize_(out, {n});
  draw_into(out, {Kind::permutation}, generator);
  out.bump_version();
}

void randperm_out(int64_t n, const Tensor& out) { randperm_generator_out(n, {}, out); }

Tensor randperm_generator(int64_t n, const Generator& generator, std::optional<DType> dtype,
                          std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  SCONCE_CHECK(n >= 0, "n must be non-negative, got {}", n);
  SCONCE_CHECK(layout.value_or(Layout::strided) == Layout::strided, "randperm makes strided tensors only");
  SCONCE_CHECK(!pin_memory.value_or(false), "pinned memory needs CUDA, which this build does not have");
  Tensor out = empty_tensor({n}, dtype.value_or(DType::int64), device.value_or(Device()));
  draw_into(out, {Kind::permutation}, generator);
  return out;
}

Tensor randperm(int64_t n, std::optional<DType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  return randperm_generator(n, {}, dtype, layout, device, pin_memory);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  SCONCE_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got {}", p);
  Tensor mask = empty_like(input, DType::bool_);
  if (!train.value_or(true)) {
    copy_tensor(mask, scalar_tensor_of(true, DType::bool_, input.device()));
    Tensor out = empty_like(input, input.dtype());
    copy_tensor(out, input);
    return {out, mask};
  }
  if (p == 1) {
    copy_tensor(mask, scalar_tensor_of(false, DType::bool_, input.device()));
  } else {
    // Drawn in the input's dtype, as PyTorch does.
    const Tensor draws = empty_like(input, input.dtype());
    draw_into(draws, {Kind::bernoulli, 1 - p}, {});
    copy_tensor(mask, draws);
  }
  return {sconce::mul(sconce::mul(input, mask), Scalar(p == 1 ? 0.0 : 1 / (1 - p))), mask};
}

std::tuple<Tensor, Tensor> sconce_dropout_with_mask(const Tensor& input, double p) {
  const Tensor mask = empty_like(input, DType::bool_);
  draw_into(mask, {Kind::bernoulli, 1 - p}, {});
  return {sconce::keep_scaled(input, mask, 1 - p), mask};
}

void dropout_(const Tensor& self, double p, bool train) {
  if (p == 0 || !train || self.numel() == 0) return;
  if (p == 1) {
    sconce::mul_(self, Scalar(0.0));
    return;
  }
  const Tensor noise = empty_like(self, self.dtype());
  draw_into(noise, {Kind::bernoulli, 1 - p}, {});
  sconce::mul_(self, sconce::div_(noise, Scalar(1 - p)));
}

}  // namespace sconce::any_device
