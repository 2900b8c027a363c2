// Pooling over the bins of regions of interest: the largest element, or the mean with channels of its own for every
// bin.
#include <limits>

#include "common.h"

namespace torchvision {
namespace {

// A bin in whole pixels: [begin, end).
struct Box {
  int64_t top, bottom, left, right;
  bool empty() const { return bottom <= top || right <= left; }
};

template <class T>
struct Region {
  int64_t image, top, left;
  T bin_h, bin_w;

  // The last pixel counts (`closed`), or not.
  Region(const T* roi, T scale, bool closed, int64_t pooled_height, int64_t pooled_width)
      : image(static_cast<int64_t>(roi[0])) {
    const auto pixel = [&](T v) {  // far away stays far away
      return static_cast<int64_t>(std::clamp(std::round(v * scale), T(-1 << 30), T(1 << 30)));
    };
    left = pixel(roi[1]);
    top = pixel(roi[2]);
    const int64_t more = closed ? 1 : 0;
    bin_w = static_cast<T>(std::max<int64_t>(pixel(roi[3]) - left + more, 1)) / static_cast<T>(pooled_width);
    bin_h = static_cast<T>(std::max<int64_t>(pixel(roi[4]) - top + more, 1)) / static_cast<T>(pooled_height);
  }
  Box bin(int64_t ph, int64_t pw, int64_t height, int64_t width) const {
    const auto begin = [](int64_t i, T size, int64_t start, int64_t limit) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::floor(static_cast<T>(i) * size)) + start, 0, limit);
    };
    const auto end = [](int64_t i, T size, int64_t start, int64_t limit) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(static_cast<T>(i + 1) * size)) + start, 0, limit);
    };
    return {begin(ph, bin_h, top, height), end(ph, bin_h, top, height), begin(pw, bin_w, left, width),
            end(pw, bin_w, left, width)};
  }
};

// The bins of region k, computed once for all channels.
template <class T>
std::vector<Box> boxes_of(const Region<T>& region, int64_t pooled_height, int64_t pooled_width, int64_t height,
                          int64_t width) {
  std::vector<Box> boxes;
  for (int64_t bin = 0; bin < bins_of(pooled_height, pooled_width); ++bin) {
    boxes.push_back(region.bin(bin / pooled_width, bin % pooled_width, height, width));
  }
  return boxes;
}

void check_backward(const Tensor& grad, const Tensor& rois, const Tensor& places, int64_t pooled_height,
                    int64_t pooled_width, int64_t grad_channels, const char* name) {
  torchvision::check_backward(grad, rois, pooled_height, pooled_width, grad_channels, name);
  SCONCE_CHECK(places.dtype() == DType::int32 && places.sizes() == grad.sizes(),
               "{}: expected int32 of shape {}, got {} {}", name, grad.sizes(), dtype_name(places.dtype()),
               places.sizes());
}

}  // namespace

Two roi_pool_meta(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width) {
  check_input(input, rois, "roi_pool");
  check_pooled(pooled_height, pooled_width, "roi_pool");
  return pooled_pair(input, {rois.size(0), input.size(1), pooled_height, pooled_width});
}

Two roi_pool_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                 int64_t pooled_width) {
  const auto [result, argmax] = roi_pool_meta(input, rois, spatial_scale, pooled_height, pooled_width);
  const int64_t channels = input.size(1), height = input.size(2), width = input.size(3),
                bins = bins_of(pooled_height, pooled_width);
  Tensor out;
  auto* places = argmax.data<int32_t>();
  compute(input.dtype(), "roi_pool_forward_kernel", [&]<class T>() {
    const Tensor x = prepared(input), r = prepared(rois);
    out = result.dtype() == x.dtype() ? result : empty_tensor(result.sizes(), x.dtype());
    if (out.numel() == 0) return;
    check_images<T>(r, input.size(0), "roi_pool");
    parallel_for(rois.size(0), 1, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; ++k) {
        const Region<T> region(r.data<T>() + k * 5, static_cast<T>(spatial_scale), true, pooled_height, pooled_width);
        const std::vector<Box> boxes = boxes_of(region, pooled_height, pooled_width, height, width);
        for (int64_t c = 0; c < channels * bins; ++c) {
          const int64_t i = k * channels * bins + c;
          const Box& box = boxes[static_cast<size_t>(c % bins)];
          const T* plane = x.data<T>() + (region.image * channels + c / bins) * height * width;
          T best = box.empty() ? T(0) : static_cast<T>(-std::numeric_limits<float>::max());
          int64_t place = -1;
          for (int64_t h = box.top; h < box.bottom; ++h) {
            for (int64_t w = box.left; w < box.right; ++w) {
              if (plane[h * width + w] > best) {
                best = plane[h * width + w];
                place = h * width + w;
              }
            }
          }
          out.data<T>()[i] = best;
          places[i] = static_cast<int32_t>(place);
        }
      }
    });
  });
  return {finished(out, input.dtype()), argmax};
}

Tensor roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double,
                              int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                              int64_t height, int64_t width) {
  check_backward(grad, rois, argmax, pooled_height, pooled_width, channels, "_roi_pool_backward");
  return empty_tensor({batch_size, channels, height, width}, grad.dtype(), grad.device());
}

Tensor roi_pool_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double,
                             int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                             int64_t height, int64_t width) {
  check_backward(grad, rois, argmax, pooled_height, pooled_width, channels, "_roi_pool_backward");
  const Tensor places = argmax.contiguous();
  Tensor out;
  compute(grad.dtype(), "roi_pool_backward_kernel", [&]<class T>() {
    const Tensor g = prepared(grad), r = prepared(rois);
    out = empty_tensor({batch_size, channels, height, width}, g.dtype());
    std::fill_n(out.data<T>(), out.numel(), T(0));
    if (g.numel() == 0) return;
    check_images<T>(r, batch_size, "_roi_pool_backward");
    const int64_t bins = bins_of(pooled_height, pooled_width), plane = height * width;
    for (int64_t i = 0; i < g.numel(); ++i) {
      const int64_t image = static_cast<int64_t>(r.data<T>()[i / bins / channels * 5]), c = i / bins % channels;
      const int64_t place = places.data<int32_t>()[i];
      if (place == -1) continue;
      SCONCE_CHECK(place >= 0 && place < plane,
                   "_roi_pool_backward: argmax {} is out of range, planes have {} elements", place, plane);
      out.data<T>()[(image * channels + c) * plane + place] += g.data<T>()[i];
    }
  });
  return finished(out, grad.dtype());
}

Two ps_roi_pool_meta(const Tensor& input, const Tensor& rois, double, int64_t pooled_height, int64_t pooled_width) {
  check_input(input, rois, "ps_roi_pool");
  const int64_t channels = channels_per_bin(input.size(1), pooled_height, pooled_width, "ps_roi_pool");
  return pooled_pair(input, {rois.size(0), channels, pooled_height, pooled_width});
}

Two ps_roi_pool_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                    int64_t pooled_width) {
  const auto [result, mapping] = ps_roi_pool_meta(input, rois, spatial_scale, pooled_height, pooled_width);
  const int64_t channels = result.size(1), height = input.size(2), width = input.size(3),
                bins = bins_of(pooled_height, pooled_width);
  Tensor out;
  auto* from_channel = mapping.data<int32_t>();
  compute(input.dtype(), "ps_roi_pool_forward_kernel", [&]<class T>() {
    const Tensor x = prepared(input), r = prepared(rois);
    out = result.dtype() == x.dtype() ? result : empty_tensor(result.sizes(), x.dtype());
    if (out.numel() == 0) return;
    check_images<T>(r, input.size(0), "ps_roi_pool");
    parallel_for(rois.size(0), 1, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; ++k) {
        const Region<T> region(r.data<T>() + k * 5, static_cast<T>(spatial_scale), false, pooled_height, pooled_width);
        // torchvision leaves out the last row and column of the image
        const std::vector<Box> boxes = boxes_of(region, pooled_height, pooled_width, height - 1, width - 1);
        for (int64_t channel = 0; channel < channels * bins; ++channel) {
          const int64_t i = k * channels * bins + channel;
          const Box& box = boxes[static_cast<size_t>(channel % bins)];
          const T* plane = x.data<T>() + (region.image * input.size(1) + channel) * height * width;
          T sum = 0;
          for (int64_t h = box.top; h < box.bottom; ++h) {
            for (int64_t w = box.left; w < box.right; ++w) sum += plane[h * width + w];
          }
          out.data<T>()[i] = box.empty() ? T(0) : sum / static_cast<T>((box.bottom - box.top) * (box.right - box.left));
          from_channel[i] = static_cast<int32_t>(channel);
        }
      }
    });
  });
  return {finished(out, input.dtype()), mapping};
}

Tensor ps_roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping, double,
                                 int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                                 int64_t height, int64_t width) {
  const char* name = "_ps_roi_pool_backward";
  check_backward(grad, rois, channel_mapping, pooled_height, pooled_width,
                 channels_per_bin(channels, pooled_height, pooled_width, name), name);
  return empty_tensor({batch_size, channels, height, width}, grad.dtype(), grad.device());
}

Tensor ps_roi_pool_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t batch_size,
                                int64_t channels, int64_t height, int64_t width) {
  const char* name = "_ps_roi_pool_backward";
  const int64_t per_bin = channels_per_bin(channels, pooled_height, pooled_width, name);
  check_backward(grad, rois, channel_mapping, pooled_height, pooled_width, per_bin, name);
  const Tensor mapping = channel_mapping.contiguous();
  Tensor out;
  compute(grad.dtype(), "ps_roi_pool_backward_kernel", [&]<class T>() {
    const Tensor g = prepared(grad), r = prepared(rois);
    out = empty_tensor({batch_size, channels, height, width}, g.dtype());
    std::fill_n(out.data<T>(), out.numel(), T(0));
    if (g.numel() == 0 || out.numel() == 0) return;
    check_images<T>(r, batch_size, name);
    const int64_t bins = bins_of(pooled_height, pooled_width);
    for (int64_t i = 0; i < g.numel(); ++i) {
      const int64_t k = i / bins / per_bin, bin = i % bins, channel = mapping.data<int32_t>()[i];
      SCONCE_CHECK(channel >= 0 && channel < channels, "{}: channel {} is out of range, there are {}", name, channel,
                   channels);
      const Region<T> region(r.data<T>() + k * 5, static_cast<T>(spatial_scale), false, pooled_height, pooled_width);
      const Box box = region.bin(bin / pooled_width, bin % pooled_width, height, width);
      if (box.empty()) continue;
      const T share = g.data<T>()[i] / static_cast<T>((box.bottom - box.top) * (box.right - box.left));
      T* plane = out.data<T>() + (region.image * channels + channel) * height * width;
      for (int64_t h = box.top; h < box.bottom; ++h) {
        for (int64_t w = box.left; w < box.right; ++w) plane[h * width + w] += share;
      }
    }
  });
  return finished(out, grad.dtype());
}

}  // namespace torchvision
