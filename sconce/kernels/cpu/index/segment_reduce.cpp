// segment_reduce: neighbouring slices along an axis combined, segment by segment. Segments are given by their lengths
// or by where they start (offsets, one more than segments).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/histogram_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

enum class Reduce { sum, mean, max, min, prod };

Reduce reduce_named(std::string_view name) {
  if (name == "sum") return Reduce::sum;
  if (name == "mean") return Reduce::mean;
  if (name == "max" || name == "amax") return Reduce::max;
  if (name == "min" || name == "amin") return Reduce::min;
  if (name == "prod") return Reduce::prod;
  fail("reduce argument must be either sum, prod, mean, amax or amin, got {}", name);
}

double start_of(Reduce reduce, std::optional<Scalar> initial) {
  if (initial) return initial->to_double();
  constexpr double inf = std::numeric_limits<double>::infinity();
  return reduce == Reduce::prod ? 1 : reduce == Reduce::max ? -inf : reduce == Reduce::min ? inf : 0;
}

int64_t checked_axis(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis) {
  axis = wrap_dim(axis, data.dim());
  SCONCE_CHECK(lengths.defined() || offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor& given = offsets.defined() ? offsets : lengths;
  const char* name = offsets.defined() ? "offsets" : "lengths";
  SCONCE_CHECK(given.dim() >= 1 && axis == given.dim() - 1,
               "segment_reduce(): Expected axis to be the last dimension of {} but got {}.", name, axis);
  SCONCE_CHECK(data.dim() >= given.dim(), "segment_reduce(): {} has {} dimensions, more than data's {}", name,
               given.dim(), data.dim());
  SCONCE_CHECK_AS(not_implemented, given.dtype() == DType::int64 || given.dtype() == DType::int32,
                  "\"segment_reduce\" not implemented for {} of '{}'", name, dtype_legacy_name(given.dtype()));
  for (int64_t d = 0; d < axis; ++d) {
    SCONCE_CHECK(data.sizes()[static_cast<size_t>(d)] == given.sizes()[static_cast<size_t>(d)],
                 "segment_reduce(): {} is {}, but data is {}", name, given.sizes(), data.sizes());
  }
  SCONCE_CHECK(!offsets.defined() || offsets.sizes().back() >= 1,
               "segment_reduce(): offsets needs at least one element along axis");
  return axis;
}

Dims result_sizes(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis) {
  Dims sizes(data.sizes());
  sizes[static_cast<size_t>(axis)] = offsets.defined() ? offsets.sizes().back() - 1 : lengths.sizes().back();
  return sizes;
}

// data as [outer, n, inner], and where the segments of each outer index start.
struct Segments {
  int64_t outer = 1, n, inner = 1, count;
  std::vector<int64_t> starts;  // [outer, count + 1]

  Segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis, bool unsafe) {
    for (int64_t d = 0; d < data.dim(); ++d) {
      if (d < axis) outer *= data.sizes()[static_cast<size_t>(d)];
      if (d > axis) inner *= data.sizes()[static_cast<size_t>(d)];
    }
    n = data.sizes()[static_cast<size_t>(axis)];
    const Tensor given = contiguous_tensor(to_dtype(offsets.defined() ? offsets : lengths, DType::int64));
    const int64_t* from = given.data<int64_t>();
    count = given.sizes().back() - offsets.defined();
    for (int64_t o = 0; o < outer; ++o) {
      int64_t at = 0;
      if (offsets.defined()) {
        for (int64_t i = 0; i <= count; ++i) {
          const int64_t start = *from++;
          SCONCE_CHECK(start >= at && start <= n, "segment_reduce(): offsets must ascend from 0 to at most {}, got {}",
                       n, start);
          starts.push_back(at = start);
        }
        continue;
      }
      starts.push_back(0);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t length = *from++;
        SCONCE_CHECK(length >= 0, "lengths contains negative value! ({})", length);
        SCONCE_CHECK(length <= n - at,
                     "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                     "when !unsafe: more than {}",
                     n);
        starts.push_back(at += length);
      }
      SCONCE_CHECK(unsafe || at == n,
                   "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                   "when !unsafe: {} of {}",
                   at, n);
    }
  }
  int64_t begin(int64_t o, int64_t s) const { return starts[static_cast<size_t>(o * (count + 1) + s)]; }
  int64_t end(int64_t o, int64_t s) const { return begin(o, s + 1); }
};

void check_floating(const Tensor& data) {
  SCONCE_CHECK_AS(not_implemented, is_floating(data.dtype()), "\"_segment_reduce_cpu\" not implemented for '{}'",
                  dtype_legacy_name(data.dtype()));
}
DType compute_of(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

// One column: eight partial results, so that an addition need not wait for the one before.
template <class T, class Combine>
T reduce_column(const T* x, int64_t n, T start, T neutral, Combine combine) {
  T part[8];
  std::fill(part, part + 8, neutral);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) part[k] = combine(part[k], x[i + k]);
  }
  for (; i < n; ++i) part[0] = combine(part[0], x[i]);
  for (T p : part) start = combine(start, p);
  return start;
}

template <class T>
void reduce_segment(Reduce reduce, const T* x, int64_t length, int64_t inner, T start, bool has_start, T* out) {
  std::fill(out, out + inner, start);
  const auto each = [&](auto combine) {
    if (inner == 1) {
      *out = reduce_column(x, length, start, static_cast<T>(start_of(reduce, {})), combine);
      return;
    }
    for (int64_t i = 0; i < length; ++i, x += inner) {
      for (int64_t k = 0; k < inner; ++k) out[k] = combine(out[k], x[k]);
    }
  };
  switch (reduce) {
    case Reduce::max:
      return each([](T a, T b) { return a != a || a > b ? a : b; });
    case Reduce::min:
      return each([](T a, T b) { return a != a || a < b ? a : b; });
    case Reduce::prod:
      return each([](T a, T b) { return a * b; });
    default:
      each([](T a, T b) { return a + b; });
  }
  if (reduce != Reduce::mean) return;
  if (length == 0 && !has_start) std::fill(out, out + inner, std::numeric_limits<T>::quiet_NaN());
  if (length > 0) {
    for (int64_t k = 0; k < inner; ++k) out[k] /= static_cast<T>(length);
  }
}

// One column of a segment: elements are `inner` apart.
template <class T>
void reduce_segment_backward(Reduce reduce, T grad, T result, const T* x, int64_t length, int64_t inner, T start,
                             T* out) {
  const auto exclusive = [&](int64_t i) {
    T product = start;
    for (int64_t k = 0; k < length; ++k) {
      if (k != i) product *= x[k * inner];
    }
    return product;
  };
  int64_t chosen = 0;
  for (int64_t i = 0; i < length; ++i) {
    const T v = x[i * inner];
    T& to = out[i * inner];
    switch (reduce) {
      case Reduce::sum:
        to = grad;
        break;
      case Reduce::mean:
        to = grad / static_cast<T>(length);
        break;
      case Reduce::prod:
        to = v == 0 || v != v ? grad * exclusive(i) : grad * result / v;
        break;
      default:
        if (v != v || v == result) to = grad, ++chosen;
    }
  }
  if (chosen < 2) return;
  // As PyTorch has it, only positive gradients are shared among equal elements.
  for (int64_t i = 0; i < length; ++i) {
    if (out[i * inner] > 0) out[i * inner] /= static_cast<T>(chosen);
  }
}

}  // namespace

namespace cpu {

void segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor&,
                    const Tensor& offsets, int64_t axis, bool unsafe, std::optional<Scalar> initial,
                    const Tensor& out) {
  axis = wrap_dim(axis, data.dim());
  const Segments segments(data, lengths, offsets, axis, unsafe);
  const Reduce kind = reduce_named(reduce);
  const DType compute = compute_of(data);
  const Tensor x = contiguous_tensor(to_dtype(data, compute));
  const Tensor y = out.dtype() == compute ? out : empty_tensor(out.sizes(), compute);
  for_float(compute, [&]<class T>() {
    const auto start = static_cast<T>(start_of(kind, initial));
    parallel_for(segments.outer * segments.count,
                 std::max<int64_t>(1, 16384 * segments.count / std::max<int64_t>(1, segments.n * segments.inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t o = i / segments.count, s = i % segments.count, from = segments.begin(o, s);
                     reduce_segment(kind, x.data<T>() + (o * segments.n + from) * segments.inner,
                                    segments.end(o, s) - from, segments.inner, start, initial.has_value(),
                                    y.data<T>() + i * segments.inner);
                   }
                 });
  });
  if (!y.is_same(out)) copy_tensor(out, y);
}

void _segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data, std::string_view reduce,
                              const Tensor& lengths, const Tensor& offsets, int64_t axis, std::optional<Scalar> initial,
                              const Tensor& out) {
  axis = wrap_dim(axis, data.dim());
  const Segments segments(data, lengths, offsets, axis, true);
  const Reduce kind = reduce_named(reduce);
  const DType compute = compute_of(data);
  const auto as = [&](const Tensor& t) { return contiguous_tensor(to_dtype(t, compute)); };
  const Tensor x = as(data), g = as(grad), r = as(output);
  const Tensor y = out.dtype() == compute ? out : empty_tensor(out.sizes(), compute);
  fill_tensor(y, 0);
  for_float(compute, [&]<class T>() {
    const auto start = static_cast<T>(start_of(Reduce::prod, initial));
    parallel_for(segments.outer * segments.count, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / segments.count, s = i % segments.count, from = segments.begin(o, s),
                      at = (o * segments.n + from) * segments.inner;
        for (int64_t k = 0; k < segments.inner; ++k)
          reduce_segment_backward(kind, g.data<T>()[i * segments.inner + k], r.data<T>()[i * segments.inner + k],
                                  x.data<T>() + at + k, segments.end(o, s) - from, segments.inner, start,
                                  y.data<T>() + at + k);
      }
    });
  });
  if (!y.is_same(out)) copy_tensor(out, y);
}

}  // namespace cpu

namespace any_device {

OutSpec segment_reduce_spec(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor& indices,
                            const Tensor& offsets, int64_t axis, bool, std::optional<Scalar>) {
  SCONCE_CHECK(data.numel() >= 0 && data.dim() >= 1, "segment_reduce(): data needs at least one dimension");
  SCONCE_CHECK(!indices.defined(), "segment_reduce(): indices based reduction is not supported yet.");
  reduce_named(reduce);
  check_floating(data);
  axis = checked_axis(data, lengths, offsets, axis);
  return {result_sizes(data, lengths, offsets, axis), data.dtype()};
}

OutSpec _segment_reduce_backward_spec(const Tensor& grad, const Tensor& output, const Tensor& data,
                                      std::string_view reduce, const Tensor& lengths, const Tensor& offsets,
                                      int64_t axis, std::optional<Scalar>) {
  reduce_named(reduce);
  check_floating(data);
  axis = checked_axis(data, lengths, offsets, axis);
  const Dims sizes = result_sizes(data, lengths, offsets, axis);
  SCONCE_CHECK(grad.sizes() == IntList(sizes) && output.sizes() == IntList(sizes),
               "_segment_reduce_backward: grad {} and output {} must be {}", grad.sizes(), output.sizes(), sizes);
  return {Dims(data.sizes()), data.dtype()};
}

}  // namespace any_device
}  // namespace sconce
