// Padding of the last one to three dimensions. Reflection and replication are one kernel: for each padded dimension a
// map says which place of the input a place of the output shows.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/padding_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

enum class Border { reflect, replicate };

struct Map {
  std::vector<int64_t> from;     // for each place of the output, the place of the input
  int64_t copy_begin, copy_end;  // places of the output where neighbours show neighbours

  Map(int64_t in, int64_t out, int64_t left, Border border) : from(static_cast<size_t>(out)) {
    for (int64_t j = 0; j < out; ++j) {
      int64_t x = j - left;
      if (border == Border::replicate) {
        x = std::clamp<int64_t>(x, 0, in - 1);
      } else {
        if (x < 0) x = -x;
        if (x >= in) x = 2 * (in - 1) - x;
      }
      from[j] = x;
    }
    copy_begin = std::clamp<int64_t>(left, 0, out);
    copy_end = std::clamp<int64_t>(left + in, copy_begin, out);
  }
  static Map none() { return Map(1, 1, 0, Border::replicate); }
};

// depth, height, width: those that are not padded have one place.
std::array<Map, 3> maps_of(IntList in, IntList out, IntList padding, Border border) {
  std::array<Map, 3> maps{Map::none(), Map::none(), Map::none()};
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const size_t d = in.size() - 1 - i;
    maps[2 - i] = Map(in[d], out[d], padding[2 * i], border);
  }
  return maps;
}

OutSpec padded_spec(const Tensor& self, IntList padding, Border border, const char* op, MemoryFormat format) {
  const auto dims = static_cast<int64_t>(padding.size() / 2);
  SCONCE_CHECK(self.dim() == dims + 1 || self.dim() == dims + 2,
               "{}: Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
               "for input, but "
               "got: {}",
               op, dims + 1, dims + 2, self.sizes());
  for (int64_t d = self.dim() == dims + 2 ? 1 : 0; d < self.dim(); ++d) {
    SCONCE_CHECK(self.sizes()[d] != 0 || (border == Border::replicate && d < self.dim() - dims),
                 "{}: Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
                 "for input, "
                 "but got: {}",
                 op, dims + 1, dims + 2, self.sizes());
  }
  Dims sizes(self.sizes());
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.dim() - 1 - i, left = padding[2 * i], right = padding[2 * i + 1];
    if (border == Border::reflect)
      SCONCE_CHECK(left < sizes[d] && right < sizes[d],
                   "Argument #{}: Padding size should be less than the corresponding input dimension, but got: padding "
                   "({}, {}) at "
                   "dimension {} of input {}",
                   4 + 2 * i, left, right, d, self.sizes());
    int64_t size;
    const bool overflow = __builtin_add_overflow(sizes[d], left, &size) || __builtin_add_overflow(size, right, &size);
    SCONCE_CHECK(!overflow && size >= 1 && left > INT64_MIN / 2,
                 "input of shape {} is too small for padding {}: size {} of dimension {}", self.sizes(), padding, size,
                 d);
    sizes[d] = size;
  }
  return {sizes, self.dtype(), format};
}

// Batches of images keep their format.
MemoryFormat batch_format(const Tensor& self, IntList padding) {
  return self.dim() == 4 && padding.size() == 4 ? suggested_format(self) : MemoryFormat::contiguous;
}

struct Extent {
  int64_t planes = 1, d = 1, h = 1, w = 1;
  Extent(IntList sizes, size_t padded) {
    const size_t lead = sizes.size() - padded;
    for (size_t i = 0; i < lead; ++i) planes *= sizes[i];
    w = sizes.back();
    if (padded > 1) h = sizes[sizes.size() - 2];
    if (padded > 2) d = sizes[sizes.size() - 3];
  }
};

SCONCE_VARIANT(whole_pixels, "pad.mapped.pixels", "reflected or repeated borders, channels_last");

// Rows of the output, each with the row of the input that it shows: body(output row, input row).
template <class Body>
void each_row(const Extent& in, const Extent& out, const std::array<Map, 3>& maps, const Body& body) {
  const int64_t rows = out.d * out.h;
  parallel_for(out.planes, grain_for(rows * out.w), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t z = 0; z < out.d; ++z) {
        for (int64_t y = 0; y < out.h; ++y)
          body((p * out.d + z) * out.h + y, (p * in.d + maps[0].from[z]) * in.h + maps[1].from[y]);
      }
    }
  });
}

void pad_mapped(const Tensor& self, IntList padding, Border border, const Tensor& out) {
  if (out.numel() == 0) return;
  const std::array<Map, 3> maps = maps_of(self.sizes(), out.sizes(), padding, border);
  if (whole_pixels(!out.is_contiguous())) {  // channels_last: whole pixels move
    const Tensor from = contiguous_tensor(self, MemoryFormat::channels_last);
    const int64_t n = out.sizes()[0], c = out.sizes()[1], h = out.sizes()[2], w = out.sizes()[3];
    const auto bytes = static_cast<size_t>(c) * out.item_size();
    parallel_for(n * h, grain_for(w * c), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t in_row = row / h * self.sizes()[2] + maps[1].from[row % h];
        char* to = out.data<char>() + static_cast<size_t>(row * w) * bytes;
        const char* source = from.data<char>() + static_cast<size_t>(in_row * self.sizes()[3]) * bytes;
        for (int64_t x = 0; x < w; ++x)
          std::memcpy(to + static_cast<size_t>(x) * bytes, source + static_cast<size_t>(maps[2].from[x]) * bytes,
                      bytes);
      }
    });
    return;
  }
  const Tensor from = contiguous_tensor(self);
  const Extent in_extent(self.sizes(), padding.size() / 2), out_extent(out.sizes(), padding.size() / 2);
  visit_item_size(out.dtype(), [&]<class T>() {
    const Map& map = maps[2];
    each_row(in_extent, out_extent, maps, [&](int64_t out_row, int64_t in_row) {
      T* to = out.data<T>() + out_row * out_extent.w;
      const T* source = from.data<T>() + in_row * in_extent.w;
      for (int64_t x = 0; x < map.copy_begin; ++x) to[x] = source[map.from[x]];
      if (map.copy_end > map.copy_begin)
        std::memcpy(to + map.copy_begin, source + map.from[map.copy_begin],
                    static_cast<size_t>(map.copy_end - map.copy_begin) * sizeof(T));
      for (int64_t x = map.copy_end; x < out_extent.w; ++x) to[x] = source[map.from[x]];
    });
  });
}

void pad_mapped_backward(const Tensor& grad_output, const Tensor& self, IntList padding, Border border,
                         const Tensor& out) {
  const Tensor sums = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype());
  fill_tensor(sums, 0);
  if (grad_output.numel() > 0) {
    const Tensor from = contiguous_tensor(grad_output);
    const std::array<Map, 3> maps = maps_of(self.sizes(), grad_output.sizes(), padding, border);
    const Extent in_extent(self.sizes(), padding.size() / 2), out_extent(grad_output.sizes(), padding.size() / 2);
    visit_dtype(out.dtype(), [&]<class T>() {
      each_row(in_extent, out_extent, maps, [&](int64_t out_row, int64_t in_row) {
        T* to = sums.data<T>() + in_row * in_extent.w;
        const T* source = from.data<T>() + out_row * out_extent.w;
        for (int64_t x = 0; x < out_extent.w; ++x) to[maps[2].from[x]] = add_elements(to[maps[2].from[x]], source[x]);
      });
    });
  }
  if (!sums.is_same(out)) copy_tensor(out, sums);
}

OutSpec backward_spec(const Tensor& grad_output, const Tensor& self, IntList padding, Border border, const char* op) {
  const OutSpec forward = padded_spec(self, padding, border, op, MemoryFormat::contiguous);
  SCONCE_CHECK(grad_output.sizes() == IntList(forward.sizes), "{}: gradOutput unexpected: expected shape {}, got {}",
               op, forward.sizes, grad_output.sizes());
  return {self.sizes(), self.dtype(), batch_format(self, padding)};
}

SCONCE_VARIANT(by_rows, "pad.constant.rows", "self and result dense in the same format");

// Row by row of the innermost dimension in memory: each is filled, or has a border on both sides of a copy.
void pad_dense(const Tensor& self, IntList pad, const Tensor& value, const Tensor& out, MemoryFormat format) {
  struct Axis {
    int64_t in, out, left;
  };
  SmallVector<Axis, 8> axes;
  const int64_t rank = self.dim();
  const auto axis = [&](int64_t d) {
    const auto i = static_cast<size_t>(rank - 1 - d);
    return Axis{self.sizes()[d], out.sizes()[d], 2 * i < pad.size() ? pad[2 * i] : 0};
  };
  for (int64_t d = 0; d < rank; ++d) {
    if (format == MemoryFormat::contiguous || d != 1) axes.push_back(axis(d));
  }
  if (format != MemoryFormat::contiguous) axes.push_back(axis(1));
  if (axes.empty()) axes.push_back({1, 1, 0});
  const Axis row = axes.back();
  axes.pop_back();
  const int64_t from = std::clamp<int64_t>(row.left, 0, row.out);  // the copy, in the result
  const int64_t to = std::clamp<int64_t>(row.left + row.in, from, row.out);
  visit_item_size(out.dtype(), [&]<class T>() {
    const T border = *value.data<T>();
    const int64_t grain = grain_for(row.out);
    parallel_for(out.numel() / row.out, grain, [&](int64_t begin, int64_t end) {
      SmallVector<int64_t, 8> index(axes.size(), 0);  // of the row, in the result
      for (int64_t d = static_cast<int64_t>(axes.size()) - 1, left = begin; d >= 0; left /= axes[d--].out) {
        index[d] = left % axes[d].out;
      }
      for (int64_t r = begin; r < end; ++r) {
        int64_t source = 0;
        bool inside = from < to;
        for (size_t d = 0; d < axes.size(); ++d) {
          const int64_t at = index[d] - axes[d].left;
          inside &= at >= 0 && at < axes[d].in;
          source = source * axes[d].in + at;
        }
        for (size_t d = axes.size(); d-- > 0;) {
          if (++index[d] < axes[d].out) break;
          index[d] = 0;
        }
        T* target = out.data<T>() + r * row.out;
        const int64_t first = inside ? from : row.out, last = inside ? to : row.out;
        std::fill(target, target + first, border);
        if (inside)
          std::memcpy(target + from, self.data<T>() + source * row.in + (from - row.left),
                      static_cast<size_t>(to - from) * sizeof(T));
        std::fill(target + last, target + row.out, border);
      }
    });
  });
}

}  // namespace

#define SCONCE_PADDING(name, border)                                                                            \
  namespace any_device {                                                                                        \
  OutSpec name##_spec(const Tensor& self, IntList padding) {                                                    \
    return padded_spec(self, padding, border, #name, batch_format(self, padding));                              \
  }                                                                                                             \
  OutSpec name##_backward_spec(const Tensor& grad_output, const Tensor& self, IntList padding) {                \
    return backward_spec(grad_output, self, padding, border, #name "_backward");                                \
  }                                                                                                             \
  }                                                                                                             \
  namespace cpu {                                                                                               \
  void name(const Tensor& self, IntList padding, const Tensor& out) { pad_mapped(self, padding, border, out); } \
  void name##_backward(const Tensor& grad_output, const Tensor& self, IntList padding, const Tensor& out) {     \
    pad_mapped_backward(grad_output, self, padding, border, out);                                               \
  }                                                                                                             \
  }
SCONCE_PADDING(reflection_pad1d, Border::reflect)
SCONCE_PADDING(reflection_pad2d, Border::reflect)
SCONCE_PADDING(reflection_pad3d, Border::reflect)
SCONCE_PADDING(replication_pad1d, Border::replicate)
SCONCE_PADDING(replication_pad2d, Border::replicate)
SCONCE_PADDING(replication_pad3d, Border::replicate)
#undef SCONCE_PADDING

namespace any_device {

void constant_pad_nd(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out);  // any/fill.cpp

OutSpec constant_pad_nd_spec(const Tensor& self, IntList pad, const Scalar& value) {
  SCONCE_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals {}", pad.size());
  const auto dims = static_cast<int64_t>(pad.size() / 2);
  SCONCE_CHECK(dims <= self.dim(),
               "Length of pad should be no more than twice the number of dimensions of the input. Pad length is {} "
               "while the input "
               "has {} dimensions",
               pad.size(), self.dim());
  check_fits(value, self.dtype());
  Dims sizes(self.sizes());
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.dim() - 1 - i, left = pad[2 * i], right = pad[2 * i + 1];
    int64_t size;
    const bool overflow = __builtin_add_overflow(sizes[d], left, &size) || __builtin_add_overflow(size, right, &size);
    SCONCE_CHECK(!overflow && size >= 0 && sizes[d] + std::min<int64_t>(left, 0) >= 0 &&
                     sizes[d] + std::min<int64_t>(right, 0) >= 0,
                 "The input size {}, plus negative padding {} and {} resulted in a negative output size, which is "
                 "invalid. Check "
                 "dimension {} of your input",
                 sizes[d], left, right, d);
    sizes[d] = size;
  }
  return {sizes, self.dtype(), suggested_format(self)};
}

}  // namespace any_device

namespace cpu {

void constant_pad_nd(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out) {
  if (out.numel() == 0) return;
  for (const MemoryFormat format :
       {MemoryFormat::contiguous, MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
    if (!by_rows(self.is_contiguous(format) && out.is_contiguous(format))) continue;
    return pad_dense(self, pad, scalar_tensor_of(value, out.dtype()), out, format);
  }
  any_device::constant_pad_nd(self, pad, value, out);
}

}  // namespace cpu
}  // namespace sconce
