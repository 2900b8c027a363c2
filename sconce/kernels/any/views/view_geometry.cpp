#include "sconce/kernels/any/views/view_geometry.h"

#include "sconce/base/error.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/view_base.h"

namespace sconce {

ViewGeometry geometry_of(const Tensor& t) { return {t.sizes(), t.strides(), t.storage_offset()}; }

ViewGeometry squeezed(const Tensor& t) {
  ViewGeometry g{{}, {}, t.storage_offset()};
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.sizes()[d] == 1) continue;
    g.sizes.push_back(t.sizes()[d]);
    g.strides.push_back(t.strides()[d]);
  }
  return g;
}

ViewGeometry squeezed(const Tensor& t, IntList dims) {
  SmallVector<bool, 16> chosen(static_cast<size_t>(std::max<int64_t>(t.dim(), 1)), false);
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, t.dim());
    SCONCE_CHECK(!chosen[at], "dim {} appears multiple times in the list of dims", at);
    chosen[at] = true;
  }
  ViewGeometry g{{}, {}, t.storage_offset()};
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (chosen[d] && t.sizes()[d] == 1) continue;
    g.sizes.push_back(t.sizes()[d]);
    g.strides.push_back(t.strides()[d]);
  }
  return g;
}

ViewGeometry unsqueezed(const Tensor& t, int64_t dim) {
  const int64_t at = wrap_dim(dim, t.dim() + 1);
  ViewGeometry g = geometry_of(t);
  const int64_t stride = at >= t.dim() ? 1 : t.sizes()[at] * t.strides()[at];
  g.sizes.insert(static_cast<size_t>(at), 1);
  g.strides.insert(static_cast<size_t>(at), stride);
  return g;
}

ViewGeometry transposed(const Tensor& t, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, t.dim()), b = wrap_dim(dim1, t.dim());
  ViewGeometry g = geometry_of(t);
  if (a != b) {
    std::swap(g.sizes[a], g.sizes[b]);
    std::swap(g.strides[a], g.strides[b]);
  }
  return g;
}

ViewGeometry matrix_transposed(const Tensor& t) {
  SCONCE_CHECK(t.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is {}D", t.dim());
  return transposed(t, 0, t.dim() < 2 ? 0 : 1);
}

Tensor view_of(const Tensor& t, DType dtype, const ViewGeometry& g) {
  Tensor view = make_tensor(Ref<Storage>::share(t.storage()), dtype, g.sizes, g.strides, g.offset);
  take_math_bits(*view.impl(), *t.impl());
  become_view(*view.impl(), *t.impl());
  return view;
}

void set_in_place(const Tensor& t, const ViewGeometry& g) {
  set_geometry(t, g.sizes, g.strides, g.offset);
  t.bump_version();
}

}  // namespace sconce
