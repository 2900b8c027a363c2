#include "sconce/testing/compare/decomposition.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/tensor/element.h"
#include "sconce/testing/compare/seen_bits.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

using Complex = std::complex<double>;

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<Complex> data;
  Matrix(size_t r, size_t c) : rows(r), columns(c), data(r * c) {}
  Complex& at(size_t r, size_t c) { return data[r * columns + c]; }
  Complex at(size_t r, size_t c) const { return data[r * columns + c]; }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  SCONCE_CHECK(a.columns == b.rows, "decomposition: inner sizes differ ({} and {})", a.columns, b.rows);
  Matrix result(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t k = 0; k < a.columns; ++k) {
      for (size_t j = 0; j < b.columns; ++j) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

Matrix adjoint(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) result.at(j, i) = std::conj(a.at(i, j));
  }
  return result;
}

Matrix first_columns(const Matrix& a, size_t n) {
  Matrix result(a.rows, std::min(n, a.columns));
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < result.columns; ++j) result.at(i, j) = a.at(i, j);
  }
  return result;
}

Matrix scale_columns(Matrix a, const std::vector<Complex>& factors) {
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) a.at(i, j) *= factors[j];
  }
  return a;
}

std::vector<Complex> numbers(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&]<class T>() {
    std::vector<Complex> result;
    for (const T v : elements<T>(tensor)) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        result.emplace_back(to_float(v));
      else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Complex>)
        result.emplace_back(v);
      else
        result.emplace_back(static_cast<double>(v));
    }
    return result;
  });
}

// The last `rank` dimensions (2: matrices, 1: vectors as columns), one for each index of the others.
std::vector<Matrix> batch(const Value& value, size_t rank) {
  const Tensor& tensor = value.to_tensor();
  const IntList sizes = tensor.sizes();
  SCONCE_CHECK(sizes.size() >= rank, "decomposition: a tensor of shape {} holds no matrices", sizes);
  const auto columns = rank == 2 ? static_cast<size_t>(sizes.back()) : 1;
  const auto rows = static_cast<size_t>(sizes[sizes.size() - rank]);
  const std::vector<Complex> all = numbers(tensor);
  std::vector<Matrix> result;
  for (size_t at = 0; rows * columns != 0 && at < all.size(); at += rows * columns) {
    Matrix m(rows, columns);
    std::copy_n(all.begin() + static_cast<ptrdiff_t>(at), rows * columns, m.data.begin());
    result.push_back(std::move(m));
  }
  return result;
}

class Checker {
 public:
  Checker(const std::vector<Value>& got, const std::vector<Value>& expected) : got_(got), expected_(expected) {
    tolerance_ = real_dtype(got[0].to_tensor().dtype()) == DType::float64 ? 1e-7 : 1e-4;
  }

  Difference svd(bool adjoint_v) const {
    if (Difference d = same_values(1)) return d;
    const auto product = [&](const std::vector<Value>& o) {
      return for_all(
          batch(o[0], 2), batch(o[1], 1), batch(o[2], 2), [&](const Matrix& u, const Matrix& s, const Matrix& v) {
            const size_t n = s.rows;
            return scale_columns(first_columns(u, n), s.data) * adjoint(first_columns(adjoint_v ? adjoint(v) : v, n));
          });
    };
    if (got_[0].to_tensor().numel() == 0) return {};  // singular values only
    if (Difference d = close(product(got_), product(expected_), "U S V^H")) return d;
    if (Difference d = orthonormal(0, false, "U")) return d;
    return orthonormal(2, adjoint_v, "V");
  }

  Difference eigh() const {
    if (Difference d = same_values(0)) return d;
    if (got_[1].to_tensor().numel() == 0) return {};
    const auto product = [&](const std::vector<Value>& o) {
      return for_all(
          batch(o[1], 2), batch(o[0], 1), batch(o[1], 2),
          [](const Matrix& q, const Matrix& l, const Matrix&) { return scale_columns(q, l.data) * adjoint(q); });
    };
    if (Difference d = close(product(got_), product(expected_), "Q L Q^H")) return d;
    return orthonormal(1, false, "Q");
  }

  Difference eig(const Value& self) const {
    if (Difference d = any_order()) return d;
    const std::vector<Matrix> a = batch(self, 2), l = batch(got_[0], 1), v = batch(got_[1], 2);
    const auto left = for_all(a, v, v, [](const Matrix& m, const Matrix& w, const Matrix&) { return m * w; });
    const auto right =
        for_all(v, l, v, [](const Matrix& w, const Matrix& d, const Matrix&) { return scale_columns(w, d.data); });
    if (Difference d = close(left, right, "A V against V L")) return d;
    for (const Matrix& w : v) {
      const Matrix gram = adjoint(w) * w;
      for (size_t i = 0; i < w.columns; ++i) {
        if (std::abs(gram.at(i, i) - 1.0) > tolerance_) return "V: a column is not of length 1";
      }
    }
    return {};
  }

  // Each expected value has a partner among the values got.
  Difference any_order() const {
    const std::vector<Matrix> g = batch(got_[0], 1), e = batch(expected_[0], 1);
    for (size_t b = 0; b < e.size(); ++b) {
      std::vector<Complex> left = g[b].data;
      double largest = 0;
      for (const Complex& v : e[b].data) largest = std::max(largest, std::abs(v));
      for (const Complex& v : e[b].data) {
        const auto nearest = std::min_element(left.begin(), left.end(), [&](const Complex& x, const Complex& y) {
          return std::abs(x - v) < std::abs(y - v);
        });
        if (std::abs(*nearest - v) > tolerance_ * std::max(largest, 1.0)) {
          return fmt::format("output 0: no eigenvalue near {}{:+}j", v.real(), v.imag());
        }
        left.erase(nearest);
      }
    }
    return {};
  }

  Difference qr() const {
    const bool with_q = got_[0].to_tensor().numel() != 0;
    const auto product = [&](const std::vector<Value>& o) {
      const std::vector<Matrix> r = batch(o[1], 2);
      return with_q
                 ? for_all(batch(o[0], 2), r, r, [](const Matrix& q, const Matrix& x, const Matrix&) { return q * x; })
                 : for_all(r, r, r, [](const Matrix& x, const Matrix&, const Matrix&) { return adjoint(x) * x; });
    };
    if (Difference d = close(product(got_), product(expected_), with_q ? "Q R" : "R^H R")) return d;
    for (const Matrix& r : batch(got_[1], 2)) {
      for (size_t i = 1; i < r.rows; ++i) {
        for (size_t j = 0; j < std::min(i, r.columns); ++j) {
          if (r.at(i, j) != 0.0) return "R is not upper triangular";
        }
      }
    }
    return with_q ? orthonormal(0, false, "Q") : Difference();
  }

  Difference determinant(const Value& self) const {
    for (size_t i = 0; i + 2 < got_.size(); ++i) {
      if (Difference d = same_values(i)) return d;
    }
    const std::vector<Matrix> a = batch(self, 2), lu = batch(got_[got_.size() - 2], 2), pivots = batch(got_.back(), 1);
    const auto product = for_all(lu, pivots, lu, [](const Matrix& f, const Matrix& p, const Matrix&) {
      Matrix lower(f.rows, f.rows), upper(f.rows, f.rows);
      for (size_t i = 0; i < f.rows; ++i) {
        for (size_t j = 0; j < f.rows; ++j) (j < i ? lower : upper).at(i, j) = f.at(i, j);
        lower.at(i, i) = 1;
      }
      Matrix result = lower * upper;
      for (size_t r = f.rows; r-- > 0;) {
        const auto other = static_cast<size_t>(p.at(r, 0).real()) - 1;
        SCONCE_CHECK(other < f.rows, "decomposition: pivot {} of {} rows", other + 1, f.rows);
        for (size_t j = 0; j < f.rows; ++j) std::swap(result.at(r, j), result.at(other, j));
      }
      return result;
    });
    std::vector<Matrix> transposed;
    for (const Matrix& m : a) {
      Matrix t(m.columns, m.rows);
      for (size_t i = 0; i < m.rows; ++i) {
        for (size_t j = 0; j < m.columns; ++j) t.at(j, i) = m.at(i, j);
      }
      transposed.push_back(std::move(t));
    }
    return close(product, transposed, "P L U") ? close(product, a, "P L U") : Difference();
  }

 private:
  template <class F>
  static std::vector<Matrix> for_all(const std::vector<Matrix>& a, const std::vector<Matrix>& b,
                                     const std::vector<Matrix>& c, F f) {
    std::vector<Matrix> result;
    for (size_t i = 0; i < std::min({a.size(), b.size(), c.size()}); ++i) result.push_back(f(a[i], b[i], c[i]));
    return result;
  }

  Difference same_values(size_t i) const {
    const Difference d = compare_elements(got_[i].to_tensor(), expected_[i].to_tensor(), Closeness::accumulated);
    return d ? fmt::format("output {}: {}", i, *d) : d;
  }

  Difference close(const std::vector<Matrix>& got, const std::vector<Matrix>& expected, std::string_view what) const {
    for (size_t b = 0; b < expected.size(); ++b) {
      double largest = 1, error = 0;
      for (const Complex& v : expected[b].data) largest = std::max(largest, std::abs(v));
      for (size_t i = 0; i < expected[b].data.size(); ++i) {
        const double e = std::abs(got[b].data[i] - expected[b].data[i]);
        error = std::isnan(e) ? INFINITY : std::max(error, e);
      }
      if (error > tolerance_ * largest) return fmt::format("{} is off by {:.3g} in matrix {}", what, error, b);
    }
    return {};
  }

  Difference orthonormal(size_t i, bool rows, std::string_view what) const {
    for (const Matrix& m : batch(got_[i], 2)) {
      const Matrix gram = rows ? m * adjoint(m) : adjoint(m) * m;
      for (size_t r = 0; r < gram.rows; ++r) {
        for (size_t c = 0; c < gram.columns; ++c) {
          const double wanted = r == c;
          if (!(std::abs(gram.at(r, c) - wanted) <= tolerance_)) return fmt::format("{} is not orthonormal", what);
        }
      }
    }
    return {};
  }

  const std::vector<Value>& got_;
  const std::vector<Value>& expected_;
  double tolerance_;
};

}  // namespace

Difference compare_decomposition(Rule rule, const std::vector<Value>& args, const std::vector<Value>& got,
                                 const std::vector<Value>& expected) {
  const size_t outputs = rule == Rule::svd || rule == Rule::svd_v ? 3 : rule == Rule::any_order ? 1 : 2;
  SCONCE_CHECK(got.size() >= outputs && !args.empty(), "decomposition: {} outputs, expected {}", got.size(), outputs);
  for (size_t i = 0; i < outputs; ++i) {
    if (!got[i].is_tensor() || got[i].to_tensor().is_meta()) return {};
  }
  for (const Value& v : got) note_bits(v);
  const Checker check(got, expected);
  switch (rule) {
    case Rule::svd:
      return check.svd(true);
    case Rule::svd_v:
      return check.svd(false);
    case Rule::eigh:
      return check.eigh();
    case Rule::eig:
      return check.eig(args[0]);
    case Rule::any_order:
      return check.any_order();
    case Rule::qr:
      return check.qr();
    case Rule::determinant:
      return check.determinant(args[0]);
    default:
      return {};
  }
}

}  // namespace sconce::testing
