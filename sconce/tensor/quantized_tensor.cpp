#include "sconce/tensor/quantized_tensor.h"

#include <cmath>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/tensor/copy.h"

namespace sconce {
namespace {

constexpr struct {
  DType quantized, integers;
  IntegerRange range;
} kKinds[] = {{DType::qint8, DType::int8, {-128, 127}},
              {DType::quint8, DType::uint8, {0, 255}},
              {DType::qint32, DType::int32, {INT32_MIN, INT32_MAX}}};

Tensor as_vector(const Tensor& t, DType dtype, std::string_view what) {
  SCONCE_CHECK(t.defined() && t.dim() == 1, "{} tensor must be one-dimensional", what);
  SCONCE_CHECK(t.device().type == DeviceType::cpu && !is_quantized(t.dtype()) && !is_complex(t.dtype()),
               "{} tensor must hold real numbers on the CPU, got {}", what, dtype_name(t.dtype()));
  Tensor out = empty_tensor(t.sizes(), dtype);
  copy_tensor(out, t);
  return out;
}

void check_scale(double scale) {
  SCONCE_CHECK(std::isfinite(scale), "a quantised tensor needs a finite scale, got {}", scale);
}

void check_zero_point(int64_t zero_point, DType dtype) {
  const IntegerRange range = integer_range(dtype);
  SCONCE_CHECK(zero_point <= range.most, "zero_point {} is above upper bound: a tensor of {} holds {} to {}",
               zero_point, dtype_name(dtype), range.least, range.most);
  SCONCE_CHECK(zero_point >= range.least, "zero_point {} is below lower bound: a tensor of {} holds {} to {}",
               zero_point, dtype_name(dtype), range.least, range.most);
}

void check_channels(const Quantizer& q, IntList sizes, DType dtype) {
  const auto rank = static_cast<int64_t>(sizes.size());
  SCONCE_CHECK(q.axis >= 0 && q.axis < rank,
               "Channel axis out of range in per channel affine quantization. Got: {} Expected: [0, {})", q.axis, rank);
  const int64_t channels = sizes[static_cast<size_t>(q.axis)];
  SCONCE_CHECK(q.scales.numel() == channels, "length of scales must equal to channel, expected {} got, {}", channels,
               q.scales.numel());
  const auto* zero_points = static_cast<const int64_t*>(q.zero_points.data());
  for (int64_t i = 0; q.scheme == QScheme::per_channel_affine && i < channels; ++i)
    check_zero_point(zero_points[i], dtype);
}

}  // namespace

QuantizerPtr per_tensor_quantizer(double scale, int64_t zero_point) {
  check_scale(scale);
  auto q = std::make_shared<Quantizer>();
  q->scale = scale;
  q->zero_point = zero_point;
  return q;
}

QuantizerPtr per_channel_quantizer(const Tensor& scales, const Tensor& zero_points, int64_t axis) {
  auto q = std::make_shared<Quantizer>();
  const bool floats = zero_points.defined() && is_floating(zero_points.dtype());
  q->scheme = floats ? QScheme::per_channel_affine_float_qparams : QScheme::per_channel_affine;
  q->scales = as_vector(scales, floats ? DType::float32 : DType::float64, "scale");
  q->zero_points = as_vector(zero_points, floats ? DType::float32 : DType::int64, "zero_points");
  q->axis = axis;
  SCONCE_CHECK(q->scales.numel() == q->zero_points.numel(),
               "number of elements in scales and zero_points must match, got {} and {}", q->scales.numel(),
               q->zero_points.numel());
  for (int64_t i = 0; i < q->scales.numel(); ++i)
    check_scale(floats ? static_cast<const float*>(q->scales.data())[i]
                       : static_cast<const double*>(q->scales.data())[i]);
  return q;
}

DType integer_dtype(DType quantized) {
  for (const auto& kind : kKinds) {
    if (kind.quantized == quantized) return kind.integers;
  }
  fail("ScalarType {} is not supported in new_qtensor.", dtype_legacy_name(quantized));
}

DType quantized_dtype(DType integers) {
  for (const auto& kind : kKinds) {
    if (kind.integers == integers) return kind.quantized;
  }
  fail("Creation of quantized tensor requires quantized dtype like torch.quint8, got integers of {}",
       dtype_name(integers));
}

IntegerRange integer_range(DType quantized) {
  for (const auto& kind : kKinds) {
    if (kind.quantized == quantized) return kind.range;
  }
  fail("{} is no quantised dtype", dtype_name(quantized));
}

const QuantizerPtr& quantizer_pointer(const Tensor& t) {
  SCONCE_CHECK(is_quantized(t.dtype()) && t.impl()->extra && t.impl()->extra->quantizer,
               "a tensor of {} has no scale and zero point: quantize_per_tensor and its like make quantised tensors",
               dtype_name(t.dtype()));
  const QuantizerPtr& q = t.impl()->extra->quantizer;
  // In-place operations on sizes can move the channels away.
  if (q->per_channel()) check_channels(*q, t.sizes(), t.dtype());
  return q;
}

const Quantizer& quantizer_of(const Tensor& t) { return *quantizer_pointer(t); }

const Quantizer& uniform_quantizer_of(const Tensor& t) {
  const Quantizer& q = quantizer_of(t);
  SCONCE_CHECK(!q.per_channel(), "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
  return q;
}

namespace {

Tensor over_memory(const Tensor& t, DType dtype, QuantizerPtr quantizer) {
  Tensor out =
      make_tensor_unchecked(Ref<Storage>::share(t.storage()), dtype, t.sizes(), t.strides(), t.storage_offset());
  if (!quantizer) return out;
  if (!out.impl()->extra) out.impl()->extra = new Extra;
  out.impl()->extra->quantizer = std::move(quantizer);
  return out;
}

}  // namespace

namespace {

// Do the channels of a quantised tensor stand where they stand in its view? Only where they are the same stretches of
// memory.
bool keeps_channels(const TensorImpl& view, const TensorImpl& base, int64_t axis) {
  const auto rank = [](const TensorImpl& t) { return static_cast<int64_t>(t.meta >> TensorImpl::kRankAt & 0xff); };
  const auto outer = [&](const TensorImpl& t) {
    int64_t n = 1;
    for (int64_t d = 0; d < axis; ++d) n *= t.dims[d];
    return n;
  };
  if (rank(view) > TensorImpl::kInlineRank || rank(base) > TensorImpl::kInlineRank) return false;
  if (view.numel != base.numel || axis >= rank(view)) return false;
  if (rank(view) == rank(base) && std::memcmp(view.dims, base.dims, sizeof view.dims) == 0) return true;
  return (view.meta & base.meta & TensorImpl::contiguous) != 0 && view.dims[axis] == base.dims[axis] &&
         outer(view) == outer(base);
}

}  // namespace

SCONCE_WEAK void take_quantizer(TensorImpl& view, const TensorImpl& base) {
  if (!base.extra || !base.extra->quantizer) return;
  const std::shared_ptr<const Quantizer>& q = base.extra->quantizer;
  SCONCE_CHECK(!q->per_channel() || keeps_channels(view, base, q->axis),
               "Setting strides is possible only on uniformly quantized tensor");
  if (!view.extra) view.extra = new Extra;
  view.extra->quantizer = q;
}

Tensor make_quantized(const Tensor& integers, QuantizerPtr quantizer) {
  const DType dtype = quantized_dtype(integers.dtype());
  if (quantizer->per_channel())
    check_channels(*quantizer, integers.sizes(), dtype);
  else
    check_zero_point(quantizer->zero_point, dtype);
  return over_memory(integers, dtype, std::move(quantizer));
}

Tensor stored_integers(const Tensor& t) { return over_memory(t, integer_dtype(t.dtype()), nullptr); }

Tensor empty_quantized(IntList sizes, DType dtype, QuantizerPtr quantizer, MemoryFormat format) {
  return make_quantized(empty_tensor(sizes, integer_dtype(dtype), {}, format), std::move(quantizer));
}

Tensor quantized_numbers(const Tensor& t) {
  const Quantizer& q = quantizer_of(t);
  const Tensor integers = empty_tensor(t.sizes(), DType::int64), out = empty_tensor(t.sizes(), DType::float32);
  copy_tensor(integers, stored_integers(t));
  const bool floats = q.scheme == QScheme::per_channel_affine_float_qparams;
  int64_t inner = 1;
  for (int64_t d = q.axis + 1; d < t.dim(); ++d) inner *= t.sizes()[static_cast<size_t>(d)];
  for (int64_t i = 0; i < t.numel(); ++i) {
    double scale = q.scale, zero = static_cast<double>(q.zero_point);
    if (q.per_channel()) {
      const int64_t c = i / inner % q.scales.numel();
      scale = floats ? q.scales.data<float>()[c] : q.scales.data<double>()[c];
      zero = floats ? q.zero_points.data<float>()[c] : static_cast<double>(q.zero_points.data<int64_t>()[c]);
    }
    const auto distance = static_cast<float>(static_cast<double>(integers.data<int64_t>()[i]) - zero);
    out.data<float>()[i] = distance * static_cast<float>(scale);
  }
  return out;
}

std::string_view qscheme_name(QScheme scheme) {
  switch (scheme) {
    case QScheme::per_tensor_affine:
      return "torch.per_tensor_affine";
    case QScheme::per_channel_affine:
      return "torch.per_channel_affine";
    case QScheme::per_tensor_symmetric:
      return "torch.per_tensor_symmetric";
    case QScheme::per_channel_symmetric:
      return "torch.per_channel_symmetric";
    default:
      return "torch.per_channel_affine_float_qparams";
  }
}

}  // namespace sconce
