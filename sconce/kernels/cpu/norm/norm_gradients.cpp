// Gradients of normalisation over dense planes: [samples, channels, places].
#include <algorithm>
#include <vector>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/norm/norm_backward_kernels.h"
#include "sconce/kernels/cpu/norm/norm_gradients.h"
#include "sconce/tensor/element.h"

namespace sconce {

const NormBackwardKernels& norm_backward_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(norm_backward_kernels)); }

namespace {

SCONCE_VARIANT(many_rows, "norm.backward.parts", "more than 64 rows, summed in parts");
SCONCE_VARIANT(sums_inside, "norm.channel_sums.pixels", "channels_last, or one place a channel");

template <class T>
double value(const Tensor& t, int64_t i, double otherwise) {
  return t.defined() ? static_cast<double>(t.data<T>()[i]) : otherwise;
}

}  // namespace

void layer_norm_backward_parameters(const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                    const Tensor& input, const Tensor& mean, const Tensor& rstd, int64_t n) {
  for_float(grad.dtype(), [&]<class T>() {
    const int64_t rows = mean.numel();
    // Fixed cuts: results do not depend on the number of threads.
    const int64_t cut = std::max<int64_t>(64, (rows + 63) / 64), parts = (rows + cut - 1) / cut;
    many_rows(parts > 1);
    std::vector<T> partial(static_cast<size_t>(2 * parts * n));
    const auto kernel = norm_backward_kernels().columns[sizeof(T) == 8];
    parallel_for(parts, grain_for(2 * cut * n), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t first = p * cut, count = std::min(cut, rows - first);
        T* to = partial.data() + 2 * p * n;
        kernel(to, to + n, grad.data<T>() + first * n, input.data<T>() + first * n, count, n, mean.data<T>() + first,
               rstd.data<T>() + first);
      }
    });
    for (int64_t j = 0; j < n; ++j) {
      double weight = 0, bias = 0;
      for (int64_t p = 0; p < parts; ++p) {
        weight += static_cast<double>(partial[static_cast<size_t>(2 * p * n + j)]);
        bias += static_cast<double>(partial[static_cast<size_t>((2 * p + 1) * n + j)]);
      }
      of_weight.data<T>()[j] = static_cast<T>(weight);
      of_bias.data<T>()[j] = static_cast<T>(bias);
    }
  });
}

// A thread has whole samples in all passes, as it has in other operators.
void batch_norm_backward_planes(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& invstd,
                                bool train) {
  for_float(grad.dtype(), [&]<class T>() {
    const int64_t samples = input.sizes()[0], channels = input.sizes()[1], planes = samples * channels,
                  places = input.numel() / planes;
    const auto& kernels = norm_backward_kernels();
    const bool wide = sizeof(T) == 8;
    Scratch scratch;
    auto *totals = scratch.take<double>(planes), *products = scratch.take<double>(planes);
    parallel_for(planes, grain_for(2 * places), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        kernels.sums[wide](grad.data<T>() + p * places, input.data<T>() + p * places, places,
                           value<T>(mean, p % channels, 0), totals + p, products + p);
      }
    });
    auto *scale = scratch.take<double>(channels), *slope = scratch.take<double>(channels),
         *shift = scratch.take<double>(channels);
    for (int64_t c = 0; c < channels; ++c) {
      double total = 0, product = 0;
      for (int64_t p = c; p < planes; p += channels) {
        total += totals[p];
        product += products[p];
      }
      const double s = value<T>(invstd, c, 0), n = static_cast<double>(samples * places);
      of_weight.data<T>()[c] = static_cast<T>(product * s);
      of_bias.data<T>()[c] = static_cast<T>(total);
      scale[c] = value<T>(weight, c, 1) * s;
      slope[c] = train ? -scale[c] * s * s * product / n : 0;
      shift[c] = train ? -scale[c] * total / n : 0;
    }
    if (!out.defined()) return;
    parallel_for(planes, grain_for(2 * places), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t c = p % channels, at = p * places;
        kernels.combine[wide](out.data<T>() + at, grad.data<T>() + at, input.data<T>() + at, places, scale[c], slope[c],
                              value<T>(mean, c, 0), shift[c]);
      }
    });
  });
}

namespace {

// Sums of grad, and of grad * (input - mean) where there is an input, for each channel of [rows, channels].
template <class T>
void pixel_sums(const T* grad, const T* input, int64_t rows, int64_t channels, const T* mean, double* totals,
                double* products) {
  // Fixed cuts: results do not depend on the number of threads.
  const int64_t cut = std::max<int64_t>(64, (rows + 63) / 64), parts = (rows + cut - 1) / cut;
  Scratch scratch;
  many_rows(parts > 1);
  T* partial = scratch.take<T>(2 * parts * channels);
  const auto kernel = norm_backward_kernels().column_sums[sizeof(T) == 8];
  parallel_for(parts, grain_for(2 * cut * channels), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * cut, count = std::min(cut, rows - first);
      T* to = partial + 2 * p * channels;
      kernel(to, to + channels, grad + first * channels, input ? input + first * channels : nullptr, count, channels,
             mean);
    }
  });
  for (int64_t c = 0; c < channels; ++c) {
    totals[c] = 0;
    if (input) products[c] = 0;
    for (int64_t p = 0; p < parts; ++p) {
      totals[c] += static_cast<double>(partial[2 * p * channels + c]);
      if (input) products[c] += static_cast<double>(partial[(2 * p + 1) * channels + c]);
    }
  }
}

}  // namespace

void batch_norm_backward_pixels(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& invstd,
                                bool train) {
  for_float(grad.dtype(), [&]<class T>() {
    const int64_t channels = input.sizes()[1], rows = input.numel() / channels;
    std::vector<double> totals(static_cast<size_t>(channels)), products(totals);
    pixel_sums<T>(grad.data<T>(), input.data<T>(), rows, channels, mean.data<T>(), totals.data(), products.data());
    Scratch scratch;
    T *a = scratch.take<T>(channels), *b = scratch.take<T>(channels), *shift = scratch.take<T>(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const double s = value<T>(invstd, c, 0), total = totals[static_cast<size_t>(c)],
                   product = products[static_cast<size_t>(c)];
      of_weight.data<T>()[c] = static_cast<T>(product * s);
      of_bias.data<T>()[c] = static_cast<T>(total);
      const double n = static_cast<double>(rows), scale = value<T>(weight, c, 1) * s;
      a[c] = static_cast<T>(scale);
      b[c] = static_cast<T>(train ? -scale * s * s * product / n : 0);
      shift[c] = static_cast<T>(train ? -scale * total / n : 0);
    }
    if (!out.defined()) return;
    constexpr int64_t together = 64;  // rows whose columns are read strip by strip
    const auto kernel = norm_backward_kernels().combine_rows[sizeof(T) == 8];
    parallel_for(rows, grain_for(2 * channels), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r += together) {
        const int64_t at = r * channels;
        kernel(out.data<T>() + at, grad.data<T>() + at, input.data<T>() + at, std::min(together, end - r), channels, a,
               b, mean.data<T>(), shift);
      }
    });
  });
}

void channel_sums(const Tensor& of_grad, const Tensor& grad, bool channels_inside) {
  for_float(grad.dtype(), [&]<class T>() {
    const int64_t samples = grad.sizes()[0], channels = grad.sizes()[1];
    std::vector<double> totals(static_cast<size_t>(channels));
    if (sums_inside(channels_inside)) {
      pixel_sums<T>(grad.data<T>(), nullptr, grad.numel() / channels, channels, nullptr, totals.data(), nullptr);
    } else {
      const int64_t places = grad.numel() / (samples * channels);
      const auto kernel = norm_backward_kernels().run_sum[sizeof(T) == 8];
      Scratch scratch;
      auto* sums = scratch.take<double>(samples * channels);
      parallel_for(samples * channels, grain_for(places), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) sums[p] = kernel(grad.data<T>() + p * places, places);
      });
      for (int64_t p = 0; p < samples * channels; ++p) totals[static_cast<size_t>(p % channels)] += sums[p];
    }
    for (int64_t c = 0; c < channels; ++c) of_grad.data<T>()[c] = static_cast<T>(totals[static_cast<size_t>(c)]);
  });
}

void group_norm_backward_planes(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                                int64_t samples, int64_t channels, int64_t places, int64_t groups) {
  for_float(grad.dtype(), [&]<class T>() {
    const auto& kernels = norm_backward_kernels();
    const bool wide = sizeof(T) == 8;
    const int64_t inside = channels / groups;
    std::vector<double> totals(static_cast<size_t>(samples * channels)), products(totals.size());
    parallel_for(samples * groups, grain_for(2 * inside * places), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double m = value<T>(mean, i, 0), s = value<T>(rstd, i, 0);
        const int64_t first = i * inside, channel = i % groups * inside;
        double total = 0, product = 0;
        for (int64_t c = 0; c < inside; ++c) {
          const int64_t at = (first + c) * places;
          double &one = totals[static_cast<size_t>(first + c)], &two = products[static_cast<size_t>(first + c)];
          kernels.sums[wide](grad.data<T>() + at, input.data<T>() + at, places, m, &one, &two);
          const double w = value<T>(weight, channel + c, 1);
          total += w * one;
          product += w * two;
        }
        if (!out.defined()) continue;
        const double n = static_cast<double>(inside * places), b = -s * s * s * product / n, shift = -s * total / n;
        for (int64_t c = 0; c < inside; ++c) {
          const int64_t at = (first + c) * places;
          kernels.combine[wide](out.data<T>() + at, grad.data<T>() + at, input.data<T>() + at, places,
                                s * value<T>(weight, channel + c, 1), b, m, shift);
        }
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      double total = 0, product = 0;
      for (int64_t i = 0; i < samples; ++i) {
        total += totals[static_cast<size_t>(i * channels + c)];
        product += products[static_cast<size_t>(i * channels + c)] * value<T>(rstd, i * groups + c / inside, 0);
      }
      of_weight.data<T>()[c] = static_cast<T>(product);
      of_bias.data<T>()[c] = static_cast<T>(total);
    }
  });
}

}  // namespace sconce
