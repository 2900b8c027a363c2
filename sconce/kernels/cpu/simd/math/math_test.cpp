// Accuracy of the vector math at every level that this machine runs, against libm in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/simd/math/math_test_table.h"

namespace sconce {
namespace {

struct Reference {
  const char* name;
  long double (*one)(long double);
  long double (*two)(long double, long double);
  double ulp32, ulp64;  // largest error allowed, with fma
  double extra = 0.5;   // and this much more at v2
};

long double remainder_python(long double a, long double b) {
  const long double m = std::fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

const Reference kReferences[] = {
    {"exp", std::exp, nullptr, 1.1, 1.2},          {"exp2", std::exp2, nullptr, 1.1, 1.2},
    {"expm1", std::expm1, nullptr, 2.0, 2.5},      {"log", std::log, nullptr, 1.0, 1.0},
    {"log2", std::log2, nullptr, 0.51, 0.51},      {"log10", std::log10, nullptr, 0.51, 0.51, 1.5},
    {"log1p", std::log1p, nullptr, 2.0, 2.0},      {"sin", std::sin, nullptr, 2.0, 2.0},
    {"cos", std::cos, nullptr, 2.0, 2.0},          {"tan", std::tan, nullptr, 3.5, 3.5},
    {"asin", std::asin, nullptr, 2.5, 2.5},        {"acos", std::acos, nullptr, 2.5, 2.5},
    {"atan", std::atan, nullptr, 3.2, 3.2, 1.0},   {"sinh", std::sinh, nullptr, 3.0, 3.0},
    {"cosh", std::cosh, nullptr, 3.0, 3.0},        {"tanh", std::tanh, nullptr, 1.5, 1.5},
    {"asinh", std::asinh, nullptr, 4.0, 4.0},      {"acosh", std::acosh, nullptr, 4.0, 4.0},
    {"atanh", std::atanh, nullptr, 4.0, 4.0},      {"erf", std::erf, nullptr, 1.5, 1.5},
    {"erfc", std::erfc, nullptr, 0.55, 6.0},       {"sqrt", std::sqrt, nullptr, 0.5, 0.501, 0},
    {"floor", std::floor, nullptr, 0, 0, 0},       {"ceil", std::ceil, nullptr, 0, 0, 0},
    {"trunc", std::trunc, nullptr, 0, 0, 0},       {"round", std::nearbyint, nullptr, 0, 0, 0},
    {"atan2", nullptr, std::atan2, 3.2, 3.2, 1.0}, {"pow", nullptr, std::pow, 0.51, 1.2},
    {"fmod", nullptr, std::fmod, 0, 0, 0},         {"remainder", nullptr, remainder_python, 0.5, 0.501, 0},
    {"hypot", nullptr, std::hypot, 0.51, 1.1},
};

// Distance in units of the last place of T. Zeros must have the right sign, NaN be NaN.
template <class T>
double ulp_error(T got, long double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
  const T nearest = static_cast<T>(want);
  if (std::isinf(want) || std::isinf(got)) {
    if (got == nearest) return 0;
    const long double edge = std::numeric_limits<T>::max();  // one step beyond the largest number is infinity
    return std::fabs(want) >= edge && !std::isinf(want) && std::signbit(got) == std::signbit(nearest) ? 1 : 1e9;
  }
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : 1e9;
  int exponent;
  std::frexp(want == 0 ? static_cast<long double>(got) : want, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent;
  const long double unit = std::ldexp(1.0L, std::max(exponent, lowest) - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

uint64_t random_bits(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// All kinds of numbers: every exponent, small whole ones, the neighbourhood of zero and one, the special ones.
template <class T>
std::vector<T> samples(size_t count, uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> x = {0,
                      -T(0),
                      1,
                      -1,
                      inf,
                      -inf,
                      std::numeric_limits<T>::quiet_NaN(),
                      std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::denorm_min(),
                      -std::numeric_limits<T>::denorm_min(),
                      std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::lowest(),
                      T(0.5),
                      T(-0.5),
                      T(2),
                      T(88.72284),
                      T(-87.33655),
                      T(709.782712893384),
                      T(-745.13321910194111),
                      T(1e4),
                      T(1e7),
                      T(3),
                      T(-3)};
  uint64_t state = seed;
  while (x.size() < count) {
    const uint64_t r = random_bits(state);
    const T unit = static_cast<T>(static_cast<double>(random_bits(state) >> 11) * 0x1p-53);
    switch (r & 7) {
      case 0:
      case 1: {
        const Bits bits = static_cast<Bits>(random_bits(state));
        T v;
        std::memcpy(&v, &bits, sizeof v);
        x.push_back(v);
        break;
      }
      case 2:
        x.push_back(std::round((unit - T(0.5)) * 64));
        break;
      case 3:
        x.push_back(unit * 2 - 1);
        break;
      case 4:
        x.push_back(1 + (unit - T(0.5)) * T(0.01));
        break;
      case 5:
        x.push_back((unit - T(0.5)) * 20);
        break;
      case 6:
        x.push_back((unit - T(0.5)) * 200);
        break;
      default:
        x.push_back((unit - T(0.5)) * (sizeof(T) == 4 ? 20000 : 1500));
        break;
    }
  }
  return x;
}

const MathFunctions& functions(int level) {
  const MathFunctions* const tables[] = {
      &v2::math_functions, SCONCE_FROM_LEVEL_3(&v3::math_functions, ) SCONCE_FROM_LEVEL_4(&v4::math_functions, )};
  return *tables[level - kLowestCpuLevel];
}

template <class T>
void check(int level, size_t count) {
  const MathFunctions& table = functions(level);
  const size_t lanes = table.vector_bytes / sizeof(T);
  const std::vector<T> a = samples<T>(count, 1), b = samples<T>(count, 99);
  for (const MathFunction& f : table.list) {
    const Reference* reference = nullptr;
    for (const Reference& r : kReferences) {
      if (std::string(r.name) == f.name) reference = &r;
    }
    ASSERT_NE(reference, nullptr) << f.name;
    const double allowed = (sizeof(T) == 4 ? reference->ulp32 : reference->ulp64) + (level == 2 ? reference->extra : 0);
    double worst = 0;
    T worst_a = 0, worst_b = 0, worst_got = 0;
    for (size_t i = 0; i + lanes <= count; i += lanes) {
      T out[16];
      if constexpr (sizeof(T) == 4) {
        f.f32(out, &a[i], &b[count - i - lanes]);
      } else {
        f.f64(out, &a[i], &b[count - i - lanes]);
      }
      for (size_t k = 0; k < lanes; ++k) {
        const T x = a[i + k], y = b[count - i - lanes + k];
        const double error = ulp_error(out[k], f.arguments == 1 ? reference->one(x) : reference->two(x, y));
        if (error > worst) worst = error, worst_a = x, worst_b = y, worst_got = out[k];
      }
    }
    if (std::getenv("SCONCE_MATH_REPORT")) {
      printf("v%d f%zu %-10s %.3g  (%a, %a)\n", level, sizeof(T) * 8, f.name, worst, double(worst_a), double(worst_b));
    }
    EXPECT_LE(worst, allowed) << f.name << " of " << sizeof(T) * 8 << " bits at v" << level << ": (" << worst_a << ", "
                              << worst_b << ") gives " << worst_got;
  }
}

size_t sample_count() {
  const char* text = std::getenv("SCONCE_MATH_SAMPLES");
  return text ? std::strtoull(text, nullptr, 10) / 64 * 64 : 32768;
}

TEST(Math, Float32) {
  for (int level = 2; level <= cpu_level(); ++level) check<float>(level, sample_count());
}

TEST(Math, Float64) {
  for (int level = 2; level <= cpu_level(); ++level) check<double>(level, sample_count());
}

#if SCONCE_CPU_LEVELS >= 3
// v3 and v4 have the same operations, only in other widths.
TEST(Math, SameBitsWithAndWithoutAvx512) {
  if (cpu_level() < 4) GTEST_SKIP() << "no AVX-512 here";
  const std::vector<float> a = samples<float>(16384, 5), b = samples<float>(16384, 6);
  for (int f = 0; f < 31; ++f) {
    for (size_t i = 0; i + 16 <= a.size(); i += 16) {
      float narrow[16], wide[16];
      v3::math_functions.list[f].f32(narrow, &a[i], &b[i]);
      v3::math_functions.list[f].f32(narrow + 8, &a[i + 8], &b[i + 8]);
      v4::math_functions.list[f].f32(wide, &a[i], &b[i]);
      for (int k = 0; k < 16; ++k) {
        ASSERT_TRUE(std::memcmp(&narrow[k], &wide[k], 4) == 0 || (narrow[k] != narrow[k] && wide[k] != wide[k]))
            << v3::math_functions.list[f].name << "(" << a[i + k] << ", " << b[i + k] << ")";
      }
    }
  }
}
#endif

}  // namespace
}  // namespace sconce
