#include "sconce/kernels/cpu/fft/transform.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/fft/plan.h"

namespace sconce {
namespace {

SCONCE_VARIANT(lines_in_lanes, "fft.lanes", "as many lines at a time as there are lanes");
SCONCE_VARIANT(row_direct, "fft.row.direct", "one line at a time, dense on both sides");
SCONCE_VARIANT(side_by_side, "fft.neighbours", "lines of a group that are neighbours along one dim");
SCONCE_VARIANT(even_length, "fft.real.even", "a real line of even length: a complex one of half the length");

constexpr int64_t kMostLanes = 16;
constexpr int64_t kShortRow = 8;  // times lanes: below, several transforms in lanes beat one over all lanes

// The lines of two tensors along dim, numbered so that neighbours of `in` follow each other.
class Lines {
 public:
  Lines(const Tensor& out, const Tensor& in, int64_t dim)
      : in_(static_cast<const char*>(in.data())),
        out_(static_cast<char*>(out.data())),
        in_item_(static_cast<int64_t>(in.item_size())),
        out_item_(static_cast<int64_t>(out.item_size())),
        in_stride(in.stride(dim)),
        out_stride(out.stride(dim)) {
    for (int64_t d = 0; d < in.dim(); ++d) {
      if (d != dim && in.size(d) != 1) order_.push_back(d);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return std::abs(in.stride(a)) < std::abs(in.stride(b)); });
    for (const int64_t d : order_) {
      sizes_.push_back(in.size(d));
      in_strides_.push_back(in.stride(d) * in_item_);
      out_strides_.push_back(out.stride(d) * out_item_);
      count *= in.size(d);
    }
  }

  // Sets in[i] and out[i] to the beginnings of `n` lines from line `first`.
  void pointers(int64_t first, int64_t n, const void** in, void** out) const {
    int64_t at[64], rest = first, from = 0, to = 0;
    const size_t rank = sizes_.size();
    for (size_t d = 0; d < rank; ++d) {
      at[d] = rest % sizes_[d];
      rest /= sizes_[d];
      from += at[d] * in_strides_[d];
      to += at[d] * out_strides_[d];
    }
    if (side_by_side(rank > 0 && at[0] + n <= sizes_[0])) {  // neighbours along one dimension
      for (int64_t i = 0; i < n; ++i) {
        in[i] = in_ + from + i * in_strides_[0];
        out[i] = out_ + to + i * out_strides_[0];
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      in[i] = in_ + from;
      out[i] = out_ + to;
      for (size_t d = 0; d < rank; ++d) {
        from += in_strides_[d];
        to += out_strides_[d];
        if (++at[d] < sizes_[d]) break;
        from -= at[d] * in_strides_[d];
        to -= at[d] * out_strides_[d];
        at[d] = 0;
      }
    }
  }

 private:
  const char* in_;
  char* out_;
  int64_t in_item_, out_item_;
  Dims order_, sizes_, in_strides_, out_strides_;

 public:
  const int64_t in_stride, out_stride;
  int64_t count = 1;
};

bool is_double(const Tensor& t) { return t.dtype() == DType::float64 || t.dtype() == DType::complex128; }

// One by one (with all lanes on each where the length allows), or as many at a time as there are lanes?
bool in_lanes(const FftPlan& plan, const FftKernels& kernels, const Lines& lines, bool dense) {
  if (!plan.runs_in_lanes()) return false;
  const int64_t n = plan.size();
  if (plan.row_fills_lanes()) {
    const int64_t long_enough = std::max(kShortRow, kernels.lanes) * kernels.lanes;
    return !(dense && (n >= long_enough || lines.count < kernels.lanes / 2));
  }
  return lines.count > kernels.lanes / 4 || n < 2 * kernels.lanes;
}

// body(work, in pointers, out pointers, how many) for groups of at most `group` lines, over threads; each has a
// `work` from make_work().
template <class MakeWork, class Body>
void for_groups(const Lines& lines, int64_t group, int64_t n, const MakeWork& make_work, const Body& body) {
  const int64_t groups = (lines.count + group - 1) / group;
  parallel_for(groups, grain_for(2 * n * group), [&](int64_t begin, int64_t end) {
    auto work = make_work();
    for (int64_t g = begin; g < end; ++g) {
      const void* in[kMostLanes];
      void* out[kMostLanes];
      const int64_t count = std::min(group, lines.count - g * group);
      lines.pointers(g * group, count, in, out);
      body(work, in, out, static_cast<int>(count));
    }
  });
}

// Copies n items of so many bytes; strides count items.
template <size_t item>
void copy_items(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n) {
  constexpr auto bytes = static_cast<int64_t>(item);
  const char* x = static_cast<const char*>(in);
  char* y = static_cast<char*>(out);
  for (int64_t i = 0; i < n; ++i) std::memcpy(y + i * out_stride * bytes, x + i * in_stride * bytes, item);
}
void copy_line(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, int64_t item) {
  if (item == 16) return copy_items<16>(out, out_stride, in, in_stride, n);
  if (item == 8) return copy_items<8>(out, out_stride, in, in_stride, n);
  copy_items<4>(out, out_stride, in, in_stride, n);
}

// Two working memories of n elements in lanes.
struct Work {
  Scratch scratch;
  void *first, *second;
  int64_t bytes;
  Work(const FftKernels& kernels, int64_t n, int64_t item) : bytes(std::max(n, kernels.lanes) * kernels.lanes * item) {
    first = scratch.take_bytes(static_cast<size_t>(bytes));
    second = scratch.take_bytes(static_cast<size_t>(bytes));
  }
};

}  // namespace

void fft_complex(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale) {
  const bool wide = is_double(in);
  const int64_t n = in.size(dim), item = wide ? 16 : 8;
  const auto plan = fft_plan(n, wide);
  const FftKernels& kernels = fft_kernels_for(wide);
  const Lines lines(out, in, dim);
  const int64_t from = lines.in_stride, to = lines.out_stride;
  const bool dense = from == 1 && to == 1;
  if (lines_in_lanes(in_lanes(*plan, kernels, lines, dense))) {
    const auto make_work = [&] { return Work(kernels, n, item); };
    for_groups(lines, kernels.lanes, n, make_work, [&](Work& work, const void** x, void** y, int count) {
      kernels.load(work.first, x, count, n, from, inverse);
      const void* done = kernels.run(plan->passes(), work.first, work.second);
      kernels.store(y, count, done, n, to, inverse, scale);
    });
    return;
  }
  const auto no_work = [] { return 0; };
  for_groups(lines, 1, n, no_work, [&](int, const void** x, void** y, int) {
    if (row_direct(dense)) return plan->row(y[0], x[0], inverse, scale);
    Scratch scratch;
    char* line = scratch.take<char>(n * item);
    copy_line(line, 1, x[0], from, n, item);
    plan->row(line, line, inverse, scale);
    copy_line(y[0], to, line, 1, n, item);
  });
}

void fft_from_real(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  const bool wide = is_double(in);
  const int64_t n = in.size(dim), m = n / 2 + 1, item = wide ? 16 : 8;
  const auto real_plan = real_fft_plan(n, wide);
  const FftPlan& plan = *real_plan->complex;
  const void* twiddles = real_plan->twiddles.data();
  const FftKernels& kernels = fft_kernels_for(wide);
  const Lines lines(out, in, dim);
  const int64_t from = lines.in_stride, to = lines.out_stride;
  const bool even = even_length(n % 2 == 0), dense = even && from == 1 && to == 1;
  if (lines_in_lanes(in_lanes(plan, kernels, lines, dense))) {
    const auto make_work = [&] { return Work(kernels, std::max(plan.size(), m), item); };
    for_groups(lines, kernels.lanes, n, make_work, [&](Work& work, const void** x, void** y, int count) {
      if (!even) {
        std::fill_n(static_cast<char*>(work.first), work.bytes, char{0});
        kernels.load_part(work.first, 0, x, count, n, from);
      } else if (from == 1) {
        kernels.load(work.first, x, count, n / 2, 1, false);
      } else {
        const void* odd[kMostLanes];
        for (int i = 0; i < count; ++i) odd[i] = static_cast<const char*>(x[i]) + from * (item / 2);
        kernels.load_part(work.first, 0, x, count, n / 2, 2 * from);
        kernels.load_part(work.first, 1, odd, count, n / 2, 2 * from);
      }
      void* done = kernels.run(plan.passes(), work.first, work.second);
      if (even) {
        void* spectrum = done == work.first ? work.second : work.first;
        kernels.untangle(spectrum, done, n / 2, twiddles);
        done = spectrum;
      }
      kernels.store(y, count, done, m, to, false, scale);
    });
    return;
  }
  const auto no_work = [] { return 0; };
  for_groups(lines, 1, n, no_work, [&](int, const void** x, void** y, int) {
    Scratch scratch;
    if (!even) {
      char* line = scratch.take<char>(n * item);
      std::fill_n(line, n * item, char{0});
      copy_line(line, 2, x[0], from, n, item / 2);
      plan.row(line, line, false, scale);
      return copy_line(y[0], to, line, 1, m, item);
    }
    char *line = scratch.take<char>(n / 2 * item), *spectrum = to == 1 ? nullptr : scratch.take<char>(m * item);
    if (from != 1) copy_line(line, 1, x[0], from, n, item / 2);
    plan.row(line, from == 1 ? x[0] : line, false, 1);
    kernels.untangle_row(spectrum ? spectrum : y[0], line, n / 2, twiddles, scale);
    if (spectrum) copy_line(y[0], to, spectrum, 1, m, item);
  });
}

namespace {

// Elements m ... n - 1 of a Hermitian spectrum from the others, in lanes loaded with swap: the first vector of each
// element holds imaginary parts.
template <class T>
void mirror_lanes(void* work, int64_t n, int64_t lanes) {
  T* x = static_cast<T*>(work);
  for (int64_t i = 0; i < lanes; ++i) x[i] = 0;
  for (int64_t k = 1; k < n - n / 2; ++k) {
    const T* from = x + k * 2 * lanes;
    T* to = x + (n - k) * 2 * lanes;
    for (int64_t i = 0; i < lanes; ++i) to[i] = -from[i];
    for (int64_t i = lanes; i < 2 * lanes; ++i) to[i] = from[i];
  }
}

template <class T>
void mirror_line(void* line, int64_t n) {
  T* x = static_cast<T*>(line);
  x[1] = 0;
  for (int64_t k = 1; k < n - n / 2; ++k) {
    x[2 * (n - k)] = x[2 * k];
    x[2 * (n - k) + 1] = -x[2 * k + 1];
  }
}

}  // namespace

void fft_to_real(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  const bool wide = is_double(in);
  const int64_t n = out.size(dim), m = n / 2 + 1, item = wide ? 16 : 8;
  const auto real_plan = real_fft_plan(n, wide);
  const FftPlan& plan = *real_plan->complex;
  const void* twiddles = real_plan->twiddles.data();
  const FftKernels& kernels = fft_kernels_for(wide);
  const Lines lines(out, in, dim);
  const int64_t from = lines.in_stride, to = lines.out_stride;
  const bool even = even_length(n % 2 == 0), dense = even && from == 1 && to == 1;
  if (lines_in_lanes(in_lanes(plan, kernels, lines, dense))) {
    const auto make_work = [&] { return Work(kernels, std::max(plan.size(), m), item); };
    for_groups(lines, kernels.lanes, n, make_work, [&](Work& work, const void** x, void** y, int count) {
      kernels.load(work.first, x, count, m, from, !even);
      if (!even) {
        if (wide) {
          mirror_lanes<double>(work.first, n, kernels.lanes);
        } else {
          mirror_lanes<float>(work.first, n, kernels.lanes);
        }
        const void* done = kernels.run(plan.passes(), work.first, work.second);
        return kernels.store_part(y, count, done, 1, n, to, scale);
      }
      kernels.tangle(work.second, work.first, n / 2, twiddles);
      const void* done = kernels.run(plan.passes(), work.second, work.first);
      if (to == 1) return kernels.store(y, count, done, n / 2, 1, true, scale);
      void* odd[kMostLanes];
      for (int i = 0; i < count; ++i) odd[i] = static_cast<char*>(y[i]) + to * (item / 2);
      kernels.store_part(y, count, done, 1, n / 2, 2 * to, scale);
      kernels.store_part(odd, count, done, 0, n / 2, 2 * to, scale);
    });
    return;
  }
  const auto no_work = [] { return 0; };
  for_groups(lines, 1, n, no_work, [&](int, const void** x, void** y, int) {
    Scratch scratch;
    char* line = scratch.take<char>(std::max(n, m) * item);
    if (!even) {
      copy_line(line, 1, x[0], from, m, item);
      if (wide) {
        mirror_line<double>(line, n);
      } else {
        mirror_line<float>(line, n);
      }
      plan.row(line, line, true, scale);
      return copy_line(y[0], to, line, 2, n, item / 2);
    }
    char* spectrum = from == 1 ? nullptr : scratch.take<char>(m * item);
    if (spectrum) copy_line(spectrum, 1, x[0], from, m, item);
    kernels.tangle_row(line, spectrum ? spectrum : x[0], n / 2, twiddles);
    plan.row(to == 1 ? y[0] : line, line, true, scale);
    if (to != 1) copy_line(y[0], to, line, 1, n, item / 2);
  });
}

void fft_mirror(const Tensor& spectrum, IntList dim) {
  const bool wide = is_double(spectrum);
  const int64_t last = dim[dim.size() - 1], n = spectrum.size(last), stride = spectrum.stride(last),
                item = wide ? 16 : 8;
  const int64_t rank = spectrum.dim(), kept = n / 2 + 1, missing = n - kept;
  if (missing == 0) return;
  char* data = static_cast<char*>(spectrum.data());
  const FftKernels& kernels = fft_kernels_for(wide);
  parallel_for(spectrum.numel() / n, grain_for(2 * n), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    char* line = stride == 1 ? nullptr : scratch.take<char>(2 * missing * item);
    for (int64_t l = begin; l < end; ++l) {
      int64_t to = 0, from = 0, rest = l;  // where the line and its mirror image begin
      for (int64_t d = rank - 1; d >= 0; --d) {
        if (d == last) continue;
        const int64_t size = spectrum.size(d), i = rest % size;
        rest /= size;
        const bool turned = std::find(dim.begin(), dim.end(), d) != dim.end();
        to += i * spectrum.stride(d);
        from += (turned && i > 0 ? size - i : i) * spectrum.stride(d);
      }
      char *target = data + (to + kept * stride) * item, *source = data + (from + stride) * item;
      if (line == nullptr) {
        kernels.reverse_conjugate(target, source, missing);
      } else {
        copy_line(line, 1, source, stride, missing, item);
        kernels.reverse_conjugate(line + missing * item, line, missing);
        copy_line(target, stride, line + missing * item, 1, missing, item);
      }
    }
  });
}

}  // namespace sconce
