#include "sconce/kernels/cpu/random/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/export.h"
#include "sconce/base/numbers.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/cpu_features.h"
#include "sconce/kernels/cpu/random/random_bulk.h"
#include "sconce/kernels/cpu/random/random_fill.h"
#include "sconce/kernels/draw.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::rng {
namespace {

SCONCE_VARIANT(plain_uniform, "random.uniform.plain", "float32 between 0 and 1, without gaps");
SCONCE_VARIANT(in_bulk, "random.bernoulli.bulk", "float32, uint8 or bool without gaps, 2,048 elements or more");

// Bits of precision: consecutive integers are exact up to 2^digits.
int float_digits(DType t) {
  switch (t) {
    case DType::float16:
      return 11;
    case DType::bfloat16:
      return 8;
    case DType::float32:
      return 24;
    default:
      return 53;
  }
}

double largest(DType t) {
  switch (t) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return to_float(BFloat16{0x7f7f});
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct IntegerRange {
  int64_t least, largest;
};
IntegerRange integer_range(DType t) {
  switch (t) {
    case DType::bool_:
      return {0, 1};
    case DType::uint8:
      return {0, UINT8_MAX};
    case DType::int8:
      return {INT8_MIN, INT8_MAX};
    case DType::int16:
      return {INT16_MIN, INT16_MAX};
    case DType::int32:
      return {INT32_MIN, INT32_MAX};
    case DType::uint16:
      return {0, UINT16_MAX};
    case DType::uint32:
      return {0, UINT32_MAX};
    case DType::uint64:
      return {0, INT64_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

// The value as the floating dtype holds it.
double rounded(double v, DType t) {
  switch (t) {
    case DType::float16:
      return to_float(to_half(static_cast<float>(v)));
    case DType::bfloat16:
      return to_float(to_bfloat16(static_cast<float>(v)));
    case DType::float32:
      return static_cast<float>(v);
    default:
      return v;
  }
}

// An integer rounded to the dtype and back; saturates where 2^63 is not an int64.
int64_t rounded_integer(int64_t v, DType t) {
  const double r = t == DType::float64 ? static_cast<double>(v) : rounded(static_cast<float>(v), t);
  return numbers::to_integer<int64_t>(r);
}

// The distance of the dtype's neighbours around v.
int64_t spacing(int64_t v, DType t) {
  int log2 = 0;
  for (uint64_t m = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v); m >>= 1;) ++log2;
  return int64_t{1} << std::max(log2 - float_digits(t) + 1, 0);
}

// Bounds of integers in a floating dtype move inwards when rounding would carry a draw across them.
int64_t inner_from(int64_t from, DType t) {
  if (from == INT64_MAX) return from;
  const int64_t next = rounded_integer(from + 1, t);
  return next < from ? next + spacing(from + 1, t) : from;
}

int64_t inner_to(int64_t to, DType t) {
  if (to == INT64_MIN) return to;
  const int64_t last = rounded_integer(to - 1, t);
  return last >= to ? last - spacing(to - 1, t) : to;
}

void check_integer_bounds(int64_t from, int64_t last, DType t) {
  if (is_floating(t)) {
    const double most = largest(t);
    SCONCE_CHECK(static_cast<double>(from) >= -most && static_cast<double>(from) <= most,
                 "random_: from ({}) is out of bounds for {}", from, dtype_name(t));
    SCONCE_CHECK(static_cast<double>(last) >= -most && static_cast<double>(last) <= most,
                 "random_: to - 1 ({}) is out of bounds for {}", last, dtype_name(t));
    return;
  }
  const IntegerRange range = integer_range(t);
  SCONCE_CHECK(from >= range.least && from <= range.largest, "random_: from ({}) is out of bounds for {}", from,
               dtype_name(t));
  SCONCE_CHECK(last >= range.least && last <= range.largest, "random_: to - 1 ({}) is out of bounds for {}", last,
               dtype_name(t));
}

// base + word % range.
void fill_range(const Tensor& t, const IntegerDraw& of, const Generator& generator) {
  if (t.is_meta()) return;
  Draws draws(generator);
  fill_integers(t, [&](int64_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t word = of.wide ? draws.word64() : draws.word();
      out[i] = static_cast<int64_t>((of.range == 0 ? word : word % of.range) + static_cast<uint64_t>(of.base));
    }
  });
}

IntegerDraw all_integers(DType dtype) {
  const uint64_t range = is_floating(dtype) ? (uint64_t{1} << float_digits(dtype)) + 1
                                            : static_cast<uint64_t>(integer_range(dtype).largest) + 1;
  return {0, range, dtype == DType::int64 || dtype == DType::float64};
}

IntegerDraw integers_between(int64_t from, std::optional<int64_t> to, DType dtype) {
  const auto range_of = [&](uint64_t range) { return IntegerDraw{from, range, range >= uint64_t{1} << 28}; };
  if (to) {
    SCONCE_CHECK(from < *to, "random_: expects 'from' to be less than 'to', got from={} >= to={}", from, *to);
    if (is_floating(dtype)) {
      from = inner_from(from, dtype);
      to = inner_to(*to, dtype);
      SCONCE_CHECK(from < *to, "random_: expects 'from' to be less than 'to' as {}, got from={} >= to={}",
                   dtype_name(dtype), from, *to);
    }
    check_integer_bounds(from, *to - 1, dtype);
    return range_of(static_cast<uint64_t>(*to) - static_cast<uint64_t>(from));
  }
  if (from != INT64_MIN) {
    int64_t last = integer_range(dtype).largest;
    if (is_floating(dtype)) {
      last = int64_t{1} << float_digits(dtype);
      from = inner_from(from, dtype);
      SCONCE_CHECK(from < last,
                   "random_: expects 'from' to be less than {}, the last consecutive integer of {}, got from={}", last,
                   dtype_name(dtype), from);
    }
    check_integer_bounds(from, last, dtype);
    return range_of(static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1);
  }
  SCONCE_CHECK(dtype == DType::int64 || dtype == DType::float64 || dtype == DType::float32 || dtype == DType::bfloat16,
               "random_: the full range of 64 bits handles only int64, float64, float32 and bfloat16, got {}",
               dtype_name(dtype));
  return {0, 0, true};
}

// values * width + low in T with one rounding, as the processors that PyTorch runs on do it.
template <class T>
SCONCE_INLINE void scale_loop(double* values, int64_t n, T width, T low) {
  for (int64_t i = 0; i < n; ++i) values[i] = std::fma(static_cast<T>(values[i]), width, low);
}
#ifdef __x86_64__
template <class T>
__attribute__((target("fma"))) void scale_fast(double* values, int64_t n, T width, T low) {
  scale_loop(values, n, width, low);
}
#endif
template <class T>
void scale(double* values, int64_t n, T width, T low) {
#ifdef __x86_64__
  static const bool fast = cpu_has_avx2();
  if (fast) return scale_fast(values, n, width, low);
#endif
  scale_loop(values, n, width, low);
}

// Draws from [0, 1), scaled; `inside` takes what rounding carried to the upper bound back to the lower one.
template <class T, class F, class G>
void fill_scaled(const Tensor& t, const Generator& generator, T width, T low, F next, G inside) {
  if (t.is_meta()) return;
  Draws draws(generator);
  fill_reals(t, [&](double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = next(draws);
    scale(out, n, width, low);
    for (int64_t i = 0; i < n; ++i) out[i] = inside(out[i]);
  });
}

// One real number per element from a function of the generator.
template <class F>
void fill_with(const Tensor& t, const Generator& generator, F next) {
  if (t.is_meta()) return;
  Draws draws(generator);
  fill_reals(t, [&](double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = next(draws);
  });
}

}  // namespace

void uniform_(const Tensor& t, double from, double to, const Generator& generator) {
  if (is_complex(t.dtype())) return uniform_(parts_of_complex(t), from, to, generator);
  check_floating(t, "uniform_");
  const DType dtype = t.dtype();
  const double most = largest(dtype);
  SCONCE_CHECK(from >= -most && from <= most, "uniform_: from ({}) is out of bounds for {}", from, dtype_name(dtype));
  SCONCE_CHECK(to >= -most && to <= most, "uniform_: to ({}) is out of bounds for {}", to, dtype_name(dtype));
  SCONCE_CHECK(from <= to, "uniform_: expects a range [from, to), got from={} > to={}", from, to);
  SCONCE_CHECK(to - from <= most, "uniform_: expects to - from to be at most the largest {}, got from={} and to={}",
               dtype_name(dtype), from, to);
  check_writable(t, "uniform_");

  const double bottom = rounded(from, dtype), top = rounded(to, dtype);
  if (dtype == DType::float64) {
    return fill_scaled(
        t, generator, to - from, from, [](Draws& draws) { return draws.uniform53(); },
        [=](double v) { return v == top ? bottom : v; });
  }
  const auto low = static_cast<float>(from);
  const float width = static_cast<float>(to) - low;
  const auto next = [](Draws& draws) { return draws.uniform24(); };
  // Reduced floats are drawn and scaled in float32 as well.
  if (plain_uniform(dtype == DType::float32 && low == 0 && width == 1 && t.is_dense() && !t.is_meta())) {
    Draws draws(generator);
    auto* out = t.data<float>();
    for (int64_t i = 0, n = t.numel(); i < n; ++i) out[i] = draws.uniform24();
    return;
  }
  if (dtype == DType::float32) {
    return fill_scaled(t, generator, width, low, next, [=](double v) { return v == top ? bottom : v; });
  }
  fill_scaled(t, generator, width, low, next, [=](double v) { return rounded(v, dtype) == top ? bottom : v; });
}

void random_(const Tensor& t, const Generator& generator) {
  check_not_complex(t, "random_");
  check_writable(t, "random_");
  if (t.is_meta()) return;
  if (is_limited(t.dtype())) fail_not_implemented(t.dtype());
  fill_range(t, all_integers(t.dtype()), generator);
}

void random_(const Tensor& t, int64_t from, std::optional<int64_t> to, const Generator& generator) {
  check_not_complex(t, "random_");
  const IntegerDraw of = integers_between(from, to, t.dtype());
  check_writable(t, "random_");
  fill_range(t, of, generator);
}

void bernoulli_(const Tensor& t, double p, const Generator& generator) {
  SCONCE_CHECK(p >= 0 && p <= 1, "bernoulli_: expects p to be in [0, 1], got p={}", p);
  check_not_complex(t, "bernoulli_");
  check_writable(t, "bernoulli_");
  const DType dtype = t.dtype();
  const bool bytes = dtype == DType::bool_ || dtype == DType::uint8;
  if (in_bulk((bytes || dtype == DType::float32) && t.is_dense() && !t.is_meta() && t.numel() >= kBulkDraws)) {
    Draws draws(generator);
    BulkDraws bulk(draws.generator());
    if (bytes)
      bulk.bernoulli(p, t.data<uint8_t>(), t.numel());
    else
      bulk.bernoulli(p, t.data<float>(), t.numel());
    return;
  }
  fill_with(t, generator, [=](Draws& draws) { return draws.uniform53() < p; });
}

void bernoulli_(const Tensor& t, const Tensor& p, const Generator& generator) {
  check_not_complex(t, "bernoulli_");
  check_floating(p, "bernoulli_ (probabilities)");
  check_writable(t, "bernoulli_");
  const Dims p_strides = expanded_strides(p.sizes(), p.strides(), t.sizes());
  if (t.is_meta() || t.numel() == 0) return;
  SCONCE_CHECK(!p.is_meta(), "bernoulli_: the probabilities are on the meta device and have no values");

  // The probabilities in the order in which t is filled.
  const Dims order = memory_order(t.sizes(), t.strides());
  Dims index(order.size(), 0);
  const char* at = p.data<char>();
  const auto item = static_cast<int64_t>(p.item_size());
  const auto next_p = [&]() -> double {
    const double v = load_scalar(at, p.dtype()).to_double();
    SCONCE_CHECK(v >= 0 && v <= 1, "bernoulli_: expects every p to be in [0, 1], got p={}", v);
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t d = order[i];
      at += p_strides[d] * item;
      if (++index[i] < t.sizes()[d]) break;
      at -= p_strides[d] * item * t.sizes()[d];
      index[i] = 0;
    }
    return v;
  };
  if (p.dtype() == DType::float64) {
    fill_with(t, generator, [&](Draws& draws) {
      const double v = next_p();
      return draws.uniform53() < v;
    });
  } else {
    fill_with(t, generator, [&](Draws& draws) {
      const auto v = static_cast<float>(next_p());
      return draws.uniform24() < v;
    });
  }
}

void exponential_(const Tensor& t, double lambda, const Generator& generator) {
  check_floating(t, "exponential_");
  SCONCE_CHECK(lambda > 0, "exponential_: expects lambda > 0.0, got lambda={}", lambda);
  check_writable(t, "exponential_");
  fill_with(t, generator, [=](Draws& draws) { return -1 / lambda * std::log1p(-draws.uniform53()); });
}

void geometric_(const Tensor& t, double p, const Generator& generator) {
  SCONCE_CHECK(0 < p && p < 1, "geometric_: expects p to be in (0, 1), got p={}", p);
  SCONCE_CHECK_AS(not_implemented, is_integral(t.dtype()) || is_floating(t.dtype()),
                  "geometric_: not implemented for '{}'", dtype_legacy_name(t.dtype()));
  check_writable(t, "geometric_");
  const double scale = std::log1p(-p);
  fill_with(t, generator, [=](Draws& draws) { return std::ceil(std::log(draws.uniform53()) / scale); });
}

void cauchy_(const Tensor& t, double median, double sigma, const Generator& generator) {
  check_floating(t, "cauchy_");
  SCONCE_CHECK(sigma > 0, "cauchy_: expects sigma > 0.0, got sigma={}", sigma);
  check_writable(t, "cauchy_");
  fill_with(t, generator, [=](Draws& draws) {
    return std::fma(sigma, std::tan(std::numbers::pi * (draws.uniform53() - 0.5)), median);
  });
}

void log_normal_(const Tensor& t, double mean, double std, const Generator& generator) {
  check_floating(t, "log_normal_");
  SCONCE_CHECK(std > 0, "log_normal_: expects std > 0.0, got std={}", std);
  check_writable(t, "log_normal_");
  fill_with(t, generator, [=](Draws& draws) { return std::exp(std::fma(draws.normal(), std, mean)); });
}

void randperm_(const Tensor& t, const Generator& generator) {
  const DType dtype = t.dtype();
  SCONCE_CHECK_AS(not_implemented, is_integral(dtype) || is_floating(dtype), "randperm: not implemented for '{}'",
                  dtype_legacy_name(dtype));
  SCONCE_CHECK(t.dim() == 1, "randperm: needs a tensor of 1 dimension, got sizes {}", t.sizes());
  check_writable(t, "randperm");
  const int64_t n = t.numel();
  const int64_t last = is_floating(dtype) ? int64_t{1} << float_digits(dtype) : integer_range(dtype).largest;
  SCONCE_CHECK(n - 1 <= last, "randperm: n ({}) is too large for {}, which holds integers up to {}", n,
               dtype_name(dtype), last);
  if (t.is_meta()) return;

  Budget::charge_memory(static_cast<uint64_t>(n), sizeof(int64_t));
  std::vector<int64_t> values(static_cast<size_t>(n));
  Draws draws(generator);
  const auto look = [](int64_t i) {
    if (i % 65536 == 0) Budget::poll_active();
  };
  if (n < static_cast<int64_t>(UINT32_MAX / 20)) {
    for (int64_t i = 0; i < n; ++i) values[i] = i;
    for (int64_t i = 0; i < n - 1; ++i) {
      look(i);
      std::swap(values[i], values[i + draws.word() % (n - i)]);
    }
  } else {
    // A remainder of 32 bits would favour small indices visibly, so 64-bit draws; inserting needs no first pass.
    for (int64_t i = 0; i < n; ++i) {
      look(i);
      const auto z = static_cast<int64_t>(draws.word64() % static_cast<uint64_t>(i + 1));
      values[i] = values[z];
      values[z] = i;
    }
  }
  const int64_t* next = values.data();
  fill_integers(t, [&](int64_t* out, int64_t count) {
    std::copy(next, next + count, out);
    next += count;
  });
}

}  // namespace sconce::rng

namespace sconce {

IntegerDraw integer_draw(const Draw& draw, DType dtype) {
  return draw.kind == Draw::Kind::integers ? rng::all_integers(dtype)
                                           : rng::integers_between(draw.from, draw.to, dtype);
}

}  // namespace sconce
