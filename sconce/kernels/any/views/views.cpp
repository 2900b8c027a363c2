#include "sconce/kernels/any/views/views.h"

#include <algorithm>
#include <cstdlib>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/any/views/view_geometry.h"
#include "sconce/tensor/inner_view.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

Tensor alias(const Tensor& self) { return view_of(self, geometry_of(self)); }
Tensor detach(const Tensor& self) { return shallow_copy(self); }

namespace {

// Sizes without -1 that fit, as in most calls: known after one pass.
bool fits_exactly(IntList size, int64_t numel) {
  int64_t product = 1;
  bool good = true;
  for (int64_t s : size) good &= s > 0 && !__builtin_mul_overflow(product, s, &product);
  return good && product == numel;
}

}  // namespace

Tensor view(const Tensor& self, IntList size) {
  if (self.is_contiguous() && fits_exactly(size, self.numel())) return make_contiguous_view(self, size);
  const Dims sizes = infer_size(size, self.numel());
  if (self.is_contiguous() && self.numel() > 0) return make_contiguous_view(self, sizes);
  const std::optional<Dims> strides = view_strides(self.sizes(), self.strides(), sizes);
  SCONCE_CHECK(
      strides,
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
      "contiguous subspaces). Use .reshape(...) instead: {} with strides {} is no view of {}",
      sizes, self.strides(), self.sizes());
  return make_view_unchecked(self, sizes, *strides, self.storage_offset());
}

Tensor view_dtype(const Tensor& self, DType dtype) {
  SCONCE_CHECK(!has_conj_bit(self),
               "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
  SCONCE_CHECK(
      !has_neg_bit(self),
      "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.");
  const auto from = static_cast<int64_t>(self.item_size()), to = static_cast<int64_t>(item_size(dtype));
  ViewGeometry g = geometry_of(self);
  if (from == to) return view_of(self, dtype, g);
  const std::string_view old_name = dtype_legacy_name(self.dtype()), new_name = dtype_legacy_name(dtype);
  SCONCE_CHECK(self.dim() > 0, "self.dim() cannot be 0 to view {} as {} (different element sizes)", old_name, new_name);
  SCONCE_CHECK(self.strides().back() == 1,
               "self.stride(-1) must be 1 to view {} as {} (different element sizes), but got {}", old_name, new_name,
               self.strides().back());
  const size_t last = g.sizes.size() - 1;
  if (from > to) {
    const int64_t ratio = from / to;
    for (size_t d = 0; d < last; ++d) g.strides[d] *= ratio;
    g.sizes[last] *= ratio;
    g.offset *= ratio;
    return view_of(self, dtype, g);
  }
  const int64_t ratio = to / from;
  SCONCE_CHECK(g.sizes[last] % ratio == 0,
               "self.size(-1) must be divisible by {} to view {} as {} (different element sizes), but got {}", ratio,
               old_name, new_name, g.sizes[last]);
  SCONCE_CHECK(g.offset % ratio == 0,
               "self.storage_offset() must be divisible by {} to view {} as {} (different element sizes), but got {}",
               ratio, old_name, new_name, g.offset);
  for (size_t d = 0; d < last; ++d) {
    SCONCE_CHECK(g.strides[d] % ratio == 0,
                 "self.stride({}) must be divisible by {} to view {} as {} (different element sizes), but got {}", d,
                 ratio, old_name, new_name, g.strides[d]);
    g.strides[d] /= ratio;
  }
  g.sizes[last] /= ratio;
  g.offset /= ratio;
  return view_of(self, dtype, g);
}

Tensor view_as_real(const Tensor& self) {
  SCONCE_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors, got {}",
               dtype_name(self.dtype()));
  SCONCE_CHECK(
      !has_conj_bit(self),
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
      "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
      "the original.");
  ViewGeometry g = geometry_of(self);
  for (auto& s : g.strides) s *= 2;
  g.offset *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  return view_of(self, real_dtype(self.dtype()), g);
}

Tensor view_as_complex(const Tensor& self) {
  SCONCE_CHECK(self.dtype() == DType::float32 || self.dtype() == DType::float64,
               "view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: {}",
               dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(self.dim() != 0, "Input tensor must have one or more dimensions");
  SCONCE_CHECK(self.sizes().back() == 2, "Tensor must have a last dimension of size 2, got {}", self.sizes());
  ViewGeometry g = geometry_of(self);
  SCONCE_CHECK(g.strides.back() == 1, "Tensor must have a last dimension with stride 1, got strides {}",
               self.strides());
  g.sizes.pop_back();
  g.strides.pop_back();
  for (auto& s : g.strides) {
    SCONCE_CHECK(s % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension, got {}",
                 self.strides());
    s /= 2;
  }
  SCONCE_CHECK(g.offset % 2 == 0, "Tensor must have a storage_offset divisible by 2, got {}", g.offset);
  g.offset /= 2;
  return view_of(self, complex_dtype(self.dtype()), g);
}

Tensor reshape(const Tensor& self, IntList shape) {
  if (self.is_contiguous() && fits_exactly(shape, self.numel())) return make_contiguous_view(self, shape);
  const Dims sizes = infer_size(shape, self.numel());
  if (const std::optional<Dims> strides = view_strides(self.sizes(), self.strides(), sizes))
    return make_view_unchecked(self, sizes, *strides, self.storage_offset());
  const Tensor dense = contiguous_tensor(self);
  return make_tensor(Ref<Storage>::share(dense.storage()), self.dtype(), sizes, dense_strides(sizes), 0);
}

Tensor _reshape_alias(const Tensor& self, IntList size, IntList stride) {
  return make_view(self, size, stride, self.storage_offset());
}

Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  SCONCE_CHECK(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor");
  SCONCE_CHECK(step > 0, "slice step must be positive, got {}", step);
  const int64_t d = wrap_dim(dim, self.dim());
  ViewGeometry g = geometry_of(self);
  const int64_t size = g.sizes[d];
  int64_t from = start.value_or(0), to = end.value_or(INT64_MAX);
  if (from < 0) from += size;
  if (to < 0) to += size;
  from = std::clamp<int64_t>(from, 0, size);
  to = std::clamp<int64_t>(to, from, size);
  const int64_t length = to - from;
  g.sizes[d] = length / step + (length % step != 0);
  g.offset += from * g.strides[d];
  if (__builtin_mul_overflow(g.strides[d], step, &g.strides[d])) g.strides[d] = 0;  // then only one element is left
  return view_of(self, g);
}

Tensor select_int(const Tensor& self, int64_t dim, int64_t index) {
  SCONCE_CHECK_AS(index, self.dim() > 0, "select() cannot be applied to a 0-dim tensor");
  const int64_t d = wrap_dim(dim, self.dim());
  ViewGeometry g = geometry_of(self);
  const int64_t size = g.sizes[d];
  SCONCE_CHECK_AS(index, -size <= index && index < size,
                  "select(): index {} out of range for tensor of size {} at dimension {}", index, self.sizes(), d);
  g.offset += (index < 0 ? index + size : index) * g.strides[d];
  g.sizes.erase(static_cast<size_t>(d));
  g.strides.erase(static_cast<size_t>(d));
  return view_of(self, g);
}

Tensor unsqueeze(const Tensor& self, int64_t dim) { return view_of(self, unsqueezed(self, dim)); }
Tensor squeeze(const Tensor& self) { return view_of(self, squeezed(self)); }
Tensor squeeze_dim(const Tensor& self, int64_t dim) { return view_of(self, squeezed(self, {dim})); }
Tensor squeeze_dims(const Tensor& self, IntList dim) { return view_of(self, squeezed(self, dim)); }
Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1) {
  return view_of(self, transposed(self, dim0, dim1));
}
Tensor t(const Tensor& self) { return view_of(self, matrix_transposed(self)); }

void unsqueeze_(const Tensor& self, int64_t dim) { set_in_place(self, unsqueezed(self, dim)); }
void squeeze_(const Tensor& self) { set_in_place(self, squeezed(self)); }
void squeeze__dim(const Tensor& self, int64_t dim) { set_in_place(self, squeezed(self, {dim})); }
void squeeze__dims(const Tensor& self, IntList dim) { set_in_place(self, squeezed(self, dim)); }
void transpose_(const Tensor& self, int64_t dim0, int64_t dim1) { set_in_place(self, transposed(self, dim0, dim1)); }
void t_(const Tensor& self) { set_in_place(self, matrix_transposed(self)); }

Tensor permute(const Tensor& self, IntList dims) {
  SCONCE_CHECK(static_cast<int64_t>(dims.size()) == self.dim(),
               "permute(dims): input.dim() = {} is not equal to len(dims) = {}: self is {}, dims are {}", self.dim(),
               dims.size(), self.sizes(), dims);
  ViewGeometry g{{}, {}, self.storage_offset()};
  SmallVector<bool, 16> seen(dims.size(), false);
  for (int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, self.dim());
    SCONCE_CHECK(!seen[d], "permute(): duplicate dims are not allowed, got {}", dims);
    seen[d] = true;
    g.sizes.push_back(self.sizes()[d]);
    g.strides.push_back(self.strides()[d]);
  }
  return view_of(self, g);
}

Tensor movedim_intlist(const Tensor& self, IntList source, IntList destination) {
  SCONCE_CHECK(
      source.size() == destination.size(),
      "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as "
      "destination ({} dims)",
      source, destination);
  const int64_t rank = self.dim();
  if (rank == 0) {
    for (size_t i = 0; i < source.size(); ++i) wrap_dim(source[i], 0), wrap_dim(destination[i], 0);
    return alias(self);
  }
  Dims order(static_cast<size_t>(rank), -1);
  SmallVector<bool, 16> moved(static_cast<size_t>(rank), false);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], rank), to = wrap_dim(destination[i], rank);
    SCONCE_CHECK(!moved[from], "movedim: repeated dim in `source` ({})", source);
    SCONCE_CHECK(order[to] == -1, "movedim: repeated dim in `destination` ({})", destination);
    moved[from] = true;
    order[to] = from;
  }
  int64_t next = 0;
  for (auto& place : order) {
    if (place != -1) continue;
    while (moved[next]) ++next;
    place = next++;
  }
  return permute(self, order);
}

Tensor numpy_T(const Tensor& self) {
  Dims order;
  for (int64_t d = self.dim() - 1; d >= 0; --d) order.push_back(d);
  return permute(self, order);
}

Tensor unflatten_int(const Tensor& self, int64_t dim, IntList sizes) {
  SCONCE_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.dim() == 0 ? 1 : self.sizes()[d];
  int64_t known = 1, open = 0;
  for (int64_t s : sizes) {
    if (s == -1)
      ++open;
    else if (__builtin_mul_overflow(known, s, &known))
      known = -1;
  }
  SCONCE_CHECK(open == 0 ? known == length : known != 0 && length % known == 0,
               "unflatten: Provided sizes {} don't multiply up to the size of dim {} ({}) in the input tensor", sizes,
               d, length);
  const Dims inner = infer_size(sizes, length);
  Dims out;
  if (self.dim() > 0) out.append(self.sizes().slice(0, static_cast<size_t>(d)));
  out.append(inner);
  if (self.dim() > 0)
    out.append(self.sizes().slice(static_cast<size_t>(d + 1), static_cast<size_t>(self.dim() - d - 1)));
  return view(self, out);
}

Tensor expand(const Tensor& self, IntList size, bool) {
  const auto rank = static_cast<int64_t>(size.size());
  SCONCE_CHECK(
      rank >= self.dim(),
      "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor "
      "({}): {} does not expand to {}",
      rank, self.dim(), self.sizes(), size);
  ViewGeometry g{Dims(size.size()), Dims(size.size()), self.storage_offset()};
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t d = i - (rank - self.dim());
    const int64_t old_size = d >= 0 ? self.sizes()[d] : 1;
    int64_t stride = d >= 0 ? self.strides()[d] : (i == rank - 1 ? 1 : g.sizes[i + 1] * g.strides[i + 1]);
    int64_t wanted = size[i];
    if (wanted == -1) {
      SCONCE_CHECK(d >= 0,
                   "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {}: {} "
                   "does not expand to {}",
                   i, self.sizes(), size);
      wanted = old_size;
    }
    if (wanted != old_size) {
      SCONCE_CHECK(
          old_size == 1 && wanted >= 0,
          "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}. "
          "Target sizes: {}. Tensor sizes: {}",
          wanted, old_size, i, size, self.sizes());
      stride = 0;
    }
    g.sizes[i] = wanted;
    g.strides[i] = stride;
  }
  return make_view(self, g.sizes, g.strides, g.offset);
}

Tensor as_strided(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
  return make_view(self, size, stride, storage_offset.value_or(self.storage_offset()));
}

void as_strided_(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
  set_in_place(self, {size, stride, storage_offset.value_or(self.storage_offset())});
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
  SCONCE_CHECK(a != b, "diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  ViewGeometry g = geometry_of(self);
  const int64_t rows = g.sizes[a], columns = g.sizes[b];
  // Far offsets leave nothing; compared before subtracting, so that no extreme number overflows.
  int64_t length = 0;
  if (offset >= 0 && offset < columns) length = std::min(rows, columns - offset);
  if (offset < 0 && offset > -rows) length = std::min(rows + offset, columns);
  // Without elements, strides may be anything.
  if (length > 0) g.offset = Checked(g.offset) + Checked(std::abs(offset)) * g.strides[offset >= 0 ? b : a];
  const int64_t stride = Checked(g.strides[a]) + g.strides[b];
  for (const int64_t d : {std::max(a, b), std::min(a, b)}) {
    g.sizes.erase(static_cast<size_t>(d));
    g.strides.erase(static_cast<size_t>(d));
  }
  g.sizes.push_back(length);
  g.strides.push_back(stride);
  return view_of(self, g);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t d = wrap_dim(dimension, self.dim());
  const int64_t limit = self.dim() == 0 ? 1 : self.sizes()[d];
  SCONCE_CHECK(size >= 0, "size is {} but must be >= 0", size);
  SCONCE_CHECK(size <= limit, "maximum size for tensor at dimension {} is {} but size is {}", d, limit, size);
  SCONCE_CHECK(step > 0, "step is {} but must be > 0", step);
  ViewGeometry g = geometry_of(self);
  const int64_t stride = self.dim() == 0 ? 1 : g.strides[d];
  if (self.dim() > 0) {
    g.sizes[d] = (limit - size) / step + 1;
    if (__builtin_mul_overflow(g.strides[d], step, &g.strides[d])) g.strides[d] = 0;  // then there is one window
  }
  g.sizes.push_back(size);
  g.strides.push_back(stride);
  return view_of(self, g);
}

}  // namespace sconce::any_device
