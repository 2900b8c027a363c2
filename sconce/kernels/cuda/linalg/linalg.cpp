// Linear algebra on CUDA devices: checks, sizes and strides are those of the CPU's operators, asked of Meta tensors;
// the matrices go through matrix_kernels.h.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/generated/linalg_cuda_kernels.h"
#include "sconce/kernels/cuda/linalg/matrix_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

Tensor on_meta(const Tensor& t) {
  return empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device(DeviceType::meta));
}
// Values in a tensor laid out as a Meta tensor says.
Tensor placed(const Tensor& values, const Tensor& spec) {
  const Tensor out = empty_strided_tensor(spec.sizes(), spec.strides(), spec.dtype(), values.device());
  if (out.numel() > 0) sconce::copy_(out, values);
  return out;
}
Tensor integers(IntList sizes, Device device) { return sconce::zeros(sizes, DType::int32, {}, device); }
Dims with(IntList batch, int64_t size) {
  Dims sizes(batch);
  sizes.push_back(size);
  return sizes;
}
// The identity, for every matrix of a batch.
Columns identity(IntList batch, int64_t rows, int64_t columns, DType dtype, Device device) {
  const Tensor one = sconce::eye(rows, columns, dtype, {}, device);
  return columns_of(one, batch);
}
Tensor turned_over(const Tensor& t) { return sconce::conj_physical(sconce::transpose(t, -2, -1)); }
void check_info(const Tensor& info, const char* name, bool wanted, const Tensor& matrices) {
  if (wanted) sconce::_linalg_check_errors(info, name, matrices.dim() == 2);
}

// x = op(P L U)^-1 x
void solve_lu(const Columns& lu, const Tensor& pivots, const Columns& x, bool adjoint_of) {
  if (!adjoint_of) {
    exchange_rows(x, pivots, false);
    solve_triangle(lu, x, false, true, Trans::none, true);
    solve_triangle(lu, x, true, true, Trans::none, false);
  } else {
    solve_triangle(lu, x, true, true, Trans::adjoint, false);
    solve_triangle(lu, x, false, true, Trans::adjoint, true);
    exchange_rows(x, pivots, true);
  }
}

struct Lu {
  Columns lu;
  Tensor pivots, info;
};
Lu factored(const Tensor& A, bool pivot) {
  const Dims batch = batch_of(A);
  Lu f{columns_of(A), integers(with(batch, std::min(A.size(-2), A.size(-1))), A.device()), integers(batch, A.device())};
  if (A.numel() > 0) factor_lu(f.lu, pivot, f.pivots, f.info);
  return f;
}
// 1 or -1 of each matrix: whether its pivots exchange an even number of rows.
Tensor sign_of(const Tensor& pivots) {
  const Tensor at = sconce::arange(Scalar(1), Scalar(pivots.size(-1) + 1), DType::int32, {}, pivots.device());
  const Tensor moved = sconce::sum(sconce::ne(pivots, at), IntList({-1}));
  return sconce::rsub(sconce::mul(sconce::remainder(moved, Scalar(2)), Scalar(2)), Scalar(1));
}
Tensor diagonal_of(const Columns& a) { return sconce::diagonal(a.data, 0, -2, -1); }

Columns product_of_reflections(const Columns& a, const Tensor& tau, IntList batch, int64_t columns) {
  const Columns q = identity(batch, a.rows(), columns, a.data.dtype(), a.data.device());
  apply_reflections(a, tau, q, true, false);
  return q;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  sconce::linalg_lu_factor_ex(on_meta(A), true, false);  // its checks
  const Lu f = factored(A, pivot);
  check_info(f.info, "torch.linalg.lu_factor_ex", check_errors, A);
  return {f.lu.matrices(), f.pivots, f.info};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint_of) {
  const Tensor spec = sconce::linalg_lu_solve(on_meta(LU), on_meta(pivots), on_meta(B), left, adjoint_of);
  if (spec.numel() == 0) return placed(B, spec);
  const Dims batch = batch_of(spec);
  const Columns lu = columns_of(LU, batch);
  const Tensor rows = dense(sconce::expand(pivots, with(batch, pivots.size(-1))));
  if (left) {
    const Columns x = columns_of(B, batch);
    solve_lu(lu, rows, x, adjoint_of);
    return placed(x.matrices(), spec);
  }
  // X A = B is A^H X^H = B^H
  const Columns x = columns_of(turned_over(B), batch);
  solve_lu(lu, rows, x, !adjoint_of);
  return placed(turned_over(x.matrices()), spec);
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  const auto [p_spec, l_spec, u_spec] =
      sconce::lu_unpack(on_meta(LU_data), on_meta(LU_pivots), unpack_data, unpack_pivots);
  const int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  Tensor P = empty_tensor({0}, LU_data.dtype(), LU_data.device()), L = P, U = P;
  if (unpack_pivots) {
    const Columns rows = identity(batch_of(LU_data), m, m, LU_data.dtype(), LU_data.device());
    if (rows.data.numel() > 0) exchange_rows(rows, dense(LU_pivots), true);
    P = placed(rows.matrices(), p_spec);
  }
  if (unpack_data) {
    const Tensor low = sconce::tril(sconce::narrow(LU_data, -1, 0, k), -1);
    L = placed(sconce::add(low, sconce::eye(m, k, LU_data.dtype(), {}, LU_data.device())), l_spec);
    U = placed(sconce::triu(sconce::narrow(LU_data, -2, 0, k)), u_spec);
  }
  return {P, L, U};
}

std::tuple<Tensor, Tensor, Tensor> _linalg_det(const Tensor& A) {
  sconce::_linalg_det(on_meta(A));
  const Lu f = factored(A, true);
  const Tensor product = sconce::prod(diagonal_of(f.lu), -1);
  return {sconce::mul(product, sconce::to(sign_of(f.pivots), A.dtype())), f.lu.matrices(), f.pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_slogdet(const Tensor& A) {
  sconce::_linalg_slogdet(on_meta(A));
  const Lu f = factored(A, true);
  const Tensor d = diagonal_of(f.lu);
  const Tensor phase = sconce::mul(sconce::prod(sconce::sgn(d), -1), sconce::to(sign_of(f.pivots), A.dtype()));
  return {phase, sconce::sum(sconce::log(sconce::abs(d)), IntList({-1})), f.lu.matrices(), f.pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                                            bool check_errors) {
  const Tensor spec = std::get<0>(sconce::_linalg_solve_ex(on_meta(A), on_meta(B), left, false));
  const Lu f = factored(A, true);
  check_info(f.info, "torch.linalg.solve_ex", check_errors, A);
  const bool vector = B.dim() == 1 || (A.dim() - 1 == B.dim() && B.sizes() == A.sizes().slice(0, A.sizes().size() - 1));
  const Tensor lu = f.lu.matrices();
  const Tensor x = cuda::linalg_lu_solve(lu, f.pivots, vector ? sconce::unsqueeze(B, -1) : B, left, false);
  return {placed(vector ? sconce::squeeze(x, -1) : x, spec), lu, f.pivots, f.info};
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  const Tensor spec = std::get<0>(sconce::linalg_inv_ex(on_meta(A), false));
  const Lu f = factored(A, true);
  const Columns x = identity(batch_of(A), A.size(-1), A.size(-1), A.dtype(), A.device());
  if (A.numel() > 0) solve_lu(f.lu, f.pivots, x, false);
  check_info(f.info, "linalg.inv_ex", check_errors, A);
  return {placed(x.matrices(), spec), f.info};
}

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  const Tensor spec = std::get<0>(sconce::linalg_cholesky_ex(on_meta(self), upper, false));
  const Columns a = columns_of(upper ? turned_over(self) : self);
  const Tensor info = integers(batch_of(self), self.device());
  if (self.numel() > 0) factor_cholesky(a, info);
  check_info(info, "linalg.cholesky_ex", check_errors, self);
  const Tensor low = sconce::tril(a.matrices());
  return {placed(upper ? turned_over(low) : low, spec), info};
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  const Tensor spec = sconce::cholesky_solve(on_meta(self), on_meta(input2), upper);
  if (spec.numel() == 0) return placed(self, spec);
  const Dims batch = batch_of(spec);
  const Columns x = columns_of(self, batch), a = columns_of(input2, batch);
  solve_triangle(a, x, upper, true, upper ? Trans::adjoint : Trans::none, false);
  solve_triangle(a, x, upper, true, upper ? Trans::none : Trans::adjoint, false);
  return placed(x.matrices(), spec);
}
Tensor _cholesky_solve_helper(const Tensor& self, const Tensor& A, bool upper) {
  return cuda::cholesky_solve(self, A, upper);
}
Tensor cholesky_inverse(const Tensor& self, bool upper) {
  const Tensor spec = sconce::cholesky_inverse(on_meta(self), upper);
  if (spec.numel() == 0) return placed(self, spec);
  const Tensor one = sconce::expand(sconce::eye(self.size(-1), self.dtype(), {}, self.device()), self.sizes());
  return placed(cuda::cholesky_solve(one, self, upper), spec);
}

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  const Tensor spec = sconce::linalg_solve_triangular(on_meta(self), on_meta(B), upper, left, unitriangular);
  if (spec.numel() == 0) return placed(B, spec);
  const Dims batch = batch_of(spec);
  const Columns x = columns_of(B, batch);
  solve_triangle(columns_of(self, batch), x, upper, left, Trans::none, unitriangular);
  return placed(x.matrices(), spec);
}
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose,
                                            bool unitriangular) {
  const auto [spec, given] = sconce::triangular_solve(on_meta(self), on_meta(A), upper, transpose, unitriangular);
  const Dims batch = batch_of(spec);
  const Columns x = columns_of(self, batch), a = columns_of(A, batch);
  if (spec.numel() > 0) solve_triangle(a, x, upper, true, transpose ? Trans::transposed : Trans::none, unitriangular);
  return {placed(x.matrices(), spec), placed(a.matrices(), given)};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  const auto [spec, factors] = sconce::geqrf(on_meta(self));
  const Columns a = columns_of(self);
  const Tensor tau = sconce::zeros(factors.sizes(), self.dtype(), {}, self.device());
  if (self.numel() > 0) factor_qr(a, tau);
  return {placed(a.matrices(), spec), tau};
}
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  const auto [q_spec, r_spec] = sconce::linalg_qr(on_meta(A), mode);
  const Dims batch = batch_of(A);
  const int64_t k = std::min(A.size(-2), A.size(-1)), q_columns = mode == "complete" ? A.size(-2) : k;
  const Columns a = columns_of(A);
  const Tensor tau = sconce::zeros(with(batch, k), A.dtype(), {}, A.device());
  if (A.numel() > 0) factor_qr(a, tau);
  const Tensor R = placed(sconce::triu(sconce::narrow(a.matrices(), -2, 0, q_columns)), r_spec);
  if (mode == "r") return {empty_tensor({0}, A.dtype(), A.device()), R};
  const Columns q = A.numel() > 0 ? product_of_reflections(a, tau, batch, q_columns)
                                  : identity(batch, A.size(-2), q_columns, A.dtype(), A.device());
  return {placed(q.matrices(), q_spec), R};
}
// By QR, as PyTorch's on CUDA: A of full rank. A = Q R, or its adjoint where it has more columns than rows.
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b,
                                                        std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  const auto [spec, left_spec, rank_spec, values_spec] =
      sconce::linalg_lstsq(on_meta(self), on_meta(b), rcond, driver.value_or("gels"));
  SCONCE_CHECK(!driver || *driver == "gels", "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA");
  const Device device = self.device();
  const bool vector = self.dim() - 1 == b.dim();
  const int64_t m = self.size(-2), n = self.size(-1);
  const Tensor y = vector ? sconce::unsqueeze(b, -1) : b;
  Tensor x, left = sconce::zeros(left_spec.sizes(), left_spec.dtype(), {}, device);
  if (spec.numel() == 0 || m == 0) {
    x = sconce::zeros(spec.sizes(), self.dtype(), {}, device);
  } else {
    const auto [q, r] = sconce::linalg_qr(m >= n ? self : turned_over(self), "reduced");
    x = m >= n ? sconce::linalg_solve_triangular(r, sconce::matmul(turned_over(q), y), true)
               : sconce::matmul(q, sconce::linalg_solve_triangular(turned_over(r), y, false));
    if (left.numel() > 0) {
      const Tensor rest = sconce::abs(sconce::sub(sconce::matmul(self, x), y));
      left = sconce::sum(sconce::mul(rest, rest), IntList({-2}));
    }
    if (vector) x = sconce::squeeze(x, -1);
  }
  return {placed(x, spec), left, empty_tensor(rank_spec.sizes(), DType::int64, device),
          empty_tensor(values_spec.sizes(), values_spec.dtype(), device)};
}
Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  const Tensor spec = sconce::linalg_householder_product(on_meta(input), on_meta(tau));
  if (spec.numel() == 0) return placed(input, spec);
  return placed(product_of_reflections(columns_of(input), dense(tau), batch_of(input), input.size(-1)).matrices(),
                spec);
}
Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  const Tensor spec = sconce::ormqr(on_meta(self), on_meta(input2), on_meta(input3), left, transpose);
  const Columns c = columns_of(input3);
  if (spec.numel() > 0 && input2.numel() > 0) apply_reflections(columns_of(self), dense(input2), c, left, transpose);
  return placed(c.matrices(), spec);
}

std::tuple<Tensor, Tensor> _linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  const auto [l_spec, v_spec] = sconce::_linalg_eigh(on_meta(A), UPLO, compute_v);
  if (A.numel() == 0) return {placed(A, l_spec), placed(A, v_spec)};
  // One triangle says what the other is.
  const bool lower = UPLO == "L" || UPLO == "l";
  const Tensor half = lower ? sconce::tril(A, -1) : sconce::triu(A, 1);
  const Tensor real = sconce::real(sconce::diagonal(A, 0, -2, -1));
  const Columns a =
      columns_of(sconce::add(sconce::add(half, turned_over(half)), sconce::to(sconce::diag_embed(real), A.dtype())));
  const Columns v = identity(batch_of(A), A.size(-1), A.size(-1), A.dtype(), A.device());
  diagonalize(a, v);
  const auto [values, order] = sconce::sort(sconce::real(diagonal_of(a)), -1);
  if (!compute_v) return {placed(values, l_spec), empty_tensor({0}, A.dtype(), A.device())};
  const Tensor sorted = sconce::gather(v.data, -2, sconce::expand(sconce::unsqueeze(order, -1), v.data.sizes()));
  return {placed(values, l_spec), placed(sconce::transpose(sorted, -2, -1), v_spec)};
}

std::tuple<Tensor, Tensor, Tensor> _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv,
                                               std::optional<std::string_view>) {
  const auto [u_spec, s_spec, v_spec] = sconce::_linalg_svd(on_meta(A), full_matrices, compute_uv, std::nullopt);
  const Dims batch = batch_of(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const Device device = A.device();
  if (A.numel() == 0) {
    if (!compute_uv || !full_matrices) return {placed(A, u_spec), placed(sconce::real(A), s_spec), placed(A, v_spec)};
    return {placed(identity(batch, m, m, A.dtype(), device).matrices(), u_spec), placed(sconce::real(A), s_spec),
            placed(identity(batch, n, n, A.dtype(), device).matrices(), v_spec)};
  }
  const bool wide = m < n;
  const Columns a = columns_of(wide ? turned_over(A) : A);
  const Columns v = identity(batch, k, k, A.dtype(), device);
  orthogonalize(a, v);
  // Sizes of the columns are the singular values.
  const Tensor sizes = sconce::linalg_vector_norm(a.data, Scalar(2), IntList({-1}));
  const auto [values, order] = sconce::sort(sizes, -1, true);
  if (!compute_uv)
    return {empty_tensor({0}, A.dtype(), device), placed(values, s_spec), empty_tensor({0}, A.dtype(), device)};
  const auto sorted = [&](const Columns& c) {
    return Columns{dense(sconce::gather(c.data, -2, sconce::expand(sconce::unsqueeze(order, -1), c.data.sizes())))};
  };
  // Their directions, and what completes them to a basis, from reflections: R is diagonal.
  const Columns y = sorted(a);
  const Tensor tau = sconce::zeros(with(batch, k), A.dtype(), {}, device);
  factor_qr(y, tau);
  const Tensor r = diagonal_of(y),
               phase = sconce::where(sconce::eq(r, Scalar(0)), sconce::ones_like(r), sconce::sgn(r));
  const Columns q = product_of_reflections(y, tau, batch, full_matrices ? y.rows() : k);
  const Tensor first = sconce::narrow(q.data, -2, 0, k);
  sconce::copy_(first, sconce::mul(first, sconce::unsqueeze(phase, -1)));
  const Tensor left = q.matrices(), right = sorted(v).matrices();
  if (!wide) return {placed(left, u_spec), placed(values, s_spec), placed(turned_over(right), v_spec)};
  return {placed(right, u_spec), placed(values, s_spec), placed(turned_over(left), v_spec)};
}

// Taylor's series of a matrix that was halved until it is small, squared as often.
Tensor linalg_matrix_exp(const Tensor& self) {
  const Tensor spec = sconce::linalg_matrix_exp(on_meta(self));
  if (self.numel() == 0) return placed(self, spec);
  const double norm = item_of(sconce::amax(sconce::sum(sconce::abs(self), IntList({-2})))).to_double();
  const int halved = std::isfinite(norm) && norm > 0.5 ? static_cast<int>(std::ceil(std::log2(norm / 0.5))) : 0;
  const Tensor a = sconce::mul(self, Scalar(std::ldexp(1.0, -halved)));
  const Tensor one = sconce::eye(self.size(-1), self.dtype(), {}, self.device());
  constexpr int kTerms = 18;
  Tensor sum = sconce::add(sconce::mul(a, Scalar(1.0 / kTerms)), one);  // Horner's scheme
  for (int i = kTerms - 1; i > 0; --i) sum = sconce::add(sconce::mul(sconce::matmul(a, sum), Scalar(1.0 / i)), one);
  for (int i = 0; i < halved; ++i) sum = sconce::matmul(sum, sum);
  return placed(sum, spec);
}

}  // namespace sconce::cuda
