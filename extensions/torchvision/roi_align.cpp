// RoIAlign, plain and position sensitive (where every bin has channels of its own).
#include "common.h"

namespace torchvision {
namespace {

// How a region is cut into bins, and a bin into samples.
template <class T>
struct Bins {
  int64_t image, samples_h, samples_w;
  T start_h, start_w, bin_h, bin_w;

  // `least` is the least width and height of a region.
  Bins(const T* roi, T scale, T offset, T least, int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio)
      : image(static_cast<int64_t>(roi[0])) {
    start_w = roi[1] * scale - offset;
    start_h = roi[2] * scale - offset;
    const T width = std::max(roi[3] * scale - offset - start_w, least),
            height = std::max(roi[4] * scale - offset - start_h, least);
    bin_h = height / static_cast<T>(pooled_height);
    bin_w = width / static_cast<T>(pooled_width);
    constexpr T most = T(1 << 20);  // samples; a region that large has no meaning
    const auto samples = [&](T extent) {
      if (sampling_ratio > 0) return sampling_ratio;
      return extent > T(0) ? static_cast<int64_t>(std::min(std::ceil(extent), most)) : int64_t{0};
    };
    samples_h = samples(bin_h);
    samples_w = samples(bin_w);
  }
  struct Range {
    int64_t from, to;
  };
  // The samples of a bin that may lie in an image of `size` pixels, and a few more: regions come from data, and may be
  // much larger than the image.
  static Range near(T begin, T bin, int64_t samples, int64_t size) {
    const double step = static_cast<double>(bin) / static_cast<double>(samples), first = static_cast<double>(begin);
    if (!(step > 0)) return {0, samples};
    // Positions are rounded to T.
    const double error =
        8 * std::numeric_limits<T>::epsilon() * (std::fabs(first) + std::fabs(static_cast<double>(bin)));
    const auto number = [&](double at) {
      return static_cast<int64_t>(std::clamp((at - first) / step, 0.0, static_cast<double>(samples)));
    };
    const int64_t from = number(-2 - error), to = number(static_cast<double>(size) + 1 + error);
    return {std::max<int64_t>(from - 2, 0), std::min(to + 2, samples)};
  }
  // f(neighbours) for every sample of bin (ph, pw) that lies in the image.
  template <class F>
  void for_each(int64_t ph, int64_t pw, int64_t height, int64_t width, F&& f) const {
    const Range rows = near(start_h + static_cast<T>(ph) * bin_h, bin_h, samples_h, height);
    const Range columns = near(start_w + static_cast<T>(pw) * bin_w, bin_w, samples_w, width);
    for (int64_t i = rows.from; i < rows.to; ++i) {
      const T y =
          start_h + static_cast<T>(ph) * bin_h + (static_cast<T>(i) + T(0.5)) * bin_h / static_cast<T>(samples_h);
      for (int64_t j = columns.from; j < columns.to; ++j) {
        const T x =
            start_w + static_cast<T>(pw) * bin_w + (static_cast<T>(j) + T(0.5)) * bin_w / static_cast<T>(samples_w);
        const Neighbours<T> n(height, width, y, x);
        if (n.inside) f(n);
      }
    }
  }
};

template <class T>
constexpr T kNoLeast = T(-1e30);

// The samples of all bins of a region, bin after bin: computed once for all channels.
template <class T>
struct Samples {
  std::vector<Neighbours<T>> list;
  std::vector<size_t> first;  // of each bin, and the end

  void fill(const Bins<T>& b, int64_t pooled_height, int64_t pooled_width, int64_t height, int64_t width) {
    list.clear();
    first.assign(1, 0);
    for (int64_t bin = 0; bin < bins_of(pooled_height, pooled_width); ++bin) {
      b.for_each(bin / pooled_width, bin % pooled_width, height, width,
                 [&](const Neighbours<T>& n) { list.push_back(n); });
      first.push_back(list.size());
    }
  }
};

}  // namespace

Tensor roi_align_meta(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width,
                      int64_t sampling_ratio, bool) {
  check_input(input, rois, "roi_align");
  check_pooled(pooled_height, pooled_width, "roi_align");
  check_samples(sampling_ratio, "roi_align");
  return empty_tensor({rois.size(0), input.size(1), pooled_height, pooled_width}, input.dtype(), input.device());
}

Tensor roi_align_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
  const Tensor result =
      roi_align_meta(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned);
  const int64_t channels = input.size(1), height = input.size(2), width = input.size(3),
                bins = bins_of(pooled_height, pooled_width);
  Tensor out;
  compute(input.dtype(), "roi_align_forward_kernel", [&]<class T>() {
    const Tensor x = prepared(input), r = prepared(rois);
    out = result.dtype() == x.dtype() ? result : empty_tensor(result.sizes(), x.dtype());
    if (out.numel() == 0) return;
    check_images<T>(r, input.size(0), "roi_align");
    parallel_for(rois.size(0), 1, [&](int64_t from, int64_t to) {
      Samples<T> samples;
      for (int64_t k = from; k < to; ++k) {
        const Bins<T> b(r.data<T>() + k * 5, static_cast<T>(spatial_scale), aligned ? T(0.5) : T(0),
                        aligned ? kNoLeast<T> : T(1), pooled_height, pooled_width, sampling_ratio);
        const T* image = x.data<T>() + b.image * channels * height * width;
        T* y = out.data<T>() + k * channels * bins;
        const T count = static_cast<T>(std::max<int64_t>(b.samples_h * b.samples_w, 1));
        samples.fill(b, pooled_height, pooled_width, height, width);
        for (int64_t c = 0; c < channels; ++c) {
          const T* plane = image + c * height * width;
          for (int64_t bin = 0; bin < bins; ++bin) {
            T sum = 0;
            for (size_t i = samples.first[static_cast<size_t>(bin)]; i < samples.first[static_cast<size_t>(bin) + 1];
                 ++i) {
              const Neighbours<T>& n = samples.list[i];
              for (int q = 0; q < 4; ++q) sum += n.weight[q] * plane[n.at[q]];
            }
            y[c * bins + bin] = sum / count;
          }
        }
      }
    });
  });
  return finished(out, input.dtype());
}

Tensor roi_align_backward_meta(const Tensor& grad, const Tensor& rois, double, int64_t pooled_height,
                               int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height,
                               int64_t width, int64_t sampling_ratio, bool) {
  check_backward(grad, rois, pooled_height, pooled_width, channels, "_roi_align_backward");
  check_samples(sampling_ratio, "_roi_align_backward");
  return empty_tensor({batch_size, channels, height, width}, grad.dtype(), grad.device());
}

Tensor roi_align_backward_cpu(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                              int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                              int64_t sampling_ratio, bool aligned) {
  check_backward(grad, rois, pooled_height, pooled_width, channels, "_roi_align_backward");
  check_samples(sampling_ratio, "_roi_align_backward");
  Tensor out;
  compute(grad.dtype(), "roi_align_backward_kernel", [&]<class T>() {
    const Tensor g = prepared(grad), r = prepared(rois);
    out = empty_tensor({batch_size, channels, height, width}, g.dtype());
    std::fill_n(out.data<T>(), out.numel(), T(0));
    if (out.numel() == 0 || g.numel() == 0) return;
    check_images<T>(r, batch_size, "_roi_align_backward");
    const int64_t bins = bins_of(pooled_height, pooled_width);
    parallel_for(channels, 8, [&](int64_t from, int64_t to) {  // regions may overlap, channels do not
      Samples<T> samples;
      for (int64_t k = 0; k < rois.size(0); ++k) {
        const Bins<T> b(r.data<T>() + k * 5, static_cast<T>(spatial_scale), aligned ? T(0.5) : T(0),
                        aligned ? kNoLeast<T> : T(1), pooled_height, pooled_width, sampling_ratio);
        const T count = static_cast<T>(std::max<int64_t>(b.samples_h * b.samples_w, 1));
        samples.fill(b, pooled_height, pooled_width, height, width);
        for (int64_t c = from; c < to; ++c) {
          T* plane = out.data<T>() + (b.image * channels + c) * height * width;
          for (int64_t bin = 0; bin < bins; ++bin) {
            const T share = g.data<T>()[(k * channels + c) * bins + bin] / count;
            for (size_t i = samples.first[static_cast<size_t>(bin)]; i < samples.first[static_cast<size_t>(bin) + 1];
                 ++i) {
              const Neighbours<T>& n = samples.list[i];
              for (int q = 0; q < 4; ++q) plane[n.at[q]] += n.weight[q] * share;
            }
          }
        }
      }
    });
  });
  return finished(out, grad.dtype());
}

Two ps_roi_align_meta(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width,
                      int64_t sampling_ratio) {
  check_input(input, rois, "ps_roi_align");
  check_samples(sampling_ratio, "ps_roi_align");
  const int64_t channels = channels_per_bin(input.size(1), pooled_height, pooled_width, "ps_roi_align");
  return pooled_pair(input, {rois.size(0), channels, pooled_height, pooled_width});
}

Two ps_roi_align_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width, int64_t sampling_ratio) {
  const auto [result, mapping] =
      ps_roi_align_meta(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio);
  const int64_t height = input.size(2), width = input.size(3), bins = bins_of(pooled_height, pooled_width),
                channels = result.size(1);
  Tensor out;
  auto* from_channel = mapping.data<int32_t>();
  compute(input.dtype(), "ps_roi_align_forward_kernel", [&]<class T>() {
    const Tensor x = prepared(input), r = prepared(rois);
    out = result.dtype() == x.dtype() ? result : empty_tensor(result.sizes(), x.dtype());
    if (out.numel() == 0) return;
    check_images<T>(r, input.size(0), "ps_roi_align");
    parallel_for(rois.size(0), 1, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; ++k) {
        const Bins<T> b(r.data<T>() + k * 5, static_cast<T>(spatial_scale), T(0.5), kNoLeast<T>, pooled_height,
                        pooled_width, sampling_ratio);
        const T* image = x.data<T>() + b.image * input.size(1) * height * width;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t bin = 0; bin < bins; ++bin) {
            const int64_t at = (k * channels + c) * bins + bin, channel = c * bins + bin;
            T sum = 0;
            b.for_each(bin / pooled_width, bin % pooled_width, height, width, [&](const Neighbours<T>& n) {
              for (int q = 0; q < 4; ++q) sum += n.weight[q] * image[channel * height * width + n.at[q]];
            });
            out.data<T>()[at] = sum / static_cast<T>(b.samples_h * b.samples_w);
            from_channel[at] = static_cast<int32_t>(channel);
          }
        }
      }
    });
  });
  return {finished(out, input.dtype()), mapping};
}

Tensor ps_roi_align_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor&, double, int64_t pooled_height,
                                  int64_t pooled_width, int64_t sampling_ratio, int64_t batch_size, int64_t channels,
                                  int64_t height, int64_t width) {
  check_samples(sampling_ratio, "_ps_roi_align_backward");
  check_backward(grad, rois, pooled_height, pooled_width,
                 channels_per_bin(channels, pooled_height, pooled_width, "_ps_roi_align_backward"),
                 "_ps_roi_align_backward");
  return empty_tensor({batch_size, channels, height, width}, grad.dtype(), grad.device());
}

Tensor ps_roi_align_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                 double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                 int64_t sampling_ratio, int64_t batch_size, int64_t channels, int64_t height,
                                 int64_t width) {
  const char* name = "_ps_roi_align_backward";
  check_samples(sampling_ratio, name);
  check_backward(grad, rois, pooled_height, pooled_width, channels_per_bin(channels, pooled_height, pooled_width, name),
                 name);
  SCONCE_CHECK(channel_mapping.dtype() == DType::int32 && channel_mapping.sizes() == grad.sizes(),
               "{}: channel_mapping must be int32 of shape {}, got {} {}", name, grad.sizes(),
               dtype_name(channel_mapping.dtype()), channel_mapping.sizes());
  const Tensor mapping = channel_mapping.contiguous();
  Tensor out;
  compute(grad.dtype(), "ps_roi_align_backward_kernel", [&]<class T>() {
    const Tensor g = prepared(grad), r = prepared(rois);
    out = empty_tensor({batch_size, channels, height, width}, g.dtype());
    std::fill_n(out.data<T>(), out.numel(), T(0));
    if (out.numel() == 0 || g.numel() == 0) return;
    check_images<T>(r, batch_size, name);
    const int64_t bins = bins_of(pooled_height, pooled_width), per_bin = grad.size(1);
    for (int64_t i = 0; i < g.numel(); ++i) {
      const int64_t k = i / bins / per_bin, bin = i % bins, channel = mapping.data<int32_t>()[i];
      SCONCE_CHECK(channel >= 0 && channel < channels, "{}: channel {} is out of range, there are {}", name, channel,
                   channels);
      const Bins<T> b(r.data<T>() + k * 5, static_cast<T>(spatial_scale), T(0.5), kNoLeast<T>, pooled_height,
                      pooled_width, sampling_ratio);
      T* plane = out.data<T>() + (b.image * channels + channel) * height * width;
      const T share = g.data<T>()[i] / static_cast<T>(b.samples_h * b.samples_w);
      b.for_each(bin / pooled_width, bin % pooled_width, height, width, [&](const Neighbours<T>& n) {
        for (int q = 0; q < 4; ++q) plane[n.at[q]] += n.weight[q] * share;
      });
    }
  });
  return finished(out, grad.dtype());
}

}  // namespace torchvision
