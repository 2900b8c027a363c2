// Max and average pooling over 1 to 3 spatial dimensions. One walk over windows serves them all; only what happens inside a
// window differs. Planes are read with the tensor's own strides; where channels are innermost, they are the inner loop.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

// One spatial dimension: sizes, and the window of output i as [begin, end) with `padded_end` before it is cut at the border.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;

  int64_t begin(int64_t i) const { return adaptive ? i * in / out : i * stride - padding; }
  int64_t end(int64_t i) const {
    return adaptive ? ((i + 1) * in + out - 1) / out : begin(i) + (kernel - 1) * dilation + 1;
  }
};

struct Pool {
  Axis axis[3];
  int rank = 2;  // spatial; unused leading axes have size 1
};

int64_t value_at(IntList list, int rank, int i, const char* name) {
  SCONCE_CHECK(list.size() == 1 || list.size() == static_cast<size_t>(rank), "{} must either be a single int, or a list of {} ints, got {}",
               name, rank, list);
  return list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
}

int64_t pooled_size(const Axis& a, bool ceil_mode) {
  const int64_t span = a.in + 2 * a.padding - a.dilation * (a.kernel - 1) - 1 + (ceil_mode ? a.stride - 1 : 0);
  int64_t out = (span >= 0 ? span / a.stride : -((-span + a.stride - 1) / a.stride)) + 1;
  if (ceil_mode && (out - 1) * a.stride >= a.in + a.padding) --out;  // the last window must start inside
  return out;
}

Pool window_pool(const Tensor& self, int rank, IntList kernel, IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "Expected {}D or {}D (batch mode) tensor, got {}", rank + 1,
               rank + 2, self.sizes());
  for (int64_t d = self.dim() - rank - (self.dim() == rank + 2 ? 1 : 0); d < self.dim(); ++d) {
    SCONCE_CHECK(self.size(d) > 0, "Expected tensor to have non-zero size for non-batch dimensions, got {}", self.sizes());
  }
  Pool p;
  p.rank = rank;
  for (int i = 0; i < rank; ++i) {
    Axis& a = p.axis[3 - rank + i];
    a.in = self.size(self.dim() - rank + i);
    a.kernel = value_at(kernel, rank, i, "kernel_size");
    a.stride = stride.empty() ? a.kernel : value_at(stride, rank, i, "stride");
    a.padding = value_at(padding, rank, i, "padding");
    a.dilation = value_at(dilation, rank, i, "dilation");
    SCONCE_CHECK(a.kernel > 0, "kernel size should be greater than zero, but got {}", kernel);
    SCONCE_CHECK(a.stride > 0, "stride should be greater than zero, but got {}", stride);
    SCONCE_CHECK(a.dilation > 0, "dilation should be greater than zero, but got {}", dilation);
    SCONCE_CHECK(a.padding >= 0 && a.padding <= ((a.kernel - 1) * a.dilation + 1) / 2,
                 "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}", a.padding,
                 a.kernel, a.dilation);
    a.out = pooled_size(a, ceil_mode);
    SCONCE_CHECK(a.out > 0, "Given input size {}, the calculated output size is too small", self.sizes());
  }
  return p;
}

Pool adaptive_pool(const Tensor& self, int rank, IntList output_size) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "Expected {}D or {}D tensor, but got {}", rank + 1, rank + 2,
               self.sizes());
  Pool p;
  p.rank = rank;
  for (int i = 0; i < rank; ++i) {
    Axis& a = p.axis[3 - rank + i];
    a.in = self.size(self.dim() - rank + i);
    a.out = value_at(output_size, rank, i, "output_size");
    a.adaptive = true;
    SCONCE_CHECK(a.out >= 0, "elements of output_size must be greater than or equal to 0, got {}", output_size);
    SCONCE_CHECK(a.in > 0, "Expected input to have non-zero size for non-batch dimensions, but input has sizes {}", self.sizes());
  }
  return p;
}

OutSpec pooled_spec(const Tensor& self, const Pool& p) {
  OutSpec spec{Dims(self.sizes()), self.dtype(), suggested_format(self)};
  if (self.dim() != p.rank + 2) spec.format = MemoryFormat::contiguous;
  for (int i = 0; i < p.rank; ++i) spec.sizes[static_cast<size_t>(self.dim() - p.rank + i)] = p.axis[3 - p.rank + i].out;
  return spec;
}

// A tensor as [batch, channels, 3 spatial dimensions].
struct Planes {
  int64_t batch, channels, stride_batch, stride_channel, stride[3];
};
Planes planes_of(const Tensor& t, int rank) {
  Planes p{1, t.size(t.dim() - rank - 1), 0, t.strides()[t.dim() - rank - 1], {0, 0, 0}};
  if (t.dim() == rank + 2) {
    p.batch = t.size(0);
    p.stride_batch = t.strides()[0];
  }
  for (int i = 0; i < rank; ++i) p.stride[3 - rank + i] = t.strides()[t.dim() - rank + i];
  return p;
}

struct Window {
  int64_t begin[3], end[3];
  int64_t padded = 1;  // elements with the border
  int64_t inside = 1;  // without
};
Window window_at(const Pool& p, const int64_t* at) {
  Window w;
  for (int d = 0; d < 3; ++d) {
    const Axis& a = p.axis[d];
    w.begin[d] = a.begin(at[d]);
    const int64_t end = a.end(at[d]);
    w.padded *= std::min(end, a.in + a.padding) - w.begin[d];
    while (w.begin[d] < 0) w.begin[d] += a.dilation;
    w.end[d] = std::min(end, a.in);
    w.inside *= w.end[d] - w.begin[d];
  }
  return w;
}

// Calls f(batch, output position, window) for every window; batches and positions are split over threads.
template <class F>
void for_each_window(const Pool& p, int64_t batch, F&& f) {
  const int64_t positions = p.axis[0].out * p.axis[1].out * p.axis[2].out;
  parallel_for(batch * positions, 64, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t position = i % positions;
      const int64_t at[3] = {position / (p.axis[1].out * p.axis[2].out), position / p.axis[2].out % p.axis[1].out,
                             position % p.axis[2].out};
      f(i / positions, at, window_at(p, at));
    }
  });
}

template <class T>
void max_pool(const Pool& p, const Tensor& self, const Tensor& values, const Tensor& indices) {
  const Planes in = planes_of(self, p.rank), out = planes_of(values, p.rank), place = planes_of(indices, p.rank);
  const T* x = self.data<T>();
  T* y = values.data<T>();
  auto* where = indices.data<int64_t>();
  for_each_window(p, in.batch, [&](int64_t n, const int64_t* at, const Window& w) {
    int64_t to = n * out.stride_batch, to_place = n * place.stride_batch;
    for (int d = 0; d < 3; ++d) {
      to += at[d] * out.stride[d];
      to_place += at[d] * place.stride[d];
    }
    const int64_t first = (w.begin[0] * p.axis[1].in + w.begin[1]) * p.axis[2].in + w.begin[2];
    for (int64_t c = 0; c < in.channels; ++c) {
      y[to + c * out.stride_channel] = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      where[to_place + c * place.stride_channel] = first;
    }
    for (int64_t d = w.begin[0]; d < w.end[0]; d += p.axis[0].dilation) {
      for (int64_t h = w.begin[1]; h < w.end[1]; h += p.axis[1].dilation) {
        for (int64_t v = w.begin[2]; v < w.end[2]; v += p.axis[2].dilation) {
          const int64_t index = (d * p.axis[1].in + h) * p.axis[2].in + v;
          const T* from = x + n * in.stride_batch + d * in.stride[0] + h * in.stride[1] + v * in.stride[2];
          for (int64_t c = 0; c < in.channels; ++c) {
            const T value = from[c * in.stride_channel];
            T& best = y[to + c * out.stride_channel];
            if (value > best || value != value) {  // the last NaN wins, as in PyTorch
              best = value;
              where[to_place + c * place.stride_channel] = index;
            }
          }
        }
      }
    }
  });
}

template <class T>
void average_pool(const Pool& p, const Tensor& self, const Tensor& result, bool count_padding, std::optional<int64_t> divisor) {
  const Planes in = planes_of(self, p.rank), out = planes_of(result, p.rank);
  const T* x = self.data<T>();
  T* y = result.data<T>();
  for_each_window(p, in.batch, [&](int64_t n, const int64_t* at, const Window& w) {
    int64_t to = n * out.stride_batch;
    for (int d = 0; d < 3; ++d) to += at[d] * out.stride[d];
    for (int64_t c = 0; c < in.channels; ++c) y[to + c * out.stride_channel] = 0;
    for (int64_t d = w.begin[0]; d < w.end[0]; ++d) {
      for (int64_t h = w.begin[1]; h < w.end[1]; ++h) {
        for (int64_t v = w.begin[2]; v < w.end[2]; ++v) {
          const T* from = x + n * in.stride_batch + d * in.stride[0] + h * in.stride[1] + v * in.stride[2];
          for (int64_t c = 0; c < in.channels; ++c) y[to + c * out.stride_channel] += from[c * in.stride_channel];
        }
      }
    }
    const T count = static_cast<T>(divisor ? *divisor : count_padding ? w.padded : w.inside);
    for (int64_t c = 0; c < in.channels; ++c) y[to + c * out.stride_channel] /= count;
  });
}

// Runs f<T>(input, output) in float32, float64 or int64, whichever holds the dtype; others are converted there and back.
template <class F>
void compute(const Tensor& self, const Tensor& out, const char* name, F&& f) {
  const DType t = self.dtype();
  SCONCE_CHECK_AS(not_implemented, t != DType::bool_ && !is_complex(t), "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t));
  const DType wide = is_reduced_float(t) ? DType::float32 : is_integral(t) ? DType::int64 : t;
  const Tensor x = to_dtype(self, wide);
  const Tensor y = wide == t ? out : empty_strided_tensor(out.sizes(), out.strides(), wide);
  if (wide == DType::float32) {
    f.template operator()<float>(x, y);
  } else if (wide == DType::float64) {
    f.template operator()<double>(x, y);
  } else {
    f.template operator()<int64_t>(x, y);
  }
  if (!y.is_same(out)) copy_tensor(out, y);
}

void run_max(const Pool& p, const Tensor& self, const Tensor& values, const Tensor& indices) {
  compute(self, values, "max_pool", [&]<class T>(const Tensor& x, const Tensor& y) { max_pool<T>(p, x, y, indices); });
}

void run_average(const Pool& p, const Tensor& self, const Tensor& out, bool count_padding, std::optional<int64_t> divisor = {}) {
  SCONCE_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  compute(self, out, "avg_pool", [&]<class T>(const Tensor& x, const Tensor& y) { average_pool<T>(p, x, y, count_padding, divisor); });
}

std::array<OutSpec, 2> max_specs(const Tensor& self, const Pool& p) {
  OutSpec values = pooled_spec(self, p), indices = values;
  indices.dtype = DType::int64;
  return {values, indices};
}

constexpr int64_t kOne = 1;
constexpr IntList kNoDilation(&kOne, 1);

}  // namespace

#define SCONCE_MAX_POOL(n)                                                                                                  \
  namespace any_device {                                                                                                    \
  std::array<OutSpec, 2> max_pool##n##d_with_indices_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, \
                                                          IntList dilation, bool ceil_mode) {                               \
    return max_specs(self, window_pool(self, n, kernel, stride, padding, dilation, ceil_mode));                             \
  }                                                                                                                         \
  }                                                                                                                         \
  namespace cpu {                                                                                                           \
  void max_pool##n##d_with_indices(const Tensor& self, IntList kernel, IntList stride, IntList padding, IntList dilation,     \
                                   bool ceil_mode, const Tensor& out0, const Tensor& out1) {                                \
    run_max(window_pool(self, n, kernel, stride, padding, dilation, ceil_mode), self, out0, out1);                          \
  }                                                                                                                         \
  }
SCONCE_MAX_POOL(1)
SCONCE_MAX_POOL(2)
SCONCE_MAX_POOL(3)
#undef SCONCE_MAX_POOL

namespace any_device {

OutSpec avg_pool1d_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool) {
  return pooled_spec(self, window_pool(self, 1, kernel, stride, padding, kNoDilation, ceil_mode));
}
OutSpec avg_pool2d_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool,
                        std::optional<int64_t>) {
  return pooled_spec(self, window_pool(self, 2, kernel, stride, padding, kNoDilation, ceil_mode));
}
OutSpec avg_pool3d_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool,
                        std::optional<int64_t>) {
  return pooled_spec(self, window_pool(self, 3, kernel, stride, padding, kNoDilation, ceil_mode));
}
OutSpec adaptive_avg_pool1d_spec(const Tensor& self, IntList output_size) {
  return pooled_spec(self, adaptive_pool(self, 1, output_size));
}
OutSpec _adaptive_avg_pool2d_spec(const Tensor& self, IntList output_size) {
  return pooled_spec(self, adaptive_pool(self, 2, output_size));
}
OutSpec _adaptive_avg_pool3d_spec(const Tensor& self, IntList output_size) {
  return pooled_spec(self, adaptive_pool(self, 3, output_size));
}

}  // namespace any_device

namespace cpu {

void avg_pool1d(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                const Tensor& out) {
  run_average(window_pool(self, 1, kernel, stride, padding, kNoDilation, ceil_mode), self, out, count_include_pad);
}
void avg_pool2d(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor, const Tensor& out) {
  run_average(window_pool(self, 2, kernel, stride, padding, kNoDilation, ceil_mode), self, out, count_include_pad, divisor);
}
void avg_pool3d(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor, const Tensor& out) {
  run_average(window_pool(self, 3, kernel, stride, padding, kNoDilation, ceil_mode), self, out, count_include_pad, divisor);
}
void adaptive_avg_pool1d(const Tensor& self, IntList output_size, const Tensor& out) {
  run_average(adaptive_pool(self, 1, output_size), self, out, false);
}
void _adaptive_avg_pool2d(const Tensor& self, IntList output_size, const Tensor& out) {
  run_average(adaptive_pool(self, 2, output_size), self, out, false);
}
void _adaptive_avg_pool3d(const Tensor& self, IntList output_size, const Tensor& out) {
  run_average(adaptive_pool(self, 3, output_size), self, out, false);
}

}  // namespace cpu
}  // namespace sconce
