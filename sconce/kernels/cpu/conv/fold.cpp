// im2col and col2im: sliding blocks of images as columns, and columns added up to images; unfold_backward, the same for
// one dimension of anything.
#include <algorithm>
#include <cstring>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/fold_kernels.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

SCONCE_VARIANT(adjacent_columns, "im2col.adjacent", "elements of a row of blocks that are neighbours in the image");
SCONCE_VARIANT(adjacent_sums, "col2im.adjacent", "blocks one column apart");
SCONCE_VARIANT(sums_in_place, "col2im.in_place", "no 16-bit floats");
SCONCE_VARIANT(last_dim, "unfold_backward.last_dim", "windows along the last dim");

// Blocks of kernel[0] x kernel[1] elements, `dilation` apart, at steps of `stride` in an image with a border of zeros.
struct Blocks {
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  int64_t image[2], count[2];  // sizes of the image, how many blocks there are

  int64_t blocks() const { return Checked(count[0]) * count[1]; }
  int64_t size() const { return Checked(kernel[0]) * kernel[1]; }

  // For element k of the blocks along dimension d: the blocks [from, to) whose element lies in the image.
  void inside(int d, int64_t k, int64_t& from, int64_t& to) const {
    const int64_t shift = k * dilation[d] - padding[d];  // block b has it at b * stride + shift
    from = shift >= 0 ? 0 : (-shift + stride[d] - 1) / stride[d];
    to = image[d] - 1 - shift < 0 ? 0 : (image[d] - 1 - shift) / stride[d] + 1;
    from = std::min(from, count[d]);
    to = std::clamp(to, from, count[d]);
  }
};

void take(int64_t (&to)[2], IntList list, const char* name) {
  SCONCE_CHECK(list.size() == 2, "It is expected {} equals to 2, but got size {}", name, list.size());
  to[0] = list[0];
  to[1] = list[1];
}

Blocks checked_blocks(IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  Blocks b{};
  take(b.kernel, kernel_size, "kernel_size");
  take(b.dilation, dilation, "dilation");
  take(b.padding, padding, "padding");
  take(b.stride, stride, "stride");
  SCONCE_CHECK(b.kernel[0] > 0 && b.kernel[1] > 0,
               "kernel size should be greater than zero, but got kernel_height: {} kernel_width: {}", b.kernel[0],
               b.kernel[1]);
  SCONCE_CHECK(b.dilation[0] > 0 && b.dilation[1] > 0,
               "dilation should be greater than zero, but got dilation_height: {} dilation_width: {}", b.dilation[0],
               b.dilation[1]);
  SCONCE_CHECK(b.padding[0] >= 0 && b.padding[1] >= 0,
               "padding should be non-negative, but got pad_height: {} pad_width: {}", b.padding[0], b.padding[1]);
  SCONCE_CHECK(b.stride[0] > 0 && b.stride[1] > 0,
               "stride should be greater than zero, but got stride_height: {} stride_width: {}", b.stride[0],
               b.stride[1]);
  return b;
}

void set_image(Blocks& b, int64_t height, int64_t width) {
  b.image[0] = height;
  b.image[1] = width;
  for (int d = 0; d < 2; ++d) {
    const int64_t room = b.image[d] + Checked(2) * b.padding[d] - (Checked(b.dilation[d]) * (b.kernel[d] - 1) + 1);
    b.count[d] = room >= 0 ? room / b.stride[d] + 1 : -((b.stride[d] - 1 - Checked(room)) / b.stride[d]) + 1;
  }
}

void check_dtype(const Tensor& self, const char* name) {
  SCONCE_CHECK_AS(not_implemented,
                  is_floating(self.dtype()) || is_complex(self.dtype()) || self.dtype() == DType::bool_,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(self.dtype()));
}

Blocks im2col_blocks(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  Blocks b = checked_blocks(kernel_size, dilation, padding, stride);
  const int64_t rank = self.dim();
  const bool batched = rank == 4;
  const bool full = (rank == 3 || rank == 4) && self.size(-1) != 0 && self.size(-2) != 0 && self.size(-3) != 0;
  SCONCE_CHECK(full,
               "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
               "input, but got: {}",
               self.sizes());
  set_image(b, self.size(batched ? 2 : 1), self.size(batched ? 3 : 2));
  SCONCE_CHECK(b.count[0] >= 1 && b.count[1] >= 1,
               "Given input with spatial size ({}, {}), kernel_size=({}, {}), dilation=({}, {}), padding=({}, {}), "
               "calculated shape of the "
               "array of sliding blocks as ({}, {}), but its components must be at least one.",
               b.image[0], b.image[1], b.kernel[0], b.kernel[1], b.dilation[0], b.dilation[1], b.padding[0],
               b.padding[1], b.count[0], b.count[1]);
  return b;
}

Blocks col2im_blocks(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
                     IntList stride) {
  int64_t size[2];
  take(size, output_size, "output_size");
  Blocks b = checked_blocks(kernel_size, dilation, padding, stride);
  const int64_t rank = self.dim();
  const bool full = (rank == 2 || rank == 3) && self.size(-1) != 0 && self.size(-2) != 0;
  SCONCE_CHECK(full,
               "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
               "input, but got: {}",
               self.sizes());
  SCONCE_CHECK(self.size(-2) % b.size() == 0,
               "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
               "input.size(1)={} and "
               "kernel_size=({}, {}).",
               self.size(-2), b.kernel[0], b.kernel[1]);
  set_image(b, size[0], size[1]);
  SCONCE_CHECK(
      size[0] > 0 && size[1] > 0 && b.count[0] >= 1 && b.count[1] >= 1 && self.size(-1) == b.blocks(),
      "Given output_size=({}, {}), kernel_size=({}, {}), dilation=({}, {}), padding=({}, {}), stride=({}, {}), "
      "expected size of "
      "input's dimension 2 to match the calculated number of sliding blocks {} * {} = {}, but got input.size(2)={}.",
      size[0], size[1], b.kernel[0], b.kernel[1], b.dilation[0], b.dilation[1], b.padding[0], b.padding[1], b.stride[0],
      b.stride[1], b.count[0], b.count[1], b.blocks(), self.size(-1));
  return b;
}

Dims with_batch(const Tensor& self, int64_t unbatched_rank, std::initializer_list<int64_t> rest) {
  Dims sizes;
  if (self.dim() > unbatched_rank) sizes.push_back(self.size(0));
  for (const int64_t s : rest) sizes.push_back(s);
  return sizes;
}

// Items of `item` bytes, so that one loop serves all dtypes of that size.
template <class T>
void copy_block_rows(T* out, const T* plane, int64_t row_stride, int64_t column_stride, const Blocks& b, int64_t ky,
                     int64_t kx) {
  int64_t top, bottom, left, right;
  b.inside(0, ky, top, bottom);
  b.inside(1, kx, left, right);
  const int64_t wide = b.count[1], step = b.stride[1] * column_stride;
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(top * wide) * sizeof(T));
  std::memset(static_cast<void*>(out + bottom * wide), 0,
              static_cast<size_t>((b.count[0] - bottom) * wide) * sizeof(T));
  for (int64_t y = top; y < bottom; ++y) {
    T* to = out + y * wide;
    const T* from = plane + (y * b.stride[0] + ky * b.dilation[0] - b.padding[0]) * row_stride +
                    (kx * b.dilation[1] - b.padding[1]) * column_stride;
    for (int64_t x = 0; x < left; ++x) to[x] = T{};
    if (step == 1) {
      std::memcpy(static_cast<void*>(to + left), from + left, static_cast<size_t>(right - left) * sizeof(T));
    } else {
      for (int64_t x = left; x < right; ++x) to[x] = from[x * step];
    }
    for (int64_t x = right; x < wide; ++x) to[x] = T{};
  }
}

struct Item16 {
  uint64_t word[2];
};

template <class T>
void im2col_items(const Tensor& self, const Tensor& out, const Blocks& b) {
  const bool batched = self.dim() == 4;
  const int64_t batch = batched ? self.size(0) : 1, channels = self.size(-3);
  const int64_t batch_stride = batched ? self.stride(0) : 0;
  const T* x = static_cast<const T*>(self.data());
  T* y = static_cast<T*>(out.data());
  const int64_t rows = channels * b.size();
  adjacent_columns(b.stride[1] * self.stride(-1) == 1);
  parallel_for(batch * rows, grain_for(2 * b.blocks()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / rows, c = i % rows / b.size(), k = i % b.size();
      copy_block_rows(y + i * b.blocks(), x + n * batch_stride + c * self.stride(-3), self.stride(-2), self.stride(-1),
                      b, k / b.kernel[1], k % b.kernel[1]);
    }
  });
}

// Planes add up in W (float for halves) and are rounded once.
template <class T, class W>
void col2im_planes(const Tensor& self, const Tensor& out, const Blocks& b) {
  const int64_t plane = b.image[0] * b.image[1], planes = out.numel() / std::max<int64_t>(plane, 1);
  const T* x = static_cast<const T*>(self.data());
  T* y = static_cast<T*>(out.data());
  sums_in_place(std::is_same_v<T, W>);
  adjacent_sums(b.stride[1] == 1);
  parallel_for(planes, grain_for(2 * b.blocks() * b.size()), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    W* sums = nullptr;
    if constexpr (!std::is_same_v<T, W>)
      sums = static_cast<W*>(scratch.take_bytes(static_cast<size_t>(plane) * sizeof(W)));
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<T, W>) sums = y + i * plane;
      std::fill_n(sums, plane, W{});
      const T* column = x + i * b.size() * b.blocks();
      for (int64_t k = 0; k < b.size(); ++k, column += b.blocks()) {
        const int64_t ky = k / b.kernel[1], kx = k % b.kernel[1];
        int64_t top, bottom, left, right;
        b.inside(0, ky, top, bottom);
        b.inside(1, kx, left, right);
        for (int64_t r = top; r < bottom; ++r) {
          W* __restrict to = sums + (r * b.stride[0] + ky * b.dilation[0] - b.padding[0]) * b.image[1] +
                             kx * b.dilation[1] - b.padding[1];
          const T* __restrict from = column + r * b.count[1];
          const auto add = [&](int64_t at, int64_t q) {
            if constexpr (std::is_same_v<W, bool>)
              to[at] = to[at] || from[q];
            else
              to[at] += widened(from[q]);
          };
          if (b.stride[1] == 1) {
            for (int64_t q = left; q < right; ++q) add(q, q);
          } else {
            for (int64_t q = left; q < right; ++q) add(q * b.stride[1], q);
          }
        }
      }
      if constexpr (!std::is_same_v<T, W>) {
        for (int64_t e = 0; e < plane; ++e) y[i * plane + e] = narrowed<T>(sums[e]);
      }
    }
  });
}

}  // namespace

namespace any_device {

OutSpec im2col_spec(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  const Blocks b = im2col_blocks(self, kernel_size, dilation, padding, stride);
  check_dtype(self, "im2col_out_cpu");
  return {with_batch(self, 3, {self.size(-3) * b.size(), b.blocks()}), self.dtype()};
}

OutSpec col2im_spec(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
                    IntList stride) {
  const Blocks b = col2im_blocks(self, output_size, kernel_size, dilation, padding, stride);
  check_dtype(self, "col2im_out_cpu");
  return {with_batch(self, 2, {self.size(-2) / b.size(), b.image[0], b.image[1]}), self.dtype()};
}

}  // namespace any_device

namespace cpu {

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            const Tensor& out) {
  const Blocks b = im2col_blocks(self, kernel_size, dilation, padding, stride);
  if (out.numel() == 0) return;
  switch (self.item_size()) {
    case 1:
      return im2col_items<uint8_t>(self, out, b);
    case 2:
      return im2col_items<uint16_t>(self, out, b);
    case 4:
      return im2col_items<uint32_t>(self, out, b);
    case 8:
      return im2col_items<uint64_t>(self, out, b);
    default:
      return im2col_items<Item16>(self, out, b);
  }
}

void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  const Blocks b = col2im_blocks(self, output_size, kernel_size, dilation, padding, stride);
  if (out.numel() == 0) return;
  const Tensor columns = contiguous_tensor(self);
  switch (self.dtype()) {
    case DType::bool_:
      return col2im_planes<bool, bool>(columns, out, b);
    case DType::float16:
      return col2im_planes<Half, float>(columns, out, b);
    case DType::bfloat16:
      return col2im_planes<BFloat16, float>(columns, out, b);
    case DType::float32:
      return col2im_planes<float, float>(columns, out, b);
    case DType::float64:
      return col2im_planes<double, double>(columns, out, b);
    case DType::complex64:
      return col2im_planes<std::complex<float>, std::complex<float>>(columns, out, b);
    default:
      return col2im_planes<std::complex<double>, std::complex<double>>(columns, out, b);
  }
}

namespace {

// Windows along one dimension: element k of window w of a line is added to element w * step + k.
template <class T>
void add_windows(const Tensor& grad, const Tensor& out, int64_t dim, int64_t size, int64_t step) {
  const int64_t windows = grad.size(dim), length = out.size(dim);
  int64_t inner = 1, outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= out.size(d);
  for (int64_t d = dim + 1; d < out.dim(); ++d) inner *= out.size(d);
  last_dim(inner == 1);
  const T* x = static_cast<const T*>(grad.data());
  T* y = static_cast<T*>(out.data());
  parallel_for(outer, grain_for(2 * windows * inner * size), [&](int64_t begin, int64_t end) {
    std::fill(y + begin * length * inner, y + end * length * inner, T{});
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t w = 0; w < windows; ++w) {
        for (int64_t i = 0; i < inner; ++i) {
          const T* __restrict from = x + ((o * windows + w) * inner + i) * size;
          T* __restrict to = y + (o * length + w * step) * inner + i;
          if (inner == 1) {
            for (int64_t k = 0; k < size; ++k) to[k] = add_elements(to[k], from[k]);
          } else {
            for (int64_t k = 0; k < size; ++k) to[k * inner] = add_elements(to[k * inner], from[k]);
          }
        }
      }
    }
  });
}

}  // namespace

void unfold_backward(const Tensor& grad_in, IntList, int64_t dim, int64_t size, int64_t step, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor grad = contiguous_tensor(grad_in);
  if (out.dim() == 0) {  // one window of one element
    const Tensor line = make_view(out, Dims({1}), Dims({1}), out.storage_offset());
    const Tensor window = make_view(grad, Dims({1, grad.numel()}), Dims({grad.numel(), 1}), grad.storage_offset());
    visit_dtype(out.dtype(), [&]<class T>() { add_windows<T>(window, line, 0, grad.numel() == 0 ? 0 : 1, 1); });
    return;
  }
  visit_dtype(out.dtype(), [&]<class T>() { add_windows<T>(grad, out, wrap_dim(dim, out.dim()), size, step); });
}

}  // namespace cpu
}  // namespace sconce
