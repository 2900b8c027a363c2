#include "sconce/kernels/cpu/linalg/spectral.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sconce::linalg {
namespace {

using Int = lapack::Int;
using C = std::complex<double>;

template <class T>
T drawn(std::mt19937& generator) {
  std::normal_distribution<double> normal;
  if constexpr (std::is_floating_point_v<T>)
    return normal(generator);
  else
    return T(normal(generator), normal(generator));
}
double conjugate(double x) { return x; }
C conjugate(C x) { return std::conj(x); }

// Column-major, with the few things that tests ask.
template <class T>
struct Dense {
  Int m, n;
  std::vector<T> data;
  Dense(Int rows, Int columns) : m(rows), n(columns), data(static_cast<size_t>(rows) * static_cast<size_t>(columns)) {}
  T& operator()(Int r, Int c) { return data[static_cast<size_t>(c) * static_cast<size_t>(m) + static_cast<size_t>(r)]; }
  T operator()(Int r, Int c) const {
    return data[static_cast<size_t>(c) * static_cast<size_t>(m) + static_cast<size_t>(r)];
  }
  static Dense random(Int m, Int n, unsigned seed) {
    std::mt19937 generator(seed);
    Dense out(m, n);
    for (T& x : out.data) x = drawn<T>(generator);
    return out;
  }
  Dense adjoint() const {
    Dense out(n, m);
    for (Int r = 0; r < m; ++r) {
      for (Int c = 0; c < n; ++c) out(c, r) = conjugate((*this)(r, c));
    }
    return out;
  }
};
template <class T>
Dense<T> operator*(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> out(a.m, b.n);
  for (Int r = 0; r < a.m; ++r) {
    for (Int c = 0; c < b.n; ++c) {
      for (Int k = 0; k < a.n; ++k) out(r, c) += a(r, k) * b(k, c);
    }
  }
  return out;
}
template <class T>
double difference(const Dense<T>& a, const Dense<T>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.data.size(); ++i) worst = std::max(worst, std::abs(a.data[i] - b.data[i]));
  return worst;
}
template <class T>
Dense<T> identity(Int n) {
  Dense<T> out(n, n);
  for (Int i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

template <class T>
class SpectralOf : public testing::Test {};
using Types = testing::Types<double, C>;
TYPED_TEST_SUITE(SpectralOf, Types);

TYPED_TEST(SpectralOf, hermitian_matrices_have_real_values_and_unitary_vectors) {
  using T = TypeParam;
  for (const Int n : {1, 2, 5, 20}) {
    const Dense<T> half = Dense<T>::random(n, n, 1);
    Dense<T> a(n, n), other(n, n);
    for (size_t i = 0; i < a.data.size(); ++i) a.data[i] = half.data[i] + half.adjoint().data[i];
    for (const char uplo : {'L', 'U'}) {
      Dense<T> v = a;
      for (Int r = 0; r < n; ++r) {  // the other triangle is not looked at
        for (Int c = 0; c < n; ++c) {
          if (uplo == 'L' ? c > r : c < r) v(r, c) = 77;
        }
      }
      std::vector<double> w(static_cast<size_t>(n));
      ASSERT_EQ(Spectral<T>::syevd('V', uplo, n, v.data.data(), n, w.data()), 0);
      Dense<T> scaled = v;
      for (Int c = 0; c < n; ++c) {
        for (Int r = 0; r < n; ++r) scaled(r, c) *= w[static_cast<size_t>(c)];
        if (c > 0) {
          EXPECT_LE(w[static_cast<size_t>(c) - 1], w[static_cast<size_t>(c)]);
        }
      }
      EXPECT_LT(difference(scaled * v.adjoint(), a), 1e-12 * n);
      EXPECT_LT(difference(v.adjoint() * v, identity<T>(n)), 1e-13 * n);
    }
  }
}

TYPED_TEST(SpectralOf, singular_vectors_are_orthonormal_also_without_rank) {
  using T = TypeParam;
  for (const auto& [m, n, rank] : {std::array<Int, 3>{6, 4, 4}, {4, 6, 4}, {5, 5, 2}, {7, 3, 1}, {3, 3, 0}}) {
    const Dense<T> a = Dense<T>::random(m, rank, 2) * Dense<T>::random(rank, n, 3);
    const Int k = std::min(m, n);
    for (const char job : {'A', 'S'}) {
      Dense<T> u(m, job == 'A' ? m : k), vt(job == 'A' ? n : k, n), scaled(m, vt.m);
      std::vector<double> s(static_cast<size_t>(k));
      ASSERT_EQ(Spectral<T>::gesdd(job, m, n, a.data.data(), m, s.data(), u.data.data(), m, vt.data.data(), vt.m), 0);
      for (Int c = 0; c < k; ++c) {
        EXPECT_GE(s[static_cast<size_t>(c)], 0);
        if (c >= rank) {
          EXPECT_LT(s[static_cast<size_t>(c)], 1e-13);
        }
        for (Int r = 0; r < m; ++r) scaled(r, c) = u(r, c) * s[static_cast<size_t>(c)];
      }
      EXPECT_LT(difference(scaled * vt, a), 1e-13 * m);
      EXPECT_LT(difference(u.adjoint() * u, identity<T>(u.n)), 1e-13 * m);
      EXPECT_LT(difference(vt * vt.adjoint(), identity<T>(vt.m)), 1e-13 * n);
    }
  }
}

TYPED_TEST(SpectralOf, least_squares_leave_nothing_that_the_columns_explain) {
  using T = TypeParam;
  for (const auto& [m, n, rank] : {std::array<Int, 3>{6, 3, 3}, {3, 6, 3}, {6, 4, 2}}) {
    const Dense<T> a = Dense<T>::random(m, rank, 4) * Dense<T>::random(rank, n, 5), b = Dense<T>::random(m, 2, 6);
    const Int ld = std::max(m, n);
    Dense<T> x(ld, 2);
    for (Int c = 0; c < 2; ++c) {
      for (Int r = 0; r < m; ++r) x(r, c) = b(r, c);
    }
    Int found = 0;
    ASSERT_EQ(Spectral<T>::least_squares(m, n, 2, a.data.data(), m, x.data.data(), ld, nullptr, 1e-10, &found), 0);
    EXPECT_EQ(found, rank);
    Dense<T> solution(n, 2), left = b;
    for (Int c = 0; c < 2; ++c) {
      for (Int r = 0; r < n; ++r) solution(r, c) = x(r, c);
    }
    const Dense<T> made = a * solution;
    double squares = 0;
    for (size_t i = 0; i < left.data.size(); ++i) left.data[i] -= made.data[i];
    for (Int r = 0; r < m; ++r) squares += std::norm(left(r, 0));
    EXPECT_LT(difference(a.adjoint() * left, Dense<T>(n, 2)), 1e-12);
    if (m > n) {
      EXPECT_NEAR(std::norm(x(n, 0)), squares, 1e-12);
    }
  }
}

TYPED_TEST(SpectralOf, indefinite_matrices_are_factored_and_solved) {
  using T = TypeParam;
  for (const bool hermitian : {false, true}) {
    for (const Int n : {1, 2, 3, 8, 15}) {
      for (unsigned seed = 0; seed < 6; ++seed) {
        const Dense<T> half = Dense<T>::random(n, n, 10 + seed);
        Dense<T> a(n, n);
        for (Int r = 0; r < n; ++r) {
          for (Int c = 0; c < n; ++c) a(r, c) = half(r, c) + (hermitian ? conjugate(half(c, r)) : half(c, r));
          if (seed % 2 && n > 1) a(r, r) = 0;  // asks for blocks of two rows
        }
        Dense<T> ld = a;
        std::vector<Int> pivots(static_cast<size_t>(n));
        ASSERT_EQ(Spectral<T>::sytrf(hermitian, n, ld.data.data(), n, pivots.data()), 0);
        const Dense<T> b = Dense<T>::random(n, 2, 20);
        Dense<T> x = b;
        Spectral<T>::sytrs(hermitian, n, 2, ld.data.data(), n, pivots.data(), x.data.data(), n);
        EXPECT_LT(difference(a * x, b), 1e-10) << n << " " << hermitian;
      }
    }
  }
}

TEST(Spectral, general_matrices_have_complex_values) {
  for (const Int n : {1, 2, 3, 6, 15}) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      Dense<C> a = Dense<C>::random(n, n, seed);
      if (seed % 2) {
        for (C& x : a.data) x = x.real();
      }
      std::vector<C> w(static_cast<size_t>(n));
      Dense<C> v(n, n), scaled(n, n);
      ASSERT_EQ(Spectral<C>::geev('V', n, a.data.data(), n, w.data(), v.data.data(), n), 0);
      for (Int c = 0; c < n; ++c) {
        double length = 0;
        for (Int r = 0; r < n; ++r) {
          scaled(r, c) = v(r, c) * w[static_cast<size_t>(c)];
          length += std::norm(v(r, c));
        }
        EXPECT_NEAR(length, 1, 1e-12);
      }
      EXPECT_LT(difference(a * v, scaled), 1e-10) << n;
    }
  }
  // A rotation: no step without another shift changes it.
  const std::vector<C> turn = {0, 1, 0, 0, 0, 1, 1, 0, 0};
  std::vector<C> w(3);
  ASSERT_EQ(Spectral<C>::geev('N', 3, turn.data(), 3, w.data(), nullptr, 1), 0);
  for (const C value : w) EXPECT_NEAR(std::abs(value * value * value - 1.0), 0, 1e-12);
}

}  // namespace
}  // namespace sconce::linalg
