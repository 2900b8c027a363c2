// View geometry: sizes, strides and offset of the views that only rearrange dimensions, used by the view itself and by
// its in-place form.
#pragma once

#include <optional>

#include "sconce/base/small_vector.h"
#include "sconce/tensor/inner_view.h"

namespace sconce {

struct ViewGeometry {
  Dims sizes, strides;
  int64_t offset;
};

ViewGeometry geometry_of(const Tensor& t);
ViewGeometry squeezed(const Tensor& t);
ViewGeometry squeezed(const Tensor& t, IntList dims);  // negative dims count from the end
ViewGeometry unsqueezed(const Tensor& t, int64_t dim);
ViewGeometry transposed(const Tensor& t, int64_t dim0, int64_t dim1);
ViewGeometry matrix_transposed(const Tensor& t);  // t(): at most two dimensions

// A view with a geometry that was made from t's own and lies inside of it.
inline Tensor view_of(const Tensor& t, const ViewGeometry& g) {
  return make_view_unchecked(t, g.sizes, g.strides, g.offset);
}
// A view with another dtype: sizes, strides and offset count its elements. Checked against the storage.
Tensor view_of(const Tensor& t, DType dtype, const ViewGeometry& g);
// New geometry for the tensor itself, as an in-place operation.
void set_in_place(const Tensor& t, const ViewGeometry& g);

}  // namespace sconce
