// gather, scatter*, index_select, index_add, index_copy, index_fill, index_reduce.
#include <algorithm>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/index/scatter_along.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

int64_t rank_of(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }
int64_t size_of(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[d]; }

void check_gather(const Tensor& self, int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return;
  check_index_dtype(index, "gather");
  SCONCE_CHECK(rank_of(self) == rank_of(index),
               "Index tensor must have the same number of dimensions as input tensor: index is {}, input is {}",
               index.sizes(), self.sizes());
  for (int64_t d = 0; d < rank_of(self); ++d) {
    SCONCE_CHECK(
        d == dim || size_of(index, d) <= size_of(self, d),
        "Size does not match at dimension {} expected index {} to be no larger than self {} apart from dimension {}", d,
        index.sizes(), self.sizes(), dim);
  }
}

// `src` may be undefined: a single value is scattered then.
void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() != 0) check_index_dtype(index, "scatter");
  if (src.defined())
    SCONCE_CHECK(self.dtype() == src.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype, got {} and {}",
                 dtype_name(self.dtype()), dtype_name(src.dtype()));
  if (index.numel() == 0) return;
  SCONCE_CHECK(rank_of(self) == rank_of(index),
               "Index tensor must have the same number of dimensions as self tensor: {} and {}", index.sizes(),
               self.sizes());
  SCONCE_CHECK(!src.defined() || rank_of(src) == rank_of(index),
               "Index tensor must have the same number of dimensions as src tensor: {} and {}", index.sizes(),
               src.defined() ? src.sizes() : IntList());
  for (int64_t d = 0; d < rank_of(self); ++d) {
    const bool fits =
        (d == dim || size_of(index, d) <= size_of(self, d)) && (!src.defined() || size_of(index, d) <= size_of(src, d));
    SCONCE_CHECK(
        fits,
        "Expected index {} to be no larger than self {} apart from dimension {} and to be no larger size than src {}",
        index.sizes(), self.sizes(), dim, src.defined() ? src.sizes() : IntList());
  }
}

Tensor unshared(const Tensor& t, const Tensor& written) {
  if (t.storage() != written.storage() || t.is_meta()) return t;
  Tensor copy = empty_tensor(t.sizes(), t.dtype(), t.device());
  copy_tensor(copy, t);
  return copy;
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Combine combine) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_scatter(self, d, index, src);
  check_no_internal_overlap(self);
  if (!self.is_meta()) {
    Tensor source = unshared(src, self);
    if (source.dim() == 0) source = make_view(source, {1}, {1}, source.storage_offset());
    scatter_along(self, d, unshared(index, self), source, combine);
  }
  self.bump_version();
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Combine combine) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_scatter(self, d, index, {});
  check_no_internal_overlap(self);
  check_fits(value, self.dtype());
  if (!self.is_meta()) scatter_along(self, d, unshared(index, self), scalar_tensor_of(value, self.dtype()), combine);
  self.bump_version();
}

// The start value of an element that does not count itself.
Scalar start_of(std::string_view reduce, DType dtype) {
  if (reduce == "prod") return 1;
  if (reduce == "sum" || reduce == "mean") return 0;
  const bool low = reduce == "amax";
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return low ? -infinity : infinity;
  }
  switch (dtype) {
    case DType::bool_:
      return low ? 0 : 1;
    case DType::uint8:
      return low ? 0 : 255;
    case DType::int8:
      return low ? -128 : 127;
    case DType::int16:
      return low ? -32768 : 32767;
    case DType::int32:
      return low ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    default:
      return low ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
}

// stepwise: one slice of src after the other, each sum rounded to the dtype of self.
void reduce_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                 bool include_self, bool stepwise = false) {
  const bool mean = reduce == "mean";
  const Combine combine = mean ? Combine::add : combine_from_name(reduce);
  if (!include_self)
    scatter_along(self, dim, index, scalar_tensor_of(start_of(reduce, self.dtype()), self.dtype()), Combine::assign);
  if (stepwise) {
    const auto slice = [&](const Tensor& t, int64_t i) {
      Dims sizes(t.sizes());
      sizes[dim] = 1;
      return make_view(t, sizes, t.strides(), t.storage_offset() + i * t.strides()[dim]);
    };
    for (int64_t i = 0; i < index.sizes()[dim]; ++i) scatter_along(self, dim, slice(index, i), slice(src, i), combine);
  } else {
    scatter_along(self, dim, index, src, combine);
  }
  if (!mean || index.numel() == 0) return;
  // Divide by how many there were; places that nothing went to stay as they are.
  Tensor count = empty_tensor(self.sizes(), DType::int64);
  fill_tensor(count, include_self ? 1 : 0);
  scatter_along(count, dim, index, scalar_tensor_of(1, DType::int64), Combine::add);
  auto* n = count.data<int64_t>();
  for (int64_t i = 0; i < count.numel(); ++i) n[i] = std::max<int64_t>(n[i], 1);
  if (category(self.dtype()) <= Category::integral)
    div_(self, count, std::string_view("floor"));
  else
    div_(self, count);
}

// Checks of the index_* operators; the index is a vector along `dim`.
void check_index_vector(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* op) {
  SCONCE_CHECK_AS(index, index.dim() <= 1,
                  "{}(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {}", op, index.dim(),
                  dtype_name(index.dtype()), index.sizes());
  check_index_dtype(index, op);
  if (!source.defined()) return;
  SCONCE_CHECK(self.dtype() == source.dtype(),
               "{}(): self and source expected to have the same dtype, but got (self) {} and (source) {}", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(source.dtype()));
  SCONCE_CHECK(source.dim() == 0 || dim < source.dim(),
               "{}(): Indexing dim {} is out of bounds of the source tensor with dim {}", op, dim, source.dim());
  SCONCE_CHECK(rank_of(self) == rank_of(source), "{}(): self {} and source {} must have the same number of dimensions",
               op, self.sizes(), source.sizes());
  SCONCE_CHECK(index.numel() == size_of(source, dim),
               "{}(): Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}", op, index.numel(),
               size_of(source, dim), dim);
  if (self.dim() == 0 || source.dim() == 0) return;
  bool same = self.dim() == source.dim();
  for (int64_t d = 0; same && d < self.dim(); ++d) same = d == dim || self.sizes()[d] == source.sizes()[d];
  SCONCE_CHECK(
      same,
      "{}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} "
      "source.shape = {}",
      op, self.sizes(), source.sizes());
}

Tensor flat(const Tensor& t) { return t.dim() == 0 ? make_view(t, {1}, {1}, t.storage_offset()) : t; }

// Self with source along an index vector.
void index_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Combine combine) {
  check_no_internal_overlap(self);
  if (!self.is_meta()) {
    const Tensor from = flat(unshared(source, self)), places = unshared(index, self);
    scatter_along(flat(self), dim, expanded_index(places, dim, from.sizes()), from, combine);
  }
  self.bump_version();
}

}  // namespace

namespace any_device {

OutSpec gather_spec(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  check_gather(self, wrap_dim(dim, self.dim()), index);
  return {index.sizes(), self.dtype()};
}

OutSpec index_select_spec(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, self.dim());
  SCONCE_CHECK_AS(index, index.dim() <= 1, "index_select(): Index is supposed to be a vector, got {}", index.sizes());
  check_index_dtype(index, "index_select");
  if (self.dim() == 0) {
    SCONCE_CHECK(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got {} value(s)",
                 index.numel());
    return {{}, self.dtype()};
  }
  Dims sizes(self.sizes());
  sizes[d] = index.numel();
  return {sizes, self.dtype()};
}

}  // namespace any_device

namespace cpu {

void scatter__src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter(self, dim, index, src, Combine::assign);
}
void scatter__value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter(self, dim, index, value, Combine::assign);
}
void scatter__reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  SCONCE_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply, got {}",
               reduce);
  scatter(self, dim, index, src, combine_from_name(reduce));
}
void scatter__value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                           std::string_view reduce) {
  SCONCE_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply, got {}",
               reduce);
  scatter(self, dim, index, value, combine_from_name(reduce));
}
void scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter(self, dim, index, src, Combine::add);
}

void scatter_reduce__two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce, bool include_self) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (reduce != "mean") combine_from_name(reduce);
  SCONCE_CHECK(reduce != "add" && reduce != "multiply",
               "reduce argument must be either sum, prod, mean, amax or amin, got {}", reduce);
  check_scatter(self, d, index, src);
  check_no_internal_overlap(self);
  if (!self.is_meta())
    reduce_into(flat(self), d, flat(unshared(index, self)), flat(unshared(src, self)), reduce, include_self);
  self.bump_version();
}

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_vector(self, d, index, source, "index_add");
  const Tensor scaled = alpha.equals(1) ? source : mul(source, alpha);
  SCONCE_CHECK(scaled.dtype() == self.dtype(),
               "index_add(): a tensor of dtype {} takes no alpha that makes {} of its source", dtype_name(self.dtype()),
               dtype_name(scaled.dtype()));
  index_into(self, d, index, scaled, Combine::add);
}

void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_vector(self, d, index, source, "index_copy");
  SCONCE_CHECK(self.dim() == 0 || source.dim() == 0 || self.dim() == source.dim(),
               "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
               "dimensionality "
               "({}), destination dimensionality ({})",
               source.dim(), self.dim());
  index_into(self, d, index, source, Combine::assign);
}

void index_fill__int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_vector(self, d, index, {}, "index_fill_");
  SCONCE_CHECK(!value.is_complex() || is_complex(self.dtype()),
               "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  check_fits(value, self.dtype());
  check_no_internal_overlap(self);
  if (!self.is_meta()) {
    const Tensor target = flat(self);
    Dims sizes(target.sizes());
    sizes[d] = index.numel();
    // Negative indices count from the end here.
    Tensor places = empty_tensor({index.numel()}, DType::int64);
    copy_tensor(places, index);
    for (int64_t i = 0; i < places.numel(); ++i) {
      int64_t& v = places.data<int64_t>()[i];
      if (v < 0) v += target.sizes()[d];
    }
    scatter_along(target, d, expanded_index(places, d, sizes), scalar_tensor_of(value, self.dtype()), Combine::assign);
  }
  self.bump_version();
}

void index_fill__int_Tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  SCONCE_CHECK(value.dim() == 0,
               "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s)",
               value.dim());
  if (self.is_meta() || value.is_meta()) {
    check_index_vector(self, wrap_dim(dim, self.dim()), index, {}, "index_fill_");
    return;
  }
  index_fill__int_Scalar(self, dim, index, item_of(value));
}

void index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                   bool include_self) {
  const int64_t d = wrap_dim(dim, self.dim());
  SCONCE_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
               "reduce argument must be either prod, mean, amax or amin, got {}", reduce);
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()) && self.dtype() != DType::bool_,
                  "\"index_func_\" not implemented for '{}'", dtype_legacy_name(self.dtype()));
  check_index_vector(self, d, index, source, "index_reduce");
  check_no_internal_overlap(self);
  if (!self.is_meta()) {
    const Tensor from = flat(unshared(source, self)), places = unshared(index, self);
    const bool stepwise = self.item_size() == 2 && is_floating(self.dtype());  // as PyTorch rounds
    reduce_into(flat(self), d, expanded_index(places, d, from.sizes()), from, reduce, include_self, stepwise);
  }
  self.bump_version();
}

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  gather_along(flat(self), wrap_dim(dim, self.dim()), flat(index), flat(out));
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor target = flat(out);
  gather_along(flat(self), d, expanded_index(index, d, target.sizes()), target);
}

}  // namespace cpu
}  // namespace sconce
