// Deformable convolution: the input is sampled at moved places into a matrix of columns, which weights multiply.
#include "common.h"

namespace torchvision {
namespace {

struct Shape {
  int64_t batch, channels, height, width, out_channels, kernel_h, kernel_w, out_h, out_w;
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
  bool use_mask;

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t rows() const { return channels * taps(); }
  int64_t places() const { return out_h * out_w; }
};

Shape shape_of(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask, const Tensor& bias,
               int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
               int64_t groups, int64_t offset_groups, bool use_mask) {
  const char* name = "deform_conv2d";
  SCONCE_CHECK(input.dim() == 4 && weight.dim() == 4 && offset.dim() == 4,
               "{}: input, weight and offset must have 4 dimensions, got {}, {} and {}", name, input.sizes(),
               weight.sizes(), offset.sizes());
  SCONCE_CHECK(!use_mask || mask.dim() == 4, "{}: mask must have 4 dimensions, got {}", name, mask.sizes());
  SCONCE_CHECK(weight.dtype() == input.dtype() && offset.dtype() == input.dtype() && bias.dtype() == input.dtype() &&
                   (!use_mask || mask.dtype() == input.dtype()),
               "{}: input, weight, offset, mask and bias must have one dtype, got {}, {}, {}, {} and {}", name,
               dtype_name(input.dtype()), dtype_name(weight.dtype()), dtype_name(offset.dtype()),
               dtype_name(mask.dtype()), dtype_name(bias.dtype()));
  Shape s{input.size(0),
          input.size(1),
          input.size(2),
          input.size(3),
          weight.size(0),
          weight.size(2),
          weight.size(3),
          0,
          0,
          stride_h,
          stride_w,
          pad_h,
          pad_w,
          dilation_h,
          dilation_w,
          groups,
          offset_groups,
          use_mask};
  SCONCE_CHECK(s.kernel_h > 0 && s.kernel_w > 0, "{}: weight_h: {} weight_w: {}", name, s.kernel_h, s.kernel_w);
  SCONCE_CHECK(stride_h > 0 && stride_w > 0, "{}: stride_h: {} stride_w: {}", name, stride_h, stride_w);
  SCONCE_CHECK(pad_h >= 0 && pad_w >= 0, "{}: pad_h: {} pad_w: {}", name, pad_h, pad_w);
  SCONCE_CHECK(dilation_h > 0 && dilation_w > 0, "{}: dilation_h: {} dilation_w: {}", name, dilation_h, dilation_w);
  SCONCE_CHECK(groups > 0 && offset_groups > 0, "{}: groups and offset_groups must be positive, got {} and {}", name,
               groups, offset_groups);
  SCONCE_CHECK(Checked(weight.size(1)) * groups == Checked(s.channels),
               "{}: weight of shape {} does not fit {} channels in {} groups", name, weight.sizes(), s.channels,
               groups);
  SCONCE_CHECK(s.out_channels % groups == 0, "{}: {} output channels cannot be cut into {} groups", name,
               s.out_channels, groups);
  SCONCE_CHECK(s.channels % offset_groups == 0, "{}: {} channels cannot be cut into {} offset groups", name, s.channels,
               offset_groups);
  SCONCE_CHECK(bias.dim() == 1 && bias.size(0) == s.out_channels, "{}: expected bias of shape [{}], got {}", name,
               s.out_channels, bias.sizes());
  const int64_t places = Checked(offset_groups) * s.taps();
  SCONCE_CHECK(offset.size(1) == 2 * places, "{}: offset.shape[1] is not valid: got: {} expected: {}", name,
               offset.size(1), 2 * places);
  SCONCE_CHECK(!use_mask || mask.size(1) == places, "{}: mask.shape[1] is not valid: got: {} expected: {}", name,
               mask.size(1), places);
  SCONCE_CHECK(offset.size(0) == s.batch, "{}: invalid batch size of offset: {}, input has {}", name, offset.size(0),
               s.batch);
  SCONCE_CHECK(!use_mask || mask.size(0) == s.batch, "{}: invalid batch size of mask: {}, input has {}", name,
               mask.size(0), s.batch);
  s.out_h = (s.height + Checked(2) * pad_h - (Checked(dilation_h) * (s.kernel_h - 1) + 1)) / stride_h + 1;
  s.out_w = (s.width + Checked(2) * pad_w - (Checked(dilation_w) * (s.kernel_w - 1) + 1)) / stride_w + 1;
  SCONCE_CHECK(offset.size(2) == s.out_h && offset.size(3) == s.out_w,
               "{}: offset output dims: ({}, {}) - computed output dims: ({}, {})", name, offset.size(2),
               offset.size(3), s.out_h, s.out_w);
  SCONCE_CHECK(!use_mask || (mask.size(2) == s.out_h && mask.size(3) == s.out_w),
               "{}: mask output dims: ({}, {}) - computed output dims: ({}, {})", name, mask.size(2), mask.size(3),
               s.out_h, s.out_w);
  SCONCE_CHECK(s.out_h > 0 && s.out_w > 0, "{}: Calculated output size too small - out_h: {} out_w: {}", name, s.out_h,
               s.out_w);
  return s;
}

// The neighbours of a moved place, and how the sample changes with it. Outside, the input is 0.
template <class T>
struct Moved {
  int64_t at[4];
  T weight[4], by_y[4], by_x[4];
  int count = 0;

  Moved(const Shape& s, T y, T x) {
    if (!(y >= -1 && y < static_cast<T>(s.height) && x >= -1 && x < static_cast<T>(s.width))) return;
    const T y0 = std::floor(y), x0 = std::floor(x), dy = y - y0, dx = x - x0;
    for (int k = 0; k < 4; ++k) {
      const int64_t row = static_cast<int64_t>(y0) + k / 2, column = static_cast<int64_t>(x0) + k % 2;
      if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
      const T along_y = k / 2 ? dy : 1 - dy, along_x = k % 2 ? dx : 1 - dx;
      at[count] = row * s.width + column;
      weight[count] = along_y * along_x;
      by_y[count] = k / 2 ? along_x : -along_x;
      by_x[count++] = k % 2 ? along_y : -along_y;
    }
  }
};

// Where tap k of offset group g stands for output place p of an image.
template <class T>
Moved<T> moved_tap(const Shape& s, const T* offset, int64_t g, int64_t k, int64_t p) {
  const T* o = offset + (g * 2 * s.taps() + 2 * k) * s.places() + p;
  const int64_t h = p / s.out_w * s.stride_h - s.pad_h + k / s.kernel_w * s.dilation_h;
  const int64_t w = p % s.out_w * s.stride_w - s.pad_w + k % s.kernel_w * s.dilation_w;
  return Moved<T>(s, static_cast<T>(h) + o[0], static_cast<T>(w) + o[s.places()]);
}

// columns[(channel, tap)][place] of one image.
template <class T>
void fill_columns(const Shape& s, const T* image, const T* offset, const T* mask, T* columns) {
  const int64_t per_group = s.channels / s.offset_groups, places = s.places();
  parallel_for(s.offset_groups * s.taps(), 1, [&](int64_t from, int64_t to) {
    std::vector<Moved<T>> moved;
    for (int64_t i = from; i < to; ++i) {
      const int64_t g = i / s.taps(), k = i % s.taps();
      // A few hundred places at a time, so that what was computed for all channels stays near.
      for (int64_t start = 0; start < places; start += 256) {
        const int64_t end = std::min(start + 256, places);
        moved.clear();
        for (int64_t p = start; p < end; ++p) moved.push_back(moved_tap(s, offset, g, k, p));
        for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
          const T* plane = image + c * s.height * s.width;
          T* row = columns + (c * s.taps() + k) * places;
          for (int64_t p = start; p < end; ++p) {
            const Moved<T>& m = moved[static_cast<size_t>(p - start)];
            T sum = 0;
            for (int q = 0; q < m.count; ++q) sum += m.weight[q] * plane[m.at[q]];
            row[p] = s.use_mask ? mask[i * places + p] * sum : sum;
          }
        }
      }
    }
  });
}

void check_backward(const Tensor& grad, const Tensor& input, const Shape& s) {
  check_grad(grad, s.batch, s.out_channels, s.out_h, s.out_w, "_deform_conv2d_backward");
  SCONCE_CHECK(grad.dtype() == input.dtype(), "_deform_conv2d_backward: expected grad of dtype {}, got {}",
               dtype_name(input.dtype()), dtype_name(grad.dtype()));
}

Tensor grouped(const Tensor& weight, const Shape& s) {
  return weight.contiguous().view({s.groups, s.out_channels / s.groups, s.rows() / s.groups});
}

}  // namespace

Tensor deform_conv2d_meta(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                          const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                          int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
                          bool use_mask) {
  const Shape s = shape_of(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                           groups, offset_groups, use_mask);
  return empty_tensor({s.batch, s.out_channels, s.out_h, s.out_w}, input.dtype(), input.device());
}

Tensor deform_conv2d_cpu(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                         const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                         int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
  const Shape s = shape_of(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                           groups, offset_groups, use_mask);
  Tensor out;
  compute(input.dtype(), "deformable_im2col", [&]<class T>() {
    const Tensor x = prepared(input), w = grouped(prepared(weight), s), o = prepared(offset), b = prepared(bias);
    const Tensor m = use_mask ? prepared(mask) : Tensor();
    out = empty_tensor({s.batch, s.out_channels, s.out_h, s.out_w}, x.dtype());
    const int64_t places = s.places(), taps = s.taps();
    const Tensor columns = empty_tensor({s.groups, s.rows() / s.groups, places}, x.dtype());
    for (int64_t n = 0; n < s.batch; ++n) {
      fill_columns<T>(s, x.data<T>() + n * s.channels * s.height * s.width,
                      o.data<T>() + n * s.offset_groups * 2 * taps * places,
                      use_mask ? m.data<T>() + n * s.offset_groups * taps * places : nullptr, columns.data<T>());
      const Tensor product = bmm(w, columns);
      const T* p = product.data<T>();
      T* y = out.data<T>() + n * s.out_channels * places;
      for (int64_t c = 0; c < s.out_channels; ++c) {
        const T plus = b.data<T>()[c];
        for (int64_t i = 0; i < places; ++i) y[c * places + i] = p[c * places + i] + plus;
      }
    }
  });
  return finished(out, input.dtype());
}

Five deform_conv2d_backward_meta(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset,
                                 const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                                 int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups,
                                 int64_t offset_groups, bool use_mask) {
  const Shape s = shape_of(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                           groups, offset_groups, use_mask);
  check_backward(grad, input, s);
  const auto like = [](const Tensor& t) { return empty_tensor(t.sizes(), t.dtype(), t.device()); };
  return {like(input), like(weight), like(offset), like(mask), like(bias)};
}

Five deform_conv2d_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset,
                                const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                                int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups,
                                int64_t offset_groups, bool use_mask) {
  const Shape s = shape_of(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                           groups, offset_groups, use_mask);
  check_backward(grad, input, s);
  Five result;
  compute(input.dtype(), "deformable_col2im", [&]<class T>() {
    const Tensor g = prepared(grad), x = prepared(input), w = grouped(prepared(weight), s), o = prepared(offset);
    const Tensor m = use_mask ? prepared(mask) : Tensor();
    const DType dtype = x.dtype();
    const auto cleared = [&](IntList sizes) {
      Tensor t = empty_tensor(sizes, dtype);
      std::fill_n(t.data<T>(), t.numel(), T(0));
      return t;
    };
    Tensor grad_input = cleared(input.sizes()), grad_offset = cleared(offset.sizes()),
           grad_mask = cleared(mask.sizes());
    Tensor grad_weight = cleared(w.sizes()), grad_bias = cleared(bias.sizes());
    const int64_t places = s.places(), taps = s.taps(), per_group = s.channels / s.offset_groups,
                  plane = s.height * s.width;
    const Tensor columns = empty_tensor({s.groups, s.rows() / s.groups, places}, dtype);
    const Tensor transposed = w.transpose(1, 2);
    for (int64_t n = 0; n < s.batch; ++n) {
      const T* gn = g.data<T>() + n * s.out_channels * places;
      for (int64_t c = 0; c < s.out_channels; ++c) {
        for (int64_t i = 0; i < places; ++i) grad_bias.data<T>()[c] += gn[c * places + i];
      }
      Tensor g_matrix = empty_tensor({s.groups, s.out_channels / s.groups, places}, dtype);
      std::copy_n(gn, s.out_channels * places, g_matrix.data<T>());
      const T* image = x.data<T>() + n * s.channels * plane;
      const T* on = o.data<T>() + n * s.offset_groups * 2 * taps * places;
      const T* mn = use_mask ? m.data<T>() + n * s.offset_groups * taps * places : nullptr;
      fill_columns<T>(s, image, on, mn, columns.data<T>());
      grad_weight = grad_weight.add(bmm(g_matrix, columns.transpose(1, 2)));
      const Tensor grad_columns = bmm(transposed, g_matrix).contiguous();
      const T* gc = grad_columns.data<T>();
      T* gi = grad_input.data<T>() + n * s.channels * plane;
      T* go = grad_offset.data<T>() + n * s.offset_groups * 2 * taps * places;
      T* gm = use_mask ? grad_mask.data<T>() + n * s.offset_groups * taps * places : nullptr;
      parallel_for(s.offset_groups, 1, [&](int64_t from, int64_t to) {  // channels of a group belong to it alone
        for (int64_t i = from * taps; i < to * taps; ++i) {
          const int64_t group = i / taps, k = i % taps;
          for (int64_t p = 0; p < places; ++p) {
            const Moved<T> moved = moved_tap(s, on, group, k, p);
            const T factor = use_mask ? mn[i * places + p] : T(1);
            T by_y = 0, by_x = 0, by_mask = 0;
            for (int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
              const T v = gc[(c * taps + k) * places + p];
              for (int q = 0; q < moved.count; ++q) {
                const T value = image[c * plane + moved.at[q]];
                gi[c * plane + moved.at[q]] += factor * moved.weight[q] * v;
                by_y += moved.by_y[q] * value * v;
                by_x += moved.by_x[q] * value * v;
                by_mask += moved.weight[q] * value * v;
              }
            }
            go[(group * 2 * taps + 2 * k) * places + p] = factor * by_y;
            go[(group * 2 * taps + 2 * k + 1) * places + p] = factor * by_x;
            if (gm) gm[i * places + p] = by_mask;
          }
        }
      });
    }
    const DType t = input.dtype();
    result = {finished(grad_input, t), finished(grad_weight.view(weight.sizes()), t), finished(grad_offset, t),
              finished(grad_mask, t), finished(grad_bias, t)};
  });
  return result;
}

}  // namespace torchvision
