// histc, histogram and histogramdd: points counted, or their weights added up, in bins along each coordinate. A bin
// holds its left edge, the last one also its right edge; points outside and NaN are in none.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/histogram_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/order/weight_parts.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace cpu {
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory);
}

namespace {

using Range = std::optional<ListRef<double>>;

enum class Search {
  edges,
  even,
  even_exact
};  // by the edges; by the width of a bin; the latter, checked with the edges

struct Axis {
  Tensor edges;  // in the compute dtype
  int64_t bins() const { return edges.numel() - 1; }
};

// Rounds to a 16-bit float after each step, as PyTorch's arithmetic on those does.
enum class Rounding { none, half, bfloat };
template <Rounding how, class T>
T rounded(T x) {
  if constexpr (how == Rounding::half) return to_float(to_half(x));
  if constexpr (how == Rounding::bfloat) return to_float(to_bfloat16(x));
  return x;
}

// The bin of x, or -1.
template <class T, Search search, Rounding how = Rounding::none>
struct Binner {
  const T* edges;
  int64_t bins;
  T low, high, span, scale;

  explicit Binner(const Axis& axis) : edges(axis.edges.data<T>()), bins(axis.bins()) {
    low = edges[0];
    high = edges[bins];
    span = rounded<how>(high - low);
    scale = rounded<how>(static_cast<T>(bins));
  }
  int64_t operator()(T x) const {
    if (!(x >= low && x <= high)) return -1;
    int64_t at;
    if constexpr (search == Search::edges) {
      at = std::upper_bound(edges, edges + bins + 1, x) - edges - 1;
    } else {
      // Distances of huge numbers are infinite, and NaN once divided.
      const T guess = rounded<how>(rounded<how>(rounded<how>(x - low) * scale) / span);
      at = !(guess > 0) ? 0 : guess >= static_cast<T>(bins) ? bins : static_cast<int64_t>(guess);
      if constexpr (search == Search::even_exact) {
        const int64_t from = std::max<int64_t>(0, at - 1), to = std::min(at + 2, bins + 1);
        at = std::upper_bound(edges + from, edges + to, x) - edges - 1;
      }
    }
    return at >= bins ? bins - 1 : at;
  }
};

SCONCE_VARIANT(several_parts, "histogram.parts", "65,536 points or more, with weights or threads");
SCONCE_VARIANT(one_axis, "histogram.one_axis", "points of one number, without weights");

// Adds the weights (1 where there are none) of all points to `total`, one number per bin.
template <class T, class Bin>
void count_points(const T* points, int64_t n, const std::vector<Bin>& axes, const T* weights,
                  std::vector<double>& total) {
  const auto width = static_cast<int64_t>(axes.size());
  // Where weights are cut decides the order of their sums, so the number of threads has no say in it.
  const int64_t shares = weights ? kWeightParts : num_threads();
  const int64_t parts = std::clamp<int64_t>(n / 32768, 1, shares), part = (n + parts - 1) / parts;
  several_parts(parts > 1);
  std::vector<std::vector<double>> sums(static_cast<size_t>(parts));
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t from = p * part, to = std::min(n, (p + 1) * part);
      std::vector<double>& sum = sums[static_cast<size_t>(p)];
      sum.assign(total.size() + 1, 0);  // the first place is for points outside
      if (one_axis(width == 1 && !weights)) {
        const Bin& axis = axes[0];
        for (int64_t i = from; i < to; ++i) sum[static_cast<size_t>(axis(points[i]) + 1)] += 1;
        continue;
      }
      for (int64_t i = from; i < to; ++i) {
        int64_t at = 0;
        bool inside = true;
        for (int64_t d = 0; d < width; ++d) {
          const int64_t bin = axes[static_cast<size_t>(d)](points[i * width + d]);
          inside = inside && bin >= 0;
          at = at * axes[static_cast<size_t>(d)].bins + bin;
        }
        if (inside) sum[static_cast<size_t>(at + 1)] += weights ? static_cast<double>(weights[i]) : 1;
      }
    }
  });
  for (const std::vector<double>& sum : sums) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += sum[i + 1];
  }
}

template <class T, Search search, Rounding how = Rounding::none>
void count_with(const Tensor& points, int64_t n, const std::vector<Axis>& axes, const Tensor& weights,
                std::vector<double>& total) {
  std::vector<Binner<T, search, how>> bins;
  for (const Axis& axis : axes) bins.emplace_back(axis);
  count_points(points.data<T>(), n, bins, weights.defined() ? weights.data<T>() : nullptr, total);
}

// The histogram as float64 (on Meta, in the dtype of the points), of the sizes of the bins. Points are
// [n, axes], dense.
Tensor histogram_of(const Tensor& points, int64_t n, const std::vector<Axis>& axes, const Tensor& weights, bool density,
                    Search search) {
  Dims sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.bins());
  if (points.is_meta()) return empty_tensor(sizes, points.dtype(), points.device());
  Tensor out = empty_tensor(sizes, DType::float64);
  std::vector<double> total(static_cast<size_t>(out.numel()));
  if (!axes.empty()) {
    const auto run = [&]<class T>() {
      search == Search::edges ? count_with<T, Search::edges>(points, n, axes, weights, total)
                              : count_with<T, Search::even_exact>(points, n, axes, weights, total);
    };
    for_float(points.dtype(), run);
  }
  if (density) {
    double sum = 0;
    for (double x : total) sum += x;
    for (size_t i = 0; i < total.size(); ++i) {
      double volume = sum;
      size_t rest = i;
      for (size_t d = axes.size(); d-- > 0;) {
        const auto bins = static_cast<size_t>(axes[d].bins());
        const auto edge = [&](size_t k) {
          return load_scalar(axes[d].edges.data<char>() + k * axes[d].edges.item_size(), axes[d].edges.dtype())
              .to_double();
        };
        volume *= edge(rest % bins + 1) - edge(rest % bins);
        rest /= bins;
      }
      total[i] /= volume;
    }
  }
  std::copy(total.begin(), total.end(), out.data<double>());
  return out;
}

void check_bins(int64_t bins, int64_t d) {
  SCONCE_CHECK(bins > 0, "torch.histogram(): bins must be > 0, but got {} for dimension {}", bins, d);
}

// Points [..., D] as dense [n, D]; checks dtype, weights and sizes.
struct Points {
  Tensor data, weights;
  int64_t n, width;

  Points(const Tensor& self, const Tensor& weight) {
    SCONCE_CHECK(self.dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions, but got {}",
                 self.dim());
    SCONCE_CHECK_AS(not_implemented, self.dtype() == DType::float32 || self.dtype() == DType::float64,
                    "\"histogramdd\" not implemented for '{}'", dtype_legacy_name(self.dtype()));
    width = self.sizes().back();
    n = 1;
    Dims outer(self.sizes());
    outer.pop_back();
    for (int64_t size : outer) n *= size;
    if (weight.defined()) {
      SCONCE_CHECK(weight.dtype() == self.dtype(),
                   "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
                   "same dtype, but "
                   "got input({}), and weight({})",
                   dtype_name(self.dtype()), dtype_name(weight.dtype()));
      SCONCE_CHECK(weight.sizes() == IntList(outer),
                   "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                   "excluding its "
                   "innermost dimension, but got input with shape {} and weight with shape {}",
                   self.sizes(), weight.sizes());
      weights = contiguous_tensor(weight);
    }
    data = contiguous_tensor(self);
  }
};

// The smallest and the largest value of coordinate d; NaN when there is one.
std::pair<double, double> data_range(const Tensor& points, int64_t n, int64_t width, int64_t d) {
  std::pair<double, double> range(0, 1);
  if (n == 0 || points.is_meta()) return range;
  for_float(points.dtype(), [&]<class T>() {
    const T* x = points.data<T>() + d;
    T low = x[0], high = x[0];
    bool nan = false;
    for (int64_t i = 0; i < n; ++i) {
      const T v = x[i * width];
      nan = nan | (v != v);
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    range = {low, high};
    if (nan) range.first = range.second = std::nan("");
  });
  return range;
}

std::vector<Axis> even_axes(const Points& points, IntList bins, const Range& range) {
  SCONCE_CHECK(static_cast<int64_t>(bins.size()) == points.width,
               "histogramdd: The size of bins must be equal to the innermost dimension of the input: {} and {}",
               bins.size(), points.width);
  for (size_t d = 0; d < bins.size(); ++d) check_bins(bins[d], static_cast<int64_t>(d));
  if (range) {
    SCONCE_CHECK(static_cast<int64_t>(range->size()) == 2 * points.width,
                 "torch.histogramdd: for a {}-dimensional histogram range should have {} elements, but got {}",
                 points.width, 2 * points.width, range->size());
  }
  std::vector<Axis> axes;
  for (size_t d = 0; d < bins.size(); ++d) {
    auto [low, high] = range ? std::pair((*range)[2 * d], (*range)[2 * d + 1])
                             : data_range(points.data, points.n, points.width, static_cast<int64_t>(d));
    SCONCE_CHECK(std::isfinite(low) && std::isfinite(high),
                 "torch.histogramdd: dimension {}'s range [{}, {}] is not finite", d, low, high);
    SCONCE_CHECK(low <= high, "torch.histogramdd: min should not exceed max, but got min {} max {} for dimension {}",
                 low, high, d);
    if (low == high) low -= 0.5, high += 0.5;
    axes.push_back({cpu::linspace(low, high, Checked(bins[d]) + 1, points.data.dtype(), {}, points.data.device(), {})});
  }
  return axes;
}

std::vector<Axis> given_axes(const Points& points, TensorList bins) {
  SCONCE_CHECK(static_cast<int64_t>(bins.size()) == points.width,
               "torch.histogramdd: expected {} sequences of bin edges for a {}-dimensional histogram but got {}",
               points.width, points.width, bins.size());
  std::vector<Axis> axes;
  for (size_t d = 0; d < bins.size(); ++d) {
    SCONCE_CHECK(bins[d].dtype() == points.data.dtype(),
                 "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
                 "dtype {} and bins for "
                 "dimension {} with dtype {}",
                 dtype_name(points.data.dtype()), d, dtype_name(bins[d].dtype()));
    SCONCE_CHECK(bins[d].dim() == 1,
                 "torch.histogramdd: bins tensor should have one dimension, but got {} dimensions in the bins tensor "
                 "for dimension {}",
                 bins[d].dim(), d);
    SCONCE_CHECK(bins[d].numel() > 0,
                 "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                 "for dimension {}",
                 d);
    check_bins(bins[d].numel() - 1, static_cast<int64_t>(d));
    axes.push_back({contiguous_tensor(bins[d])});
  }
  return axes;
}

Tensor counted(const Points& points, const std::vector<Axis>& axes, bool density, Search search) {
  return to_dtype(histogram_of(points.data, points.n, axes, points.weights, density, search), points.data.dtype());
}

// One coordinate: [...] as [n, 1].
Tensor as_column(const Tensor& self) { return any_device::view(contiguous_tensor(self), {self.numel(), 1}); }
Tensor as_row(const Tensor& weight) {
  return weight.defined() ? any_device::view(contiguous_tensor(weight), {weight.numel()}) : weight;
}

}  // namespace

namespace cpu {

Tensor _histogramdd_from_bin_cts(const Tensor& self, IntList bins, Range range, const Tensor& weight, bool density) {
  const Points points(self, weight);
  return counted(points, even_axes(points, bins, range), density, Search::even_exact);
}

std::vector<Tensor> _histogramdd_bin_edges(const Tensor& self, IntList bins, Range range, const Tensor& weight, bool) {
  const Points points(self, weight);
  std::vector<Tensor> out;
  for (const Axis& axis : even_axes(points, bins, range)) out.push_back(axis.edges);
  return out;
}

void _histogramdd_bin_edges_out(const Tensor& self, IntList bins, Range range, const Tensor& weight, bool density,
                                TensorList out) {
  const std::vector<Tensor> edges = _histogramdd_bin_edges(self, bins, range, weight, density);
  SCONCE_CHECK(out.size() == edges.size(), "_histogramdd_bin_edges: {} outputs were given for {} results", out.size(),
               edges.size());
  for (size_t i = 0; i < edges.size(); ++i) copy_to_out(out[i], edges[i]);
}

Tensor _histogramdd_from_bin_tensors(const Tensor& self, TensorList bins, const Tensor& weight, bool density) {
  const Points points(self, weight);
  return counted(points, given_axes(points, bins), density, Search::edges);
}

std::tuple<Tensor, Tensor> histogram_bin_ct(const Tensor& self, int64_t bins, Range range, const Tensor& weight,
                                            bool density) {
  const Points points(as_column(self), as_row(weight));
  const std::vector<Axis> axes = even_axes(points, {bins}, range);
  return {counted(points, axes, density, Search::even_exact), axes[0].edges};
}

std::tuple<Tensor, Tensor> histogram_bins_tensor(const Tensor& self, const Tensor& bins, const Tensor& weight,
                                                 bool density) {
  const Points points(as_column(self), as_row(weight));
  const std::vector<Axis> axes = given_axes(points, {bins});
  Tensor edges = empty_tensor(bins.sizes(), bins.dtype(), bins.device());
  copy_tensor(edges, bins);
  return {counted(points, axes, density, Search::edges), edges};
}

void histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, const Tensor& out) {
  const DType dtype = self.dtype();
  SCONCE_CHECK_AS(not_implemented, is_floating(dtype), "\"histogram_cpu\" not implemented for '{}'",
                  dtype_legacy_name(dtype));
  const DType compute = dtype == DType::float64 ? dtype : DType::float32;
  const Tensor x = contiguous_tensor(to_dtype(self, compute));
  double low = min.to_double(), high = max.to_double();
  if (low == high && self.numel() > 0) {
    std::tie(low, high) = data_range(x, x.numel(), 1, 0);
  }
  if (low == high) low -= 1, high += 1;
  SCONCE_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [{}, {}] is not finite", low, high);
  SCONCE_CHECK(low < high, "torch.histc: max must be larger than min, got [{}, {}]", low, high);
  const std::vector<Axis> axes{{to_dtype(cpu::linspace(low, high, bins + 1, dtype, {}, {}, {}), compute)}};
  std::vector<double> total(static_cast<size_t>(bins));
  const auto run = dtype == DType::float64    ? count_with<double, Search::even>
                   : dtype == DType::float16  ? count_with<float, Search::even, Rounding::half>
                   : dtype == DType::bfloat16 ? count_with<float, Search::even, Rounding::bfloat>
                                              : count_with<float, Search::even>;
  run(x, x.numel(), axes, {}, total);
  Tensor counts = empty_tensor({bins}, DType::float64);
  std::copy(total.begin(), total.end(), counts.data<double>());
  copy_tensor(out, counts);
}

}  // namespace cpu

namespace any_device {

OutSpec histc_spec(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  check_bins(bins, 0);
  SCONCE_CHECK(!(min.to_double() > max.to_double()), "torch.histc: max must be larger than min, got [{}, {}]",
               min.to_double(), max.to_double());
  return {Dims{bins}, self.dtype()};
}

}  // namespace any_device
}  // namespace sconce
