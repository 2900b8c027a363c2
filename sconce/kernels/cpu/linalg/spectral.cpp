#include "sconce/kernels/cpu/linalg/spectral.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sconce::linalg {
namespace {

using Int = lapack::Int;
using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSweeps = 60;

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, Complex>;

double conj(double x) { return x; }
Complex conj(Complex x) { return std::conj(x); }
// x / |x|
double phase_of(double x) { return x < 0 ? -1 : 1; }
Complex phase_of(Complex x) {
  const double size = std::abs(x);
  return size == 0 ? Complex(1) : x / size;
}
template <class T, class S>
T narrow(S x) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(std::real(x));
  else
    return T(static_cast<typename T::value_type>(std::real(x)), static_cast<typename T::value_type>(std::imag(x)));
}
template <class S, class T>
S widen(T x) {
  if constexpr (std::is_floating_point_v<S>)
    return static_cast<S>(x);
  else
    return S(std::real(x), std::imag(x));
}

// Columns of float64.
template <class S>
struct Matrix {
  size_t rows, columns;
  std::vector<S> data;

  Matrix(size_t m, size_t n) : rows(m), columns(n), data(m * n) {}
  template <class T>
  Matrix(size_t m, size_t n, const T* from, Int ld) : Matrix(m, n) {
    for (size_t c = 0; c < n; ++c) {
      for (size_t r = 0; r < m; ++r) at(r, c) = widen<S>(from[c * static_cast<size_t>(ld) + r]);
    }
  }
  static Matrix identity(size_t n) {
    Matrix out(n, n);
    for (size_t i = 0; i < n; ++i) out.at(i, i) = 1;
    return out;
  }
  S& at(size_t r, size_t c) { return data[c * rows + r]; }
  const S& at(size_t r, size_t c) const { return data[c * rows + r]; }
  S* column(size_t c) { return data.data() + c * rows; }
  const S* column(size_t c) const { return data.data() + c * rows; }
  Matrix adjoint() const {
    Matrix out(columns, rows);
    for (size_t c = 0; c < columns; ++c) {
      for (size_t r = 0; r < rows; ++r) out.at(c, r) = conj(at(r, c));
    }
    return out;
  }
  template <class T>
  void write(T* to, Int ld) const {
    for (size_t c = 0; c < columns; ++c) {
      for (size_t r = 0; r < rows; ++r) to[c * static_cast<size_t>(ld) + r] = narrow<T>(at(r, c));
    }
  }
};

template <class S>
double squares(const S* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::norm(x[i]);
  return sum;
}
template <class S>
S inner(const S* x, const S* y, size_t n) {
  S sum{};
  for (size_t i = 0; i < n; ++i) sum += conj(x[i]) * y[i];
  return sum;
}

// The unitary J of two columns p and q for which J^H [[a, g], [conj(g), b]] J is diagonal.
template <class S>
struct Rotation {
  double c, s;
  S turn;  // of q: conj(g) / |g|

  Rotation(double a, double b, S g) : turn(conj(phase_of(g))) {
    const double tau = (b - a) / (2 * std::abs(g));
    const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::hypot(1.0, tau));
    c = 1 / std::sqrt(1 + t * t);
    s = t * c;
  }
  void columns(S* p, S* q, size_t n) const {
    for (size_t i = 0; i < n; ++i) {
      const S x = p[i], y = turn * q[i];
      p[i] = c * x - s * y;
      q[i] = s * x + c * y;
    }
  }
};

std::vector<size_t> order_of(const std::vector<double>& values, bool descending) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return descending ? values[a] > values[b] : values[a] < values[b]; });
  return order;
}

// Columns from `known` on become unit vectors that are orthogonal to all before them.
template <class S>
void complete(Matrix<S>& q, size_t known) {
  for (size_t c = known; c < q.columns; ++c) {
    size_t axis = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t r = 0; r < q.rows; ++r) {
      double sum = 0;
      for (size_t k = 0; k < c; ++k) sum += std::norm(q.at(r, k));
      if (sum < least) least = sum, axis = r;
    }
    S* x = q.column(c);
    std::fill_n(x, q.rows, S{});
    x[axis] = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (size_t k = 0; k < c; ++k) {
        const S along = inner(q.column(k), x, q.rows);
        for (size_t r = 0; r < q.rows; ++r) x[r] -= along * q.at(r, k);
      }
    }
    const double length = std::sqrt(squares(x, q.rows));
    for (size_t r = 0; r < q.rows; ++r) x[r] /= length;
  }
}

// A = left diag(values) right^H with min(m, n) columns, values descending. False: no convergence.
template <class S>
struct Singular {
  Matrix<S> left, right;
  std::vector<double> values;
  bool converged = true;

  // One-sided Jacobi (Hestenes): columns are turned until they are orthogonal.
  explicit Singular(const Matrix<S>& a) : left(0, 0), right(0, 0) {
    const bool wide = a.rows < a.columns;
    Matrix<S> w = wide ? a.adjoint() : a, v = Matrix<S>::identity(w.columns);
    const size_t m = w.rows, n = w.columns;
    bool turned = true;
    for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
      turned = false;
      for (size_t p = 0; p + 1 < n; ++p) {
        for (size_t q = p + 1; q < n; ++q) {
          const double alpha = squares(w.column(p), m), beta = squares(w.column(q), m);
          const S gamma = inner(w.column(p), w.column(q), m);
          if (!(std::abs(gamma) > 4 * kEpsilon * std::sqrt(alpha) * std::sqrt(beta))) continue;
          turned = true;
          const Rotation<S> rotation(alpha, beta, gamma);
          rotation.columns(w.column(p), w.column(q), m);
          rotation.columns(v.column(p), v.column(q), n);
        }
      }
    }
    converged = !turned;
    std::vector<double> lengths(n);
    for (size_t c = 0; c < n; ++c) lengths[c] = std::sqrt(squares(w.column(c), m));
    Matrix<S> u(m, n), sorted(n, n);
    size_t known = 0;
    for (const size_t c : order_of(lengths, true)) {
      const size_t to = values.size();
      values.push_back(lengths[c]);
      std::copy_n(v.column(c), n, sorted.column(to));
      // What is left of a column of rounding errors has no direction.
      if (lengths[c] <= values[0] * kEpsilon * static_cast<double>(m) || lengths[c] == 0) continue;
      known = to + 1;
      for (size_t r = 0; r < m; ++r) u.at(r, to) = w.at(r, c) / lengths[c];
    }
    complete(u, known);
    if (wide) std::swap(u, sorted);
    left = std::move(u);
    right = std::move(sorted);
  }
};

// With as many columns as rows.
template <class S>
Matrix<S> completed(const Matrix<S>& q) {
  Matrix<S> out(q.rows, q.rows);
  std::copy(q.data.begin(), q.data.end(), out.data.begin());
  complete(out, q.columns);
  return out;
}

// --- eigenvalues of general matrices -------------------------------------------------------------------------------

// A = Z H Z^H, H with one diagonal below the main one, by reflections.
void to_hessenberg(Matrix<Complex>& h, Matrix<Complex>& z) {
  const size_t n = h.rows;
  std::vector<Complex> v(n);
  for (size_t k = 0; k + 2 < n; ++k) {
    const double length = std::sqrt(squares(h.column(k) + k + 1, n - k - 1));
    if (length == 0) continue;
    std::copy(h.column(k) + k + 1, h.column(k) + n, v.begin() + static_cast<ptrdiff_t>(k) + 1);
    v[k + 1] += phase_of(v[k + 1]) * length;
    const double size = squares(v.data() + k + 1, n - k - 1);
    const auto from_left = [&](Complex* x) {
      const Complex along = inner(v.data() + k + 1, x + k + 1, n - k - 1) * (2 / size);
      for (size_t r = k + 1; r < n; ++r) x[r] -= along * v[r];
    };
    const auto from_right = [&](Matrix<Complex>& x) {
      for (size_t r = 0; r < n; ++r) {
        Complex along{};
        for (size_t c = k + 1; c < n; ++c) along += x.at(r, c) * v[c];
        along *= 2 / size;
        for (size_t c = k + 1; c < n; ++c) x.at(r, c) -= along * std::conj(v[c]);
      }
    };
    for (size_t c = 0; c < n; ++c) from_left(h.column(c));
    from_right(h);
    from_right(z);
    for (size_t r = k + 2; r < n; ++r) h.at(r, k) = 0;
  }
}

// The eigenvalue of the last two rows that is nearer to the last element.
Complex wilkinson_shift(const Matrix<Complex>& h, size_t last) {
  const Complex a = h.at(last - 1, last - 1), b = h.at(last - 1, last), c = h.at(last, last - 1), d = h.at(last, last);
  const Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  const Complex divisor = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return divisor == Complex(0) ? d : d - b * c / divisor;
}

// One QR step of rows and columns first .. last: H - shift = Q R, then R Q + shift.
void qr_step(Matrix<Complex>& h, Matrix<Complex>& z, size_t first, size_t last, Complex shift) {
  const size_t n = h.rows;
  for (size_t k = first; k <= last; ++k) h.at(k, k) -= shift;
  std::vector<std::pair<double, Complex>> turns;
  for (size_t k = first; k < last; ++k) {
    const Complex a = h.at(k, k), b = h.at(k + 1, k);
    const double length = std::hypot(std::abs(a), std::abs(b));
    const double c = length == 0 ? 1 : std::abs(a) / length;
    const Complex s = length == 0 ? Complex(0) : phase_of(a) * std::conj(b) / length;
    turns.emplace_back(c, s);
    for (size_t j = k; j < n; ++j) {
      const Complex x = h.at(k, j), y = h.at(k + 1, j);
      h.at(k, j) = c * x + s * y;
      h.at(k + 1, j) = -std::conj(s) * x + c * y;
    }
  }
  for (size_t k = first; k < last; ++k) {
    const auto [c, s] = turns[k - first];
    const auto right = [c = c, s = s](Complex* p, Complex* q, size_t rows) {
      for (size_t r = 0; r < rows; ++r) {
        const Complex x = p[r], y = q[r];
        p[r] = c * x + std::conj(s) * y;
        q[r] = -s * x + c * y;
      }
    };
    right(h.column(k), h.column(k + 1), std::min(k + 2, last + 1));
    right(z.column(k), z.column(k + 1), n);
  }
  for (size_t k = first; k <= last; ++k) h.at(k, k) += shift;
}

// H becomes upper triangular. 0, or how many eigenvalues were not found.
Int to_triangle(Matrix<Complex>& h, Matrix<Complex>& z) {
  size_t last = h.rows - 1;
  int steps = 0;
  while (last > 0) {
    size_t first = last;
    for (; first > 0; --first) {
      const double beside = std::abs(h.at(first - 1, first - 1)) + std::abs(h.at(first, first));
      if (std::abs(h.at(first, first - 1)) <= kEpsilon * beside || h.at(first, first - 1) == Complex(0)) {
        h.at(first, first - 1) = 0;
        break;
      }
    }
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > 300) return static_cast<Int>(last) + 1;
    // Now and then another shift, for matrices that a step leaves as they are.
    const Complex shift =
        steps % 10 == 0 ? h.at(last, last) + std::abs(h.at(last, last - 1)) : wilkinson_shift(h, last);
    qr_step(h, z, first, last, shift);
  }
  return 0;
}

// --- L D L^T -------------------------------------------------------------------------------------------------------

double size_of(double x) { return std::abs(x); }
double size_of(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

// Bunch and Kaufman's pivoting of the lower triangle.
template <class S>
struct Symmetric {
  Matrix<S>& a;
  const bool hermitian;
  Int* pivots;
  const size_t n = a.rows;

  S mirrored(S x) const { return hermitian ? conj(x) : x; }
  void make_real(size_t i) const {
    if (hermitian) a.at(i, i) = std::real(a.at(i, i));
  }

  Int factor() {
    const double alpha = (1 + std::sqrt(17.0)) / 8;
    Int info = 0;
    for (size_t k = 0; k < n;) {
      size_t step = 1, other = k;
      make_real(k);
      const double own = size_of(a.at(k, k));
      size_t largest = k;
      double below = 0;
      for (size_t i = k + 1; i < n; ++i) {
        if (size_of(a.at(i, k)) > below) below = size_of(a.at(i, k)), largest = i;
      }
      if (std::max(own, below) == 0) {
        if (info == 0) info = static_cast<Int>(k) + 1;
      } else if (own < alpha * below) {
        double row = 0;
        for (size_t j = k; j < largest; ++j) row = std::max(row, size_of(a.at(largest, j)));
        for (size_t i = largest + 1; i < n; ++i) row = std::max(row, size_of(a.at(i, largest)));
        if (own >= alpha * below * (below / row)) {
          other = k;
        } else if (size_of(hermitian ? S(std::real(a.at(largest, largest))) : a.at(largest, largest)) >= alpha * row) {
          other = largest;
        } else {
          other = largest;
          step = 2;
        }
      }
      exchange(k, step, other);
      if (std::max(own, below) != 0) step == 1 ? eliminate_one(k) : eliminate_two(k);
      const Int named = static_cast<Int>(other) + 1;
      pivots[k] = step == 1 ? named : -named;
      if (step == 2) pivots[k + 1] = -named;
      k += step;
    }
    return info;
  }

  void exchange(size_t k, size_t step, size_t other) {
    const size_t own = k + step - 1;
    if (other == own) return;
    for (size_t i = other + 1; i < n; ++i) std::swap(a.at(i, own), a.at(i, other));
    for (size_t j = own + 1; j < other; ++j) {
      const S x = mirrored(a.at(j, own));
      a.at(j, own) = mirrored(a.at(other, j));
      a.at(other, j) = x;
    }
    a.at(other, own) = mirrored(a.at(other, own));
    std::swap(a.at(own, own), a.at(other, other));
    make_real(own);
    make_real(other);
    if (step == 2) std::swap(a.at(k + 1, k), a.at(other, k));
  }
  void eliminate_one(size_t k) {
    const S pivot = a.at(k, k);
    for (size_t j = k + 1; j < n; ++j) {
      const S scaled = mirrored(a.at(j, k)) / pivot;
      for (size_t i = j; i < n; ++i) a.at(i, j) -= a.at(i, k) * scaled;
      make_real(j);
    }
    for (size_t i = k + 1; i < n; ++i) a.at(i, k) /= pivot;
  }
  void eliminate_two(size_t k) {
    make_real(k + 1);
    const S d0 = a.at(k, k), d1 = a.at(k + 1, k + 1), e = a.at(k + 1, k), determinant = d0 * d1 - e * mirrored(e);
    for (size_t j = k + 2; j < n; ++j) {
      // Row j of the two columns of L.
      const S x = a.at(j, k), y = a.at(j, k + 1);
      const S l0 = (d1 * x - e * y) / determinant, l1 = (d0 * y - mirrored(e) * x) / determinant;
      for (size_t i = j; i < n; ++i) a.at(i, j) -= a.at(i, k) * mirrored(l0) + a.at(i, k + 1) * mirrored(l1);
      a.at(j, k) = l0;
      a.at(j, k + 1) = l1;
      make_real(j);
    }
  }

  void solve(S* b) const {
    for (size_t k = 0; k < n;) {
      const bool pair = pivots[k] < 0;
      const auto other = static_cast<size_t>(std::abs(pivots[k])) - 1;
      std::swap(b[pair ? k + 1 : k], b[other]);
      if (!pair) {
        for (size_t i = k + 1; i < n; ++i) b[i] -= a.at(i, k) * b[k];
        b[k] /= hermitian ? S(std::real(a.at(k, k))) : a.at(k, k);
        k += 1;
      } else {
        for (size_t i = k + 2; i < n; ++i) b[i] -= a.at(i, k) * b[k] + a.at(i, k + 1) * b[k + 1];
        const S d0 = a.at(k, k), d1 = a.at(k + 1, k + 1), e = a.at(k + 1, k), x = b[k], y = b[k + 1];
        const S determinant = d0 * d1 - e * mirrored(e);
        b[k] = (d1 * x - mirrored(e) * y) / determinant;
        b[k + 1] = (d0 * y - e * x) / determinant;
        k += 2;
      }
    }
    for (size_t k = n; k > 0;) {
      const size_t at = k - 1;
      const bool pair = pivots[at] < 0;
      const auto other = static_cast<size_t>(std::abs(pivots[at])) - 1;
      for (size_t c = at + 1; c-- > (pair ? at - 1 : at);) {
        for (size_t i = k; i < n; ++i) b[c] -= mirrored(a.at(i, c)) * b[i];
      }
      std::swap(b[at], b[other]);
      k -= pair ? 2 : 1;
    }
  }
};

}  // namespace

template <class T>
Int Spectral<T>::syevd(char job, char uplo, Int order, T* to, Int lda, R* values) {
  using S = Wide<T>;
  const auto n = static_cast<size_t>(order);
  Matrix<S> a(n, n, to, lda), v = Matrix<S>::identity(n);
  for (size_t c = 0; c < n; ++c) {
    a.at(c, c) = std::real(a.at(c, c));
    for (size_t r = 0; r < c; ++r) {  // above the diagonal
      if (uplo == 'L')
        a.at(r, c) = conj(a.at(c, r));
      else
        a.at(c, r) = conj(a.at(r, c));
    }
  }
  const double size = std::sqrt(squares(a.data.data(), a.data.size()));
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (size_t p = 0; p + 1 < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const S g = a.at(p, q);
        if (!(std::abs(g) > kEpsilon * kEpsilon * size) || std::abs(g) < std::numeric_limits<double>::min()) continue;
        turned |= std::abs(g) > kEpsilon / 16 * size;
        const Rotation<S> rotation(std::real(a.at(p, p)), std::real(a.at(q, q)), g);
        rotation.columns(a.column(p), a.column(q), n);
        rotation.columns(v.column(p), v.column(q), n);
        for (size_t c = 0; c < n; ++c) {  // the same from the left
          const S x = a.at(p, c), y = conj(rotation.turn) * a.at(q, c);
          a.at(p, c) = rotation.c * x - rotation.s * y;
          a.at(q, c) = rotation.s * x + rotation.c * y;
        }
        a.at(p, q) = a.at(q, p) = 0;
      }
    }
  }
  std::vector<double> found(n);
  for (size_t i = 0; i < n; ++i) found[i] = std::real(a.at(i, i));
  Matrix<S> sorted(n, n);
  size_t k = 0;
  for (const size_t c : order_of(found, false)) {
    values[k] = static_cast<R>(found[c]);
    std::copy_n(v.column(c), n, sorted.column(k++));
  }
  if (job == 'V') sorted.write(to, lda);
  return turned ? 1 : 0;
}

template <class T>
Int Spectral<T>::geev(char job, Int order, const T* from, Int lda, T* values, T* vectors, Int ldv) {
  const auto n = static_cast<size_t>(order);
  Matrix<Complex> h(n, n, from, lda), z = Matrix<Complex>::identity(n);
  const bool real = std::ranges::all_of(h.data, [](Complex x) { return x.imag() == 0; });
  const double size = std::sqrt(squares(h.data.data(), h.data.size()));
  to_hessenberg(h, z);
  if (const Int info = to_triangle(h, z); info != 0) return info;
  for (size_t k = 0; k < n; ++k) {
    Complex value = h.at(k, k);
    // Those of real matrices come in pairs; what is nearer to the real axis than rounding lets one see is on it.
    if (real && std::abs(value.imag()) <= 8 * kEpsilon * size) value = value.real();
    values[k] = narrow<T>(value);
    if (job != 'V') continue;
    std::vector<Complex> y(k + 1), x(n);
    y[k] = 1;
    for (size_t i = k; i-- > 0;) {
      Complex sum{}, divisor = h.at(i, i) - h.at(k, k);
      for (size_t j = i + 1; j <= k; ++j) sum += h.at(i, j) * y[j];
      if (std::abs(divisor) < kEpsilon * size) divisor = kEpsilon * size;
      y[i] = -sum / divisor;
    }
    size_t largest = 0;
    for (size_t r = 0; r < n; ++r) {
      for (size_t j = 0; j <= k; ++j) x[r] += z.at(r, j) * y[j];
      if (std::norm(x[r]) > std::norm(x[largest])) largest = r;
    }
    const Complex scale = phase_of(x[largest]) * std::sqrt(squares(x.data(), n));
    for (size_t r = 0; r < n; ++r) vectors[k * static_cast<size_t>(ldv) + r] = narrow<T>(x[r] / scale);
  }
  return 0;
}

template <class T>
Int Spectral<T>::gesdd(char job, Int m, Int n, const T* from, Int lda, R* s, T* u, Int ldu, T* vt, Int ldvt) {
  using S = Wide<T>;
  const Singular<S> found(Matrix<S>(static_cast<size_t>(m), static_cast<size_t>(n), from, lda));
  for (size_t i = 0; i < found.values.size(); ++i) s[i] = static_cast<R>(found.values[i]);
  if (job != 'N') {
    const bool all = job == 'A';
    (all ? completed(found.left) : found.left).write(u, ldu);
    (all ? completed(found.right) : found.right).adjoint().write(vt, ldvt);
  }
  return found.converged ? 0 : 1;
}

template <class T>
Int Spectral<T>::least_squares(Int m, Int n, Int nrhs, const T* from, Int lda, T* b, Int ldb, R* s, R rcond,
                               Int* rank) {
  using S = Wide<T>;
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n);
  const Matrix<S> a(rows, columns, from, lda);
  const Singular<S> found(a);
  const double limit = found.values[0] * (rcond < 0 ? static_cast<double>(std::numeric_limits<R>::epsilon()) : rcond);
  size_t used = 0;
  while (used < found.values.size() && found.values[used] > limit) ++used;
  *rank = static_cast<Int>(used);
  for (size_t i = 0; s && i < found.values.size(); ++i) s[i] = static_cast<R>(found.values[i]);
  std::vector<S> right(rows), x(columns);
  for (Int c = 0; c < nrhs; ++c) {
    T* column = b + static_cast<size_t>(c) * static_cast<size_t>(ldb);
    for (size_t r = 0; r < rows; ++r) right[r] = widen<S>(column[r]);
    std::fill(x.begin(), x.end(), S{});
    for (size_t k = 0; k < used; ++k) {
      const S along = inner(found.left.column(k), right.data(), rows) / found.values[k];
      for (size_t r = 0; r < columns; ++r) x[r] += along * found.right.at(r, k);
    }
    for (size_t k = 0; k < columns; ++k) {
      for (size_t r = 0; r < rows; ++r) right[r] -= a.at(r, k) * x[k];
    }
    for (size_t r = 0; r < columns; ++r) column[r] = narrow<T>(x[r]);
    for (size_t r = columns; r < rows; ++r) column[r] = 0;
    if (rows > columns) column[columns] = static_cast<R>(std::sqrt(squares(right.data(), rows)));
  }
  return found.converged ? 0 : 1;
}

template <class T>
Int Spectral<T>::sytrf(bool hermitian, Int n, T* a, Int lda, Int* pivots) {
  const auto order = static_cast<size_t>(n);
  Matrix<Wide<T>> wide(order, order, a, lda);
  const Int info = Symmetric<Wide<T>>{wide, hermitian, pivots}.factor();
  for (size_t c = 0; c < order; ++c) {
    for (size_t r = c; r < order; ++r) a[c * static_cast<size_t>(lda) + r] = narrow<T>(wide.at(r, c));
  }
  return info;
}

template <class T>
void Spectral<T>::sytrs(bool hermitian, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  using S = Wide<T>;
  const auto order = static_cast<size_t>(n);
  Matrix<S> wide(order, order, a, lda), x(order, static_cast<size_t>(nrhs), b, ldb);
  const Symmetric<S> factors{wide, hermitian, const_cast<Int*>(pivots)};
  for (size_t c = 0; c < x.columns; ++c) factors.solve(x.column(c));
  x.write(b, ldb);
}

template struct Spectral<float>;
template struct Spectral<double>;
template struct Spectral<std::complex<float>>;
template struct Spectral<std::complex<double>>;

}  // namespace sconce::linalg
