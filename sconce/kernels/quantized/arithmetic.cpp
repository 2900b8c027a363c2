// Sums and products of quantised tensors.
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(as_bytes, "quantized.add.bytes", "8 bits, both without gaps and in one order");

using quantized::affine_of, quantized::to_bytes;

void check_pair(const Tensor& a, const Tensor& b, std::string_view name) {
  SCONCE_CHECK(is_quantized(a.dtype()) && a.dtype() == b.dtype(),
               "quantized::{}: both tensors must be quantised and have the same dtype, got {} and {}", name,
               dtype_name(a.dtype()), dtype_name(b.dtype()));
  uniform_quantizer_of(a);
  uniform_quantizer_of(b);
}

// Do both have their elements in the same order, without gaps?
bool same_order(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() && a.is_dense();
}

template <class F>
Tensor by_bytes(const Tensor& a, const Tensor& b, QuantizerPtr quantizer, F&& f) {
  const Tensor out = quantized::empty_like_quantized(a, a.dtype(), std::move(quantizer));
  const auto *x = static_cast<const uint8_t*>(a.data()), *y = static_cast<const uint8_t*>(b.data());
  auto* to = static_cast<uint8_t*>(out.data());
  parallel_for(a.numel(), kParallelGrain,
               [&](int64_t begin, int64_t end) { f(x + begin, y + begin, end - begin, to + begin); });
  return out;
}

// `b` in the order of `a`, if that is all that differs.
Tensor in_order_of(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || !a.is_dense() || same_order(a, b)) return b;
  const Tensor out = empty_strided_tensor(a.sizes(), a.strides(), integer_dtype(b.dtype()));
  copy_tensor(out, stored_integers(b));
  return quantized::requantized(out, b);
}

Tensor finish(const Tensor& reals, double scale, int64_t zero_point, DType dtype, bool relu) {
  return quantized::quantized_as(relu ? sconce::relu(reals) : reals, scale, zero_point, dtype);
}

Tensor sum(const Tensor& a, const Tensor& given, double scale, int64_t zero_point, bool relu) {
  check_pair(a, given, "add");
  const Tensor b = in_order_of(a, given);
  if (!as_bytes(same_order(a, b) && a.dtype() != DType::qint32))
    return finish(sconce::add(quantized::dequantized(a), quantized::dequantized(b)), scale, zero_point, a.dtype(),
                  relu);
  const Affine of_a = affine_of(quantizer_of(a)), of_b = affine_of(quantizer_of(b));
  const ToBytes to = to_bytes(scale, zero_point, a.dtype(), relu);
  return by_bytes(a, b, per_tensor_quantizer(scale, zero_point),
                  [&](const uint8_t* x, const uint8_t* y, int64_t n, uint8_t* out) {
                    quantized_loops().add[quantized::has_sign(a)](x, of_a, y, of_b, n, to, out);
                  });
}

Tensor product(const Tensor& a, const Tensor& given, double scale, int64_t zero_point, bool relu) {
  check_pair(a, given, "mul");
  const Tensor b = in_order_of(a, given);
  if (!same_order(a, b) || a.dtype() == DType::qint32)
    return finish(sconce::mul(quantized::dequantized(a), quantized::dequantized(b)), scale, zero_point, a.dtype(),
                  relu);
  const Quantizer &qa = quantizer_of(a), &qb = quantizer_of(b);
  ToBytes to = to_bytes(scale, zero_point, a.dtype(), relu);
  to.inverse_scale = static_cast<float>(qa.scale * qb.scale / scale);
  return by_bytes(a, b, per_tensor_quantizer(scale, zero_point),
                  [&](const uint8_t* x, const uint8_t* y, int64_t n, uint8_t* out) {
                    quantized_loops().mul[quantized::has_sign(a)](x, static_cast<int32_t>(qa.zero_point), y,
                                                                  static_cast<int32_t>(qb.zero_point), n, to, out);
                  });
}

Tensor with_relu(const Tensor& q, bool relu) { return relu ? sconce::relu(q) : q; }

// The same integers mean other numbers.
Tensor reread(const Tensor& q, double scale, int64_t zero_point) {
  return make_quantized(sconce::clone(stored_integers(q)), per_tensor_quantizer(scale, zero_point));
}

// A constant moves the zero point as far as that goes; beyond it the scale grows.
Tensor add_number(const Tensor& a, const Scalar& b, bool relu) {
  const Quantizer& q = uniform_quantizer_of(a);
  const IntegerRange range = integer_range(a.dtype());
  const double steps = std::nearbyint(b.to_double() / q.scale);
  SCONCE_CHECK(std::abs(steps) < 1e9, "quantized::add: {} is too far from a scale of {}", b.to_double(), q.scale);
  const int64_t moved = q.zero_point - static_cast<int64_t>(steps);
  const auto width = static_cast<double>(range.most - range.least);
  if (moved >= range.least && moved <= range.most) return with_relu(reread(a, q.scale, moved), relu);
  const bool below = moved < range.least;
  const double grown = static_cast<double>(below ? range.most - moved : moved - range.least) / width * q.scale;
  const Tensor reals = sconce::add(quantized::centred(a), Scalar(steps));
  const Tensor scaled = sconce::mul(relu ? sconce::relu(reals) : reals, Scalar(q.scale));
  return quantized::quantized_as(scaled, grown, below ? range.least : range.most, a.dtype());
}

Tensor mul_number(const Tensor& a, const Scalar& b, bool relu) {
  const Quantizer& q = uniform_quantizer_of(a);
  const IntegerRange range = integer_range(a.dtype());
  const double factor = b.to_double();
  SCONCE_CHECK(std::isfinite(factor * q.scale), "quantized::mul: {} times a scale of {} is not finite", factor,
               q.scale);
  if (factor > 0) return with_relu(reread(a, factor * q.scale, q.zero_point), relu);
  if (factor == 0) return make_quantized(sconce::zeros_like(stored_integers(a)), per_tensor_quantizer(1, 0));
  // Mirrored: the largest integer becomes the least.
  const Tensor integers = to_dtype(stored_integers(a), DType::int64);
  const Tensor mirrored = sconce::rsub(integers, Scalar(range.least + range.most));
  const Tensor out = make_quantized(to_dtype(mirrored, integer_dtype(a.dtype())),
                                    per_tensor_quantizer(-factor * q.scale, range.least + range.most - q.zero_point));
  return with_relu(out, relu);
}

Tensor concatenated(TensorList tensors, int64_t dim, std::optional<double> scale, std::optional<int64_t> zero_point,
                    bool relu) {
  SCONCE_CHECK(!tensors.empty(), "quantized::cat needs at least one tensor");
  const Quantizer& first = uniform_quantizer_of(tensors[0]);
  const double to_scale = scale.value_or(first.scale);
  const int64_t to_zero = zero_point.value_or(first.zero_point);
  const DType dtype = tensors[0].dtype();
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(t.dtype() == dtype, "quantized::cat: all tensors must have the same dtype, got {} and {}",
                 dtype_name(dtype), dtype_name(t.dtype()));
    const Quantizer& q = uniform_quantizer_of(t);
    const bool same = q.scale == to_scale && q.zero_point == to_zero;
    parts.push_back(
        stored_integers(same ? t : quantized::quantized_as(quantized::dequantized(t), to_scale, to_zero, dtype)));
  }
  return with_relu(make_quantized(sconce::cat(parts, dim), per_tensor_quantizer(to_scale, to_zero)), relu);
}

}  // namespace

Tensor quantized_add(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  return sum(qa, qb, scale, zero_point, false);
}
Tensor quantized_add_relu(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  return sum(qa, qb, scale, zero_point, true);
}
Tensor quantized_mul(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  return product(qa, qb, scale, zero_point, false);
}
Tensor quantized_mul_relu(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  return product(qa, qb, scale, zero_point, true);
}

Tensor quantized_add_Scalar(const Tensor& qa, const Scalar& b) { return add_number(qa, b, false); }
Tensor quantized_add_Scalar2(const Scalar& b, const Tensor& qa) { return add_number(qa, b, false); }
Tensor quantized_add_relu_Scalar(const Tensor& qa, const Scalar& b) { return add_number(qa, b, true); }
Tensor quantized_add_relu_Scalar2(const Scalar& b, const Tensor& qa) { return add_number(qa, b, true); }
Tensor quantized_add_scalar(const Tensor& qa, const Scalar& b) { return add_number(qa, b, false); }
Tensor quantized_add_scalar_Tensor(const Tensor& qa, const Tensor& b) { return add_number(qa, item_of(b), false); }
Tensor quantized_add_scalar_relu(const Tensor& qa, const Scalar& b) { return add_number(qa, b, true); }
Tensor quantized_add_scalar_relu_Tensor(const Tensor& qa, const Tensor& b) { return add_number(qa, item_of(b), true); }
Tensor quantized_mul_Scalar(const Tensor& qa, const Scalar& b) { return mul_number(qa, b, false); }
Tensor quantized_mul_Scalar2(const Scalar& b, const Tensor& qa) { return mul_number(qa, b, false); }
Tensor quantized_mul_relu_Scalar(const Tensor& qa, const Scalar& b) { return mul_number(qa, b, true); }
Tensor quantized_mul_relu_Scalar2(const Scalar& b, const Tensor& qa) { return mul_number(qa, b, true); }
Tensor quantized_mul_scalar(const Tensor& qa, const Scalar& b) { return mul_number(qa, b, false); }
Tensor quantized_mul_scalar_Tensor(const Tensor& qa, const Tensor& b) { return mul_number(qa, item_of(b), false); }
Tensor quantized_mul_scalar_relu(const Tensor& qa, const Scalar& b) { return mul_number(qa, b, true); }
Tensor quantized_mul_scalar_relu_Tensor(const Tensor& qa, const Tensor& b) { return mul_number(qa, item_of(b), true); }

Tensor quantized_cat(TensorList qx, int64_t dim, std::optional<double> scale, std::optional<int64_t> zero_point) {
  return concatenated(qx, dim, scale, zero_point, false);
}
Tensor quantized_cat_relu(TensorList qx, int64_t dim, std::optional<double> scale, std::optional<int64_t> zero_point) {
  return concatenated(qx, dim, scale, zero_point, true);
}

Tensor quantized_matmul(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  check_pair(qa, qb, "matmul");
  return quantized::quantized_as(sconce::matmul(quantized::dequantized(qa), quantized::dequantized(qb)), scale,
                                 zero_point, qa.dtype());
}

}  // namespace sconce::cpu
