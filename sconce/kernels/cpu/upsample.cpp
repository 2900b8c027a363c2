// Resizing of 1 to 3 spatial dimensions. In each dimension an output element is a weighted sum of few input elements (its
// taps): 1 for nearest, 2 for linear, 4 for cubic. The taps of a dimension are computed once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

enum class Mode { nearest, nearest_exact, linear, cubic };
using Scale = std::optional<double>;

OutSpec resized_spec(const Tensor& self, int rank, IntList output_size) {
  SCONCE_CHECK(static_cast<int>(output_size.size()) == rank, "It is expected output_size equals to {}, but got size {}", rank,
               output_size.size());
  SCONCE_CHECK(self.dim() == rank + 2, "It is expected input_size equals to {}, but got size {}", rank + 2, self.dim());
  OutSpec spec{Dims(self.sizes()), self.dtype(), suggested_format(self)};
  for (int i = 0; i < rank; ++i) {
    spec.sizes[static_cast<size_t>(2 + i)] = output_size[static_cast<size_t>(i)];
    SCONCE_CHECK(self.size(2 + i) > 0 && output_size[static_cast<size_t>(i)] > 0,
                 "Input and output sizes should be greater than 0, but got input {} output {}", self.sizes(), output_size);
  }
  SCONCE_CHECK(self.numel() != 0 || self.size(0) == 0, "Non-empty data tensor expected but got a tensor with sizes {}", self.sizes());
  return spec;
}

template <class T>
struct Taps {
  int count = 1;
  std::vector<int64_t> index;  // count per output element, as offsets in elements
  std::vector<T> weight;
};

template <class T>
Taps<T> taps_of(Mode mode, int64_t in, int64_t out, int64_t stride, bool align_corners, Scale scale) {
  Taps<T> taps;
  taps.count = mode == Mode::cubic ? 4 : mode == Mode::linear ? 2 : 1;
  const auto add = [&](int64_t i, T w) {
    taps.index.push_back(std::clamp<int64_t>(i, 0, in - 1) * stride);
    taps.weight.push_back(w);
  };
  T ratio;
  if (align_corners) {
    ratio = out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  } else {
    ratio = scale && *scale > 0 ? static_cast<T>(1.0 / *scale) : static_cast<T>(in) / static_cast<T>(out);
  }
  for (int64_t o = 0; o < out; ++o) {
    const T x = static_cast<T>(o);
    if (mode == Mode::nearest) {
      add(std::min(static_cast<int64_t>(std::floor(x * ratio)), in - 1), 1);
    } else if (mode == Mode::nearest_exact) {
      add(std::min(static_cast<int64_t>(std::floor((x + T(0.5)) * ratio)), in - 1), 1);
    } else if (mode == Mode::linear) {
      const T source = align_corners ? ratio * x : std::max(ratio * (x + T(0.5)) - T(0.5), T(0));
      const int64_t first = std::min(static_cast<int64_t>(source), in - 1);
      const T w = std::clamp(source - static_cast<T>(first), T(0), T(1));
      add(first, 1 - w);
      add(first + (first < in - 1 ? 1 : 0), w);
    } else {
      const T source = align_corners ? ratio * x : ratio * (x + T(0.5)) - T(0.5);
      const T floor = std::floor(source);
      const T t = source - floor, a = T(-0.75);
      const auto near = [&](T d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };           // |d| <= 1
      const auto far = [&](T d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };      // 1 < |d| < 2
      const auto first = static_cast<int64_t>(floor);
      add(first - 1, far(t + 1));
      add(first, near(t));
      add(first + 1, near(1 - t));
      add(first + 2, far(2 - t));
    }
  }
  return taps;
}

template <class T>
void resize(const Tensor& self, const Tensor& out, int rank, Mode mode, bool align_corners, const Scale* scales) {
  Taps<T> taps[3];
  int64_t sizes[3] = {1, 1, 1}, strides[3] = {0, 0, 0};
  for (int d = 0; d < 3; ++d) {
    const int i = d - (3 - rank);
    if (i < 0) {
      taps[d].index = {0};
      taps[d].weight = {T(1)};
      continue;
    }
    sizes[d] = out.size(2 + i);
    strides[d] = out.strides()[2 + i];
    taps[d] = taps_of<T>(mode, self.size(2 + i), sizes[d], self.strides()[2 + i], align_corners, scales[i]);
  }
  const int64_t channels = self.size(1), in_channel = self.strides()[1], out_channel = out.strides()[1];
  const T* x = self.data<T>();
  T* y = out.data<T>();
  const bool planar = in_channel != 1;  // channels outside: a plane at a time, else a pixel at a time
  const int64_t rows = sizes[0] * sizes[1];
  const int64_t work = self.size(0) * (planar ? channels : 1) * rows;
  parallel_for(work, 16, [&](int64_t from, int64_t to) {
    for (int64_t job = from; job < to; ++job) {
      const int64_t row = job % rows, plane = job / rows;
      const int64_t n = planar ? plane / channels : plane, c0 = planar ? plane % channels : 0;
      const int64_t d = row / sizes[1], h = row % sizes[1];
      const T* source = x + n * self.strides()[0] + c0 * in_channel;
      T* target = y + n * out.strides()[0] + c0 * out_channel + d * strides[0] + h * strides[1];
      const int64_t count = planar ? 1 : channels;
      for (int64_t w = 0; w < sizes[2]; ++w) {
        T* pixel = target + w * strides[2];
        bool first = true;
        for (int a = 0; a < taps[0].count; ++a) {
          for (int b = 0; b < taps[1].count; ++b) {
            for (int e = 0; e < taps[2].count; ++e) {
              const int64_t ia = d * taps[0].count + a, ib = h * taps[1].count + b, ie = w * taps[2].count + e;
              const T weight = taps[0].weight[ia] * taps[1].weight[ib] * taps[2].weight[ie];
              const T* value = source + taps[0].index[ia] + taps[1].index[ib] + taps[2].index[ie];
              if (first) {
                for (int64_t c = 0; c < count; ++c) pixel[c * out_channel] = weight * value[c * in_channel];
                first = false;
              } else {
                for (int64_t c = 0; c < count; ++c) pixel[c * out_channel] += weight * value[c * in_channel];
              }
            }
          }
        }
      }
    }
  });
}

void run(const Tensor& self, const Tensor& out, int rank, Mode mode, bool align_corners, std::initializer_list<Scale> scales) {
  if (out.numel() == 0) return;
  const DType t = self.dtype();
  const bool nearest = mode == Mode::nearest || mode == Mode::nearest_exact;
  SCONCE_CHECK_AS(not_implemented, is_floating(t) || (nearest && t == DType::uint8), "upsample is not implemented for '{}'",
                  dtype_legacy_name(t));
  if (t == DType::float64) return resize<double>(self, out, rank, mode, align_corners, scales.begin());
  const Tensor x = to_dtype(self, DType::float32);
  const Tensor y = t == DType::float32 ? out : empty_strided_tensor(out.sizes(), out.strides(), DType::float32);
  resize<float>(x, y, rank, mode, align_corners, scales.begin());
  if (!y.is_same(out)) copy_tensor(out, y);
}

}  // namespace

namespace any_device {

#define SCONCE_SPEC1(name) \
  OutSpec name##_spec(const Tensor& self, IntList size, Scale) { return resized_spec(self, 1, size); }
#define SCONCE_SPEC2(name) \
  OutSpec name##_spec(const Tensor& self, IntList size, Scale, Scale) { return resized_spec(self, 2, size); }
#define SCONCE_SPEC3(name) \
  OutSpec name##_spec(const Tensor& self, IntList size, Scale, Scale, Scale) { return resized_spec(self, 3, size); }
SCONCE_SPEC1(upsample_nearest1d)
SCONCE_SPEC2(upsample_nearest2d)
SCONCE_SPEC3(upsample_nearest3d)
SCONCE_SPEC1(_upsample_nearest_exact1d)
SCONCE_SPEC2(_upsample_nearest_exact2d)
SCONCE_SPEC3(_upsample_nearest_exact3d)
#undef SCONCE_SPEC1
#undef SCONCE_SPEC2
#undef SCONCE_SPEC3
OutSpec upsample_linear1d_spec(const Tensor& self, IntList size, bool, Scale) { return resized_spec(self, 1, size); }
OutSpec upsample_bilinear2d_spec(const Tensor& self, IntList size, bool, Scale, Scale) { return resized_spec(self, 2, size); }
OutSpec upsample_bicubic2d_spec(const Tensor& self, IntList size, bool, Scale, Scale) { return resized_spec(self, 2, size); }
OutSpec upsample_trilinear3d_spec(const Tensor& self, IntList size, bool, Scale, Scale, Scale) {
  return resized_spec(self, 3, size);
}

}  // namespace any_device

namespace cpu {

void upsample_nearest1d(const Tensor& self, IntList, Scale w, const Tensor& out) {
  run(self, out, 1, Mode::nearest, false, {w});
}
void upsample_nearest2d(const Tensor& self, IntList, Scale h, Scale w, const Tensor& out) {
  run(self, out, 2, Mode::nearest, false, {h, w});
}
void upsample_nearest3d(const Tensor& self, IntList, Scale d, Scale h, Scale w, const Tensor& out) {
  run(self, out, 3, Mode::nearest, false, {d, h, w});
}
void _upsample_nearest_exact1d(const Tensor& self, IntList, Scale w, const Tensor& out) {
  run(self, out, 1, Mode::nearest_exact, false, {w});
}
void _upsample_nearest_exact2d(const Tensor& self, IntList, Scale h, Scale w, const Tensor& out) {
  run(self, out, 2, Mode::nearest_exact, false, {h, w});
}
void _upsample_nearest_exact3d(const Tensor& self, IntList, Scale d, Scale h, Scale w, const Tensor& out) {
  run(self, out, 3, Mode::nearest_exact, false, {d, h, w});
}
void upsample_linear1d(const Tensor& self, IntList, bool align_corners, Scale w, const Tensor& out) {
  run(self, out, 1, Mode::linear, align_corners, {w});
}
void upsample_bilinear2d(const Tensor& self, IntList, bool align_corners, Scale h, Scale w, const Tensor& out) {
  run(self, out, 2, Mode::linear, align_corners, {h, w});
}
void upsample_bicubic2d(const Tensor& self, IntList, bool align_corners, Scale h, Scale w, const Tensor& out) {
  run(self, out, 2, Mode::cubic, align_corners, {h, w});
}
void upsample_trilinear3d(const Tensor& self, IntList, bool align_corners, Scale d, Scale h, Scale w, const Tensor& out) {
  run(self, out, 3, Mode::linear, align_corners, {d, h, w});
}

}  // namespace cpu
}  // namespace sconce
