// What the CPU's special functions (sconce/kernels/cpu/special/*.cpp, whose text follows) ask of the standard library.
namespace std {
using ::acos; using ::acosh; using ::ceil; using ::cosh; using ::sinh; using ::copysign; using ::cos; using ::erfc; using ::exp; using ::expm1; using ::fabs;
using ::floor; using ::fma; using ::fmin; using ::fmax; using ::fmod; using ::log; using ::log1p; using ::pow; using ::sin;
using ::sqrt; using ::tan; using ::tgamma; using ::trunc;
DEVICE bool isfinite(double x) { return word::isfinite(x); }
DEVICE bool isinf(double x) { return word::isinf(x); }
DEVICE bool isnan(double x) { return x != x; }
namespace numbers {
constexpr double egamma = 0.57721566490153286061, inv_sqrtpi = 0.56418958354775628695, pi = 3.14159265358979323846;
}
template <class T> struct numeric_limits;
template <> struct numeric_limits<double> {
  static constexpr double epsilon() { return 0x1p-52; }
  static DEVICE double infinity() { return INFINITY_64; }
  static DEVICE double quiet_NaN() { return NAN_64; }
};
template <> struct numeric_limits<float> {
  static constexpr float epsilon() { return 0x1p-23f; }
  static DEVICE float infinity() { return float(INFINITY_64); }
  static DEVICE float quiet_NaN() { return float(NAN_64); }
};
}  // namespace std
#ifndef SCONCE_ON_HOST
using size_t = decltype(sizeof(0));
using int64_t = long;
#endif
DEVICE double lgamma_r(double x, int*) { return ::lgamma(x); }
