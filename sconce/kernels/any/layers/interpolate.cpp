// Resizing with the mode by name. Every form comes down to resize(): a list of sizes or a list of scale factors.
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/generated/interpolation_kernels.h"
#include "sconce/generated/pooling.h"
#include "sconce/generated/resizing.h"

namespace sconce::any_device {
namespace {

using Sizes = std::optional<IntList>;
using Factors = std::optional<ListRef<double>>;
using Mode = std::string_view;
using OptBool = std::optional<bool>;

// A number stands for a list with as many of it as there are spatial dimensions, which are three at most.
template <class T>
struct Repeated {
  T items[3];
  size_t count;
  Repeated(T item, const Tensor& input)
      : items{item, item, item},
        count(input.dim() < 3 ? 0 : static_cast<size_t>(std::min<int64_t>(input.dim() - 2, 3))) {}
  ListRef<T> list() const { return {items, count}; }
};

struct Target {
  Dims sizes;
  std::optional<double> scale[3];
};

Target target_of(const Tensor& input, size_t rank, const Sizes& size, const Factors& factors, OptBool recompute) {
  SCONCE_CHECK(size || factors, "either size or scale_factor should be defined");
  SCONCE_CHECK(
      !factors || factors->size() >= rank,
      "Input and scale_factor must have the same number of spatial dimensions, but got input {} and {} factors",
      input.sizes(), factors->size());
  Target t;
  if (size) {
    SCONCE_CHECK(size->size() == rank, "It is expected output_size equals to {}, but got size {}", rank, size->size());
    t.sizes = Dims(*size);
  }
  for (size_t i = 0; i < rank && factors; ++i) {
    if (!size) {
      const double wanted = std::floor(static_cast<double>(input.sizes()[i + 2]) * (*factors)[i]);
      SCONCE_CHECK(wanted >= 0 && wanted < 0x1p62, "a scale factor of {} gives no size", (*factors)[i]);
      t.sizes.push_back(static_cast<int64_t>(wanted));
    }
    if (!recompute.value_or(true)) t.scale[i] = (*factors)[i];
  }
  return t;
}

Tensor resize(const Tensor& input, const Sizes& size, const Factors& factors, Mode mode, OptBool align_corners,
              OptBool recompute, bool antialias) {
  const int64_t dim = input.dim();
  if (mode == "nearest" || mode == "nearest-exact" || mode == "area")
    SCONCE_CHECK(
        !align_corners,
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
  SCONCE_CHECK(!antialias || (dim == 4 && (mode == "bilinear" || mode == "bicubic")),
               "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input");
  const int64_t needed = mode == "linear"                          ? 3
                         : mode == "bilinear" || mode == "bicubic" ? 4
                         : mode == "trilinear"                     ? 5
                                                                   : 0;
  const bool any_rank = mode == "nearest" || mode == "nearest-exact" || mode == "area";
  SCONCE_CHECK(
      (needed != 0 || any_rank) && dim >= 3 && dim <= 5,
      "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear | "
      "trilinear (got {})",
      dim, mode);
  SCONCE_CHECK(any_rank || dim == needed, "Got {}D input, but {} mode needs {}D input", dim, mode, needed);
  const bool corners = align_corners.value_or(false);
  const Target t = target_of(input, static_cast<size_t>(dim) - 2, size, factors, recompute);
  const auto& s = t.scale;
  if (mode == "nearest") {
    if (dim == 3) return sconce::upsample_nearest1d(input, t.sizes, s[0]);
    if (dim == 4) return sconce::upsample_nearest2d(input, t.sizes, s[0], s[1]);
    return sconce::upsample_nearest3d(input, t.sizes, s[0], s[1], s[2]);
  }
  if (mode == "nearest-exact") {
    if (dim == 3) return sconce::_upsample_nearest_exact1d(input, t.sizes, s[0]);
    if (dim == 4) return sconce::_upsample_nearest_exact2d(input, t.sizes, s[0], s[1]);
    return sconce::_upsample_nearest_exact3d(input, t.sizes, s[0], s[1], s[2]);
  }
  if (mode == "area") {
    if (dim == 3) return sconce::adaptive_avg_pool1d(input, t.sizes);
    if (dim == 4) return sconce::adaptive_avg_pool2d(input, t.sizes);
    return sconce::adaptive_avg_pool3d(input, t.sizes);
  }
  if (mode == "linear") return sconce::upsample_linear1d(input, t.sizes, corners, s[0]);
  if (mode == "trilinear") return sconce::upsample_trilinear3d(input, t.sizes, corners, s[0], s[1], s[2]);
  if (mode == "bilinear" && antialias) return sconce::_upsample_bilinear2d_aa(input, t.sizes, corners, s[0], s[1]);
  if (mode == "bilinear") return sconce::upsample_bilinear2d(input, t.sizes, corners, s[0], s[1]);
  if (antialias) return sconce::_upsample_bicubic2d_aa(input, t.sizes, corners, s[0], s[1]);
  return sconce::upsample_bicubic2d(input, t.sizes, corners, s[0], s[1]);
}

// The forms with numbers: `with` is called with lists.
template <class With>
Tensor with_sizes(const Tensor& input, const std::optional<int64_t>& size, With with) {
  if (!size) return with(Sizes());
  const Repeated<int64_t> sizes(*size, input);
  return with(Sizes(sizes.list()));
}
template <class Number, class With>
Tensor with_factors(const Tensor& input, const std::optional<Number>& factor, With with) {
  if (!factor) return with(Factors());
  const Repeated<double> factors(static_cast<double>(*factor), input);
  return with(Factors(factors.list()));
}
template <class With>
Tensor with_factors(const std::optional<IntList>& factors, With with) {
  if (!factors) return with(Factors());
  const std::vector<double> numbers(factors->begin(), factors->end());
  return with(Factors(ListRef<double>(numbers)));
}

}  // namespace

Tensor __interpolate_size_list_scale_list(const Tensor& input, Sizes size, Factors scale_factor, Mode mode,
                                          OptBool align_corners, OptBool recompute_scale_factor, bool antialias) {
  return resize(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias);
}
Tensor __interpolate_scale_list(const Tensor& input, std::optional<int64_t> size, Factors scale_factor, Mode mode,
                                OptBool align_corners, OptBool recompute_scale_factor, bool antialias) {
  return with_sizes(input, size, [&](const Sizes& sizes) {
    return resize(input, sizes, scale_factor, mode, align_corners, recompute_scale_factor, antialias);
  });
}
Tensor __interpolate_size_list(const Tensor& input, Sizes size, std::optional<double> scale_factor, Mode mode,
                               OptBool align_corners, OptBool recompute_scale_factor, bool antialias) {
  return with_factors(input, scale_factor, [&](const Factors& factors) {
    return resize(input, size, factors, mode, align_corners, recompute_scale_factor, antialias);
  });
}
Tensor __interpolate(const Tensor& input, std::optional<int64_t> size, std::optional<double> scale_factor, Mode mode,
                     OptBool align_corners, OptBool recompute_scale_factor, bool antialias) {
  return with_sizes(input, size, [&](const Sizes& sizes) {
    return __interpolate_size_list(input, sizes, scale_factor, mode, align_corners, recompute_scale_factor, antialias);
  });
}

Tensor __upsample_size_list(const Tensor& input, Sizes size, std::optional<int64_t> scale_factor, Mode mode,
                            OptBool align_corners) {
  return with_factors(input, scale_factor, [&](const Factors& factors) {
    return resize(input, size, factors, mode, align_corners, std::nullopt, false);
  });
}
Tensor __upsample(const Tensor& input, std::optional<int64_t> size, std::optional<int64_t> scale_factor, Mode mode,
                  OptBool align_corners) {
  return with_sizes(input, size, [&](const Sizes& sizes) {
    return __upsample_size_list(input, sizes, scale_factor, mode, align_corners);
  });
}

Tensor __upsample_nearest_size_list(const Tensor& input, Sizes size, std::optional<int64_t> scale_factor) {
  return __upsample_size_list(input, size, scale_factor, "nearest", std::nullopt);
}
Tensor __upsample_nearest(const Tensor& input, std::optional<int64_t> size, std::optional<int64_t> scale_factor) {
  return __upsample(input, size, scale_factor, "nearest", std::nullopt);
}

Tensor __upsample_bilinear_size_list(const Tensor& input, Sizes size, std::optional<int64_t> scale_factor) {
  return __upsample_size_list(input, size, scale_factor, "bilinear", true);
}
Tensor __upsample_bilinear(const Tensor& input, std::optional<int64_t> size, std::optional<int64_t> scale_factor) {
  return __upsample(input, size, scale_factor, "bilinear", true);
}
Tensor __upsample_bilinear_size_list_scale_list(const Tensor& input, Sizes size, std::optional<IntList> scale_factor) {
  return with_factors(scale_factor, [&](const Factors& factors) {
    return resize(input, size, factors, "bilinear", true, std::nullopt, false);
  });
}
Tensor __upsample_bilinear_scale_list(const Tensor& input, std::optional<int64_t> size,
                                      std::optional<IntList> scale_factor) {
  return with_sizes(input, size, [&](const Sizes& sizes) {
    return __upsample_bilinear_size_list_scale_list(input, sizes, scale_factor);
  });
}

}  // namespace sconce::any_device
