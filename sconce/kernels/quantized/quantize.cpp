#include "sconce/kernels/quantized/quantize.h"

#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/strides.h"

namespace sconce {

namespace {
SCONCE_VARIANT(without_gaps, "quantize.dense", "numbers without gaps");
}  // namespace

const QuantizedLoops& quantized_loops() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(quantized_loops)); }

namespace quantized {
namespace {

template <class F>
void over_elements(int64_t n, F&& f) {
  parallel_for(n, kParallelGrain, [&](int64_t begin, int64_t end) { f(begin, end - begin); });
}

int32_t to_int32(float scaled, int64_t zero_point) {
  if (std::isnan(scaled)) return INT32_MIN;
  const double whole = std::nearbyint(scaled) + static_cast<double>(zero_point);
  return whole >= INT32_MAX ? INT32_MAX : whole <= INT32_MIN ? INT32_MIN : static_cast<int32_t>(whole);
}

// Elements [outer][channels][inner] of a contiguous tensor, by channel.
struct Channels {
  int64_t outer = 1, count, inner = 1;
  Channels(IntList sizes, int64_t axis) : count(sizes[static_cast<size_t>(axis)]) {
    for (int64_t d = 0; d < axis; ++d) outer *= sizes[static_cast<size_t>(d)];
    for (auto d = static_cast<size_t>(axis) + 1; d < sizes.size(); ++d) inner *= sizes[d];
  }
  template <class F>
  void visit(F&& f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t c = 0; c < count; ++c) f(c, (o * count + c) * inner);
    }
  }
};

Tensor dequantized_channels(const Tensor& q) {
  const Tensor integers = contiguous_tensor(stored_integers(q));
  const Quantizer& of = quantizer_of(q);
  const Tensor out = empty_tensor(q.sizes(), DType::float32);
  auto* to = out.data<float>();
  const Channels channels(q.sizes(), of.axis);
  const bool floats = of.scheme == QScheme::per_channel_affine_float_qparams;
  channels.visit([&](int64_t c, int64_t at) {
    const float scale = floats ? of.scales.data<float>()[c] : static_cast<float>(of.scales.data<double>()[c]);
    const float zero = floats ? of.zero_points.data<float>()[c] : static_cast<float>(of.zero_points.data<int64_t>()[c]);
    for (int64_t i = at; i < at + channels.inner; ++i) {
      const float integer = q.dtype() == DType::quint8  ? static_cast<float>(integers.data<uint8_t>()[i])
                            : q.dtype() == DType::qint8 ? static_cast<float>(integers.data<int8_t>()[i])
                                                        : static_cast<float>(integers.data<int32_t>()[i]);
      to[i] = (integer - zero) * scale;
    }
  });
  return out;
}

}  // namespace

ToBytes to_bytes(double scale, int64_t zero_point, DType dtype, bool relu) {
  const IntegerRange range = integer_range(dtype);
  ToBytes to;
  to.inverse_scale = 1.0f / static_cast<float>(scale);
  to.zero_point = static_cast<int32_t>(zero_point);
  to.lo = static_cast<int32_t>(relu ? std::max(range.least, zero_point) : range.least);
  to.hi = static_cast<int32_t>(range.most);
  return to;
}

Tensor empty_like_quantized(const Tensor& like, DType dtype, QuantizerPtr quantizer) {
  return make_quantized(empty_strided_tensor(like.sizes(), like.strides(), integer_dtype(dtype)), std::move(quantizer));
}

Tensor dense(const Tensor& q) {
  if (q.is_dense()) return q;
  return requantized(contiguous_tensor(stored_integers(q)), q);
}

Tensor contiguous_quantized(const Tensor& q, MemoryFormat format) {
  return requantized(contiguous_tensor(stored_integers(q), format), q);
}

namespace {

Tensor dequantized_by(const Tensor& t, const Quantizer& of) {
  const Tensor from = dense(t);
  const Tensor out = empty_strided_tensor(from.sizes(), from.strides(), DType::float32);
  auto* to = out.data<float>();
  if (t.dtype() == DType::qint32) {
    const auto* integers = static_cast<const int32_t*>(from.data());
    const auto scale = static_cast<float>(of.scale);
    for (int64_t i = 0; i < t.numel(); ++i)
      to[i] = static_cast<float>(static_cast<double>(integers[i]) - static_cast<double>(of.zero_point)) * scale;
    return out;
  }
  const auto* bytes = static_cast<const uint8_t*>(from.data());
  over_elements(t.numel(), [&](int64_t at, int64_t n) {
    quantized_loops().dequantize[has_sign(t)](bytes + at, n, affine_of(of), to + at);
  });
  return out;
}

Quantizer with_scale_1(const Tensor& q) {
  Quantizer of = uniform_quantizer_of(q);
  of.scale = 1;
  return of;
}

}  // namespace

Tensor dequantized(const Tensor& t) {
  if (!is_quantized(t.dtype())) return to_dtype(t, DType::float32);
  const Quantizer& of = quantizer_of(t);
  return of.per_channel() ? dequantized_channels(t) : dequantized_by(t, of);
}

Tensor centred(const Tensor& q) { return dequantized_by(q, with_scale_1(q)); }

Tensor from_centred(const Tensor& reals, const Tensor& like) {
  return requantized(stored_integers(quantized_as(reals, with_scale_1(like), like.dtype())), like);
}

Tensor quantized_as(const Tensor& reals, double scale, int64_t zero_point, DType dtype) {
  const Tensor from = without_gaps(reals.is_dense()) ? reals : contiguous_tensor(reals);
  const Tensor out = empty_like_quantized(from, dtype, per_tensor_quantizer(scale, zero_point));
  const auto* x = from.data<float>();
  if (dtype == DType::qint32) {
    const float inverse = 1.0f / static_cast<float>(scale);
    auto* to = static_cast<int32_t*>(out.data());
    for (int64_t i = 0; i < out.numel(); ++i) to[i] = to_int32(x[i] * inverse, zero_point);
    return out;
  }
  auto* to = static_cast<uint8_t*>(out.data());
  const ToBytes how = to_bytes(scale, zero_point, dtype);
  over_elements(out.numel(), [&](int64_t at, int64_t n) { quantized_loops().quantize(x + at, n, how, to + at); });
  return out;
}

Tensor quantized_as(const Tensor& reals, const Quantizer& like, DType dtype) {
  return quantized_as(reals, like.scale, like.zero_point, dtype);
}

namespace {

// With a scale of 0, or of which the inverse is infinite, nothing can be said.
double usable(double scale) {
  const auto narrow = static_cast<float>(scale);
  return narrow == 0 || std::isinf(1.0f / narrow) ? 0.1 : scale;
}

}  // namespace

Params choose_params(float least, float most, int64_t qmin, int64_t qmax, bool reduce_range) {
  // Below this, products of two scales leave the range of float32.
  constexpr float kSmallest = 6.1e-5f;
  SCONCE_CHECK(least <= most, "In ChooseQuantizationParams, min should be less than or equal to max, got {} and {}",
               least, most);
  SCONCE_CHECK(std::isfinite(least) && std::isfinite(most),
               "numbers between {} and {} have no scale: they must be finite", least, most);
  if (reduce_range) {
    qmin /= 2;
    qmax /= 2;
  }
  least = std::min(least, 0.f);
  most = std::max(most, 0.f);
  const auto steps = static_cast<double>(qmax - qmin);
  double scale = usable((static_cast<double>(most) - least) / steps);
  if (scale < kSmallest) {
    const auto grown = static_cast<float>(kSmallest / static_cast<float>(scale));
    scale = kSmallest;
    if (least == 0) {
      most = kSmallest * static_cast<float>(steps);
    } else if (most == 0) {
      least = -kSmallest * static_cast<float>(steps);
    } else {
      least *= grown;
      most *= grown;
    }
  }
  // Either end could be met exactly: the one where less is lost is.
  const double from_least = static_cast<double>(qmin) - least / scale;
  const double from_most = static_cast<double>(qmax) - most / scale;
  const double lost_at_least = std::abs(static_cast<double>(qmin)) - std::abs(least / scale);
  const double lost_at_most = std::abs(static_cast<double>(qmax)) - std::abs(most / scale);
  const double zero = lost_at_least < lost_at_most ? from_least : from_most;
  const double nudged = std::nearbyint(std::clamp(zero, static_cast<double>(qmin), static_cast<double>(qmax)));
  return {static_cast<double>(static_cast<float>(scale)), static_cast<int64_t>(nudged)};
}

Params choose_params(const Tensor& reals, int64_t qmin, int64_t qmax, bool reduce_range) {
  float least = 0, most = 0;
  const Tensor x = reals.is_dense() ? reals : contiguous_tensor(reals);
  if (x.numel() > 0) quantized_loops().min_max(x.data<float>(), x.numel(), &least, &most);
  return choose_params(least, most, qmin, qmax, reduce_range);
}

}  // namespace quantized
}  // namespace sconce
