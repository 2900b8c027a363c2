#include "sconce/kernels/cpu/pool/pool_geometry.h"

#include "sconce/base/checked.h"
#include "sconce/base/error.h"

namespace sconce {
namespace {

int64_t pooled_size(const PoolAxis& a, bool ceil_mode) {
  const int64_t span =
      a.in + Checked(2) * a.padding - Checked(a.dilation) * (a.kernel - 1) - 1 + (ceil_mode ? a.stride - 1 : 0);
  int64_t out = (span >= 0 ? span / a.stride : -((-span + a.stride - 1) / a.stride)) + 1;
  if (ceil_mode && (out - 1) * a.stride >= a.in + a.padding) --out;  // the last window must start inside
  return out;
}

}  // namespace

int64_t pool_value(IntList list, int rank, int i, const char* name) {
  SCONCE_CHECK(list.size() == 1 || list.size() == static_cast<size_t>(rank),
               "{} must either be a single int, or a list of {} ints, got {}", name, rank, list);
  return list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
}

Pool window_pool(const Tensor& self, int rank, IntList kernel, IntList stride, IntList padding, IntList dilation,
                 bool ceil_mode) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "Expected {}D or {}D (batch mode) tensor, got {}",
               rank + 1, rank + 2, self.sizes());
  for (int64_t d = self.dim() == rank + 2 ? 1 : 0; d < self.dim(); ++d) {
    SCONCE_CHECK(self.size(d) > 0, "Expected tensor to have non-zero size for non-batch dimensions, got {}",
                 self.sizes());
  }
  constexpr int64_t limit = int64_t{1} << 30;  // keeps what windows reach over inside int64
  Pool p;
  p.rank = rank;
  for (int i = 0; i < rank; ++i) {
    PoolAxis& a = p.axis[3 - rank + i];
    a.in = self.size(self.dim() - rank + i);
    a.kernel = pool_value(kernel, rank, i, "kernel_size");
    a.stride = stride.empty() ? a.kernel : pool_value(stride, rank, i, "stride");
    a.padding = pool_value(padding, rank, i, "padding");
    a.dilation = pool_value(dilation, rank, i, "dilation");
    SCONCE_CHECK(a.kernel > 0, "kernel size should be greater than zero, but got {}", kernel);
    SCONCE_CHECK(a.stride > 0, "stride should be greater than zero, but got {}", stride);
    SCONCE_CHECK(a.dilation > 0, "dilation should be greater than zero, but got {}", dilation);
    SCONCE_CHECK(a.kernel < limit && a.stride < limit && a.dilation < limit,
                 "kernel_size, stride and dilation must be below 2^30, got {}, {} and {}", a.kernel, a.stride,
                 a.dilation);
    SCONCE_CHECK(a.padding >= 0 && a.padding <= ((a.kernel - 1) * Checked(a.dilation) + 1) / 2,
                 "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}",
                 a.padding, a.kernel, a.dilation);
    a.out = pooled_size(a, ceil_mode);
    SCONCE_CHECK(a.out > 0, "Given input size {}, the calculated output size is too small", self.sizes());
  }
  return p;
}

Pool adaptive_pool(const Tensor& self, int rank, IntList output_size) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "Expected {}D or {}D tensor, but got {}", rank + 1,
               rank + 2, self.sizes());
  Pool p;
  p.rank = rank;
  for (int i = 0; i < rank; ++i) {
    PoolAxis& a = p.axis[3 - rank + i];
    a.in = self.size(self.dim() - rank + i);
    a.out = pool_value(output_size, rank, i, "output_size");
    a.adaptive = true;
    SCONCE_CHECK(a.out >= 0, "elements of output_size must be greater than or equal to 0, got {}", output_size);
    SCONCE_CHECK(a.in > 0, "Expected input to have non-zero size for non-batch dimensions, but input has sizes {}",
                 self.sizes());
  }
  return p;
}

OutSpec pooled_spec(const Tensor& self, const Pool& p, PoolFormat format) {
  OutSpec spec{Dims(self.sizes()), self.dtype(), suggested_format(self)};
  if (self.dim() != p.rank + 2 || format == PoolFormat::contiguous) spec.format = MemoryFormat::contiguous;
  for (int i = 0; i < p.rank; ++i) {
    spec.sizes[static_cast<size_t>(self.dim() - p.rank + i)] = p.axis[3 - p.rank + i].out;
  }
  return spec;
}

std::array<OutSpec, 2> max_pooled_specs(const Tensor& self, const Pool& p, PoolFormat format) {
  OutSpec values = pooled_spec(self, p, format), indices = values;
  indices.dtype = DType::int64;
  return {values, indices};
}

void check_pool_dtype(const Tensor& t, PoolTypes types, const char* name) {
  const DType d = t.dtype();
  bool fits = is_floating(d);
  if (types == PoolTypes::floats_and_int64) fits = fits || d == DType::int64;
  if (types == PoolTypes::full_floats_and_int64) fits = d == DType::float32 || d == DType::float64 || d == DType::int64;
  if (types == PoolTypes::numbers) fits = fits || (is_integral(d) && d != DType::bool_);
  SCONCE_CHECK_AS(not_implemented, fits, "\"{}\" not implemented for '{}'", name, dtype_legacy_name(d));
}

}  // namespace sconce
