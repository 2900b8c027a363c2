#include "sconce/kernels/any/fft_arguments.h"

#include <algorithm>
#include <numeric>

#include "sconce/base/error.h"
#include "sconce/generated/fft_kernels.h"
#include "sconce/tensor/strides.h"

namespace sconce {

Dims fft_dims_of(const Tensor& self, IntList dim) {
  Dims out;
  for (const int64_t d : dim) {
    SCONCE_CHECK_AS(index, self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", d);
    out.push_back(wrap_dim(d, self.dim()));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    SCONCE_CHECK(std::find(out.begin(), out.begin() + static_cast<ptrdiff_t>(i), out[i]) ==
                     out.begin() + static_cast<ptrdiff_t>(i),
                 "FFT dims must be unique, got {}", dim);
  }
  return out;
}

namespace any_device {

int64_t sconce_fft_norm(std::optional<std::string_view> norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? 0 : 2;
  if (*norm == "forward") return forward ? 2 : 0;
  SCONCE_CHECK(*norm == "ortho", "Invalid normalization mode: \"{}\"", *norm);
  return 1;
}

std::vector<int64_t> sconce_fft_dims(const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim) {
  if (dim) {
    const Dims dims = fft_dims_of(self, *dim);
    SCONCE_CHECK(!s || s->size() == dim->size(), "When given, dim and shape arguments must have the same length");
    return {dims.begin(), dims.end()};
  }
  const auto count = s ? static_cast<int64_t>(s->size()) : self.dim();
  SCONCE_CHECK(count <= self.dim(), "Got shape with {} values but input tensor only has {} dimensions.", count,
               self.dim());
  std::vector<int64_t> dims(static_cast<size_t>(count));
  std::iota(dims.begin(), dims.end(), self.dim() - count);
  return dims;
}

std::vector<int64_t> sconce_fft_sizes(const Tensor& self, std::optional<IntList> s, IntList dim) {
  SCONCE_CHECK(!s || s->size() == dim.size(), "When given, dim and shape arguments must have the same length");
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dim.size(); ++i) {
    const int64_t n = s && (*s)[i] != -1 ? (*s)[i] : self.size(dim[i]);
    SCONCE_CHECK(n > 0, "Invalid number of data points ({}) specified", n);
    sizes.push_back(n);
  }
  return sizes;
}

}  // namespace any_device
}  // namespace sconce
