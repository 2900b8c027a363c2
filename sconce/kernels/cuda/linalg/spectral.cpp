// Eigenvalues of general matrices, and L D L^T of symmetric ones, on CUDA devices: kernels of text/linalg/spectral.cuh,
// which compute in float64. Checks, sizes and strides are those of the CPU's operators, asked of Meta tensors.
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
DType wide_dtype(const Tensor& t) { return is_complex(t.dtype()) ? DType::complex128 : DType::float64; }

// Values [..., n], and vectors where their layout is given.
std::tuple<Tensor, Tensor> eigen(const Tensor& self, const Tensor& value_spec, const Tensor& vector_spec,
                                 const char* op) {
  const bool wanted = vector_spec.defined();
  if (self.numel() == 0) return {placed(self, value_spec), wanted ? placed(self, vector_spec) : Tensor()};
  SCONCE_CHECK(item_of(sconce::all(sconce::isfinite(self))).to_bool(),
               "{}: input tensor should not contain infs or NaNs.", op);
  const Dims batch = batch_of(self);
  const Columns a = columns_of(sconce::to(self, DType::complex128));
  const Columns basis = columns_of(sconce::eye(self.size(-1), DType::complex128, {}, self.device()), batch);
  const Tensor values = empty_tensor(value_spec.sizes(), DType::complex128, self.device());
  const Tensor info = integers(batch, self.device());
  decompose(a, basis, values, wanted, info);
  sconce::_linalg_check_errors(info, op, self.dim() == 2);
  return {placed(values, value_spec), wanted ? placed(a.matrices(), vector_spec) : Tensor()};
}

// A positive one for a block of one row, two negative ones for a block of two: kernels exchange rows without looking.
void check_pivots(const Tensor& pivots) {
  const Tensor here = sconce::contiguous(sconce::to(pivots, Device(), DType::int32));
  const int64_t n = here.size(-1);
  for (int64_t i = 0; i < here.numel(); i += n) {
    const auto* row = static_cast<const int32_t*>(here.data()) + i;
    for (int64_t k = 0; k < n; ++k) {
      const bool pair = row[k] < 0;
      const auto inside = [&](int64_t p) { return p != 0 && std::abs(p) <= n; };
      SCONCE_CHECK(inside(row[k]) && (!pair || (k + 1 < n && row[k + 1] < 0 && inside(row[k + 1]))),
                   "torch.linalg.ldl_solve: pivots must be those that ldl_factor gave, got {} at {}", row[k], k);
      k += pair;
    }
  }
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) {
  const auto [values, vectors] = sconce::linalg_eig(on_meta(self));
  return eigen(self, values, vectors, "torch.linalg.eig");
}
Tensor _linalg_eigvals(const Tensor& self) {
  return std::get<0>(eigen(self, sconce::_linalg_eigvals(on_meta(self)), Tensor(), "torch.linalg.eigvals"));
}

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  const auto [spec, pivot_spec, info_spec] = sconce::linalg_ldl_factor_ex(on_meta(self), hermitian, false);
  const Tensor pivots = integers(pivot_spec.sizes(), self.device()), info = integers(info_spec.sizes(), self.device());
  if (self.numel() == 0) return {placed(self, spec), pivots, info};
  const Columns a = columns_of(sconce::to(self, wide_dtype(self)));
  factor_ldl(a, hermitian, pivots, info);
  if (check_errors) sconce::_linalg_check_errors(info, "torch.linalg.ldl_factor_ex", self.dim() == 2);
  return {placed(sconce::tril(a.matrices()), spec), pivots, info};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  const Tensor spec = sconce::linalg_ldl_solve(on_meta(LD), on_meta(pivots), on_meta(B), hermitian);
  if (spec.numel() == 0) return placed(B, spec);
  check_pivots(pivots);
  const Dims batch = batch_of(spec);
  Dims rows(batch);
  rows.push_back(pivots.size(-1));
  const DType wide = wide_dtype(LD);
  const Columns x = columns_of(sconce::to(B, wide), batch);
  solve_ldl(columns_of(sconce::to(LD, wide), batch), hermitian,
            dense(sconce::expand(sconce::to(pivots, DType::int32), rows)), x);
  return placed(x.matrices(), spec);
}

}  // namespace sconce::cuda
