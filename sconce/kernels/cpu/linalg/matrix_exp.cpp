// The exponential of matrices: scaled until a Taylor polynomial is exact to rounding, then squared.
//   float   degree 9 up to a norm of 0.75, with A^2 and A^3      P = B0 + A^3 (B1 + A^3 B2)                 4 products
//   double  degree 16 up to 0.78, with A^2, A^3 and A^4          P = B0 + A^4 (B1 + A^4 (B2 + A^4 B3))      6 products
// (Paterson and Stockmeyer's scheme; the first term left out, 0.75^10/10! = 1.6e-8 and 0.78^17/17! = 4e-17,
// bounds the error.)
#include <cmath>
#include <limits>
#include <vector>

#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

struct Scheme {
  int step, blocks;  // powers up to A^step; the polynomial has `blocks` coefficients of A^step
  double norm;
};

Scheme scheme_for(DType t) { return real_dtype(t) == DType::float64 ? Scheme{4, 4, 0.78} : Scheme{3, 3, 0.75}; }

// sum of coefficients[k] * powers[k]; powers[0] stands for the identity. A batch of n x n matrices.
Tensor combine(const std::vector<Tensor>& powers, const std::vector<double>& coefficients, int64_t n) {
  const Tensor out = empty_same_shape(powers[1], powers[1].dtype());
  linalg::visit_lapack(out.dtype(), "linalg.matrix_exp", [&]<class T>() {
    using R = lapack::Real<T>;
    T* to = out.data<T>();
    const int64_t size = out.numel();
    for (size_t k = 1; k < coefficients.size(); ++k) {
      const T* from = powers[k].data<T>();
      const R c = static_cast<R>(coefficients[k]);
      for (int64_t i = 0; i < size; ++i) to[i] = k == 1 ? c * from[i] : to[i] + c * from[i];
    }
    for (int64_t i = 0; i < size; i += n * n) {
      for (int64_t d = 0; d < n; ++d) to[i + d * (n + 1)] += static_cast<R>(coefficients[0]);
    }
  });
  return out;
}

Tensor polynomial(const Tensor& a, const Scheme& scheme) {
  const int64_t n = a.size(-1);
  std::vector<Tensor> powers{Tensor(), a};
  for (int k = 2; k <= scheme.step; ++k)
    powers.push_back(bmm(powers[static_cast<size_t>(k / 2)], powers[static_cast<size_t>(k - k / 2)]));
  const auto block = [&](int j) {
    std::vector<double> c;
    const int terms = scheme.step + (j == scheme.blocks - 1);
    for (int i = 0; i < terms; ++i) c.push_back(1 / std::tgamma(j * scheme.step + i + 1.0));
    return combine(powers, c, n);
  };
  Tensor sum = block(scheme.blocks - 1);
  for (int j = scheme.blocks - 2; j >= 0; --j) sum = baddbmm(block(j), powers.back(), sum);
  return sum;
}

Tensor select_matrices(const std::vector<int64_t>& which) {
  const Tensor index = empty_tensor({static_cast<int64_t>(which.size())}, DType::int64);
  std::copy(which.begin(), which.end(), index.data<int64_t>());
  return index;
}

}  // namespace

Tensor linalg_matrix_exp(const Tensor& self) {
  constexpr std::string_view op = "linalg.matrix_exp";
  linalg::check_floating(self, op, true);
  linalg::check_square(self, op);
  const int64_t n = self.size(-1);
  if (self.is_meta() || self.numel() == 0) return empty_same_shape(self, self.dtype());
  const DType compute = is_reduced_float(self.dtype()) ? DType::float32 : self.dtype();
  const int64_t count = self.numel() / (n * n);
  Tensor a = reshape(to_dtype(contiguous_tensor(self), compute), {count, n, n});
  const Scheme scheme = scheme_for(compute);

  const Tensor norms = to_dtype(amax(sum(abs(a), IntList{1}), IntList{1}), DType::float64);
  const Tensor factors = empty_tensor({count, 1, 1}, real_dtype(compute));
  std::vector<int> squarings(static_cast<size_t>(count));
  int most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double norm = norms.data<double>()[i];
    int times = 0;
    if (std::isfinite(norm) && norm > scheme.norm) {
      const double ratio = std::min(norm / scheme.norm, std::numeric_limits<double>::max());
      times = static_cast<int>(std::ceil(std::log2(ratio)));
    }
    squarings[static_cast<size_t>(i)] = times;
    most = std::max(most, times);
    if (factors.dtype() == DType::float64)
      factors.data<double>()[i] = std::ldexp(1.0, -times);
    else
      factors.data<float>()[i] = std::ldexp(1.0f, -times);
  }
  if (most > 0) a = mul(a, factors);
  Tensor result = polynomial(a, scheme);
  for (int k = 0; k < most; ++k) {
    std::vector<int64_t> which;
    for (int64_t i = 0; i < count; ++i) {
      if (squarings[static_cast<size_t>(i)] > k) which.push_back(i);
    }
    if (static_cast<int64_t>(which.size()) == count) {
      result = bmm(result, result);
    } else {
      const Tensor index = select_matrices(which), part = index_select(result, 0, index);
      result = index_copy(result, 0, index, bmm(part, part));
    }
  }
  return to_dtype(reshape(result, self.sizes()), self.dtype());
}

}  // namespace sconce::cpu
