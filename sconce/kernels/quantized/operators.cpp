// Operators that make quantised tensors and ask them for their parts.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantization_kernels.h"
#include "sconce/kernels/quantized/quantize.h"

namespace sconce::cpu {
namespace {

using quantized::Params;

const Tensor& reals(const Tensor& self) {
  SCONCE_CHECK(self.dtype() == DType::float32, "Quantize only works on Float Tensor, got {}",
               dtype_legacy_name(self.dtype()));
  SCONCE_CHECK_AS(not_implemented, self.device().type == DeviceType::cpu,
                  "quantised tensors are on the CPU only, not on {}", to_string(self.device()));
  return self;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller's, which outlives the call
}

// Tensors that are asked for a quantizer without having one are refused as by a missing kernel.
const Tensor& quantised(const Tensor& self, std::string_view name) {
  SCONCE_CHECK_AS(not_implemented, is_quantized(self.dtype()),
                  "Could not run 'aten::{}' with arguments from the 'CPU' backend. This could be because the operator "
                  "doesn't exist for this backend",
                  name);
  return self;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller's, which outlives the call
}

const Quantizer& by_channel(const Tensor& self, std::string_view name) {
  const Quantizer& q = quantizer_of(quantised(self, name));
  SCONCE_CHECK(q.per_channel(),
               "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
               "kPerChannelAffineFloatQParams to be true, but got false.");
  return q;
}

double number_of(const Tensor& t) { return item_of(t).to_double(); }

int64_t axis_of(const Tensor& self, int64_t axis) {
  SCONCE_CHECK(axis >= 0 && axis < self.dim(),
               "Channel axis out of range in per channel affine quantization. Got: {} Expected: [0, {})", axis,
               self.dim());
  return axis;
}

Tensor copy_of(const Tensor& t) {
  Tensor out = empty_tensor(t.sizes(), t.dtype());
  copy_tensor(out, t);
  return out;
}

Tensor empty_integers(IntList size, std::optional<DType> dtype, std::optional<Device> device,
                      std::optional<MemoryFormat> format) {
  SCONCE_CHECK(dtype && is_quantized(*dtype),
               "Creation of quantized tensor requires quantized dtype like torch.quint8");
  SCONCE_CHECK_AS(not_implemented, !device || device->type == DeviceType::cpu,
                  "quantised tensors are on the CPU only, not on {}", to_string(*device));
  return empty_tensor(size, integer_dtype(*dtype), {}, format.value_or(MemoryFormat::contiguous));
}

// With zero points of floats the integer is round(x / scale + zero_point), else the zero point is added afterwards.
struct ChannelRule {
  float inverse_scale, zero_point;
  bool floats;
  double of(float x) const {
    const float scaled = x * inverse_scale;
    return floats ? std::nearbyint(scaled + zero_point) : std::nearbyint(scaled) + static_cast<double>(zero_point);
  }
};

template <class T>
void quantize_channels(const Tensor& self, const Quantizer& q, IntegerRange range, T* out) {
  const auto* x = self.data<float>();
  const int64_t channels = q.scales.numel();
  int64_t inner = 1;
  for (auto d = static_cast<size_t>(q.axis) + 1; d < self.sizes().size(); ++d) inner *= self.sizes()[d];
  const bool floats = q.scheme == QScheme::per_channel_affine_float_qparams;
  for (int64_t at = 0, c = 0; at < self.numel(); at += inner, c = c + 1 == channels ? 0 : c + 1) {
    const ChannelRule rule{
        1.0f / (floats ? q.scales.data<float>()[c] : static_cast<float>(q.scales.data<double>()[c])),
        floats ? q.zero_points.data<float>()[c] : static_cast<float>(q.zero_points.data<int64_t>()[c]), floats};
    for (int64_t i = at; i < at + inner; ++i) {
      const double integer = rule.of(x[i]);
      const bool above = integer >= static_cast<double>(range.least);  // false for NaN
      out[i] =
          static_cast<T>(above ? std::min(integer, static_cast<double>(range.most)) : static_cast<double>(range.least));
    }
  }
}

}  // namespace

Tensor quantize_per_tensor(const Tensor& self, double scale, int64_t zero_point, DType dtype) {
  integer_dtype(dtype);
  return quantized::quantized_as(reals(self), scale, zero_point, dtype);
}

Tensor quantize_per_tensor_tensor_qparams(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                          DType dtype) {
  return quantize_per_tensor(self, number_of(scale), static_cast<int64_t>(number_of(zero_point)), dtype);
}

std::vector<Tensor> quantize_per_tensor_tensors(TensorList tensors, const Tensor& scales, const Tensor& zero_points,
                                                DType dtype) {
  const QuantizerPtr all = per_channel_quantizer(scales, to_dtype(zero_points, DType::int64), 0);
  SCONCE_CHECK(all->scales.numel() == static_cast<int64_t>(tensors.size()),
               "quantize_per_tensor: {} tensors need as many scales, got {}", tensors.size(), all->scales.numel());
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out.push_back(
        quantize_per_tensor(tensors[i], all->scales.data<double>()[i], all->zero_points.data<int64_t>()[i], dtype));
  return out;
}

Tensor quantize_per_tensor_dynamic(const Tensor& self, DType dtype, bool reduce_range) {
  if (dtype == DType::float16) return to_dtype(self, dtype);
  SCONCE_CHECK(dtype == DType::quint8 || dtype == DType::qint8,
               "dtype {} not supported in dynamic quantization: use float16, qint8 or quint8", dtype_name(dtype));
  const IntegerRange range = integer_range(dtype);
  const Params p = quantized::choose_params(reals(self), range.least, range.most, reduce_range);
  return quantized::quantized_as(self, p.scale, p.zero_point, dtype);
}

Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                            DType dtype) {
  const QuantizerPtr q = per_channel_quantizer(scales, zero_points, axis_of(reals(self), axis));
  const Tensor out = empty_quantized(self.sizes(), dtype, q);
  const Tensor in = contiguous_tensor(self);
  const IntegerRange range = integer_range(dtype);
  if (dtype == DType::quint8)
    quantize_channels(in, *q, range, static_cast<uint8_t*>(out.data()));
  else if (dtype == DType::qint8)
    quantize_channels(in, *q, range, static_cast<int8_t*>(out.data()));
  else
    quantize_channels(in, *q, range, static_cast<int32_t*>(out.data()));
  return suggested_format(self) == MemoryFormat::contiguous
             ? out
             : quantized::contiguous_quantized(out, suggested_format(self));
}

Tensor _make_per_tensor_quantized_tensor(const Tensor& self, double scale, int64_t zero_point) {
  return make_quantized(copy_of(self), per_tensor_quantizer(scale, zero_point));
}

Tensor _make_per_channel_quantized_tensor(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                          int64_t axis) {
  return make_quantized(copy_of(self), per_channel_quantizer(scale, zero_point, axis_of(self, axis)));
}

Tensor _empty_affine_quantized(IntList size, std::optional<DType> dtype, std::optional<Layout>,
                               std::optional<Device> device, std::optional<bool>, double scale, int64_t zero_point,
                               std::optional<MemoryFormat> memory_format) {
  return make_quantized(empty_integers(size, dtype, device, memory_format), per_tensor_quantizer(scale, zero_point));
}

Tensor _empty_per_channel_affine_quantized(IntList size, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                                           std::optional<DType> dtype, std::optional<Layout>,
                                           std::optional<Device> device, std::optional<bool>,
                                           std::optional<MemoryFormat> memory_format) {
  const Tensor integers = empty_integers(size, dtype, device, memory_format);
  return make_quantized(integers, per_channel_quantizer(scales, zero_points, axis_of(integers, axis)));
}

std::tuple<double, int64_t> _choose_qparams_per_tensor(const Tensor& self, bool reduce_range) {
  const Params p = quantized::choose_params(reals(self), 0, 255, reduce_range);
  return {p.scale, p.zero_point};
}

Tensor dequantize_self(const Tensor& self) { return quantized::dequantized(self); }

std::vector<Tensor> dequantize_tensors(TensorList tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(quantized::dequantized(t));
  return out;
}

Tensor int_repr(const Tensor& self) {
  const Tensor integers = stored_integers(quantised(self, "int_repr"));
  const Tensor out = empty_tensor(self.sizes(), integers.dtype(), {}, suggested_format(self));
  copy_tensor(out, integers);
  return out;
}

double q_scale(const Tensor& self) { return uniform_quantizer_of(quantised(self, "q_scale")).scale; }
int64_t q_zero_point(const Tensor& self) { return uniform_quantizer_of(quantised(self, "q_zero_point")).zero_point; }
Tensor q_per_channel_scales(const Tensor& self) { return copy_of(by_channel(self, "q_per_channel_scales").scales); }
Tensor q_per_channel_zero_points(const Tensor& self) {
  return copy_of(by_channel(self, "q_per_channel_zero_points").zero_points);
}

Tensor sconce_row_scales(const Tensor& self, int64_t axis) {
  const Quantizer& q = quantizer_of(quantised(self, "row_scales"));
  if (q.per_channel()) return to_dtype(copy_of(q.scales), DType::float64);
  const Tensor out = empty_tensor({self.size(axis)}, DType::float64);
  std::fill_n(out.data<double>(), out.numel(), q.scale);
  return out;
}
Tensor sconce_row_zero_points(const Tensor& self, int64_t axis) {
  const Quantizer& q = quantizer_of(quantised(self, "row_zero_points"));
  if (q.per_channel()) return to_dtype(copy_of(q.zero_points), DType::float64);
  const Tensor out = empty_tensor({self.size(axis)}, DType::float64);
  std::fill_n(out.data<double>(), out.numel(), static_cast<double>(q.zero_point));
  return out;
}

int64_t q_per_channel_axis(const Tensor& self) { return by_channel(self, "q_per_channel_axis").axis; }

}  // namespace sconce::cpu
