// Random operators: what sconce::rng draws, with results made and versions raised.
#include "sconce/tensor/random.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

Tensor empty_like(const Tensor& t, DType dtype) {
  return empty_strided_tensor(t.sizes(), preserved_strides(t.sizes(), t.strides()), dtype, t.device());
}

}  // namespace

void bernoulli__float(const Tensor& self, double p, const Generator& generator) {
  rng::bernoulli_(self, p, generator);
  self.bump_version();
}

void bernoulli__Tensor(const Tensor& self, const Tensor& p, const Generator& generator) {
  rng::bernoulli_(self, p, generator);
  self.bump_version();
}

Tensor bernoulli(const Tensor& self, const Generator& generator) {
  Tensor out = empty_like(self, self.dtype());
  rng::bernoulli_(out, self, generator);
  return out;
}

Tensor bernoulli_p(const Tensor& self, double p, const Generator& generator) {
  Tensor out = empty_like(self, self.dtype());
  rng::bernoulli_(out, p, generator);
  return out;
}

void uniform_(const Tensor& self, double from, double to, const Generator& generator) {
  rng::uniform_(self, from, to, generator);
  self.bump_version();
}

void normal_(const Tensor& self, double mean, double std, const Generator& generator) {
  rng::normal_(self, mean, std, generator);
  self.bump_version();
}

void exponential_(const Tensor& self, double lambd, const Generator& generator) {
  rng::exponential_(self, lambd, generator);
  self.bump_version();
}

void random_(const Tensor& self, const Generator& generator) {
  rng::random_(self, generator);
  self.bump_version();
}

void random__from(const Tensor& self, int64_t from, std::optional<int64_t> to, const Generator& generator) {
  rng::random_(self, from, to, generator);
  self.bump_version();
}

void random__to(const Tensor& self, int64_t to, const Generator& generator) {
  rng::random_(self, 0, to, generator);
  self.bump_version();
}

Tensor randperm(int64_t n, std::optional<DType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  SCONCE_CHECK(n >= 0, "n must be non-negative, got {}", n);
  SCONCE_CHECK(layout.value_or(Layout::strided) == Layout::strided, "randperm makes strided tensors only");
  SCONCE_CHECK(!pin_memory.value_or(false), "pinned memory needs CUDA, which this build does not have");
  Tensor out = empty_tensor({n}, dtype.value_or(DType::int64), device.value_or(Device()));
  rng::randperm_(out);
  return out;
}

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Generator& generator) {
  return rng::multinomial(self, num_samples, replacement, generator);
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
    rng::bernoulli_(draws, 1 - p);
    copy_tensor(mask, draws);
  }
  return {sconce::mul(sconce::mul(input, mask), Scalar(p == 1 ? 0.0 : 1 / (1 - p))), mask};
}

void dropout_(const Tensor& self, double p, bool train) {
  if (p == 0 || !train || self.numel() == 0) return;
  if (p == 1) {
    sconce::mul_(self, Scalar(0.0));
    return;
  }
  const Tensor noise = empty_like(self, self.dtype());
  rng::bernoulli_(noise, 1 - p);
  sconce::mul_(self, sconce::div_(noise, Scalar(1 - p)));
}

}  // namespace sconce::any_device
