#include "sconce/kernels/cpu/resize/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace sconce {
namespace {

// The cubic convolution filter at distance d <= 1, and 1 < d < 2, with parameter a.
template <class T>
T cubic_near(T d, T a) {
  return ((a + 2) * d - (a + 3)) * d * d + 1;
}
template <class T>
T cubic_far(T d, T a) {
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// sin(pi d) / (pi d), and the same stretched to 3 as window.
template <class T>
T lanczos(T d) {
  if (d == 0) return T(1);
  const T x = d * T(M_PI);
  return d < 3 ? (std::sin(x) / x) * (std::sin(x / 3) / (x / 3)) : T(0);
}

template <class T>
T filter(ResizeMode mode, T d) {
  d = std::abs(d);
  if (mode == ResizeMode::linear_antialias) return d < 1 ? 1 - d : T(0);
  if (mode == ResizeMode::lanczos_antialias) return lanczos(d);
  constexpr T a = T(-0.5);
  return d < 1 ? cubic_near(d, a) : d < 2 ? cubic_far(d, a) : T(0);
}

template <class T>
ResizeTaps antialias_taps(ResizeMode mode, int64_t in, int64_t out, T ratio) {
  const T reach = mode == ResizeMode::linear_antialias ? T(1) : mode == ResizeMode::cubic_antialias ? T(2) : T(3);
  const T support = ratio >= 1 ? reach * ratio : reach;
  const T inverse = ratio >= 1 ? 1 / ratio : T(1);
  ResizeTaps taps;
  taps.out = out;
  std::vector<int64_t> first(static_cast<size_t>(out)), size(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const auto k = static_cast<size_t>(i);
    const T center = ratio * (static_cast<T>(i) + T(0.5));
    first[k] = std::clamp<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0, in - 1);
    size[k] =
        std::clamp<int64_t>(std::min(static_cast<int64_t>(center + support + T(0.5)), in) - first[k], 1, in - first[k]);
    taps.count = std::max(taps.count, size[k]);
  }
  taps.index.resize(static_cast<size_t>(taps.count * out));
  taps.weight.resize(static_cast<size_t>(taps.count * out));
  std::vector<T> weights(static_cast<size_t>(taps.count));
  for (int64_t i = 0; i < out; ++i) {
    const auto k = static_cast<size_t>(i);
    const T center = ratio * (static_cast<T>(i) + T(0.5));
    T total = 0;
    for (int64_t j = 0; j < size[k]; ++j) {
      const T w = filter(mode, (static_cast<T>(j + first[k]) - center + T(0.5)) * inverse);
      weights[static_cast<size_t>(j)] = w;
      total += w;
    }
    for (int64_t j = 0; j < taps.count; ++j) {
      const auto at = static_cast<size_t>(j * out + i);
      const bool used = j < size[k];
      taps.index[at] = static_cast<int32_t>(first[k] + (used ? j : 0));
      taps.weight[at] = !used        ? 0.0
                        : total != 0 ? weights[static_cast<size_t>(j)] / total
                                     : weights[static_cast<size_t>(j)];
    }
  }
  return taps;
}

}  // namespace

ResizeTaps taps_of(const TapLists& lists) {
  ResizeTaps taps;
  taps.out = static_cast<int64_t>(lists.size());
  for (const auto& list : lists) taps.count = std::max(taps.count, static_cast<int64_t>(list.size()));
  taps.index.resize(static_cast<size_t>(taps.count * taps.out));
  taps.weight.resize(static_cast<size_t>(taps.count * taps.out));
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto& list = lists[i];
    if (list.empty()) taps.none.push_back(static_cast<int32_t>(i));
    for (size_t j = 0; j < static_cast<size_t>(taps.count) && !list.empty(); ++j) {
      // Where there are fewer, the last one is taken in halves: a weight of 0 would make NaN of infinity.
      const size_t last = list.size() - 1;
      const double part = j < last                                   ? 1.0
                          : j + 1 == static_cast<size_t>(taps.count) ? std::ldexp(1.0, -static_cast<int>(j - last))
                                                                     : std::ldexp(0.5, -static_cast<int>(j - last));
      const size_t at = j * lists.size() + i;
      taps.index[at] = list[std::min(j, last)].first;
      taps.weight[at] = list[std::min(j, last)].second * part;
    }
  }
  return taps;
}

ResizeTaps transposed(const ResizeTaps& taps, int64_t in) {
  TapLists lists(static_cast<size_t>(in));
  for (int64_t i = 0; i < taps.out; ++i) {
    for (int64_t j = 0; j < taps.count; ++j) {
      const auto at = static_cast<size_t>(j * taps.out + i);
      auto& list = lists[static_cast<size_t>(taps.index[at])];
      if (!list.empty() && list.back().first == i) {  // two taps that the border moved together
        list.back().second += taps.weight[at];
      } else {
        list.emplace_back(static_cast<int32_t>(i), taps.weight[at]);
      }
    }
  }
  return taps_of(lists);
}

ResizeTaps identity_taps(int64_t n) {
  ResizeTaps taps{1, n, {}, std::vector<double>(static_cast<size_t>(n), 1.0), {}};
  for (int64_t i = 0; i < n; ++i) taps.index.push_back(static_cast<int32_t>(i));
  return taps;
}

std::optional<ResizeTaps> whole_steps(int64_t in, int64_t out) {
  if (out != in && out != 2 * in) return {};
  ResizeTaps taps = identity_taps(out);
  if (out != in) {
    for (int32_t& i : taps.index) i /= 2;
  }
  return taps;
}

template <class T>
ResizeTaps resize_taps(ResizeMode mode, int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (mode == ResizeMode::linear && in == out) return identity_taps(in);  // for every scale
  T ratio;
  if (align_corners) {
    ratio = out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  } else {
    ratio = scale && *scale > 0 ? static_cast<T>(1.0 / *scale) : static_cast<T>(in) / static_cast<T>(out);
  }
  if (is_antialias(mode)) {
    return antialias_taps<T>(mode, in, out, ratio);
  }
  ResizeTaps taps;
  taps.out = out;
  taps.count = mode == ResizeMode::cubic ? 4 : mode == ResizeMode::linear ? 2 : 1;
  taps.index.resize(static_cast<size_t>(taps.count * out));
  taps.weight.resize(static_cast<size_t>(taps.count * out));
  for (int64_t o = 0; o < out; ++o) {
    int64_t tap = 0;
    const auto add = [&](int64_t i, T w) {
      const auto at = static_cast<size_t>(tap++ * out + o);
      taps.index[at] = static_cast<int32_t>(std::clamp<int64_t>(i, 0, in - 1));
      taps.weight[at] = w;
    };
    // Places far outside, and those that are no numbers, are as good as the next one outside.
    const auto whole = [&](auto v) { return static_cast<int64_t>(!(v > -4) ? -4 : v < in + 4 ? v : in + 4); };
    const T x = static_cast<T>(o);
    if (mode == ResizeMode::nearest) {  // the product is a float in the end, whatever it is computed in
      add(whole(std::floor(static_cast<float>(x * ratio))), 1);
    } else if (mode == ResizeMode::nearest_exact) {
      const double place = (static_cast<double>(o) + 0.5) * static_cast<double>(ratio);
      add(whole(std::floor(static_cast<float>(place))), 1);
    } else if (mode == ResizeMode::linear) {
      const T source = align_corners ? ratio * x : std::max(ratio * (x + T(0.5)) - T(0.5), T(0));
      const int64_t first = std::min(whole(source), in - 1);
      const T w = std::clamp(source - static_cast<T>(first), T(0), T(1));
      add(first, 1 - w);
      add(first + 1, w);
    } else {
      const T source = align_corners ? ratio * x : ratio * (x + T(0.5)) - T(0.5);
      const T floor = std::floor(source);
      const T t = source - floor, a = T(-0.75);
      const int64_t first = whole(floor);
      add(first - 1, cubic_far(t + 1, a));
      add(first, cubic_near(t, a));
      add(first + 1, cubic_near(1 - t, a));
      add(first + 2, cubic_far(2 - t, a));
    }
  }
  return taps;
}

template ResizeTaps resize_taps<float>(ResizeMode, int64_t, int64_t, bool, std::optional<double>);
template ResizeTaps resize_taps<double>(ResizeMode, int64_t, int64_t, bool, std::optional<double>);

}  // namespace sconce
