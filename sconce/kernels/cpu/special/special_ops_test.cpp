// Special functions of vectors, through their operators: values computed with 40 digits (mpmath), in float and double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sconce/generated/special.h"

namespace sconce {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor trigamma(const Tensor& t) { return polygamma(1, t); }

template <class T>
double at(Tensor (*f)(const Tensor&), DType dtype, double x) {
  Tensor t = empty_tensor({19}, dtype);  // more than one vector, and a tail
  for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = static_cast<T>(x);
  const Tensor result = f(t);
  const T first = result.data<T>()[0];
  for (int64_t i = 1; i < t.numel(); ++i) EXPECT_TRUE(result.data<T>()[i] == first || std::isnan(first));
  return first;
}

TEST(SpecialOps, Values) {
  struct Row {
    Tensor (*f)(const Tensor&);
    double x, value;
  };
  const Row rows[] = {
      {lgamma, 0.125, 2.0194183575537963},
      {lgamma, 0.9990234375, 0.00056447191185512338},
      {lgamma, 1.0009765625, -0.00056290317999120463},
      {lgamma, 1.75, -0.084401121020485556},
      {lgamma, 2.25, 0.12487171489239659},
      {lgamma, 7.5, 7.534364236758733},
      {lgamma, 40.0, 106.63176026064346},
      {lgamma, -3.75, -1.3172679424463637},
      {digamma, 0.0625, -16.478853490060104},
      {digamma, 0.5, -1.9635100260214235},
      {digamma, 7.0, 1.8727843350984671},
      {digamma, 123.0, 4.8081138065732548},
      {digamma, -2.25, 4.1585835646579723},
      {trigamma, 0.25, 17.197329154507111},
      {trigamma, 3.5, 0.33035775610023486},
      {trigamma, 50.0, 0.020201333226697126},
      {trigamma, -1.5, 9.3792466449891238},
      {erfinv, 0.0009765625, 0.00086545619796713755},
      {erfinv, 0.5, 0.47693627620446987},
      {erfinv, -0.75, -0.81341984759761854},
      {erfinv, 0.9990234375, 2.3314677736219477},
      {special_ndtri, 7.888609052210118e-31, -11.484540434973038},
      {special_ndtri, 9.313225746154785e-10, -6.0093535655307439},
      {special_ndtri, 0.015625, -2.1538746940614562},
      {special_ndtri, 0.3125, -0.4887764111146695},
      {special_ndtri, 0.875, 1.1503493803760082},
      {special_erfcx, -4.5, 1245928884.2744062},
      {special_erfcx, 0.0, 1.0},
      {special_erfcx, 0.25, 0.77034654773099674},
      {special_erfcx, 4.0, 0.13699945762506139},
      {special_erfcx, 30.0, 0.018795888861416751},
      {i0, 0.125, 1.0039100663533545},
      {i0, -4.5, 17.481171855609276},
      {i0, 30.0, 781672297823.97749},
      {special_i1, 0.125, 0.062622149811234825},
      {special_i1, -4.5, -15.389222753735924},
      {special_i1, 30.0, 768532038938.957},
      {special_i0e, 3.0, 0.2430003541618254},
      {special_i0e, 1000.0, 0.012617240455891257},
      {special_i1e, 3.0, 0.19682671329730085},
      {special_i1e, 1000.0, 0.012610930256928629},
      {special_bessel_j0, 0.0, 1.0},
      {special_bessel_j0, -1.0, 0.76519768655796655},
      {special_bessel_j0, 4.5, -0.32054250898512142},
      {special_bessel_j0, 40.0, 0.0073668905842372896},
      {special_bessel_j1, 0.125, 0.062378009134494681},
      {special_bessel_j1, -1.0, -0.44005058574493352},
      {special_bessel_j1, 4.5, -0.23106043192337063},
      {special_bessel_j1, 40.0, 0.126038318037585},
      {special_bessel_y0, 0.125, -1.3896806251438405},
      {special_bessel_y0, 1.0, 0.088256964215676958},
      {special_bessel_y0, 4.5, -0.19470500862950453},
      {special_bessel_y0, 40.0, 0.12593641705826093},
      {special_bessel_y1, 0.125, -5.199936112534775},
      {special_bessel_y1, 1.0, -0.78121282130028872},
      {special_bessel_y1, 4.5, 0.30099732306965462},
      {special_bessel_y1, 40.0, -0.0057935058215496329},
  };
  for (const Row& row : rows) {
    const double size = std::fabs(row.value);
    EXPECT_NEAR(at<double>(row.f, DType::float64, row.x), row.value, 5e-15 * (size + 1e-1))
        << "row " << &row - rows << ", x = " << row.x;
    EXPECT_NEAR(at<float>(row.f, DType::float32, row.x), row.value, 1e-6 * (size + 1e-1))
        << "row " << &row - rows << ", x = " << row.x;
  }
}

TEST(SpecialOps, EndsOfDomains) {
  const auto value = [](Tensor (*f)(const Tensor&), double x) { return at<double>(f, DType::float64, x); };
  EXPECT_EQ(value(erfinv, 1), kInfinity);
  EXPECT_EQ(value(erfinv, -1), -kInfinity);
  EXPECT_TRUE(std::isnan(value(erfinv, 1.5)));
  EXPECT_EQ(value(special_ndtri, 0), -kInfinity);
  EXPECT_EQ(value(special_ndtri, 1), kInfinity);
  EXPECT_TRUE(std::isnan(value(special_ndtri, -0.5)));
  EXPECT_NEAR(value(special_ndtri, 5e-324), -38.467405617144346, 1e-12);
  EXPECT_EQ(value(special_erfcx, -30), kInfinity);
  EXPECT_EQ(value(special_erfcx, kInfinity), 0);
  EXPECT_EQ(value(lgamma, 0), kInfinity);
  EXPECT_EQ(value(lgamma, 1), 0);
  EXPECT_EQ(value(lgamma, 2), 0);
  EXPECT_EQ(value(lgamma, kInfinity), kInfinity);
  EXPECT_EQ(value(digamma, 0.0), -kInfinity);
  EXPECT_EQ(value(digamma, -0.0), kInfinity);
  EXPECT_TRUE(std::isnan(value(digamma, -2)));
  EXPECT_EQ(value(special_i0e, kInfinity), 0);
  EXPECT_EQ(value(special_bessel_y0, 0), -kInfinity);
  EXPECT_EQ(value(special_bessel_y1, 0), -kInfinity);
  EXPECT_TRUE(std::isnan(value(special_bessel_y1, -1)));
  EXPECT_TRUE(std::isnan(value(special_bessel_j0, kInfinity)));
  for (auto* f : {&lgamma, &digamma, &erfinv, &special_erfcx, &i0, &special_i1e}) {
    EXPECT_TRUE(std::isnan(value(f, std::numeric_limits<double>::quiet_NaN())));
  }
}

// Note [Released values] in tools/fit_special.py
TEST(SpecialOps, ValuesThatPyTorchGives) {
  const auto value = [](Tensor (*f)(const Tensor&), double x) { return at<double>(f, DType::float64, x); };
  EXPECT_NEAR(value(special_bessel_j0, 5.25), -0.09308124510790798, 1e-10);
  EXPECT_NEAR(value(special_bessel_j1, -5.25), 0.34501412621579314, 1e-10);
  EXPECT_NEAR(value(special_bessel_y0, 5.25), -0.3347771705249751, 1e-10);
  EXPECT_NEAR(value(special_bessel_y1, 5.25), 0.061860417324009744, 1e-10);
}

}  // namespace
}  // namespace sconce
