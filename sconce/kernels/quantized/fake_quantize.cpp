// Fake quantisation: the number that an element would be after quantisation, and whether it was in range.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantization_kernels.h"
#include "sconce/kernels/quantized/quantize.h"

namespace sconce::cpu {
namespace {

void check_range(int64_t quant_min, int64_t quant_max) {
  SCONCE_CHECK(quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`, got {} and {}",
               quant_min, quant_max);
}

struct Rule {
  double scale, inverse, zero_point, least, most;
};

template <class T>
void fake(const T* x, int64_t n, const Rule& rule, T* out, bool* mask) {
  const auto inverse = static_cast<T>(rule.inverse), scale = static_cast<T>(rule.scale);
  for (int64_t i = 0; i < n; ++i) {
    const double integer = rule.zero_point + std::nearbyint(static_cast<double>(x[i] * inverse));
    mask[i] = integer >= rule.least && integer <= rule.most;
    const double inside = integer >= rule.least ? std::min(integer, rule.most) : rule.least;
    out[i] = static_cast<T>(inside - rule.zero_point) * scale;
  }
}

// `rule_of(c)` for channel c of dimension `axis`; with no channels there is one rule for all.
template <class F>
std::tuple<Tensor, Tensor> fake_all(const Tensor& self, int64_t channels, int64_t inner, F&& rule_of) {
  SCONCE_CHECK(is_floating(self.dtype()), "fake quantisation needs floats, got {}", dtype_name(self.dtype()));
  const bool wide = self.dtype() == DType::float64;
  const Tensor in = contiguous_tensor(to_dtype(self, wide ? DType::float64 : DType::float32));
  const Tensor out = empty_tensor(self.sizes(), in.dtype()), mask = empty_tensor(self.sizes(), DType::bool_);
  if (!self.is_meta()) {
    for (int64_t at = 0, c = 0; at < in.numel(); at += inner, c = c + 1 == channels ? 0 : c + 1) {
      if (wide)
        fake(in.data<double>() + at, inner, rule_of(c), out.data<double>() + at, mask.data<bool>() + at);
      else
        fake(in.data<float>() + at, inner, rule_of(c), out.data<float>() + at, mask.data<bool>() + at);
    }
  }
  return {to_dtype(out, self.dtype()), mask};
}

Rule rule_for(double scale, double zero_point, int64_t quant_min, int64_t quant_max) {
  return {scale, 1.0f / static_cast<float>(scale), zero_point, static_cast<double>(quant_min),
          static_cast<double>(quant_max)};
}

}  // namespace

std::tuple<Tensor, Tensor> fake_quantize_per_tensor_affine_cachemask(const Tensor& self, double scale,
                                                                     int64_t zero_point, int64_t quant_min,
                                                                     int64_t quant_max) {
  check_range(quant_min, quant_max);
  SCONCE_CHECK(zero_point >= quant_min && zero_point <= quant_max,
               "`zero_point` must be between `quant_min` and `quant_max`.");
  const Rule rule = rule_for(scale, static_cast<double>(zero_point), quant_min, quant_max);
  return fake_all(self, 1, std::max<int64_t>(self.numel(), 1), [&](int64_t) { return rule; });
}

std::tuple<Tensor, Tensor> _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    const Tensor& self, const Tensor& scale, const Tensor& zero_point, const Tensor& fake_quant_enabled,
    int64_t quant_min, int64_t quant_max) {
  check_range(quant_min, quant_max);
  if (item_of(fake_quant_enabled).to_double() < 1) {
    const Tensor mask = empty_tensor(self.sizes(), DType::bool_);
    const bool yes = true;
    fill_elements(mask, &yes);
    Tensor same = empty_tensor(self.sizes(), self.dtype());
    copy_tensor(same, self);
    return {same, mask};
  }
  const Rule rule = rule_for(item_of(scale).to_double(), item_of(zero_point).to_double(), quant_min, quant_max);
  return fake_all(self, 1, std::max<int64_t>(self.numel(), 1), [&](int64_t) { return rule; });
}

std::tuple<Tensor, Tensor> fake_quantize_per_channel_affine_cachemask(const Tensor& self, const Tensor& scale,
                                                                      const Tensor& zero_point, int64_t axis,
                                                                      int64_t quant_min, int64_t quant_max) {
  check_range(quant_min, quant_max);
  SCONCE_CHECK(axis >= 0 && axis < self.dim(), "`axis` must be between 0 and number of dimensions of input");
  SCONCE_CHECK(scale.dim() == 1 && zero_point.dim() == 1, "scale and zero point need to be 1-D tensors");
  const int64_t channels = self.size(axis);
  SCONCE_CHECK(scale.numel() == channels && zero_point.numel() == channels,
               "dimensions of scale and zero-point are not consistent with input tensor");
  const Tensor scales = contiguous_tensor(to_dtype(scale, DType::float64));
  const Tensor zeros = contiguous_tensor(to_dtype(zero_point, DType::float64));
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < self.dim(); ++d) inner *= self.size(d);
  return fake_all(self, channels, inner, [&](int64_t c) {
    return rule_for(scales.data<double>()[c], zeros.data<double>()[c], quant_min, quant_max);
  });
}

}  // namespace sconce::cpu
