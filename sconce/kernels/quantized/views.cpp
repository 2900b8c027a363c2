// Views of quantised tensors. With one scale they are those of any tensor; with one per channel the view has the scales
// of the channels that it shows, where that can be said.
#include "sconce/base/error.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/tensor/strides.h"

namespace sconce::quantized {
namespace {

// The same quantizer for channels [start, start + n * step) of dimension `axis`.
QuantizerPtr with_channels(const Quantizer& q, const Tensor& scales, const Tensor& zero_points, int64_t axis) {
  auto out = std::make_shared<Quantizer>(q);
  out->scales = scales;
  out->zero_points = zero_points;
  out->axis = axis;
  return out;
}

QuantizerPtr with_axis(const Quantizer& q, int64_t axis) { return with_channels(q, q.scales, q.zero_points, axis); }

// Where the axis is after the dimensions of size 1 among `dims` are gone. Throws Error when it is one of them.
int64_t axis_after_squeeze(const Tensor& self, int64_t axis, IntList dims) {
  int64_t before = 0;
  for (int64_t d : dims) {
    d = wrap_dim(d, self.dim());
    if (self.sizes()[static_cast<size_t>(d)] != 1) continue;
    SCONCE_CHECK(d != axis, "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors.");
    before += d < axis;
  }
  return axis - before;
}

Dims all_dims(const Tensor& self) {
  Dims dims;
  for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

Tensor reshape(const Tensor& self, IntList shape) {
  const Quantizer& q = quantizer_of(self);
  const Dims sizes = infer_size(shape, self.numel());
  if (view_strides(self.sizes(), self.strides(), sizes)) return any_device::view(self, sizes);
  SCONCE_CHECK(!q.per_channel(), "Setting strides is possible only on uniformly quantized tensor");
  return any_device::view(contiguous_quantized(self, MemoryFormat::contiguous), sizes);
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const Quantizer& q = quantizer_of(self);
  if (!q.per_channel()) return any_device::unsqueeze(self, dim);
  const int64_t at = wrap_dim(dim, self.dim() + 1);
  return make_quantized(any_device::unsqueeze(stored_integers(self), dim), with_axis(q, q.axis + (at <= q.axis)));
}

Tensor squeeze_dims(const Tensor& self, IntList dim) {
  const Quantizer& q = quantizer_of(self);
  if (!q.per_channel()) return any_device::squeeze_dims(self, dim);
  return make_quantized(any_device::squeeze_dims(stored_integers(self), dim),
                        with_axis(q, axis_after_squeeze(self, q.axis, dim)));
}

Tensor squeeze(const Tensor& self) { return squeeze_dims(self, all_dims(self)); }

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return any_device::squeeze_dim(self, dim);
  return squeeze_dims(self, {dim});
}

Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  const Quantizer& q = quantizer_of(self);
  if (!q.per_channel()) return any_device::slice_Tensor(self, dim, start, end, step);
  const Tensor part = any_device::slice_Tensor(stored_integers(self), dim, start, end, step);
  if (wrap_dim(dim, self.dim()) != q.axis) return make_quantized(part, quantizer_pointer(self));
  const auto of_channels = [&](const Tensor& t) {
    return contiguous_tensor(any_device::slice_Tensor(t, 0, start, end, step));
  };
  return make_quantized(part, with_channels(q, of_channels(q.scales), of_channels(q.zero_points), q.axis));
}

Tensor select_int(const Tensor& self, int64_t dim, int64_t index) {
  const Quantizer& q = quantizer_of(self);
  if (!q.per_channel()) return any_device::select_int(self, dim, index);
  const Tensor part = any_device::select_int(stored_integers(self), dim, index);
  const int64_t at = wrap_dim(dim, self.dim());
  if (at != q.axis) return make_quantized(part, with_axis(q, q.axis - (at < q.axis)));
  SCONCE_CHECK(q.scheme == QScheme::per_channel_affine,
               "a channel of a tensor with zero points of floats is no tensor with one scale");
  const int64_t channel = index < 0 ? index + q.scales.numel() : index;
  return make_quantized(part,
                        per_tensor_quantizer(q.scales.data<double>()[channel], q.zero_points.data<int64_t>()[channel]));
}

}  // namespace sconce::quantized
