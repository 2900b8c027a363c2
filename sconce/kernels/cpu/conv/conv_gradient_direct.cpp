#include "sconce/kernels/cpu/conv/conv_gradient_direct.h"

#include <algorithm>
#include <vector>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/conv/conv_geometry.h"
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {
namespace {

SCONCE_VARIANT(several_parts, "conv.gradient.parts",
               "2,048 pixels or more, sums that are few enough for several parts");
SCONCE_VARIANT(several_blocks, "conv.gradient.blocks", "more rows than the second-level cache holds");
SCONCE_VARIANT(neighbouring_taps, "conv.gradient.taps",
               "one group, without dilation: the taps of a kernel row together");
SCONCE_VARIANT(several_panels, "conv.gradient.panels", "more inputs than a panel has columns");

constexpr int64_t block_bytes = 384 * 1024;  // of images that are read again and again: they stay in the cache
constexpr int64_t block_pixels = 1024;       // whose products are summed by themselves: errors stay small
constexpr int64_t parts_elements = 1024 * 1024, most_parts = 8;  // sums of parts
constexpr int64_t work_per_thread = 256 * 1024;                  // multiplications that are worth a thread

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Pixels of an output row that see the same taps of a kernel row. The taps of a group of taps are side by side in the
// input, so that each pixel has one run of columns.
struct Segment {
  int64_t pixel, pixels;  // of the output row
  int64_t tap, taps;
};

template <class T>
class DirectGradient {
 public:
  DirectGradient(const ConvShape& shape, const T* x, const T* grad, T* out, const GemmTable<T>& table,
                 const OuterTable<T>& outer)
      : shape_(shape), geometry_(shape), x_(x), grad_(grad), out_(out), table_(table), outer_(outer) {
    const int64_t taps = geometry_.kernel.w;
    taps_together_ = neighbouring_taps(geometry_.dilation.w == 1 && shape.groups == 1) ? taps : 1;
    for (int64_t first = 0; first < taps; first += taps_together_) segments_.push_back(segments_of(first));
    strips_ = divide_up(out_channels(), table.tile_rows);
    panels_ = divide_up(taps_together_ * in_channels(), table.panel);
    const auto& g = geometry_;
    const int64_t row_bytes =
        static_cast<int64_t>(sizeof(T)) *
        (g.out.w * shape.out_channels + g.in.w * std::min(g.stride.h, g.kernel.h) * shape.in_channels);
    rows_ = shape.batch * g.out.d * g.out.h;
    const int64_t fitting = std::min(block_bytes / std::max<int64_t>(row_bytes, 1), block_pixels / g.out.w);
    const int64_t elements = shape.out_channels * g.kernel.product() * in_channels();
    // Every part has a row, since its first one clears its sums.
    parts_ = std::clamp<int64_t>(parts_elements / elements, 1, std::min(most_parts, rows_));
    parts_ = std::clamp<int64_t>(rows_ * g.out.w / block_pixels, 1, parts_);
    block_ = std::min(rows_, std::max(fitting, divide_up(64, g.out.w)));
    several_parts(parts_ > 1);
    several_blocks(block_ < rows_);
    several_panels(panels_ > 1);
  }

  // The rows are cut into parts, at fixed places, whose sums are added up at the end: a thread has whole parts, mostly,
  // which are the pixels that it had before.
  void run() const {
    const int64_t sets = static_cast<int64_t>(segments_.size());
    const int64_t units = shape_.groups * geometry_.kernel.d * geometry_.kernel.h * sets * strips_ * panels_;
    const int64_t work = rows_ / parts_ * geometry_.out.w * table_.tile_rows * table_.panel;
    const int64_t elements = shape_.out_channels * geometry_.kernel.product() * in_channels();
    Scratch scratch;
    T* sums = parts_ == 1 ? out_ : scratch.take<T>(parts_ * elements);
    parallel_for(parts_ * units, divide_up(work_per_thread, std::max<int64_t>(work, 1)),
                 [&](int64_t begin, int64_t end) {
                   SeenRows seen(static_cast<size_t>(block_));
                   for (int64_t u = begin; u < end;) {
                     const int64_t part = u / units, next = std::min(end, (part + 1) * units);
                     const int64_t from = rows_ * part / parts_, until = rows_ * (part + 1) / parts_;
                     for (int64_t first = from; first < until; first += block_) {
                       for (int64_t i = u; i < next; i++) {
                         run_unit(i % units, first, std::min(until, first + block_), first == from,
                                  sums + part * elements, seen);
                       }
                     }
                     u = next;
                   }
                 });
    if (parts_ == 1) return;
    parallel_for(divide_up(elements, table_.panel), grain_for(parts_ * table_.panel), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * table_.panel, last = std::min(elements, end * table_.panel);
      table_.add_parts(sums + first, parts_, elements, last - first, out_ + first);
    });
  }

 private:
  int64_t in_channels() const { return shape_.in_channels / shape_.groups; }
  int64_t out_channels() const { return shape_.out_channels / shape_.groups; }

  std::vector<Segment> segments_of(int64_t first) const {
    const auto& g = geometry_;
    std::vector<Segment> segments;
    for (int64_t p = 0; p < g.out.w; p++) {
      Segment s{p, 1, first, 0};
      for (int64_t t = first; t < first + taps_together_; t++) {
        const int64_t w = p * g.stride.w - g.padding.w + t * g.dilation.w;
        if (w < 0) s.tap = t + 1;
        if (w >= 0 && w < g.in.w) s.taps++;
      }
      if (s.taps == 0) continue;
      if (!segments.empty() && segments.back().tap == s.tap && segments.back().taps == s.taps)
        segments.back().pixels++;
      else
        segments.push_back(s);
    }
    return segments;
  }

  // The output rows of a block that see a row of the kernel: where they, and what they see, begin in memory. Units that
  // follow each other differ in the panel alone, and have the same ones.
  struct SeenRows {
    explicit SeenRows(size_t block) : a(block), b(block), a_run(block), b_run(block) {}
    int64_t first = -1, unit = -1;  // whose they are: the block's first row, the number of the unit without its panel
    size_t count = 0;
    std::vector<const T*> a, b, a_run, b_run;  // _run: of a segment
  };

  void find_rows(SeenRows& seen, int64_t first, int64_t last, int64_t kd, int64_t kh, int64_t group,
                 int64_t out_channel) const {
    const auto& g = geometry_;
    seen.count = 0;
    for (int64_t row = first; row < last; row++) {
      const int64_t h = row % g.out.h * g.stride.h - g.padding.h + kh * g.dilation.h;
      const int64_t d = row / g.out.h % g.out.d * g.stride.d - g.padding.d + kd * g.dilation.d;
      if (h < 0 || h >= g.in.h || d < 0 || d >= g.in.d) continue;
      const int64_t image = row / g.out.h / g.out.d;
      seen.a[seen.count] = grad_ + row * g.out.w * shape_.out_channels + group * out_channels() + out_channel;
      seen.b[seen.count] =
          x_ + ((image * g.in.d + d) * g.in.h + h) * g.in.w * shape_.in_channels + group * in_channels();
      seen.count++;
    }
  }

  // One tile of the result, for some output rows.
  void run_unit(int64_t unit, int64_t first, int64_t last, bool is_first, T* sums, SeenRows& seen) const {
    const auto& g = geometry_;
    const auto sets = static_cast<int64_t>(segments_.size());
    const int64_t panel = unit % panels_, kh = unit / panels_ % g.kernel.h, set = unit / panels_ / g.kernel.h % sets;
    const int64_t rest = unit / panels_ / g.kernel.h / sets;
    const int64_t kd = rest % g.kernel.d, strip = rest / g.kernel.d % strips_, group = rest / g.kernel.d / strips_;
    const int64_t out_channel = strip * table_.tile_rows, row_width = g.kernel.w * in_channels();
    const auto height = static_cast<int>(std::min<int64_t>(table_.tile_rows, out_channels() - out_channel));
    // Columns [from, until) of the kernel row.
    const int64_t origin = set * taps_together_ * in_channels();
    const int64_t from = origin + panel * table_.panel,
                  until = std::min<int64_t>(from + table_.panel, origin + taps_together_ * in_channels());
    T* c = sums + ((group * out_channels() + out_channel) * g.kernel.d * g.kernel.h + kd * g.kernel.h + kh) * row_width;
    const int64_t c_stride = g.kernel.product() * in_channels();
    if (is_first) {
      for (int i = 0; i < height; i++) std::fill(c + i * c_stride + from, c + i * c_stride + until, T(0));
    }
    if (seen.first != first || seen.unit != unit / panels_) {
      find_rows(seen, first, last, kd, kh, group, out_channel);
      seen.first = first;
      seen.unit = unit / panels_;
    }
    const size_t count = seen.count;
    if (count == 0) return;
    OuterArgs<T> args{};
    args.runs = static_cast<int64_t>(count);
    args.a = seen.a_run.data();
    args.a_step = shape_.out_channels;
    args.b = seen.b_run.data();
    args.b_step = g.stride.w * shape_.in_channels;
    args.c_stride = c_stride;
    args.accumulate = true;
    for (const Segment& s : segments_[static_cast<size_t>(set)]) {
      const int64_t begin = std::max(from, s.tap * in_channels()),
                    end = std::min(until, (s.tap + s.taps) * in_channels());
      if (begin >= end) continue;
      // Where column `begin` of the first pixel is: taps that are together have a dilation of 1.
      const int64_t tap = begin / in_channels();
      const int64_t offset =
          (s.pixel * g.stride.w - g.padding.w + tap * g.dilation.w) * shape_.in_channels + begin % in_channels();
      for (size_t r = 0; r < count; r++) {
        seen.a_run[r] = seen.a[r] + s.pixel * shape_.out_channels;
        seen.b_run[r] = seen.b[r] + offset;
      }
      args.count = s.pixels;
      args.columns = static_cast<int>(end - begin);
      args.c = c + begin;
      outer_.tiles[args.columns > table_.lanes][height](args);
    }
  }

  const ConvShape& shape_;
  ConvGeometry geometry_;
  const T* x_;
  const T* grad_;
  T* out_;
  const GemmTable<T>& table_;
  const OuterTable<T>& outer_;
  int64_t taps_together_;
  std::vector<std::vector<Segment>> segments_;  // per group of taps
  int64_t strips_, panels_;                     // of output channels, and of columns
  int64_t rows_, parts_, block_;                // output rows of all images, parts of them, rows of a block
};

}  // namespace

template <>
void direct_weight_gradient(const ConvShape& shape, const float* x, const float* grad, float* grad_weight,
                            const MatrixKernels& kernels) {
  DirectGradient<float>(shape, x, grad, grad_weight, *kernels.f32, *conv_gradient_kernels(kernels).outer_f32).run();
}
template <>
void direct_weight_gradient(const ConvShape& shape, const double* x, const double* grad, double* grad_weight,
                            const MatrixKernels& kernels) {
  DirectGradient<double>(shape, x, grad, grad_weight, *kernels.f64, *conv_gradient_kernels(kernels).outer_f64).run();
}

}  // namespace sconce
