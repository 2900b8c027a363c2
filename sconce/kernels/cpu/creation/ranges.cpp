// arange, linspace, logspace and index matrices: tensors whose elements follow from their place.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

bool is_integer(const Scalar& s) { return s.is_integral() || s.is_bool(); }

// Calls f<T>() with the type of an element, where ranges exist.
template <class F>
void for_range_type(DType dtype, const char* op, const F& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool> || kIsComplex<T>)
      fail_as(ErrorKind::not_implemented, "\"{}\" not implemented for '{}'", op, dtype_legacy_name(dtype));
    else
      f.template operator()<T>();
  });
}

int64_t steps_between(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const auto fits = [](const Scalar& x) { return is_integer(x) || std::abs(x.to_double()) < 9.2e18; };
  if (dtype == DType::int64 && fits(start) && fits(end) && fits(step)) {
    const auto whole = [](const Scalar& x) { return is_integer(x) ? x.to_int() : static_cast<int64_t>(x.to_double()); };
    const int64_t a = whole(start), b = whole(end), s = whole(step);
    SCONCE_CHECK(s != 0, "step must be nonzero");
    SCONCE_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and lower bound inconsistent with step sign");
    const auto distance = static_cast<uint64_t>(s > 0 ? b : a) - static_cast<uint64_t>(s > 0 ? a : b);
    const uint64_t width = s > 0 ? static_cast<uint64_t>(s) : uint64_t{0} - static_cast<uint64_t>(s);
    const uint64_t count = distance / width + (distance % width != 0);
    SCONCE_CHECK(count <= static_cast<uint64_t>(INT64_MAX), "invalid size, possible overflow?");
    return static_cast<int64_t>(count);
  }
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  SCONCE_CHECK(s != 0, "step must be nonzero");
  SCONCE_CHECK(std::isfinite(a) && std::isfinite(b), "unsupported range: {} -> {}", a, b);
  SCONCE_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and lower bound inconsistent with step sign");
  const double count = std::ceil((b - a) / s);
  SCONCE_CHECK(count >= 0 && count < 9.2e18, "invalid size, possible overflow?");
  return static_cast<int64_t>(count);
}

// out[i] = start + i * step
void fill_steps(const Tensor& out, const Scalar& start, const Scalar& step) {
  if (out.is_meta()) return;
  for_range_type(out.dtype(), "arange", [&]<class T>() {
    T* to = out.data<T>();
    if constexpr (std::is_integral_v<T>) {
      const auto whole = [](const Scalar& x) {
        return static_cast<uint64_t>(is_integer(x) ? x.to_int() : numbers::to_integer<int64_t>(x.to_double()));
      };
      const uint64_t a = whole(start), s = whole(step);
      parallel_for(out.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(a + s * static_cast<uint64_t>(i));
      });
    } else {
      const double a = start.to_double(), s = step.to_double();
      parallel_for(out.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = narrowed<T>(a + s * static_cast<double>(i));
      });
    }
  });
}

DType arange_dtype(OptDType dtype, std::initializer_list<const Scalar*> numbers) {
  if (dtype) return *dtype;
  for (const Scalar* n : numbers) {
    if (!is_integer(*n)) return default_dtype();
  }
  return DType::int64;
}

void arange_into(const Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const int64_t n = steps_between(start, end, step, out.dtype());
  if (out.numel() != n) resize_tensor(out, {n});
  const Tensor dense = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  fill_steps(dense, start, step);
  if (!dense.is_same(out)) copy_tensor(out, dense);
  out.bump_version();
}

// Points are computed from the nearer end, so that both ends are exact.
template <class F>
void fill_between(const Tensor& out, const Scalar& start, const Scalar& end, const char* op, const F& map) {
  const int64_t n = out.numel();
  if (out.is_meta() || n == 0) return;
  if (is_complex(out.dtype())) {
    const std::complex<double> a = start.to_complex(), b = end.to_complex();
    const std::complex<double> step = n > 1 ? (b - a) / static_cast<double>(n - 1) : 0;
    const auto run = [&]<class T>() {
      for (int64_t i = 0; i < n; ++i) {
        const std::complex<double> v =
            i < n / 2 || n == 1 ? a + step * static_cast<double>(i) : b - step * static_cast<double>(n - 1 - i);
        out.data<std::complex<T>>()[i] = std::complex<T>(map(v));
      }
    };
    out.dtype() == DType::complex64 ? run.template operator()<float>() : run.template operator()<double>();
    return;
  }
  const double first = start.to_double(), last = end.to_double();
  for_range_type(out.dtype(), op, [&]<class T>() {
    using W = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const auto a = static_cast<W>(std::is_integral_v<T> ? std::trunc(first) : first);
    const auto b = static_cast<W>(std::is_integral_v<T> ? std::trunc(last) : last);
    const W step = n > 1 ? (b - a) / static_cast<W>(n - 1) : W(0);
    T* to = out.data<T>();
    parallel_for(n, kParallelGrain, [&](int64_t begin, int64_t finish) {
      for (int64_t i = begin; i < finish; ++i) {
        const W v = i < n / 2 || n == 1 ? a + step * static_cast<W>(i) : b - step * static_cast<W>(n - 1 - i);
        to[i] = narrowed<T>(map(v));
      }
    });
  });
}

constexpr auto kSame = [](auto v) { return v; };
auto power_of(double base) {
  return [base](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      return static_cast<decltype(v)>(std::pow(static_cast<decltype(v)>(base), v));
    else
      return std::pow(std::complex<double>(base), v);
  };
}

Tensor empty_steps(int64_t steps, const Scalar& start, const Scalar& end, OptDType dtype, OptLayout layout,
                   OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  SCONCE_CHECK(steps >= 0, "number of steps must be non-negative, got {}", steps);
  DType type = default_dtype();
  if (start.is_complex() || end.is_complex()) type = complex_dtype(type);
  SCONCE_CHECK(!is_complex(type) || !dtype || is_complex(*dtype),
               "linspace(): inferred dtype {} can't be safely cast to passed dtype {}", dtype_name(type),
               dtype_name(dtype.value_or(type)));
  return empty_tensor({steps}, dtype.value_or(type), device.value_or(Device()));
}

Scalar number_in(const Tensor& t, const char* op) {
  SCONCE_CHECK(t.dim() == 0,
               "{} only supports 0-dimensional start and end tensors, but got a tensor with {} dimension(s)", op,
               t.dim());
  return t.is_meta() ? Scalar(0.0) : item_of(t);
}

void resize_steps(const Tensor& out, int64_t steps) {
  SCONCE_CHECK(steps >= 0, "number of steps must be non-negative, got {}", steps);
  if (out.numel() != steps) resize_tensor(out, {steps});
}

template <class F>
void fill_between_out(const Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, const char* op,
                      const F& map) {
  resize_steps(out, steps);
  const Tensor dense = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  fill_between(dense, start, end, op, map);
  if (!dense.is_same(out)) copy_tensor(out, dense);
  out.bump_version();
}

}  // namespace

Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptLayout layout,
                         OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  const DType type = arange_dtype(dtype, {&start, &end, &step});
  Tensor out = empty_tensor({steps_between(start, end, step, type)}, type, device.value_or(Device()));
  fill_steps(out, start, step);
  return out;
}
Tensor arange_start(const Scalar& start, const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  return arange_start_step(start, end, 1, dtype, layout, device, pin_memory);
}
Tensor arange(const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return arange_start_step(0, end, 1, dtype, layout, device, pin_memory);
}
void arange_start_out(const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
  arange_into(out, start, end, step);
}
void arange_out(const Scalar& end, const Tensor& out) { arange_into(out, 0, end, 1); }

Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptLayout layout,
                  OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  SCONCE_CHECK(s != 0, "step must be nonzero");
  SCONCE_CHECK(std::isfinite(a) && std::isfinite(b), "unsupported range: {} -> {}", a, b);
  SCONCE_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and larger bound inconsistent with step sign");
  Tensor out =
      empty_tensor({static_cast<int64_t>((b - a) / s + 1)}, dtype.value_or(default_dtype()), device.value_or(Device()));
  fill_steps(out, start, step);
  return out;
}
Tensor range(const Scalar& start, const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device,
             OptBool pin_memory) {
  return range_step(start, end, 1, dtype, layout, device, pin_memory);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, OptDType dtype, OptLayout layout,
                OptDevice device, OptBool pin_memory) {
  Tensor out = empty_steps(steps, start, end, dtype, layout, device, pin_memory);
  fill_between(out, start, end, "linspace", kSame);
  return out;
}
Tensor linspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps, OptDType dtype, OptLayout layout,
                              OptDevice device, OptBool pin_memory) {
  return linspace(number_in(start, "linspace"), number_in(end, "linspace"), steps, dtype, layout,
                  device.value_or(start.device()), pin_memory);
}
Tensor linspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps, OptDType dtype, OptLayout layout,
                              OptDevice device, OptBool pin_memory) {
  return linspace(number_in(start, "linspace"), end, steps, dtype, layout, device.value_or(start.device()), pin_memory);
}
Tensor linspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps, OptDType dtype, OptLayout layout,
                              OptDevice device, OptBool pin_memory) {
  return linspace(start, number_in(end, "linspace"), steps, dtype, layout, device.value_or(end.device()), pin_memory);
}
void linspace_out(const Scalar& start, const Scalar& end, int64_t steps, const Tensor& out) {
  fill_between_out(out, start, end, steps, "linspace", kSame);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OptDType dtype, OptLayout layout,
                OptDevice device, OptBool pin_memory) {
  Tensor out = empty_steps(steps, start, end, dtype, layout, device, pin_memory);
  fill_between(out, start, end, "logspace", power_of(base));
  return out;
}
Tensor logspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps, double base, OptDType dtype,
                              OptLayout layout, OptDevice device, OptBool pin_memory) {
  return logspace(number_in(start, "logspace"), number_in(end, "logspace"), steps, base, dtype, layout,
                  device.value_or(start.device()), pin_memory);
}
Tensor logspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps, double base, OptDType dtype,
                              OptLayout layout, OptDevice device, OptBool pin_memory) {
  return logspace(number_in(start, "logspace"), end, steps, base, dtype, layout, device.value_or(start.device()),
                  pin_memory);
}
Tensor logspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps, double base, OptDType dtype,
                              OptLayout layout, OptDevice device, OptBool pin_memory) {
  return logspace(start, number_in(end, "logspace"), steps, base, dtype, layout, device.value_or(end.device()),
                  pin_memory);
}
void logspace_out(const Scalar& start, const Scalar& end, int64_t steps, double base, const Tensor& out) {
  fill_between_out(out, start, end, steps, "logspace", power_of(base));
}

namespace {

// Row and column of every place on one side of a diagonal, row by row: [2, count].
Tensor triangle_indices(int64_t row, int64_t col, int64_t offset, bool lower, DType dtype, Device device) {
  SCONCE_CHECK(row >= 0, "row must be non-negative, got {}", row);
  SCONCE_CHECK(col >= 0, "col must be non-negative, got {}", col);
  SCONCE_CHECK(dtype == DType::int32 || dtype == DType::int64, "indices must be int32 or int64, got {}",
               dtype_name(dtype));
  if (checked_numel({row, col}) == 0) return empty_tensor({2, 0}, dtype, device);
  // Columns [begin, end) of a row; an offset past the matrix is the same as one at its edge.
  const int64_t shift = std::clamp(offset, -row - 1, col + 1);
  const auto begin = [&](int64_t r) { return lower ? 0 : std::clamp<int64_t>(r + shift, 0, col); };
  const auto end = [&](int64_t r) { return lower ? std::clamp<int64_t>(r + shift + 1, 0, col) : col; };
  // Rows [first, last) have columns; the length of those before `bend` (lower) or from it on (upper) grows or shrinks
  // by one a row, that of the others is col.
  const int64_t first = lower ? std::min(row, std::max<int64_t>(0, -shift)) : 0;
  const int64_t last = lower ? row : std::clamp<int64_t>(col - shift, 0, row);
  const int64_t bend = std::clamp(lower ? col - shift - 1 : -shift, first, last);
  const auto sum = [&](int64_t from, int64_t to) {  // of an arithmetic series, in which no product overflows
    return from == to ? __int128{0}
                      : static_cast<__int128>(to - from) * (end(from) - begin(from) + end(to - 1) - begin(to - 1)) / 2;
  };
  const int64_t count = static_cast<int64_t>(sum(first, bend) + sum(bend, last));
  Tensor out = empty_tensor({2, count}, dtype, device);
  if (out.is_meta()) return out;
  const auto write = [&]<class T>() {
    T* rows = out.data<T>();
    T* columns = rows + count;
    for (int64_t r = first; r < last; ++r) {
      for (int64_t c = begin(r); c < end(r); ++c) {
        *rows++ = static_cast<T>(r);
        *columns++ = static_cast<T>(c);
      }
    }
  };
  dtype == DType::int64 ? write.template operator()<int64_t>() : write.template operator()<int32_t>();
  return out;
}

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  check_options(layout, pin_memory);
  return triangle_indices(row, col, offset, true, dtype.value_or(DType::int64), device.value_or(Device()));
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  check_options(layout, pin_memory);
  return triangle_indices(row, col, offset, false, dtype.value_or(DType::int64), device.value_or(Device()));
}

}  // namespace sconce::cpu
