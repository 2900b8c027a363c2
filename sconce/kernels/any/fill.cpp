#include "sconce/kernels/any/fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/copy_kernels.h"
#include "sconce/generated/padding_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

template <class T>
bool fits_integer(const Scalar& value) {
  if (value.is_real() || value.is_complex()) {
    const double v = value.is_real() ? value.to_double() : value.to_complex().real();
    return v >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           v <= static_cast<double>(std::numeric_limits<T>::max());
  }
  const int64_t v = value.to_int();
  if (std::is_unsigned_v<T> && v < 0)  // wraps, as C does it, when the magnitude fits
    return v >= -static_cast<int64_t>(std::numeric_limits<T>::max());
  return v >= static_cast<int64_t>(std::numeric_limits<T>::lowest()) &&
         v <= static_cast<int64_t>(std::numeric_limits<T>::max());
}

// Within the limit, or infinite where the format has that; NaN is in all of them.
bool fits_float(const Scalar& value, double limit, bool infinite) {
  const double v = std::abs(value.is_complex() ? value.to_complex().real() : value.to_double());
  return !(v > limit) || (infinite && std::isinf(v));
}

bool fits(const Scalar& value, DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return fits_integer<uint8_t>(value);
    case DType::int8:
      return fits_integer<int8_t>(value);
    case DType::int16:
      return fits_integer<int16_t>(value);
    case DType::int32:
      return fits_integer<int32_t>(value);
    case DType::int64:
      return fits_integer<int64_t>(value);
    case DType::uint16:
      return fits_integer<uint16_t>(value);
    case DType::uint32:
      return fits_integer<uint32_t>(value);
    case DType::uint64: {
      if (value.is_integral() || value.is_bool()) return true;  // below 0 wraps
      const double v = value.is_real() ? value.to_double() : value.to_complex().real();
      return v >= 0 && v <= 0x1p64;
    }
    case DType::float8_e4m3fn:
      return fits_float(value, 448, false);
    case DType::float8_e5m2:
      return fits_float(value, 57344, true);
    case DType::float16:
      return fits_float(value, 65504, true);
    case DType::bfloat16:
      return fits_float(value, 0x1.fep127, true);
    case DType::float32:
      return fits_float(value, std::numeric_limits<float>::max(), true);
    default:
      return true;
  }
}

}  // namespace

void check_fits(const Scalar& value, DType dtype) {
  SCONCE_CHECK(!value.is_complex() || is_complex(dtype) || dtype == DType::bool_ || value.to_complex().imag() == 0,
               "value cannot be converted to type {} without overflow: {} has an imaginary part", dtype_name(dtype),
               value.to_string());
  SCONCE_CHECK(fits(value, dtype), "value cannot be converted to type {} without overflow: {}", dtype_name(dtype),
               value.to_string());
}

Scalar as_float(const Scalar& value, DType dtype) {
  if (!is_floating(dtype) || is_float8(dtype) || value.is_complex() || fits(value, dtype)) return value;
  alignas(8) unsigned char element[8];
  store_scalar(element, dtype, value);
  return load_scalar(element, dtype);
}

void fill_tensor(const Tensor& self, const Scalar& value) {
  check_fits(value, self.dtype());
  check_no_internal_overlap(self);
  if (self.is_meta() || self.numel() == 0) return;
  alignas(16) unsigned char element[16] = {};
  store_scalar(element, self.dtype(), value);
  fill_elements(self, element);
}

namespace any_device {

void fill__Scalar(const Tensor& self, const Scalar& value) {
  fill_tensor(self, value);
  self.bump_version();
}

void fill__Tensor(const Tensor& self, const Tensor& value) {
  SCONCE_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions",
               value.dim());
  check_no_internal_overlap(self);
  if (self.storage() == value.storage() && !self.is_meta()) {
    fill_tensor(self, item_of(value));
  } else {
    copy_tensor(self, value);
  }
  self.bump_version();
}

void zero_(const Tensor& self) {
  fill_tensor(self, 0);
  self.bump_version();
}

void constant_pad_nd(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out) {
  if (out.numel() == 0) return;
  // From the outside in: the borders of one dimension are filled, then only its middle is left to do.
  Tensor middle = out, part = self;
  for (size_t i = pad.size() / 2; i-- > 0;) {
    const auto d = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t left = std::max<int64_t>(pad[2 * i], 0), right = std::max<int64_t>(pad[2 * i + 1], 0);
    const int64_t size = out.sizes()[d];
    if (left > 0) fill_tensor(slice_Tensor(middle, d, 0, left, 1), value);
    if (right > 0) fill_tensor(slice_Tensor(middle, d, size - right, size, 1), value);
    middle = slice_Tensor(middle, d, left, size - right, 1);
    part = slice_Tensor(part, d, std::max<int64_t>(-pad[2 * i], 0),
                        self.sizes()[d] - std::max<int64_t>(-pad[2 * i + 1], 0), 1);
  }
  copy_tensor(middle, part);
}

}  // namespace any_device
}  // namespace sconce
