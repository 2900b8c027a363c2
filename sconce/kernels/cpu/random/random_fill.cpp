#include "sconce/kernels/cpu/random/random_fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"
#include "sconce/base/variants/variants.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::rng {
namespace {

constexpr int64_t kBlock = 256;  // values at a time: a few KB of the stack, which stay in the first-level cache

template <class T, class Value>
T cast(Value v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Value>) {
    return static_cast<T>(numbers::to_integer<int64_t>(v));
  } else {
    return static_cast<T>(v);
  }
}

template <class Value>
void store(DType dtype, char* to, int64_t step, const Value* values, int64_t n) {
  if (is_limited(dtype)) {  // unsigned integers: the low bytes
    SCONCE_ASSERT(!is_float8(dtype));
    for (int64_t i = 0; i < n; ++i) {
      const auto word = cast<int64_t>(values[i]);
      std::memcpy(to + i * step, &word, item_size(dtype));
    }
    return;
  }
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * step) = cast<T>(values[i]);
    }
  });
}

SCONCE_VARIANT(one_run, "random.fill.dense", "a tensor without gaps");
SCONCE_VARIANT(several_blocks, "random.fill.blocks", "more than 256 values in a run");

// Calls visit(pointer, bytes between elements, count) for runs of elements, in memory order.
void visit_runs(const Tensor& t, FunctionRef<void(char* at, int64_t step, int64_t count)> visit) {
  const auto item = static_cast<int64_t>(t.item_size());
  auto* data = t.data<char>();
  if (one_run(t.is_dense())) return visit(data, item, t.numel());

  Dims sizes, steps;  // innermost first, dimensions of size 1 left out, neighbours joined where one continues the other
  for (const int64_t d : memory_order(t.sizes(), t.strides())) {
    const int64_t size = t.sizes()[d], step = t.strides()[d] * item;
    if (size == 1) continue;
    if (!sizes.empty() && steps.back() * sizes.back() == step) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
      steps.push_back(step);
    }
  }
  Dims index(sizes.size(), 0);
  while (true) {
    visit(data, steps[0], sizes[0]);
    size_t d = 1;
    for (; d < sizes.size(); ++d) {
      data += steps[d];
      if (++index[d] < sizes[d]) break;
      data -= steps[d] * sizes[d];
      index[d] = 0;
    }
    if (d == sizes.size()) return;
  }
}

template <class Value>
void fill(const Tensor& t, FunctionRef<void(Value*, int64_t)> source) {
  if (t.is_meta() || t.numel() == 0) return;
  const DType dtype = t.dtype();
  SCONCE_ASSERT(!is_complex(dtype));
  visit_runs(t, [&](char* at, int64_t step, int64_t count) {
    Value values[kBlock];
    several_blocks(count > kBlock);
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t n = std::min(kBlock, count - done);
      source(values, n);
      store(dtype, at + done * step, step, values, n);
    }
  });
}

}  // namespace

double Draws::normal() {
  std::optional<double>& waiting = generator_.impl()->next_normal;
  if (waiting) {
    const double v = *waiting;
    waiting.reset();
    return v;
  }
  const double u1 = uniform53();
  const double u2 = uniform53();
  const double radius = std::sqrt(-2 * std::log1p(-u2));
  const double angle = 2 * std::numbers::pi * u1;
  waiting = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void fill_reals(const Tensor& t, FunctionRef<void(double*, int64_t)> source) { fill<double>(t, source); }
void fill_integers(const Tensor& t, FunctionRef<void(int64_t*, int64_t)> source) { fill<int64_t>(t, source); }

Tensor parts_of_complex(const Tensor& t) {
  Dims sizes(t.sizes()), strides;
  for (const int64_t s : t.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return make_tensor_unchecked(Ref<Storage>::share(t.storage()), real_dtype(t.dtype()), sizes, strides,
                               2 * t.storage_offset());
}

void check_writable(const Tensor& t, std::string_view name) {
  // Unsigned integers of a range are the only draws of limited dtypes.
  if (is_limited(t.dtype()) && (is_float8(t.dtype()) || name != "random_") && !t.is_meta())
    fail_not_implemented(t.dtype());
  if (t.is_dense()) return;
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    SCONCE_CHECK(
        t.sizes()[d] < 2 || t.strides()[d] != 0,
        "{}: more than one element of the written-to tensor refers to a single memory location: sizes {}, strides "
        "{}; clone() it first",
        name, t.sizes(), t.strides());
  }
}

void check_floating(const Tensor& t, std::string_view name) {
  SCONCE_CHECK_AS(not_implemented, is_floating(t.dtype()),
                  "{}: not implemented for '{}': the dtype must be floating point", name, dtype_legacy_name(t.dtype()));
}

void check_not_complex(const Tensor& t, std::string_view name) {
  SCONCE_CHECK_AS(not_implemented, !is_complex(t.dtype()), "{}: not implemented for '{}'", name,
                  dtype_legacy_name(t.dtype()));
}

}  // namespace sconce::rng
