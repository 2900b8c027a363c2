#include "sconce/tensor/promotion.h"

#include "sconce/base/error.h"

namespace sconce {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_limited(a) || is_limited(b)) {
    SCONCE_CHECK(!is_float8(a) && !is_float8(b),
                 "Promotion for Float8 Types is not supported, attempted to promote {} and {}", dtype_legacy_name(a),
                 dtype_legacy_name(b));
    SCONCE_CHECK(is_floating(a) || is_floating(b),
                 "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {} and {}",
                 dtype_legacy_name(a), dtype_legacy_name(b));
    return is_floating(a) ? a : b;
  }
  if (category(a) < category(b)) std::swap(a, b);
  // a has the higher category, or the same
  switch (category(a)) {
    case Category::boolean:
      return a;
    case Category::integral:
      if (category(b) == Category::boolean) return a;
      if ((a == DType::uint8 && b == DType::int8) || (a == DType::int8 && b == DType::uint8)) return DType::int16;
      return item_size(a) == item_size(b) ? a : item_size(a) > item_size(b) ? a : b;
    case Category::floating:
      if (category(b) != Category::floating) return a;
      if (item_size(a) == item_size(b)) return DType::float32;  // float16 and bfloat16
      return item_size(a) > item_size(b) ? a : b;
    case Category::complex:
      return b == DType::float64 || b == DType::complex128 ? DType::complex128 : a;
  }
  return a;
}

namespace {

DType complex_of(DType t) {
  if (t == DType::float16) return kComplex32;
  SCONCE_CHECK(!is_float8(t), "Unknown Complex ScalarType for {}", dtype_legacy_name(t));
  return t == DType::float64 ? DType::complex128 : DType::complex64;
}

}  // namespace

void ResultType::add(int group, DType t) {
  type_[group] = has_[group] ? promote_types(type_[group], t) : t;
  has_[group] = true;
}

void ResultType::add(const Tensor& t) {
  if (!t.defined()) return;
  DType type = t.dtype();
  if (t.is_wrapped_number()) {
    if (is_complex(type)) {
      type = complex_dtype(default_dtype());
    } else if (is_floating(type)) {
      type = default_dtype();
    }
    add(2, type);
  } else {
    add(t.dim() > 0 ? 0 : 1, type);
  }
}

void ResultType::add(const Scalar& s) { add(2, s.dtype()); }

DType ResultType::get() const {
  DType result = DType::bool_;
  bool any = false;
  for (int group = 0; group < 3; ++group) {
    if (!has_[group]) continue;
    if (!any) {
      result = type_[group];
      any = true;
    } else if (category(type_[group]) > category(result)) {
      // Next to floating numbers a complex one is as precise as they are; next to integers it stays what it is.
      result = is_floating(result)        ? complex_of(result)
               : is_complex(type_[group]) ? type_[group]
                                          : promote_types(result, type_[group]);
    }
  }
  return result;
}

DType result_type(const Tensor& a, const Tensor& b) {
  ResultType r;
  r.add(a);
  r.add(b);
  return r.get();
}

DType result_type(const Tensor& a, const Scalar& b) {
  ResultType r;
  r.add(a);
  r.add(b);
  return r.get();
}

}  // namespace sconce
